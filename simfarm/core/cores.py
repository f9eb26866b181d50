"""A core for a referee and its bots together: between cores a round trip takes several times as long."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_core() -> Iterator[None]:
    """Keep this thread, and the processes it starts, on one core that no one else holds this way.

    Workers of the local executor have their core already; others take one of those they may use, which a locked file
    in the machine's folder for temporary files tells the others of. If all are taken, nothing is pinned.
    """
    allowed = os.sched_getaffinity(0)
    for core in sorted(allowed) if len(allowed) > 1 else ():
        lock = _claim(core)
        if lock is not None:
            os.sched_setaffinity(0, {core})
            try:
                yield
            finally:
                os.sched_setaffinity(0, allowed)
                os.close(lock)
            return
    yield


def _claim(core: int) -> int | None:
    path = Path(tempfile.gettempdir()) / f"simfarm-core-{core}.lock"
    try:
        # not created if it is there: systems refuse that for a file of another user
        lock = os.open(path, os.O_RDONLY if path.exists() else os.O_RDONLY | os.O_CREAT, 0o644)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def free_cores() -> list[int]:
    """The cores that this process may use and that no one holds by :func:`own_core`."""
    locks = {core: _claim(core) for core in sorted(os.sched_getaffinity(0))}
    for lock in locks.values():
        if lock is not None:
            os.close(lock)
    return [core for core, lock in locks.items() if lock is not None]
