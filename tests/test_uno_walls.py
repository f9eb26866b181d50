"""The walls around a UNO bot at level native: what it does wrong is a row that names it, and the games go on."""

import os
import platform
import re
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from engines.uno import program
from engines.uno.program import Level, Variant
from simfarm.core import native
from simfarm.core.errors import BotError
from simfarm.core.model import Bot, Deal, SourceFile
from tests import uno_bots
from tests.uno_bots import ENGINE, make, play

ring = partial(uno_bots.ring, level=Level.NATIVE)
X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="inline machine code for x86-64")

FAULTS = {
    "null read": ("choice = *(volatile int *)0;", "crashed"),
    "null write": ("*(volatile int *)8 = 1;", "crashed"),
    "neighbour": ("choice = ((volatile GameState *)state)[2].yourNumberOfCards;", "crashed"),
    "near": (
        "{ int few[4]; int k = 2 + state->yourNumberOfCards; few[k] = 1; choice = few[0] + few[k]; }",
        "crashed",
    ),
    "in the state": ("state->yourCards[107 + state->yourNumberOfCards].value = 1;", "crashed"),
    "far": ("*((volatile int *)state + (1 << 24)) = 1;", "crashed"),
    "wild": ("*(volatile int *)0x123456789000 = 1;", "crashed"),
    "divide": ("choice = 1 / (state->yourPosition - state->yourPosition);", "crashed"),
    "trap": ("__builtin_trap();", "crashed"),
    "abort": ("abort();", "crashed"),
    "recursion": (
        "{ volatile char big[999]; big[0] = 1; choice = (big[1] = plain_Play(state) + big[0]); }",
        "crashed",
    ),
    "one large frame": ("{ volatile char big[1 << 25]; big[0] = 1; choice = big[0]; }", "crashed"),
    "smash": (
        "{ char few[8], *at = few; HIDE(at); memset(at, 1, 1 << 20); HIDE(at); choice = few[3]; }",
        "crashed",
    ),
    "smash a little": (
        "{ char few[8], *at = few; HIDE(at); memset(at, 1, 400); HIDE(at); choice = few[3]; }",
        "crashed",
    ),
    "exit": ("exit(0);", "exited"),
    "quick": ("_exit(3);", "exited"),
    "loop": ("for (;;) ;", "timeout"),
    "print": ('for (;;) puts("more");', "timeout"),
    "sleep": ("sleep(100);", "forbidden"),
    "kill": ("kill(getpid(), 9);", "forbidden"),
    "raise": ("raise(SIGKILL);", "forbidden"),
    "fork": ("fork();", "forbidden"),
    "open": ('fopen("/etc/passwd", "r");', "forbidden"),
    "system": ('system("true");', "forbidden"),
    "much memory": ("{ char *volatile more = malloc(1 << 26); more[0] = 1; }", "forbidden"),
    "records": ('write(3, "forged", 6);', "forbidden"),
    "errors": ('write(4, "forged", 6);', "forbidden"),
    "end": ("syscall(231, 0); syscall(94, 0);", "forbidden"),
    "handler": ("signal(SIGSEGV, SIG_IGN);", "forbidden"),
    "clock": ("{ struct timespec now; clock_gettime(CLOCK_MONOTONIC_COARSE, &now); }", "forbidden"),
    "cpu clock": ("{ struct timespec now; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); }", "forbidden"),
}
"""What a bot does, and how its game ends."""
MACHINE_CODE = {
    "counter": ('__asm__ volatile("rdtsc" ::: "rax", "rdx");', {"forbidden"}),
    "counter, serialised": ('__asm__ volatile("rdtscp" ::: "rax", "rdx", "rcx");', {"forbidden"}),
    "system call": ('__asm__ volatile("syscall" :: "a"(39) : "rcx", "r11", "memory");', {"forbidden"}),
    "call of another size": (
        '__asm__ volatile("syscall" :: "a"(0x40000027) : "rcx", "r11", "memory");',
        {"forbidden"},
    ),
    "call of old": ('__asm__ volatile("int $0x80" :: "a"(20) : "memory");', {"forbidden", "crashed"}),
    "end": ('__asm__ volatile("syscall" :: "a"(231), "D"(0) : "rcx", "r11", "memory");', {"forbidden"}),
    "records": (
        '__asm__ volatile("syscall" :: "a"(1), "D"(3), "S"(state), "d"(20) : "rcx", "r11", "memory");',
        {"forbidden"},
    ),
    "no stack": ('__asm__ volatile("xor %eax, %eax; mov %rax, %rsp; push %rax");', {"crashed"}),
    "nowhere": ('__asm__ volatile("mov $0x8000000000000000, %rax; jmp *%rax");', {"crashed"}),
}
INCLUDES = """
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#define HIDE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")
"""
DEAF = """
{
    struct { void *restorer; ucontext_t context; siginfo_t info; } frame;
    memset(&frame, 0, sizeof frame);
    memset(&frame.context.uc_sigmask, 255, 128);
    frame.context.uc_mcontext.gregs[16] = (long)&plain_deaf;
    frame.context.uc_mcontext.gregs[15] = (long)state & -16;
    frame.context.uc_mcontext.gregs[18] = 0x2b000000000033;
    frame.context.uc_flags = 4;
    __asm__ volatile("mov %0, %%rsp; mov $15, %%eax; syscall" :: "r"(&frame.context) : "memory");
}
"""
"""Returns from a signal that never came, with every signal blocked: neither a fault nor the timer gets through."""


