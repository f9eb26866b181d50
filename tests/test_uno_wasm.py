"""Level wasm: the same games as natively, from bots that cannot reach beyond their own memory."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from engines.uno import wasm
from engines.uno.engine import UnoRules
from engines.uno.program import Level, Variant
from simfarm.config import build_config
from simfarm.core.errors import BotError, ConfigError, ToolError
from simfarm.core.model import Bot, BotSpec, Deal, Matchup, SourceFile, matchup_key
from simfarm.store import Run
from tests import uno_bots
from tests.uno_bots import ENGINE, ODD, make, play

pytestmark = pytest.mark.skipif(not wasm.available(), reason="the packages of simfarm[arena] are not installed")

ring = partial(uno_bots.ring, level=Level.WASM)


def natively(matchup: Matchup) -> Matchup:
    """The same matchup at level native."""
    return replace(matchup, rules=UnoRules(**{**matchup.rules.model_dump(), "level": Level.NATIVE}))


def same(matchup: Matchup, stop: int) -> bool:
    """Whether the records of the first blocks are the same on both levels."""
    return ENGINE._run(matchup, 0, stop, Variant.FAST) == ENGINE._run(natively(matchup), 0, stop, Variant.FAST)


def test_every_bundled_bot_plays_the_same_games() -> None:
    bots = [ENGINE.load(spec) for spec in ENGINE.bundled().values()]
    for first in range(0, len(bots), 4):
        four = (bots + bots)[first : first + 4]
        matchup = ring(*four, stop=5000)
        assert same(matchup, 5000)
        assert same(replace(matchup, deal=Deal.SHARED, games=24), 50)
        for block in (0, 1, 23, 24, 4999):
            assert list(ENGINE.replay(matchup, block)) == list(ENGINE.replay(natively(matchup), block))


def test_bots_that_throw_dice_get_the_same_dice() -> None:
    assert same(ring(make("odd", ODD), make("strange", ODD), make("odder", ODD), stop=2000, max_turns=500), 2000)


def test_the_table_is_whole_at_every_turn() -> None:
    matchup = ring(make("odd", ODD), make("strange", ODD), stop=2000, max_turns=500)
    assert ENGINE._run(matchup, 0, 2000, Variant.CHECK) == ENGINE._run(matchup, 0, 2000, Variant.FAST)


@pytest.mark.parametrize(
    "body",
    [
        "{ unsigned long sum = 1; int k; for (k = 0; k < 99; k++) sum = sum * 63641362238467930UL + sizeof(long) + k;"
        " if (choice >= RED) choice += 10000 * ((sum >> 40) % 4); }",
        "{ long long sum = 1; long little = state->yourNumberOfCards; int k; for (k = 0; k < 40; k++)"
        " sum = sum * 13 + little; if (choice >= RED) choice += 10000 * (int)((sum >> 50) & 3); }",
        "{ double x = state->numberOfDiscards / 7.0; int k; for (k = 0; k < 9; k++) x = x / 3.1 + 1 / (x + 0.1);"
        " if (choice >= RED) choice += 10000 * ((int)(x * 1e6) & 3); }",
        "{ char a[64], b[64]; int k; memset(a, 3, 64); memcpy(b, a, 64); b[state->yourNumberOfCards % 64] = 9;"
        " memmove(a + 1, b, 60); k = memcmp(a, b, 64); if (choice >= RED)"
        " choice += 10000 * ((k > 0) + abs(a[4]) % 3); }",
        "{ unsigned long sum = 3000000019, more = 0x1FFFFFFFFul; long int k; long long twice; for (k = 0; k < 9; k++)"
        " sum = sum * 4000000007L + (more >> k); twice = sum / 3; if (choice >= RED) choice += 10000 *"
        " ((twice + __builtin_popcountl(sum) + __builtin_clzl(sum | 1) + labs((long)sum % 7)) & 3); }",
        "{ int odd = RAND_MAX % 97 + EOF + BUFSIZ + EXIT_FAILURE + (int)(CLOCKS_PER_SEC % 89) + TMP_MAX + L_tmpnam"
        " + FOPEN_MAX + FILENAME_MAX + (NULL == 0) + SEEK_END; if (choice >= RED) choice += 10000 *"
        " ((odd + odd / 3 + odd / 7 + state->numberOfDiscards) & 3); }",
        "{ GameState copy = *state; copy.yourCards[0].value = 5; state->yourCards[1] = copy.yourCards[0];"
        " if (choice >= RED) choice += 10000 * (state->yourCards[1].value % 4); }",
    ],
    ids=["long", "long long", "double", "memory", "constants", "names of headers", "copies"],
)
def test_what_c_computes_is_the_same(body: str) -> None:
    assert same(ring(*(make(f"bot{seat}", body) for seat in range(4)), stop=1500), 1500)


FAULTS = {
    "null read": ("choice = *(volatile int *)0;", "crashed"),
    "null write": ("*(volatile int *)8 = 1;", "crashed"),
    "neighbour": ("choice = ((volatile GameState *)state)[2].yourNumberOfCards;", "crashed"),
    "near": ("{ int few[4]; int k = 2 + state->yourNumberOfCards; few[k] = 1; choice = few[0]; }", "crashed"),
    "far": ("*((volatile int *)state + (1 << 24)) = 1;", "crashed"),
    "farthest": ("*(volatile int *)(0u - 4) = 1;", "crashed"),
    "everywhere": ("{ unsigned at; for (at = 4096; at; at += 4096) *(volatile char *)at = 1; }", "crashed"),
    "fill": ("memset(state - 1, 1, 1 << 25);", "crashed"),
    "constant": ('{ volatile char *text = (char *)"ab"; text[0]++; }', "crashed"),
    "static": ("{ static volatile int calls = 5; calls++; }", "crashed"),
    "divide": ("choice = 1 / (state->yourPosition - state->yourPosition);", "crashed"),
    "trap": ("__builtin_trap();", "crashed"),
    "abort": ("abort();", "crashed"),
    "recursion": (
        "{ volatile char big[999]; big[0] = 1; choice = (big[1] = plain_Play(state) + big[0]); }",
        "crashed",
    ),
    "recursion without locals": (
        "choice = plain_Play(state) + state->yourNumberOfCards * plain_Play(state);",
        "crashed",
    ),
    "one large frame": ("{ volatile char big[1 << 25]; big[0] = 1; choice = big[0]; }", "crashed"),
    "smash": ("{ static char *volatile at; char few[8]; at = few; memset(at, 1, 1 << 20); }", "crashed"),
    "more memory": ("if (__builtin_wasm_memory_grow(0, 1) == (unsigned long)-1) abort();", "crashed"),
    "exit": ("exit(0);", "exited"),
    "loop": ("for (;;) ;", "timeout"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_are_rows(kind: str) -> None:
    body, termination = FAULTS[kind]
    bot = make("bad", f"if (state->yourNumberOfCards <= 2) {{ {body} }}")
    source = b"#include <string.h>\n" + bot.files[0].data
    matchup = ring(replace(bot, files=(SourceFile("bad.c", source),)), stop=60, turn_limit_ms=20)
    rows = play(matchup).to_dicts()
    broken = next(number for number, row in enumerate(rows) if row["termination"] != "completed")
    assert rows[broken]["termination"] == termination
    assert [row["fault_bot"] for row in rows[broken:]] == ["bad"] * (60 - broken)
    assert {row["termination"] for row in rows[broken + 1 :]} <= {"forfeited"}
    assert rows[:broken] == play(ring(make("bad"), stop=60)).to_dicts()[:broken]
    *_, turn, shown = ENGINE.replay(matchup, broken)
    assert re.search(r"seat \d bad \[.*\] on .*: the game ends$", turn)
    assert shown.startswith("    it was shown: direction ")


def test_a_bot_is_whole_again_in_the_next_segment() -> None:
    """Its stack pointer stands where it stood, however often a call of it was cut off."""
    body = "{ volatile char big[3000]; big[0] = 1; if (state->yourNumberOfCards == 2) abort(); }"
    matchup = ring(make("bad", body), stop=1200, deal=Deal.SHARED, seatings=((0, 1, 2, 3),))
    rows = play(matchup)
    assert (rows["termination"] == "crashed").sum() > 600
    assert rows.equals(play(natively(matchup)))


def test_a_bot_may_write_to_its_state_and_nothing_remains() -> None:
    decide = "if (choice >= RED) choice += 10000 * (rand() % 4); else if (rand() % 8 == 0) choice = rand() % 20;"
    scribble = """
        state->yourCards[0].type = rand() % 2; state->discardPile[0].colour = 5;
        if (rand() % 2) { int *at = (int *)state; int k; for (k = 0; k < sizeof *state / 4; k++) at[k] = k; }
        { int k; char *page = (char *)((unsigned long)state & ~4095ul);
          for (k = 0; page + k < (char *)state; k++) { if (page[k]) choice = -2; page[k] = 1; } }
    """
    same_dice = "rand(); if (rand() % 2) { int k; for (k = 0; k < 3; k++) ; }"
    writing = ring(make("bot", scribble + decide), make("twin", scribble + decide), stop=2000)
    reading = ring(make("bot", same_dice + decide), make("twin", same_dice + decide), stop=2000)
    assert play(writing).equals(play(reading))


def test_wiping_changes_nothing_for_an_honest_bot() -> None:
    matchup = ring(make("odd", ODD), stop=30)
    assert ENGINE._run(matchup, 0, 30, Variant.WIPE) == ENGINE._run(matchup, 0, 30, Variant.FAST)


def test_what_bots_print_goes_nowhere() -> None:
    loud = ring(make("bot", 'printf("%d", choice); puts("x"); putchar(65);'), stop=100)
    assert play(loud).equals(play(ring(make("bot"), stop=100)))


KEEPS = "'kept' keeps a value from call to call; use locals$"
NO_POINTERS = "at level wasm there are no pointers to functions, constructors or exports$"


@pytest.mark.parametrize(
    ("before", "body", "message"),
    [
        ("", 'choice += getenv("A") != 0;', "no function getenv$"),
        ("", 'choice += system("true");', "no function system$"),
        ('void own(void) __asm__("own_write");', "own();", "no function own_write$"),
        (
            '__attribute__((import_module("env"), import_name("*/ exit"))) void odd(void);',
            "odd();",
            r"no function \*.* exit$",
        ),
        ("int __attribute__((address_space(1))) kept;", "kept++;", KEEPS),
        (
            '__asm__(".globaltype kept, i32\\nkept:\\n");',
            '__asm__ volatile("i32.const 1\\n global.set kept");',
            KEEPS,
        ),
        ("int help(int x) { return x; }", "{ int (*volatile f)(int) = help; choice = f(choice); }", NO_POINTERS),
        ("__attribute__((constructor)) void first(void) { for (;;) ; }", "", NO_POINTERS),
        ("char kept[20 << 20];", "kept[5]++;", "maximum memory too small"),
        (
            "",
            "{ volatile long double x = choice; choice = (int)(x / 1); }",
            r"no function __\w+tf\w*.* \(long double and __int128 are not there\)$",
        ),
    ],
    ids=[
        "call",
        "system",
        "referee",
        "odd name",
        "global",
        "asm global",
        "pointer",
        "constructor",
        "size",
        "wide",
    ],
)
def test_what_is_not_there_is_the_fault_of_its_bot(before: str, body: str, message: str) -> None:
    bot = make("bad", body)
    source = b"#include <stdlib.h>\n" + before.encode() + b"\n" + bot.files[0].data
    with pytest.raises(BotError, match=rf"^bot 'bad': .*{message}"):
        ENGINE.check(ring(replace(bot, files=(SourceFile("bad.c", source),))))


def test_a_stack_pointer_that_is_left_elsewhere_is_set_right() -> None:
    """Code that is no C can move it; were it not put back, thousands of calls would run out of stack."""
    move = (
        '__asm__ volatile("global.get __stack_pointer\\n i32.const 64\\n i32.sub\\n global.set __stack_pointer");'
    )
    bot = make("bad", move)
    source = b'__asm__(".globaltype __stack_pointer, i32\\n");\n#include <time.h>\n' + bot.files[0].data
    rows = play(ring(replace(bot, files=(SourceFile("bad.c", source),)), stop=1000))
    assert rows.equals(play(ring(make("bad"), stop=1000)))


def test_an_error_names_file_and_line() -> None:
    broken = Bot("bad", (SourceFile("mine.c", b"int mine_Play(GameState *state)\n{\n    return stat->x;\n}\n"),))
    with pytest.raises(BotError, match=r"^bot 'bad': mine\.c:3:12: error: .*stat"):
        ENGINE.check(ring(broken))


def test_names_with_underscores_are_found() -> None:
    source = b"int _my__bot_Play(GameState *state) { return -1; }"
    rows = play(ring(Bot("odd", (SourceFile("odd.c", source),)), stop=5))
    assert rows["termination"].unique().to_list() == ["completed"]


def test_the_level_is_no_part_of_a_cell(tmp_path: Path) -> None:
    native, walled = natively(ring()), ring()
    assert matchup_key("uno", 1, 1, native) == matchup_key("uno", 1, 1, walled)
    specs = [BotSpec(name) for name in ("veteran", "starter", "first_legal", "sparring_tempo")]
    for level in ("native", "wasm"):
        config = build_config("uno", specs, plan={"games": 10}, rules={"level": level}, where="test")
        assert Run.create(tmp_path / level, config).config.rules == UnoRules(level=Level(level))
    with pytest.raises(ConfigError, match=r"rules\.level = \"open\""):
        build_config("uno", specs, plan={"games": 10}, rules={"level": "open"}, where="test")


def test_auto_means_wasm_where_the_tools_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Level.AUTO.chosen() is Level.WASM
    monkeypatch.setattr(wasm, "available", lambda: False)
    assert Level.AUTO.chosen() is Level.NATIVE
    with pytest.raises(ToolError, match=r"pip install 'simfarm\[arena\]'"):
        ENGINE.check(ring())
