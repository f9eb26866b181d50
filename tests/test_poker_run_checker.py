"""Poker Run, the checker: any bytes get a verdict with a reason, and C and Python give the same one."""

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from engines.poker_run.checker import check
from engines.poker_run.instance import generate, write_case
from engines.poker_run.kernel import GAME, Kernel, kernel, packed_case, packed_moves, unpacked_moves
from engines.poker_run.moves import parse
from engines.poker_run.ruleset import Ruleset, default_ruleset
from simfarm.core.model import Termination
from tests.bench.plain_poker import judge
from tests.poker_random import damaged, random_output, random_plays, scores_in_python

RULES = default_ruleset()
CASE = generate(7, RULES)
GOOD = b"3\ndiscard 26 16 17 45\nplay 33 8 9 23 50\nend\n"


@pytest.fixture(scope="module")
def referee() -> Kernel:
    return kernel(RULES)


@pytest.mark.parametrize(
    "output",
    [
        GOOD,
        GOOD.rstrip(),
        GOOD + b" \n\t\n\r\n",
        GOOD.replace(b"\n", b"\r\n"),
        b" 3\t\n\tdiscard  26 16\t17 45 \nplay 33 8 9 23 50\n end\n",
    ],
)
def test_valid(referee: Kernel, output: bytes) -> None:
    verdict = referee.check(CASE, output)
    assert verdict == check(CASE, RULES, output)
    assert (verdict.valid, verdict.total, verdict.rounds_cleared, verdict.moves) == (True, 316, 1, 3)


def test_nothing_done_is_valid(referee: Kernel) -> None:
    verdict = referee.check(CASE, b"0\n")
    assert (verdict.valid, verdict.total, verdict.rounds_cleared) == (True, 0, 0)