def special(name: str, body: str, before: str = "") -> Bot:
    """A bot that does something when it has two cards left, at its second try at the latest."""
    bot = make(name, f"if (state->yourNumberOfCards <= 2) {{ {body} }}")
    source = (INCLUDES + before + "\n#line 1\n").encode() + bot.files[0].data
    return Bot(name, (SourceFile(f"{name}.c", source),), language="c")


def the_fault(bot: Bot, *, limit: int = 20) -> str:
    """Plays the bot until it goes wrong, checks all rows and the replay, and returns the termination."""
    matchup = ring(bot, stop=60, turn_limit_ms=limit)
    rows = play(matchup).to_dicts()
    assert len(rows) == 60
    broken = next(number for number, row in enumerate(rows) if row["termination"] != "completed")
    termination = rows[broken]["termination"]
    for number, row in enumerate(rows[broken:]):
        assert row["fault_bot"] == bot.name
        assert (row["points"], row["winner_seat"], row["winner_bot"]) == (0, None, None)
        assert row["termination"] == (termination if number == 0 else "forfeited")
        assert (row["turns"] > 0) == (number == 0)
    verb = {
        "crashed": "crashes",
        "exited": "exits",
        "timeout": "times out",
        "forbidden": "does what is forbidden",
    }[termination]
    *_, turn, shown = ENGINE.replay(matchup, broken)
    assert re.search(rf"seat \d {bot.name} \[.*\] on .* {verb}: the game ends$", turn)
    assert re.match(r"    it was shown: direction (left|right); seat 0 has \d+ cards, called ", shown)
    assert list(ENGINE.replay(matchup, 59))[-1] == "not played: a bot is disqualified since an earlier game"
    # Up to there the games are those of a bot that does nothing wrong.
    assert rows[:broken] == play(ring(make(bot.name), stop=60)).to_dicts()[:broken]
    return str(termination)


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_are_rows(kind: str) -> None:
    body, termination = FAULTS[kind]
    assert the_fault(special("bad", body)) == termination


@X86
@pytest.mark.parametrize("kind", MACHINE_CODE)
def test_machine_code_gets_no_further(kind: str) -> None:
    body, terminations = MACHINE_CODE[kind]
    assert the_fault(special("bad", body)) in terminations


DEAD = "void plain_deaf(void) { *(volatile int *)0 = 1; }"
LIVING = "void plain_deaf(void) { for (;;) ; }"


@X86
@pytest.mark.parametrize(("code", "termination"), [(DEAD, "crashed"), (LIVING, "timeout")])
def test_a_bot_that_shuts_out_all_signals_is_named_by_the_warden(code: str, termination: str) -> None:
    assert the_fault(special("bad", DEAF, code)) == termination


