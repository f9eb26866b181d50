"""A run on an object store: the same promises as in a folder, and the lock that any store can keep.

``file://`` is the store here, through the very code that talks to S3; one test plays against a real S3 server.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow import fs

from simfarm import run as runs
from simfarm.core.errors import StoreError
from simfarm.executors.local import LocalExecutor
from simfarm.store import Receipt, Run, bucket, exists, place_at
from simfarm.store.verify import Kind, verify
from tests.conftest import Coin
from tests.inline import Inline


def play(run: Run) -> runs.Progress:
    return runs.play(run, Inline(), lambda progress: None)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return f"file://{tmp_path}/store/run"


@pytest.fixture
def played(coin: Coin, uri: str) -> Run:
    run = Run.create(uri, coin(games=50))
    play(run)
    return Run(uri)


def test_rows_are_those_of_a_folder_and_nothing_is_played_twice(played: Run, coin: Coin, tmp_path: Path) -> None:
    folder = Run.create(tmp_path / "run", coin(games=50))
    play(folder)
    assert played.lazy("tosses").collect().equals(Run(folder.path).lazy("tosses").collect())
    assert play(Run(played.place.address)).played == 0
    assert verify(played.place.address).passed


def test_workers_put_parts_and_the_driver_receipts(coin: Coin, uri: str, tmp_path: Path) -> None:
    """Workers in processes of their own."""
    run = Run.create(uri, coin(games=50))
    seen: list[runs.Progress] = []
    runs.play(run, LocalExecutor(2), seen.append)
    names = run.place.sizes()
    assert len([name for name in names if name.startswith("receipts/")]) == len(seen) - 1
    assert Run(uri).lazy("tosses").collect().height == 50


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "gone", "marker"])
def test_what_is_damaged_is_played_again(played: Run, tmp_path: Path, damage: str) -> None:
    before = played.lazy("tosses").collect()
    kind = "receipts" if damage == "marker" else "parts/tosses"
    path = sorted((tmp_path / "store" / "run" / kind).iterdir())[-1]
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 4
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"flip": data, "cut": data[:-9], "empty": b"", "marker": data[:-1]}[damage])
    assert [finding.kind for finding in verify(played.place.address).findings][:1] == [
        Kind.RECEIPT if damage == "marker" else Kind.PART
    ]
    again = Run(played.place.address)
    assert again.lazy("tosses").collect().height < 50
    assert 0 < play(again).played < 50
    assert Run(played.place.address).lazy("tosses").collect().equals(before)
    verify(played.place.address, repair=True)
    assert verify(played.place.address).passed
    assert Run(played.place.address).lazy("tosses").collect().equals(before)


def test_receipts_of_two_drivers_count_once_in_order(played: Run) -> None:
    """As if a lock had been lost: another driver commits the same blocks, cut otherwise."""
    receipts = played.receipts()
    other = place_at(played.place.address)
    other.append(Receipt(receipts[0].key, 0, 50, receipts[0].parts, 0.0).to_line())
    other.append(receipts[1].to_line())
    assert Run(played.place.address).receipts() == receipts
    assert Run(played.place.address).lazy("tosses").collect().height == 50


def test_the_lock(played: Run, tmp_path: Path) -> None:
    with (
        played.writer(),
        pytest.raises(StoreError, match=rf"another simfarm is playing .*process {os.getpid()} on"),
    ):
        Run(played.place.address).writer()
    assert list((tmp_path / "store" / "run" / "lock").iterdir()) == []
    with Run(played.place.address).writer():
        pass


def test_a_dead_drivers_lock_is_taken_over_and_the_dead_finds_out(
    played: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = played.receipts()[0]
    monkeypatch.setattr(bucket, "BEAT", 3600.0)  # it is frozen: no sign of life
    with played.writer() as frozen:
        (claim,) = (tmp_path / "store" / "run" / "lock").iterdir()
        old = time.time() - bucket.LEASE - 1
        os.utime(claim, (old, old))
        assert played.place.driver()[1] is False
        with Run(played.place.address).writer() as second:
            assert played.place.driver()[1] is True
            second.commit(receipt)
            monkeypatch.setattr(bucket.Claim, "_is_late", lambda claim: True)
            with pytest.raises(StoreError, match="another simfarm took this run over"):
                frozen.commit(receipt)


def test_a_driver_that_lives_says_so(played: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket, "BEAT", 0.01)
    with played.writer():
        (claim,) = (tmp_path / "store" / "run" / "lock").iterdir()
        os.utime(claim, (1000, 1000))
        ended = time.monotonic() + 10
        while played.place.driver()[1] is False and time.monotonic() < ended:
            time.sleep(0.01)
        assert played.place.driver()[1] is True


def test_workers_that_do_not_reach_the_store_send_parts_home(coin: Coin) -> None:
    """The memory of this process is a store that no other process sees."""
    pytest.importorskip("fsspec")
    run = Run.create("memory://bucket/run", coin(games=50))
    runs.play(run, LocalExecutor(1), lambda progress: None)
    assert Run("memory://bucket/run").lazy("tosses").collect().height == 50


def test_what_cannot_be_opened(tmp_path: Path, coin: Coin) -> None:
    with pytest.raises(StoreError, match="nix://a/b: cannot be opened: "):
        exists("nix://a/b")
    with pytest.raises(StoreError, match="no run here"):
        Run(f"file://{tmp_path}/none")
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(StoreError, match="neither a run folder nor empty"):
        Run.create(f"file://{tmp_path}", coin())
    with pytest.raises(StoreError, match="a run folder is needed here, not a URI"):
        _ = Run.create(f"file://{tmp_path}/run", coin()).path


def test_a_run_is_not_opened_as_what_it_is_not(played: Run, coin: Coin, tmp_path: Path) -> None:
    """As a folder it would look empty, and would be played again beside its own rows."""
    with pytest.raises(StoreError, match="made as an object store, not as a folder; open it by file:///"):
        Run(tmp_path / "store" / "run")
    folder = Run.create(tmp_path / "run", coin(games=50))
    with pytest.raises(StoreError, match="made as a folder, not as an object store; open it by a plain path"):
        Run.create(f"file://{folder.path}", coin(games=50))


def test_a_password_is_not_shown() -> None:
    assert str(place_at("s3://key:secret@bucket/run?region=eu-west-1&scheme=http")) == "s3://bucket/run"


@pytest.mark.slow
def test_a_real_s3_server(coin: Coin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Over HTTP on loopback, workers in processes of their own."""
    pytest.importorskip("moto", reason="pip install moto flask flask-cors")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"
    with open(tmp_path / "server.log", "wb") as log:
        server = subprocess.Popen([sys.executable, "-c", script], stdout=log, stderr=log)
    try:
        ended = time.monotonic() + 60
        while time.monotonic() < ended:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        store = "s3://bucket/runs/one"
        with pytest.raises(StoreError, match=r"s3://bucket/runs/one: cannot be written: .*NO_SUCH_BUCKET"):
            Run.create(store, coin(games=50))
        fs.FileSystem.from_uri("s3://bucket/?allow_bucket_creation=true")[0].create_dir("bucket")
        run = Run.create(store, coin(games=50))
        with run.writer(), pytest.raises(StoreError, match="another simfarm is playing this run"):
            Run(store).writer()
        runs.play(run, LocalExecutor(2), lambda progress: None)
        assert Run(store).lazy("tosses").collect().height == 50
        run.place.remove(next(name for name in run.place.sizes("parts")))
        assert 0 < play(Run(store)).played < 50
        assert Run(store).lazy("tosses").collect().height == 50
        assert verify(store).passed
    finally:
        server.terminate()
        server.wait()
