"""The Ray executor: the same function on a Ray cluster, one CPU a task, few tasks in flight.

Without an address a Ray of our own is started here and ended afterwards; an existing cluster is joined only when
it is named (``auto`` means the one that this machine belongs to).

Tries are counted here, not by Ray, which would also try again what never mends and could not tell a worker that an
item killed from a node that went away under it. A dead node is no fault of the items that were on it: they go to
other nodes, and only an item that loses :data:`NODES` nodes is given up, since it may be what ends them. A worker can
outlive its node and go on; what it returns is not looked at, and what it writes has a name of its own (see
:mod:`simfarm.store`).
"""

import logging
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic

from simfarm.core.cores import own_core
from simfarm.core.errors import ConfigError, ExecutorError, SimfarmError
from simfarm.core.model import Termination
from simfarm.executors import ATTEMPTS, GivenUp, Item, Result

IN_FLIGHT = 2
"""Tasks in flight for each CPU: one that runs and one that is ready when it ends."""
NODES = 8
"""How many nodes an item may lose before it is given up."""
REACH_SECONDS = 10.0
"""A cluster must answer within this time."""
EMPTY_SECONDS = 600.0
"""A cluster without a single CPU is waited for this long: nodes leave, and new ones join."""
_LOOK_SECONDS = 1.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

_PROBE = """
import sys
import ray
try:
    ray._raylet.GcsClient(address=sys.argv[1])
except ray.exceptions.RayError as error:
    sys.exit(" ".join(str(error).split()))
"""


@dataclass(slots=True)
class _Job(Generic[Item]):
    item: Item
    failures: int = 0
    nodes: int = 0


class RayExecutor:
    """Tasks on a Ray cluster.

    Args:
        address: a cluster's address HOST:PORT, ``auto`` for the one this machine belongs to, None to start one here.
        workers: CPUs of the Ray that is started here; None means one for each core that this process may use.

    Raises:
        ConfigError: fewer than one worker, a number of workers for a cluster that is joined, or no such address.
        ExecutorError: the cluster cannot be reached, or it is none that this simfarm can join.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"workers = {workers}: at least 1 is needed")
        if workers is not None and address is not None:
            raise ConfigError("workers: a cluster that is joined has the size it has; leave the number out")
        # One answer to a question that Ray asks in a warning: tasks without a GPU see the machine as it is.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        self._ray = ray
        if address is not None:
            _reach(address)
        own = {"num_cpus": workers or len(os.sched_getaffinity(0))} if address is None else {}
        try:
            ray.init(
                # "local": whatever RAY_ADDRESS or Ray's own notes on this machine say, nothing is joined unasked
                address=address or "local",
                include_dashboard=False if address is None else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **own,
            )
        except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            where = f"Ray at {address}" if address else "a Ray of our own"
            raise ExecutorError(f"{where} cannot be used: {' '.join(str(error).split())}") from error

        # Ray prints what it hears of dead workers on stdout, which is for reports; an item says how it failed.
        ray._private.worker.print_to_stdstream = lambda *data, **options: None

    @property
    def workers(self) -> int:
        """How many items are played at once: the cluster's CPUs now."""
        return max(1, self._cpus())

    def _cpus(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def map(
        self, function: Callable[[Item], Result], items: Iterator[Item]
    ) -> Generator[Result | GivenUp[Item], None, None]:
        """See :class:`simfarm.executors.Executor`.

        Raises:
            ExecutorError: the cluster is gone, or was without a CPU for :data:`EMPTY_SECONDS`.
        """
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=0)(_call)
        shared = ray.put(function)
        flying: dict[Any, _Job[Item]] = {}
        again: list[_Job[Item]] = []
        seen = time.monotonic()
        try:
            while True:
                cpus = self._cpus()
                if cpus:
                    seen = time.monotonic()
                elif time.monotonic() - seen > EMPTY_SECONDS:
                    raise ExecutorError(f"the Ray cluster had no CPU for {EMPTY_SECONDS:.0f} s")
                while len(flying) < IN_FLIGHT * max(1, cpus):
                    if again:
                        job = again.pop()
                    else:
                        try:
                            job = _Job(next(items))
                        except StopIteration:
                            break
                    flying[task.remote(shared, job.item)] = job
                if not flying:
                    return
                # not for ever: nodes that join meanwhile want work
                done, _ = ray.wait(list(flying), num_returns=1, timeout=_LOOK_SECONDS)
                for reference in done:
                    job = flying.pop(reference)
                    try:
                        kind, value = ray.get(reference)
                    except (ray.exceptions.NodeDiedError, ray.exceptions.ObjectLostError) as error:
                        # the second: the result was there, and its node died before it came home
                        job.nodes += 1
                        kind, value = Termination.WORKER_DIED, f"{job.nodes} nodes died under it: {error}"
                    except ray.exceptions.RayTaskError as error:
                        job.failures += 1
                        kind, value = Termination.INTERNAL_ERROR, _COLOURS.sub("", str(error))
                    except ray.exceptions.RayError as error:
                        job.failures += 1
                        kind, value = Termination.WORKER_DIED, str(error)
                    if kind == "result":
                        yield value
                    elif kind == "error":
                        raise value
                    elif job.failures == ATTEMPTS or job.nodes == NODES:
                        yield GivenUp(job.item, kind, value)
                    else:
                        again.append(job)
        finally:
            with suppress(ray.exceptions.RayError):  # a cluster that is gone needs no farewell
                for reference in flying:
                    ray.cancel(reference, force=True)
            ray.shutdown()


def _call(function: Callable[[Any], Any], item: Any) -> tuple[str, Any]:
    """Runs on a worker."""
    try:
        with own_core():
            return "result", function(item)
    except SimfarmError as error:
        return "error", type(error)(f"on node {socket.gethostname()}: {error}")


def _reach(address: str) -> None:
    """Make sure that a cluster answers: Ray itself would try for minutes.

    Raises:
        ConfigError: no such address.
        ExecutorError: it does not answer, or not as a Ray that lets us in.
    """
    import ray

    if "://" in address:
        raise ConfigError(
            f"--ray-address {address}: Ray Client is not supported; give HOST:PORT on a machine of the cluster, "
            "or send the command there with `ray job submit`"
        )
    try:
        # "auto" in Ray's own sense: RAY_ADDRESS, else what `ray start` noted on this machine
        found = ray._private.services.canonicalize_bootstrap_address(address)
        host, _, port = str(found).rpartition(":")
        with socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS):
            pass
    except (ValueError, OverflowError):
        raise ConfigError(f"--ray-address {address}: must be HOST:PORT, or 'auto'") from None
    except OSError as error:
        raise ExecutorError(f"no Ray cluster answers at {address}: {error}") from None
    if address == "auto":
        # as Ray does: its token is shown to a cluster of this machine, not to any address
        ray._private.authentication.authentication_token_setup.maybe_enable_token_auth_if_token_available(False)
    # apart and with a deadline, since what listens there may be anything, or hang
    try:
        subprocess.run(
            [sys.executable, "-c", _PROBE, str(found)],
            capture_output=True,
            text=True,
            check=True,
            timeout=REACH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ExecutorError(f"what listens at {address} does not answer as a Ray cluster") from None
    except subprocess.CalledProcessError as error:
        raise ExecutorError(f"the Ray cluster at {address} does not let us in: {error.stderr.strip()}") from None
