"""Faults under Ray: in all of them the final rows are those of a clean run.

Each test waits until a worker is at block 5 before it breaks something, so that it never breaks nothing.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
import ray

from simfarm import plan
from simfarm import run as runs
from simfarm.config import RunConfig
from simfarm.core.errors import ExecutorError, SimfarmError
from simfarm.executors import ray as ray_executor
from simfarm.executors.local import LocalExecutor
from simfarm.executors.ray import RayExecutor
from simfarm.store import Run
from tests.conftest import Coin
from tests.ray_cluster import Hold, Nodes, gone, parent, state, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    started = Nodes()
    yield started
    started.close()


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "GROWTH", 1)  # every shard is one segment: four blocks


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    return Hold(tmp_path / "hold")


@pytest.fixture
def config(coin: Coin, hold: Hold) -> RunConfig:
    return coin(games=40, record=("details",), heads="heads", held=hold.bot)


def rows_of(run: Run) -> list[pl.DataFrame]:
    read = Run(run.path)
    return [
        read.lazy("tosses").sort("block").collect(),
        read.lazy("details").drop("seconds").sort("block").collect(),
    ]


def play(run: Run, nodes: Nodes, sabotage: Callable[[], object]) -> None:
    """Play on the cluster while something is broken, and compare with a clean run."""
    executor = RayExecutor(nodes.address)
    with ThreadPoolExecutor(1) as pool:
        played = pool.submit(runs.play, run, executor, lambda progress: None)
        sabotage()  # here: Ray starts nodes in the main thread only
        played.result()
    compare(run)


def compare(run: Run) -> None:
    clean = Run.create(run.path.with_name("clean"), run.config)
    runs.play(clean, LocalExecutor(1), lambda progress: None)
    assert Run(run.path).problems() == []
    for found, wanted in zip(rows_of(run), rows_of(clean), strict=True):
        assert wanted["block"].to_list() == list(range(40))
        assert found.equals(wanted)


def committed(folder: Path) -> list[int]:
    return sorted(receipt.start for receipt in Run(folder).receipts())


def test_a_worker_that_is_killed(nodes: Nodes, hold: Hold, config: RunConfig, tmp_path: Path) -> None:
    nodes.have(2)

    def sabotage() -> None:
        os.kill(hold.wait(1), signal.SIGKILL)
        assert hold.wait(2) != hold.workers()[0]
        hold.go()

    play(Run.create(tmp_path / "run", config), nodes, sabotage)


@pytest.mark.parametrize("worker_too", [False, True])
def test_a_node_that_dies_is_no_fault_of_its_shard(
    nodes: Nodes,
    hold: Hold,
    config: RunConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    worker_too: bool,
) -> None:
    nodes.have(2)
    if not worker_too:
        monkeypatch.setattr(ray_executor, "ATTEMPTS", 1)

    def sabotage() -> None:
        worker = hold.wait(1)
        raylet = parent(worker)
        assert raylet in nodes.nodes
        if worker_too:
            os.kill(worker, signal.SIGKILL)
        nodes.end(raylet)
        assert parent(hold.wait(2)) != raylet
        hold.go()

    play(Run.create(tmp_path / "run", config), nodes, sabotage)
    assert sum(map(gone, nodes.nodes)) == 1


def test_a_node_that_is_stopped_and_resumed(nodes: Nodes, hold: Hold, config: RunConfig, tmp_path: Path) -> None:
    """Stopped for less than it takes to be counted dead."""
    nodes.have(2)

    run = Run.create(tmp_path / "run", config)

    def sabotage() -> None:
        raylet = parent(hold.wait(1))
        os.kill(raylet, signal.SIGSTOP)
        until(lambda: state(raylet) == "T", "the raylet is stopped")
        hold.go()
        os.kill(raylet, signal.SIGCONT)
        until(lambda: 4 in committed(run.path), "the shard's commit")
        assert len(hold.workers()) == 1

    play(run, nodes, sabotage)


def test_a_driver_that_is_killed_and_a_worker_that_outlives_it(nodes: Nodes, hold: Hold, tmp_path: Path) -> None:
    """The driver is killed, and the node of a worker of its stopped, so that nobody ends that worker. Its shard is
    played again and committed; then it ends its own, meets the token of another sitting and writes nothing."""
    nodes.have(2)
    folder = tmp_path / "results" / "c"
    details = folder / "parts" / "details"
    driver = command(tmp_path, hold, "--ray-address", nodes.address)
    first = hold.wait(1)
    until(lambda: len(committed(folder)) >= 3, "commits")
    raylet = parent(first)
    os.kill(raylet, signal.SIGSTOP)
    try:
        driver.kill()
        driver.communicate()
        run = Run(folder)
        kept = run.receipts()
        assert 4 not in committed(folder)

        def sabotage() -> None:
            second = hold.wait(2)
            assert parent(second) != raylet
            hold.go(second)
            until(lambda: 4 in committed(folder), "the shard's commit")
            assert not gone(first), "the first worker is still at it"
            hold.go(first)
            hold.go()

        play(run, nodes, sabotage)
    finally:
        nodes.end(raylet)
    assert Run(folder).receipts()[: len(kept)] == kept, "what was committed is not played again"
    assert len(list(details.glob("*-4-8-*"))) == 1


def command(folder: Path, hold: Hold, *options: str) -> "subprocess.Popen[str]":
    """``simfarm run`` of coin in a process of its own; the run is ``results/c``."""
    (folder / "heads.txt").write_text("heads")
    (folder / "held.txt").write_text(hold.bot)
    (folder / "c.toml").write_text(
        'engine = "coin"\nrecord = ["details"]\n[plan]\ngames = 40\n'
        + "".join(f'[[bots]]\nname = "{name}"\nfile = "{name}.txt"\n' for name in ("heads", "held"))
    )
    return subprocess.Popen(
        [sys.executable, "-m", "simfarm", "run", "c.toml", *options],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_ray_of_our_own_joins_no_stray_cluster_and_ends_with_a_killed_driver(
    nodes: Nodes, hold: Hold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stray cluster runs on this machine, Ray has noted it as the current one, and RAY_ADDRESS names it."""
    nodes.have(1)
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    Path("/tmp/ray/ray_current_cluster").write_text(nodes.address)
    before = nodes.jobs()
    driver = command(tmp_path, hold, "--executor", "ray", "--workers", "1")
    worker = hold.wait(1)
    raylet = parent(worker)
    assert parent(raylet) == driver.pid
    daemons = [*children(driver.pid), worker]
    assert len(daemons) > 3
    assert nodes.jobs() == before
    driver.kill()
    driver.communicate()
    # Two small agents, children of the raylet, take their own time to see that they are alone.
    until(lambda: all(map(gone, daemons)), "the driver's Ray and its workers end", seconds=20)


