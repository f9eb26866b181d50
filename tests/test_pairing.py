"""What pairing gains: against brute force on rows, and known cases."""

import numpy as np
import polars as pl
import pytest

from simfarm.core.model import Bot, Deal, Matchup, Rules, Score
from simfarm.stats.pairing import Gain, Seatings, of_same_blocks

SCORE = Score("games", "winner", "points", "points", seating="seating")
SEATINGS = ((0, 1), (1, 0))


def matchup(names: str, blocks: int, deal: Deal = Deal.SHARED) -> Matchup:
    return Matchup(tuple(map(Bot, names)), Rules(), 1, 3, 3 + blocks, 4, SEATINGS, deal)


def rows_of(scores: dict[str, np.ndarray]) -> pl.LazyFrame:
    """One or two rows for each bot in each seating of each block; shape of the scores: (blocks, seatings, 2)."""
    rows = []
    for key, values in scores.items():
        for (block, seating, bot), x in np.ndenumerate(values):
            rows += [(key, block + 3, seating, key[bot], x - 1.0), (key, block + 3, seating, key[bot], 1.0)]
        rows.append((key, 3, 0, None, 0.0))
    schema = {
        "matchup": pl.Categorical,
        "block": pl.UInt32,
        "seating": pl.UInt8,
        "winner": pl.Categorical,
        "points": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").sample(fraction=1, shuffle=True, seed=2).lazy()


def test_gains_are_those_of_counting_by_hand() -> None:
    rng = np.random.default_rng(1)
    scores = {key: rng.integers(0, 50, (40, 2, 2)).astype(float) for key in ("ab", "ac", "bc")}
    matchups = {key: matchup(key, 40) for key in scores} | {"cb": matchup("cb", 40, Deal.FRESH)}
    found = Seatings(rows_of(scores), SCORE, matchups)
    d = scores["ab"][:, :, 0] - scores["ab"][:, :, 1]
    gain = found.difference("a", "b")
    assert gain.blocks == 40
    assert gain.ratio == pytest.approx((d[:, 0].var() + d[:, 1].var()) / (d[:, 0] + d[:, 1]).var())
    everyone = sum(values.sum() for values in scores.values())
    m = d.sum() / everyone
    residuals = d - m * scores["ab"].sum(axis=2)
    assert found.margin("a", "b").ratio == pytest.approx(
        (residuals[:, 0].var() + residuals[:, 1].var()) / residuals.sum(axis=1).var()
    )
    parts = [values[:, :, 0] - values[:, :, 1] for values in scores.values()]
    independent = sum(part.var(axis=0).sum() for part in parts)
    assert found.all_differences().ratio == pytest.approx(
        independent / sum(part.sum(axis=1).var() for part in parts)
    )


def test_luck_that_swaps_with_the_seats_cancels() -> None:
    rng = np.random.default_rng(2)
    luck = rng.normal(0, 10, 200)
    noise = rng.normal(0, 1, (200, 2, 2))
    scores = np.stack([np.stack([luck, -luck], axis=1), np.stack([-luck, luck], axis=1)], axis=1) + noise
    gain = Seatings(rows_of({"ab": scores}), SCORE, {"ab": matchup("ab", 200)}).difference("a", "b")
    assert gain.ratio is not None
    assert gain.ratio == pytest.approx(2 * (400 + 2) / 4, rel=0.4)
    assert "gained" in next(iter(gain.sentences("it", "deals")))
    scores[:, 1] = -scores[:, 0]  # mirrored to the last point: nothing is left
    gain = Seatings(rows_of({"ab": scores}), SCORE, {"ab": matchup("ab", 200)}).difference("a", "b")
    assert gain.ratio is None or gain.ratio > 1e12


def test_lone_bots_on_the_same_blocks() -> None:
    rng = np.random.default_rng(3)
    puzzle = rng.normal(0, 3, 500)
    x, y = puzzle + rng.normal(0, 1, 500), puzzle + rng.normal(0, 1, 500)
    gain = of_same_blocks(x, y)
    assert gain.ratio == pytest.approx((x.var() + y.var()) / (x - y).var())
    assert gain.ratio == pytest.approx(10, rel=0.3)
    against = of_same_blocks(x, -x)
    assert against.ratio == pytest.approx(0.5)
    assert "cost" in next(iter(against.sentences("it", "the same blocks")))
    assert not list(of_same_blocks(x[:5], y[:5]).sentences("it", "the same blocks"))
    assert not list(Gain(0, 0.0, 0.0).sentences("it", "the same blocks"))
