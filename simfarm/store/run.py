"""A run, open for reading, and the one process that may commit to it."""

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

import simfarm
from simfarm import registry
from simfarm.config import RunConfig
from simfarm.core.errors import ConfigError, StoreError
from simfarm.core.model import Matchup, Table
from simfarm.schema import SCHEMA_VERSION, arrow_schema
from simfarm.store.bucket import Bucket
from simfarm.store.folder import Folder
from simfarm.store.parts import Coverage, Failure, Part, Receipt
from simfarm.store.place import Lock, Place, in_threads, reason

RESULTS = Path("results")
"""Where runs go by default, relative to the working directory."""
MANIFEST_FORMAT = 1
MANIFEST_KEYS = {"format", "schema", "engine_version", "identity", "config"}
UNFINISHED = {"bots", "lock", "tmp"}
"""What a folder holds at most when a run was killed while it was made."""


def place_at(where: str | Path) -> Place:
    """The place at a path, or at a URI: a text with ``://`` in it.

    Raises:
        StoreError: nothing here opens such a URI.
    """
    return Bucket(where) if isinstance(where, str) and "://" in where else Folder(Path(where))


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


def exists(where: str | Path) -> bool:
    """Whether a run lies at a path or a URI.

    Raises:
        StoreError: the place cannot be read.
    """
    place = place_at(where)
    try:
        place.read("manifest.json")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(f"{place}: cannot be read: {reason(error)}") from None
    return True


def find_run(where: str) -> str:
    """The path or the URI of the run there, or of that name in ``results/``.

    Raises:
        StoreError: there is none.
    """
    for candidate in (where, str(RESULTS / where)) if "://" not in where else (where,):
        if exists(candidate):
            return candidate
    if "://" in where:
        raise StoreError(f"{place_at(where)}: no run here")
    known = sorted(folder.parent.name for folder in RESULTS.glob("*/manifest.json"))
    raise StoreError(f"{where}: no run here; runs in {RESULTS}/: {', '.join(known) or 'none'}")


