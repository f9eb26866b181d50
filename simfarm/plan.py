"""From matchups to shards, lazily, and how large a shard should be.

What is missing is an anti-join: the planned blocks of each matchup minus the committed ones. The size of a shard
follows the speed measured so far, and no row depends on it: shards start and end at multiples of the engine's
segment.
"""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from simfarm import registry
from simfarm.config import RunConfig
from simfarm.core.cores import own_core
from simfarm.core.engine import Engine
from simfarm.core.model import Matchup, Shard
from simfarm.schema import arrow_schema, complete
from simfarm.store import Coverage, Receipt, encode

SHARD_SECONDS = 4.0
"""A shard should take about this long: long against the cost of handing it out, short against a crash."""
LAST_SECONDS = 0.25
"""Towards the end shards shrink to this, so that no worker idles while another finishes."""
SHARD_GAMES = 2_000_000
"""A shard has at most this many games, however quick they are: its rows lie in a worker's memory."""
SAMPLES = 8
"""An estimate plays a little of at most this many matchups."""
GROWTH = 8
"""A shard is at most this many times the largest one that has been timed."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Blocks of a matchup that are planned and not committed."""

    matchup: Matchup
    key: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Size:
    """How much a plan is, counted one matchup at a time: nothing is kept of any."""

    matchups: int
    games: int
    """Games planned."""
    games_to_play: int
    """Games of them that are not committed."""
    blocks_to_play: int
    gaps: int
    """Stretches of blocks that are missing; each is one shard at least."""


def size_of(config: RunConfig, committed: Coverage) -> Size:
    """Count a plan and what is missing of it."""
    matchups = games = to_play = blocks = missing = 0
    for key, matchup in config.planned():
        matchups += 1
        games += (matchup.stop - matchup.start) * matchup.games
        for gap in _gaps_of(key, matchup, committed):
            missing += 1
            blocks += gap.stop - gap.start
            to_play += (gap.stop - gap.start) * matchup.games
    return Size(matchups, games, to_play, blocks, missing)


def gaps(config: RunConfig, committed: Coverage) -> Iterator[Gap]:
    """What is missing of a run, matchup by matchup, lazily: planned blocks minus those that are committed."""
    for key, matchup in config.planned():
        yield from _gaps_of(key, matchup, committed)


def _gaps_of(key: str, matchup: Matchup, committed: Coverage) -> Iterator[Gap]:
    position = matchup.start
    for start, stop in committed.ranges(key):
        if position < min(start, matchup.stop):
            yield Gap(matchup, key, position, min(start, matchup.stop))
        position = max(position, stop)
    if position < matchup.stop:
        yield Gap(matchup, key, position, matchup.stop)


class Pace:
    """Chooses the size of the next shard from what earlier ones took.

    Args:
        workers: how many shards are played at once.
        blocks: how many blocks there are to play.
    """

    def __init__(self, workers: int, blocks: int) -> None:
        self._workers = workers
        self._remaining = blocks
        self._largest = 0
        self._rate = 0.0

    def note(self, blocks: int, seconds: float) -> None:
        """A shard of that many blocks took that long on its worker."""
        rate = blocks / max(seconds, 1e-6)
        weight = min(1.0, blocks / max(self._largest, 1))
        self._rate = rate if self._rate == 0 else self._rate + 0.5 * weight * (rate - self._rate)
        self._largest = max(self._largest, blocks)

    def next_size(self) -> int:
        """Blocks that the next shard should have; 1 while nothing is known."""
        if self._rate == 0:
            return 1
        fair = self._remaining / (2 * self._workers)
        wanted = min(self._rate * SHARD_SECONDS, max(fair, self._rate * LAST_SECONDS), GROWTH * self._largest)
        return max(1, int(wanted))

    def cut(self, blocks: int) -> None:
        """That many blocks have been handed out."""
        self._remaining -= blocks


