"""Built-in players: C programs that are loaded into the worker, and the moves they make."""

import ctypes
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engines.poker_run.kernel import FLAGS, MOVE, Array, packed
from engines.poker_run.ruleset import Ruleset
from simfarm.core.native import Unit, build

MOST_MOVES = 1024
"""Moves that a built-in player writes at most."""


@lru_cache(maxsize=8)
def _library(sources: tuple[tuple[str, bytes], ...], unit: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(build(dict(sources), [Unit(unit, FLAGS)], ("-shared", "-lm"), "player.so")))


def play(
    sources: Mapping[str, bytes], unit: str, work: int, games: Array, ruleset: Ruleset
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Have a player play cases.

    Args:
        sources: the player's C files by name.
        unit: the one that is compiled.
        work: how much it may search, in its own unit.
        games: cases as :data:`kernel.GAME`.
        ruleset: the numbers of the game.

    Returns:
        All moves one after the other, and where each case's begin (and the last one's end).
    """
    library = _library(tuple(sorted(sources.items())), unit)
    rules = packed(ruleset)
    moves = np.zeros((len(games), MOST_MOVES), MOVE)
    counts = np.zeros(len(games), np.int32)
    library.poker_play(
        ctypes.byref(rules),
        ctypes.c_void_p(games.ctypes.data),
        ctypes.c_int64(len(games)),
        ctypes.c_int64(work),
        ctypes.c_void_p(moves.ctypes.data),
        ctypes.c_void_p(counts.ctypes.data),
    )
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return moves[np.arange(MOST_MOVES) < counts[:, None]], starts
