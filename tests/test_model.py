"""Identities: what changes a cell's key and what does not; schemas that stand still."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from simfarm import registry
from simfarm.core.model import Bot, Deal, Matchup, Rules, SourceFile, Termination, matchup_key
from simfarm.schema import COMMON, SCHEMA_VERSION, arrow_schema, complete

GOLDEN = Path(__file__).with_name("golden")


class SomeRules(Rules):
    points: int = 1


A = Bot("a", (SourceFile("a.txt", b"heads"),))
B = Bot("b", (SourceFile("b.txt", b"tails"),))
MATCHUP = Matchup((A, B), SomeRules(), seed=1, start=0, stop=10)


def key(matchup: Matchup, engine: str = "coin", version: int = 1, schema: int = 1) -> str:
    return matchup_key(engine, version, schema, matchup)


def test_a_bots_hash_covers_behaviour_and_not_its_name() -> None:
    assert replace(A, name="c").hash == A.hash
    others = [
        replace(A, files=(SourceFile("a.txt", b"tails"),)),
        replace(A, files=(SourceFile("b.txt", b"heads"),)),
        replace(A, files=(SourceFile("a.txt", b"heads", executable=True),)),
        replace(A, files=(*A.files, SourceFile("data", b""))),
        replace(A, command="./a"),
        replace(A, language="c"),
    ]
    assert len({A.hash, *(bot.hash for bot in others)}) == len(others) + 1


def test_everything_that_decides_rows_is_in_the_key() -> None:
    others = [
        replace(MATCHUP, bots=(B, A)),
        replace(MATCHUP, bots=(replace(A, name="c"), B)),
        replace(MATCHUP, rules=SomeRules(points=2)),
        replace(MATCHUP, seed=2),
        replace(MATCHUP, games=2),
        replace(MATCHUP, seatings=((1, 0),)),
        replace(MATCHUP, deal=Deal.SHARED),
        replace(MATCHUP, record=("details",)),
    ]
    keys = {key(MATCHUP), key(MATCHUP, engine="x"), key(MATCHUP, version=2), key(MATCHUP, schema=2)}
    keys |= {key(other) for other in others}
    assert len(keys) == len(others) + 4


def test_the_block_range_is_not_in_the_key() -> None:
    assert key(replace(MATCHUP, stop=1000)) == key(MATCHUP) == "8c53b1e0e674cb68"


def test_seatings_of_a_block() -> None:
    assert MATCHUP.seatings_of(3) == ((0, 1),)
    ring = replace(MATCHUP, seatings=((0, 1), (1, 0)))
    assert [ring.seatings_of(block) for block in range(3)] == [((0, 1),), ((1, 0),), ((0, 1),)]
    assert replace(ring, deal=Deal.SHARED).seatings_of(5) == ((0, 1), (1, 0))


def test_bot_faults_and_other_ends() -> None:
    innocent = {t for t in Termination if not t.is_bot_fault}
    system = {t for t in Termination if t.is_system_fault}
    assert innocent - system == {"completed", "length_limit", "time_limit", "broke", "forfeited"}
    assert system == {"worker_died", "internal_error"}


def test_row_schemas_stand_still() -> None:
    lines = [f"schema version {SCHEMA_VERSION}"]
    for name in registry.engine_names():
        if name in ("coin", "ladder"):
            continue
        engine = registry.engine(name)
        for table in engine.tables:
            lines.append(f"{name} {engine.version} {table.name}")
            lines += [f"  {field.name}: {field.type}" for field in arrow_schema(table, name, engine.version)]
    text = "\n".join(lines) + "\n"
    path = GOLDEN / "schemas.txt"
    assert text == path.read_text(), "rows changed: raise a version, then the golden file"


def test_rows_are_held_to_their_schema() -> None:
    engine = registry.engine("coin")
    schema = arrow_schema(engine.tables[1], "coin", 1)
    block = pa.array([1, 2], pa.uint32())
    columns = {"seconds": [0.5, 1.5], "heads": [True, False], "block": block}
    rows = complete(pa.table(columns), schema, "k" * 16)
    assert rows.schema.equals(schema, check_metadata=True)
    assert rows.schema.names == [column.name for column in COMMON] + ["heads", "seconds"]
    assert rows["matchup"].to_pylist() == ["k" * 16] * 2
    with pytest.raises(ValueError, match="are not the schema's"):
        complete(pa.table({"block": block}), schema, "k" * 16)
