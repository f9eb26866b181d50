"""Faults of the machine on one machine: after each, the final rows are a clean run's.

Here are those that take processes; what a part, a receipt or a bot's file can suffer is in test_store.py,
test_store_bucket.py and test_verify.py, workers that die in test_run.py.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from simfarm import plan
from simfarm import run as runs
from simfarm.config import load_config
from simfarm.core.errors import ExecutorError
from simfarm.core.model import Shard, Termination
from simfarm.executors.local import LocalExecutor
from simfarm.status import Observer
from simfarm.store import Run, bucket
from simfarm.store.verify import Kind, verify
from simfarm.worker import Delivery, Task, play_shard
from tests.conftest import Coin
from tests.inline import Inline

SLOW = (
    'engine = "coin"\n[plan]\ngames = 2000\n[[bots]]\nname = "heads"\n[[bots]]\nname = "slow"\nfile = "slow.txt"\n'
)


def rows_of(where: str | Path) -> pl.DataFrame:
    return Run(where).lazy("tosses").collect()


def play(run: Run) -> runs.Progress:
    return runs.play(run, Inline(), lambda progress: None)


def simfarm(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "simfarm", *arguments]
    return subprocess.Popen(
        command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    ended = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ended, "it did not come about"
        time.sleep(0.01)


def play_one(job: tuple[Task, Shard]) -> Delivery:
    return play_shard(*job)


@pytest.fixture(params=["folder", "store"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "run") if request.param == "folder" else f"file://{tmp_path}/store/run"


def test_the_same_shard_four_times_at_once(coin: Coin, tmp_path: Path) -> None:
    """Four processes put its parts into a folder and into a store, and every delivery is committed."""
    config = coin(games=400)
    clean = Run.create(tmp_path / "clean", config)
    play(clean)
    targets = [Run.create(tmp_path / "run", config), Run.create(f"file://{tmp_path}/store/run", config)]
    ((key, matchup),) = config.planned()
    for run in targets:
        with run.writer() as writer:
            jobs = [(Task.of(writer), Shard(matchup, key, 0, 400))] * 4
            with closing(LocalExecutor(4).map(play_one, iter(jobs))) as results:
                for delivery in results:
                    assert isinstance(delivery, Delivery)
                    assert not delivery.data, "workers see the place"
                    writer.commit(delivery.receipt)
        assert rows_of(run.place.address).equals(rows_of(clean.path))
        assert verify(run.place.address).passed
        assert play(Run(run.place.address)).played == 0


KILLED = """
import os, signal, sys
from simfarm import run as runs
from simfarm.executors.local import LocalExecutor
from simfarm.store import Run
run = Run(sys.argv[1])
append, lines = type(run.place).append, []
def kill(place, line):
    lines.append(line)
    if len(lines) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    append(place, line)
