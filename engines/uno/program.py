"""From bots to a program: check the sources, keep their names apart, compile them with the referee."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from engines.uno import wasm
from engines.uno.state import kept_state
from engines.uno.symbols import defined_and_wanted
from simfarm.core import seeds
from simfarm.core.errors import BotError
from simfarm.core.model import Bot
from simfarm.core.native import BOT_LIMITS, CompileError, Unit, build

BOT_FLAGS = ("-O2", "-std=gnu89", "-w", "-fsigned-char", "-Ulinux", "-Uunix", "-include", "proj2.h")
"""How a bot is compiled: as the C of its time, extensions of GCC allowed, with the interface supplied. A
``char`` has a sign everywhere, and the two macros that are no reserved names go, so that a bot cannot tell on which
machine it is (see coderules)."""
REFEREE_FLAGS = ("-O2", "-std=gnu89", "-U_FORTIFY_SOURCE", "-fno-pie")
_SANITIZE = "-fsanitize=bounds,integer-divide-by-zero"
WALL_FLAGS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("-ftrivial-auto-var-init=zero",),),
    (("-mmemset-strategy=vector_loop:2048:noalign,libcall:-1:noalign",),),
    (
        (_SANITIZE, "-fsanitize-trap=bounds,integer-divide-by-zero"),
        (_SANITIZE, "-fsanitize-undefined-trap-on-error"),
    ),
    (("-fstack-clash-protection",),),
    (("-ffp-contract=off",),),
)
"""Flags that make a bot's mistakes show at once and alike everywhere: locals start at zero (and GCC is told of a
faster way to that), an index beyond an array and a division by zero trap, no frame steps over the guard below the
stack, and products are rounded before they are added. Of each kind the first spelling that the compiler takes."""

_REFEREE = Path(__file__).parent / "referee"
_SEEDS = Path(seeds.__file__).parent / "native" / "seeds.h"
_QUIET = re.compile(rb'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_ENTRY = re.compile(rb"\b([A-Za-z_]\w*)_Play\s*\([^()]{0,200}\bGameState\b[^()]{0,200}\)\s*\{")
_NEAR = re.compile(rb"\b(?:\w+\s+)?\w*play\s*\([^(){};]{0,80}\)(?:\s*\w[\w\s*]{0,80};)?(?=\s*\{)", re.IGNORECASE)
"""What authors write in place of it."""


class Variant(StrEnum):
    """The ways to compile the referee; all play the same."""

    FAST = ""
    """Records only."""
    TRACE = "-DUNO_TRACE"
    """Writes the moves for people instead of records."""
    CHECK = "-DUNO_CHECK"
    """Goes over the whole table before every turn."""
    WIPE = "-DUNO_WIPE"
    """Leaves a bot no memory from one call to the next: what it smuggles shows as other rows."""
    OPEN = "-DUNO_OPEN"
    """Without walls, for the benchmark that tells what they cost."""


def alias_of(bot: Bot) -> str:
    """The X of the one function ``X_Play(GameState *)`` that a bot defines.

    Raises:
        BotError: it defines none, or several.
    """
    return _alias(bot.name, bot.files[0].path, bot.files[0].data)


def _alias(name: str, path: str, source: bytes) -> str:
    quiet = _QUIET.sub(b" ", source)
    found = sorted({match.group(1).decode() for match in _ENTRY.finditer(quiet)})
    if len(found) == 1:
        return found[0]
    if found:
        what = "several: " + ", ".join(f"{alias}_Play" for alias in found)
    else:
        near = [b" ".join(match.group().split()).decode(errors="replace") for match in _NEAR.finditer(quiet)]
        what = f"none, but {near[0]}" if near else "none"
    raise BotError(
        f"bot {name!r}: {path} must define one function 'int youralias_Play(GameState *)', it defines {what}"
    )


class Level(StrEnum):
    """How far a bot's pointers reach; for bots that keep the code rules, all levels give the same rows."""

    AUTO = "auto"
    """``wasm`` where its tools are installed, else ``native``."""
    NATIVE = "native"
    """Into the referee's process: for bots that one trusts not to aim."""
    WASM = "wasm"
    """Into the bot's own memory and nowhere else."""

    def chosen(self) -> "Level":
        """This level, or on this machine the one that AUTO means."""
        if self is not Level.AUTO:
            return self
        return Level.WASM if wasm.available() else Level.NATIVE


def ring_program(
    bots: Iterable[Bot], variant: Variant = Variant.FAST, level: Level = Level.AUTO
) -> tuple[Path, str]:
    """Build the program of a ring, or find it built.

    Args:
        bots: the bots; equal sources are compiled once.
        variant: how the referee is compiled.
        level: how the bots are.

    Returns:
        Path of the program, and for each bot the digit of the unit that plays it.

    Raises:
        BotError: a bot does not compile or breaks the interface.
        ToolError: there is no compiler, the level's tools are missing, or there is no place to build.
    """
    ring = tuple(bots)
    sources = tuple((bot.name, bot.files[0].path, bot.files[0].data) for bot in ring)
    chosen = level.chosen()
    if chosen is Level.WASM:
        wasm.require()
    program, order = _ring_program(sources, variant, chosen)
    return program, "".join(str(order.index(data)) for _, _, data in sources)


