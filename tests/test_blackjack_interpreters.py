"""The interpreters for Brainfuck and Befunge: programs whose output is known, and Brainfuck against a plain one."""

import os
import random
import select
import subprocess
from pathlib import Path

import pytest

from engines.blackjack.languages import interpreter_program

Done = subprocess.CompletedProcess[bytes]
SIEVE = "\n".join(
    [
        '2>:9g!#v_:.::08p>08g+:"O"`#v_:0\\9pv',
        "                ^                 <",
        "                           $",
        "       v                   <",
        '       >1+:"O"`#@_v',
        " ^                <",
    ]
)
"""Primes up to 79: row 9 holds a 0 for every number that has been crossed out."""


def run(folder: Path, source: str, given: bytes = b"", mode: str = "", seed: int = 1) -> Done:
    """Run a program; mode is empty for Brainfuck."""
    path = folder / "program"
    path.write_bytes(source.encode("latin-1"))
    program = interpreter_program("befunge" if mode else "brainfuck")
    return subprocess.run(
        [program, *([mode] if mode else []), path.name],
        cwd=folder,
        input=given,
        capture_output=True,
        timeout=5,
        check=False,
        env={"SIMFARM_SEED": str(seed)},
    )


@pytest.mark.parametrize(
    ("source", "given", "expected"),
    [
        pytest.param("++++++++[>++++++++<-]>+.+.+.", b"", b"ABC", id="letters"),
        pytest.param(",[.,]", b"cat\nand \xff dog", b"cat\nand \xff dog", id="cat"),
        pytest.param(
            ">+<++++++++++[>[>+>+<<-]>>[<<+>>-]<.<++<-]",
            b"",
            bytes(n * n for n in range(1, 11)),
            id="squares",
        ),
        pytest.param("-.+.", b"", b"\xff\x00", id="cells wrap"),
        pytest.param("+++++[+]-.", b"", b"\xff", id="clearing upwards"),
        pytest.param("+++++,.", b"", b"\x00", id="end of input is 0"),
        pytest.param("+>+>+>>+<<<<[>]+++.", b"", b"\x03", id="seeking to the right"),
        pytest.param(">+>+>+[<]+++.", b"", b"\x03", id="seeking to the left"),
        pytest.param("+++[>++>+++>-<<<-]>.>.>.", b"", b"\x06\x09\xfd", id="multiples"),
        pytest.param("+++[>++>+++>-<<<+]>.>.>.", b"", b"\xfa\xf7\x03", id="multiples upwards"),
        pytest.param("++++[-->+<]>.", b"", b"\x02", id="counting by twos"),
        pytest.param("+ a comment\n + (within a run) +.", b"", b"\x03", id="comments"),
    ],
)
def test_brainfuck_program(tmp_path: Path, source: str, given: bytes, expected: bytes) -> None:
    done = run(tmp_path, source, given)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")


@pytest.mark.parametrize("source", [">><<<", "+[<]", "+[>+]", "+[-<<+>>]", "+[>-<" + ">" * 9 + "+]"])
def test_brainfuck_tape_has_ends(tmp_path: Path, source: str) -> None:
    done = run(tmp_path, source)
    assert done.returncode == 1
    assert done.stderr.startswith(b"the head leaves the tape: cell ")


def plain_brainfuck(source: str, given: bytes, steps: int) -> bytes | None:
    """What a program writes, by the letter of the language; None if it leaves the tape or takes more steps."""
    partner: dict[int, int] = {}
    open_at: list[int] = []
    for index, command in enumerate(source):
        if command == "[":
            open_at.append(index)
        elif command == "]":
            partner[index] = open_at.pop()
            partner[partner[index]] = index
    tape, head, at, written, left = bytearray(400), 0, 0, bytearray(), list(given)
    while at < len(source):
        steps -= 1
        if steps < 0 or not 0 <= head < len(tape):
            return None
        match source[at]:
            case "+":
                tape[head] = (tape[head] + 1) % 256
            case "-":
                tape[head] = (tape[head] - 1) % 256
            case ">":
                head += 1
            case "<":
                head -= 1
            case ".":
                written.append(tape[head])
            case ",":
                tape[head] = left.pop(0) if left else 0
            case "[" if not tape[head]:
                at = partner[at]
            case "]" if tape[head]:
                at = partner[at]
        at += 1
    return bytes(written)


