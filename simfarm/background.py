"""A run's driver as a process of its own, in no terminal: start it and stop it."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from socket import gethostname

from simfarm.core.errors import StoreError
from simfarm.store import Place, Run
from simfarm.store.folder import Folder
from simfarm.store.place import is_played

_LOOK_SECONDS = 0.1
STOP_SECONDS = 60.0
"""A driver that was told to stop has so long."""


def start(arguments: Sequence[str], place: Place, log: Path) -> tuple[int, int | None]:
    """Start ``simfarm`` in a session of its own and wait until it holds a run's lock or has ended.

    Args:
        arguments: the command's.
        place: where the run lies.
        log: file that its messages are added to.

    Returns:
        Its process id, and its exit code if it has ended.

    Raises:
        StoreError: the run is being played, or the log cannot be written.
    """
    if place.driver()[1]:  # before its log gets lines that are not its own
        raise StoreError(is_played(place))
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = open(log, "ab")  # noqa: SIM115
    except OSError as error:
        raise StoreError(f"{log}: cannot be written: {error.strerror}") from None
    with output:
        child = subprocess.Popen(
            # -P: no module of the folder it is started in
            [sys.executable, "-P", "-m", "simfarm", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    while True:
        try:
            return child.pid, child.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            driver, running = place.driver()
            if running and driver is not None and (driver.pid, driver.host) == (child.pid, gethostname()):
                return child.pid, None


def stop(run: Run) -> int:
    """Tell the driver that plays a run to end, and wait until it has. What is committed stays.

    Only a process that holds the run's lock by the kernel's word is sent a signal.

    Returns:
        Its process id.

    Raises:
        StoreError: no process plays the run, or it cannot be told from here, or does not end.
    """
    place = run.place
    driver, running = place.driver()
    if not running:
        raise StoreError(f"{place}: nothing plays this run")
    if driver is None:
        raise StoreError(f"{place}: its driver has not said who it is; try again")
    there = f"process {driver.pid} on {driver.host}"
    if not isinstance(place, Folder) or driver.host != gethostname():
        raise StoreError(f"{place}: played by {there}; end it there, with kill -TERM {driver.pid}")
    try:
        handle = os.pidfd_open(driver.pid)  # from here on the number cannot become another process's
        try:
            if not place.is_held_by(driver.pid):
                raise StoreError(f"{place}: {there} does not hold the lock; nothing was stopped")
            signal.pidfd_send_signal(handle, signal.SIGTERM)
            if not select.select([handle], [], [], STOP_SECONDS)[0]:
                raise StoreError(f"{place}: {there} was told to end and has not in {STOP_SECONDS:.0f} s")
        finally:
            os.close(handle)
    except OSError as error:
        raise StoreError(f"{place}: {there} cannot be stopped: {error.strerror}") from None
    return driver.pid