@pytest.mark.parametrize("fault", ["abort();", "sleep(1);"])
def test_the_run_goes_on_after_the_segment(fault: str) -> None:
    bad = f"if (state->yourNumberOfCards == 2 && state->yourPosition == 0) {{ {fault} }}"
    rows = play(ring(make("bad", bad), stop=20, deal=Deal.SHARED))
    for block in range(20):
        terminations = rows.filter(rows["block"] == block)["termination"].to_list()
        faults = [place for place, value in enumerate(terminations) if value in ("crashed", "forbidden")]
        assert len(faults) <= 1
        after = terminations[faults[0] + 1 :] if faults else []
        assert set(after) <= {"forfeited"}
        assert set(terminations[: faults[0]] if faults else terminations) <= {"completed"}
    assert rows["termination"].is_in(["crashed", "forbidden"]).sum() >= 5


def test_no_clock_but_no_fault_for_the_old_way_to_seed() -> None:
    told = "if (time(NULL) != 0 || clock() != 0) choice = -2;"
    rows = play(ring(make("old", told), stop=300))
    assert rows.equals(play(ring(make("old"), stop=300)))


def test_dead_stack_memory_tells_nothing() -> None:
    memory = """
        { int kept[64], k; int *volatile at = kept;
          for (k = 0; k < 64; k++) { if (at[k] != 0) choice = -2; at[k] = 77; } }
    """
    rows = play(ring(*(make(f"keeper{seat}", memory) for seat in range(4)), stop=200))
    assert sum(rows[f"penalties_seat{seat}"].sum() for seat in range(4)) == 0


def test_nothing_written_to_the_state_outlives_the_call() -> None:
    mark = """
        { int k, found = 0; char *page = (char *)state - ((unsigned long)state & 4095);
          for (k = state->yourNumberOfCards; k < MAX_CARDS; k++) found |= state->yourCards[k].value;
          for (k = state->numberOfDiscards; k < MAX_CARDS; k++) found |= state->discardPile[k].value;
          for (k = 0; k < (int)((char *)state - page); k++) found |= page[k];
          if (found) choice = -2;
          for (k = state->yourNumberOfCards; k < MAX_CARDS; k++) state->yourCards[k].value = 9;
          for (k = state->numberOfDiscards; k < MAX_CARDS; k++) state->discardPile[k].value = 9;
          ((char *)state)[-8] = 1; }
    """
    rows = play(ring(*(make(f"marker{seat}", mark) for seat in range(4)), stop=200))
    assert rows["termination"].unique().to_list() == ["completed"]
    assert sum(rows[f"penalties_seat{seat}"].sum() for seat in range(4)) == 0


def test_no_name_of_a_bot_meets_another() -> None:
    """Bots may share an alias, put names together, and use those of the referee and of the library: all the same."""
    plainly = "int plain_help(void) { return 0; }\n"
    pasted = "#define JOIN(a, b) a##b\nint JOIN(plain_he, lp)(void) { return 0; }\n"
    others = "int leave(void) { return 0; }\nvoid exit(int x) { }\nint own_write(void) { return 0; }\n"
    befores = (plainly, pasted, others + plainly)
    bots = [make(f"bot{number}", "choice += plain_help();") for number in range(3)]
    named = [
        Bot(bot.name, (SourceFile(f"{bot.name}.c", before.encode() + bot.files[0].data),), language="c")
        for bot, before in zip(bots, befores, strict=True)
    ]
    rows = play(ring(*named, stop=300))
    assert rows.equals(play(ring(*(make(bot.name) for bot in bots), stop=300)))


def test_who_keeps_a_name_that_is_taken_is_named() -> None:
    source = b"#undef plain_Play\n#define plain_Play plain_Play\n" + make("any").files[0].data
    bad = [Bot("bad", (SourceFile("bad.c", source + b"\n" * more),), language="c") for more in range(2)]
    with pytest.raises(BotError, match=r"^bot 'bad': error: the name of plain_Play\(\) is taken in this ring"):
        ENGINE.check(ring(*bad))


def test_a_function_that_is_not_there_is_the_fault_of_its_bot() -> None:
    with pytest.raises(BotError, match=r"^bot 'bad': there is no function nowhere$"):
        ENGINE.check(ring(make("other"), make("bad", "choice += nowhere(1);")))


def test_messages_tell_no_place_of_the_machine() -> None:
    with pytest.raises(BotError, match=r"^bot 'bad': ") as caught:
        ENGINE.check(ring(special("bad", '__asm__("no such instruction");')))
    assert "/simfarm" not in str(caught.value)
    assert "/tmp" not in str(caught.value)


