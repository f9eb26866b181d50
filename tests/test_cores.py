"""Cores: shared out by locks, given back however a holder ends."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simfarm.core import cores
from simfarm.core.cores import own_core
from simfarm.executors.local import LocalExecutor

HOLDER = """
import os, sys
from pathlib import Path
from simfarm.core import cores
cores.LOCKS = Path(sys.argv[1])
with cores.own_core():
    print(*os.sched_getaffinity(0), flush=True)
    sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has nothing to share out")


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Locks of the test's own: runs beside it hold the machine's."""
    monkeypatch.setattr(cores, "LOCKS", tmp_path)
    mask = os.sched_getaffinity(0)
    yield tmp_path
    assert os.sched_getaffinity(0) == mask


def holder(locks: Path) -> tuple[subprocess.Popen[str], set[int]]:
    """Another process that holds a core, and its mask."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(locks)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, {int(core) for core in process.stdout.readline().split()}


def test_processes_never_share_a_core_and_more_of_them_than_cores_are_not_pinned(locks: Path) -> None:
    allowed = os.sched_getaffinity(0)
    started = [holder(locks) for _ in range(len(allowed) + 1)]
    masks = [mask for _, mask in started]
    for process, _ in started:
        process.communicate()
    assert [len(mask) for mask in masks[:-1]] == [1] * len(allowed)
    assert set().union(*masks[:-1]) == allowed
    assert masks[-1] == allowed


def test_a_lock_ends_with_its_holder_though_its_bots_live_on(locks: Path) -> None:
    allowed = os.sched_getaffinity(0)
    started = [holder(locks) for _ in allowed]
    process, mask = started[0]
    process.kill()
    process.wait()
    with own_core():
        assert os.sched_getaffinity(0) == mask
        bot = subprocess.Popen(["sleep", "60"])
        assert os.sched_getaffinity(bot.pid) == mask
    try:
        with own_core():
            assert os.sched_getaffinity(0) == mask, "the bot has not inherited the lock"
    finally:
        bot.kill()
        bot.wait()
        for other, _ in started[1:]:
            other.communicate()


def test_the_mask_comes_back_after_an_exception() -> None:
    allowed = os.sched_getaffinity(0)
    for _ in range(2 * len(allowed)):
        with pytest.raises(ValueError, match="broken"), own_core():  # noqa: PT012 - the block is what is tested
            assert len(os.sched_getaffinity(0)) == 1
            raise ValueError("broken")
        assert os.sched_getaffinity(0) == allowed


def test_a_thread_that_was_given_one_core_keeps_it(locks: Path) -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    with own_core():
        assert os.sched_getaffinity(0) == {max(allowed)}
    os.sched_setaffinity(0, allowed)
    assert list(locks.iterdir()) == []


def test_a_core_whose_lock_cannot_be_opened_is_left_alone(locks: Path) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    (locks / f"simfarm-core-{first}.lock").symlink_to(locks / "elsewhere")
    with own_core():
        assert os.sched_getaffinity(0) == {second}
    assert not (locks / "elsewhere").exists()


def masked(seconds: float) -> tuple[float, float, set[int]]:
    started = time.monotonic()
    time.sleep(seconds)
    return started, time.monotonic(), os.sched_getaffinity(0)


def test_workers_of_the_local_executor_play_on_cores_of_their_own() -> None:
    """With the machine's locks, which others may hold: whoever is pinned shares with no one at the same time."""
    played = list(LocalExecutor(2).map(masked, iter([0.2] * 6)))
    spans = [span for span in played if isinstance(span, tuple) and len(span[2]) == 1]
    for index, (start, stop, mask) in enumerate(spans):
        for other_start, other_stop, other in spans[index + 1 :]:
            assert mask != other or stop <= other_start or other_stop <= start


def test_it_costs_nothing() -> None:
    best = 1.0
    for _ in range(200):
        started = time.perf_counter()
        with own_core():
            pass
        best = min(best, time.perf_counter() - started)
    assert best < 0.001, "seconds, against shards of seconds"
