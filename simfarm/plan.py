"""From matchups to shards, lazily, and how large a shard should be.

What is missing is an anti-join: the planned blocks of each matchup minus the committed ones. The size of a shard
follows the speed measured so far, and no row depends on it: shards start and end at multiples of the engine's
segment.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from simfarm import registry
from simfarm.config import RunConfig
from simfarm.core.cores import own_core
from simfarm.core.engine import Engine
from simfarm.core.model import Matchup, Shard
from simfarm.schema import arrow_schema, complete
from simfarm.store import Receipt, encode

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


def gaps(config: RunConfig, receipts: Iterable[Receipt]) -> Iterator[Gap]:
    """What is missing of a run, matchup by matchup, lazily: planned blocks minus those with receipts."""
    committed: dict[str, list[tuple[int, int]]] = {}
    for receipt in receipts:
        committed.setdefault(receipt.key, []).append((receipt.start, receipt.stop))
    for key, matchup in config.planned():
        position = matchup.start
        for start, stop in sorted(committed.get(key, [])):
            if position < start:
                yield Gap(matchup, key, position, start)
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


def estimate(config: RunConfig, receipts: Sequence[Receipt], workers: int, seconds: float = 1.0) -> Estimate:
    """Estimate a run by playing a little of a few matchups that are missing, spread over the plan; the rows are
    thrown away. Matchups in between are taken to be like the mean of those.

    Args:
        config: the run's config.
        receipts: what is committed.
        workers: how many shards will be played at once.
        seconds: about how long to calibrate, over all samples; each plays one segment at least.
    """
    matchups = games = missing = blocks = to_play = 0
    for _, matchup in config.planned():
        matchups += 1
        games += (matchup.stop - matchup.start) * matchup.games
    for gap in gaps(config, receipts):
        missing += 1
        blocks += gap.stop - gap.start
        to_play += (gap.stop - gap.start) * gap.matchup.games
    rows = sum(part.rows for receipt in receipts for part in receipt.parts.values())
    size = sum(part.bytes for receipt in receipts for part in receipt.parts.values())
    wall = 0.0
    if missing:
        chosen = {index * missing // SAMPLES for index in range(SAMPLES)}
        samples = [
            _calibrate(config, gap, seconds / len(chosen))
            for index, gap in enumerate(gaps(config, receipts))
            if index in chosen
        ]
        wall = blocks * fmean(sample.seconds for sample in samples) / workers
        rows += round(blocks * fmean(sample.rows for sample in samples))
        size += round(blocks * fmean(sample.bytes for sample in samples))
    return Estimate(
        matchups=matchups,
        games=games,
        games_done=games - to_play,
        cells_done=len(receipts),
        shards=max(missing, round(wall * workers / SHARD_SECONDS)),
        seconds=wall,
        rows=rows,
        bytes=size,
        games_per_second=to_play / wall / workers if wall else 0.0,
    )


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
