"""The run folder: parts, receipts, and what may be believed.

::

    results/NAME/
      manifest.json     the config as carried out, versions, an identity
      bots/SHA256       every file of every bot, by content: a run can be replayed when its sources are gone
      parts/TABLE/      Parquet, one part per table and shard
      receipts.jsonl    one line per committed shard: what makes its parts count
      lock              held by the one process that may commit

Commit of a shard, and why each step is there: a part is written under a temporary name, flushed and renamed (a
reader never meets half a part), its folder is flushed (the name outlives a power cut), and only then the receipt
with the part's SHA-256 is appended and flushed (a part without one does not exist). A receipt cut off by a crash
is the last line and no JSON; it is dropped. Parts are named after their cell and their content: a shard that is
played twice writes the same bytes to the same place or, where columns hold times, other bytes beside them, and never
over a committed part. So a worker that outlives its node and writes late changes nothing. Receipts that overlap an
earlier one are ignored.

Readers check each part's SHA-256 before its rows are used. A part that fails, or is gone, is not committed: the
next ``simfarm run`` plays it again.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import simfarm
from simfarm import registry
from simfarm.config import RunConfig
from simfarm.core.errors import ConfigError, StoreError
from simfarm.core.model import Matchup, Shard, Table
from simfarm.schema import SCHEMA_VERSION, arrow_schema

MANIFEST_FORMAT = 1
MANIFEST_KEYS = {"format", "schema", "engine_version", "identity", "config"}


@dataclass(frozen=True, slots=True)
class Part:
    """One Parquet file."""

    path: str
    """Relative to the run folder, POSIX."""
    rows: int
    bytes: int
    sha256: str
    """Hex SHA-256 of the file."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a shard is committed."""

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

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values."""
        parts = {name: [part.path, part.rows, part.bytes, part.sha256] for name, part in self.parts.items()}
        return {
            "key": self.key,
            "start": self.start,
            "stop": self.stop,
            "seconds": round(self.seconds, 3),
            "parts": parts,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Receipt":
        """The inverse of :meth:`to_json`."""
        parts = {name: Part(*values) for name, values in data["parts"].items()}
        return cls(data["key"], data["start"], data["stop"], parts, data["seconds"])


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
    """Name, size and checksum of a shard's part; the name depends on the cell and the content."""
    digest = hashlib.sha256(data).hexdigest()
    path = f"parts/{table}/{shard.key}-{shard.start}-{shard.stop}-{digest[:16]}.parquet"
    return Part(path, rows, len(data), digest)


