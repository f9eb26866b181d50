"""The local executor: one process per core, each with a core of its own while it plays.

The pool is ours because what matters here is what pools in the standard library do not do: a worker that dies
takes only its own item with it, and items are pulled one at a time.
"""

import ctypes
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic

from simfarm.core.cores import own_core
from simfarm.core.errors import ConfigError, SimfarmError
from simfarm.core.model import Termination
from simfarm.executors import ATTEMPTS, GivenUp, Item, Result

_STOP_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1


@dataclass(slots=True)
class _Worker:
    index: int
    process: BaseProcess
    pipe: Connection


@dataclass(slots=True)
class _Job(Generic[Item]):
    item: Item
    failures: int = 0


class LocalExecutor:
    """Processes on this machine.

    Args:
        workers: how many; None means one for each core that this process may use.

    Raises:
        ConfigError: fewer than one worker.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = len(os.sched_getaffinity(0)) if workers is None else workers
        if self._workers < 1:
            raise ConfigError(f"workers = {workers}: at least 1 is needed")

    @property
    def workers(self) -> int:
        """How many items are played at once."""
        return self._workers

    def map(
        self, function: Callable[[Item], Result], items: Iterator[Item]
    ) -> Generator[Result | GivenUp[Item], None, None]:
        """See :class:`simfarm.executors.Executor`."""
        idle = [self._start(index, function) for index in range(self._workers)]
        busy: dict[int, tuple[_Worker, _Job[Item]]] = {}
        again: list[_Job[Item]] = []
        exhausted = False
        try:
            while True:
                while idle and not (exhausted and not again):
                    if again:
                        job = again.pop()
                    else:
                        try:
                            job = _Job(next(items))
                        except StopIteration:
                            exhausted = True
                            continue
                    worker = idle.pop()
                    busy[worker.pipe.fileno()] = (worker, job)
                    _send(worker, job.item)
                if not busy:
                    return
                for pipe in wait([worker.pipe for worker, _ in busy.values()]):
                    assert isinstance(pipe, Connection)
                    worker, job = busy.pop(pipe.fileno())
                    try:
                        kind, value = worker.pipe.recv()
                    except (EOFError, OSError):
                        worker.process.join()
                        worker.pipe.close()
                        kind, value = Termination.WORKER_DIED, f"exit code {worker.process.exitcode}"
                        worker = self._start(worker.index, function)
                    idle.append(worker)
                    if kind == "result":
                        yield value
                    elif kind == "error":
                        raise value
                    else:
                        job.failures += 1
                        if job.failures == ATTEMPTS:
                            yield GivenUp(job.item, kind, value)
                        else:
                            again.append(job)
        finally:
            _stop([*idle, *(worker for worker, _ in busy.values())])

    def _start(self, index: int, function: Callable[[Any], Any]) -> _Worker:
        # spawn: a fork of a process that has threads (polars, Arrow) may deadlock
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_work, args=(theirs, function, os.getpid()), name=f"simfarm-worker-{index}", daemon=True
        )
        # A new process has Python's own handling of Ctrl-C until _work runs, and would end with a traceback.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        theirs.close()
        return _Worker(index, process, ours)


def _send(worker: _Worker, item: object) -> None:
    try:
        worker.pipe.send(item)
    except (BrokenPipeError, ConnectionResetError):
        # The worker is dead; its pipe reports end of file to wait(), which is where deaths are dealt with.
        return


def _work(pipe: Connection, function: Callable[[Any], Any], driver: int) -> None:
    # Ctrl-C goes to the whole process group: the driver alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # However the driver ends, its workers end with it, not with their shard.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != driver:
        return
    while True:
        try:
            item = pipe.recv()
        except (EOFError, ConnectionResetError):
            # The driver has closed the pipe: a reset if an answer lay unread in it.
            return
        try:
            with own_core():
                answer: tuple[str, Any] = ("result", function(item))
        except SimfarmError as error:
            answer = ("error", error)
        except Exception:  # noqa: BLE001 - the driver decides: again, or given up with this text
            answer = (Termination.INTERNAL_ERROR, traceback.format_exc())
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.pipe.close()
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join(_STOP_SECONDS)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
