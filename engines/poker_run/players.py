"""Built-in players: C programs that a worker compiles, loads and calls; a bot file names one.

A player's sources travel with the bot, so that a bot's hash covers how it plays.
"""

import ctypes
import tomllib
from functools import lru_cache
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engines.poker_run.kernel import FLAGS, MOVE, NATIVE, Array, packed
from engines.poker_run.ruleset import Ruleset
from simfarm.core.errors import BotError
from simfarm.core.model import Bot, SourceFile
from simfarm.core.native import Unit, build

MOST_MOVES = 1024
"""Moves that a player writes at most."""
SOURCES = {
    "baseline": ("baseline.c", "rules.h"),
    "planner": ("planner.c", "plan.h", "round.h", "worth.h", "rules.h"),
}
"""By player: the file that is compiled, and those that it includes."""


class PlayerFile(BaseModel):
    """A bot file: TOML with these keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    player: Annotated[str, Field(pattern="|".join(SOURCES), description="a built-in player")]
    work: Annotated[int, Field(ge=1, le=10**12, description="how much it may search; baseline does not")] = 1


def load(name: str, path: str, data: bytes) -> Bot:
    """The bot that a bot file describes.

    Args:
        name: of the bot.
        path: of the file, for messages.
        data: its content.

    Raises:
        BotError: it describes none.
    """
    try:
        described = PlayerFile.model_validate(tomllib.loads(data.decode()))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BotError(f"bot {name!r}: {path}: not TOML: {error}") from None
    except ValidationError as error:
        detail = error.errors()[0]
        key = ".".join(str(part) for part in detail["loc"])
        raise BotError(f"bot {name!r}: {path}: {key}: {detail['msg']}; players: {', '.join(SOURCES)}") from None
    sources = (SourceFile(file, (NATIVE / file).read_bytes()) for file in SOURCES[described.player])
    return Bot(name, (SourceFile("player.toml", data), *sources))


def play(bot: Bot, games: Array, ruleset: Ruleset) -> tuple[Array, npt.NDArray[np.int64]]:
    """Have a built-in player play cases.

    Args:
        bot: from :func:`load`.
        games: cases as :data:`kernel.GAME`.
        ruleset: the numbers of the game.

    Returns:
        All moves one after the other, and where each case's begin, with the end of the last one's behind: as
        :meth:`Kernel.replay` takes them.
    """
    described = PlayerFile.model_validate(tomllib.loads(bot.files[0].data.decode()))
    library = _library(bot.files[1:])
    rules = packed(ruleset)
    games = np.ascontiguousarray(games)
    moves = np.zeros((len(games), MOST_MOVES), MOVE)
    counts = np.zeros(len(games), np.int32)
    library.poker_play(
        ctypes.byref(rules),
        ctypes.c_void_p(games.ctypes.data),
        ctypes.c_int64(len(games)),
        ctypes.c_int64(described.work),
        ctypes.c_void_p(moves.ctypes.data),
        ctypes.c_void_p(counts.ctypes.data),
    )
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return moves[np.arange(MOST_MOVES) < counts[:, None]], starts


@lru_cache(maxsize=8)
def _library(sources: tuple[SourceFile, ...]) -> ctypes.CDLL:
    unit = Unit(sources[0].path, FLAGS)
    files = {source.path: source.data for source in sources}
    return ctypes.CDLL(str(build(files, [unit], ("-shared",), "player.so")))