def random_brainfuck(draw: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(draw.randint(1, 8)):
        if depth < 3 and draw.random() < 0.3:
            parts.append(f"[{random_brainfuck(draw, depth + 1)}]")
        else:
            parts.append(draw.choice("+-<>.,") * draw.randint(1, 3))
    return "".join(parts)


def test_brainfuck_agrees_with_a_plain_interpreter(tmp_path: Path) -> None:
    draw = random.Random(5)
    compared = looped = 0
    while compared < 250:
        # The tape has no cells to the left of the first: give the program some room.
        source = ">>>>>>>>" + random_brainfuck(draw) + ".>.>.<<<."
        given = draw.randbytes(3)
        expected = plain_brainfuck(source, given, 20_000)
        if expected is None:
            continue
        assert run(tmp_path, source, given).stdout == expected, source
        compared += 1
        looped += "[" in source
    assert looped > 100


@pytest.mark.parametrize("mode", ["-93", "-98"])
@pytest.mark.parametrize(
    ("source", "given", "expected"),
    [
        pytest.param('"!dlrow ,olleH">:#,_@', b"", b"Hello, world!", id="hello"),
        pytest.param("<@.5", b"", b"5 ", id="wraps"),
        pytest.param("0>::*.1+:8`#@_v\n ^            <", b"", b"0 1 4 9 16 25 36 49 64 ", id="squares"),
        pytest.param(SIEVE, b"", b"2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59 61 67 71 73 79 ", id="sieve"),
        pytest.param(
            "0>:0g,1+:92*1+-#v_@\n ^              <", b"", b"0>:0g,1+:92*1+-#v_@", id="prints its first line"
        ),
        pytest.param("&&+.&.~,@", b"x 12, 30;4z", b"42 4 z", id="input"),
        pytest.param("92/.92%.90/.90%.@", b"", b"4 1 0 0 ", id="division"),
        pytest.param("12`.21`.0!.7!.@", b"", b"0 1 1 0 ", id="comparison"),
        pytest.param("12\\..@", b"", b"1 2 ", id="swap"),
        pytest.param("v@.1 <\n>0|  ^\n  >2.@", b"", b"2 ", id="vertical if"),
        pytest.param("$:.+.-.@", b"", b"0 0 0 ", id="empty stack"),
        pytest.param("1#@.@", b"", b"1 ", id="trampoline"),
    ],
)
def test_befunge_program(tmp_path: Path, mode: str, source: str, given: bytes, expected: bytes) -> None:
    done = run(tmp_path, source, given, mode)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")


@pytest.mark.parametrize(
    ("source", "given", "expected"),
    [
        pytest.param('"a  b",,,,@', b"", b"b  a", id="every blank of a string"),
        pytest.param("~.&.@", b"", b"-1 -1 ", id="end of input"),
        pytest.param("&.&.@", b"-7 a-3", b"-7 -3 ", id="negative input"),
        pytest.param("1a;kq.@", b"", b"1 ", id="what Befunge-98 adds does nothing"),
        pytest.param("^" + "\n" * 24 + ">7.@\n>8.@", b"", b"7 ", id="25 lines"),
        pytest.param("v#\n>^" + "\n" * 21 + " @\n .\n 7", b"", b"0 ", id="a jump over the upper edge"),
        pytest.param("<" + " " * 76 + "@.89.@", b"", b"8 ", id="80 columns"),
        pytest.param('5."@"20p' + " " * 71 + "#", b"", b"5 0 ", id="a jump over the right edge"),
        pytest.param("188*:*0p88*:*0g.@", b"", b"0 ", id="outside of the torus"),
    ],
)
def test_befunge_93(tmp_path: Path, source: str, given: bytes, expected: bytes) -> None:
    done = run(tmp_path, source, given, "-93")
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param('"a  b",,,,@', b"b a\0", id="a string holds one blank for many"),
        pytest.param("fa..@", b"10 15 ", id="digits up to f"),
        pytest.param("1;2.;.@", b"1 ", id="; ;"),
        pytest.param("'A,@", b"A", id="'"),
        pytest.param("'Xs .30g,@", b"0 X", id="s"),
        pytest.param("3k4.....@", b"4 4 4 4 0 ", id="k"),
        pytest.param("5k ;no;  1......@", b"1 1 1 1 1 1 ", id="k passes over what takes no time"),
        pytest.param("20k1.@", b"2 ", id="0k skips"),
        pytest.param("2k#1.2.3.@", b"0 2 3 ", id="k with #"),
        pytest.param("2j12.@", b"0 ", id="j"),
        pytest.param("1.#@05-j", b"1 ", id="j backwards"),
        pytest.param("11x\n   2\n    .\n     @", b"2 ", id="x"),
        pytest.param("30x..1.....@", b"1 ", id="x by three"),
        pytest.param("'@,40x..", b"@", id="a flying pointer wraps along its line"),
        pytest.param("v  >'L,@\n>12w'S,@\n   >'R,@", b"L", id="w left"),
        pytest.param("v  >'L,@\n>21w'S,@\n   >'R,@", b"R", id="w right"),
        pytest.param("v  >'L,@\n>11w'S,@\n   >'R,@", b"S", id="w straight"),
        pytest.param("v >'L,@\n> ['S,@\n  >'R,@", b"L", id="["),
        pytest.param("v >'L,@\n> ]'S,@\n  >'R,@", b"R", id="]"),
        pytest.param("#@1.r", b"1 0 ", id="r"),
        pytest.param("12nz.@", b"0 ", id="n z"),
        pytest.param("1 2 3 2{..0}.@", b"3 2 1 ", id="{ }"),
        pytest.param("1 2 2{5 6 7 2}....@", b"7 6 0 0 ", id="} takes cells along"),
        pytest.param("0{00g,@", b"0", id="{ moves the storage offset"),
        pytest.param("0{0}00g,@", b"0", id="} moves it back"),
        pytest.param("1 2 0{4u..@", b"1 2 ", id="u"),
        pytest.param("7 02-{0}...@", b"0 0 7 ", id="{ with a negative count"),
        pytest.param("7 0{1 2 02-u0}...@", b"0 0 7 ", id="u with a negative count"),
        pytest.param("7 8 0{01-}.@", b"7 ", id="} with a negative count"),
        pytest.param("#@ 1.}", b"1 0 ", id="} reflects on the last stack"),
        pytest.param("#@ 1.u", b"1 0 ", id="u reflects on the last stack"),
        pytest.param('"AMOR"4(MDCLXVI.......@', b"1 5 10 50 100 500 1000 ", id="ROMA"),
        pytest.param('"AMOR"4("LLUN"4(n0#@.I', b"0 0 ", id="NULL over ROMA"),
        pytest.param('"AMOR"4("LLUN"4("LLUN"4)I.@', b"1 ", id="NULL unloaded"),
        pytest.param('"AMOR"4($.@', b"1380928833 ", id="( pushes the fingerprint"),
        pytest.param('#@.7"KCTS"4(', b"0 7 ", id="( reflects on what it does not know"),
        pytest.param("1y.2y.7y.ay.by.cy.dy.@", b"0 8 2 0 13 0 1 ", id="y"),
        pytest.param("0y" + 23 * "$" + ">:#,_$$$>:#,_@", b"programSIMFARM_SEED=1", id="y, text"),
        pytest.param("5 6 0{7f7+y.f8+y.f9+y.@", b"2 1 4 ", id="y, stacks"),
    ],
)
def test_befunge_98(tmp_path: Path, source: str, expected: bytes) -> None:
    done = run(tmp_path, source, mode="-98")
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")


