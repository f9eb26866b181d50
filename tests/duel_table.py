"""A table for duels of bots that tests write: sources in, rows out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from engines.duel.engine import DuelEngine
from engines.duel.rules import DuelRules
from simfarm.core.model import Bot, BotSpec, Deal, Matchup, Shard, SourceFile

ENGINE = DuelEngine()
CALLER = "class Caller { onTurnStart(data) { return data.op_bet_coins } }"
"""Always calls, so that every round ends at the showdown of the antes."""


def bot(name: str, source: str) -> Bot:
    """A bot from its source, without a file; a bundled one if the source is empty."""
    data = source.encode() if source else (ENGINE.bots / f"{name}.js").read_bytes()
    return Bot(name, (SourceFile(f"{name}.js", data),), language="javascript")


def matchup(
    first: Bot,
    second: Bot,
    *,
    games: int = 1,
    blocks: int = 1,
    seed: int = 1,
    rules: Mapping[str, Any] | None = None,
    deal: Deal = Deal.FRESH,
    seatings: tuple[tuple[int, ...], ...] = ((0, 1),),
    record: tuple[str, ...] = (),
) -> Matchup:
    """A small matchup; unlike in a planned one, ``first`` has seat 0 in every fresh game."""
    return Matchup(
        (first, second),
        DuelRules(**(rules or {})),
        seed,
        0,
        blocks,
        games=games,
        seatings=seatings,
        deal=deal,
        record=record,
    )


def play(table: Matchup, start: int | None = None, stop: int | None = None) -> dict[str, pl.DataFrame]:
    """The rows of a matchup's blocks, by table."""
    first, last = table.start if start is None else start, table.stop if stop is None else stop
    frames = {}
    for name, rows in ENGINE.play(Shard(table, "k" * 16, first, last)).items():
        frame = pl.from_arrow(rows)
        assert isinstance(frame, pl.DataFrame)
        frames[name] = frame
    return frames


def timeless(rows: pl.DataFrame) -> pl.DataFrame:
    """Without the columns that record time."""
    return rows.drop([name for name in rows.columns if name.startswith("seconds")])


def spec(folder: Path, name: str, source: str) -> BotSpec:
    """A bot's file as a user names it."""
    path = folder / f"{name}.js"
    path.write_text(source)
    return BotSpec(name, file=str(path))
