"""Parts and receipts: what a committed shard is made of."""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simfarm.core.errors import StoreError
from simfarm.core.model import Shard, Termination
from simfarm.store.place import Place, reason


@dataclass(frozen=True, slots=True)
class Part:
    """One Parquet file."""

    path: str
    """Relative to the run, POSIX."""
    rows: int
    bytes: int
    sha256: str
    """Hex SHA-256 of the file."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a shard is committed: a line of a run folder, an object of an object store."""

    key: str
    """The matchup's key; with the blocks it is the cell."""
    start: int
    """First block."""
    stop: int
    """One past the last block."""
    parts: Mapping[str, Part]
    """The parts by table."""
    seconds: float
    """Wall time that playing took, for estimates only."""
    at: float | None = None
    """When it was committed, Unix time in seconds, for ``simfarm status`` only; None before, and in old runs."""

    def to_line(self) -> bytes:
        """One line of JSON. The newline at its end says that it is whole."""
        data = {
            "key": self.key,
            "start": self.start,
            "stop": self.stop,
            "seconds": round(self.seconds, 3),
            **({} if self.at is None else {"at": round(self.at, 3)}),
            "parts": {name: [part.path, part.rows, part.bytes, part.sha256] for name, part in self.parts.items()},
        }
        return json.dumps(data).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "Receipt | None":
        """The inverse of :meth:`to_line`; None if the line is cut off or no longer says what was committed, so that
        it commits nothing and its shard is played again."""
        if not line.endswith(b"\n"):
            return None
        try:
            data: dict[str, Any] = json.loads(line)
            parts = {name: Part(*values) for name, values in data["parts"].items()}
            found = cls(data["key"], data["start"], data["stop"], parts, data["seconds"], data.get("at"))
            return found if found._is_sound() else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def _is_sound(self) -> bool:
        """Whether it can have been written by simfarm: parts bear the name of their receipt's cell."""
        return (
            0 <= self.start < self.stop
            and isinstance(self.start, int)
            and isinstance(self.stop, int)
            and isinstance(self.seconds, int | float)
            and isinstance(self.at, int | float | None)
            and len(self.parts) > 0
            and all(
                part.path.startswith(f"parts/{table}/{self.key}-{self.start}-{self.stop}-")
                and isinstance(part.rows, int)
                and isinstance(part.bytes, int)
                for table, part in self.parts.items()
            )
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """A shard that was given up, through no fault of a bot."""

    key: str
    """The matchup's key."""
    start: int
    """First block."""
    stop: int
    """One past the last block."""
    reason: Termination
    """How it failed the last time: a system fault."""
    detail: str
    """What was seen then, for people."""
    at: str
    """When it was given up: ISO 8601, UTC."""

    @property
    def cell(self) -> tuple[str, int, int]:
        """Key and blocks."""
        return self.key, self.start, self.stop

    @staticmethod
    def to_json(failures: Sequence["Failure"]) -> bytes:
        """Failures as a file."""
        return json.dumps([asdict(failure) for failure in failures], indent=1).encode() + b"\n"

    @staticmethod
    def from_json(data: bytes) -> list["Failure"]:
        """The inverse of :meth:`to_json`.

        Raises:
            ValueError: the data is damaged.
        """
        try:
            found = [Failure(**{**entry, "reason": Termination(entry["reason"])}) for entry in json.loads(data)]
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"damaged: not a list of shards ({error})") from None
        for failure in found:
            texts, blocks = (failure.key, failure.detail, failure.at), (failure.start, failure.stop)
            if not all(isinstance(text, str) for text in texts) or not all(isinstance(at, int) for at in blocks):
                raise ValueError("damaged: not a list of shards")
        return found


def encode(rows: pa.Table) -> bytes:
    """A table as Parquet: zstd, page checksums, blocks as deltas, dictionaries for the rest."""
    buffer = BytesIO()
    pq.write_table(
        rows,
        buffer,
        compression="zstd",
        use_dictionary=[name for name in rows.column_names if name != "block"],
        column_encoding={"block": "DELTA_BINARY_PACKED"},
        write_page_checksum=True,
    )
    return buffer.getvalue()


def part_of(shard: Shard, table: str, rows: int, data: bytes) -> Part:
    """Name, size and checksum of a shard's part; the name depends on the cell and the content alone, since rows may
    hold columns that record time."""
    digest = hashlib.sha256(data).hexdigest()
    path = f"parts/{table}/{shard.key}-{shard.start}-{shard.stop}-{digest[:12]}.parquet"
    return Part(path, rows, len(data), digest)


def write_part(place: Place, part: Part, data: bytes) -> None:
    """Put a part in its place, whole or not at all. It does not count until its receipt is written.

    Raises:
        StoreError: the place cannot be written, or the disk is full.
    """
    try:
        place.put(part.path, data)
    except OSError as error:
        raise StoreError(
            f"{place}: cannot write {part.path}: {reason(error)}; committed rows are safe, "
            "run the same command again to go on"
        ) from error


def part_problem(place: Place, part: Part) -> str:
    """What is wrong with a part, in words; empty if it is there and has its receipt's checksum."""
    try:
        data = place.read(part.path)
    except OSError as error:
        return f"{part.path}: {reason(error)}"
    if hashlib.sha256(data).hexdigest() != part.sha256:
        return f"{part.path}: the checksum does not match its receipt"
    return ""


class Coverage:
    """Which blocks of which matchups are committed, in little memory: neighbouring ranges become one."""

    def __init__(self) -> None:
        self._bounds: dict[str, list[int]] = {}  # start, stop, start, stop, ...: ascending

    @classmethod
    def of(cls, receipts: Iterable[Receipt]) -> "Coverage":
        """What receipts cover."""
        covered = cls()
        for receipt in receipts:
            covered.add(receipt.key, receipt.start, receipt.stop)
        return covered

    def add(self, key: str, start: int, stop: int) -> bool:
        """Take a range in, unless a block of it is in already; says whether it was taken."""
        bounds = self._bounds.setdefault(key, [])
        place = bisect_right(bounds, start)
        if place % 2 or (place < len(bounds) and bounds[place] < stop):
            return False
        left = place > 0 and bounds[place - 1] == start
        right = place < len(bounds) and bounds[place] == stop
        bounds[place - left : place + right] = [*([] if left else [start]), *([] if right else [stop])]
        return True

    def ranges(self, key: str) -> list[tuple[int, int]]:
        """A matchup's committed ranges, ascending, apart from each other."""
        bounds = self._bounds.get(key, [])
        return list(zip(bounds[::2], bounds[1::2], strict=True))

    def covers(self, key: str, start: int, stop: int) -> bool:
        """Whether every block of a range is in."""
        return any(low <= start and stop <= high for low, high in self.ranges(key))
