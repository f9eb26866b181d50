"""Engines and planners by name, from installed packages' entry points, loaded when asked for.

A package adds a game with an entry point in the group ``simfarm.engines`` (``name = "module:Class"``), and a
planner in ``simfarm.planners``. simfarm itself names none.
"""

import difflib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from simfarm.core.engine import Engine
from simfarm.core.errors import ConfigError
from simfarm.core.planner import Planner

ENGINES = "simfarm.engines"
PLANNERS = "simfarm.planners"


def engine_names() -> list[str]:
    """Names of all installed engines, sorted."""
    return sorted(_points(ENGINES))


def planner_names() -> list[str]:
    """Names of all installed planners, sorted."""
    return sorted(_points(PLANNERS))


@cache
def engine(name: str) -> Engine:
    """The engine of that name.

    Raises:
        ConfigError: no installed package offers it.
    """
    found = _load(ENGINES, "engine", name)
    if not isinstance(found, Engine):
        raise TypeError(f"entry point {name!r} in {ENGINES} is no Engine but {type(found).__name__}")
    return found


@cache
def planner(name: str) -> Planner:
    """The planner of that name.

    Raises:
        ConfigError: no installed package offers it.
    """
    found = _load(PLANNERS, "planner", name)
    if not isinstance(found, Planner):
        raise TypeError(f"entry point {name!r} in {PLANNERS} is no Planner but {type(found).__name__}")
    return found


def nearest(word: str, allowed: Iterable[str]) -> str:
    """``" (did you mean 'x'?)"`` for a word close to an allowed one, else nothing."""
    close = difflib.get_close_matches(word, list(allowed), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _load(group: str, kind: str, name: str) -> object:
    points = _points(group)
    if name not in points:
        known = ", ".join(sorted(points)) or "none is installed"
        raise ConfigError(f"unknown {kind} {name!r}{nearest(name, points)}; known: {known}")
    return points[name].load()()


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}
