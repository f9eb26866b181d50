"""Margins and their errors: against brute force, against known values, and against how often they err."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfarm.core.model import Score
from simfarm.stats import margin
from simfarm.stats.margin import Estimate, FloatArray, Moments, Rule, Verdict

SCORE = Score("games", "winner", "points", "points")
BOTS = ("ada", "bob", "cyd", "dan")
Row = tuple[str, int, str | None, int]
"""Matchup, block, bot, points."""


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    schema = {"matchup": pl.Categorical, "block": pl.UInt32, "winner": pl.Categorical, "points": pl.UInt16}
    return pl.DataFrame(rows, schema=schema, orient="row")


def scores_of(rows: Sequence[Row]) -> FloatArray:
    """Block scores, one line per block: the slow and obvious way."""
    lines: dict[tuple[str, int], FloatArray] = {}
    for matchup, block, bot, points in rows:
        line = lines.setdefault((matchup, block), np.zeros(len(BOTS)))
        if bot is not None:
            line[BOTS.index(bot)] += points
    return np.array(list(lines.values())).reshape(-1, len(BOTS))


def brute_force(scores: FloatArray, bot: int, reference: int) -> Estimate:
    n, t = len(scores), scores.sum(axis=1)
    if t.sum() == 0:
        return Estimate(None, None)
    difference = scores[:, bot] - scores[:, reference]
    m = difference.sum() / t.sum()
    if n < 2:
        return Estimate(100 * m, None)
    d = difference - m * t
    return Estimate(100 * m, 100 * math.sqrt(n / (n - 1) * (d**2).sum() / t.sum() ** 2))


def moments_of(scores: FloatArray) -> Moments:
    return Moments(BOTS[: scores.shape[1]], {"m": len(scores)}, scores.sum(axis=0), scores.T @ scores)


def agree(found: Estimate, expected: Estimate) -> None:
    assert (found.value is None) == (expected.value is None)
    assert (found.sigma is None) == (expected.sigma is None)
    if found.value is not None and expected.value is not None:
        assert found.value == pytest.approx(expected.value, abs=1e-9)
    if found.sigma is not None and expected.sigma is not None:
        # A sum of squares within rounding of zero is zero, which its root magnifies.
        assert found.sigma == pytest.approx(expected.sigma, rel=1e-6, abs=1e-4)


bot_names = st.one_of(st.none(), st.sampled_from(BOTS))
points = st.integers(0, 65535)
single_rows = st.dictionaries(
    st.tuples(st.sampled_from(["m1", "m2"]), st.integers(0, 2**32 - 1)), st.tuples(bot_names, points), max_size=30
)
many_rows = st.lists(st.tuples(st.sampled_from(["m1", "m2"]), st.integers(0, 8), bot_names, points), max_size=60)


@given(single_rows, st.booleans())
@settings(deadline=None)
def test_single_rows_agree_with_brute_force(
    found: dict[tuple[str, int], tuple[str | None, int]], clustered: bool
) -> None:
    rows = [(*cell, bot, points if bot else 0) for cell, (bot, points) in found.items()]
    moments = Moments.of(frame_of(rows), SCORE, BOTS, clustered)
    scores = scores_of(rows)
    assert moments.n == len(scores)
    assert moments.products == pytest.approx(scores.T @ scores)
    for bot in range(len(BOTS)):
        agree(moments.margin(BOTS[bot], "dan"), brute_force(scores, bot, 3))


@given(many_rows)
@settings(deadline=None)
def test_clusters_agree_with_brute_force(rows: list[Row]) -> None:
    moments = Moments.of(frame_of(rows).lazy(), SCORE, BOTS, True)
    scores = scores_of(rows)
    assert moments.n == len(scores)
    assert moments.products == pytest.approx(scores.T @ scores)
    assert sum(moments.blocks.values()) == len({row[:2] for row in rows})
    for bot in range(len(BOTS)):
        agree(moments.margin(BOTS[bot], "ada"), brute_force(scores, bot, 0))


@given(many_rows, st.integers(0, 8))
@settings(deadline=None)
def test_moments_of_parts_add_up(rows: list[Row], cut: int) -> None:
    whole = Moments.of(frame_of(rows), SCORE, BOTS, True)
    parts = ([row for row in rows if row[1] < cut], [row for row in rows if row[1] >= cut])
    total = Moments.none(BOTS)
    for part in parts:
        total += Moments.of(frame_of(part), SCORE, BOTS, True)
    assert total.blocks == whole.blocks
    assert total.sums == pytest.approx(whole.sums)
    assert total.products == pytest.approx(whole.products)


def random_rows(seed: int, blocks: int, per_block: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    names = (*BOTS, None)
    return [
        (f"m{block % 3}", block, names[rng.integers(5)], int(rng.integers(0, 500)))
        for block in range(blocks)
        for _ in range(per_block)
    ]


def test_memory_bounds_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(1, 500, 4)
    whole = Moments.of(frame_of(rows), SCORE, BOTS, True)
    monkeypatch.setattr(margin, "_ROWS_AT_ONCE", 170)
    monkeypatch.setattr(margin, "_BLOCKS_AT_ONCE", 7)
    cut = Moments.of(frame_of(rows), SCORE, BOTS, True)
    assert cut.blocks == whole.blocks
    assert cut.sums == pytest.approx(whole.sums)
    assert cut.products == pytest.approx(whole.products)


def test_blocks_with_several_rows_are_noticed() -> None:
    rows = random_rows(2, 100, 3)
    promised = Moments.of(frame_of(rows), SCORE, BOTS, False)
    assert promised.n == 100
    assert promised.products == pytest.approx(Moments.of(frame_of(rows), SCORE, BOTS, True).products)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_bot_that_nobody_knows(clustered: bool) -> None:
    with pytest.raises(ValueError, match="'eve', which is none of ada, bob"):
        Moments.of(frame_of([("m", 0, "eve", 1)]), SCORE, BOTS, clustered)


def test_moments_of_different_bots_do_not_add_up() -> None:
    with pytest.raises(ValueError, match="different bots"):
        Moments.none(("ada",)) + Moments.none(("bob",))


def test_the_official_sigma() -> None:
    """The winner's points have mean 115.036 and sd 48.19; four equal bots win a quarter of the games each."""
    n = 20_000_000
    sums = np.full(4, n / 4 * 115.036)
    products = np.diag(np.full(4, n / 4 * (115.036**2 + 48.19**2)))
    official = Moments(BOTS, {"m": n}, sums, products).margin("ada", "dan")
    assert official.value == pytest.approx(0)
    assert official.sigma == pytest.approx(0.01714, abs=5e-6)


