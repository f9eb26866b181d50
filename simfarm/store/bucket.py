"""A run on an object store: any URI that pyarrow.fs opens (``s3://``, ``gs://``, ``abfss://``, ``file://``) or, if
that package is installed, fsspec.

A part is put once under its name. Then its receipt is put as an object of its own, ``receipts/NUMBER-TOKEN.json``;
readers follow these and nothing else, in the order of their names, which is the order of their commit.

The lock needs nothing that only some stores offer. A driver puts a claim, ``lock/TOKEN.json``, then lists the claims:
if another one is alive it takes its own back and is refused. Stores list what has been put (S3, GCS and Azure promise
it), so of two drivers at once at least one sees the other: never do two get the lock, both may be refused. A claim
is put again every :data:`BEAT` seconds and counts as dead when, by the store's own clock, it is :data:`LEASE` seconds
older than the newcomer's. What this does not promise: a driver that is frozen for longer than the lease, or cut off
from the store, may be taken for dead; it finds out at its next commit and ends there. Should two drivers ever commit
at once, rows are still right: receipts that overlap count once, and the next run plays what is missing.
"""

import contextlib
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow import fs

from simfarm.core.errors import StoreError
from simfarm.store.folder import Folder
from simfarm.store.place import Driver, in_threads, reason

BEAT = 10.0
"""Seconds between two signs of life of a driver."""
LEASE = 60.0
"""A driver without a sign of life for so many seconds has lost its lock."""

_copying = threading.Lock()
_copies: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""Parts that were brought here, by the store's URI. A frame may outlive the run that it was scanned from, so they
go when the process does; a part's name tells its content, so that a copy is never out of date."""


class Bucket:
    """See :class:`simfarm.store.place.Place`.

    Raises:
        StoreError: nothing here opens such a URI.
    """

    layout: ClassVar[str] = "an object store"

    def __init__(self, uri: str) -> None:
        self.address = uri
        self._shown = re.sub(r"//[^@/]*@", "//", uri.partition("?")[0]).rstrip("/")
        self.name = self._shown.rpartition("/")[2]
        self._fs, path = _open(uri, self._shown)
        self._root = path.rstrip("/")
        self._disk = Folder(Path(self._root)) if isinstance(self._fs, fs.LocalFileSystem) else None
        self._has_folders = self._fs.type_name not in ("s3", "gcs", "abfs")
        self._next: int | None = None
        self._token = secrets.token_hex(4)

    def __str__(self) -> str:
        return self._shown

    def read(self, name: str) -> bytes:
        """See :class:`Place`."""
        with self._fs.open_input_stream(f"{self._root}/{name}", compression=None) as stream:
            return bytes(stream.read())

    def put(self, name: str, data: bytes) -> None:
        """See :class:`Place`. A store shows an object when it is whole; a disk does not."""
        if self._disk is not None:
            self._disk.put(name, data)
            return
        path = f"{self._root}/{name}"
        if self._has_folders:
            self._fs.create_dir(path.rpartition("/")[0], recursive=True)
        with self._fs.open_output_stream(path, compression=None) as stream:
            stream.write(data)

    def remove(self, name: str) -> None:
        """See :class:`Place`."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.delete_file(f"{self._root}/{name}")

    def sizes(self, folder: str = "") -> dict[str, int]:
        """See :class:`Place`."""
        return {name: info.size for name, info in self._files(folder).items()}

    def _files(self, folder: str) -> dict[str, fs.FileInfo]:
        base = f"{self._root}/{folder}" if folder else self._root
        selector = fs.FileSelector(base, allow_not_found=True, recursive=True)
        found = {
            info.path[info.path.index(self._root) + len(self._root) + 1 :]: info
            for info in self._fs.get_file_info(selector)
            if info.type == fs.FileType.File
        }
        return dict(sorted(found.items()))

    def local(self, name: str) -> Path:
        """See :class:`Place`."""
        with _copying:
            if self.address not in _copies:
                _copies[self.address] = tempfile.TemporaryDirectory(prefix="simfarm-")
        path = Path(_copies[self.address].name, name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
            whole.write_bytes(self.read(name))
            whole.replace(path)
        return path

    def lines(self) -> list[bytes]:
        """See :class:`Place`."""
        return list(in_threads(self.read, self.sizes("receipts")))

    def append(self, line: bytes) -> None:
        """See :class:`Place`."""
        if self._next is None:
            numbers = [_number(name) for name in self.sizes("receipts")]
            self._next = max(numbers, default=0) + 1
        self.put(f"receipts/{self._next:09}-{self._token}.json", line)
        self._next += 1

    def keep(self, lines: Sequence[bytes]) -> None:
        """See :class:`Place`."""
        wanted = set(lines)
        names = list(self.sizes("receipts"))
        for name, line in zip(names, in_threads(self.read, names), strict=True):
            if line not in wanted:
                self.remove(name)

    def lock(self) -> "Claim":
        """See :class:`Place`."""
        return Claim(self)

    def driver(self) -> tuple[Driver | None, bool]:
        """See :class:`Place`. Whether it is alive is told by this machine's clock: looking writes nothing."""
        claims = self.claims()
        if not claims:
            return None, False
        name, beat = max(claims.items(), key=lambda claim: claim[1])
        return Driver.from_json(self.read(name)), time.time() - beat < LEASE

    def claims(self) -> dict[str, float]:
        """The claims to the lock and their last signs of life, Unix time by the store's clock; a store that tells no
        times has them all alive."""
        return {
            name: info.mtime.timestamp() if info.mtime is not None else float("inf")
            for name, info in self._files("lock").items()
        }


