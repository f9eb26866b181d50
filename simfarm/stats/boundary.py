"""Verdicts that may be looked at while a run goes on: confidence sequences that hold at every look together.

The unit is a round of the plan (:mod:`simfarm.stats.rounds`): decisions follow the block index. Every quantity here
is a ratio of sums over rounds, y over t: a margin of shares (y a bot's points less the reference's, t all points), a
mean difference (t the blocks), a lead. At its true value m the residuals y - m t have mean 0, and rounds are
independent. The boundary is that of the anytime-valid t-test with a normal mixture: with n rounds, S the sum of
residuals and V the sum of their squares,

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
that a few odd ones cannot decide, and nothing while there are fewer than :data:`PER_SKEWNESS` g**2 rounds, g being
the skewness that their residuals have shown. Looks that are left out cannot raise the rate. Resampled rows of real
games with one block a round lost the truth no oftener than stated: UNO, Poker Run, and blackjack matches of which
nearly all end with both bots broke (skewness 5: 0.1 to 0.2 % of runs; without regard to skewness 32 %). Made-up
rounds can exceed 0.27 %: exponential 0.2 to 0.6 %, log-normal (skewness 6) 0.5 to 0.8 %. ``simfarm calibrate``
measures the rate on rows of real games. What no test of this kind sees is an event that decides and that is too rare
to have happened.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simfarm.stats.rounds import FloatArray

FIRST_LOOK = 20
"""Rounds before the first look."""
PER_SKEWNESS = 100.0
"""Rounds before a look, times the square of the skewness of what they hold so far. Nearly normal rounds wait for
nothing."""
ALIKE = 100
"""Rounds without any difference after which two are taken for alike. Two that differ in 6 % of rounds or more come
that far in less than 0.27 % of runs."""
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
            Value, low and high after 1, 2, ... n units, each of shape (..., n). Before :data:`FIRST_LOOK`, while
            units are too skewed for their number, and where no bound is known, low and high are infinite; the value
            is NaN where the denominator is 0.
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
            enough = n >= np.maximum(FIRST_LOOK, PER_SKEWNESS * _squared_skewness(top, bottom, value, spread / n))
        # Where nothing varies nothing is known of the error, unless all is 0 for long: then the two are alike.
        known = (scale > 0) & (room >= 0) & ~flat & enough
        alike = (ss == 0) & (u > 0) & (n >= ALIKE)
        low = np.where(alike, 0.0, np.where(known, low, -np.inf))
        high = np.where(alike, 0.0, np.where(known, high, np.inf))
        return value, low, high


def _squared_skewness(y: FloatArray, t: FloatArray, value: FloatArray, variance: FloatArray) -> FloatArray:
    """Of the residuals of the first 1, 2, ... units; all arrays of shape (..., n)."""
    # cubes of residuals from the last value: those of y itself would cancel
    last = value[..., -1:]
    r, shift = y - last * t, value - last
    powers = (r**3, r * r * t, r * t * t, t**3)
    third, second, first, zeroth = (np.cumsum(part, axis=-1) for part in powers)
    cubes = third - 3 * shift * second + 3 * shift**2 * first - shift**3 * zeroth
    squared: FloatArray = (cubes / np.arange(1, y.shape[-1] + 1)) ** 2 / variance**3
    return squared
