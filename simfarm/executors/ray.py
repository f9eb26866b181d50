"""The Ray executor: the same function on a Ray cluster, one CPU a task, few tasks in flight.

Without an address a Ray of our own is started here and ended afterwards; an existing cluster is joined only when
it is named (``auto`` means the one that this machine belongs to).
"""

import logging
import os
from collections.abc import Callable, Generator, Iterator
from typing import Any

from simfarm.core.errors import ConfigError, ExecutorError, SimfarmError
from simfarm.core.model import Termination
from simfarm.executors import ATTEMPTS, GivenUp, Item, Result

IN_FLIGHT = 2
"""Tasks in flight for each CPU: one that runs and one that is ready when it ends."""


class RayExecutor:
    """Tasks on a Ray cluster.

    Args:
        address: a cluster's address, ``auto`` for the one this machine belongs to, None to start one here.
        workers: CPUs of the Ray that is started here; None means one for each core that this process may use.

    Raises:
        ConfigError: fewer than one worker, or a number of workers for a cluster that is joined.
        ExecutorError: the cluster cannot be reached.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"workers = {workers}: at least 1 is needed")
        if workers is not None and address is not None:
            raise ConfigError("workers: a cluster that is joined has the size it has; leave the number out")
        # Ray's own word on stray clusters: an address in this variable would be joined unasked.
        os.environ.pop("RAY_ADDRESS", None)
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        self._ray = ray
        own = {"num_cpus": workers or len(os.sched_getaffinity(0))} if address is None else {}
        try:
            ray.init(
                address=address or "local",
                include_dashboard=False if address is None else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **own,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ExecutorError(f"Ray at {address or 'this machine'} cannot be used: {error}") from error

    @property
    def workers(self) -> int:
        """How many items are played at once: the cluster's CPUs now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map(
        self, function: Callable[[Item], Result], items: Iterator[Item]
    ) -> Generator[Result | GivenUp[Item], None, None]:
        """See :class:`simfarm.executors.Executor`. System faults are retried by Ray, others are not."""
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1, retry_exceptions=True)(_call)
        shared = ray.put(function)
        flying: dict[Any, Item] = {}
        try:
            while True:
                while len(flying) < IN_FLIGHT * self.workers:
                    try:
                        item = next(items)
                    except StopIteration:
                        break
                    flying[task.remote(shared, item)] = item
                if not flying:
                    return
                [done], _ = ray.wait(list(flying), num_returns=1)
                item = flying.pop(done)
                try:
                    kind, value = ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    yield GivenUp(item, Termination.INTERNAL_ERROR, str(error))
                    continue
                except ray.exceptions.RayError as error:
                    yield GivenUp(item, Termination.WORKER_DIED, str(error))
                    continue
                if kind == "error":
                    raise value
                yield value
        finally:
            for reference in flying:
                ray.cancel(reference, force=True)
            ray.shutdown()


def _call(function: Callable[[Any], Any], item: Any) -> tuple[str, Any]:
    try:
        return "result", function(item)
    except SimfarmError as error:
        return "error", error
