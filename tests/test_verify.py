"""``simfarm verify``: what is wrong is found, dropped on demand, and no sound row is lost."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simfarm import run as runs
from simfarm.core.errors import StoreError
from simfarm.store import Part, Run, encode
from simfarm.store.verify import Kind, verify
from tests.conftest import Coin
from tests.inline import Inline


@pytest.fixture
def played(coin: Coin, tmp_path: Path) -> Run:
    run = Run.create(tmp_path / "run", coin(games=50))
    runs.play(run, Inline(), lambda progress: None)
    return Run(run.path)


def parts(run: Run) -> list[Path]:
    return sorted((run.path / "parts" / "tosses").iterdir())


def replace_part(run: Run, change: Callable[[pa.Table], pa.Table]) -> None:
    """Write other rows under the last receipt, checksum included: what only a look at the rows can find."""
    *others, last = run.receipts()
    old = last.parts["tosses"]
    data = encode(change(pq.read_table(run.path / old.path, partitioning=None)))
    run.place.put(old.path, data)
    part = Part(old.path, old.rows, len(data), hashlib.sha256(data).hexdigest())
    changed = type(last)(last.key, last.start, last.stop, {"tosses": part}, last.seconds, last.at)
    run.place.keep([receipt.to_line() for receipt in (*others, changed)])


def test_a_sound_run(played: Run) -> None:
    found = verify(played.path)
    assert found.passed
    assert (found.receipts, found.parts, found.rows, found.bots) == (len(played.receipts()), found.receipts, 50, 2)


def other_cell(rows: pa.Table) -> pa.Table:
    return rows.set_column(1, "block", pa.array(range(1000, 1000 + rows.num_rows), pa.uint32()))


def other_key(rows: pa.Table) -> pa.Table:
    return rows.set_column(0, "matchup", pa.array(["0" * 16] * rows.num_rows).dictionary_encode())


def newer(rows: pa.Table) -> pa.Table:
    return rows.replace_schema_metadata({**rows.schema.metadata, b"simfarm.schema": b"99"})


def other_table(rows: pa.Table) -> pa.Table:
    return rows.replace_schema_metadata({**rows.schema.metadata, b"simfarm.table": b"details"})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda rows: rows.slice(1), "rows, its receipt says"),
        (other_cell, "rows of blocks 1000 to"),
        (other_key, "of matchup 0000000000000000, its receipt says"),
        (newer, "its rows have schema 99, this simfarm reads 1 to 1"),
        (other_table, "holds rows of coin.details, not coin.tosses"),
        (lambda rows: rows.drop_columns("block"), "no part of a run"),
    ],
)
def test_rows_that_are_not_their_receipts(
    played: Run, change: Callable[[pa.Table], pa.Table], problem: str
) -> None:
    before = played.lazy("tosses").collect()
    replace_part(played, change)
    assert Run(played.path).problems() == [], "the checksum holds"
    (finding,) = verify(played.path).findings
    assert finding.kind is Kind.PART
    assert problem in finding.problem
    assert verify(played.path, repair=True).passed
    runs.play(Run(played.path), Inline(), lambda progress: None)
    assert verify(played.path).findings == ()
    assert Run(played.path).lazy("tosses").collect().equals(before)


def test_repair_drops_what_is_not_trusted_and_nothing_else(played: Run) -> None:
    before = played.lazy("tosses").collect()
    lost = played.receipts()[-1]
    part = played.path / lost.parts["tosses"].path
    part.write_bytes(part.read_bytes()[:-9])
    (played.path / "tmp" / "half").write_bytes(b"PAR1")
    (played.path / "parts" / "tosses" / "nobodys.parquet").write_bytes(b"PAR1")
    (played.path / "notes.txt").write_text("mine")
    (played.path / "given_up.json").write_text("{")
    with open(played.path / "receipts.jsonl", "ab") as file:
        file.write(b'{"key": "')
    kinds = [Kind.RECEIPT, Kind.PART, Kind.STRAY, Kind.STRAY, Kind.RECORD]
    for repair in (False, False, True):
        found = verify(played.path, repair=repair)
        assert [finding.kind for finding in found.findings] == kinds
        assert (found.rows, found.dropped_blocks) == (50 - lost.stop + lost.start, lost.stop - lost.start)
        assert found.passed == repair
    assert verify(played.path).findings == ()
    assert (played.path / "notes.txt").exists(), "files that simfarm did not write are not its to remove"
    assert not part.exists()
    assert len(parts(played)) == found.parts
    kept = Run(played.path).lazy("tosses").collect()
    assert kept.equals(before.head(kept.height))
    assert runs.play(Run(played.path), Inline(), lambda progress: None).played == found.dropped_blocks
    assert Run(played.path).lazy("tosses").collect().equals(before)


def test_a_damaged_bot_is_found_and_not_mended_here(played: Run) -> None:
    path = sorted((played.path / "bots").iterdir())[0]
    path.write_bytes(b"worm")
    found = verify(played.path, repair=True)
    assert [finding.kind for finding in found.findings] == [Kind.BOT]
    assert not found.passed


def test_a_shard_that_was_played_again_since_is_no_problem(played: Run) -> None:
    receipt = played.receipts()[-1]
    line = receipt.to_line()
    bad = line.replace(receipt.parts["tosses"].sha256.encode(), b"0" * 64)
    played.place.keep([bad, *(one.to_line() for one in played.receipts())])
    assert verify(played.path).findings == ()


def test_repair_waits_for_no_driver(played: Run) -> None:
    with played.writer():
        assert verify(played.path).passed
        with pytest.raises(StoreError, match="another simfarm is playing this run"):
            verify(played.path, repair=True)


def test_what_is_being_written_now_is_no_stray(played: Run) -> None:
    (played.path / "tmp" / "half").write_bytes(b"PAR1")
    with played.writer():
        assert verify(played.path).passed
    assert not verify(played.path).passed


def test_old_receipts_without_a_time_are_read(played: Run) -> None:
    lines = [json.loads(line) for line in played.place.lines()]
    assert all(entry.pop("at") for entry in lines)
    played.place.keep([json.dumps(entry).encode() + b"\n" for entry in lines])
    assert Run(played.path).lazy("tosses").collect().height == 50