def test_what_bots_print_does_not_mix_with_records() -> None:
    quiet = ring(make("bot", 'if (0) printf("x");'), stop=300)
    loud = ring(make("bot", 'printf("x"); fflush(stdout); fprintf(stderr, "y"); write(1, "z", 1);'), stop=300)
    assert play(quiet).equals(play(loud))


def test_walls_change_no_game() -> None:
    matchup = ring(*(make(f"bot{seat}") for seat in range(4)), stop=3000)
    open_rows = ENGINE._run(matchup, 0, 3000, Variant.OPEN)
    assert ENGINE._run(matchup, 0, 3000, Variant.FAST) == open_rows
    assert ENGINE._run(matchup, 0, 30, Variant.WIPE) == open_rows[: 20 * 30]


def players(program: subprocess.Popen[bytes]) -> list[int]:
    """The processes that the referee has started."""
    return [int(pid) for pid in Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()]


def thinking() -> subprocess.Popen[bytes]:
    """A program whose bot will not answer for a minute, once its player runs."""
    matchup = ring(make("slow", "for (;;) ;"), stop=3, turn_limit_ms=60_000)
    path, arguments = ENGINE.command(matchup, 0, 3, Variant.FAST)
    program = subprocess.Popen([path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not players(program):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return program


def test_a_program_that_is_killed_from_outside_is_no_bots_fault() -> None:
    with thinking() as program:
        os.kill(players(program)[0], signal.SIGKILL)
        output, errors = program.communicate(timeout=20)
    assert program.returncode == 2
    assert output == b""
    assert b"killed from outside" in errors


def test_no_player_outlives_its_referee() -> None:
    with thinking() as program:
        player = Path(f"/proc/{players(program)[0]}/stat")
        program.kill()
        program.wait(20)
        deadline = time.monotonic() + 20
        while player.exists() and player.read_text().rsplit(")", 1)[1].split()[0] != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.01)


LATE = """
#include <stdarg.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
/* The player's first call of it, which is the second of all, comes when the referee is dead. */
int late_prctl(int option, ...)
{
    static int calls;
    static pid_t referee;
    unsigned long more[4];
    int place;
    va_list values;
    va_start(values, option);
    for (place = 0; place < 4; place++)
        more[place] = va_arg(values, unsigned long);
    va_end(values);
    if (++calls == 1)
        referee = getpid();
    for (place = 0; calls == 2 && getppid() == referee && place < 20000; place++) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, 0);
    }
    return prctl(option, more[0], more[1], more[2], more[3]);
}
"""


def test_no_player_begins_once_its_referee_is_dead(tmp_path: Path) -> None:
    """The referee is killed after the fork and before the player has asked to die with it."""
    (tmp_path / "late.c").write_text(LATE)
    (tmp_path / "bot.c").write_bytes(make("slow", "for (;;) ;").files[0].data)
    unit = "bot_function plain_Play;\nconst struct unit ring[] = {{plain_Play}};\n"
    (tmp_path / "ring.c").write_text('#include "unit.h"\n' + unit)
    referee = Path(program.__file__).parent / "referee"
    include = (f"-I{referee}", f"-I{Path(native.__file__).with_suffix('')}")
    compiler = (*native.find_compiler().command, *program.REFEREE_FLAGS, *include)
    for source, flags in (
        (referee / "referee.c", ["-Dprctl=late_prctl"]),
        ("late.c", []),
        ("bot.c", []),
        ("ring.c", []),
    ):
        subprocess.run([*compiler, *flags, "-c", source], cwd=tmp_path, check=True)
    objects = ("referee.o", "late.o", "bot.o", "ring.o")
    subprocess.run([*compiler, "-no-pie", *objects, "-o", "late"], cwd=tmp_path, check=True)
    arguments = ("1", "0", "0", "3", "2400", "0", "2000", "10000", "0000", "0123")
    with subprocess.Popen([tmp_path / "late", *arguments], stderr=subprocess.PIPE) as started:
        deadline = time.monotonic() + 20
        while not players(started):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        started.kill()
        assert started.stderr is not None
        assert b"cannot start" in started.stderr.read(), "the player has its end of the pipe until it ends"
