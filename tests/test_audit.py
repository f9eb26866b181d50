"""Audits: committed rows against those that come out now."""

import hashlib
import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simfarm import audit as audits
from simfarm import run as runs
from simfarm.audit import audit
from simfarm.config import RunConfig, build_config
from simfarm.core.errors import ConfigError
from simfarm.core.model import BotSpec, Column, Table
from simfarm.executors.local import LocalExecutor
from simfarm.store import Run, encode
from tests.test_cli import simfarm
from tests.uno_bots import PLAIN

ONE = LocalExecutor(1)


def coins(folder: Path, games: int = 60, record: tuple[str, ...] = ()) -> Run:
    """A run of coin, played."""
    specs = [BotSpec("heads"), BotSpec("tails")]
    return played(folder, build_config("coin", specs, plan={"games": games}, record=record, where="test"))


def played(folder: Path, config: RunConfig) -> Run:
    run = Run.create(folder, config)
    runs.play(run, ONE, lambda progress: None)
    return Run(folder)


def forge(run: Run, table: str, block: int, column: str, value: object) -> None:
    """Change one committed value, checksum and receipt included, as somebody who owns the folder can."""
    path = run.path / "receipts.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["start"] <= block < line["stop"]:
            part = line["parts"][table]
            rows = pq.read_table(run.path / part[0])
            values = rows[column].to_pylist()
            values[rows["block"].to_pylist().index(block)] = value
            place = rows.column_names.index(column)
            field = rows.schema.field(column)
            rows = rows.set_column(place, field, pa.array(values).cast(field.type))
            data = encode(rows)
            (run.path / part[0]).write_bytes(data)
            part[2] = len(data)
            part[3] = hashlib.sha256(data).hexdigest()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_honest_rows_pass(tmp_path: Path) -> None:
    run = coins(tmp_path / "r", record=("details",))
    found = audit(run, ONE, None)
    assert (found.blocks, found.rows, found.passed) == (60, 120, True)


@pytest.mark.parametrize("sample", [1, 7, 59, 1000])
def test_a_sample_takes_whole_segments(tmp_path: Path, sample: int) -> None:
    found = audit(coins(tmp_path / "r"), ONE, sample)
    assert found.passed
    assert found.rows == found.blocks
    assert min(sample, 60) <= found.blocks <= min(4 * sample, 60)


def test_a_forged_row_is_named(tmp_path: Path) -> None:
    run = coins(tmp_path / "r")
    old = run.lazy("tosses").filter(pl.col("block") == 33).collect()["points"].item()
    forge(run, "tosses", 33, "points", 9)
    found = audit(Run(run.path), ONE, None)
    assert not found.passed
    (difference,) = found.differences
    assert (difference.block, difference.table) == (33, "tosses")
    assert difference.what == f"points is committed as 9 and comes out as {old}"
    samples = [audit(Run(run.path), ONE, 20).passed for _ in range(8)]
    assert False in samples


def test_a_damaged_part_is_told(tmp_path: Path) -> None:
    run = coins(tmp_path / "r")
    part = next((run.path / "parts").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-9])
    found = audit(Run(run.path), ONE, None)
    assert found.damaged == (f"parts/tosses/{part.name}: the checksum does not match its receipt",)
    assert not found.passed
    assert not found.differences


def test_columns_that_record_time_are_left_out() -> None:
    table = Table("t", "a row", (Column("score", pa.int64(), "s"), Column("took", pa.int64(), "ms", time=True)))
    frame = pl.DataFrame({"matchup": ["k"] * 3, "block": [0, 1, 1], "score": [5, 6, 7], "took": [1, 2, 3]})
    later = frame.with_columns(took=pl.col("took") * 2)
    assert not list(audits._differences("k", table, frame, later))
    other = later.with_columns(score=pl.Series([5, 6, None]))
    (difference,) = audits._differences("k", table, frame, other)
    assert (difference.block, difference.what) == (1, "row 1, score is committed as 7 and comes out as None")
    (difference,) = audits._differences("k", table, frame, frame.head(2))
    assert (difference.block, difference.what) == (1, "2 rows are committed, 1 come out now")


def test_an_engine_that_cannot_wipe_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="coin cannot wipe"):
        audit(coins(tmp_path / "r"), ONE, 1, wipe=True)


def test_the_command(tmp_path: Path) -> None:
    run = coins(tmp_path / "results" / "r")
    done = simfarm("audit", "r", "--all", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "60 blocks played again, 60 rows compared: no difference\n")
    forge(run, "tosses", 7, "points", 9)
    done = simfarm("audit", "r", "--all", cwd=tmp_path)
    assert done.returncode == 1
    assert "block 7, tosses: points is committed as 9" in done.stdout
    assert done.stdout.endswith("60 rows compared: 1 blocks differ\n")
    told = json.loads(simfarm("audit", "r", "--all", "--format", "json", cwd=tmp_path).stdout)
    assert (told["passed"], told["differences"][0]["block"]) == (False, 7)
    both = simfarm("audit", "r", "--all", "--sample", "3", cwd=tmp_path)
    assert (both.returncode, both.stderr) == (2, "simfarm: audit: give --sample or --all, not both\n")


SMUGGLER = """
{
    volatile char here = 0;
    volatile char *below = (volatile char *)((unsigned long)&here - 9000);
    if (++*below % 8 == 0 && choice >= RED)
        choice += 10000;
}
"""
"""Counts its calls in memory below its frame, which nobody else comes by."""


@pytest.mark.parametrize("level", ["native", "wasm"])
def test_wiping_shows_what_a_uno_bot_smuggles_from_call_to_call(tmp_path: Path, level: str) -> None:
    files = {}
    for name, body in (("honest", ""), ("smuggler", SMUGGLER)):
        files[name] = tmp_path / f"{name}.c"
        files[name].write_text(PLAIN.replace("/* BODY */", body).replace("plain_", f"{name}_"))
    for name, passes in (("honest", True), ("smuggler", False)):
        others = [BotSpec(other) for other in ("first_legal", "starter", "veteran")]
        specs = [BotSpec(name, file=str(files[name])), *others]
        config = build_config("uno", specs, plan={"games": 240}, rules={"level": level}, where="test")
        run = played(tmp_path / f"run-{name}", config)
        assert audit(run, ONE, None).passed
        wiped = audit(run, ONE, None, wipe=True)
        assert (wiped.passed, wiped.wiped) == (passes, True)
        assert passes or wiped.differences[0].block < 100
