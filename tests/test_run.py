"""A run from config to rows: the same rows whatever the executor, the shard size, the number of workers; resume."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from simfarm import plan, registry
from simfarm import run as runs
from simfarm.core.errors import ConfigError, ExecutorError
from simfarm.executors import Executor
from simfarm.executors.local import LocalExecutor
from simfarm.executors.ray import RayExecutor
from simfarm.store import Coverage, Run
from tests.conftest import Coin


def rows_of(run: Run) -> pl.DataFrame:
    return Run(run.path).lazy("tosses").sort("matchup", "block").collect()


def play(run: Run, executor: Executor) -> list[runs.Progress]:
    seen: list[runs.Progress] = []
    runs.play(run, executor, seen.append)
    return seen


def test_progress_counts_games(coin: Coin, tmp_path: Path) -> None:
    seen = play(Run.create(tmp_path / "run", coin(games=1000)), LocalExecutor(2))
    assert [seen[0].games, seen[0].total, seen[0].receipt] == [0, 1000, None]
    assert [progress.games for progress in seen] == sorted(progress.games for progress in seen)
    assert seen[-1].games == seen[-1].played == 1000
    again = play(Run(tmp_path / "run"), LocalExecutor(2))
    assert [(progress.games, progress.played) for progress in again] == [(1000, 0)]


def test_workers_and_shard_sizes_change_no_row(
    coin: Coin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = coin(games=301, a="heads", b="tails", c="tails")
    found = []
    for index, (workers, seconds) in enumerate([(1, 4.0), (2, 4.0), (3, 1e-6)]):
        monkeypatch.setattr(plan, "SHARD_SECONDS", seconds)
        monkeypatch.setattr(plan, "LAST_SECONDS", seconds)
        run = Run.create(tmp_path / str(index), config)
        play(run, LocalExecutor(workers))
        found.append((rows_of(run), len(run.receipts())))
    assert found[0][0].height == 903
    assert all(rows.equals(found[0][0]) for rows, _ in found)
    assert found[2][1] > 2 * found[0][1], "the last run was cut much finer"


@pytest.mark.slow
def test_ray_gives_the_same_rows(coin: Coin, tmp_path: Path) -> None:
    config = coin(games=301, a="heads", b="tails", c="tails")
    local = Run.create(tmp_path / "local", config)
    play(local, LocalExecutor(1))
    ray = Run.create(tmp_path / "ray", config)
    play(ray, RayExecutor())
    assert rows_of(ray).equals(rows_of(local))


def test_a_worker_that_dies_is_replaced_and_its_shard_played_again(coin: Coin, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    marker.touch()
    config = coin(games=100, heads="heads", killer=f"kill {marker}")
    run = Run.create(tmp_path / "run", config)
    play(run, LocalExecutor(2))
    assert not marker.exists()
    assert rows_of(run)["block"].to_list() == list(range(100))


@pytest.mark.parametrize(
    ("bot", "reason"),
    [("broken", r"internal_error: (.|\n)*the coin rolled away"), ("poison", "worker_died: exit code -9")],
)
def test_a_shard_that_always_fails_is_given_up_and_the_rest_completes(
    coin: Coin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bot: str, reason: str
) -> None:
    monkeypatch.setattr(plan, "GROWTH", 1)  # every shard is one segment
    run = Run.create(tmp_path / "run", coin(games=100, heads="heads", bad=bot))
    with pytest.raises(
        ExecutorError, match=rf"1 shard given up after 3 tries.*: blocks 4 to 8 of matchup .*: {reason}"
    ):
        play(run, LocalExecutor(1))
    assert rows_of(run)["block"].to_list() == [*range(4), *range(8, 100)]


def test_a_run_in_which_everything_fails_ends(coin: Coin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST_GIVEN_UP", 1)
    bots = {f"broken{index}": "broken" for index in range(4)}
    run = Run.create(tmp_path / "run", coin(games=8, **bots))
    with pytest.raises(
        ExecutorError,
        match=rf"2 shards given up after 3 tries, the run was ended for it; .* simfarm status {run.path} shows",
    ):
        play(run, LocalExecutor(1))


def test_an_error_of_the_driver_ends_the_workers(coin: Coin, tmp_path: Path) -> None:
    """The error is kept, as a traceback keeps it: its frames must not keep the workers."""
    run = Run.create(tmp_path / "run", coin(games=1000))

    def report(progress: runs.Progress) -> None:
        if progress.receipt is not None:
            raise OSError("the terminal is gone")

    with pytest.raises(OSError, match="the terminal is gone") as kept:
        runs.play(run, LocalExecutor(2), report)
    assert kept.value.__traceback__ is not None
    assert multiprocessing.active_children() == []


def test_a_shard_has_a_bounded_number_of_games(coin: Coin, monkeypatch: pytest.MonkeyPatch) -> None:
    config = coin(games=1000)
    monkeypatch.setattr(plan, "SHARD_GAMES", 20)
    pace = plan.Pace(1, 1000)
    pace.note(4, 1e-9)
    shards = list(plan.cut(registry.engine("coin"), plan.gaps(config, Coverage()), pace))
    assert max(shard.blocks for shard in shards) == 20
    assert sum(shard.blocks for shard in shards) == 1000


def test_workers_must_be_some() -> None:
    with pytest.raises(ConfigError, match="workers = 0: at least 1 is needed"):
        LocalExecutor(0)
    with pytest.raises(ConfigError, match="workers = 0: at least 1 is needed"):
        RayExecutor(workers=0)


def cli(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "simfarm", *arguments]
    return subprocess.Popen(
        command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def committed(folder: Path) -> int:
    path = folder / "receipts.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_was_committed_stays_when_the_driver_ends(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "heads.txt").write_text("heads")
    (tmp_path / "slow.txt").write_text("slow 2")
    config = 'engine = "coin"\n[plan]\ngames = 3000\n[[bots]]\nname = "heads"\nfile = "heads.txt"\n'
    (tmp_path / "c.toml").write_text(config + '[[bots]]\nname = "slow"\nfile = "slow.txt"\n')
    folder = tmp_path / "results" / "c"
    first = cli("run", "c.toml", cwd=tmp_path)
    deadline = time.monotonic() + 30
    while committed(folder) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = [int(pid) for pid in Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()]
    assert len(workers) >= 2
    os.killpg(first.pid, how) if how == signal.SIGINT else first.send_signal(how)
    _, error = first.communicate(timeout=20)
    ended = time.monotonic() + 5
    while any(alive(worker) for worker in workers) and time.monotonic() < ended:
        time.sleep(0.02)
    assert not any(alive(worker) for worker in workers), "workers end with their driver"
    kept = Run(folder).receipts()
    assert len(kept) >= 3
    assert sum(receipt.stop - receipt.start for receipt in kept) < 3000
    if how == signal.SIGINT:
        assert first.returncode == 130
        assert "the same command goes on from there" in error
    second = cli("run", "c.toml", cwd=tmp_path)
    _, error = second.communicate(timeout=60)
    assert second.returncode == 0, error
    assert Run(folder).receipts()[: len(kept)] == kept, "what was committed is not played again"
    assert rows_of(Run(folder))["block"].to_list() == list(range(3000))


def test_an_estimate_hears_more_than_the_first_matchup(coin: Coin) -> None:
    """One bot takes a thousand times as long as the others: the plan's time must show it."""
    config = coin(games=1000, a="heads", b="tails", slow="slow 1")
    found = plan.estimate(config, (), workers=1, seconds=0.2)
    assert (found.matchups, found.games, found.games_done, found.rows) == (3, 3000, 0, 3000)
    assert 1.0 < found.seconds < 20.0, "two of three matchups take 1 ms a game"
