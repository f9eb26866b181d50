"""Do the verdicts err as often as they say? Tournaments drawn from the rows of real games answer.

The population is what a real run committed: for each block the difference y of two bots' scores and the denominator t
of its ratio (everyone's points for shares, 1 for means). A tournament is a number of blocks drawn with replacement,
cut into rounds and judged as a run is. Two populations:

* *equal*: one bot under two names. Which of the two is which means nothing, so each drawn difference gets a random
  sign, and the true margin is exactly 0: every win and every loss is false.
* *unequal*: two different bots. The true margin is that of the population, exactly, so that intervals can be checked
  for covering it, and ``simfarm power`` for predicting how often and how soon it is found.

Beside them, *as played*: the equal bots' blocks in their own order, cut into tournaments without drawing anything.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from simfarm.core.errors import ConfigError
from simfarm.stats.boundary import Boundary
from simfarm.stats.margin import Rule, Verdict
from simfarm.stats.power import looks, need
from simfarm.stats.rounds import FloatArray

ROUNDS = 100
"""Rounds of a simulated tournament."""
PER_ROUND = 20
"""Blocks of a simulated round."""
MOST_PER_ROUND = 200
"""Blocks of a round at most, however small the difference of unequal bots is."""
AS_PLAYED = 100
"""Blocks of a tournament that is cut from the rows as they are."""
WANTED = 0.8
"""How often a tournament should tell unequal bots apart: neither always nor never, so that it can be compared."""
RULE = Rule(0.0, 3.0)
"""The rule whose rates are checked: no tie band, which could only lower them."""
_AT_ONCE = 2_000_000
_CHANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Check:
    """One rate that was stated, and what was counted."""

    game: str
    what: str
    """What is counted, in words."""
    stated: float
    """The rate that is stated or predicted, a fraction."""
    hits: int
    tournaments: int
    slack: float | None = None
    """None: the stated rate is the most allowed. Else it is a prediction, and may be off by that fraction."""

    @property
    def rate(self) -> float:
        """What was counted, as a fraction."""
        return self.hits / self.tournaments

    def interval(self, chance: float = 0.05) -> tuple[float, float]:
        """The exact binomial (Clopper-Pearson) interval of the counted rate, missed with that chance at most."""
        n, k = self.tournaments, self.hits
        low = 0.0 if k == 0 else _solve(lambda p: 1 - _below(k - 1, n, p), chance / 2)
        high = 1.0 if k == n else _solve(lambda p: 1 - _below(k, n, p), 1 - chance / 2)
        return low, high

    @property
    def holds(self) -> bool:
        """Whether chance explains what is amiss: it would be as bad in one of 10,000 such checks at least."""
        low, high = self.interval(_CHANCE)
        if self.slack is None:
            return low <= self.stated
        return low - self.slack <= self.stated <= high + self.slack


def _below(k: int, n: int, p: float) -> float:
    """P(X <= k) for a binomial X, by logarithms."""
    if p <= 0 or p >= 1:
        return 1.0 if p <= 0 or k >= n else 0.0
    i = np.arange(k + 1)
    steps = np.log(np.arange(n, n - k, -1)) - np.log(np.arange(1, k + 1))
    choose = np.concatenate([[0.0], np.cumsum(steps)])
    return float(min(1.0, np.exp(choose + i * math.log(p) + (n - i) * math.log1p(-p)).sum()))


def _solve(rising: Callable[[float], float], target: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < target else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The blocks of two bots."""

    game: str
    y: FloatArray
    """Shape (blocks,): difference of their scores, in block order."""
    t: FloatArray
    """Shape (blocks,): denominators."""
    equal: bool
    """Whether the two are the same bot."""

    @property
    def margin(self) -> float:
        """The true value."""
        return 0.0 if self.equal else float(self.y.sum() / self.t.sum())

    @property
    def sd(self) -> float:
        """Standard error of a margin times the root of its blocks."""
        residuals = self.y - self.margin * self.t
        return float(math.sqrt((residuals**2).mean()) / self.t.mean())

    def tournaments(
        self, count: int, rounds: int, per_round: int, rng: np.random.Generator
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Block differences and denominators of drawn tournaments, each of shape (some, rounds, per_round)."""
        step = max(1, _AT_ONCE // (rounds * per_round))
        for start in range(0, count, step):
            shape = (min(step, count - start), rounds, per_round)
            drawn = rng.integers(len(self.y), size=shape)
            y = self.y[drawn]
            if self.equal:
                y = y * rng.choice([-1.0, 1.0], size=shape)
            yield y, self.t[drawn]


def checks(population: Population, tournaments: int, seed: int) -> list[Check]:
    """All checks on one population.

    Args:
        population: of two equal or two unequal bots.
        tournaments: how many are drawn for each check.
        seed: of the drawing.

    Raises:
        ConfigError: unequal bots whose scores do not differ.
    """
    rng = np.random.default_rng(seed)
    if population.equal:
        found = _equal(population, tournaments, rng)
        return found if len(population.y) < 100 * AS_PLAYED else [*found, _as_played(population)]
    if population.margin == 0:
        raise ConfigError(
            f"calibrate: {population.game}: the unequal bots came out equal; there is no power to test"
        )
    return _unequal(population, tournaments, rng, seed)


def _equal(population: Population, tournaments: int, rng: np.random.Generator) -> list[Check]:
    fixed = ever = 0
    boundary = Boundary.of_plan(RULE.alpha, ROUNDS)
    for y, t in population.tournaments(tournaments, ROUNDS, PER_ROUND, rng):
        value, sigma = _estimate(y.reshape(len(y), -1), t.reshape(len(t), -1))
        fixed += int((np.abs(value) > RULE.sigmas * sigma).sum())
        _, low, high = boundary.sequence(y.sum(axis=2), t.sum(axis=2))
        ever += int(((low > 0) | (high < 0)).any(axis=1).sum())
    size = ROUNDS * PER_ROUND
    return [
        Check(
            population.game,
            f"equal bots, {size:,} blocks, fixed rule: false verdicts",
            RULE.error_rate(size),
            fixed,
            tournaments,
        ),
        Check(
            population.game,
            f"equal bots, a look after each of {ROUNDS} rounds, sequential rule: false verdicts",
            RULE.alpha,
            ever,
            tournaments,
        ),
    ]


def _as_played(population: Population) -> Check:
    rule = Rule(0.0, 2.0)  # 4.6 %: there are not many tournaments to count
    count = len(population.y) // AS_PLAYED
    y, t = (part[: count * AS_PLAYED].reshape(count, AS_PLAYED) for part in (population.y, population.t))
    value, sigma = _estimate(y, t)
    return Check(
        population.game,
        f"equal bots as played, {AS_PLAYED} blocks, fixed rule at {rule.sigmas:g} sigma: false verdicts",
        rule.error_rate(AS_PLAYED),
        int((np.abs(value) > rule.sigmas * sigma).sum()),
        count,
    )


def _unequal(population: Population, tournaments: int, rng: np.random.Generator, seed: int) -> list[Check]:
    true, side = population.margin, math.copysign(1.0, population.margin)
    wanted = ((RULE.sigmas + NormalDist().inv_cdf(WANTED)) * population.sd / abs(true)) ** 2
    per_round = min(MOST_PER_ROUND, max(1, round(wanted / ROUNDS)))
    size = ROUNDS * per_round
    boundary = Boundary.of_plan(RULE.alpha, ROUNDS)
    fixed_missed = ever_missed = fixed_right = sequential_right = 0
    for y, t in population.tournaments(tournaments, ROUNDS, per_round, rng):
        value, sigma = _estimate(y.reshape(len(y), -1), t.reshape(len(t), -1))
        fixed_missed += int((np.abs(value - true) > RULE.sigmas * sigma).sum())
        fixed_right += int((side * value >= RULE.sigmas * sigma).sum())
        _, low, high = boundary.sequence(y.sum(axis=2), t.sum(axis=2))
        ever_missed += int(((low > true) | (high < true)).any(axis=1).sum())
        found = looks(side * y.sum(axis=2), t.sum(axis=2), boundary, 0.0)
        sequential_right += int((found[Verdict.WIN] >= 0).sum())
    predicted = NormalDist().cdf(abs(true) * size**0.5 / population.sd - RULE.sigmas)
    expected = need(abs(true), population.sd, RULE, RULE.alpha, size, WANTED, tournaments, seed, ROUNDS)
    words = f"unequal bots, {size:,} blocks"
    kinds = (
        ("fixed rule: true margin outside the interval", RULE.error_rate(size), fixed_missed, None),
        ("sequential rule: true margin ever outside", RULE.alpha, ever_missed, None),
        ("fixed rule: the better found, as predicted", predicted, fixed_right, 0.03),
        ("sequential rule: the better found, as predicted", expected.right, sequential_right, 0.05),
    )
    return [
        Check(population.game, f"{words}, {what}", stated, hits, tournaments, slack)
        for what, stated, hits, slack in kinds
    ]


def _estimate(y: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    n = y.shape[1]
    value = y.sum(axis=1) / t.sum(axis=1)
    residuals = y - value[:, None] * t
    return value, np.sqrt(n / (n - 1) * (residuals**2).sum(axis=1)) / t.sum(axis=1)