@pytest.mark.parametrize("instruction", "iot=hlmBZ~&\x7f")
def test_befunge_98_reflects_on_what_it_lacks(tmp_path: Path, instruction: str) -> None:
    done = run(tmp_path, "#@1." + instruction, mode="-98")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1 0 ", b"")


def test_befunge_98_quits_with_a_code(tmp_path: Path) -> None:
    done = run(tmp_path, "1.7q", mode="-98")
    assert (done.returncode, done.stdout) == (7, b"1 ")


def test_befunge_98_space_is_wide(tmp_path: Path) -> None:
    """Cells far from the origin, on every side of it, are kept apart."""
    far = 'fff**:*"a"*'  # 11390625 * 97
    places = [f"{far}0", f"0{far}", f"{far}{far}", f"0{far}-0", f"00{far}-"]
    source = "".join(f"{number}{place}p" for number, place in enumerate(places))
    source += "".join(f"{place}g." for place in [*places, f"{far}1"]) + "@"
    assert run(tmp_path, source, mode="-98").stdout == b"0 1 2 3 4 32 "


def test_befunge_98_space_holds_many_far_cells(tmp_path: Path) -> None:
    """A thousand numbers in a column far away come back as they were; cell (0, 5) adds up what is amiss."""
    far = "fff**:*"
    store, check = f"0>::{far}\\p1+:aaa**-#v_0v", f">::{far}\\g-05g+05p1+:aaa**-#v_05g.@"
    turn, first = len(store) - 4, len(store) - 1
    lines = [
        store,
        " ^" + "<".rjust(turn - 1),
        " " * first + check,
        " " * first + "^" + "<".rjust(check.index("v")),
    ]
    assert run(tmp_path, "\n".join(lines), mode="-98").stdout == b"32 "


def test_befunge_random_turns_follow_the_seed(tmp_path: Path) -> None:
    source = "v>1.@\n>?2.@\n >3.@"
    ends = [run(tmp_path, source, mode="-93", seed=seed).stdout for seed in range(30)]
    assert set(ends) == {b"1 ", b"2 ", b"3 "}
    assert ends == [run(tmp_path, source, mode="-93", seed=seed).stdout for seed in range(30)]


@pytest.mark.parametrize(
    ("program", "arguments", "source", "expected"),
    [
        pytest.param("brainfuck", [], "++++++++++++.,", b"\x0c", id="Brainfuck, before it waits"),
        pytest.param("brainfuck", [], "++++++++++.[]", b"\n", id="Brainfuck, a line"),
        pytest.param("befunge", ["-93"], "7,~", b"\x07", id="Befunge, before it waits"),
        pytest.param("befunge", ["-93"], "55+,#< >", b"\n", id="Befunge, a line"),
    ],
)
def test_output_does_not_wait(
    tmp_path: Path, program: str, arguments: list[str], source: str, expected: bytes
) -> None:
    """What is written can be read although the program goes on, or waits for input."""
    path = tmp_path / "program"
    path.write_text(source)
    command = [interpreter_program(program), *arguments, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], 10)
        found = os.read(process.stdout.fileno(), 100) if ready else b""
        process.kill()
    assert found[:1] == expected
