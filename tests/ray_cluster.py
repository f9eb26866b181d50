"""A Ray cluster on this machine for tests: a head without CPUs, to which drivers connect, and nodes with one each."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

# A node that does not answer counts as dead after about this long.
HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 2,
}


class Nodes:
    """The cluster; each node is known by its raylet's process id."""

    def __init__(self) -> None:
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH},
        )
        self.nodes: dict[int, Any] = {}

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return str(self.cluster.address)

    def add(self) -> int:
        """Start a node; returns its raylet's process id."""
        node = self.cluster.add_node(num_cpus=1)
        [raylet] = node.all_processes["raylet"]
        self.nodes[raylet.process.pid] = node
        return int(raylet.process.pid)

    def end(self, raylet: int, number: signal.Signals = signal.SIGKILL) -> None:
        """End a node: killed as it stands, or in order with SIGTERM, as ``ray stop`` does."""
        [process] = self.nodes[raylet].all_processes["raylet"]
        os.kill(raylet, number)
        process.process.wait(20)  # workers do not see that their raylet is gone while it is a zombie

    def have(self, count: int) -> list[int]:
        """Have that many nodes, all alive; what tests have ended is cleared away."""
        for raylet, node in list(self.nodes.items()):
            if gone(raylet):
                self.nodes.pop(raylet)
                self.cluster.worker_nodes.discard(node)
        for raylet in list(self.nodes)[count:]:
            self.end(raylet)
            self.cluster.worker_nodes.discard(self.nodes.pop(raylet))
        while len(self.nodes) < count:
            self.add()
        return list(self.nodes)

    def jobs(self) -> int:
        """How many drivers have connected to the cluster so far."""
        return len(self.cluster.global_state.job_table())

    def close(self) -> None:
        """End it all."""
        ray.shutdown()
        self.cluster.shutdown()


def state(pid: int) -> str:
    """The kernel's letter for a process; X if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def parent(pid: int) -> int:
    """A process's parent: of a Ray worker the raylet of its node."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def until(true: Callable[[], object], what: str, seconds: float = 40.0) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


class Hold:
    """The folder of a coin bot that holds its worker at block 5."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder

    @property
    def bot(self) -> str:
        """What the bot's file says."""
        return f"hold {self.folder}"

    def workers(self) -> list[int]:
        """Process ids of the workers that were held so far, in order."""
        found = [entry for entry in self.folder.iterdir() if entry.name.isdigit()]
        return [int(entry.name) for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns)]

    def wait(self, count: int) -> int:
        """Wait until that many workers were held; returns the last one's process id."""
        until(lambda: len(self.workers()) >= count, f"{count} workers at block 5")
        return self.workers()[count - 1]

    def go(self, worker: int | None = None) -> None:
        """Let one worker go, or all, those to come included."""
        (self.folder / ("go" if worker is None else f"{worker}.go")).touch()


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    return state(pid) in "ZX"
