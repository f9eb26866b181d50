"""A run in the background: started, looked at, ended, by the commands as a user types them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simfarm import background
from simfarm import run as runs
from simfarm.cli.main import app
from simfarm.core.errors import ExecutorError, StoreError
from simfarm.status import Observer
from simfarm.store import Driver, Run
from simfarm.store.folder import Folder
from tests.conftest import Coin
from tests.inline import Inline

CONFIG = (
    'engine = "coin"\n[plan]\ngames = 4000\n[[bots]]\nname = "heads"\n[[bots]]\nname = "slow"\nfile = "slow.txt"\n'
)


def simfarm(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simfarm", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "slow.txt").write_text("slow 10")
    (tmp_path / "c.toml").write_text(CONFIG)
    yield tmp_path
    if (tmp_path / "results" / "c").exists():
        driver, running = Run(tmp_path / "results" / "c").place.driver()
        if running and driver is not None:
            os.kill(driver.pid, signal.SIGKILL)


def test_a_run_in_the_background(place: Path) -> None:
    started = simfarm("run", "c.toml", "--detach", cwd=place)
    assert started.returncode == 0, started.stderr
    folder = place / "results" / "c"
    driver, running = Run(folder).place.driver()
    assert running, "it holds its lock when the command returns"
    assert driver is not None
    assert f"process {driver.pid} plays results/c; its messages: results/c/log" in started.stdout
    assert driver.log == str(folder / "log")
    assert os.getsid(driver.pid) == driver.pid, "a session of its own"
    second = simfarm("run", "c.toml", "--detach", cwd=place)
    assert second.returncode == 2
    assert second.stderr.startswith("simfarm: results/c: another simfarm is playing this run (process ")
    observer = Observer(Run(folder))
    ended = time.monotonic() + 60
    while not (found := observer.look()).games_done and time.monotonic() < ended:
        time.sleep(0.1)
    assert found.running
    assert found.games_per_second is not None
    assert found.seconds_left is not None
    assert 0 < found.games_done < found.games == 4000
    stopped = simfarm("stop", "c", cwd=place)
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert f"process {driver.pid} has ended" in stopped.stdout
    told = json.loads(simfarm("status", "c", "--format", "json", cwd=place).stdout)
    assert (told["running"], told["complete"], told["driver"]["pid"]) == (False, False, driver.pid)
    assert told["games_done"] >= found.games_done
    assert told["log"][-1] == "simfarm: stopped; what is committed stays, the same command goes on from there"
    again = simfarm("stop", "c", cwd=place)
    assert (again.returncode, again.stderr) == (2, "simfarm: results/c: nothing plays this run\n")


def test_a_start_that_fails_says_so_at_once(place: Path) -> None:
    failed = simfarm("run", "c.toml", "--detach", "--workers", "0", cwd=place)
    assert failed.returncode == 2
    assert failed.stderr == "simfarm: workers = 0: at least 1 is needed\n"


def test_a_start_that_is_killed_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real process that is killed, in place of one that plays."""
    new, kill = subprocess.Popen, ["/bin/sh", "-c", "kill -9 $$"]
    monkeypatch.setattr("subprocess.Popen", lambda command, **options: new(kill, **options))
    with chdir(place):
        done = CliRunner().invoke(app, ["run", "c.toml", "--detach"])
    assert isinstance(done.exception, ExecutorError)
    assert "was ended by signal 9 before it began to play" in str(done.exception)


def test_status_of_a_run_that_is_complete(coin: Coin, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", coin(games=50))
    runs.play(run, Inline(), lambda progress: None)
    text = simfarm("status", str(run.path), "--watch", cwd=tmp_path).stdout
    assert text == f"{run.path}: complete\ngames       50 of 50 (100.0 %), matchups 1\n"


def test_a_damaged_part_is_not_committed(coin: Coin, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", coin(games=50))
    runs.play(run, Inline(), lambda progress: None)
    last = run.receipts()[-1]
    (run.path / last.parts["tosses"].path).write_bytes(b"")
    assert Observer(Run(run.path)).look().games_done == 50 - (last.stop - last.start)


def test_only_who_holds_the_lock_is_stopped(coin: Coin, tmp_path: Path) -> None:
    """The lock names a process that has nothing to do with it: it gets no signal."""
    run = Run.create(tmp_path / "run", coin(games=50))
    with subprocess.Popen(["sleep", "60"]) as bystander:
        try:
            with run.writer():
                said = Driver(bystander.pid, Driver.this().host, Driver.this().started, None)
                (run.path / "lock").write_bytes(said.to_json())
                with pytest.raises(StoreError, match="does not hold the lock; nothing was stopped"):
                    background.stop(run)
                (run.path / "lock").write_bytes(Driver(1, "elsewhere", said.started, None).to_json())
                with pytest.raises(StoreError, match="played by process 1 on elsewhere; end it there"):
                    background.stop(run)
            assert bystander.poll() is None
        finally:
            bystander.kill()


def test_who_has_the_lock_open_does_not_hold_it(coin: Coin, tmp_path: Path) -> None:
    """A recycled number may be that of a process that only reads the file."""
    run = Run.create(tmp_path / "run", coin(games=50))
    with (
        run.writer(),
        open(run.path / "lock", "rb") as file,
        subprocess.Popen(["sleep", "60"], stdin=file) as reader,
    ):
        try:
            assert isinstance(run.place, Folder)
            assert run.place.is_held_by(os.getpid()), "it has the file open twice"
            said = Driver(reader.pid, Driver.this().host, Driver.this().started, None)
            (run.path / "lock").write_bytes(said.to_json())
            with pytest.raises(StoreError, match="does not hold the lock; nothing was stopped"):
                background.stop(run)
            assert reader.poll() is None
        finally:
            reader.kill()


def test_looking_takes_no_lock(coin: Coin, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", coin(games=50))
    assert run.place.driver()[1] is False
    with run.writer():
        assert run.place.driver()[1] is True
        observed, running = Run(run.path).place.driver()
        assert (observed, running) == (Driver(os.getpid(), *_rest(observed)), True)
    assert run.place.driver()[1] is False


def _rest(driver: Driver | None) -> tuple[str, str, str | None]:
    assert driver is not None
    return driver.host, driver.started, driver.log
