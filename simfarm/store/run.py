"""A run, open for reading, and the one process that may commit to it."""

import secrets
import time
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO
from itertools import groupby
from pathlib import Path

import polars as pl

import simfarm
from simfarm import registry
from simfarm.config import RunConfig
from simfarm.core.errors import ConfigError, StoreError
from simfarm.core.model import Matchup, Table
from simfarm.schema import SCHEMA_VERSION, arrow_schema
from simfarm.store.folder import Folder
from simfarm.store.manifest import (
    MANIFEST_FORMAT,
    difference,
    exists,
    is_free,
    known_config,
    place_at,
    plain,
    read_config,
    read_manifest,
    write_bots,
    write_manifest,
)
from simfarm.store.parts import Coverage, Failure, Receipt, part_problem, write_part
from simfarm.store.place import Place, in_threads, lock, reason

SITTING = "sitting"
"""The file with the token of the driver that commits, or did last."""


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
        self.config = read_config(self.place, self.manifest)
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
        wanted = plain(config)
        engine = registry.engine(config.engine)
        present = read_manifest(place) if exists(where) else None
        if present is not None:
            known = known_config(place, present)
            same_config = {**known, "verdict": None} == {**wanted, "verdict": None}
            if same_config and (present["engine_version"], present["schema"]) == (engine.version, SCHEMA_VERSION):
                write_bots(place, config)
                if known["verdict"] != wanted["verdict"]:  # it decides no row
                    write_manifest(place, present, {**present, "config": wanted}, config)
                return cls(where)
            if not update:
                what = (
                    f"an older or newer {engine.name}: version {present['engine_version']} of its rules (installed: "
                    f"{engine.version}), {present['schema']} of the row schema ({SCHEMA_VERSION})"
                    if same_config
                    else f"a different config: {difference(present['config'], wanted)}"
                )
                raise StoreError(
                    f"{place} belongs to {what}; choose another "
                    "folder with --out, or play only what is missing there with --update"
                )
        elif not is_free(place):
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
        write_manifest(place, present, manifest, config)
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
        """32 hex digits, drawn when the run was made; a copy of its folder has the same."""
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

    def receipts(self, problem: Callable[[Receipt], str] | None = None) -> list[Receipt]:
        """Receipts that count and hold planned blocks, see :meth:`committed`; of one that reaches beyond the plan, as
        after ``--update`` with a smaller one, only the planned blocks."""
        found = map(self._within_plan, self.committed(self._planned, problem))
        return [receipt for receipt in found if receipt.start < receipt.stop]

    def _within_plan(self, receipt: Receipt) -> Receipt:
        matchup = self._planned[receipt.key]
        start, stop = max(receipt.start, matchup.start), min(receipt.stop, matchup.stop)
        return (
            receipt if (start, stop) == (receipt.start, receipt.stop) else replace(receipt, start=start, stop=stop)
        )

    @cached_property
    def _trusted(self) -> list[tuple[Receipt, tuple[int, int] | None]]:
        """Receipts in plan order, as :meth:`receipts`; with those that the plan cuts short, the blocks that count."""
        order = {key: position for position, key in enumerate(self._planned)}
        found = []
        for whole in self.committed(self._planned):
            receipt = self._within_plan(whole)
            if receipt.start < receipt.stop:
                found.append((receipt, None if receipt is whole else (receipt.start, receipt.stop)))
        return sorted(found, key=lambda one: (order[one[0].key], one[0].start))

    def problem(self, receipt: Receipt) -> str:
        """What is wrong with the parts of a receipt, in words; empty if they are there and whole."""
        return next((told for part in receipt.parts.values() if (told := part_problem(self.place, part))), "")

    def problems(self) -> list[str]:
        """One line for each committed shard whose parts are gone or damaged and that was not played again."""
        covered = Coverage.of(self.receipts())
        found = []
        for line in self.place.lines():
            one = Receipt.from_line(line)
            if one is None or one.key not in self._planned:
                continue
            planned = self._within_plan(one)
            if planned.start >= planned.stop or covered.covers(planned.key, planned.start, planned.stop):
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
        wanted = [(receipt.parts[name].path, blocks) for receipt, blocks in self._trusted if name in receipt.parts]
        if not wanted:
            none = pl.from_arrow(schema.empty_table())
            assert isinstance(none, pl.DataFrame)
            return none.lazy()
        try:
            paths = list(in_threads(self.place.local, [path for path, _ in wanted]))
        except OSError as error:
            raise StoreError(f"{self.place}: rows cannot be read: {reason(error)}") from None
        frames = []
        cuts = zip((blocks for _, blocks in wanted), paths, strict=True)
        for blocks, group in groupby(cuts, key=lambda one: one[0]):
            frame = pl.scan_parquet([path for _, path in group], glob=False)
            frames.append(frame if blocks is None else frame.filter(_holds(*blocks)))
        return pl.concat(frames)

    def scan(self, receipt: Receipt, name: str) -> pl.LazyFrame:
        """The rows of a receipt's blocks, unchecked: for a driver that has just committed it."""
        rows = pl.scan_parquet(BytesIO(self.place.read(receipt.parts[name].path)))
        return rows.filter(_holds(receipt.start, receipt.stop))

    def writer(self) -> "Writer":
        """The right to commit.

        Raises:
            StoreError: another process holds it, or the place cannot be written.
        """
        return Writer(self)


