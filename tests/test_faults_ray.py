"""Faults under Ray: in all of them the final rows are those of a clean run.

Each test waits until a worker is at block 5 before it breaks something, so that it never breaks nothing.
"""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from simfarm import plan
from simfarm import run as runs
from simfarm.config import RunConfig
from simfarm.core.errors import ExecutorError
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
    with ThreadPoolExecutor(1) as pool:
        broken = pool.submit(sabotage)
        try:
            runs.play(run, RayExecutor(nodes.address), lambda progress: None)
        finally:
            broken.result()
    compare(run)


def compare(run: Run) -> None:
    clean = Run.create(run.path.with_name("clean"), run.config)
    runs.play(clean, LocalExecutor(1), lambda progress: None)
    assert Run(run.path).problems() == []
    for found, wanted in zip(rows_of(run), rows_of(clean), strict=True):
        assert wanted["block"].to_list() == list(range(40))
        assert found.equals(wanted)


def committed(run: Run) -> list[int]:
    return sorted(receipt.start for receipt in Run(run.path).receipts())


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
        os.kill(raylet, signal.SIGKILL)
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
        until(lambda: 4 in committed(run), "the shard's commit")
        assert len(hold.workers()) == 1

    play(run, nodes, sabotage)


def test_a_worker_that_outlives_its_node_changes_nothing(
    nodes: Nodes, hold: Hold, config: RunConfig, tmp_path: Path
) -> None:
    """Its node counts as dead, its shard is played elsewhere and committed; then it writes its own part, whose
    bytes differ since a column holds times."""
    nodes.have(2)
    run = Run.create(tmp_path / "run", config)
    details = run.path / "parts" / "details"

    def sabotage() -> None:
        first = hold.wait(1)
        raylet = parent(first)
        os.kill(raylet, signal.SIGSTOP)
        try:
            second = hold.wait(2)
            assert parent(second) != raylet
            hold.go(second)
            until(lambda: 4 in committed(run), "the shard's commit")
            assert not gone(first), "the first worker outlives its node"
            hold.go(first)
            until(lambda: len(list(details.glob("*-4-8-*"))) == 2, "the late part")
        finally:
            os.kill(raylet, signal.SIGCONT)
        hold.go()
        until(lambda: gone(raylet), "the node learns that it is dead")

    play(run, nodes, sabotage)
    assert committed(run) == list(range(0, 40, 4))


def test_a_node_that_joins_gets_work(nodes: Nodes, hold: Hold, config: RunConfig, tmp_path: Path) -> None:
    nodes.have(1)
    run = Run.create(tmp_path / "run", config)

    def sabotage() -> None:
        hold.wait(1)
        assert len(committed(run)) == 1, "the only node is held"
        nodes.add()
        until(lambda: len(committed(run)) == 9, "the new node plays all but the held shard")
        hold.go()

    play(run, nodes, sabotage)


def test_a_node_that_leaves_while_there_is_no_other(
    nodes: Nodes, hold: Hold, config: RunConfig, tmp_path: Path
) -> None:
    nodes.have(1)

    def sabotage() -> None:
        nodes.remove(parent(hold.wait(1)))
        nodes.add()
        hold.wait(2)
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
    with pytest.raises(ExecutorError, match=rf"blocks 4 to 8 of matchup .* given up after 3 tries.*: {reason}"):
        runs.play(run, RayExecutor(nodes.address), lambda progress: None)
    assert committed(run) == [0, *range(8, 40, 4)]