class Run:
    """A run, open for reading; :meth:`writer` opens it for committing."""

    def __init__(self, where: str | Path) -> None:
        """Open an existing run.

        Args:
            where: its folder, or its URI.

        Raises:
            StoreError: there is no run, or it is not readable by this version.
        """
        self.place = place_at(where)
        self.manifest = read_manifest(self.place)
        self.config = _read_config(self.place, self.manifest)
        self.engine = registry.engine(self.config.engine)

    @classmethod
    def create(cls, where: str | Path, config: RunConfig, *, update: bool = False) -> "Run":
        """The run of this config at this place: a new one, or the one that is there if it is the same run.

        A bot's file that is missing or damaged there is written again from the config.

        Args:
            where: the run folder, or a URI.
            config: the config.
            update: let a changed config take over the place; rows of cells that it still plans stay in use.

        Raises:
            StoreError: the place is another run's, is something else, or cannot be written.
        """
        place = place_at(where)
        wanted = _plain(config)
        engine = registry.engine(config.engine)
        present = read_manifest(place) if exists(where) else None
        if present is not None:
            known = _known_config(place, present)
            same_config = {**known, "verdict": None} == {**wanted, "verdict": None}
            if same_config and (present["engine_version"], present["schema"]) == (engine.version, SCHEMA_VERSION):
                _write_bots(place, config)
                if known["verdict"] != wanted["verdict"]:  # it decides no row
                    _write_manifest(place, {**present, "config": wanted})
                return cls(where)
            if not update:
                what = (
                    f"an older or newer {engine.name}: version {present['engine_version']} of its rules (installed: "
                    f"{engine.version}), {present['schema']} of the row schema ({SCHEMA_VERSION})"
                    if same_config
                    else f"a different config: {_difference(present['config'], wanted)}"
                )
                raise StoreError(
                    f"{place} belongs to {what}; choose another "
                    "folder with --out, or play only what is missing there with --update"
                )
        elif not _is_free(place):
            raise StoreError(f"{place} is in the way: neither a run folder nor empty; choose another with --out")
        manifest = {
            "format": MANIFEST_FORMAT,
            "layout": place.layout,
            "simfarm": simfarm.__version__,
            "schema": SCHEMA_VERSION,
            "engine_version": engine.version,
            "identity": secrets.token_hex(16),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "config": wanted,
        }
        _write_bots(place, config)
        _write_manifest(place, manifest)
        return cls(where)

    @property
    def path(self) -> Path:
        """The run folder.

        Raises:
            StoreError: the run lies on an object store.
        """
        if not isinstance(self.place, Folder):
            raise StoreError(f"{self.place}: a run folder is needed here, not a URI")
        return self.place.path

    @property
    def identity(self) -> str:
        """32 hex digits, drawn when the run was made: a worker that reads the same sees the same place."""
        return str(self.manifest["identity"])

    @cached_property
    def _planned(self) -> dict[str, Matchup]:
        # by the versions that the rows were made with: a newer engine does not unmake an old run
        return dict(self.config.planned(self.manifest["engine_version"], self.manifest["schema"]))

    def matchups(self) -> dict[str, Matchup]:
        """The run's matchups by key, in plan order."""
        return self._planned

    def committed(
        self, planned: Container[str] | None = None, problem: Callable[[Receipt], str] | None = None
    ) -> Iterator[Receipt]:
        """Receipts that count, in the order of their commit: their parts are there and whole, and no block is in an
        earlier one.

        Args:
            planned: keys of the matchups that count; default: all, planned or not.
            problem: what is wrong with a receipt, empty if nothing; default: :meth:`problem`.
        """
        found = (Receipt.from_line(line) for line in self.place.lines())
        receipts = [one for one in found if one is not None and (planned is None or one.key in planned)]
        covered = Coverage()
        for receipt, told in zip(receipts, in_threads(problem or self.problem, receipts), strict=True):
            if not told and covered.add(receipt.key, receipt.start, receipt.stop):
                yield receipt

    def receipts(self) -> list[Receipt]:
        """Receipts of planned cells that count, see :meth:`committed`."""
        return list(self.committed(self._planned))

    @cached_property
    def _trusted(self) -> list[Receipt]:
        order = {key: position for position, key in enumerate(self._planned)}
        return sorted(self.receipts(), key=lambda receipt: (order[receipt.key], receipt.start))

    def problem(self, receipt: Receipt) -> str:
        """What is wrong with the parts of a receipt, in words; empty if they are there and whole."""
        return next((told for part in receipt.parts.values() if (told := part_problem(self.place, part))), "")

    def problems(self) -> list[str]:
        """One line for each committed shard whose parts are gone or damaged and that was not played again."""
        covered = Coverage.of(self.receipts())
        found = []
        for line in self.place.lines():
            one = Receipt.from_line(line)
            if one is None or one.key not in self._planned or covered.covers(one.key, one.start, one.stop):
                continue
            if problem := self.problem(one):
                found.append(problem)
        return found

    def given_up(self, committed: Coverage) -> list[Failure]:
        """Shards of planned cells that no worker could play, oldest first.

        Args:
            committed: what is committed; a shard that is played by now is left out.
        """
        return [
            failure
            for failure in read_failures(self.place)
            if failure.key in self._planned and not committed.covers(failure.key, failure.start, failure.stop)
        ]

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
            StoreError: the rows cannot be brought here.
        """
        schema = arrow_schema(self.table(name), self.engine.name, self.engine.version)
        wanted = [receipt.parts[name].path for receipt in self._trusted if name in receipt.parts]
        if not wanted:
            frame = pl.from_arrow(schema.empty_table())
            assert isinstance(frame, pl.DataFrame)
            return frame.lazy()
        try:
            paths = list(in_threads(self.place.local, wanted))
        except OSError as error:
            raise StoreError(f"{self.place}: rows cannot be read: {reason(error)}") from None
        return pl.scan_parquet(paths, glob=False)

    def scan(self, receipt: Receipt, name: str) -> pl.LazyFrame:
        """The rows of one committed shard, unchecked: for a driver that has just committed it."""
        return pl.scan_parquet(BytesIO(self.place.read(receipt.parts[name].path)))

    def writer(self) -> "Writer":
        """The right to commit.

        Raises:
            StoreError: another process holds it, or the place cannot be written.
        """
        return Writer(self)


class Writer:
    """The one process that may commit to a run; a context manager."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._lock = lock(run.place)

    def commit(self, receipt: Receipt) -> None:
        """Make a shard count. Its parts must be in place.

        Raises:
            StoreError: the disk is full or fails, or the right to commit is lost.
        """
        place = self.run.place
        try:
            self._lock.check()
            place.append(replace(receipt, at=time.time()).to_line())
        except BlockingIOError:
            raise StoreError(f"{place}: another simfarm took this run over; what was committed stays") from None
        except OSError as error:
            raise StoreError(f"{place}: cannot write a receipt: {reason(error)}") from error

    def give_up(self, failure: Failure) -> None:
        """Keep in the run that a shard could not be played, for people; it is tried again like all that is missing.

        Raises:
            StoreError: the disk is full or fails.
        """
        place = self.run.place
        others = [other for other in read_failures(place) if other.cell != failure.cell]
        try:
            place.put("given_up.json", Failure.to_json([*others, failure]))
        except OSError as error:
            raise StoreError(f"{place}: cannot write given_up.json: {reason(error)}") from error

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *exception: object) -> None:
        self._lock.close()


def lock(place: Place) -> Lock:
    """The right to commit to the run at a place, until it is closed.

    Raises:
        StoreError: another process has it, or the place cannot be written.
    """
    try:
        return place.lock()
    except BlockingIOError:
        raise StoreError(is_played(place)) from None
    except OSError as error:
        raise StoreError(f"{place}: cannot be written: {reason(error)}") from None