@lru_cache(maxsize=8)
def _ring_program(
    bots: tuple[tuple[str, str, bytes], ...], variant: Variant, level: Level
) -> tuple[Path, tuple[bytes, ...]]:
    distinct: dict[bytes, tuple[str, str]] = {}
    for name, path, data in bots:
        distinct.setdefault(data, (name, path))
    # The order of the units must not depend on seats and names, so that all rings of these bots are one program.
    order = tuple(sorted(distinct))
    referee = _referee(variant, level)
    sources = {"proj2.h": _header("proj2.h"), "unit.h": _header("unit.h"), "referee.o": referee.read_bytes()}
    declarations, units = "", []
    taken = set().union(*defined_and_wanted(referee))
    wanted: dict[str, set[str]] = {}
    for index, data in enumerate(order):
        name, path = distinct[data]
        alias = _alias(name, path, data)
        try:
            if level is Level.WASM:
                compiled = wasm.bot_object(data, f"{alias}_Play", index, BOT_FLAGS)
                declaration, unit = wasm.ring_entry(f"{alias}_Play", index)
            else:
                compiled = _native_object(data, {}, variant)
                if kept := next(kept_state(compiled), None):
                    raise BotError(f"bot {name!r}: {path}: {kept}")
                compiled, suffix = _named_apart(compiled, data, taken, index, variant)
                unit = f"{alias}_Play{suffix}"
                declaration = f"bot_function {unit};\n"
        except CompileError as error:
            raise BotError(f"bot {name!r}: {_one_line(str(error).replace('bot.c', path))}") from None
        sources[f"bot{index}.o"] = compiled.read_bytes()
        declarations += declaration
        units.append(unit)
        defined, wanted[name] = defined_and_wanted(compiled)
        taken |= defined
    sources["ring.c"] = (
        f'#include "unit.h"\n{declarations}const struct unit ring[] = {{{", ".join(units)}}};\n'.encode()
    )
    flags = (*REFEREE_FLAGS, *(wasm.HEADERS_FLAGS if level is Level.WASM else ()))
    try:
        # Addresses that are known when it is linked save a tenth of the time. That they can be guessed is no loss:
        # level wasm hides them from a bot, and level native is for those that do not aim.
        objects = [name for name in sources if name.endswith(".o")]
        return build(sources, [Unit("ring.c", flags)], [*objects, "-no-pie"]), order
    except CompileError as error:
        missing = set(re.findall(r"undefined (?:reference to |symbol: )[`']?(\w+)", str(error)))
        for name, names in wanted.items():
            if lacks := sorted(names & missing):
                raise BotError(f"bot {name!r}: there is no function {', '.join(lacks)}") from None
        raise BotError(f"these bots cannot be linked together: {_one_line(str(error))}") from None


def _named_apart(compiled: Path, data: bytes, taken: set[str], index: int, variant: Variant) -> tuple[Path, str]:
    """A bot's object file in which no name is one of those that are taken, and what its own names end in.

    Names come from the object file, as macros may have put them together.

    Raises:
        CompileError: it does not compile, or holds on to a name.
    """
    defined, _ = defined_and_wanted(compiled)
    if not defined & taken:
        return compiled, ""
    suffix = f"_of_unit{index}"
    compiled = _native_object(data, {name: f"{name}{suffix}" for name in defined}, variant)
    if clash := sorted(defined_and_wanted(compiled)[0] & taken):
        raise CompileError(
            f"error: the name of {clash[0]}() is taken in this ring and macros keep it; call it otherwise"
        )
    return compiled, suffix


def _header(name: str) -> bytes:
    return (_REFEREE / name).read_bytes()


def _referee(variant: Variant, level: Level) -> Path:
    names = [path.name for path in sorted(_REFEREE.glob("*.h"))]
    sources = {name: _header(name) for name in (*names, "referee.c")} | {"seeds.h": _SEEDS.read_bytes()}
    flags = [*REFEREE_FLAGS, *([variant.value] if variant.value else [])]
    if level is Level.WASM:
        sources["wasm-rt.h"] = wasm.header()
        flags += wasm.HEADERS_FLAGS
    return build(sources, [Unit("referee.c", tuple(flags))], ("-r",), "referee.o")


def _native_object(data: bytes, renames: Mapping[str, str], variant: Variant) -> Path:
    walls = () if variant is Variant.OPEN else wall_flags()
    flags = (*BOT_FLAGS, "-fno-pie", *walls, *(f"-D{name}={new}" for name, new in renames.items()))
    return build(
        {"proj2.h": _header("proj2.h"), "bot.c": data}, [Unit("bot.c", flags)], ("-r",), "bot.o", BOT_LIMITS
    )


@lru_cache
def wall_flags() -> tuple[str, ...]:
    """Those of :data:`WALL_FLAGS` that the compiler takes."""
    return tuple(flag for spellings in WALL_FLAGS for flag in next(filter(_takes, spellings), ()))


def _takes(flags: tuple[str, ...]) -> bool:
    try:
        build({"empty.c": b"int empty;\n"}, [Unit("empty.c", ("-Werror", *flags))], ("-r",), "empty.o")
    except CompileError:
        return False
    return True


def _one_line(message: str) -> str:
    return "; ".join(line.strip() for line in message.splitlines() if line.strip())
