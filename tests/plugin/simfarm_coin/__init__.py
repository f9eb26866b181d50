"""Coin: two bots toss for a point, block by block. As small as an engine can be, with every part of the contract.

A bot is a text file: ``heads`` or ``tails``, which it always calls, ``kill`` (its worker dies at block 5 as long
as the file that follows the word exists, and removes it), ``poison`` (its worker dies at block 5 always), ``broken``
(playing block 5 raises; if a file follows the word, as long as that exists), ``slow`` (a block takes that many
milliseconds) or ``hold`` (at block 5 its worker writes a file, named by its process id, into the folder that follows
the word, and waits for ``go`` or ``ID.go`` there).
"""

import os
import signal
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
from simfarm.core.planner import Planner, PlanOptions
from simfarm.core.seeds import derive


class CoinRules(Rules):
    """Rules of coin."""

    points: int = 1


class CoinOptions(PlanOptions):
    """Options of the planner ``coins``."""

    games: int = 100


class CoinPlanner(Planner):
    """Every pair of bots."""

    name = "coins"
    options = CoinOptions

    def matchups(
        self, bots: Sequence[Bot], rules: Rules, options: PlanOptions, seed: int, record: tuple[str, ...]
    ) -> Iterator[Matchup]:
        """See :meth:`Planner.matchups`."""
        assert isinstance(options, CoinOptions)
        for index, first in enumerate(bots):
            for second in bots[index + 1 :]:
                pair_seed = derive(seed, first.name, second.name)
                yield Matchup((first, second), rules, pair_seed, 0, options.games, record=record)


class CoinEngine(Engine):
    """The engine."""

    name = "coin"
    version = 1
    rules = CoinRules
    tables = (
        Table(
            "tosses",
            "one toss",
            (
                Column("winner", NAME, "the bot that won"),
                Column("points", pa.uint8(), "points it got"),
                Column("termination", NAME, "how it ended"),
                Column("faulty", NAME, "the bot at fault"),
            ),
        ),
        Table(
            "details",
            "one toss, again",
            (
                Column("heads", pa.bool_(), "heads up"),
                Column(
                    "seconds", pa.float32(), "time that its shard took, the same for all its tosses", time=True
                ),
            ),
            optional=True,
        ),
    )
    score = Score("tosses", "winner", "points", "points")
    fault = Fault("tosses", "faulty")
    default_planner = "coins"
    default_report = "significance"
    quick_games = 100
    bots = Path(__file__).parent / "bots"
    suffixes = (".txt",)

    def load(self, spec: BotSpec) -> Bot:
        """See :meth:`Engine.load`."""
        assert spec.file is not None
        try:
            return Bot(spec.name, (SourceFile(Path(spec.file).name, Path(spec.file).read_bytes()),))
        except OSError as error:
            raise BotError(f"bot {spec.name!r}: {spec.file}: {error.strerror}") from None

    def check(self, matchup: Matchup) -> None:
        """See :meth:`Engine.check`."""

    def segment(self, matchup: Matchup) -> int:
        """See :meth:`Engine.segment`."""
        return 4

    def play(self, shard: Shard) -> dict[str, pa.Table]:
        """See :meth:`Engine.play`."""
        started = time.monotonic()
        for bot in shard.matchup.bots:
            match bot.files[0].data.decode().split():
                case ["kill", marker] if shard.start <= 5 < shard.stop and os.path.exists(marker):
                    os.unlink(marker)
                    os.kill(os.getpid(), signal.SIGKILL)
                case ["poison"] if shard.start <= 5 < shard.stop:
                    os.kill(os.getpid(), signal.SIGKILL)
                case ["broken", *marker] if shard.start <= 5 < shard.stop and all(map(os.path.exists, marker)):
                    raise RuntimeError("the coin rolled away")
                case ["hold", folder] if shard.start <= 5 < shard.stop:
                    _hold(Path(folder))
                case ["slow", milliseconds]:
                    time.sleep(shard.blocks * float(milliseconds) / 1000)
        blocks = range(shard.start, shard.stop)
        heads = [derive(shard.matchup.seed, block) & 1 == 1 for block in blocks]
        calls = {bot.files[0].data.decode().split()[0] == "heads": bot.name for bot in shard.matchup.bots}
        winners = [calls.get(toss) for toss in heads]
        points = getattr(shard.matchup.rules, "points")  # noqa: B009 - the contract's type is Rules
        column = pa.array(blocks, pa.uint32())
        tosses = pa.table(
            {
                "block": column,
                "winner": pa.array(winners, pa.string()).cast(NAME),
                "points": pa.array([points if winner else 0 for winner in winners], pa.uint8()),
                "termination": pa.array([str(Termination.COMPLETED)] * shard.blocks).cast(NAME),
                "faulty": pa.nulls(shard.blocks, pa.string()).cast(NAME),
            }
        )
        seconds = pa.array([time.monotonic() - started] * shard.blocks, pa.float32())
        return {
            "tosses": tosses,
            "details": pa.table({"block": column, "heads": pa.array(heads), "seconds": seconds}),
        }

    def replay(self, matchup: Matchup, block: int) -> Iterator[str]:
        """See :meth:`Engine.replay`."""
        yield "heads" if derive(matchup.seed, block) & 1 else "tails"

    def summarize(
        self, matchups: Sequence[Matchup], tables: Mapping[str, pl.DataFrame], seconds: float
    ) -> dict[str, Any]:
        """See :meth:`Engine.summarize`."""
        tosses = tables["tosses"]
        bots = sorted({bot.name for matchup in matchups for bot in matchup.bots})
        return {
            "games": tosses.height,
            "bots": [{"name": bot, "wins": tosses.filter(pl.col("winner") == bot).height} for bot in bots],
        }


def _hold(folder: Path) -> None:
    (folder / str(os.getpid())).touch()
    deadline = time.monotonic() + 60
    while not (folder / "go").exists() and not (folder / f"{os.getpid()}.go").exists():
        if time.monotonic() > deadline:
            raise TimeoutError("nobody said go")
        time.sleep(0.01)
