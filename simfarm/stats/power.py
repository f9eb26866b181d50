"""How many games a verdict needs: by formula for the fixed rule, by simulation for the sequential one.

Round totals are taken as normal with the variance that a run has shown, which ``simfarm calibrate`` compares with
resampled rows. A run of the fixed rule has its size chosen for the margin; a run of the sequential rule has a plan,
which decides how large a round is, when the first look comes and where it is narrowest, and stops when it is decided.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from simfarm.stats.boundary import Boundary
from simfarm.stats.margin import Rule, Verdict
from simfarm.stats.rounds import ROUNDS, FloatArray, IntArray
from simfarm.stats.sequential import decisions

_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Need:
    """What one true margin takes."""

    margin: float
    fixed: int | None
    """Games with which a plan of that size calls the better bot better as often as asked; None for a margin of 0."""
    mean: float
    """Games that the sequential rule plays on average; those that the plan does not decide play it whole."""
    mean_error: float
    """Standard error of that mean, from the number of simulated runs."""
    enough: int | None
    """Games within which as many runs as asked are decided for the better bot; None where the plan is too small."""
    right: float
    """Part of runs that end with the right verdict within the plan; none is right where the margin is 0."""
    wrong: float
    """Part of runs that end with a false one: the wrong bot is better, or either is where the margin is 0."""
    tie: float
    """Part of runs that end as a tie."""


def fixed_games(margin: float, sd: float, rule: Rule, power: float) -> int | None:
    """Games in all with which the fixed rule finds a margin.

    Args:
        margin: the true one.
        sd: standard error of a margin times the root of its games, in the margin's unit.
        rule: the rule. A margin within its tie band mostly ends as a tie: the games are those that tell it from 0.
        power: how often.
    """
    if margin == 0:
        return None
    z = NormalDist().inv_cdf(power)
    games = ((rule.sigmas + z) * sd / abs(margin)) ** 2
    if abs(margin) > rule.tie:
        games = max(games, (z * sd / (abs(margin) - rule.tie)) ** 2)
    return math.ceil(games)


def looks(
    y: FloatArray, t: FloatArray, boundary: Boundary, tie: float, unit: float = 1.0
) -> dict[Verdict, IntArray]:
    """The first look of every simulated run at which each verdict is allowed, before all others; -1: at none.

    Args:
        y: shape (runs, rounds): numerators by round.
        t: shape (runs, rounds) or (rounds,): denominators.
        boundary: of the sequence.
        tie: half the width of the tie band.
        unit: what ratios are multiplied by to be in the band's unit.
    """
    value, low, high = boundary.sequence(y, t)
    hits = decisions(unit * value, unit * low, unit * high, tie)
    rounds = y.shape[-1]
    first = {verdict: np.where(hit.any(axis=-1), hit.argmax(axis=-1), rounds) for verdict, hit in hits.items()}
    earliest = np.min(list(first.values()), axis=0)
    return {verdict: np.where((at == earliest) & (at < rounds), at, -1) for verdict, at in first.items()}


def need(
    margin: float,
    sd: float,
    rule: Rule,
    alpha: float,
    planned: int,
    power: float,
    runs: int,
    seed: int,
    most_rounds: int = ROUNDS,
) -> Need:
    """What a true margin takes.

    Args:
        margin: the true one.
        sd: as for :func:`fixed_games`.
        rule: the rule.
        alpha: error rate of the comparison.
        planned: games of the sequential rule's plan.
        power: how often a run should find it.
        runs: simulated runs.
        seed: of the simulation.
        most_rounds: that the plan is cut into.
    """
    rounds = min(most_rounds, planned)
    size = planned / rounds
    boundary = Boundary.of_plan(alpha, rounds)
    rng = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // rounds)
    parts: list[dict[Verdict, IntArray]] = []
    for start in range(0, runs, step):
        shape = (min(step, runs - start), rounds)
        y = rng.normal(margin, sd / math.sqrt(size), shape)
        parts.append(looks(y, np.ones(rounds), boundary, rule.tie))
    found = {verdict: np.concatenate([part[verdict] for part in parts]) for verdict in parts[0]}
    stop = np.max(list(found.values()), axis=0)
    played = np.where(stop < 0, rounds, stop + 1) * size
    wins, losses = found[Verdict.WIN] >= 0, found[Verdict.LOSS] >= 0
    right = wins if margin > 0 else losses if margin < 0 else np.zeros(runs, bool)
    reached = np.sort(np.where(right, played, np.inf))[math.ceil(power * runs) - 1]
    return Need(
        margin=margin,
        fixed=fixed_games(margin, sd, rule, power),
        mean=float(played.mean()),
        mean_error=float(played.std(ddof=1)) / math.sqrt(runs),
        enough=math.ceil(reached) if math.isfinite(reached) else None,
        right=float(right.mean()),
        wrong=float(((wins | losses) & ~right).mean()),
        tie=float((found[Verdict.TIE] >= 0).mean()),
    )
