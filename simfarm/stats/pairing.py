"""What a paired design gained or cost against independent games, measured from the rows.

Where a block is one deal in all its seatings, the block's sum of a difference d has the variance of the sum of its
seatings; independent games, as many in each seating, would give the sum of the seatings' variances. Where two bots
play alone on the same blocks, their difference has the variance of the difference; on blocks of their own it would be
the sum of both. The ratio of the two, independent over paired, is the gain: by so much more games independent ones
would take for the same error. Below 1 the design costs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from simfarm.core.model import Deal, Matchup, Score
from simfarm.stats.rounds import FloatArray, Rounds

_ROWS = 2_000_000
_FEWEST = 10


@dataclass(frozen=True, slots=True)
class Gain:
    """The variance of a difference per block, and what it would be with independent games."""

    blocks: int
    """Blocks that it is measured on."""
    independent: float
    paired: float

    @property
    def ratio(self) -> float | None:
        """Games of an independent design that are worth one game of this; None where the paired ones do not vary."""
        return self.independent / self.paired if self.paired > 0 else None

    def __add__(self, other: "Gain") -> "Gain":
        return Gain(self.blocks + other.blocks, self.independent + other.independent, self.paired + other.paired)

    def sentences(self, what: str, design: str) -> Iterator[str]:
        """The gain in words; nothing where too few blocks tell it.

        Args:
            what: whose error it is about, such as ``ada's margin``.
            design: what is shared.
        """
        if self.blocks < _FEWEST or self.independent <= 0:
            return
        measured = f"measured on {self.blocks:,} blocks"
        if self.ratio is None:
            yield f"Pairing, {design}: {what} is the same in every block, {measured}; no error is left."
            return
        word = "gained" if self.ratio >= 1 else "cost"
        yield (
            f"Pairing, {design}, {word}: one game is worth {self.ratio:.2f} independent ones for {what}, {measured}."
        )


class Seatings:
    """Scores by block and seating of the matchups whose blocks are one deal in every seating."""

    def __init__(self, rows: pl.LazyFrame, score: Score, matchups: Mapping[str, Matchup]) -> None:
        """Read rows: those of the first blocks, so many that a variance is known well.

        Args:
            rows: rows of the score's table with ``matchup`` and ``block``.
            score: what the columns mean.
            matchups: at least every matchup that rows name, by key.
        """
        self._names: dict[str, list[str]] = {}
        self._scores: dict[str, FloatArray] = {}
        shared = {key: m for key, m in matchups.items() if m.deal is Deal.SHARED and len(m.seatings) > 1}
        if not shared or score.seating is None:
            return
        rounds = Rounds.of(shared)
        enough = max(1, rounds.count * _ROWS // int(rounds.games[-1]))
        own = (
            rows.filter(pl.col("matchup").cast(pl.String).is_in(list(shared)))
            if len(shared) < len(matchups)
            else rows
        )
        sums = (
            own.filter(rounds.number() < enough)
            .group_by("matchup", "block", pl.col(score.seating).alias("seating"), pl.col(score.bot).alias("bot"))
            .agg(pl.col(score.value).cast(pl.Float64).sum().alias("x"))
            .collect(engine="streaming")
            .with_columns(pl.col("matchup", "bot").cast(pl.String))
        )
        for (key,), part in sums.partition_by("matchup", as_dict=True).items():
            names = [bot.name for bot in shared[key].bots]
            blocks = part["block"].rank("dense").cast(pl.Int64).to_numpy() - 1
            scores = np.zeros((int(blocks.max()) + 1, len(shared[key].seatings), len(names)))
            named = part["bot"].is_not_null().to_numpy()
            columns = part["bot"].fill_null(names[0]).replace_strict(names, range(len(names))).to_numpy()
            where = (blocks[named], part["seating"].cast(pl.Int64).to_numpy()[named], columns[named])
            np.add.at(scores, where, part["x"].to_numpy()[named])
            self._names[key], self._scores[key] = names, scores

    def __bool__(self) -> bool:
        return bool(self._scores)

    def margin(self, bot: str, reference: str) -> Gain:
        """Of a margin of shares: its residuals, as in :mod:`simfarm.stats.margin`."""
        found = [self._both(key, bot, reference) for key in self._meetings(bot, reference)]
        points = sum(float(scores.sum()) for scores in self._scores.values())
        value = sum(float(difference.sum()) for difference, _ in found) / points if points else 0.0
        return sum((_gain(difference - value * total) for difference, total in found), Gain(0, 0.0, 0.0))

    def difference(self, bot: str, other: str) -> Gain:
        """Of the difference of two bots' scores in the matchups where they meet."""
        found = [self._both(key, bot, other)[0] for key in self._meetings(bot, other)]
        return sum((_gain(difference) for difference in found), Gain(0, 0.0, 0.0))

    def all_differences(self) -> Gain:
        """Of the differences of all pairs that meet, taken together."""
        pairs = [
            self.difference_in(key, a, b)
            for key, names in self._names.items()
            for place, a in enumerate(names)
            for b in names[place + 1 :]
        ]
        gain = sum(pairs, Gain(0, 0.0, 0.0))
        return Gain(sum(len(scores) for scores in self._scores.values()), gain.independent, gain.paired)

    def difference_in(self, key: str, bot: str, other: str) -> Gain:
        """Of the difference of two bots' scores in one matchup."""
        return _gain(self._both(key, bot, other)[0])

    def _meetings(self, bot: str, other: str) -> list[str]:
        return [key for key, names in self._names.items() if bot in names and other in names]

    def _both(self, key: str, bot: str, other: str) -> tuple[FloatArray, FloatArray]:
        """Shape (blocks, seatings) each: the difference of their scores, and everyone's."""
        names, scores = self._names[key], self._scores[key]
        return scores[:, :, names.index(bot)] - scores[:, :, names.index(other)], scores.sum(axis=2)


def _gain(d: FloatArray) -> Gain:
    """Of differences by block and seating."""
    if len(d) < 2:
        return Gain(len(d), 0.0, 0.0)
    return Gain(len(d), float(d.var(axis=0, ddof=1).sum()) * len(d), float(d.sum(axis=1).var(ddof=1)) * len(d))


def of_same_blocks(x: FloatArray, y: FloatArray) -> Gain:
    """Of the difference of two bots that play alone on the same blocks.

    Args:
        x: shape (blocks,): scores of one.
        y: shape (blocks,): scores of the other on the same blocks.
    """
    if len(x) < 2:
        return Gain(len(x), 0.0, 0.0)
    return Gain(len(x), float(x.var(ddof=1) + y.var(ddof=1)) * len(x), float((x - y).var(ddof=1)) * len(x))
