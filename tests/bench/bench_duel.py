"""The duel: the walled referee against a plain one, a whole run against the walled referee, known means."""

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from engines.duel.engine import DuelEngine
from engines.duel.node import borrowed, node_binary
from engines.duel.records import GAME_FIELDS
from engines.duel.session import BlockRows, play_blocks
from jobs.duels import DuelOptions
from simfarm import query
from simfarm import run as runs
from simfarm.config import RunConfig, build_config
from simfarm.core.model import Matchup
from simfarm.executors.local import LocalExecutor
from simfarm.store import Run
from tests.bench.figures import Figure, at_least, at_most, seconds_of

ROOT = Path(__file__).parents[2]
BLOCK = DuelOptions().block
ENGINE = DuelEngine()


def figures() -> Iterator[Figure]:
    """See the module. The first figure is by CPU time: on one core that nobody else uses it is real time."""
    cores = os.sched_getaffinity(0)
    # One core for both sides of each ratio, as in a worker.
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield _against_the_plain_referee()
        yield _whole_run()
    finally:
        os.sched_setaffinity(0, cores)
    yield from _known_means()


def _config(first: str, second: str, games: int) -> RunConfig:
    bundled = ENGINE.bundled()
    specs = [replace(bundled[name], name=f"{name}_{side}") for side, name in enumerate((first, second))]
    return build_config("duel", specs, seed=2013, plan={"games": games, "block": BLOCK}, where="bench")


def _matchup(config: RunConfig) -> Matchup:
    return next(matchup for _, matchup in config.planned())


def _plain_rate(bot: str, games: int) -> float:
    """Rounds per second of CPU time of the plain referee."""
    file = str(ENGINE.bots / f"{bot}.js")
    script = str(ROOT / "tests" / "bench" / "plain_duel.mjs")
    command = [str(node_binary()), script, file, file, str(games), str(BLOCK)]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return float(told["rounds"] / told["cpu_seconds"])


def _walled(matchup: Matchup, blocks: int) -> tuple[int, float, float]:
    """Rounds, seconds of CPU time and of real time of the walled referee, from a process's start to its end, realms
    included, nothing done with its rows."""
    _end_process()
    before, began = os.times(), time.perf_counter()
    rounds = sum(_rounds(rows) for rows in play_blocks(matchup, 0, blocks))
    seconds = time.perf_counter() - began
    _end_process()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return rounds, used, seconds


def _end_process() -> None:
    with borrowed() as node:
        node.close()


def _rounds(rows: BlockRows) -> int:
    table = np.frombuffer(rows.games, "<i4").reshape(-1, len(GAME_FIELDS))
    return int(table[:, GAME_FIELDS.index("rounds")].sum())


def _against_the_plain_referee(blocks: int = 24, pairs: int = 5) -> Figure:
    matchup = _matchup(_config("odds", "odds", BLOCK * blocks))
    ratios = []
    for _ in range(pairs):
        rounds, used, _ = _walled(matchup, blocks)
        ratios.append(rounds / used / _plain_rate("odds", BLOCK * blocks))
    what = f"Duel, rounds per CPU second of the walled referee over a plain one's (odds, blocks of {BLOCK} games)"
    return at_least(what, statistics.median(ratios), 0.6)


def _play_seconds(run: Run) -> float:
    return seconds_of(lambda: runs.play(run, LocalExecutor(1), lambda progress: None))


def _whole_run(blocks: int = 24, pairs: int = 5) -> Figure:
    """Rounds per second of a run with one worker over those of the referee alone; starts are left out of both by a
    difference of two sizes."""
    matchup = _matchup(_config("odds", "odds", BLOCK * blocks))
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(pairs):
            run_seconds, bare_seconds = [], []
            for size in (blocks // 4, blocks):
                run = Run.create(Path(folder) / f"{turn}-{size}", _config("odds", "odds", BLOCK * size))
                run_seconds.append(_play_seconds(run))
                bare_seconds.append(_walled(matchup, size)[2])
            ratios.append((bare_seconds[1] - bare_seconds[0]) / (run_seconds[1] - run_seconds[0]))
    what = "Duel, one worker, rounds/s of a whole run, rows included, over those of the walled referee alone"
    return at_least(what, statistics.median(ratios), 0.8)


def _known_means(games: int = 200) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder) / "sample", _config("sample", "sample", games))
        runs.play(run, LocalExecutor(), lambda progress: None)
        row = query.sql(Run(run.path), "select sum(sets) s, sum(rounds) r, sum(turns) t from games").row(0)
        yield at_most(
            f"Duel, two sample bots, {row[0]:,} sets: rounds a set off 12.26", abs(row[1] / row[0] - 12.26), 0.2
        )
        yield at_most(
            "Duel, two sample bots: turns a round off 1.652", abs(row[2] / row[1] - 1.652), 0.01, digits=4
        )
        run = Run.create(Path(folder) / "odds", _config("odds", "sample", games))
        runs.play(run, LocalExecutor(), lambda progress: None)
        lost = query.sql(
            Run(run.path), "select count(*) from games where winner_bot is distinct from 'odds_0'"
        ).item()
        yield at_most(f"Duel, games of {games} that odds did not win against sample", lost, 0, digits=0)