def write_part(folder: Path, part: Part, data: bytes) -> None:
    """Put a part in its place, whole or not at all. It does not count until its receipt is written.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    path = folder / part.path
    temporary = folder / "tmp" / f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.parent.mkdir(exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot write {part.path}: {error.strerror}; committed rows are safe, "
            "run the same command again to go on"
        ) from error


class Run:
    """A run folder, open for reading; :meth:`writer` opens it for committing."""

    def __init__(self, path: Path) -> None:
        """Open an existing run.

        Raises:
            StoreError: there is no run at the path, or it is not readable by this version.
        """
        self.path = path
        self.manifest = _read_manifest(path)
        self.config = _read_config(path, self.manifest)
        self.engine = registry.engine(self.config.engine)

    @classmethod
    def create(cls, path: Path, config: RunConfig, *, update: bool = False) -> "Run":
        """The run of this config at this path: a new folder, or the one that is there if it is the same run.

        Args:
            path: the run folder.
            config: the config.
            update: let a changed config take over the folder; rows of cells that it still plans stay in use.

        Raises:
            StoreError: the folder is another run's, is something else, or cannot be written.
        """
        wanted = _plain(config)
        engine = registry.engine(config.engine)
        if (path / "manifest.json").exists():
            present = _read_manifest(path)
            # read and written again, so that options that are newer than the folder have their defaults
            known = _plain(_read_config(path, present))
            same_config = {**known, "verdict": None} == {**wanted, "verdict": None}
            if same_config and (present["engine_version"], present["schema"]) == (engine.version, SCHEMA_VERSION):
                if known["verdict"] != wanted["verdict"]:  # it decides no row
                    with _lock(path):
                        _write_manifest(path, {**present, "config": wanted})
                return cls(path)
            if not update:
                what = (
                    f"an older or newer {engine.name}: version {present['engine_version']} of its rules (installed: "
                    f"{engine.version}), {present['schema']} of the row schema ({SCHEMA_VERSION})"
                    if same_config
                    else f"a different config: {_difference(present['config'], wanted)}"
                )
                raise StoreError(
                    f"{path} belongs to {what}; choose another "
                    "folder with --out, or play only what is missing there with --update"
                )
        elif path.exists() and not (
            path.is_dir() and {entry.name for entry in path.iterdir()} <= {"bots", "lock"}
        ):
            # bots and a lock alone are a run that was killed while it was made
            raise StoreError(f"{path} is in the way: neither a run folder nor empty; choose another with --out")
        manifest = {
            "format": MANIFEST_FORMAT,
            "simfarm": simfarm.__version__,
            "schema": SCHEMA_VERSION,
            "engine_version": engine.version,
            "identity": secrets.token_hex(16),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "config": wanted,
        }
        try:
            (path / "bots").mkdir(parents=True, exist_ok=True)
            for bot in config.bots:
                for file in bot.files:
                    _write_whole(path / "bots" / file.sha256, file.data)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror}") from None
        with _lock(path):  # a run that is being played keeps its config
            _write_manifest(path, manifest)
        return cls(path)

    @property
    def identity(self) -> str:
        """32 hex digits, drawn when the folder was made: a worker that reads the same sees the same disk."""
        return str(self.manifest["identity"])

    @staticmethod
    def identity_at(path: Path) -> str:
        """The identity of the run at a path.

        Raises:
            StoreError: there is no run.
        """
        return str(_read_manifest(path)["identity"])

    @cached_property
    def _planned(self) -> dict[str, Matchup]:
        # by the versions that the rows were made with: a newer engine does not unmake an old run
        return dict(self.config.planned(self.manifest["engine_version"], self.manifest["schema"]))

    def matchups(self) -> dict[str, Matchup]:
        """The run's matchups by key, in plan order."""
        return self._planned

    def receipts(self, planned: Collection[str] | None = None) -> list[Receipt]:
        """Receipts whose parts are there and whole, of planned cells, without overlaps.

        Args:
            planned: keys of the matchups that count; default: those of the run's own config.
        """
        if planned is None:
            planned = self._planned
        covered: dict[str, list[tuple[int, int]]] = {}
        good = []
        for receipt in _read_receipts(self.path):
            ranges = covered.setdefault(receipt.key, [])
            if receipt.key not in planned or any(
                receipt.start < stop and start < receipt.stop for start, stop in ranges
            ):
                continue
            if not self._problem(receipt):
                ranges.append((receipt.start, receipt.stop))
                good.append(receipt)
        return good

    @cached_property
    def _trusted(self) -> list[Receipt]:
        order = {key: position for position, key in enumerate(self._planned)}
        return sorted(self.receipts(), key=lambda receipt: (order[receipt.key], receipt.start))

    def _problem(self, receipt: Receipt) -> str:
        for part in receipt.parts.values():
            try:
                with open(self.path / part.path, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                return f"{part.path}: {error.strerror}"
            if digest != part.sha256:
                return f"{part.path}: the checksum does not match its receipt"
        return ""

    def problems(self) -> list[str]:
        """One line for each committed shard whose parts are gone or damaged and that was not played again."""
        good = self.receipts()
        found = []
        for receipt in _read_receipts(self.path):
            again = any(
                other.key == receipt.key and other.start < receipt.stop and receipt.start < other.stop
                for other in good
            )
            if not again and (problem := self._problem(receipt)):
                found.append(problem)
        return found

    def table(self, name: str) -> Table:
        """The engine's table of that name.

        Raises:
            ConfigError: there is none.
        """
        for table in self.engine.tables:
            if table.name == name:
                return table
        known = ", ".join(table.name for table in self.engine.tables)
        raise ConfigError(f"{self.engine.name} has no table {name!r}; it has: {known}")

    def lazy(self, name: str) -> pl.LazyFrame:
        """All committed rows of a table, checked, in plan order, as a polars LazyFrame.

        Raises:
            ConfigError: the engine has no such table.
        """
        schema = arrow_schema(self.table(name), self.engine.name, self.engine.version)
        paths = [self.path / receipt.parts[name].path for receipt in self._trusted if name in receipt.parts]
        if not paths:
            frame = pl.from_arrow(schema.empty_table())
            assert isinstance(frame, pl.DataFrame)
            return frame.lazy()
        return pl.scan_parquet(paths, glob=False)

    def scan(self, receipt: Receipt, name: str) -> pl.LazyFrame:
        """The rows of one committed shard, unchecked: for a driver that has just committed it."""
        return pl.scan_parquet(self.path / receipt.parts[name].path, glob=False)

    def writer(self) -> "Writer":
        """The right to commit.

        Raises:
            StoreError: another process holds it, or the folder cannot be written.
        """
        return Writer(self)


class Writer:
    """The one process that may commit to a run; a context manager."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._lock = _lock(run.path)
        _drop_torn_line(run.path / "receipts.jsonl")
        # unbuffered: what a full disk has refused must not be written again when the file is closed
        self._receipts = open(run.path / "receipts.jsonl", "ab", buffering=0)  # noqa: SIM115

    def commit(self, receipt: Receipt) -> None:
        """Make a shard count. Its parts must be in place.

        Raises:
            StoreError: the disk is full or fails.
        """
        try:
            line = json.dumps(receipt.to_json()).encode() + b"\n"
            while line:
                line = line[self._receipts.write(line) :]
            os.fsync(self._receipts.fileno())
        except OSError as error:
            raise StoreError(f"{self.run.path}: cannot write a receipt: {error.strerror}") from error

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *exception: object) -> None:
        self._receipts.close()
        self._lock.close()


def _lock(path: Path) -> IO[bytes]:
    """The open file that holds the run's lock until it is closed."""
    try:
        file = open(path / "lock", "ab")  # noqa: SIM115
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise StoreError(f"{path}: another simfarm is playing this run") from None
    return file


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((path / "manifest.json").read_bytes())
    except FileNotFoundError:
        raise StoreError(f"{path}: no run here (no manifest.json)") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}/manifest.json: cannot be read: {error}") from None
    if not isinstance(manifest, dict) or not manifest.keys() >= MANIFEST_KEYS:
        raise StoreError(f"{path}/manifest.json: damaged: not a run's manifest")
    if manifest["format"] != MANIFEST_FORMAT:
        raise StoreError(
            f"{path}: its manifest has format {manifest['format']!r}, this simfarm reads {MANIFEST_FORMAT}"
        )
    return manifest