def is_played(place: Place) -> str:
    """What is said to a second driver of the run at a place."""
    driver, _ = place.driver()
    who = f" (process {driver.pid} on {driver.host} since {driver.started})" if driver is not None else ""
    return f"{place}: another simfarm is playing this run{who}"


def part_problem(place: Place, part: Part) -> str:
    """What is wrong with a part, in words; empty if it is there and has its receipt's checksum."""
    try:
        data = place.read(part.path)
    except OSError as error:
        return f"{part.path}: {reason(error)}"
    if hashlib.sha256(data).hexdigest() != part.sha256:
        return f"{part.path}: the checksum does not match its receipt"
    return ""


def bot_problem(place: Place, sha: str) -> str:
    """What is wrong with a bot's file in a run, in words; empty if nothing is."""
    try:
        data = place.read(f"bots/{sha}")
    except OSError as error:
        return f"bots/{sha}: cannot be read: {reason(error)}"
    return "" if hashlib.sha256(data).hexdigest() == sha else f"bots/{sha}: damaged: its content has another hash"


def read_manifest(place: Place) -> dict[str, Any]:
    """The manifest of the run at a place.

    Raises:
        StoreError: there is no run, or it is not readable by this version.
    """
    try:
        manifest: dict[str, Any] = json.loads(place.read("manifest.json"))
    except FileNotFoundError:
        raise StoreError(f"{place}: no run here (no manifest.json)") from None
    except OSError as error:
        raise StoreError(f"{place}/manifest.json: cannot be read: {reason(error)}") from None
    except ValueError as error:
        raise StoreError(f"{place}/manifest.json: cannot be read: {error}") from None
    if not isinstance(manifest, dict) or not manifest.keys() >= MANIFEST_KEYS:
        raise StoreError(f"{place}/manifest.json: damaged: not a run's manifest")
    if manifest["format"] != MANIFEST_FORMAT:
        raise StoreError(
            f"{place}: its manifest has format {manifest['format']!r}, this simfarm reads {MANIFEST_FORMAT}"
        )
    layout = manifest.get("layout", Folder.layout)
    if layout != place.layout:
        hint = f"file://{place.address}" if isinstance(place, Folder) else "a plain path"
        raise StoreError(f"{place}: this run was made as {layout}, not as {place.layout}; open it by {hint}")
    if manifest["schema"] not in range(1, SCHEMA_VERSION + 1):
        raise StoreError(
            f"{place}: its rows have schema {manifest['schema']!r}, this simfarm reads 1 to {SCHEMA_VERSION}; "
            "a newer simfarm made it"
        )
    return manifest


def _write_manifest(place: Place, manifest: Mapping[str, Any]) -> None:
    with closing(lock(place)):  # a run that is being played keeps its config
        try:
            place.put("manifest.json", json.dumps(manifest, indent=1).encode() + b"\n")
        except OSError as error:
            raise StoreError(f"{place}: cannot be written: {reason(error)}") from None


def _write_bots(place: Place, config: RunConfig) -> None:
    files = {file.sha256: file.data for bot in config.bots for file in bot.files}
    try:
        for sha, data in files.items():
            if bot_problem(place, sha):
                place.put(f"bots/{sha}", data)
    except OSError as error:
        raise StoreError(f"{place}: cannot be written: {reason(error)}") from None


def _is_free(place: Place) -> bool:
    """Whether a run may be made at a place: it is empty, or has what a run left that was killed while it was made."""
    try:
        return {name.partition("/")[0] for name in place.sizes()} <= UNFINISHED
    except NotADirectoryError:
        return False
    except OSError as error:
        raise StoreError(f"{place}: cannot be read: {reason(error)}") from None


def read_failures(place: Place) -> list[Failure]:
    """What was given up in the run at a place, played since or not.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        return Failure.from_json(place.read("given_up.json"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{place}/given_up.json: cannot be read: {error}") from None


def _known_config(place: Place, manifest: Mapping[str, Any]) -> Any:
    """The config of a manifest, read and written again: options that are newer than it have their defaults."""
    config = manifest["config"]
    known = RunConfig.from_json({**config, "bots": []}, {}, f"{place}/manifest.json")
    return {**_plain(known), "bots": config["bots"]}


def _read_config(place: Place, manifest: Mapping[str, Any]) -> RunConfig:
    contents = {}
    for bot in manifest["config"]["bots"]:
        for _, sha, _ in bot["files"]:
            if problem := bot_problem(place, sha):
                raise StoreError(f"{place}/{problem}; simfarm run with the run's config writes it again")
            contents[sha] = place.read(f"bots/{sha}")
    return RunConfig.from_json(manifest["config"], contents, f"{place}/manifest.json")


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