def test_blocks_without_points_count() -> None:
    rows: list[Row] = [("m", 0, "ada", 10), ("m", 1, "bob", 20), ("m", 2, None, 0), ("m", 3, None, 0)]
    for clustered in (False, True):
        found = Moments.of(frame_of(rows), SCORE, BOTS, clustered)
        assert found.n == 4
        # m = -1/3, d = 40/3 and -40/3: var = 4/3 * 3200/9 / 900
        assert found.margin("ada", "bob").sigma == pytest.approx(100 * math.sqrt(4 / 3 * 3200 / 9 / 900))


def test_copies_that_score_alike_have_no_error() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 400, (1000, 3)).astype(float)
    scores[:, 1] = scores[:, 0]
    copies = moments_of(scores).margin("ada", "bob")
    assert (copies.value, copies.sigma, copies.z) == (0.0, 0.0, None)


def test_shares_that_never_vary_have_no_error() -> None:
    total = np.random.default_rng(6).integers(1, 400, (999, 1))
    constant = moments_of(total * np.array([0.1, 0.2, 0.7])).margin("ada", "cyd")
    assert constant.value == pytest.approx(-60)
    assert constant.sigma == 0.0
    assert Rule().judge(constant, 999, 999).verdict is Verdict.UNDECIDED


def single_winner_scores(rng: np.random.Generator, tournaments: int, blocks: int) -> FloatArray:
    """Block scores of equal bots as in a game that one of four wins, with that game's spread of points."""
    scores = np.zeros((tournaments, blocks, 4))
    won = rng.gamma((115.036 / 48.19) ** 2, 48.19**2 / 115.036, (tournaments, blocks, 1))
    np.put_along_axis(scores, rng.integers(0, 4, (tournaments, blocks, 1)), won, axis=2)
    return scores


