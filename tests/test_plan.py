"""A plan is cut while it is played and never held as a whole: the driver's memory stays flat, by measurement."""

import json
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

from simfarm import plan
from simfarm import run as runs
from simfarm.core.model import Shard
from simfarm.executors import GivenUp, Item, Result
from simfarm.store import Coverage, Receipt, Run, part_of
from simfarm.worker import Delivery
from tests.conftest import Coin

BILLION = 'engine = "coin"\n[plan]\ngames = 1_000_000_000\n[[bots]]\nname = "heads"\n[[bots]]\nname = "tails"\n'


def test_a_billion_games_in_one_matchup(tmp_path: Path) -> None:
    """As a user asks for it."""
    (tmp_path / "c.toml").write_text(BILLION)
    command = [sys.executable, "-m", "simfarm", "plan", "c.toml", "--dry-run", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    cut = told["dry_run"]
    assert (told["matchups"], cut["games"]) == (1, 10**9)
    assert cut["shards"] > 500, "a shard is bounded"
    assert cut["peak"] - cut["memory"] < 20e6
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]


def many_bots(count: int) -> dict[str, str]:
    return {f"bot{index}": "heads" if index % 2 else "tails" for index in range(count)}


@pytest.mark.slow
def test_a_billion_games_in_200_000_matchups(coin: Coin) -> None:
    config = coin(games=5000, **many_bots(633))
    found = plan.dry_run(config, Coverage(), 2, 200_000.0)
    assert found.matchups == 633 * 632 // 2 == 200_028
    assert (found.shards >= found.matchups, found.games) == (True, 5000 * 200_028)
    assert found.peak - found.memory < 20e6, "100 bytes a matchup would be 20 MB"


class Weightless:
    """An executor that plays nothing and puts empty parts in their place: what is left is the driver."""

    workers = 2

    def __init__(self, run: Path) -> None:
        self.run = run
        (run / "parts" / "tosses").mkdir(parents=True, exist_ok=True)

    def map(
        self, function: Callable[[Item], Result], items: Iterator[Item]
    ) -> Generator[Result | GivenUp[Item], None, None]:
        """See :class:`simfarm.executors.Executor`."""
        for item in items:
            shard = cast(Shard, item)
            part = part_of(shard, "tosses", 0, b"")
            (self.run / part.path).touch()
            receipt = Receipt(shard.key, shard.start, shard.stop, {"tosses": part}, shard.blocks / 1e6)
            yield cast(Result, Delivery(receipt, {}, shard.blocks * shard.matchup.games))


@pytest.mark.slow
def test_the_driver_of_many_matchups(coin: Coin, tmp_path: Path) -> None:
    """The real loop, receipts written. What grows is read when a run goes on: ranges of committed blocks."""
    run = Run.create(tmp_path / "run", coin(games=50_000, **many_bots(120)))
    seen: list[int] = []

    def report(progress: runs.Progress) -> None:
        if progress.receipt is None or progress.games % 5_000_000 == 0:
            seen.append(plan.memory())

    last = runs.play(run, Weightless(run.path), report)
    assert last.games == 50_000 * 120 * 119 // 2
    assert len(seen) > 50
    assert max(seen) - seen[len(seen) // 10] < 5e6, "7,140 matchups at 700 bytes would be 5 MB"
    assert runs.play(Run(run.path), Weightless(run.path), lambda progress: None).played == 0
