"""What a benchmark yields: figures, each with what it is compared with and what it has to reach."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the benchmark's table."""

    what: str
    """What was measured, and against what."""
    value: str
    """The figure with its unit."""
    goal: str
    """What it has to reach."""
    met: bool
    """Whether it does."""


def shown(what: str, value: float, unit: str = "", digits: int = 2) -> Figure:
    """A figure that is worth knowing and has no goal."""
    return Figure(what, f"{value:,.{digits}f}{unit}", "", True)


def at_least(what: str, value: float, goal: float, unit: str = "", digits: int = 2) -> Figure:
    """A figure that has to be at least ``goal``."""
    return Figure(what, f"{value:,.{digits}f}{unit}", f"at least {goal:,g}{unit}", value >= goal)


def at_most(what: str, value: float, goal: float, unit: str = "", digits: int = 2) -> Figure:
    """A figure that has to be at most ``goal``."""
    return Figure(what, f"{value:,.{digits}f}{unit}", f"at most {goal:,g}{unit}", value <= goal)


def seconds_of(action: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def ratio(slow: Callable[[], object], fast: Callable[[], object], pairs: int = 5) -> float:
    """Median over pairs of the time of ``slow`` over the time of ``fast``, taken in turn after one warm-up of
    each, so that a machine that changes its speed changes it for both."""
    slow()
    fast()
    return statistics.median(seconds_of(slow) / seconds_of(fast) for _ in range(pairs))