class Claim:
    """A claim to a bucket's lock that no living claim stands against, kept alive by a thread."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._name = f"lock/{secrets.token_hex(8)}.json"
        self._driver = Driver.this().to_json()
        self._beat()
        try:
            self._refuse_if_taken()
        except BaseException:
            bucket.remove(self._name)
            raise
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_alive, name="simfarm-lock", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """See :class:`simfarm.store.place.Lock`."""
        if self._is_late():
            self._beat()
            self._refuse_if_taken()

    def close(self) -> None:
        """See :class:`simfarm.store.place.Lock`."""
        self._ended.set()
        self._thread.join()
        with contextlib.suppress(OSError):  # it dies by itself
            self._bucket.remove(self._name)

    def _beat(self) -> None:
        now = _clock()
        self._bucket.put(self._name, self._driver)
        self._beaten = now

    def _is_late(self) -> bool:
        return _clock() - self._beaten > LEASE

    def _refuse_if_taken(self) -> None:
        claims = self._bucket.claims()
        mine = claims.pop(self._name)
        for name, beat in claims.items():
            if mine - beat < LEASE or beat == float("inf"):
                raise BlockingIOError(f"{name} is held")
            self._bucket.remove(name)

    def _keep_alive(self) -> None:
        while not self._ended.wait(BEAT):
            if not self._is_late():  # else check() has to see first whether another took over
                with contextlib.suppress(OSError):  # tried again soon; the lease tells when it is too late
                    self._beat()


def _clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps


def _open(uri: str, shown: str) -> tuple[fs.FileSystem, str]:
    scheme = uri.partition("://")[0]
    try:
        try:
            found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(uri)
        except pa.ArrowInvalid as error:
            if "Unrecognized filesystem type" not in str(error):
                raise
            found = fs.FileSystem.from_uri(f"fsspec+{uri}")
    except ImportError as error:
        hint = f"pip install fsspec and what it needs for {scheme}://"
        raise StoreError(f"{shown}: cannot be opened: {str(error).splitlines()[0]} ({hint})") from None
    except (ValueError, OSError) as error:
        told = reason(error) if isinstance(error, OSError) else str(error).splitlines()[0]
        raise StoreError(f"{shown}: cannot be opened: {told}") from None
    return found


def _number(name: str) -> int:
    digits = os.path.basename(name).partition("-")[0]
    return int(digits) if digits.isdigit() else 0