def _write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    try:
        _write_whole(path / "manifest.json", json.dumps(manifest, indent=1).encode() + b"\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None


def _read_config(path: Path, manifest: Mapping[str, Any]) -> RunConfig:
    contents = {}
    for bot in manifest["config"]["bots"]:
        for _, sha, _ in bot["files"]:
            try:
                contents[sha] = (path / "bots" / sha).read_bytes()
            except OSError as error:
                raise StoreError(f"{path}/bots/{sha}: cannot be read: {error.strerror}") from None
            if hashlib.sha256(contents[sha]).hexdigest() != sha:
                raise StoreError(f"{path}/bots/{sha}: damaged: its content has another hash")
    return RunConfig.from_json(manifest["config"], contents, str(path / "manifest.json"))


def _read_receipts(path: Path) -> list[Receipt]:
    try:
        lines = (path / "receipts.jsonl").read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    # What follows the last newline is a receipt that was being written when its driver died: not committed.
    receipts = []
    for line in lines[:-1]:
        # Nor does a line commit anything that no longer says what: its shard is played again.
        with contextlib.suppress(ValueError, KeyError, TypeError):
            receipts.append(Receipt.from_json(json.loads(line)))
    return receipts


def _drop_torn_line(path: Path) -> None:
    if not path.exists():
        return
    data = path.read_bytes()
    if not data.endswith(b"\n"):
        with open(path, "r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)


def _write_whole(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _plain(config: RunConfig) -> Any:
    return json.loads(json.dumps(config.to_json()))


def _difference(present: Any, wanted: Any, key: str = "") -> str:
    """The first difference of two JSON values, in words."""
    if isinstance(present, dict) and isinstance(wanted, dict):
        for name in {**present, **wanted}:
            if present.get(name) != wanted.get(name):
                return _difference(present.get(name), wanted.get(name), f"{key}.{name}" if key else name)
    if key == "bots":
        before = {bot["name"]: bot for bot in present}
        after = {bot["name"]: bot for bot in wanted}
        changes = [f"without {name}" for name in before if name not in after]
        changes += [f"with {name} added" for name in after if name not in before]
        changes += [f"{name} changed" for name in after if name in before and before[name] != after[name]]
        return f"bots: {', '.join(changes) or 'in another order'}"
    return f"{key} is {json.dumps(present)} there and {json.dumps(wanted)} here"
