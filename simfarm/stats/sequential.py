"""Verdicts that may be looked at while a run goes on: confidence sequences that hold at every look together.

A run's plan is cut into at most :data:`ROUNDS` rounds of equal size: round r holds the blocks from B r / R to
B (r + 1) / R of every matchup, B being its blocks and R the rounds. Rounds follow the block index, so what is seen
at a look depends on the plan and on nothing else: not on the order in which shards arrive, the executor, or a break.

The unit is a round. Every quantity here is a ratio of sums over rounds, y over t: a margin of shares (y a bot's
points less the reference's, t all points), a mean difference (t the blocks), a lead. At its true value m the
residuals y - m t have mean 0, and rounds are independent. The boundary is that of the anytime-valid t-test with a
normal mixture: with n rounds, S the sum of residuals and V the sum of their squares,

    M = sqrt(c / (n + c)) (1 - S**2 / ((n + c) V)) ** (-n / 2)

is, for normal residuals of unknown variance, a non-negative martingale that starts at 1, so that it ever reaches
1 / alpha in at most alpha of all runs (Ville). The interval at a look is the set of m with M < 1 / alpha, which the
solution of a quadratic equation gives exactly; the true m is in all of them together in all but alpha of runs.

Sources: H. Robbins, "Statistical methods related to the law of the iterated logarithm" (1970), the normal mixture;
T. L. Lai, "On confidence sequences" (1976), and H. Wang and A. Ramdas, "Anytime-valid t-tests and confidence
sequences for Gaussian means with unknown variance" (2023), the martingale for unknown variance; I. Waudby-Smith and
others, "Time-uniform central limit theory and asymptotic confidence sequences" (2021), the choice of c, and why sums
that are only nearly normal do.

What is exact and what is not: for normal rounds the rate holds at every look, the first included. Rounds of real
games are nearly normal where they hold many games. Nothing is decided before :data:`FIRST_LOOK` rounds are in, so
that a few odd ones cannot decide; ``simfarm calibrate`` measures the rate on rows of real games. What no test of this
kind sees is an event that decides and that is too rare to have happened.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from simfarm.core.model import Matchup

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ROUNDS = 2000
"""Most rounds that a plan is cut into. More would look earlier; fewer games in each would be less like a normal."""
FIRST_LOOK = 20
"""Rounds before the first look."""
TUNED_FOR = 8
"""The sequence is narrowest, for its error rate, after this fraction of the rounds: one in eight."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Boundary:
    """The normal-mixture boundary for residuals of unknown variance."""

    alpha: float
    """How often, at most, the true value is ever outside."""
    tuned_for: float
    """Units (rounds) after which it is narrowest; far from there it is a little wider, and holds all the same."""

    @classmethod
    def of_plan(cls, alpha: float, rounds: int) -> "Boundary":
        """The boundary for a plan of so many rounds."""
        return cls(alpha, max(FIRST_LOOK, rounds / TUNED_FOR))

    @property
    def mixing(self) -> float:
        """c, the units that the mixture weighs as much as."""
        log = -2 * math.log(self.alpha)
        return self.tuned_for / (log + math.log1p(log))

    def reach(self, n: npt.ArrayLike) -> FloatArray:
        """k such that the interval after n units is where S**2 < k V."""
        units, c = np.asarray(n, np.float64), self.mixing
        # 1 - (alpha**2 c / (n + c)) ** (1 / n), without the loss of 1 - nearly 1
        reach: FloatArray = -np.expm1(np.log(self.alpha**2 * c / (units + c)) / units) * (units + c)
        return reach

    def halfwidth(self, n: npt.ArrayLike, sd: npt.ArrayLike) -> FloatArray:
        """Half the width of the interval of a plain mean.

        Args:
            n: units so far.
            sd: their standard deviation, with n - 1 in the denominator.

        Returns:
            The half-width in units of ``sd``; infinite while n is too small to bound anything.
        """
        units, reach = np.asarray(n, np.float64), self.reach(n)
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.sqrt(reach * (units - 1) / (units * (units - reach))) * sd
        return np.where(reach < units, width, np.inf)

    def sequence(self, y: npt.ArrayLike, t: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The sequence of a ratio of sums.

        Args:
            y: shape (..., n): numerators by unit.
            t: shape (..., n): denominators, not negative.

        Returns:
            Value, low and high after 1, 2, ... n units, each of shape (..., n). Before :data:`FIRST_LOOK`, and where
            no bound is known, low and high are infinite; the value is NaN where the denominator is 0.
        """
        top, bottom = np.broadcast_arrays(np.asarray(y, np.float64), np.asarray(t, np.float64))
        sums = (top, bottom, top * top, top * bottom, bottom * bottom)
        s, u, ss, su, uu = (np.cumsum(part, axis=-1) for part in sums)
        n = np.arange(1, top.shape[-1] + 1)
        reach = self.reach(n)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = s / u
            spread = ss - 2 * value * su + value**2 * uu
            flat = spread <= _ROUNDING * ss
            room = reach * (u**2 * spread - reach * (uu * ss - su**2))
            scale = u**2 - reach * uu
            middle = (s * u - reach * su) / scale
            half = np.sqrt(room) / scale
            low, high = middle - half, middle + half
        # Where nothing varies nothing is known of the error, unless all is 0: then the two are alike.
        known = (scale > 0) & (room >= 0) & ~flat & (n >= FIRST_LOOK)
        alike = (ss == 0) & (u > 0) & (n >= FIRST_LOOK)
        low = np.where(alike, 0.0, np.where(known, low, -np.inf))
        high = np.where(alike, 0.0, np.where(known, high, np.inf))
        return value, low, high


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

    def complete(self, committed: Iterable[tuple[str, int, int]]) -> int:
        """Rounds from the first that are committed without a gap.

        Args:
            committed: key, first block and one past the last block of every committed shard.
        """
        reached = {key: matchup.start for key, matchup in self.matchups.items()}
        for key, start, stop in sorted(committed):
            if start <= reached[key]:
                reached[key] = max(reached[key], stop)
        done = (int(np.searchsorted(self.stops(key), block, side="right")) for key, block in reached.items())
        return min(done, default=0)


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """A confidence sequence over the complete rounds of a run, for a verdict and for a chart."""

    alpha: float
    """How often, at most, the true value is ever outside."""
    blocks: IntArray
    """Shape (n,): blocks of the run up to each look."""
    games: IntArray
    """Shape (n,): games up to each look."""
    value: FloatArray
    """Shape (n,): the ratio of sums up to each look; NaN where there is none."""
    low: FloatArray
    """Shape (n,): lower end; minus infinity where nothing is known yet."""
    high: FloatArray
    """Shape (n,): upper end."""

    @classmethod
    def of(cls, rounds: Rounds, alpha: float, y: FloatArray, t: FloatArray, unit: float = 1.0) -> "Track":
        """The track of a ratio of sums.

        Args:
            rounds: of the whole plan.
            alpha: the error rate.
            y: shape (n,): numerators of the complete rounds.
            t: shape (n,): denominators.
            unit: what values are multiplied by, 100 for percentage points.
        """
        value, low, high = Boundary.of_plan(alpha, rounds.count).sequence(y, t)
        n = len(y)
        return cls(alpha, rounds.blocks[:n], rounds.games[:n], unit * value, unit * low, unit * high)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[tuple[int, int, float, float, float]]:
        """Blocks, games, value, low and high at every look."""
        for blocks, games, *figures in zip(self.blocks, self.games, self.value, self.low, self.high, strict=True):
            value, low, high = map(float, figures)
            yield int(blocks), int(games), value, low, high
