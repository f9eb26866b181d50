"""A plan in rounds of equal size, and what every bot scored in each.

A plan is cut into at most :data:`ROUNDS` rounds: round r holds the blocks from B r / R to B (r + 1) / R of every
matchup, B being its blocks and R the rounds. Rounds follow the block index, so what is seen after a round depends on
the plan and on nothing else: not on the order in which shards arrive, the executor, or a break.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from simfarm.core.model import Matchup, Score

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Span = tuple[str, int, int]
"""Key of a matchup, first block, one past the last block."""

ROUNDS = 2000
"""Most rounds that a plan is cut into. More would look earlier; fewer games in each would be less like a normal."""


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """How a plan is cut into rounds."""

    matchups: Mapping[str, Matchup]
    """By key."""
    count: int
    """Rounds of the whole plan."""

    @classmethod
    def of(cls, matchups: Mapping[str, Matchup]) -> "Rounds":
        """The rounds of a plan: one for each block of its longest matchup, :data:`ROUNDS` at most."""
        longest = max((matchup.stop - matchup.start for matchup in matchups.values()), default=0)
        return cls(matchups, min(ROUNDS, longest))

    def stops(self, key: str) -> IntArray:
        """Shape (count,): one past the last block of a matchup after each round."""
        matchup = self.matchups[key]
        return matchup.start + (matchup.stop - matchup.start) * np.arange(1, self.count + 1) // self.count

    def number(self) -> pl.Expr:
        """The round of a row, from its ``matchup`` and ``block``: 0 to count - 1."""
        spans = {key: (matchup.start, matchup.stop - matchup.start) for key, matchup in self.matchups.items()}
        start, blocks = (self._by_matchup({key: span[part] for key, span in spans.items()}) for part in (0, 1))
        return ((pl.col("block").cast(pl.Int64) - start + 1) * self.count - 1) // blocks

    def _by_matchup(self, values: Mapping[str, int]) -> pl.Expr:
        if len(set(values.values())) == 1:
            return pl.lit(next(iter(values.values())), pl.Int64)
        return pl.col("matchup").cast(pl.String).replace_strict(dict(values), return_dtype=pl.Int64)

    @property
    def blocks(self) -> IntArray:
        """Shape (count,): blocks of all matchups up to the end of each round."""
        starts = sum(matchup.start for matchup in self.matchups.values())
        return sum((self.stops(key) for key in self.matchups), np.zeros(self.count, np.int64)) - starts

    @property
    def games(self) -> IntArray:
        """Shape (count,): games of all matchups up to the end of each round."""
        total = np.zeros(self.count, np.int64)
        for key, matchup in self.matchups.items():
            total += (self.stops(key) - matchup.start) * matchup.games
        return total

    def complete(self, committed: Iterable[Span]) -> int:
        """Rounds from the first that are committed without a gap.

        Args:
            committed: the committed shards, in any order.
        """
        reached = {key: matchup.start for key, matchup in self.matchups.items()}
        for key, start, stop in sorted(committed):
            if start <= reached[key]:
                reached[key] = max(reached[key], stop)
        done = (int(np.searchsorted(self.stops(key), block, side="right")) for key, block in reached.items())
        return min(done, default=0)


@dataclass(frozen=True, slots=True, eq=False)
class RoundTotals:
    """What every bot scored in every round of every matchup. Those of different rows add up."""

    rounds: Rounds
    scores: Mapping[str, FloatArray]
    """Shape (rounds, k) by matchup key: scores of the matchup's k bots in its order; 0 where rows say nothing."""

    @classmethod
    def of(cls, rows: pl.LazyFrame, score: Score, rounds: Rounds) -> "RoundTotals":
        """Sum rows up.

        Args:
            rows: rows of the score's table with ``matchup`` and ``block``.
            score: which columns name the bot and hold its score.
            rounds: the plan's; rows of blocks that it does not hold are left out.
        """
        if not rounds.count:
            return cls.of_groups(pl.DataFrame(), rounds)
        groups = rows.group_by("matchup", pl.col(score.bot).alias("bot"), rounds.number().alias("round"))
        x = pl.col(score.value).cast(pl.Float64).sum().alias("x")
        return cls.of_groups(groups.agg(x).collect(engine="streaming"), rounds)

    @classmethod
    def of_groups(cls, groups: pl.DataFrame, rounds: Rounds) -> "RoundTotals":
        """Take over sums.

        Args:
            groups: columns ``matchup``, ``bot``, ``round`` and ``x``; a null bot scored for nobody.
            rounds: the plan's.
        """
        scores = {key: np.zeros((rounds.count, len(m.bots))) for key, m in rounds.matchups.items()}
        if not rounds.count:
            return cls(rounds, scores)
        named = groups.filter(pl.col("bot").is_not_null(), pl.col("round").is_between(0, rounds.count - 1))
        parts = named.with_columns(pl.col("matchup", "bot").cast(pl.String)).partition_by(
            "matchup", "bot", as_dict=True
        )
        for (key, name), part in parts.items():
            found = cls(rounds, scores).of_bot(key, name)
            np.add.at(found, part["round"].to_numpy(), part["x"].to_numpy())
        return cls(rounds, scores)

    def __add__(self, other: "RoundTotals") -> "RoundTotals":
        return RoundTotals(self.rounds, {key: scores + other.scores[key] for key, scores in self.scores.items()})

    def of_bot(self, key: str, bot: str) -> FloatArray:
        """Shape (rounds,): a bot's scores in one matchup."""
        return self.scores[key][:, [member.name for member in self.rounds.matchups[key].bots].index(bot)]

    def by_bot(self, bots: Sequence[str]) -> FloatArray:
        """Shape (rounds, bots): scores over all matchups."""
        total = np.zeros((self.rounds.count, len(bots)))
        for key, scores in self.scores.items():
            for column, bot in enumerate(self.rounds.matchups[key].bots):
                total[:, bots.index(bot.name)] += scores[:, column]
        return total
