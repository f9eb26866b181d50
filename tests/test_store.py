"""The run folder: what counts as committed, and what is refused."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import getitem
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfarm import run as runs
from simfarm.core.errors import ConfigError, ExecutorError, SimfarmError, StoreError
from simfarm.core.model import Shard, Termination
from simfarm.executors.local import LocalExecutor
from simfarm.plan import gaps
from simfarm.status import Observer
from simfarm.store import Coverage, Driver, Failure, Run, encode, part_of, write_part
from simfarm.store.manifest import write_manifest
from simfarm.store.verify import verify
from simfarm.worker import Task, play_shard
from tests.conftest import Coin
from tests.inline import Inline


def play(run: Run) -> runs.Progress:
    return runs.play(run, Inline(), lambda progress: None)


@pytest.fixture
def played(coin: Coin, tmp_path: Path) -> Run:
    run = Run.create(tmp_path / "run", coin(games=50))
    play(run)
    return Run(run.path)


def parts(run: Run) -> list[Path]:
    return sorted((run.path / "parts" / "tosses").iterdir())


def test_a_run_can_be_read_when_its_sources_are_gone(played: Run, tmp_path: Path) -> None:
    for path in tmp_path.glob("*.txt"):
        path.unlink()
    again = Run(played.path)
    assert [bot.files[0].data for bot in again.config.bots] == [b"heads", b"tails"]
    assert again.lazy("tosses").collect().height == 50


def test_rows_carry_the_matchup_and_come_in_order_of_blocks(played: Run) -> None:
    rows = played.lazy("tosses").sort("block").collect()
    assert rows["block"].to_list() == list(range(50))
    assert rows["matchup"].unique().to_list() == list(played.matchups())


def test_a_part_without_a_receipt_does_not_count(played: Run) -> None:
    (played.path / "receipts.jsonl").write_bytes(b"")
    assert Run(played.path).lazy("tosses").collect().height == 0
    assert play(Run(played.path)).played == 50


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "gone"])
def test_a_damaged_part_is_played_again(played: Run, damage: str) -> None:
    before = played.lazy("tosses").sort("block").collect()
    path = parts(played)[-1]
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 4
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"flip": data, "cut": data[:-9], "empty": b""}[damage])
    damaged = Run(played.path)
    assert len(damaged.problems()) == 1
    assert damaged.lazy("tosses").collect().height < 50
    assert 0 < play(damaged).played < 50
    assert Run(played.path).lazy("tosses").sort("block").collect().equals(before)


def test_a_torn_receipt_is_dropped(played: Run) -> None:
    path = played.path / "receipts.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    lost = len(whole.splitlines()) - len(Run(played.path).receipts())
    assert lost == 1
    play(Run(played.path))
    assert Run(played.path).lazy("tosses").collect().height == 50
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_a_shard_that_was_played_twice_counts_once(played: Run) -> None:
    path = played.path / "receipts.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    assert Run(played.path).lazy("tosses").collect().height == 50


def test_a_receipt_that_overlaps_an_earlier_one_is_ignored(played: Run) -> None:
    receipts = played.receipts()
    wide = replace(receipts[0], start=0, stop=50)
    with played.writer() as writer:
        writer.commit(wide)
    assert Run(played.path).lazy("tosses").collect().height == 50


def test_another_config_is_refused_with_the_difference(played: Run, coin: Coin) -> None:
    with pytest.raises(StoreError, match=r"plan\.games is 50 there and 60 here; .*--out.*--update"):
        Run.create(played.path, coin(games=60))
    with pytest.raises(StoreError, match="bots: tails changed"):
        Run.create(played.path, coin(games=50, heads="heads", tails="heads"))
    with pytest.raises(StoreError, match="bots: without tails, with other added"):
        Run.create(played.path, coin(games=50, heads="heads", other="tails"))
    assert Run(played.path).lazy("tosses").collect().height == 50


def test_a_damaged_bot_is_written_again_from_its_source(played: Run, coin: Coin) -> None:
    config = coin(games=50)
    files = sorted((played.path / "bots").iterdir())
    files[0].write_bytes(b"worm")
    files[1].unlink()
    with pytest.raises(StoreError, match=r"bots/.*; simfarm run with the run's config writes it again"):
        Run(played.path)
    assert play(Run.create(played.path, config)).played == 0
    assert Run(played.path).lazy("tosses").collect().height == 50


def test_rows_of_a_newer_schema_are_refused(played: Run) -> None:
    path = played.path / "manifest.json"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 99'))
    with pytest.raises(StoreError, match="its rows have schema 99, this simfarm reads 1 to 1; a newer"):
        Run(played.path)


def test_a_late_worker_changes_nothing(coin: Coin, tmp_path: Path) -> None:
    """It plays a committed shard once more, with other bytes, as rows with times are."""
    run = Run.create(tmp_path / "run", coin(games=50))
    play(run)
    receipt = run.receipts()[-1]
    before = run.lazy("tosses").sort("block").collect()
    shard = Shard(run.matchups()[receipt.key], receipt.key, receipt.start, receipt.stop)
    data = encode(before.head(receipt.stop - receipt.start).to_arrow())
    write_part(run.place, part_of(shard, "tosses", receipt.stop - receipt.start, data), data)
    assert Run(run.path).problems() == []
    assert Run(run.path).lazy("tosses").sort("block").collect().equals(before)


def test_update_plays_only_what_is_missing(played: Run, coin: Coin) -> None:
    third = {"heads": "heads", "tails": "tails", "other": "tails"}
    run = Run.create(played.path, coin(games=60, **third), update=True)
    assert play(run).played == 10 + 2 * 60
    assert Run(played.path).lazy("tosses").collect().height == 3 * 60


def test_rows_of_cells_that_are_no_longer_planned_do_not_count(played: Run, coin: Coin) -> None:
    run = Run.create(played.path, coin(games=50, heads="heads", other="tails"), update=True)
    assert run.lazy("tosses").collect().height == 0


def test_only_planned_blocks_count(played: Run, coin: Coin) -> None:
    """After an update to fewer games, also of a shard that reaches beyond the plan."""
    before = played.lazy("tosses").collect()
    cut = next(receipt for receipt in played.receipts() if receipt.stop - receipt.start > 2)
    games = cut.start + 2
    run = Run.create(played.path, coin(games=games), update=True)
    assert run.lazy("tosses").collect().equals(before.head(games))
    assert sum(receipt.stop - receipt.start for receipt in run.receipts()) == games
    assert run.scan(run.receipts()[-1], "tosses").collect()["block"].to_list() == [games - 2, games - 1]
    assert play(run).played == 0
    assert Observer(run).look().games_done == games
    (run.path / played.receipts()[-1].parts["tosses"].path).unlink()
    assert Run(run.path).problems() == [], "what is gone beyond the plan is no matter"
    again = Run.create(played.path, coin(games=50), update=True)
    play(again)
    assert Run(played.path).lazy("tosses").collect().equals(before)


def test_a_worker_with_a_copy_of_the_folder_sends_its_parts_home(coin: Coin, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", coin(games=50))
    play(run)
    shutil.copytree(run.path, tmp_path / "copy")
    before = sorted((tmp_path / "copy").rglob("*"))
    ((key, matchup),) = run.matchups().items()
    with run.writer() as writer:
        task = replace(Task.of(writer), address=str(tmp_path / "copy"))
        delivery = play_shard(task, Shard(matchup, key, 60, 80))
        assert list(delivery.data) == ["tosses"]
        assert play_shard(Task.of(writer), Shard(matchup, key, 60, 80)).data == {}
    assert sorted((tmp_path / "copy").rglob("*")) == before


def test_a_worker_of_another_version_plays_nothing(played: Run) -> None:
    ((key, matchup),) = played.matchups().items()
    with played.writer() as writer:
        task = Task.of(writer)
    for place in range(3):
        versions = tuple("other" if at == place else version for at, version in enumerate(task.versions))
        with pytest.raises(
            ExecutorError, match=r"versions .* on the driver's machine; install the same everywhere"
        ):
            play_shard(replace(task, versions=versions), Shard(matchup, key, 0, 4))


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_run_that_is_moved_while_it_is_played(coin: Coin, tmp_path: Path, scheme: str) -> None:
    """No second folder grows at its old place."""
    run = Run.create(f"{scheme}{tmp_path}/run", coin(games=50))

    def move(progress: runs.Progress) -> None:
        if progress.receipt is not None:
            (tmp_path / "run").rename(tmp_path / "moved")

    with pytest.raises(StoreError, match="the run was moved or removed while it was played; what was committed"):
        runs.play(run, LocalExecutor(1), move)
    assert not [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    kept = sum(receipt.stop - receipt.start for receipt in Run(f"{scheme}{tmp_path}/moved").receipts())
    assert 0 < kept < 50
    for claim in (tmp_path / "moved" / "lock").glob("*.json"):
        claim.unlink()
    assert play(Run(f"{scheme}{tmp_path}/moved")).played == 50 - kept


def test_a_lock_that_is_removed_by_hand(played: Run) -> None:
    """Then a second driver gets one; the first finds out before it commits or gives up anything."""
    receipt = played.receipts()[0]
    failure = Failure(receipt.key, 0, 4, Termination.WORKER_DIED, "", "")
    with played.writer() as first:
        (played.path / "lock").unlink()
        with Run(played.path).writer() as second:
            with pytest.raises(StoreError, match="another simfarm took this run over"):
                first.commit(receipt)
            with pytest.raises(StoreError, match="another simfarm took this run over"):
                first.give_up(failure)
            second.commit(receipt)


def test_a_config_that_changes_under_a_driver(played: Run, coin: Coin) -> None:
    """Two commands at once: each makes the run its own before either of them plays."""
    first = Run.create(played.path, coin(games=60), update=True)
    Run.create(played.path, coin(games=70), update=True)
    with pytest.raises(StoreError, match="changed this run's config just now; run the same command again"):
        play(first)
    with pytest.raises(StoreError, match="another simfarm made or changed this run just now"):
        write_manifest(played.place, first.manifest, first.manifest, first.config)
    assert play(Run(played.path)).played == 20


def test_two_drivers(played: Run) -> None:
    with played.writer(), pytest.raises(StoreError, match="another simfarm is playing this run"):
        Run(played.path).writer()
    with Run(played.path).writer():
        pass


def test_a_run_that_is_being_played_keeps_its_config(played: Run, coin: Coin) -> None:
    before = (played.path / "manifest.json").read_bytes()
    with played.writer(), pytest.raises(StoreError, match="another simfarm is playing this run"):
        Run.create(played.path, coin(games=60), update=True)
    assert (played.path / "manifest.json").read_bytes() == before


def test_a_receipt_that_cannot_be_read_commits_nothing(played: Run) -> None:
    path = played.path / "receipts.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"\n", b"{}\n", lines[0][:-9] + b"\n", *lines[1:]]))
    left = Run(played.path).lazy("tosses").collect().height
    assert 0 < left < 50
    assert play(Run(played.path)).played == 50 - left


@pytest.mark.parametrize(
    "change",
    [
        {"start": 5, "stop": 3},
        {"stop": 2**40},
        {"start": "0"},
        {"key": ["k"]},
        {"key": "0" * 16},
        {"seconds": None},
        {"at": "now"},
        {"parts": {}},
        {"parts": {"tosses": [1, 2, 3, 4]}},
        {"parts": {"tosses": ["../x", 2, 3, "4"]}},
        {"parts": [[]]},
    ],
)
def test_an_edited_receipt_commits_nothing(played: Run, change: dict[str, object]) -> None:
    before = played.lazy("tosses").collect()
    first, *lines = played.place.lines()
    played.place.keep([json.dumps({**json.loads(first), **change}).encode() + b"\n", *lines])
    assert len(Run(played.path).receipts()) == len(lines)
    assert not verify(played.path).passed
    assert play(Run(played.path)).played > 0
    assert Run(played.path).lazy("tosses").collect().equals(before)


@pytest.mark.parametrize("text", ["{", "5", "[5]", "[{}]", '[{"reason": "worker_died"}]', "[" * 9999, "\xff"])
def test_a_damaged_list_of_what_was_given_up(played: Run, text: str) -> None:
    (played.path / "given_up.json").write_text(text, encoding="latin-1")
    with pytest.raises(StoreError, match=r"given_up\.json: cannot be read: "):
        played.given_up(Coverage())


@pytest.mark.parametrize(
    "change",
    [
        {"pid": "1"},
        {"pid": 0},
        {"pid": 2**40},
        {"host": 5},
        {"started": "now"},
        {"started": 5},
        {"log": 5},
        {"x": 1},
    ],
)
def test_a_damaged_lock_names_nobody(change: dict[str, object]) -> None:
    known = json.loads(Driver.this().to_json())
    assert Driver.from_json(json.dumps(known).encode()) is not None
    assert Driver.from_json(json.dumps({**known, **change}).encode()) is None


def test_status_by_a_clock_that_was_set_back(played: Run) -> None:
    with played.writer():
        known = json.loads((played.path / "lock").read_text())
        (played.path / "lock").write_text(json.dumps({**known, "started": "2999-01-01T00:00:00+00:00"}))
        lines = [json.dumps({**json.loads(line), "at": 4e10}).encode() + b"\n" for line in played.place.lines()]
        played.place.keep(lines)
        found = Observer(Run(played.path)).look()
    assert (found.running, found.games_per_second, found.seconds_left) == (True, None, None)


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 1}', "{", "\xff"])
def test_a_damaged_manifest(played: Run, text: str) -> None:
    (played.path / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(StoreError, match=r"manifest\.json: "):
        Run(played.path)


def _nodes(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from _nodes(value[key], (*path, key))  # type: ignore[index]


def test_an_edited_manifest(played: Run, coin: Coin) -> None:
    """Every value in it becomes every other kind: one line says so, or all is well."""
    path, config = played.path / "manifest.json", coin(games=50)
    text = path.read_text()
    told = []
    for at in _nodes(json.loads(text)):
        for wrong in (None, True, -1, 1.5, 2**70, "x", [], {}, [[]], {"a": 1}, ["x", 1]):
            manifest = wrong if not at else json.loads(text)
            if at:
                reduce(getitem, at[:-1], manifest)[at[-1]] = wrong
            for look in (Run, verify, lambda where: Run.create(where, config)):
                path.write_text(json.dumps(manifest))
                try:
                    look(played.path)
                except SimfarmError as error:
                    told.append(str(error))
    assert len(told) > 500
    assert not [text for text in told if "\n" in text]


def test_a_path_is_no_pattern(coin: Coin, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "g[1]*?", coin(games=10))
    assert play(run).played == 10
    assert Run(run.path).lazy("tosses").collect().height == 10
    assert run.scan(run.receipts()[0], "tosses").collect().height > 0


def test_what_is_no_run(tmp_path: Path, coin: Coin) -> None:
    with pytest.raises(StoreError, match="no run here"):
        Run(tmp_path / "none")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.doc").touch()
    with pytest.raises(StoreError, match="neither a run folder nor empty"):
        Run.create(tmp_path / "full", coin())
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="neither a run folder nor empty"):
        Run.create(tmp_path / "file", coin())
    with pytest.raises(StoreError, match="cannot be written: Not a directory"):
        Run.create(tmp_path / "file" / "run", coin())


def test_a_full_disk_loses_nothing(played: Run, coin: Coin) -> None:
    """The parts folder becomes a link to the device that is always full."""
    run = Run.create(played.path, coin(games=200), update=True)

    def fill(progress: runs.Progress) -> None:
        (run.path / "tmp").rmdir()
        os.symlink("/dev/full", run.path / "tmp")

    with pytest.raises(StoreError, match="committed rows are safe, run the same command again"):
        runs.play(run, Inline(), fill)
    (run.path / "tmp").unlink()
    assert Run(run.path).lazy("tosses").collect().height == 50
    assert play(Run(run.path)).played == 150


def test_unknown_table(played: Run) -> None:
    with pytest.raises(ConfigError, match="coin has no table 'games'; it has: tosses, details"):
        played.lazy("games")


def test_optional_tables(coin: Coin, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", coin(games=10, record=("details",)))
    play(run)
    assert Run(run.path).lazy("details").select(pl.len()).collect().item() == 10


def test_gaps_are_planned_minus_committed(coin: Coin) -> None:
    config = coin(games=50)
    (key,) = [key for key, _ in config.planned()]

    def missing(*ranges: tuple[int, int]) -> list[tuple[int, int]]:
        committed = Coverage()
        assert all(committed.add(key, start, stop) for start, stop in ranges)
        return [(gap.start, gap.stop) for gap in gaps(config, committed)]

    assert missing() == [(0, 50)]
    assert missing((0, 50)) == []
    assert missing((20, 30), (0, 10)) == [(10, 20), (30, 50)]
    assert missing((40, 50)) == [(0, 40)]
    assert missing((10, 80)) == [(0, 10)], "what is committed beyond the plan is no matter"
    assert missing((60, 80)) == [(0, 50)]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12))))
def test_coverage_takes_each_block_once(ranges: list[tuple[int, int]]) -> None:
    """Against a set of blocks."""
    covered, blocks = Coverage(), set[int]()
    for start, length in ranges:
        wanted = set(range(start, start + length))
        taken = covered.add("key", start, start + length)
        assert taken == blocks.isdisjoint(wanted)
        blocks |= wanted if taken else set()
    found = covered.ranges("key")
    assert [block for start, stop in found for block in range(start, stop)] == sorted(blocks)
    assert all(stop < start for (_, stop), (start, _) in pairwise(found)), "neighbours are one range"
    assert covered.covers("key", 3, 9) == blocks.issuperset(range(3, 9))
