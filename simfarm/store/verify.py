"""Look at everything that a run keeps, and drop what cannot be trusted.

The only check that opens the rows themselves: a part's checksum says that it is what was committed, its metadata and
columns say that it is what its receipt claims.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simfarm.core.errors import StoreError
from simfarm.schema import SCHEMA_VERSION
from simfarm.store.manifest import bot_problem, place_at, read_manifest
from simfarm.store.parts import Coverage, Part, Receipt, part_problem
from simfarm.store.place import Place, in_threads, lock, reason
from simfarm.store.run import read_failures


class Kind(StrEnum):
    """What is wrong."""

    PART = "part"
    """A committed part is gone, damaged or not what its receipt says: its shard does not count."""
    RECEIPT = "receipt"
    """A receipt is cut off or cannot be read: it commits nothing."""
    BOT = "bot"
    """A bot's file is gone or damaged."""
    STRAY = "stray"
    """A file that belongs to nothing: a part without a receipt, a file that was being written."""
    RECORD = "record"
    """The list of shards that were given up cannot be read."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    kind: Kind
    where: str
    """File within the run."""
    problem: str
    """In words."""
    mended: bool = False
    """Whether it was repaired just now."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a look at everything found."""

    receipts: int
    """Receipts that count, of cells that are planned now or once were."""
    parts: int
    """Parts of them, all sound."""
    rows: int
    bots: int
    """Bots' files, all looked at."""
    findings: tuple[Finding, ...]
    dropped_blocks: int
    """Blocks of receipts that do not count: the next run plays those that are planned."""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, or no longer."""
        return all(finding.mended for finding in self.findings)


def verify(where: str | Path, *, repair: bool = False) -> Verification:
    """Check every receipt, part, bot's file and stray file of a run.

    Args:
        where: the run's folder or URI.
        repair: drop receipts that do not count and remove stray files; no sound row is lost. A bot's file is not
            mended here: ``simfarm run`` with the config writes it again.

    Raises:
        StoreError: there is no run, it cannot be read, or, to repair, a driver plays it.
    """
    place = place_at(where)
    manifest = read_manifest(place)
    try:
        if not repair:
            return _look(place, manifest["config"]["bots"], manifest["config"]["engine"], mend=False)
        with closing(lock(place)):
            return _look(place, manifest["config"]["bots"], manifest["config"]["engine"], mend=True)
    except OSError as error:
        raise StoreError(f"{place}: cannot be verified: {reason(error)}") from None


def _look(place: Place, bots: Sequence[dict[str, list[list[str]]]], engine: str, *, mend: bool) -> Verification:
    # listed before the receipts are read: a part that is committed meanwhile is not taken for a stray one
    present = place.sizes()
    lines = place.lines()
    findings: list[Finding] = []
    read = [(line, Receipt.from_line(line)) for line in lines]
    for line, receipt in read:
        if receipt is None:
            findings.append(Finding(Kind.RECEIPT, "receipts", f"cut off or damaged: {_shown(line)}", mend))
    receipts = [(line, receipt) for line, receipt in read if receipt is not None]
    problems = in_threads(lambda pair: list(_problems(place, pair[1], engine)), receipts)
    covered = Coverage()
    good: list[tuple[bytes, Receipt]] = []
    bad: list[tuple[Receipt, list[tuple[str, str]]]] = []
    for (line, receipt), found in zip(receipts, problems, strict=True):
        if found:
            bad.append((receipt, found))
        elif covered.add(receipt.key, receipt.start, receipt.stop):
            good.append((line, receipt))
    dropped = 0
    for receipt, found in bad:
        if not covered.covers(receipt.key, receipt.start, receipt.stop):  # else it was played again since
            dropped += receipt.stop - receipt.start
            findings += [Finding(Kind.PART, path, problem, mend) for path, problem in found]
    used = {part.path for _, receipt in good for part in receipt.parts.values()}
    claimed = used | {part.path for _, receipt in receipts for part in receipt.parts.values()}
    strays = [name for name in present if name.startswith(("parts/", "tmp/")) and name not in claimed]
    if strays and not mend and place.driver()[1]:
        strays = []  # what is being written and committed right now
    for name in strays:
        what = "a part without a receipt" if name.startswith("parts/") else "a file that was being written"
        findings.append(Finding(Kind.STRAY, name, what, mend))
    hashes = sorted({sha for bot in bots for _, sha, _ in bot["files"]})
    for sha, problem in zip(hashes, in_threads(lambda sha: bot_problem(place, sha), hashes), strict=True):
        if problem:
            findings.append(Finding(Kind.BOT, f"bots/{sha}", problem.partition(": ")[2]))
    try:
        read_failures(place)
    except StoreError as error:
        findings.append(Finding(Kind.RECORD, "given_up.json", str(error), mend))
        if mend:
            place.remove("given_up.json")
    if mend:
        if len(good) < len(lines):
            place.keep([line for line, _ in good])
        for name in present:
            if name.startswith(("parts/", "tmp/")) and name not in used:
                place.remove(name)
    return Verification(
        receipts=len(good),
        parts=sum(len(receipt.parts) for _, receipt in good),
        rows=sum(part.rows for _, receipt in good for part in receipt.parts.values()),
        bots=len(hashes),
        findings=tuple(findings),
        dropped_blocks=dropped,
    )


def _problems(place: Place, receipt: Receipt, engine: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a receipt's parts: file and problem."""
    for table, part in receipt.parts.items():
        # the rows are opened only where the checksum holds: a damaged file is not given to a parser
        damage = part_problem(place, part).partition(": ")[2]
        if problem := damage or _content_problem(place, part, receipt, table, engine):
            yield part.path, problem


def _content_problem(place: Place, part: Part, receipt: Receipt, table: str, engine: str) -> str:
    """What a sound file's rows say against its receipt; empty if nothing."""
    try:
        with pq.ParquetFile(BytesIO(place.read(part.path)), page_checksum_verification=True) as file:
            metadata = {key.decode(): value.decode() for key, value in (file.schema_arrow.metadata or {}).items()}
            rows = file.metadata.num_rows
            cells = file.read(columns=["matchup", "block"])
            keys, blocks = cells.column("matchup").unique().to_pylist(), cells.column("block")
    except (pa.ArrowException, OSError, KeyError) as error:
        return f"no part of a run: {str(error).splitlines()[0]}"
    schema = metadata.get("simfarm.schema", "none")
    if schema not in map(str, range(1, SCHEMA_VERSION + 1)):
        return f"its rows have schema {schema}, this simfarm reads 1 to {SCHEMA_VERSION}"
    if (metadata.get("simfarm.engine"), metadata.get("simfarm.table")) != (engine, table):
        return (
            f"holds rows of {metadata.get('simfarm.engine')}.{metadata.get('simfarm.table')}, not {engine}.{table}"
        )
    if rows != part.rows:
        return f"{rows:,} rows, its receipt says {part.rows:,}"
    if rows:
        low, high = pc.min_max(blocks).as_py().values()
        if keys != [receipt.key] or low < receipt.start or high >= receipt.stop:
            return (
                f"rows of blocks {low} to {high + 1} of matchup {', '.join(map(str, keys))}, its receipt says "
                f"{receipt.start} to {receipt.stop} of {receipt.key}"
            )
    return ""


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text[:60] + ("..." if len(text) > 60 else ""))
