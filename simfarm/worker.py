"""Play one shard: the function that every executor runs, wherever it runs.

A worker asks the engine for the shard's rows, encodes them and puts them into the run's folder or object store if
it sees that; if not, the encoded parts go home with the receipt and the driver puts them there. The receipt itself
is always written by the driver: it alone knows what else is committed, so what a worker that was given up for dead
writes late commits nothing.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import simfarm
from simfarm import registry
from simfarm.core.engine import Engine
from simfarm.core.errors import ExecutorError, StoreError
from simfarm.core.model import Shard
from simfarm.schema import SCHEMA_VERSION, arrow_schema, complete
from simfarm.store import Part, Receipt, Writer, encode, is_sitting, part_of, place_at, write_part


@dataclass(frozen=True, slots=True)
class Task:
    """What is the same for all shards of a run."""

    engine: str
    """Name of the engine."""
    address: str
    """The run's folder on the driver's machine, an absolute path, or its URI."""
    sitting: str
    """The driver's token: a worker that finds it there can put parts in their place."""
    versions: tuple[str, int, int]
    """Of simfarm, the engine's rules and the row schema on the driver's machine."""

    @classmethod
    def of(cls, writer: Writer) -> "Task":
        """The task of a run that this process may commit to."""
        run = writer.run
        return cls(run.engine.name, run.place.address, writer.sitting, _versions(run.engine))


@dataclass(frozen=True, slots=True)
class Delivery:
    """What comes back from a worker."""

    receipt: Receipt
    data: Mapping[str, bytes]
    """The parts' bytes by table, if the worker does not see the run's place; else empty."""
    games: int
    """Games in the shard."""


def play_shard(task: Task, shard: Shard) -> Delivery:
    """Play a shard and deliver its parts.

    Raises:
        ExecutorError: another version is installed here than where the run was planned.
        SimfarmError: nothing that trying again would mend.
        Exception: anything else is the machine's fault, and the shard may be tried again.
    """
    engine = registry.engine(task.engine)
    if _versions(engine) != task.versions:
        raise ExecutorError(
            f"simfarm, {engine.name} and the row schema have versions {_versions(engine)} here, "
            f"{task.versions} on the driver's machine; install the same everywhere"
        )
    started = time.monotonic()
    tables = engine.play(shard)
    seconds = time.monotonic() - started
    parts: dict[str, Part] = {}
    data: dict[str, bytes] = {}
    for table in engine.tables:
        if table.optional and table.name not in shard.matchup.record:
            continue
        rows = complete(tables[table.name], arrow_schema(table, engine.name, engine.version), shard.key)
        data[table.name] = encode(rows)
        parts[table.name] = part_of(shard, table.name, rows.num_rows, data[table.name])
    receipt = Receipt(shard.key, shard.start, shard.stop, parts, seconds)
    if _sees_run(task):
        place = place_at(task.address)
        for name, part in parts.items():
            write_part(place, part, data.pop(name))
    return Delivery(receipt, data, shard.blocks * shard.matchup.games)


def _versions(engine: Engine) -> tuple[str, int, int]:
    return simfarm.__version__, engine.version, SCHEMA_VERSION


def _sees_run(task: Task) -> bool:
    try:
        return is_sitting(place_at(task.address), task.sitting)
    except (StoreError, OSError):
        return False
