"""Where a run lies: a folder of this machine or an object store, behind one small interface."""

import json
import os
import socket
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from simfarm.core.errors import StoreError

Item = TypeVar("Item")
Result = TypeVar("Result")

_THREADS = 16
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Driver:
    """The process that plays a run, as it wrote itself down when it took the lock."""

    pid: int
    host: str
    started: str
    """ISO 8601, UTC."""
    log: str | None
    """The file on its host that its messages go to; None if they go to no file."""

    @classmethod
    def this(cls) -> "Driver":
        """This process."""
        log = None
        if stat.S_ISREG(os.fstat(2).st_mode):
            log = os.readlink("/proc/self/fd/2")
        return cls(os.getpid(), socket.gethostname(), datetime.now(UTC).isoformat(timespec="seconds"), log)

    def to_json(self) -> bytes:
        """JSON of its fields."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> "Driver | None":
        """The inverse of :meth:`to_json`; None if the data is no driver's."""
        try:
            found = cls(**json.loads(data))
            aware = datetime.fromisoformat(found.started).tzinfo is not None
        except (ValueError, TypeError, RecursionError):
            return None
        known = isinstance(found.host, str) and isinstance(found.log, str | None)
        return found if known and aware and isinstance(found.pid, int) and 0 < found.pid < 2**31 else None


class Lock(Protocol):
    """The right to commit to a run, until it is closed."""

    def check(self) -> None:
        """Make sure that the right still stands.

        Raises:
            BlockingIOError: it is lost to another process.
        """

    def close(self) -> None:
        """Give the right back."""


class Place(Protocol):
    """Files of a run by name: relative POSIX paths. Every method may raise OSError."""

    layout: ClassVar[str]
    """How receipts are kept here, as the manifest says it; a run is opened by a place of its own layout only."""
    address: str
    """What another process opens the place by: an absolute path or a URI."""
    name: str
    """The last piece of it."""

    def __str__(self) -> str:
        """As the user wrote it, without passwords."""

    def read(self, name: str) -> bytes:
        """A file's content."""

    def put(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all; when it returns the file outlives a power cut."""

    def remove(self, name: str) -> None:
        """Remove a file; one that is gone already is no error."""

    def sizes(self, folder: str = "") -> dict[str, int]:
        """All files in a folder and its folders, name to bytes, sorted by name."""

    def local(self, name: str) -> Path:
        """A file of this machine with a part's content: the part, or a copy that lives as long as the process."""

    def lines(self) -> list[bytes]:
        """All receipts in the order of their commit, as they stand: some may be cut off."""

    def append(self, line: bytes) -> None:
        """Add a receipt, for the holder of the lock only; when it returns the receipt outlives a power cut."""

    def keep(self, lines: Sequence[bytes]) -> None:
        """Drop all receipts but these, for the holder of the lock only."""

    def lock(self) -> Lock:
        """Take the right to commit.

        Raises:
            BlockingIOError: another process has it.
        """

    def driver(self) -> tuple[Driver | None, bool]:
        """Who has the right to commit or had it last, if that is known, and whether it has it now."""


def in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results in the items' order, many at once but never many in memory: reading and hashing waits and overlaps."""
    iterator = iter(items)
    with ThreadPoolExecutor(_THREADS) as pool:
        while batch := list(islice(iterator, _BATCH)):
            yield from pool.map(function, batch)


def reason(error: OSError) -> str:
    """Why a file operation failed, for people."""
    return error.strerror or str(error) or type(error).__name__


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
