"""The nouns of simfarm as frozen values: bots, matchups, shards, outcomes, tables.

Everything here crosses process and machine boundaries, so nothing here holds a path, a handle or a clock.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict


class Rules(BaseModel):
    """Base of an engine's rule options: validated, frozen, unknown keys refused, every key with a default.

    Two matchups with unequal rules are different cells. A field's description and bounds are what the user
    sees in an error message and in ``simfarm schema``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    means: ClassVar[frozenset[str]] = frozenset()
    """Names of options that say by what means rows are made and do not change them: they are no part of a cell."""


class Termination(StrEnum):
    """Why a game, a set or a match ended: one list for every engine, shown in rows, reports and JSON."""

    COMPLETED = "completed"
    """The game reached its end by its rules."""
    LENGTH_LIMIT = "length_limit"
    """Nobody is at fault: the game reached the cap on its length."""
    TIME_LIMIT = "time_limit"
    """Nobody is at fault: the rules cut the game off after a time (so the row depends on the machine)."""
    BROKE = "broke"
    """Nobody is at fault: the competitor can no longer pay for a seat."""
    FORFEITED = "forfeited"
    """Not played: the competitor at fault had been disqualified earlier in the same block or segment."""

    ILLEGAL = "illegal"
    """A well-formed answer that the rules do not allow here."""
    UNAFFORDABLE = "unaffordable"
    """An answer that costs more than the competitor owns."""
    UNPARSABLE = "unparsable"
    """An answer that is not in the protocol's form."""
    MISMATCHED = "mismatched"
    """An answer in form whose identity fields name another match, game or bot."""
    TIMEOUT = "timeout"
    """No answer within the time allowed."""
    EXITED = "exited"
    """The bot ended, or closed its output, before it had answered."""
    CRASHED = "crashed"
    """The bot's code broke: a signal, a trap, an exception that the engine counts as fatal."""
    NOT_STARTED = "not_started"
    """The bot did not come up within its start-up budget."""
    OUTPUT_LIMIT = "output_limit"
    """The bot wrote more than it may."""
    MEMORY_LIMIT = "memory_limit"
    """The bot wanted more memory than it may have."""
    FORBIDDEN = "forbidden"
    """The bot attempted something that the walls recognise as an attack or a rule breach."""

    WORKER_DIED = "worker_died"
    """No bot's fault and in no row: the worker that played the shard was killed, or its machine went away."""
    INTERNAL_ERROR = "internal_error"
    """No bot's fault and in no row: simfarm or the machine raised an error while the shard was played."""

    @property
    def is_bot_fault(self) -> bool:
        """True if a bot did something wrong, false for an end that the rules provide."""
        return self not in _NO_FAULT and not self.is_system_fault

    @property
    def is_system_fault(self) -> bool:
        """True if simfarm or the machine failed: such a shard has no rows and is played again."""
        return self in _SYSTEM_FAULTS


_NO_FAULT = frozenset(
    {
        Termination.COMPLETED,
        Termination.LENGTH_LIMIT,
        Termination.TIME_LIMIT,
        Termination.BROKE,
        Termination.FORFEITED,
    }
)
_SYSTEM_FAULTS = frozenset({Termination.WORKER_DIED, Termination.INTERNAL_ERROR})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one game ended."""

    termination: Termination
    """Why it ended."""
    seat: int | None = None
    """The seat at fault (0-based) when :attr:`Termination.is_bot_fault`, else None."""
    detail: str = ""
    """What was seen, for people: the bad value and the state it met, the last message, the end of stderr."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a bot, by content."""

    path: str
    """Relative POSIX path under which the bot expects the file."""
    data: bytes
    """The content."""
    executable: bool = False
    """Whether the file carries an execute bit."""

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of the content."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class BotSpec:
    """A bot as a user names it, before an engine has loaded it."""

    name: str
    """The name in rows and reports."""
    file: str | None = None
    """Path of a source file, absolute or relative to the working directory."""
    command: str | None = None
    """A shell command instead of a file."""
    language: str | None = None
    """The source file's language, where the engine offers several; None lets the engine tell."""
    files: tuple[str, ...] = ()
    """Paths of further files that the bot reads; they travel with it."""
    folder: str = "."
    """Where relative names in a command are looked up."""
    author: str | None = None
    """Who wrote it."""


@dataclass(frozen=True, slots=True)
class Bot:
    """A competitor, complete: it can be sent to a machine that shares nothing with this one."""

    name: str
    """The name in rows and reports; unique in a run."""
    files: tuple[SourceFile, ...] = ()
    """Everything the bot consists of; the first file is the one that is compiled, run or loaded."""
    command: str | None = None
    """The shell command that starts the bot, for engines whose bots are processes."""
    language: str | None = None
    """The language of the first file, in the engine's spelling."""
    author: str | None = None
    """Who wrote it, for attribution; simfarm takes it over from the :class:`BotSpec`."""

    @property
    def hash(self) -> str:
        """Hex SHA-256 of all that decides the bot's behaviour: everything but its name and its author."""
        return _hash_of(self)


@lru_cache(maxsize=4096)  # a plan of many matchups asks for the same bots again and again
def _hash_of(bot: Bot) -> str:
    identity = {
        "command": bot.command,
        "language": bot.language,
        "files": [[file.path, file.sha256, file.executable] for file in bot.files],
    }
    return hashlib.sha256(canonical_json(identity)).hexdigest()