class Writer:
    """The one process that may commit to a run; a context manager.

    It leaves a token in the run. Who reads that token sees this very place, in this very sitting: a copy of its
    folder on another machine does not have it. A driver that lost its lock, or whose folder was moved, finds out.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.sitting = secrets.token_hex(16)
        """The token."""
        place = run.place
        self._lock = lock(place)
        try:
            if read_manifest(place) != run.manifest:
                raise StoreError(
                    f"{place}: another simfarm changed this run's config just now; run the same command again"
                )
            place.put(SITTING, self.sitting.encode())
        except OSError as error:
            self._lock.close()
            raise StoreError(f"{place}: cannot be written: {reason(error)}") from None
        except BaseException:
            self._lock.close()
            raise

    def commit(self, receipt: Receipt, data: Mapping[str, bytes] | None = None) -> None:
        """Make a shard count.

        Args:
            receipt: its receipt.
            data: the bytes of its parts by table, those that are not in place yet.

        Raises:
            StoreError: the disk is full or fails, or the right to commit is lost.
        """
        self._check()
        place = self.run.place
        for name, content in (data or {}).items():
            write_part(place, receipt.parts[name], content)
        try:
            place.append(replace(receipt, at=time.time()).to_line())
        except OSError as error:
            raise StoreError(f"{place}: cannot write a receipt: {reason(error)}") from error

    def give_up(self, failure: Failure) -> None:
        """Keep in the run that a shard could not be played, for people; it is tried again like all that is missing.

        Raises:
            StoreError: the disk is full or fails, or the right to commit is lost.
        """
        self._check()
        place = self.run.place
        others = [other for other in read_failures(place) if other.cell != failure.cell]
        try:
            place.put("given_up.json", Failure.to_json([*others, failure]))
        except OSError as error:
            raise StoreError(f"{place}: cannot write given_up.json: {reason(error)}") from error

    def _check(self) -> None:
        """Make sure that the right still stands, and that the run is still where it was.

        Raises:
            StoreError: it does not.
        """
        place = self.run.place
        try:
            self._lock.check()
            if not is_sitting(place, self.sitting):
                raise BlockingIOError
        except BlockingIOError:
            raise StoreError(f"{place}: another simfarm took this run over; what was committed stays") from None
        except (FileNotFoundError, NotADirectoryError):
            raise StoreError(
                f"{place}: the run was moved or removed while it was played; what was committed stays in it"
            ) from None
        except OSError as error:
            raise StoreError(f"{place}: cannot be read: {reason(error)}") from error

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *exception: object) -> None:
        self._lock.close()


def read_failures(place: Place) -> list[Failure]:
    """What was given up in the run at a place, played since or not.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        return Failure.from_json(place.read("given_up.json"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise StoreError(f"{place}/given_up.json: cannot be read: {error}") from None


def is_sitting(place: Place, token: str) -> bool:
    """Whether a place is the one that the driver with a token commits to.

    Raises:
        OSError: it cannot be read, or no driver ever sat there.
    """
    return place.read(SITTING) == token.encode()


def _holds(start: int, stop: int) -> pl.Expr:
    return pl.col("block").is_between(start, stop, closed="left")
