"""Who is last, exactly, and how sure that is.

A bot's balance is the sum of its scores over all its matchups; the lowest balance is last, and equal ones tie. That
is decided in whole numbers: scores are counted in the largest of the units 1, 1/2, 1/4, ... that divides them all.

How sure it is comes from resampling. Blocks (matches) of one matchup are independent and alike, so each resample
draws blocks of every matchup anew, all bots of a block together. With n blocks it draws n - 1 with replacement and
scales their sum to n: the variance of a bot's balance is then that of the sample, n s**2, where drawing n would give
(n - 1) s**2. The spread is itself an estimate, so each resample also draws what it
may really be: it multiplies all deviations by the root of f / chi2, chi2 with the f degrees of freedom that Welch and
Satterthwaite give the closest lead. Resampled leads of normal scores are then nearly Student's t, as they should be.
A bot's probability of being last is the share of resamples in which it is last or ties for it.

What that is worth, by simulation of 500 contests each with normal scores: of two equal bots one should be called last
with 95 % or more in 10 of 100 contests, and it is in 9 with 2 blocks, 10 with 3 and 11 with 10. Of four bots, two of
them equal and last, it is in 6 with 2 blocks of each matchup, 9 with 3, 11 with 5 and 11 with 10. With one block per
matchup there is no spread to draw from, and none is made up.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import polars as pl

from simfarm.core.errors import ConfigError
from simfarm.core.model import Matchup, Score
from simfarm.store import Run

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

SURE = 0.99
"""The probability that :attr:`Lead.blocks_needed` is about."""

_MOST_RESAMPLES = 10_000
_FEWEST_RESAMPLES = 500
_DRAWS = 30_000_000
_DRAWS_AT_ONCE = 2_000_000
_FINEST = 1024
_ROUND = 6


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The blocks of one matchup, equal ones counted together."""

    members: tuple[int, ...]
    """Positions of the matchup's bots among all."""
    scores: IntArray
    """Shape (u, k): scores of the k members in each of u different blocks, in units."""
    survived: IntArray
    """Shape (u, k): games that they survived; zeros where rows do not tell."""
    counts: IntArray
    """Shape (u,): how many blocks are like that."""

    @property
    def n(self) -> int:
        """The number of blocks."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Certainty:
    """What resampling says."""

    resamples: int
    probabilities: Mapping[str, float]
    """Probability of being last or tied for last, by bot."""
    same: float
    """Probability that exactly those go that are last in the rows."""


@dataclass(frozen=True, slots=True)
class Lead:
    """By how much the closest bot that stays is ahead of a bot that goes."""

    last: str
    next: str
    value: float
    """Difference of their balances; 0 where only the tie-break decides."""
    sigma: float | None
    """Its standard error; None with one block in a matchup of either."""
    blocks: int
    """Blocks per matchup, the fewest."""
    freedom: float | None
    """Degrees of freedom of sigma, by Welch and Satterthwaite; None without sigma, or where nothing varies."""

    @property
    def blocks_needed(self) -> int | None:
        """Blocks per matchup with which a lead like this is :data:`SURE`, about; None where nobody can tell."""
        if self.sigma is None or self.value == 0:
            return None
        z = NormalDist().inv_cdf(SURE)
        return max(self.blocks, ceil(self.blocks * (z * self.sigma / self.value) ** 2))


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """The block scores of a run, and what follows from them."""

    bots: tuple[str, ...]
    """All bots that take part in a matchup."""
    scale: int
    """Units in one point of the engine's score: scores are whole numbers of units."""
    matchups: Mapping[str, Blocks]
    """By key; matchups without committed blocks are left out."""
    tie_break: bool
    """Whether fewer games survived decide between equal balances."""

    @classmethod
    def of(
        cls,
        rows: pl.LazyFrame,
        score: Score,
        matchups: Mapping[str, Matchup],
        bots: Sequence[str],
        tie_break: bool,
    ) -> "Standing":
        """Count rows.

        Args:
            rows: rows of the score's table with ``matchup`` and ``block``, in any order.
            score: what the columns mean.
            matchups: at least every matchup that rows name, by key.
            bots: names in the order of reports; those in no matchup are left out.
            tie_break: whether games survived break ties; the score must tell them.

        Raises:
            ConfigError: scores are not multiples of 1/1024, so that their sums would not be exact.
        """
        playing = {bot.name for matchup in matchups.values() for bot in matchup.bots}
        names = tuple(name for name in bots if name in playing)
        values = rows.select(
            pl.col("matchup", "block"),
            pl.col(score.bot).cast(pl.String).alias("bot"),
            pl.col(score.value).fill_null(0).alias("score"),
            (pl.col(score.survived) if score.survived else pl.lit(0)).cast(pl.Int64).alias("survived"),
        )
        scale = _scale(values, score)
        sums = (
            values.with_columns((pl.col("score") * scale).cast(pl.Int64))
            .group_by("matchup", "block")
            .agg(
                pl.col(column).filter(pl.col("bot") == name).sum().alias(f"{column} {position}")
                for column in ("score", "survived")
                for position, name in enumerate(names)
            )
        )
        alike = sums.group_by(pl.exclude("block")).len("blocks").collect(engine="streaming")
        parts = {
            str(key): part
            for (key,), part in alike.partition_by("matchup", as_dict=True, include_key=False).items()
        }
        found = {}
        for key, matchup in matchups.items():
            if key not in parts:
                continue
            part = parts[key].sort(pl.all())
            members = tuple(names.index(bot.name) for bot in matchup.bots)
            found[key] = Blocks(
                members,
                part.select(f"score {member}" for member in members).to_numpy().astype(np.int64),
                part.select(f"survived {member}" for member in members).to_numpy().astype(np.int64),
                part["blocks"].to_numpy().astype(np.int64),
            )
        return cls(names, scale, found, tie_break)

    @classmethod
    def of_run(cls, run: Run) -> "Standing":
        """The standing by a run's committed rows and its config's tie-break.

        Raises:
            ConfigError: as :meth:`of`.
        """
        score, config = run.engine.score, run.config
        bots = [bot.name for bot in config.bots]
        tie_break = config.verdict.tie_break == "games_survived"
        return cls.of(run.lazy(score.table), score, run.matchups(), bots, tie_break)

    def points(self, units: int) -> int | float:
        """Units as points of the engine's score: a whole number where it is one."""
        return units // self.scale if units % self.scale == 0 else units / self.scale

    @property
    def balances(self) -> IntArray:
        """Shape (bots,): sums of scores in units."""
        return self._total({key: blocks.scores for key, blocks in self.matchups.items()})

    @property
    def survived(self) -> IntArray:
        """Shape (bots,): games survived."""
        return self._total({key: blocks.survived for key, blocks in self.matchups.items()})

    @property
    def matches(self) -> IntArray:
        """Shape (bots,): blocks in which each took part."""
        return self._total({key: np.ones_like(blocks.scores) for key, blocks in self.matchups.items()})

    def _total(self, values: Mapping[str, IntArray]) -> IntArray:
        total = np.zeros(len(self.bots), np.int64)
        for key, blocks in self.matchups.items():
            total[list(blocks.members)] += blocks.counts @ values[key]
        return total

    def against(self) -> IntArray:
        """Shape (bots, bots): the row's balance over the matches in which the column's bot took part too."""
        matrix = np.zeros((len(self.bots), len(self.bots)), np.int64)
        for blocks in self.matchups.values():
            sums = blocks.counts @ blocks.scores
            for row, units in zip(blocks.members, sums, strict=True):
                for column in blocks.members:
                    if column != row:
                        matrix[row, column] += units
        return matrix

    def last(self) -> tuple[str, ...]:
        """The bots that go: the lowest balance, ties included."""
        return self._names(_last(self.balances, self.survived if self.tie_break else None))

    def _names(self, chosen: BoolArray) -> tuple[str, ...]:
        return tuple(name for name, is_chosen in zip(self.bots, chosen, strict=True) if is_chosen)

    def certainty(self, seed: int = 1) -> Certainty | None:
        """How sure the last place is; None where a matchup has one block, so that there is nothing to draw from."""
        if not self.matchups or min(blocks.n for blocks in self.matchups.values()) < 2:
            return None
        different = sum(len(blocks.counts) for blocks in self.matchups.values())
        resamples = min(_MOST_RESAMPLES, max(_FEWEST_RESAMPLES, _DRAWS // different))
        rng = np.random.default_rng(seed)
        balances = np.tile(self.balances.astype(np.float64), (resamples, 1))
        survived = np.tile(self.survived.astype(np.float64), (resamples, 1)) if self.tie_break else None
        lead = self.lead()
        freedom = lead.freedom if lead else None
        wider = np.ones((resamples, 1))
        if freedom is not None:
            wider = np.sqrt(freedom / rng.chisquare(freedom, size=(resamples, 1)))
        for blocks in self.matchups.values():
            members = list(blocks.members)
            for part, draws in _draws(rng, blocks, resamples):
                balances[part, members] += wider[part] * _deviation(blocks, draws, blocks.scores)
                if survived is not None:
                    survived[part, members] += wider[part] * _deviation(blocks, draws, blocks.survived)
        # scaling leaves fractions, whose rounding errors must not break ties
        chosen = _last(balances.round(_ROUND), None if survived is None else survived.round(_ROUND))
        now = _last(self.balances, self.survived if self.tie_break else None)
        return Certainty(
            resamples=resamples,
            probabilities=dict(zip(self.bots, map(float, chosen.mean(axis=0)), strict=True)),
            same=float((chosen == now).all(axis=1).mean()),
        )

    def lead(self) -> Lead | None:
        """The lead of those that stay over those that go, where it is least sure; None if all go."""
        last = [self.bots.index(name) for name in self.last()]
        others = [position for position in range(len(self.bots)) if position not in last]
        leads = [self._lead(low, high) for low in last for high in others]
        return min(leads, key=_by_sureness) if leads else None

    def _lead(self, low: int, high: int) -> Lead:
        balances = self.balances
        variance: float | None = 0.0
        squares = 0.0
        fewest = []
        for blocks in self.matchups.values():
            if low not in blocks.members and high not in blocks.members:
                continue
            n = blocks.n
            fewest.append(n)
            if n < 2 or variance is None:
                variance = None
                continue
            weights = [(member == high) - (member == low) for member in blocks.members]
            difference = blocks.scores @ np.array(weights)
            mean = blocks.counts @ difference / n
            part = n / (n - 1) * float(blocks.counts @ (difference - mean) ** 2)
            variance += part
            squares += part**2 / (n - 1)
        return Lead(
            last=self.bots[low],
            next=self.bots[high],
            value=int(balances[high] - balances[low]) / self.scale,
            sigma=None if variance is None else variance**0.5 / self.scale,
            blocks=min(fewest),
            freedom=variance**2 / squares if variance and squares else None,
        )


def _by_sureness(lead: Lead) -> tuple[float, float]:
    return (lead.value / lead.sigma if lead.sigma else float("inf"), lead.value)


def _scale(values: pl.LazyFrame, score: Score) -> int:
    """The units in one point: the smallest power of two that makes all scores whole numbers."""
    if not values.collect_schema()["score"].is_float():
        return 1
    scales = [1 << power for power in range(_FINEST.bit_length())]
    scaled = [(pl.col("score") * scale) for scale in scales]
    whole = values.select(
        (units == units.round()).all().alias(str(scale)) for scale, units in zip(scales, scaled, strict=True)
    ).collect(engine="streaming")
    for scale in scales:
        if whole[str(scale)][0]:
            return scale
    raise ConfigError(
        f"elimination: {score.table}.{score.value} holds scores that are no multiples of 1/{_FINEST} {score.unit}; "
        "their sums would not be exact"
    )


def _last(balances: npt.NDArray[np.number], survived: npt.NDArray[np.number] | None) -> BoolArray:
    """Who is last along the last axis."""
    lowest: BoolArray = balances == balances.min(axis=-1, keepdims=True)
    if survived is None:
        return lowest
    among = np.where(lowest, survived, np.inf)
    fewest: BoolArray = among == among.min(axis=-1, keepdims=True)
    return lowest & fewest


def _draws(rng: np.random.Generator, blocks: Blocks, resamples: int) -> Iterator[tuple[slice, IntArray]]:
    """For a slice of the resamples at a time: shape (slice, u), how often each block is drawn, n - 1 in all."""
    step = max(1, _DRAWS_AT_ONCE // len(blocks.counts))
    for start in range(0, resamples, step):
        part = slice(start, min(start + step, resamples))
        yield part, rng.multinomial(blocks.n - 1, blocks.counts / blocks.n, size=part.stop - part.start)


def _deviation(blocks: Blocks, draws: IntArray, values: IntArray) -> npt.NDArray[np.float64]:
    """Shape (slice, k): the sums of the draws, scaled to n blocks, less the sums of the rows; 0 where all blocks are
    alike, exactly."""
    drawn, total, n = draws @ values, blocks.counts @ values, blocks.n
    return (n * drawn - (n - 1) * total) / (n - 1)
