"""Blackjack: bots are processes that talk JSON lines for a whole match; a match is a block (with shared deals: one
match in each seating, all with the same cards)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from engines.blackjack import languages
from engines.blackjack.commands import load_command, load_source
from engines.blackjack.player import Entrant
from engines.blackjack.records import GAMES, SEATS, GameRows, Rows, add_seats
from engines.blackjack.referee import Match, Watcher
from engines.blackjack.replay import narrate
from engines.blackjack.rules import BlackjackRules
from simfarm.core.engine import Calibration, Engine
from simfarm.core.errors import BotError, ConfigError
from simfarm.core.figures import Histogram
from simfarm.core.model import Bot, BotSpec, Fault, Matchup, Score, Shard
from simfarm.core.probe import Finding, probe
from simfarm.core.process import check_walls
from simfarm.core.seeds import derive


class BlackjackEngine(Engine):
    """See README.md beside this file for the rules as played and for what a bot may rely on."""

    name = "blackjack"
    version = 2
    rules = BlackjackRules
    tables = (SEATS, GAMES)
    score = Score("seats", "bot", "balance", "coins", seating="seating", survived="games")
    fault = Fault("seats", "fault_bot")
    histograms = (
        Histogram("Final balance of a match", "seats", (("balance", "bot"),), "coins"),
        Histogram("Games survived in a match", "seats", (("games", "bot"),), "games"),
        Histogram("Median reply of a match", "seats", (("reply_us_median", "bot"),), "µs", time=True),
        Histogram("99th percentile of replies", "seats", (("reply_us_p99", "bot"),), "µs", time=True),
        Histogram("Slowest reply of a match", "seats", (("reply_us_worst", "bot"),), "µs", time=True),
    )
    default_planner = "pairings"
    default_report = "elimination"
    quick_games = 2000
    calibration = Calibration(("dflat", "drandom"), {"games": 5, "repeats": 300})
    commands = True
    bots = Path(__file__).parent / "bots"
    suffixes = tuple(languages.SUFFIXES)

    def load(self, spec: BotSpec) -> Bot:
        """A bot is a source file in a known language, or a shell command.

        Raises:
            BotError: a file cannot be read, or its language is unknown.
        """
        if spec.command is not None:
            if spec.language is not None:
                raise BotError(f"bot {spec.name!r}: a command has no language; name the source by 'file'")
            return load_command(spec)
        if spec.file is None:
            raise BotError(f"bot {spec.name!r}: a blackjack bot needs a file or a command")
        language = spec.language or languages.language_of(spec.file)
        if language not in languages.LANGUAGES:
            what = f"language = {language!r}" if language else f"cannot tell the language of {spec.file}"
            raise BotError(f"bot {spec.name!r}: {what}; allowed: {', '.join(languages.LANGUAGES)}")
        return load_source(spec, language)

    def check(self, matchup: Matchup) -> None:
        """Check the shape of the matchup and build its bots.

        Raises:
            BotError: a bot does not compile.
            ConfigError: two seats for one name, more seats than the shoe can serve, a seating that is no order of
                the bots, games that do not divide by the seatings.
            ToolError: a language's tool is missing, there is no C compiler, or the walls cannot be had.
        """
        rules = _rules(matchup)
        count = len(matchup.bots)
        names = [bot.name for bot in matchup.bots]
        if len(set(names)) != count:
            raise ConfigError(f"a bot cannot sit twice at a blackjack table: {', '.join(names)}")
        if not 1 <= count <= rules.max_hands:
            raise ConfigError(
                f"a blackjack table with {rules.decks} decks has 1 to {rules.max_hands} seats, not {count}"
            )
        for seating in matchup.seatings:
            if sorted(seating) != list(range(count)):
                raise ConfigError(
                    f"blackjack seating {seating}: must be an order of the positions 0 to {count - 1}"
                )
        if len(matchup.seatings) > 255 or matchup.games % len(matchup.seatings_of(0)):
            raise ConfigError(
                f"a blackjack block has up to 255 seatings with equally many games, "
                f"not {len(matchup.seatings_of(0))} with {matchup.games}"
            )
        check_walls(rules.walls)
        for bot in matchup.bots:
            _entrant(bot)

    def play(self, shard: Shard) -> dict[str, pa.Table]:
        """Play a shard, match by match."""
        entrants = [_entrant(bot) for bot in shard.matchup.bots]
        matchup = shard.matchup
        seats, games = Rows(SEATS), Rows(GAMES)
        recorded = GAMES.name in matchup.record
        for block in range(shard.start, shard.stop):
            for seating in matchup.seatings_of(block):
                number = matchup.seatings.index(seating) if matchup.seatings else 0
                with _match(matchup, entrants, block, seating) as match:
                    recorder = GameRows(games, block, number, match.table.everyone) if recorded else None
                    for table in match.play(each_game=recorded):
                        if recorder is not None:
                            recorder.add(table)
                add_seats(seats, block, number, match)
        return {SEATS.name: seats.arrow(), **({GAMES.name: games.arrow()} if recorded else {})}

    def replay(self, matchup: Matchup, block: int) -> Iterator[str]:
        """Every decision of a block, with cards and results. Shoes and seat orders are as before; bots that use other
        chance than ``SIMFARM_SEED``, or a clock, may decide otherwise."""
        entrants = [_entrant(bot) for bot in matchup.bots]
        for seating in matchup.seatings_of(block):
            yield from narrate(partial(_match, matchup, entrants, block, seating))

    def needs(self) -> Iterator[Finding]:
        """A small program in each language, built and run as a bot would be."""
        bundled = {languages.language_of(spec.file or "") for spec in self.bundled().values()}
        for name in languages.LANGUAGES:
            yield probe(
                name,
                partial(languages.tried, name),
                f"no bots in {name}",
                "install it, or write bots in another language",
                needed=name in bundled,
            )

    def quick_plan(self, bots: int, games: int, seed: int) -> dict[str, Any]:
        """One table with all the bots."""
        return {"games": games, "table": bots}

    def summarize(
        self, matchups: Sequence[Matchup], tables: Mapping[str, pl.DataFrame], seconds: float
    ) -> dict[str, Any]:
        """Games played; for each match and bot its final balance, its games, whether it was terminated, and why."""
        seats = tables["seats"]
        games = int(seats.unique(["matchup", "block", "seating"])["match_games"].sum())
        faults = seats["fault_bot"].is_not_null()
        return {
            "games": games,
            "games_per_second": games / seconds if seconds > 0 else 0.0,
            "bots": [
                {
                    "name": name,
                    "balance": balance,
                    "games": played,
                    "terminated": fault,
                    "reason": reason,
                    "detail": detail,
                }
                for (name, balance, played, reason, detail), fault in zip(
                    seats.select("bot", "balance", "games", "termination", "detail").iter_rows(),
                    faults,
                    strict=True,
                )
            ],
        }


def _rules(matchup: Matchup) -> BlackjackRules:
    assert isinstance(matchup.rules, BlackjackRules)
    return matchup.rules


def _entrant(bot: Bot) -> Entrant:
    if bot.command is not None:
        return Entrant(bot)
    built, factor = languages.build(bot)
    assert built.language is not None
    return Entrant(built, factor, languages.LANGUAGES[built.language].memory)


def _match(
    matchup: Matchup,
    entrants: Sequence[Entrant],
    block: int,
    seating: tuple[int, ...],
    watcher: Watcher | None = None,
) -> Match:
    games = matchup.games // len(matchup.seatings_of(block))
    seated = [entrants[position] for position in seating]
    return Match(_rules(matchup), seated, derive(matchup.seed, block), games, watcher)
