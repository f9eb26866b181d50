"""The UNO engine: loading and building bots, shards and segments, shared deals, tables and summaries."""

import time
from itertools import pairwise
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from engines.uno.engine import SEGMENT_BLOCKS, UnoRules
from engines.uno.program import Level, ring_program
from simfarm.core.errors import BotError, ConfigError
from simfarm.core.model import Bot, BotSpec, Deal, Matchup, Shard, SourceFile
from tests.uno_bots import ALL_SEATINGS, ENGINE, ODD, PLAIN, make, play, ring

BY_SCORES = """
{
    int sum = 0, seat;
    for (seat = 0; seat < MAX_PLAYERS; seat++)
        sum = 3 * sum + state->allPlayersScores[seat];
    if (choice >= RED)
        choice += 10000 * (sum % 4);
}
"""
"""Calls a colour by what all have scored so far: any error in the scores shows in the games."""


# --- loading and building ---------------------------------------------------------------------------------


def write(folder: Path, text: str, name: str = "mine.c") -> BotSpec:
    (folder / name).write_text(text)
    return BotSpec("mine", file=str(folder / name))


def test_bundled_bots_load_and_play_without_penalty() -> None:
    bots = [ENGINE.load(spec) for spec in ENGINE.bundled().values()]
    assert len(bots) >= 4
    for first in range(0, len(bots), 4):
        four = (bots + bots)[first : first + 4]
        rows = play(ring(*four, stop=2000))
        assert rows["termination"].unique().to_list() == ["completed"]
        assert sum(rows[f"penalties_seat{seat}"].sum() for seat in range(4)) == 0


