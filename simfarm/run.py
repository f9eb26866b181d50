"""Carry a config out: plan, dispatch, commit, progress. Nothing flows back."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from simfarm import registry
from simfarm.config import RunConfig
from simfarm.core.errors import ConfigError, ExecutorError
from simfarm.core.model import Shard
from simfarm.executors import ATTEMPTS, Executor, GivenUp
from simfarm.plan import Gap, Pace, cut, gaps, size_of
from simfarm.store import Coverage, Failure, Receipt, Run
from simfarm.worker import Task, play_shard

MOST_GIVEN_UP = 16
"""With more shards than this given up it is not a shard that is at fault, and the run ends."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, after a commit."""

    receipt: Receipt | None
    """The shard that was committed; None before the first."""
    games: int
    """Games committed, those of earlier sittings included."""
    total: int
    """Games planned."""
    played: int
    """Games committed in this sitting."""
    seconds: float
    """Wall time of this sitting."""

    @property
    def games_per_second(self) -> float:
        """Speed of this sitting, over all workers."""
        return self.played / self.seconds if self.seconds > 0 else 0.0


class Until(Protocol):
    """What ends a run before its plan does."""

    def order(self, missing: Iterable[Gap]) -> Iterator[Gap]:
        """What is to be played, in the order of play."""

    def reached(self, receipt: Receipt | None) -> bool:
        """Whether to stop, asked once before the first shard (None) and after every commit."""


def check(config: RunConfig) -> None:
    """Make sure that every matchup of a config can be played on this machine, before anything is written.

    Raises:
        SimfarmError: one cannot.
    """
    engine = registry.engine(config.engine)
    for key, matchup in config.planned():
        if not 0 <= matchup.start < matchup.stop <= 2**32:
            raise ConfigError(f"matchup {key}: blocks {matchup.start} to {matchup.stop} are out of range")
        engine.check(matchup)


def play(run: Run, executor: Executor, report: Callable[[Progress], None], until: Until | None = None) -> Progress:
    """Play all that is missing of a run and commit it, shard by shard.

    Args:
        run: the run.
        executor: where shards are played.
        report: called once before the first shard and after every commit.
        until: ends the run when it says so; None: all is played.

    Returns:
        The last progress.

    Raises:
        ExecutorError: shards were given up; the rest of the run is committed, unless they are many.
        SimfarmError: something the user can mend; what was committed stays.
        KeyboardInterrupt: likewise; the next call goes on from there.
    """
    started = time.monotonic()
    with run.writer() as writer:
        committed = Coverage.of(run.committed())
        plan = size_of(run.config, committed)
        missing: Iterable[Gap] = gaps(run.config, committed)
        to_play, blocks = plan.games_to_play, plan.blocks_to_play
        if until is not None:
            missing = list(until.order(missing))
            to_play = sum((gap.stop - gap.start) * gap.matchup.games for gap in missing)
            blocks = sum(gap.stop - gap.start for gap in missing)
        done = plan.games - plan.games_to_play
        progress = Progress(None, done, done + to_play, 0, 0.0)
        report(progress)
        if not to_play or (until is not None and until.reached(None)):
            return progress
        pace = Pace(executor.workers, blocks)
        shards = cut(run.engine, missing, pace)
        failed: list[GivenUp[Shard]] = []
        # closed here: in a traceback that is kept, an open generator would keep its workers until the program's end
        with closing(executor.map(partial(play_shard, Task.of(writer)), shards)) as results:
            for delivery in results:
                if isinstance(delivery, GivenUp):
                    failed.append(delivery)
                    writer.give_up(_failure(delivery))
                    if len(failed) > MOST_GIVEN_UP:
                        break
                    continue
                receipt = delivery.receipt
                writer.commit(receipt, delivery.data)
                pace.note(receipt.stop - receipt.start, receipt.seconds)
                games, played = progress.games + delivery.games, progress.played + delivery.games
                progress = Progress(receipt, games, progress.total, played, time.monotonic() - started)
                report(progress)
                if until is not None and until.reached(receipt):
                    break
    if failed:
        raise ExecutorError(_given_up(run, failed))
    return progress


def _failure(failed: GivenUp[Shard]) -> Failure:
    shard, now = failed.item, datetime.now(UTC).isoformat(timespec="seconds")
    return Failure(shard.key, shard.start, shard.stop, failed.reason, failed.detail, now)


def _given_up(run: Run, failed: list[GivenUp[Shard]]) -> str:
    """What became of the shards that no worker could play, the first one in full."""
    first = failed[0]
    shards = "1 shard" if len(failed) == 1 else f"{len(failed)} shards"
    end = "the run was ended for it" if len(failed) > MOST_GIVEN_UP else "the rest of the run is committed"
    return (
        f"{shards} given up after {ATTEMPTS} tries, {end}; the same command tries again, simfarm status {run.place} "
        f"shows them; the first: blocks {first.item.start} to {first.item.stop} of matchup {first.item.key}: "
        f"{first.reason}: {first.detail}"
    )
