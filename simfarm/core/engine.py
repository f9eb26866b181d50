"""The Engine contract: a game, its referee, and how its bots are loaded.

How the four games that ship fit it (statements: each engine's README):

===========  ================================================================================================
uno          Four C bots and a C referee make one native program per ring. A block is one game (deal
             ``fresh``) or one deal in every seating (deal ``shared``); 20 million blocks are normal, so
             ``play`` moves packed records into Arrow columns and no Python runs per game. What a bot sees
             of earlier games (``allPlayersScores``) is confined to a *segment* of consecutive blocks;
             shards are cut at segment bounds, so any cut gives the same rows. One table: ``games``.
blackjack    Bots are processes with memory that talk JSON over pipes for a whole match, so a match of
             ``matchup.games`` games is one block; blocks of a matchup are repeats with other seeds.
             Two to many seats. Tables: ``seats`` (one row per match and bot), by option ``games``.
duel         Two JavaScript bots in realms that are costly to make, so a block is a fixed number of games
             (``matchup.games``) of one pair. Tables: ``games``, ``sets``, by option ``rounds``.
             Rule options vary between matchups of a sweep.
poker_run    A puzzle for one player: a matchup has one bot, and a block *is* a puzzle seed, so
             ``matchup.start`` need not be 0. Tables: ``runs`` and ``rounds``.
===========  ================================================================================================

What follows from the four together: a matchup carries the number of games in a block, its seatings and its
rules; an engine may ask for segments; an engine has several tables, some optional; ``play`` takes a shard and
gives Arrow tables and nothing else. Where a bot fails, the rows say so (:class:`~simfarm.core.model.Fault`).

One parameter through the contract, a run's seed: the config's ``seed`` -> the planner derives each matchup's
``seed`` from it -> a :class:`~simfarm.core.model.Shard` carries the matchup unchanged -> the engine derives
``derive(matchup.seed, block)`` for each block. No one else touches it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from simfarm.core.figures import Curves, Histogram
from simfarm.core.model import Bot, BotSpec, Fault, Matchup, Rules, Score, Shard, Table, Violation
from simfarm.core.probe import Finding


@dataclass(frozen=True, slots=True)
class Calibration:
    """A quick run whose rows ``simfarm calibrate`` draws its tournaments from: thousands of blocks in seconds."""

    bots: tuple[str, ...]
    """Names of bundled bots; the first takes part twice, under two names, the second is compared with it."""
    plan: Mapping[str, Any]
    """Plan options of the engine's default planner."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Rule options, for games that are shorter than the official ones."""