def test_the_header_is_supplied_and_lines_stay_the_bots_own(tmp_path: Path) -> None:
    bot = ENGINE.load(write(tmp_path, PLAIN.replace('#include "proj2.h"', "")))
    ENGINE.check(ring(bot))
    broken = "int mine_Play(GameState *state)\n{\n    return stat->yourPosition;\n}\n"
    with pytest.raises(BotError, match=r"^bot 'mine': mine\.c:3:12: error: .*stat.*$") as caught:
        ENGINE.check(ring(ENGINE.load(write(tmp_path, broken))))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("int helper(void) { return 0; }", "it defines none"),
        ("int x_Play(GameState *state);", "it defines none"),
        ("/* int x_Play(GameState *state) { } */", "it defines none"),
        (
            "int a_Play(GameState *s) { return 0; } int b_Play(GameState *s) { return 0; }",
            "several: a_Play, b_Play",
        ),
        ("int a_Play(GameState *s) { return 0; }\0", "zero byte"),
    ],
)
def test_what_is_no_bot(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(BotError, match=what) as caught:
        ENGINE.load(write(tmp_path, text))
    assert "'mine'" in str(caught.value)


def test_what_is_no_c_file(tmp_path: Path) -> None:
    with pytest.raises(BotError, match=r"cannot read .*none\.c: No such file"):
        ENGINE.load(BotSpec("mine", file=str(tmp_path / "none.c")))
    with pytest.raises(BotError, match=r"must end in \.c"):
        ENGINE.load(write(tmp_path, PLAIN, "mine.py"))
    with pytest.raises(BotError, match="one C file"):
        ENGINE.load(BotSpec("mine", command="./mine"))


def test_two_sources_with_one_alias_meet() -> None:
    never = make("never", "choice = -2;", alias="same", file="bot.c")
    plain = make("plain", alias="same", file="bot.c")
    lonely = make("lonely", alias="same_", file="bot.c")
    rows = play(ring(never, plain, lonely, stop=480))
    won = dict(rows.group_by("winner_bot").len().iter_rows())
    assert set(won) - {None} == {"plain", "lonely", "plain3"}
    assert rows.equals(play(ring(make("never", "choice = -2;"), make("plain"), make("lonely"), stop=480)))


def test_equal_sources_are_one_unit_and_seats_do_not_change_the_program() -> None:
    odd, plain = make("odd", ODD), [make(f"p{number}") for number in range(3)]
    program, units = ring_program((odd, *plain))
    other, others = ring_program((plain[0], plain[1], odd, plain[2]))
    assert program == other
    assert sorted(units) in (["0", "0", "0", "1"], ["0", "1", "1", "1"])
    assert others == units[1] + units[1] + units[0] + units[1]


@pytest.mark.parametrize("level", [Level.NATIVE, Level.WASM])
def test_names_outside_the_alias_may_clash(level: Level) -> None:
    helper = "int helper(void)\n{\n    return %d;\n}\n\nint %s_Play"
    one, two = (
        Bot(name, (SourceFile("bot.c", PLAIN.replace("int plain_Play", helper % (number, name)).encode()),))
        for number, name in enumerate(("one", "two"))
    )
    rows = play(ring(one, two, level=level, stop=100))
    assert rows.equals(play(ring(make("one"), make("two"), level=level, stop=100)))


def test_matchups_that_do_not_fit() -> None:
    four = ring().bots
    with pytest.raises(ConfigError, match="four bots, not 3"):
        ENGINE.check(Matchup(four[:3], UnoRules(), 1, 0, 1))
    with pytest.raises(ConfigError, match="must be an order of the positions"):
        ENGINE.check(ring(seatings=((0, 1, 2, 2),)))
    with pytest.raises(ConfigError, match="is 24 games here, not 1"):
        ENGINE.check(Matchup(four, UnoRules(), 1, 0, 1, 1, ALL_SEATINGS, Deal.SHARED))
    for wrong in ({"turn_limit_ms": 0}, {"max_turns": 70_000}, {"cards": 8}):
        with pytest.raises(ValidationError):
            UnoRules(**wrong)


# --- shards, segments, scores -----------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(data=st.data(), deal=st.sampled_from(Deal))
def test_rows_do_not_depend_on_the_cut(data: st.DataObject, deal: Deal) -> None:
    blocks = 5 * SEGMENT_BLOCKS + 77 if deal is Deal.FRESH else 60
    matchup = ring(make("scores", BY_SCORES), make("odd", ODD), stop=blocks, max_turns=300, deal=deal)
    step = ENGINE.segment(matchup)
    assert step == (SEGMENT_BLOCKS if deal is Deal.FRESH else 1)
    bounds = st.sets(st.integers(1, blocks // step).map(lambda segment: segment * step))
    cuts = sorted({0, blocks} | {cut for cut in data.draw(bounds) if cut < blocks})
    whole = play(matchup)
    parts = [play(matchup, *cut) for cut in pairwise(cuts)]
    assert pl.concat(parts).equals(whole)
    # A shard that starts in the middle of a segment first plays what came before, without rows.
    start = data.draw(st.integers(0, blocks - 1))
    stop = data.draw(st.integers(start + 1, blocks))
    assert play(matchup, start, stop).equals(whole.filter(pl.col("block").is_between(start, stop - 1)))


def test_scores_add_up_over_a_segment_and_start_anew() -> None:
    report = "{ int k, s = 0; for (k = 0; k < 4; k++) s = s * 7 + state->allPlayersScores[k]; choice = -2 - s; }"
    matchup = ring(make("teller", report), stop=SEGMENT_BLOCKS + 2, max_turns=400)
    rows = play(matchup).to_dicts()
    for block in (0, 1, 30, SEGMENT_BLOCKS - 1, SEGMENT_BLOCKS, SEGMENT_BLOCKS + 1):
        seating = ALL_SEATINGS[block % 24]
        start = block // SEGMENT_BLOCKS * SEGMENT_BLOCKS
        told = 0
        for bot in seating:
            name = matchup.bots[bot].name
            told = told * 7 + sum(row["points"] for row in rows[start:block] if row["winner_bot"] == name)
        line = next(line for line in ENGINE.replay(matchup, block) if "answers" in line)
        assert f"answers {-2 - told}:" in line


def test_a_disqualified_bot_is_out_for_its_segment() -> None:
    crash = "if (state->allPlayersScores[0] + state->allPlayersScores[1] > 60000) abort();"
    rows = play(ring(make("late", crash), stop=2 * SEGMENT_BLOCKS)).to_dicts()
    ends = [row["termination"] for row in rows]
    first = ends.index("crashed")
    assert 100 < first < SEGMENT_BLOCKS - 1
    assert ends[:first] == ["completed"] * first
    assert ends[first + 1 : SEGMENT_BLOCKS] == ["forfeited"] * (SEGMENT_BLOCKS - first - 1)
    assert ends[SEGMENT_BLOCKS] == "completed"
    for block, row in enumerate(rows[first:SEGMENT_BLOCKS], first):
        assert (row["seating"], row["fault_bot"], row["points"]) == (block % 24, "late", 0)


# --- shared deals -----------------------------------------------------------------------------------------


def test_copies_come_out_equal_in_shared_deals() -> None:
    colourful = "if (choice >= RED) choice += 10000 * (rand() % 4);"
    bots = make("copy", colourful), make("twin", colourful), make("scores", BY_SCORES)
    rows = play(ring(*bots, stop=40, deal=Deal.SHARED))
    assert rows.height == 40 * 24
    assert rows["seating"].to_list() == list(range(24)) * 40
    # One deal: the same beginning in every seating.
    assert rows.group_by("block").agg(pl.struct("first_seat", "direction").n_unique().alias("n"))["n"].max() == 1
    points = {
        (block, bot): total
        for block, bot, total in rows.group_by("block", "winner_bot").agg(pl.sum("points")).iter_rows()
    }
    for block in range(40):
        assert points.get((block, "copy"), 0) == points.get((block, "twin"), 0)
    assert sum(points.get((block, "copy"), 0) for block in range(40)) > 0


def test_a_fault_in_a_shared_deal_ends_its_block_only() -> None:
    crash = "if (state->yourNumberOfCards == 1) abort();"
    rows = play(ring(make("bad", crash), stop=20, deal=Deal.SHARED))
    for (_,), block in rows.group_by("block"):
        ends = block["termination"].to_list()
        if "crashed" in ends:
            first = ends.index("crashed")
            assert ends == ["completed"] * first + ["crashed"] + ["forfeited"] * (23 - first)
    assert rows.filter(pl.col("termination") == "crashed").height > 5


# --- tables, summary --------------------------------------------------------------------------------------


def test_the_table_is_as_declared() -> None:
    rows = ENGINE.play(Shard(ring(stop=10), "0" * 16, 0, 10))["games"]
    declared = [("block", pa.uint32())] + [(column.name, column.type) for column in ENGINE.tables[0]]
    assert [(field.name, field.type) for field in rows.schema] == declared
    assert rows["block"].to_pylist() == list(range(10))


def test_a_matchup_may_start_anywhere_and_need_no_seatings() -> None:
    rows = play(ring(start=100, stop=110, seatings=()))
    assert rows["block"].to_list() == list(range(100, 110))
    assert set(rows["seating"]) == {0}
    assert rows.equals(play(ring(stop=200, seatings=()), 100, 110))


def test_summary_is_computed_from_rows() -> None:
    matchup = ring(make("odd", ODD), make("eager"), stop=2400, max_turns=500)
    rows = play(matchup)
    summary = ENGINE.summarize([matchup], {"games": rows}, 2.0)
    assert summary["games"] == 2400
    assert summary["games_per_second"] == 1200
    assert summary["turns_per_game"] == pytest.approx(rows["turns"].cast(pl.Int64).mean())
    assert [bot["name"] for bot in summary["bots"]] == [bot.name for bot in matchup.bots]
    assert sum(bot["share"] for bot in summary["bots"]) == pytest.approx(1)
    assert sum(bot["wins"] for bot in summary["bots"]) == rows["winner_bot"].drop_nulls().len()
    assert [bot["penalties"] > 0 for bot in summary["bots"]] == [True, False, False, False]
    assert summary["bots"][0]["penalties"] == sum(rows[f"penalties_seat{seat}"].sum() for seat in range(4))


@pytest.mark.parametrize(
    ("before", "body", "word"),
    [
        (
            "int plain_turns;",
            "choice += plain_turns++;",
            "'plain_turns' keeps a value from call to call; use locals",
        ),
        ("", "{ static int n; choice += n++; }", "keeps a value from call to call; use locals"),
        ("", "choice += random() % 2;", r"random\(\) keeps its state in the C library; use rand\(\)"),
    ],
)
def test_a_bot_that_remembers_is_refused(before: str, body: str, word: str) -> None:
    """Its rows would depend on how a run is cut into shards."""
    bot = make("elephant", body)
    source = SourceFile("elephant.c", before.encode() + b"\n" + bot.files[0].data)
    with pytest.raises(BotError, match=f"bot 'elephant': elephant.c: .*{word}"):
        ENGINE.check(ring(Bot("elephant", (source,), language="c"), stop=24, level=Level.NATIVE))


@pytest.mark.parametrize("level", [Level.NATIVE, Level.WASM])
def test_a_bot_that_includes_what_has_no_end_is_refused_soon(level: Level) -> None:
    bad = Bot("bad", (SourceFile("bad.c", b'#include "/dev/zero"\n' + make("any").files[0].data),))
    started = time.monotonic()
    with pytest.raises(BotError, match=r"^bot 'bad': [^\n]*out of memory[^\n]*$"):
        ENGINE.check(ring(bad, level=level))
    assert time.monotonic() - started < 30