BIG = 100 << 20
WRONG = {
    "an empty file": (b"", 0, "unparsable", "first line must be the number of moves"),
    "a blank line first": (b"\n" + GOOD, 0, "unparsable", "first line"),
    "no count": (b"play 23\n", 0, "unparsable", "first line"),
    "a signed count": (b"+1\nplay 23\n", 0, "unparsable", "first line"),
    "a count with a leading zero": (b"01\nplay 23\n", 0, "unparsable", "first line"),
    "two words in the first line": (b"1 1\nplay 23\n", 0, "unparsable", "first line"),
    "a count that is too large": (b"4" + GOOD[1:], 3, "unparsable", "the count is 4, 3 moves follow"),
    "a count that is too small": (b"2" + GOOD[1:], 2, "unparsable", "the count is 2, more lines follow"),
    "a count beyond all numbers": (b"9" * 5000 + GOOD[1:], 3, "unparsable", "3 moves follow"),
    "a card twice": (b"1\nplay 23 23\n", 0, "illegal", "card 23 is named twice"),
    "a card not in the hand": (b"1\nplay 33\n", 0, "illegal", "card 33 is not in the hand"),
    "no such card": (b"1\nplay 52\n", 0, "unparsable", "'52' is no card"),
    "a negative card": (b"1\nplay -1\n", 0, "unparsable", "'-1' is no card"),
    "six cards": (b"1\nplay 23 9 50 17 45 8\n", 0, "unparsable", "play takes 1 to 5 cards"),
    "no card": (b"1\ndiscard\n", 0, "unparsable", "discard takes 1 to 5 cards"),
    "a shop move in a round": (b"1\nnext\n", 0, "illegal", "next in a round"),
    "a round move in the shop": (b"4" + GOOD[1:] + b"play 1\n", 3, "illegal", "play in the shop"),
    "the end before the target": (b"1\nend\n", 0, "illegal", "end at 0 points"),
    "too expensive": (b"6" + GOOD[1:] + b"level ST\n" * 3, 5, "unaffordable", "costs \\$5"),
    "a blank line among the moves": (b"3\ndiscard 26\n\nplay 23\n", 1, "unparsable", "an empty line"),
    "upper case": (b"1\nPLAY 23\n", 0, "unparsable", "no move begins with 'PLAY'"),
    "a NUL in a word": (b"1\nplay 2\x003\n", 0, "unparsable", "is no card"),
    "a name with NULs behind it": (b"4" + GOOD[1:] + b"level ST\x00\x00\n", 3, "unparsable", "is no hand type"),
    "NULs only": (b"\x00" * 1000, 0, "unparsable", "first line"),
    "not text": (b"1\n\xff\xfe\x80\n", 0, "unparsable", "no move begins with"),
    "a form feed between words": (b"1\nplay\x0c23\n", 0, "unparsable", "no move begins with"),
    "a long line of cards": (b"1\nplay" + b" 23" * (BIG // 3), 0, "unparsable", "1 to 5 cards"),
    "a long word": (b"1\n" + b"x" * BIG, 0, "unparsable", "no move begins with"),
    "a long count": (b"1" * BIG, 0, "unparsable", "0 moves follow"),
    "many lines": (b"1\nplay 23\n" + b"end\n" * (BIG // 4), 1, "unparsable", "more lines follow"),
    "a long line of spaces": (b"1\n" + b" " * BIG + b"play", 0, "unparsable", "1 to 5 cards"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(referee: Kernel, name: str) -> None:
    output, move, termination, reason = WRONG[name]
    started = time.monotonic()
    verdict = referee.check(CASE, output)
    assert time.monotonic() - started < 5
    assert verdict.mistake is not None
    assert (verdict.total, verdict.rounds_cleared, verdict.mistake.move) == (0, 0, move)
    assert verdict.mistake.termination is Termination(termination)
    assert re.search(reason, verdict.mistake.reason)
    assert len(str(verdict.mistake)) < 600
    assert str(verdict.mistake).isprintable()
    assert verdict == check(CASE, RULES, output)


def test_a_move_after_the_end(referee: Kernel) -> None:
    output = random_output(random.Random(3), CASE, RULES)
    while referee.check(CASE, output).rounds[-1].cleared:
        output = random_output(random.Random(4), CASE, RULES)
    lines = output.split(b"\n")[1:-1]
    hand = b"play 1"
    verdict = referee.check(CASE, b"\n".join([b"%d" % (len(lines) + 1), *lines, hand]))
    assert verdict.mistake is not None
    assert verdict.mistake.move == len(lines)


def test_c_and_python_agree_on_outputs(referee: Kernel) -> None:
    rng = random.Random(5)
    seen = set()
    for _ in range(250):
        case = generate(rng.getrandbits(32), RULES)
        output = random_output(rng, case, RULES)
        verdict = referee.check(case, output)
        assert verdict == check(case, RULES, output)
        assert verdict.valid
        seen.add(verdict.rounds_cleared)
        for _ in range(4):
            bad = damaged(rng, output)
            verdict = referee.check(case, bad)
            assert verdict == check(case, RULES, bad), bad
            seen.add(verdict.mistake and verdict.mistake.termination)
    assert seen >= {0, 1, 2, None, Termination.UNPARSABLE, Termination.ILLEGAL}


def test_c_and_python_agree_under_other_rules() -> None:
    """Much money (the cap on interest), another window, hand size, order of types and prices."""
    data = RULES.model_dump()
    data["params"] |= {"hand_size": 6, "plays": 5, "discards": 2, "max_modifiers": 7}
    data["params"]["targets"] = (10,) * 8
    data["money"] |= {"start": 300, "interest_max": 7}
    data["shop"] |= {"window": 4, "next": 1, "reroll": 2}
    data["hand"] = (data["hand"][1], data["hand"][0], *reversed(data["hand"][2:]))
    rules = Ruleset.model_validate(data)
    referee, rng = kernel(rules), random.Random(8)
    for _ in range(60):
        case = generate(rng.getrandbits(32), rules)
        output = random_output(rng, case, rules)
        verdict = referee.check(case, output)
        assert verdict == check(case, rules, output)
        assert verdict.valid
    plays = random_plays(12, 3000)
    points, types = referee.score(plays)
    assert scores_in_python(plays, rules) == list(zip(points.tolist(), types.tolist(), strict=True))


def test_c_and_python_agree_on_plays(referee: Kernel) -> None:
    plays = random_plays(11, 60_000)
    points, types = referee.score(plays)
    assert scores_in_python(plays, RULES) == list(zip(points.tolist(), types.tolist(), strict=True))
    assert len(set(types.tolist())) == 12


def test_c_and_python_make_the_same_cases(referee: Kernel) -> None:
    seeds = [0, 1, 7, 2**31, 2**32 - 1, *random.Random(1).choices(range(2**32), k=50)]
    games = referee.generate(seeds)
    for index, seed in enumerate(seeds):
        assert packed_case(generate(seed, RULES)).tobytes() == games[index : index + 1].tobytes()


def test_moves_from_memory(referee: Kernel) -> None:
    """Lists of moves get the verdict of their text; an illegal one is named by its index."""
    rng = random.Random(9)
    cases = [generate(seed, RULES) for seed in range(40)]
    outputs = [random_output(rng, case, RULES) for case in cases]
    lists = [[parse(line, RULES) for line in output.split(b"\n")[1:-1]] for output in outputs]
    arrays = [packed_moves(moves) for moves in lists]
    assert [unpacked_moves(array) for array in arrays] == lists
    starts = np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
    games = np.concatenate([packed_case(case) for case in cases])
    assert games.dtype == GAME
    verdicts = referee.replay(games, np.concatenate(arrays), starts)
    assert referee.verdicts(verdicts) == [
        check(case, RULES, output) for case, output in zip(cases, outputs, strict=True)
    ]
    swapped = np.concatenate(arrays)
    swapped["kind"][starts[5]] = 9
    verdicts = referee.replay(games, swapped, starts)
    assert (verdicts["status"] != 0).nonzero()[0].tolist() == [5]
    assert (verdicts["move"][5], verdicts["total"][5]) == (0, 0)
    with pytest.raises(ValueError, match="list 5 is invalid at move 0"):
        referee.verdicts(verdicts)


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "engines.poker_run", *arguments]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_command_line(tmp_path: Path) -> None:
    case = command("gen", "--seed", "7", cwd=tmp_path)
    assert case.stdout == write_case(CASE, RULES)
    (tmp_path / "case.txt").write_text(case.stdout)
    moves = command("baseline", "--seed", "7", cwd=tmp_path).stdout
    assert moves == command("baseline", "--case", "case.txt", cwd=tmp_path).stdout
    (tmp_path / "out.txt").write_text(moves)
    done = command("check", "case.txt", "out.txt", cwd=tmp_path)
    assert done.returncode == 0
    assert "total " in done.stdout
    told = json.loads(command("check", "case.txt", "out.txt", "--format", "json", cwd=tmp_path).stdout)
    assert told["valid"] is True
    assert told["error"] is None
    assert told["total"] == sum(end["points"] for end in told["rounds"])
    assert told["rounds_cleared"] == sum(end["cleared"] for end in told["rounds"])
    (tmp_path / "out.txt").write_bytes(GOOD.replace(b"33", b"34"))
    done = command("check", "case.txt", "out.txt", "--format", "json", cwd=tmp_path)
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["valid"], told["total"], told["rounds_cleared"]) == (False, 0, 0)
    assert told["error"]["move"] == 1
    assert "card 34 is not in the hand" in told["error"]["reason"]
    assert "line 3, move 1 (play 34 8 9 23 50)" in command("check", "case.txt", "out.txt", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "none.txt", "none.txt"), "none.txt: cannot be read"),
        (("check", "bad.txt", "bad.txt"), "bad.txt:1: the parameters are nonsense"),
        (("gen", "--seed", "1", "--ruleset", "bad.txt"), "bad.txt: not TOML"),
        (("baseline", "--case", "bad.txt"), "bad.txt:1: the parameters"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "bad.txt").write_text("nonsense\n")
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"poker_run: {message}")
    assert done.stderr.count("\n") == 1


def test_a_third_checker_agrees(referee: Kernel) -> None:
    """The benchmark's plain checker, written apart, gives the same totals for valid and for illegal lists."""
    rng = random.Random(21)
    for _ in range(60):
        case = generate(rng.getrandbits(32), RULES)
        moves = [parse(line, RULES) for line in random_output(rng, case, RULES).split(b"\n")[1:-1]]
        if rng.random() < 0.5:
            rng.shuffle(moves)
        array = packed_moves(moves)
        verdict = referee.replay(packed_case(case), array, np.array([0, len(array)]))[0]
        assert judge(case, RULES, moves) == (verdict["total"], verdict["cleared"])
