"""UNO for four: C bots and a C referee make one program per ring; games come back as packed records."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
import pyarrow as pa
from pydantic import Field

from engines.uno.coderules.rules import RULES
from engines.uno.pack import write_pack
from engines.uno.program import Level, Variant, alias_of, ring_program
from engines.uno.records import GAMES, RECORD, SEATS, games_table, seatings
from simfarm.core.engine import Calibration, Engine
from simfarm.core.errors import BotError, ConfigError
from simfarm.core.figures import Histogram
from simfarm.core.model import Bot, BotSpec, Deal, Fault, Matchup, Rules, Score, Shard, SourceFile, Violation
from simfarm.core.probe import Finding, probe

SEGMENT_BLOCKS = 2400
"""Games over which ``allPlayersScores`` adds up: a hundred times all 24 seatings."""

_OFFENCE = re.compile(
    r" *\d+  seat \d (?P<bot>\S+) \[.*\] on .* (answers -?\d+: penalty, .*|(?P<fault>\S.*: the game ends))"
)
"""A turn in a trace that brought its bot a penalty or disqualified it."""


class UnoRules(Rules):
    """Limits that end a game which its bots do not end, and how bots are walled in; the rules of play themselves have
    no options."""

    means: ClassVar[frozenset[str]] = frozenset({"level"})

    turn_limit_ms: Annotated[
        int, Field(ge=1, le=60_000, description="CPU time of one turn in ms after which the bot has timed out")
    ] = 1000
    max_turns: Annotated[
        int, Field(ge=1, le=65_535, description="turns after which a game ends without a winner")
    ] = 10_000
    level: Annotated[
        Level,
        Field(description="walls: 'wasm' (no pointer leads out of a bot), 'native' or 'auto' (wasm if installed)"),
    ] = Level.AUTO


class UnoEngine(Engine):
    """See README.md beside this file for the rules as played and for what a bot may rely on."""

    name = "uno"
    version = 1
    rules = UnoRules
    tables = (GAMES,)
    score = Score(
        "games",
        "winner_bot",
        "points",
        "points",
        seating="seating",
        seat="winner_seat",
        penalties=tuple(f"penalties_seat{seat}" for seat in range(SEATS)),
    )
    fault = Fault("games", "fault_bot")
    histograms = (
        Histogram("Points of a game won", "games", (("points", "winner_bot"),), "points"),
        Histogram("Turns of a game", "games", (("turns", None),), "turns"),
    )
    default_planner = "ring"
    default_report = "significance"
    quick_games = 240_000
    calibration = Calibration(("starter", "sparring_tempo", "first_legal"), {"games": 240_000})
    wipes = True
    bots = Path(__file__).parent / "bots"
    suffixes = (".c",)
    house = Path(__file__).parent / "judge.toml"
    packs = True
    code_rules = RULES

    def load(self, spec: BotSpec) -> Bot:
        """A bot is one C file that defines one function ``X_Play(GameState *)``.

        Raises:
            BotError: it is anything else.
        """
        if spec.file is None or spec.command is not None or spec.files:
            raise BotError(f"bot {spec.name!r}: a UNO bot is one C file, named by 'file' and nothing else")
        path = Path(spec.file)
        if path.suffix not in self.suffixes or spec.language not in (None, "c"):
            raise BotError(f"bot {spec.name!r}: {spec.file} is not a C file: its name must end in .c")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BotError(f"bot {spec.name!r}: cannot read {spec.file}: {error.strerror}") from None
        if b"\0" in data:
            raise BotError(f"bot {spec.name!r}: {spec.file} is not C source: it holds a zero byte")
        bot = Bot(spec.name, (SourceFile(path.name, data),), language="c")
        alias_of(bot)
        return bot

    def alias(self, bot: Bot) -> str:
        """The prefix of its functions."""
        return alias_of(bot)

    def violations(self, bot: Bot) -> list[Violation]:
        """See README, section Code rules."""
        # imported when wanted: workers do not need the parsers
        from engines.uno.coderules.check import check_source

        return check_source(bot.files[0].data)

    def check(self, matchup: Matchup) -> None:
        """Check the shape of the matchup and build its program.

        Raises:
            BotError: a bot does not compile.
            ConfigError: not four bots, a seating that is no order of them, a wrong number of games per block.
            ToolError: there is no C compiler.
        """
        if len(matchup.bots) != SEATS:
            names = ", ".join(bot.name for bot in matchup.bots)
            raise ConfigError(f"UNO is played by four bots, not {len(matchup.bots)}: {names}")
        for seating in matchup.seatings:
            if sorted(seating) != list(range(SEATS)):
                raise ConfigError(f"UNO seating {seating}: must be an order of the positions 0, 1, 2, 3")
        if len(matchup.seatings) > 255:
            raise ConfigError(f"UNO takes up to 255 seatings, not {len(matchup.seatings)}")
        if matchup.games != len(matchup.seatings_of(0)):
            raise ConfigError(
                f"a block of UNO with deal = '{matchup.deal}' is {len(matchup.seatings_of(0))} games here, "
                f"not {matchup.games}"
            )
        rules = matchup.rules
        assert isinstance(rules, UnoRules)
        ring_program(matchup.bots, level=rules.level)

    def segment(self, matchup: Matchup) -> int:
        """The games over which scores add up; with shared deals a block stands alone."""
        return 1 if matchup.deal is Deal.SHARED else SEGMENT_BLOCKS

    def play(self, shard: Shard) -> dict[str, pa.Table]:
        """Play a shard. It may start anywhere: the games from the start of its segment are then played first."""
        return self._play(shard, Variant.FAST)

    def play_again(self, shard: Shard) -> dict[str, pa.Table]:
        """As :meth:`play`, with a bot's stack empty at every call."""
        return self._play(shard, Variant.WIPE)

    def _play(self, shard: Shard, variant: Variant) -> dict[str, pa.Table]:
        matchup = shard.matchup
        data = self._run(matchup, shard.start, shard.stop, variant)
        records = np.frombuffer(data, RECORD)
        expected = shard.blocks * len(matchup.seatings_of(0))
        if len(records) != expected:
            raise RuntimeError(f"the UNO program wrote {len(records)} records, not {expected}")
        return {"games": games_table(records, matchup, shard.start)}

    def replay(self, matchup: Matchup, block: int) -> Iterator[str]:
        """The moves of a block, written by the referee itself; with shared deals one game per seating."""
        yield from self._run(matchup, block, block + 1, Variant.TRACE).decode(errors="replace").splitlines()

    def offence(self, matchup: Matchup, block: int, bot: str) -> list[str]:
        """The game up to the turn of the offence, with the hand and what else the bot was shown."""
        told: list[str] = []
        for line in self.replay(matchup, block):
            told.append(line)
            turn = _OFFENCE.fullmatch(line)
            if turn and turn["bot"] == bot and not turn["fault"]:
                break  # after a fault the trace tells the state, and ends
        return told

    def pack(self, folder: Path) -> str:
        """See :mod:`engines.uno.pack`."""
        return write_pack(folder, self.bots)

    def needs(self) -> Iterator[Finding]:
        """A short run at each level: the compiler, the level's tools and the lock-down of the referee."""
        yield probe(
            "level native",
            partial(self._tried, Level.NATIVE),
            "no UNO can be played",
            "see the C compiler and seccomp above",
            needed=True,
        )
        yield probe(
            "level wasm",
            partial(self._tried, Level.WASM),
            "only level native can be played, in which bots share the referee's memory",
            "pip install 'simfarm[arena]'",
        )

    def _tried(self, level: Level) -> str:
        bot = self.load(self.bundled()["first_legal"])
        bots = tuple(replace(bot, name=f"{bot.name}{seat}") for seat in range(SEATS))
        matchup = Matchup(bots, UnoRules(level=level), seed=1, start=0, stop=100)
        return f"{self.play(Shard(matchup, '', 0, 100))['games'].num_rows} games played"

    def summarize(
        self, matchups: Sequence[Matchup], tables: Mapping[str, pl.DataFrame], seconds: float
    ) -> dict[str, Any]:
        """Games, their length and worth, and for each bot points, share of all points, wins and penalties."""
        games = tables["games"]
        points = int(games["points"].sum())
        by_bot = games.group_by(pl.col("winner_bot").cast(pl.String)).agg(pl.col("points").sum(), wins=pl.len())
        won = {name: (int(score), int(wins)) for name, score, wins in by_bot.iter_rows()}
        penalties = Counter({bot.name: 0 for matchup in matchups for bot in matchup.bots})
        parts = [games] if len(matchups) == 1 else games.partition_by("matchup", maintain_order=True)
        for matchup, part in zip(matchups, parts, strict=True):
            by_seating = part.group_by("seating").agg(pl.col(self.score.penalties).sum())
            for number, *counts in by_seating.iter_rows():
                for position, count in zip(seatings(matchup)[number], counts, strict=True):
                    penalties[matchup.bots[position].name] += int(count)
        return {
            "games": games.height,
            "turns_per_game": int(games["turns"].sum()) / max(games.height, 1),
            "points_per_game": points / max(games.height, 1),
            "games_per_second": games.height / seconds if seconds > 0 else 0.0,
            "bots": [
                {
                    "name": name,
                    "points": won.get(name, (0, 0))[0],
                    "share": won.get(name, (0, 0))[0] / max(points, 1),
                    "wins": won.get(name, (0, 0))[1],
                    "penalties": count,
                }
                for name, count in penalties.items()
            ],
        }

    def command(self, matchup: Matchup, start: int, stop: int, variant: Variant) -> tuple[Path, list[str]]:
        """The program that plays blocks of a matchup, and its arguments (referee/referee.c)."""
        rules = matchup.rules
        assert isinstance(rules, UnoRules)
        program, units = ring_program(matchup.bots, variant, rules.level)
        segment = self.segment(matchup)
        arguments: list[object] = [
            matchup.seed % 2**64,
            start // segment * segment,
            start,
            stop,
            segment,
            int(matchup.deal is Deal.SHARED),
            rules.turn_limit_ms,
            rules.max_turns,
            units,
            "".join(str(position) for seating in seatings(matchup) for position in seating),
            *(bot.name for bot in matchup.bots),
        ]
        return program, [str(argument) for argument in arguments]

    def _run(self, matchup: Matchup, start: int, stop: int, variant: Variant) -> bytes:
        program, arguments = self.command(matchup, start, stop, variant)
        # An empty environment: a bot sees nothing of the machine.
        done = subprocess.run(
            [program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False, env={}
        )
        if done.returncode != 0:
            last = done.stderr[-2000:].decode(errors="replace").strip()
            raise RuntimeError(f"the UNO program ended with code {done.returncode}: {last}")
        return done.stdout
