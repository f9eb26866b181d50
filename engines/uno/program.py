"""From bots to a program: check the sources, keep their names apart, compile them with the referee."""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from simfarm.core import seeds
from simfarm.core.errors import BotError
from simfarm.core.model import Bot
from simfarm.core.native import CompileError, Unit, build

BOT_FLAGS = ("-O2", "-std=gnu89", "-w", "-include", "proj2.h")
"""How a bot is compiled: as the C of its time, extensions of GCC allowed, with the interface supplied."""
REFEREE_FLAGS = ("-O2", "-std=gnu11")

_REFEREE = Path(__file__).parent / "referee"
_SEEDS = Path(seeds.__file__).parent / "native" / "seeds.h"
_QUIET = re.compile(rb'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_ENTRY = re.compile(rb"\b([A-Za-z_]\w*)_Play\s*\([^()]*\bGameState\b[^()]*\)\s*\{")


class Variant(StrEnum):
    """The ways to compile the referee; all play the same."""

    FAST = ""
    """Records only."""
    TRACE = "-DUNO_TRACE"
    """Writes the moves for people instead of records."""
    CHECK = "-DUNO_CHECK"
    """Goes over the whole table before every turn."""


def alias_of(bot: Bot) -> str:
    """The X of the one function ``X_Play(GameState *)`` that a bot defines.

    Raises:
        BotError: it defines none, or several.
    """
    return _alias(bot.name, bot.files[0].path, bot.files[0].data)


def _alias(name: str, path: str, source: bytes) -> str:
    found = sorted({match.group(1).decode() for match in _ENTRY.finditer(_QUIET.sub(b" ", source))})
    if len(found) == 1:
        return found[0]
    what = "several: " + ", ".join(f"{alias}_Play" for alias in found) if found else "none"
    raise BotError(
        f"bot {name!r}: {path} must define one function 'int youralias_Play(GameState *)', it defines {what}"
    )


def ring_program(bots: Iterable[Bot], variant: Variant = Variant.FAST) -> tuple[Path, str]:
    """Build the program of a ring, or find it built.

    Args:
        bots: the bots; equal sources are compiled once.
        variant: how the referee is compiled.

    Returns:
        Path of the program, and for each bot the digit of the function that plays it.

    Raises:
        BotError: a bot does not compile or breaks the interface.
        ToolError: there is no compiler, or no place to build.
    """
    ring = tuple(bots)
    sources = tuple((bot.name, bot.files[0].path, bot.files[0].data) for bot in ring)
    program, order = _ring_program(sources, variant)
    return program, "".join(str(order.index(data)) for _, _, data in sources)


@lru_cache(maxsize=8)
def _ring_program(bots: tuple[tuple[str, str, bytes], ...], variant: Variant) -> tuple[Path, tuple[bytes, ...]]:
    distinct: dict[bytes, tuple[str, str]] = {}
    for name, path, data in bots:
        distinct.setdefault(data, (name, path))
    # The order of the units must not depend on seats and names, so that all rings of these bots are one program.
    order = tuple(sorted(distinct))
    sources = {"proj2.h": (_REFEREE / "proj2.h").read_bytes()}
    units: list[Unit] = []
    entries: list[str] = []
    taken: set[str] = set()
    for index, data in enumerate(order):
        alias = _alias(*distinct[data], data)
        names = set(re.findall(rf"\b{alias}_\w+", _QUIET.sub(b" ", data).decode(errors="replace")))
        renames = {name: f"{name}_of_unit{index}" for name in sorted(names & taken)}
        taken |= names
        entries.append(renames.get(f"{alias}_Play", f"{alias}_Play"))
        file = f"unit{index}/bot.c"
        sources[file] = data
        units.append(Unit(file, (*BOT_FLAGS, *(f"-D{name}={new}" for name, new in renames.items()))))
    bot_sources = dict(sources)
    sources |= {path.name: path.read_bytes() for path in sorted(_REFEREE.iterdir()) if path.suffix in (".c", ".h")}
    sources["seeds.h"] = _SEEDS.read_bytes()
    sources["ring.h"] = _ring_header(entries)
    referee = Unit("referee.c", (*REFEREE_FLAGS, *([variant.value] if variant.value else [])))
    try:
        return build(sources, [*units, referee]), order
    except CompileError as error:
        for unit, data in zip(units, order, strict=True):
            _compile_alone(bot_sources, unit, *distinct[data])
        # Each compiles, so together they cannot be linked: names outside an alias that two of them define.
        names_of_bots = ", ".join(repr(distinct[data][0]) for data in order)
        raise BotError(f"bots {names_of_bots} cannot be linked together: {_one_line(str(error))}") from None


def _compile_alone(sources: dict[str, bytes], unit: Unit, name: str, path: str) -> None:
    try:
        build(sources, [unit], link_flags=("-r",), output="bot.o")
    except CompileError as error:
        raise BotError(f"bot {name!r}: {_one_line(str(error).replace(unit.name, path))}") from None


def _one_line(message: str) -> str:
    return "; ".join(line.strip() for line in message.splitlines() if line.strip())


def _ring_header(entries: list[str]) -> bytes:
    lines = [f"int {entry}(GameState *);" for entry in entries]
    lines.append(f"static int (*const ring[])(GameState *) = {{{', '.join(entries)}}};")
    return ("\n".join(lines) + "\n").encode()