class Engine(ABC):
    """A game. Instances hold no state that changes a result; any number may exist in any process."""

    name: ClassVar[str]
    """The name in configs, rows and on the command line."""
    version: ClassVar[int]
    """Version of the rules as played; old cells no longer count when it rises. It rises only when results
    change, or the default of a rule option; a new option whose default is the old way changes neither."""
    rules: ClassVar[type[Rules]]
    """The rule options with their defaults: the official game."""
    tables: ClassVar[tuple[Table, ...]]
    """What the engine writes."""
    score: ClassVar[Score]
    """The metric by which bots are compared."""
    fault: ClassVar[Fault]
    """Where rows name a bot that did wrong."""
    default_planner: ClassVar[str]
    """The planner of a config that names none, and of ``simfarm play``."""
    default_report: ClassVar[str]
    """The report that a run of this game is usually read by: ``significance``, ``leaderboard``, ..."""
    quick_games: ClassVar[int]
    """Games that ``simfarm play`` plays unless told otherwise: a second's worth."""
    calibration: ClassVar[Calibration | None] = None
    """For ``simfarm calibrate``; None: two copies of a bot do the same in every block, so that nothing can err."""
    commands: ClassVar[bool] = False
    """Whether a bot may be a shell command instead of a file."""
    wipes: ClassVar[bool] = False
    """Whether :meth:`play_again` exists."""
    bots: ClassVar[Path]
    """Folder with the bundled bots."""
    suffixes: ClassVar[tuple[str, ...]]
    """Suffixes of files that are bots, for example ``(".c",)``."""
    public_blocks: ClassVar[range | None] = None
    """Blocks that are published with the game, so that everybody tunes on them: a leaderboard shows them
    apart."""
    means: ClassVar[Mapping[str, str]] = {}
    """Further numeric columns of the score's table whose means a leaderboard shows: column -> heading."""
    histograms: ClassVar[tuple[Histogram, ...]] = ()
    """Quantities whose distributions a page shows."""
    house: ClassVar[Path | None] = None
    """The house file (:mod:`simfarm.judge`) of the official judging; None: this game has none."""
    packs: ClassVar[bool] = False
    """Whether :meth:`pack` exists."""
    code_rules: ClassVar[Mapping[str, str]] = {}
    """Rules that a bot's source must keep, by name with what each demands; empty in a game without such rules."""

    def read_rules(self, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """A config's rule options before they are validated; an engine whose options name files replaces each
        by what it holds, so that rules travel by content.

        Args:
            options: as they stand in the config.
            folder: what relative paths are relative to.

        Raises:
            ConfigError: a file cannot be used.
        """
        return dict(options)

    def bundled(self) -> Mapping[str, BotSpec]:
        """The bundled bots by name: they can be named in a config or a command without a file."""
        return {path.stem: BotSpec(path.stem, file=str(path)) for path in self.bot_files(self.bots)}

    def bot_files(self, folder: Path) -> list[Path]:
        """The files in a folder that are bots of this game, sorted by name."""
        return sorted(path for path in folder.iterdir() if path.suffix in self.suffixes and path.is_file())

    @abstractmethod
    def load(self, spec: BotSpec) -> Bot:
        """Read a bot's files and check what can be checked without building it.

        Raises:
            BotError: the file is missing or cannot be a bot of this game.
        """

    def alias(self, bot: Bot) -> str:
        """What a loaded bot calls itself, wherever its file is: its name on a leaderboard."""
        return bot.name

    def violations(self, bot: Bot) -> list[Violation]:
        """Every place where a bot breaks one of :attr:`code_rules`, by line. The bot need not be one that
        :meth:`load` takes; nothing of it is run.

        Raises:
            ToolError: this machine lacks a tool.
        """
        return []

    @abstractmethod
    def check(self, matchup: Matchup) -> None:
        """Make sure a matchup can be played here: seats, rules, and whatever has to be built.

        Called before a run starts, so that mistakes show before anything is written.

        Raises:
            BotError: a bot cannot be built or breaks the interface.
            ConfigError: the matchup does not fit the game.
            ToolError: this machine lacks a tool.
        """

    def segment(self, matchup: Matchup) -> int:
        """Blocks that must be played from their first one on: shards start and end at multiples of it
        (counted from block 0; the last shard ends where the matchup does)."""
        return 1

    @abstractmethod
    def play(self, shard: Shard) -> dict[str, pa.Table]:
        """Play a shard: for each wanted table its rows in block order, ``block`` (uint32) first, then the
        declared columns. The result is a function of the shard's cell, columns that record time apart.

        Raises:
            BotError: as :meth:`check`. Any other exception is the machine's fault; the shard is tried again.
        """

    def play_again(self, shard: Shard) -> dict[str, pa.Table]:
        """As :meth:`play`, for an audit: before every call a bot's memory is what it was before the first, so that
        the rows of a bot that carries over what the rules do not let it are others."""
        raise NotImplementedError(f"{self.name} cannot wipe its bots' memory")

    @abstractmethod
    def replay(self, matchup: Matchup, block: int) -> Iterator[str]:
        """Play one block again and yield its moves as lines for people."""

    def offence(self, matchup: Matchup, block: int, bot: str) -> list[str]:
        """The replay of a block in which a bot had a penalty or was at fault; of a game that names the place, up to
        there, with what the bot was shown."""
        return list(self.replay(matchup, block))

    def pack(self, folder: Path) -> str:
        """Fill an empty folder with all that an author needs to write bots and try them without simfarm.

        Returns:
            What to type there, to build it.
        """
        raise NotImplementedError(f"{self.name} has no pack for authors")

    def quick_plan(self, bots: int, games: int, seed: int) -> dict[str, Any]:
        """The plan options by which ``simfarm play`` has that many bots play that many games."""
        return {"games": games}

    def leaderboard_tables(
        self, matchups: Mapping[str, Matchup], tables: Mapping[str, pl.LazyFrame]
    ) -> Mapping[str, pl.DataFrame]:
        """What only this game can add to a leaderboard: small frames by title, columns named as they are
        shown.

        Args:
            matchups: the run's matchups by key, the value in the column ``matchup``.
            tables: the run's rows by table.
        """
        return {}

    def needs(self) -> Iterable[Finding]:
        """What this game needs or can use of a machine, each thing tried, within seconds: for ``simfarm doctor``."""
        return ()

    def curves(self, matchups: Mapping[str, Matchup], tables: Mapping[str, pl.LazyFrame]) -> Sequence[Curves]:
        """What only this game can draw on a page; arguments as of :meth:`leaderboard_tables`."""
        return ()

    @abstractmethod
    def summarize(
        self, matchups: Sequence[Matchup], tables: Mapping[str, pl.DataFrame], seconds: float
    ) -> dict[str, Any]:
        """What ``simfarm play`` shows: JSON-ready values with at least ``games`` and ``bots`` (a list of
        flat objects with ``name``), computed from rows.

        Args:
            matchups: what was played.
            tables: all rows, by table.
            seconds: wall time of playing.
        """
