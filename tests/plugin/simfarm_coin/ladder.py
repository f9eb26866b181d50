"""Ladder: in every match each bot scores what its own file says. With it a test says beforehand who is last.

A bot is a text file of words, each ``KEY=VALUE``: ``score=7.5`` (half points are allowed), ``games=100`` (games
survived; default: all), ``luck=3`` (adds 0, 1 or 2, by the match's seed), ``fault=timeout`` (its termination) and
``slow=20`` (milliseconds that a match with it takes).
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from simfarm.core.engine import Engine
from simfarm.core.errors import BotError
from simfarm.core.model import (
    NAME,
    Bot,
    BotSpec,
    Column,
    Fault,
    Matchup,
    Rules,
    Score,
    Shard,
    SourceFile,
    Table,
    Termination,
)
from simfarm.core.seeds import derive

RESULTS = Table(
    "results",
    "one row per match and bot",
    (
        Column("bot", NAME, "the bot"),
        Column("score", pa.float64(), "its score"),
        Column("games", pa.uint32(), "games survived"),
        Column("termination", NAME, "how the match ended for it"),
        Column("faulty", NAME, "the bot again if it is at fault"),
    ),
)


class LadderEngine(Engine):
    """The engine."""

    name = "ladder"
    version = 1
    rules = Rules
    tables = (RESULTS,)
    score = Score("results", "bot", "score", "points", survived="games")
    fault = Fault("results", "faulty")
    default_planner = "pairings"
    default_report = "elimination"
    quick_games = 1
    bots = Path(__file__).parent / "bots"
    suffixes = (".txt",)

    def load(self, spec: BotSpec) -> Bot:
        """See :meth:`Engine.load`."""
        assert spec.file is not None
        try:
            paths = [Path(spec.file), *map(Path, spec.files)]
            return Bot(spec.name, tuple(SourceFile(path.name, path.read_bytes()) for path in paths))
        except OSError as error:
            raise BotError(f"bot {spec.name!r}: {error.filename}: {error.strerror}") from None

    def check(self, matchup: Matchup) -> None:
        """See :meth:`Engine.check`."""
        for bot in matchup.bots:
            if "score" not in _words(bot):
                raise BotError(f"bot {bot.name!r}: its file names no score")

    def play(self, shard: Shard) -> dict[str, pa.Table]:
        """See :meth:`Engine.play`."""
        rows: list[dict[str, Any]] = []
        for block in range(shard.start, shard.stop):
            for bot in shard.matchup.bots:
                words = _words(bot)
                time.sleep(float(words.get("slow", 0)) / 1000)
                luck = derive(shard.matchup.seed, block, bot.name) % int(words.get("luck", 1))
                ended = words.get("fault", str(Termination.COMPLETED))
                rows.append(
                    {
                        "block": block,
                        "bot": bot.name,
                        "score": float(words["score"]) + luck,
                        "games": int(words.get("games", shard.matchup.games)),
                        "termination": ended,
                        "faulty": bot.name if "fault" in words else None,
                    }
                )
        types = [("block", pa.uint32())]
        types += [(column.name, pa.string() if column.type == NAME else column.type) for column in RESULTS]
        table = pa.Table.from_pylist(rows, pa.schema(types))
        for position, (name, _) in enumerate(types[1:], 1):
            if table[name].type == pa.string():
                table = table.set_column(position, name, table[name].cast(NAME))
        return {"results": table}

    def replay(self, matchup: Matchup, block: int) -> Iterator[str]:
        """See :meth:`Engine.replay`."""
        yield f"match {block}"

    def summarize(
        self, matchups: Sequence[Matchup], tables: Mapping[str, pl.DataFrame], seconds: float
    ) -> dict[str, Any]:
        """See :meth:`Engine.summarize`."""
        return {"games": sum(matchup.games for matchup in matchups), "bots": tables["results"].to_dicts()}


def _words(bot: Bot) -> dict[str, str]:
    return dict(word.split("=", 1) for word in bot.files[0].data.decode().split())
