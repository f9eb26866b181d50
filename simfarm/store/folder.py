"""A run in a folder of this machine, or of a disk that several machines share.

A file is written in ``tmp/``, flushed and renamed: a reader never meets half a file, and no leftover of a crash lies
among the data. Then its folder is flushed, so that the name outlives a power cut.

The lock is one of the kernel's (open file description lock, Linux): it ends with its process, however that ends.
"""

import contextlib
import fcntl
import os
import secrets
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO, ClassVar

from simfarm.store.place import Driver

_RECEIPTS = "receipts.jsonl"


class Folder:
    """See :class:`simfarm.store.place.Place`."""

    layout: ClassVar[str] = "a folder"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = str(path.resolve())
        self.name = path.name

    def __str__(self) -> str:
        return str(self.path)

    def read(self, name: str) -> bytes:
        """See :class:`Place`."""
        return (self.path / name).read_bytes()

    def put(self, name: str, data: bytes) -> None:
        """See :class:`Place`."""
        path = self.path / name
        temporary = self.path / "tmp" / f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}"
        _make_folder(temporary.parent)
        _make_folder(path.parent)
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)

    def remove(self, name: str) -> None:
        """See :class:`Place`."""
        (self.path / name).unlink(missing_ok=True)

    def sizes(self, folder: str = "") -> dict[str, int]:
        """See :class:`Place`."""
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} is a file")
        found = {}
        for parent, _, names in os.walk(self.path / folder):
            for name in names:
                path = Path(parent, name)
                found[path.relative_to(self.path).as_posix()] = path.lstat().st_size
        return dict(sorted(found.items()))

    def local(self, name: str) -> Path:
        """See :class:`Place`."""
        return self.path / name

    def lines(self) -> list[bytes]:
        """See :class:`Place`."""
        try:
            return self.read(_RECEIPTS).splitlines(keepends=True)
        except FileNotFoundError:
            return []

    def append(self, line: bytes) -> None:
        """See :class:`Place`."""
        path = self.path / _RECEIPTS
        is_new = not path.exists()
        # unbuffered: what a full disk has refused must not be written again when the file is closed
        with open(path, "a+b", buffering=0) as file:
            _drop_torn_line(file)
            while line:
                line = line[file.write(line) :]
            os.fsync(file.fileno())
        if is_new:
            _sync_folder(self.path)

    def keep(self, lines: Sequence[bytes]) -> None:
        """See :class:`Place`."""
        self.put(_RECEIPTS, b"".join(lines))

    def lock(self) -> "FolderLock":
        """See :class:`Place`."""
        return FolderLock(self)

    def driver(self) -> tuple[Driver | None, bool]:
        """See :class:`Place`."""
        try:
            with open(self.path / "lock", "rb") as file:
                data = file.read()
                # asks without taking: a driver that starts just now must not be refused for it
                answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _flock(fcntl.F_WRLCK))
        except FileNotFoundError:
            return None, False
        return Driver.from_json(data), struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK

    def is_held_by(self, pid: int) -> bool:
        """Whether that process of this machine holds the lock, by the kernel's word.

        Raises:
            PermissionError: it is another user's.
        """
        lock, held = (self.path / "lock").stat(), False
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                file = handle.stat()
                if (file.st_dev, file.st_ino) == (lock.st_dev, lock.st_ino):
                    held |= "OFDLCK" in Path(f"/proc/{pid}/fdinfo/{handle.name}").read_text()
        return held


_FLOCK = "hhqqi4x"


def _flock(kind: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, 0, 0, 0)


class FolderLock:
    """The open file that holds a folder's lock until it is closed."""

    def __init__(self, folder: Folder) -> None:
        folder.path.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = open(folder.path / "lock", "r+b", opener=_create)  # noqa: SIM115
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _flock(fcntl.F_WRLCK))
            self._file.truncate(0)
            self._file.write(Driver.this().to_json())
            self._file.flush()
        except OSError:
            self._file.close()
            raise

    def check(self) -> None:
        """See :class:`simfarm.store.place.Lock`: the kernel keeps the lock as long as the file is open."""

    def close(self) -> None:
        """See :class:`simfarm.store.place.Lock`."""
        self._file.close()


def _drop_torn_line(file: IO[bytes]) -> None:
    """Cut off a receipt that was being written when its driver died."""
    size = file.seek(0, os.SEEK_END)
    if size:
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def _create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _make_folder(path: Path) -> None:
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        for parent in path.parents[:2]:
            _sync_folder(parent)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