@dataclass(frozen=True, slots=True)
class Violation:
    """A place where a bot's source breaks a rule of its game's code rules."""

    rule: str
    """The rule, a key of :attr:`~simfarm.core.engine.Engine.code_rules`."""
    line: int
    """The line in the bot's first file, from 1; 1 where the whole file is meant."""
    message: str
    """What is wrong there and what is allowed, in one line."""


class Deal(StrEnum):
    """How the seatings of a matchup share the luck of the draw."""

    FRESH = "fresh"
    """Every block has luck of its own; block b is played in seating ``b % len(seatings)``."""
    SHARED = "shared"
    """A block is one deal played once in every seating, so that luck cancels within the block."""


@dataclass(frozen=True, slots=True)
class Matchup:
    """The bots that meet, in seat order, and everything else that decides their results.

    A planner makes it, an engine plays it, and no one adds to it in between.
    """

    bots: tuple[Bot, ...]
    """The competitors. A seating maps seats to positions in this tuple."""
    rules: Rules
    """The engine's rule options for this matchup."""
    seed: int
    """64 bits. Everything random in block b comes from ``derive(seed, b)``."""
    start: int
    """The first block."""
    stop: int
    """One past the last block; ``0 <= start < stop <= 2**32``."""
    games: int = 1
    """Games in one block, over all its seatings."""
    seatings: tuple[tuple[int, ...], ...] = ()
    """Seatings in use: ``seating[seat]`` is a position in ``bots``. Empty means as listed."""
    deal: Deal = Deal.FRESH
    """Whether a block is one seating or one deal in all seatings."""
    record: tuple[str, ...] = ()
    """Names of the engine's optional tables that are wanted."""

    def seatings_of(self, block: int) -> tuple[tuple[int, ...], ...]:
        """The seatings in which the given block is played, in order of play."""
        seatings = self.seatings or (tuple(range(len(self.bots))),)
        return seatings if self.deal is Deal.SHARED else (seatings[block % len(seatings)],)

    def identity(self) -> dict[str, object]:
        """All that decides a block's rows, block index apart, as JSON-ready values."""
        return {
            "bots": [[bot.name, bot.hash] for bot in self.bots],
            # without defaults: a new option must not change the keys of those who do not use it
            "rules": self.rules.model_dump(mode="json", exclude_defaults=True, exclude=set(self.rules.means)),
            "seed": self.seed,
            "games": self.games,
            "seatings": self.seatings,
            "deal": self.deal,
            "record": sorted(self.record),
        }


@dataclass(frozen=True, slots=True)
class Shard:
    """A run of consecutive blocks of one matchup: the unit that a worker takes."""

    matchup: Matchup
    key: str
    """The matchup's key (:func:`matchup_key`): with the block range it is the cell."""
    start: int
    """First block."""
    stop: int
    """One past the last block."""

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return self.stop - self.start


def matchup_key(engine: str, version: int, schema_version: int, matchup: Matchup) -> str:
    """16 hex digits that identify a matchup's results for ever, block range apart.

    Args:
        engine: the engine's name.
        version: the version of its rules (:attr:`Engine.version`).
        schema_version: the version of the row schema.
        matchup: the matchup.
    """
    identity = {"engine": engine, "version": version, "schema": schema_version, **matchup.identity()}
    return hashlib.sha256(canonical_json(identity)).hexdigest()[:16]


def canonical_json(value: object) -> bytes:
    """JSON with one spelling per value, for hashing and for comparing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


NAME = pa.dictionary(pa.int16(), pa.string())
"""The type of a column that holds one of few texts: bot names, terminations, matchup keys."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a row table."""

    name: str
    type: pa.DataType
    doc: str
    """Unit and meaning, as shown by ``simfarm schema --tables``."""
    time: bool = False
    """Whether it records time, so that it differs each time its block is played."""


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of row that an engine writes. ``matchup`` and ``block`` are added in front by simfarm."""

    name: str
    doc: str
    """What one row is."""
    columns: tuple[Column, ...]
    optional: bool = False
    """Written only where a matchup's ``record`` names it."""

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)


@dataclass(frozen=True, slots=True)
class Score:
    """Where the metric of an engine stands in its rows, so that reports need to know no game.

    A bot's score in a block is the sum of ``value`` over the rows of ``table`` that name it in ``bot``;
    a bot without a row in a block scored 0 there.
    """

    table: str
    bot: str
    """Column that holds the bot's name, null where nobody scored."""
    value: str
    """Numeric column that is summed."""
    unit: str
    """What one unit of value is called: ``points``, ``coins``."""
    seating: str | None = None
    """Column with the index of the row's seating in ``matchup.seatings``, for tables by seating."""
    seat: str | None = None
    """Column with the seat that scored, for tables by seat; null where nobody scored."""
    penalties: tuple[str, ...] = ()
    """Columns that count rule breaches, one per seat in seat order; a bot with any is ineligible."""
    survived: str | None = None
    """Integer column with the games of its match in which the bot named in the row took part, for tables with one
    row per match and bot."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Where an engine's rows say that a bot did something wrong."""

    table: str
    bot: str
    """Column with the name of the bot at fault, null where nobody is."""
    termination: str = "termination"
    """Column with the :class:`Termination`."""
