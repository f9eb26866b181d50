"""Who beat whom, counted from rows, and what rating follows.

Bots are compared in pairs. Where a row is a game with one winner, the winner has beaten everybody else at its table,
and the others say nothing about each other; at a table of two without a winner both have half. That fits the model of
Bradley and Terry by pairs to games of four, where it agrees with Plackett and Luce: given that one of two has won, it
is the better with the chance that the two of them alone would have. Where rows are not games, bots are compared by
their scores in a block, and those that play alone by their scores on the same block.

The fit is :func:`simfarm.core.rating.rate`, which shows no rating where none is finite. Its error comes from rounds
of the plan, so that games of one table or one deal are not taken for independent.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from simfarm.core.rating import Rating, rate
from simfarm.stats.rounds import FloatArray, Rounds
from simfarm.stats.tally import block_scores
from simfarm.store import Run


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Ratings and what they come from."""

    bots: tuple[str, ...]
    wins: FloatArray
    """Shape (bots, bots): how often the row was ahead of the column, draws a half."""
    counts: FloatArray
    """Shape (bots, bots): how often the two were compared; symmetric."""
    ratings: tuple[Rating, ...]
    compared: str
    """What was compared: ``games`` or ``blocks``."""

    @classmethod
    def of_run(cls, run: Run) -> "Ratings":
        """The ratings of a run's committed rows."""
        engine, matchups = run.engine, run.matchups()
        playing = {bot.name for matchup in matchups.values() for bot in matchup.bots}
        bots = tuple(bot.name for bot in run.config.bots if bot.name in playing)
        is_game = engine.score.seat is not None
        found = _by_game(run, bots) if is_game else _by_block(run, bots)
        size = len(bots)
        wins, counts = np.zeros((size, size)), np.zeros((size, size))
        for (i, j), score, count in zip(found.pairs, found.scores, found.counts, strict=True):
            wins[i, j] += score
            wins[j, i] += count - score
            counts[i, j] += count
            counts[j, i] += count
        rated = rate(bots, found.pairs, found.scores, found.counts, found.clusters)
        return cls(bots, wins, counts, tuple(rated), "games" if is_game else "blocks")


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    pairs: np.ndarray[tuple[int, int], np.dtype[np.intp]]
    scores: FloatArray
    counts: FloatArray
    clusters: np.ndarray[tuple[int], np.dtype[np.intp]]


def _pairs(lines: list[tuple[int, int, float, float, int]]) -> _Pairs:
    table = np.array(lines, np.float64).reshape(-1, 5)
    whole = table[:, [0, 1, 4]].astype(np.intp)
    return _Pairs(whole[:, :2], table[:, 2], table[:, 3], whole[:, 2])


def _by_game(run: Run, bots: tuple[str, ...]) -> _Pairs:
    score, matchups = run.engine.score, run.matchups()
    rounds = Rounds.of(matchups)
    if not rounds.count:
        return _pairs([])
    groups = (
        run.lazy(score.table)
        .group_by("matchup", rounds.number().alias("round"), pl.col(score.bot).alias("bot"))
        .len()
        .collect(engine="streaming")
        .with_columns(pl.col("matchup", "bot").cast(pl.String))
        .filter(pl.col("round").is_between(0, rounds.count - 1))
    )
    won: dict[tuple[str, int], dict[str | None, int]] = {}
    for key, number, bot, count in groups.sort("matchup", "round").iter_rows():
        won.setdefault((key, number), {})[bot] = count
    lines = []
    for cluster, ((key, _), counts) in enumerate(won.items()):
        names = [bot.name for bot in matchups[key].bots]
        drawn = counts.get(None, 0) if len(names) == 2 else 0
        for a, b in combinations(names, 2):
            ahead, behind = counts.get(a, 0), counts.get(b, 0)
            if ahead + behind + drawn:
                place = (bots.index(a), bots.index(b))
                lines.append((*place, ahead + drawn / 2, float(ahead + behind + drawn), cluster))
    return _pairs(lines)


def _by_block(run: Run, bots: tuple[str, ...]) -> _Pairs:
    engine = run.engine
    tables = {table.name: run.lazy(table.name) for table in engine.tables if not table.optional}
    scores = block_scores(tables, engine, run.matchups()).select("unit", "bot", "score")
    units = scores.select(pl.col("unit").rank("dense").cast(pl.Int64))["unit"].to_numpy()
    scores = scores.with_columns(pl.Series("unit", units))
    lines = []
    for a, b in combinations(range(len(bots)), 2):
        both = scores.filter(bot=bots[a]).join(scores.filter(bot=bots[b]), on="unit")
        ahead = (both["score"] > both["score_right"]).cast(pl.Float64) + 0.5 * (
            both["score"] == both["score_right"]
        ).cast(pl.Float64)
        lines += [(a, b, score, 1.0, unit) for score, unit in zip(ahead, both["unit"], strict=True)]
    return _pairs(lines)
