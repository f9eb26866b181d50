"""The spot check of a run: play committed blocks again, in fresh processes, and compare row by row.

Rows that come out otherwise were not made by these bots under these rules, or not on a machine that can be trusted;
and where a bot's memory is wiped before every call, a bot that keeps there what it must not keep. Columns that record
time are left out.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl
import pyarrow as pa

from simfarm import registry
from simfarm.core.engine import Engine
from simfarm.core.errors import ConfigError, ExecutorError
from simfarm.core.model import Matchup, Shard, Table
from simfarm.executors import Executor, GivenUp
from simfarm.schema import COMMON, arrow_schema, complete
from simfarm.store import Receipt, Run

SAMPLE = 20
"""Blocks that are looked at unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A block whose committed rows are not those that come out now."""

    matchup: str
    """Key of the matchup."""
    block: int
    table: str
    what: str
    """The first column that differs with both values, or the numbers of rows."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found."""

    blocks: int
    """Blocks that were played again."""
    rows: int
    """Committed rows that were compared."""
    wiped: bool
    """Whether bots' memory was wiped before every call."""
    damaged: tuple[str, ...]
    """Committed shards that could not be looked at because a part is gone or damaged, one line each."""
    differences: tuple[Difference, ...]
    """By matchup in plan order and block; one for each block and table."""

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.damaged and not self.differences


def audit(run: Run, executor: Executor, sample: int | None = SAMPLE, *, wipe: bool = False) -> Audit:
    """Play committed blocks of a run again and compare.

    Args:
        run: the run.
        executor: where they are played.
        sample: how many blocks are drawn, each as likely as any other; the rest of its segment, which has to be
            played for it, is compared as well. None means all.
        wipe: have the engine wipe every bot's memory before every call (:meth:`Engine.play_again`).

    Raises:
        ConfigError: nothing is committed, or the engine cannot wipe.
        ExecutorError: a block could not be played again.
        SimfarmError: as :meth:`Engine.check`.
    """
    matchups = run.matchups()
    receipts = {(receipt.key, receipt.start): receipt for receipt in run.receipts()}
    if not receipts:
        raise ConfigError(f"{run.place}: no rows are committed, so there is nothing to audit")
    if wipe and not run.engine.wipes:
        raise ConfigError(f"{run.engine.name} cannot wipe its bots' memory")
    shards = list(_shards(run.engine, matchups, list(receipts.values()), sample))
    for key in dict.fromkeys(shard.key for shard, _ in shards):
        run.engine.check(matchups[key])
    homes = {(shard.key, shard.start): receipt for shard, receipt in shards}
    rows = 0
    differences: list[Difference] = []
    replay = partial(_replay, run.engine.name, wipe)
    for played_again in executor.map(replay, iter([shard for shard, _ in shards])):
        if isinstance(played_again, GivenUp):
            failed = played_again.item
            raise ExecutorError(
                f"blocks {failed.start} to {failed.stop} of matchup {failed.key} cannot be played again: "
                f"{played_again.reason}: {played_again.detail}"
            )
        shard, tables = played_again
        receipt = homes[shard.key, shard.start]
        for name, played in tables.items():
            committed = run.scan(receipt, name).filter(pl.col("block").is_between(shard.start, shard.stop - 1))
            frame = committed.collect()
            rows += frame.height
            differences += _differences(shard.key, run.table(name), frame, _frame(played))
    order = {key: place for place, key in enumerate(matchups)}
    differences.sort(key=lambda found: (order[found.matchup], found.block, found.table))
    blocks = sum(shard.blocks for shard, _ in shards)
    return Audit(blocks, rows, wipe, tuple(run.problems()), tuple(differences))


def _shards(
    engine: Engine, matchups: dict[str, Matchup], receipts: Sequence[Receipt], sample: int | None
) -> Iterator[tuple[Shard, Receipt]]:
    """What to play, with the receipt under which it is committed; every block once."""
    if sample is None:
        for receipt in receipts:
            yield Shard(matchups[receipt.key], receipt.key, receipt.start, receipt.stop), receipt
        return
    bounds = [0]
    for receipt in receipts:
        bounds.append(bounds[-1] + receipt.stop - receipt.start)
    seen = set()
    place = 0
    # Unforeseeable on purpose: nobody may know which blocks will be looked at.
    for chosen in sorted(random.SystemRandom().sample(range(bounds[-1]), min(sample, bounds[-1]))):
        while chosen >= bounds[place + 1]:
            place += 1
        receipt = receipts[place]
        segment = engine.segment(matchups[receipt.key])
        block = receipt.start + chosen - bounds[place]
        start = max(block // segment * segment, receipt.start)
        if (receipt.key, start) in seen:
            continue
        seen.add((receipt.key, start))
        stop = min((block // segment + 1) * segment, receipt.stop)
        yield Shard(matchups[receipt.key], receipt.key, start, stop), receipt


def _replay(engine_name: str, wipe: bool, shard: Shard) -> tuple[Shard, dict[str, pa.Table]]:
    """The rows of a shard as they come out now; runs on a worker."""
    engine = registry.engine(engine_name)
    tables = engine.play_again(shard) if wipe else engine.play(shard)
    wanted = [table for table in engine.tables if not table.optional or table.name in shard.matchup.record]
    return shard, {
        table.name: complete(tables[table.name], arrow_schema(table, engine.name, engine.version), shard.key)
        for table in wanted
    }


def _frame(rows: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _differences(key: str, table: Table, committed: pl.DataFrame, played: pl.DataFrame) -> Iterator[Difference]:
    """One for each block that differs."""
    columns = [column.name for column in (*COMMON, *table) if not column.time]
    text = pl.col(pl.Categorical).cast(pl.String)
    committed, played = (frame.select(columns).with_columns(text) for frame in (committed, played))
    if committed.equals(played):
        return
    old, new = (dict(frame.partition_by("block", as_dict=True).items()) for frame in (committed, played))
    for block in sorted({*old, *new}):
        one, two = old.get(block, committed.clear()), new.get(block, played.clear())
        if not one.equals(two):
            assert isinstance(block[0], int)
            yield Difference(key, block[0], table.name, _first_difference(one, two))


def _first_difference(committed: pl.DataFrame, played: pl.DataFrame) -> str:
    if committed.height != played.height:
        return f"{committed.height} rows are committed, {played.height} come out now"
    for row, (old, new) in enumerate(
        zip(committed.iter_rows(named=True), played.iter_rows(named=True), strict=True)
    ):
        for name, value in old.items():
            if not pl.Series([value]).equals(pl.Series([new[name]])):
                where = f"row {row}, " if committed.height > 1 else ""
                return f"{where}{name} is committed as {value!r} and comes out as {new[name]!r}"
    raise AssertionError("the frames are equal")