@pytest.mark.parametrize("blocks", [20, 1000])
def test_equal_bots_are_told_apart_as_often_as_stated(blocks: int) -> None:
    """The stated rate is an upper bound, also for few blocks; with many, z has the spread of a normal."""
    tournaments = 4000
    scores = single_winner_scores(np.random.default_rng(4), tournaments, blocks)
    margins = [moments_of(tournament).margin("ada", "bob") for tournament in scores]
    rule = Rule()
    verdicts = [rule.judge(margin, blocks, blocks).verdict for margin in margins]
    wrong = sum(verdict in (Verdict.WIN, Verdict.LOSS) for verdict in verdicts)
    expected = tournaments * rule.error_rate(blocks)
    assert wrong <= expected + 3 * math.sqrt(expected)
    if blocks == 1000:
        assert np.std([margin.z or 0.0 for margin in margins]) == pytest.approx(1.0, abs=0.05)


def test_games_of_a_block_are_not_independent() -> None:
    """Whoever is lucky with a block's deal is lucky in all its games: counted one by one, equal bots would be
    told apart far too often; by block they are not."""
    tournaments, blocks, games = 400, 100, 12
    rng = np.random.default_rng(5)
    luck = rng.dirichlet(np.ones(4), (tournaments, blocks))
    wrong = {"naive": 0, "clustered": 0}
    rule = Rule(tie=0.0)
    for tournament in range(tournaments):
        drawn = rng.random((blocks, games, 1)) > luck[tournament].cumsum(axis=1)[:, None, :]
        winners = np.minimum(drawn.sum(axis=2), 3).ravel()
        frame = pl.DataFrame(
            {
                "matchup": "m",
                "block": np.repeat(np.arange(blocks), games),
                "winner": np.array(BOTS)[winners],
                "points": rng.integers(50, 200, blocks * games),
            }
        )
        naive = frame.with_columns(pl.int_range(pl.len()).alias("block"))
        for name, rows, n in (("naive", naive, blocks * games), ("clustered", frame, blocks)):
            judged = rule.judge(Moments.of(rows, SCORE, BOTS, name == "clustered").margin("ada", "bob"), n, 1200)
            wrong[name] += judged.verdict in (Verdict.WIN, Verdict.LOSS)
    assert wrong["naive"] > tournaments / 10
    assert wrong["clustered"] <= 6  # 1.4 expected, 6 has a chance of 0.1 %


@pytest.mark.parametrize(
    ("value", "sigma", "verdict", "needed"),
    [
        (0.06, 0.017, Verdict.WIN, None),
        (-0.06, 0.017, Verdict.LOSS, None),
        (0.31, 0.1, Verdict.WIN, None),
        (0.05, 0.001, Verdict.TIE, None),
        (-0.05, 0.001, Verdict.TIE, None),
        (0.0, 0.017, Verdict.TIE, None),
        (0.0, 0.0, Verdict.TIE, None),
        (0.051, 0.0171, Verdict.UNDECIDED, 1_100_000),
        (-0.1, 0.099, Verdict.UNDECIDED, 8_900_000),
        (0.01, 0.099, Verdict.TIE, 36_000_000),
        (1.0, 0.0, Verdict.UNDECIDED, None),
        (1.0, None, Verdict.UNDECIDED, None),
        (None, None, Verdict.UNDECIDED, None),
    ],
)
def test_the_rule(value: float | None, sigma: float | None, verdict: Verdict, needed: int | None) -> None:
    judged = Rule().judge(Estimate(value, sigma), 1_000_000, 1_000_000)
    assert judged.verdict is verdict
    assert judged.games_to_decide == needed
    assert "nan" not in judged.sentence


def test_the_games_that_decide_are_enough() -> None:
    rule = Rule()
    for games in (1, 77, 123_456, 10**9):
        needed = rule.judge(Estimate(0.7, 0.5), 100, games).games_to_decide
        assert needed is not None
        assert needed >= games
        assert rule.judge(Estimate(0.7, 0.5 * math.sqrt(games / needed)), 100, needed).verdict is Verdict.WIN


def test_error_rate_has_students_tails() -> None:
    """Closed forms for 1 and 2 degrees of freedom, and the normal limit."""
    rule = Rule()
    assert rule.error_rate(3) == pytest.approx(1 - 2 / math.pi * math.atan(3))
    assert rule.error_rate(5) == pytest.approx(1 - 3 / math.sqrt(2 + 9))
    assert rule.error_rate(20_001) == pytest.approx(rule.error_rate(20_000_000), rel=5e-3)
    assert rule.error_rate(20_000_000) == pytest.approx(0.0026998, abs=1e-7)