def children(pid: int) -> list[int]:
    """Process ids of what a process's main thread has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_node_that_joins_gets_work(nodes: Nodes, hold: Hold, config: RunConfig, tmp_path: Path) -> None:
    nodes.have(1)
    run = Run.create(tmp_path / "run", config)

    def sabotage() -> None:
        hold.wait(1)
        until(lambda: len(committed(run.path)) == 1, "the first shard's commit")  # and the only node is held
        nodes.add()
        until(lambda: len(committed(run.path)) == 9, "the new node plays all but the held shard")
        assert len(hold.workers()) == 1, "nobody else was given the held shard"
        hold.go()

    play(run, nodes, sabotage)


def test_a_node_that_leaves_while_there_is_no_other(
    nodes: Nodes, hold: Hold, config: RunConfig, tmp_path: Path
) -> None:
    nodes.have(1)

    def sabotage() -> None:
        left = parent(hold.wait(1))
        nodes.end(left, signal.SIGTERM)
        nodes.add()
        assert parent(hold.wait(2)) != left, "the shard of the node that left begins again on the new one"
        hold.go()

    play(Run.create(tmp_path / "run", config), nodes, sabotage)


@pytest.mark.parametrize(
    ("bot", "reason"), [("broken", r"internal_error: (.|\n)*the coin rolled away"), ("poison", "worker_died: ")]
)
def test_a_poison_shard_is_given_up_and_the_rest_completes(
    nodes: Nodes, coin: Coin, tmp_path: Path, bot: str, reason: str
) -> None:
    nodes.have(1)
    run = Run.create(tmp_path / "run", coin(games=40, heads="heads", bad=bot))
    with pytest.raises(ExecutorError, match=rf"given up after 3 tries.* blocks 4 to 8 of matchup .*: {reason}"):
        runs.play(run, RayExecutor(nodes.address), lambda progress: None)
    assert committed(run.path) == [0, *range(8, 40, 4)]


ADDRESSES = [
    ("ray://127.0.0.1:10001", "Ray Client is not supported; give HOST:PORT"),
    ("somewhere", "must be HOST:PORT, or 'auto'"),
    ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1: .*refused"),
    ("nowhere.invalid:6379", "no Ray cluster answers at nowhere.invalid:6379: "),
]


@pytest.mark.parametrize(("address", "message"), ADDRESSES)
def test_an_address_that_is_none(address: str, message: str) -> None:
    started = time.monotonic()
    with pytest.raises(SimfarmError, match=f"^[^\n]*{message}[^\n]*$"):
        RayExecutor(address)
    assert time.monotonic() - started < 12


def test_an_address_where_something_else_listens() -> None:
    started = time.monotonic()
    with socket.create_server(("", 0)) as server:  # Ray looks for a local address at the machine's own
        port = server.getsockname()[1]
        with pytest.raises(ExecutorError, match=f"listens at 127.0.0.1:{port} does not answer as a Ray cluster$"):
            RayExecutor(f"127.0.0.1:{port}")
    assert time.monotonic() - started < 15


def test_a_cluster_of_another_version(nodes: Nodes) -> None:
    client = ray._raylet.GcsClient(address=nodes.address)
    key, space = b"CLUSTER_METADATA", b"cluster"
    metadata = client.internal_kv_get(key, space)
    other = json.dumps({**json.loads(metadata), "ray_version": "2.9.9"}).encode()
    client.internal_kv_put(key, other, True, space)
    try:
        with pytest.raises(ExecutorError, match=r"cannot be used: [^\n]*Ray: 2\.9\.9[^\n]*$"):
            RayExecutor(nodes.address)
    finally:
        client.internal_kv_put(key, metadata, True, space)
