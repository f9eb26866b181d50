"""A core for a referee and its bots together: between cores a round trip takes several times as long.

Every executor plays every item within :func:`own_core`, so that the workers of all runs on a machine share its
cores out among themselves, whoever started them and whether or not Ray did.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCKS = Path("/tmp")
"""Where the locks lie: one place for the whole machine, whatever a process takes for its temporary folder."""


@contextmanager
def own_core() -> Iterator[None]:
    """Keep this thread, and the processes and threads it starts, on one core that no one else holds this way.

    The core is a free one of those that this thread may use; a locked file tells the others that it is taken, until
    the block or this process ends, however it ends. If all are taken, nothing is pinned: more workers than cores are
    left to the kernel. A thread that may use only one core has been given it by someone else, and takes no lock.
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
    """An open file that holds the core's lock until it is closed; None if someone else holds it."""
    path = LOCKS / f"simfarm-core-{core}.lock"
    # Not created if it is there: in a shared folder systems refuse that for a file of another user.
    create = 0 if path.exists() else os.O_CREAT
    try:
        # not inherited by bots: the lock must end with its holder
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | create, 0o644)
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