type(run.place).append = kill
runs.play(run, LocalExecutor(1), lambda progress: None)
"""


def test_a_driver_that_is_killed_between_data_and_receipt(coin: Coin, tmp_path: Path, where: str) -> None:
    """The third shard's parts are there, its receipt is not: it does not count and is played again."""
    config = coin(games=400)
    clean, run = Run.create(tmp_path / "clean", config), Run.create(where, config)
    play(clean)
    killed = subprocess.run([sys.executable, "-c", KILLED, where], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    kept = Run(where).receipts()
    assert len(kept) == 2
    if "://" in where:  # its claim outlives it by the lease
        (claim,) = run.place.sizes("lock")
        old = time.time() - bucket.LEASE - 1
        os.utime(tmp_path / "store" / "run" / claim, (old, old))
    assert Kind.STRAY in {finding.kind for finding in verify(where).findings}
    assert play(Run(where)).played == 400 - sum(receipt.stop - receipt.start for receipt in kept)
    assert Run(where).receipts()[:2] == kept
    assert rows_of(where).equals(rows_of(clean.path))
    assert verify(where, repair=True).passed
    assert rows_of(where).equals(rows_of(clean.path))


def test_the_order_of_arrival_changes_nothing(coin: Coin, tmp_path: Path, where: str) -> None:
    config = coin(games=200, a="heads", b="tails", c="tails")
    clean, run = Run.create(tmp_path / "clean", config), Run.create(where, config)
    play(clean)
    runs.play(run, Inline(held=3), lambda progress: None)
    starts = [receipt.start for receipt in run.receipts()]
    assert starts != sorted(starts)
    assert rows_of(where).equals(rows_of(clean.path))


def test_a_poison_shard_is_kept_in_mind_until_it_is_played(
    coin: Coin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(plan, "GROWTH", 1)  # every shard is one segment
    fuse = tmp_path / "fuse"
    fuse.touch()
    config = coin(games=40, heads="heads", bad=f"broken {fuse}")
    run = Run.create(where, config)
    with pytest.raises(ExecutorError, match="given up after 3 tries"):
        runs.play(run, LocalExecutor(1), lambda progress: None)
    found = Observer(Run(where)).look()
    (failure,) = found.given_up
    assert (failure.start, failure.stop, failure.reason) == (4, 8, Termination.INTERNAL_ERROR)
    assert "the coin rolled away" in failure.detail
    assert (found.games_done, found.faults, found.complete) == (36, {}, False), "no bot is at fault"
    fuse.unlink()
    play(Run(where))
    found = Observer(Run(where)).look()
    assert (found.given_up, found.complete) == ((), True)
    clean = Run.create(tmp_path / "clean", config)
    play(clean)
    assert rows_of(where).equals(rows_of(clean.path))


FULL = """
mount -t tmpfs -o size={size} tmpfs {disk} || exit 77
cd {disk}
{simfarm} run {config} --out {out} --workers 1 --quiet
echo "first: $?"
mount -o remount,size=8m {disk}
cp -r run {copy}
{simfarm} run {config} --out {out} --workers 1 --quiet
echo "second: $?"
cp -r run {after}
"""


@pytest.mark.parametrize(("out", "size"), [("run", "32k"), ("file://{disk}/run", "48k")])
def test_a_disk_that_is_full_in_the_middle(coin: Coin, tmp_path: Path, out: str, size: str) -> None:
    """A small disk of its own, in a mount namespace."""
    disk = tmp_path / "disk"
    disk.mkdir()
    config = tmp_path / "c.toml"
    config.write_text(
        'engine = "coin"\n[plan]\ngames = 5000\n[[bots]]\nname = "heads"\n[[bots]]\nname = "tails"\n'
    )
    names = {"size": size, "disk": disk, "config": config, "copy": tmp_path / "copy", "after": tmp_path / "after"}
    script = FULL.format(simfarm=f"{sys.executable} -m simfarm", out=out.format(disk=disk), **names)
    done = subprocess.run(
        ["unshare", "-rm", "bash", "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"this machine lets nobody mount: {done.stderr}")
    assert "first: 2" in done.stdout, done.stderr
    assert "second: 0" in done.stdout, done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    scheme = "file://" if "://" in out else ""
    kept, after = Run(f"{scheme}{names['copy']}"), Run(f"{scheme}{names['after']}")
    assert 0 < len(kept.receipts()) < len(after.receipts())
    clean = Run.create(tmp_path / "clean", after.config)
    play(clean)
    assert after.lazy("tosses").collect().equals(rows_of(clean.path))


@pytest.mark.parametrize("times", [2, 3])
def test_ctrl_c_again_and_again(tmp_path: Path, times: int) -> None:
    """As a terminal sends it: to the driver and its workers."""
    (tmp_path / "slow.txt").write_text("slow 1")
    (tmp_path / "c.toml").write_text(SLOW)
    driver = simfarm("run", "c.toml", cwd=tmp_path)
    receipts = tmp_path / "results" / "c" / "receipts.jsonl"
    wait_for(lambda: driver.poll() is not None or (receipts.exists() and receipts.read_bytes().count(b"\n") > 2))
    for _ in range(times):
        os.killpg(driver.pid, signal.SIGINT)
        time.sleep(0.002)  # two signals at once are one
    _, error = driver.communicate(timeout=30)
    assert driver.returncode == 130, error
    assert "Traceback" not in error
    assert error.count("simfarm: ") == 1
    kept = Run(tmp_path / "results" / "c").receipts()
    assert len(kept) > 2
    again = Run(tmp_path / "results" / "c")
    assert play(again).played == 2000 - sum(receipt.stop - receipt.start for receipt in kept)
    assert Run(again.path).receipts()[: len(kept)] == kept
    (tmp_path / "slow.txt").write_text("tails")  # what a slow bot calls
    clean = Run.create(tmp_path / "clean", load_config(tmp_path / "c.toml"))
    play(clean)
    assert rows_of(again.path).drop("matchup").equals(rows_of(clean.path).drop("matchup"))


@pytest.mark.parametrize("after", [0.0, 0.2, 0.6, 1.2])
def test_ctrl_c_during_the_start(tmp_path: Path, after: float) -> None:
    """From the moment that Python has handed over: while libraries load, the run is made, workers start."""
    (tmp_path / "slow.txt").write_text("slow 1")
    (tmp_path / "c.toml").write_text(SLOW)
    driver = simfarm("run", "c.toml", cwd=tmp_path)

    def catches() -> bool:
        caught = Path(f"/proc/{driver.pid}/status").read_text().split("SigCgt:")[1].split()[0]
        return int(caught, 16) >> (signal.SIGTERM - 1) & 1 == 1

    wait_for(catches)
    time.sleep(after)
    os.killpg(driver.pid, signal.SIGINT)
    _, error = driver.communicate(timeout=30)
    assert driver.returncode == 130, error
    assert "Traceback" not in error
    folder = tmp_path / "results" / "c"
    if (folder / "manifest.json").exists():
        assert verify(folder, repair=True).passed
    wait_for(lambda: not [path for path in Path("/proc").glob("[0-9]*/stat") if _session(path) == driver.pid], 20)


def _session(path: Path) -> int:
    try:
        return int(path.read_text().rsplit(")", 1)[1].split()[3])
    except (FileNotFoundError, ProcessLookupError):
        return 0