def cut(engine: Engine, missing: Iterable[Gap], pace: Pace) -> Iterator[Shard]:
    """Cut gaps into shards, each when it is asked for and as large as the pace says then."""
    for gap in missing:
        segment = engine.segment(gap.matchup)
        start = gap.start
        while start < gap.stop:
            size = min(pace.next_size(), SHARD_GAMES // gap.matchup.games)
            segments = max(1, round(size / segment))
            stop = min((start // segment + segments) * segment, gap.stop)
            pace.cut(stop - start)
            yield Shard(gap.matchup, gap.key, start, stop)
            start = stop


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will be, from a short calibration."""

    matchups: int
    games: int
    """Games planned."""
    games_done: int
    """Games of them that are committed."""
    cells_done: int
    """Committed shards that count."""
    shards: int
    """Shards still to play, about."""
    seconds: float
    """Wall time still to go, about."""
    rows: int
    """Rows of all tables once everything is played, about."""
    bytes: int
    """Their size on disk, about."""
    games_per_second: float
    """Speed of one worker in the calibration."""


def estimate(config: RunConfig, receipts: Iterable[Receipt], workers: int, seconds: float = 1.0) -> Estimate:
    """Estimate a run by playing a little of a few matchups that are missing, spread over the plan; the rows are
    thrown away. Matchups in between are taken to be like the mean of those.

    Args:
        config: the run's config.
        receipts: what is committed of it.
        workers: how many shards will be played at once.
        seconds: about how long to calibrate, over all samples; each plays one segment at least.
    """
    committed = Coverage()
    cells = rows = size = 0
    for receipt in receipts:
        committed.add(receipt.key, receipt.start, receipt.stop)
        cells += 1
        rows += sum(part.rows for part in receipt.parts.values())
        size += sum(part.bytes for part in receipt.parts.values())
    plan = size_of(config, committed)
    wall = 0.0
    if plan.gaps:
        chosen = {index * plan.gaps // SAMPLES for index in range(SAMPLES)}
        samples = [
            _calibrate(config, gap, seconds / len(chosen))
            for index, gap in enumerate(gaps(config, committed))
            if index in chosen
        ]
        wall = plan.blocks_to_play * fmean(sample.seconds for sample in samples) / workers
        rows += round(plan.blocks_to_play * fmean(sample.rows for sample in samples))
        size += round(plan.blocks_to_play * fmean(sample.bytes for sample in samples))
    return Estimate(
        matchups=plan.matchups,
        games=plan.games,
        games_done=plan.games - plan.games_to_play,
        cells_done=cells,
        shards=max(plan.gaps, round(wall * workers / SHARD_SECONDS)),
        seconds=wall,
        rows=rows,
        bytes=size,
        games_per_second=plan.games_to_play / wall / workers if wall else 0.0,
    )


@dataclass(frozen=True, slots=True)
class DryRun:
    """What cutting a whole plan into shards takes, counted by doing it; nothing is played."""

    matchups: int
    shards: int
    games: int
    """Games in those shards."""
    seconds: float
    """Wall time of it."""
    memory: int
    """Bytes of memory that this process held before."""
    peak: int
    """The most that it held meanwhile."""


def dry_run(config: RunConfig, committed: Coverage, workers: int, games_per_second: float) -> DryRun:
    """Cut everything that is missing into shards, as a run's driver does, as if they were played at a given speed.

    Args:
        config: the run's config.
        committed: what is committed.
        workers: how many shards would be played at once.
        games_per_second: the speed of one worker.
    """
    started = time.monotonic()
    before = peak = memory()
    plan = size_of(config, committed)
    pace = Pace(workers, plan.blocks_to_play)
    shards = games = 0
    for shard in cut(registry.engine(config.engine), gaps(config, committed), pace):
        shards += 1
        games += shard.blocks * shard.matchup.games
        pace.note(shard.blocks, shard.blocks * shard.matchup.games / games_per_second)
        if shards % 256 == 0:
            peak = max(peak, memory())
    return DryRun(plan.matchups, shards, games, time.monotonic() - started, before, max(peak, memory()))


def memory() -> int:
    """Resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class _Sample:
    """What one block of a matchup takes."""

    seconds: float
    rows: float
    bytes: float


def _calibrate(config: RunConfig, gap: Gap, seconds: float) -> _Sample:
    engine = registry.engine(config.engine)
    pace = Pace(1, gap.stop - gap.start)
    deadline = time.monotonic() + seconds
    for shard in cut(engine, [gap], pace):
        started = time.monotonic()
        with own_core():
            tables = engine.play(shard)
        took = time.monotonic() - started
        pace.note(shard.blocks, took)
        if time.monotonic() >= deadline:
            break
    rows = size = 0
    for table in engine.tables:
        if not table.optional or table.name in config.record:
            part = complete(tables[table.name], arrow_schema(table, engine.name, engine.version), shard.key)
            rows += part.num_rows
            size += len(encode(part))
    return _Sample(took / shard.blocks, rows / shard.blocks, size / shard.blocks)
