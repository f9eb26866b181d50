"""UNO: the referee against a plain one, workers against one worker, and a whole run of 20,000,000 games."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from engines.uno.engine import UnoEngine, UnoRules
from engines.uno.pack import build_command, write_pack
from engines.uno.program import BOT_FLAGS, Level, Variant, wall_flags
from simfarm import query
from simfarm import run as runs
from simfarm.config import RunConfig, build_config
from simfarm.core import native
from simfarm.core.model import Matchup
from simfarm.executors.local import LocalExecutor
from simfarm.report.significance import significance
from simfarm.store import Run
from tests.bench.figures import Figure, at_least, at_most, ratio, seconds_of, shown

ROOT = Path(__file__).parents[2]
HOUSE = ("veteran", "sparring_points", "sparring_tempo", "sparring_colour")
EXACT = {"turns": (61.199, 33.20), "points": (115.036, 48.19)}
"""Mean and standard deviation per game of four bots that play their first playable card, from the rules."""


def figures() -> Iterator[Figure]:
    """See the module."""
    for names in (("first_legal",) * 4, HOUSE):
        yield _against_the_plain_referee(names)
    yield _walls()
    yield _wasm()
    yield _pack()
    yield _two_workers()
    yield from _official_size()
    yield from _exact_values()


def _config(names: tuple[str, ...], games: int, seed: int = 2013) -> RunConfig:
    bundled = UnoEngine().bundled()
    specs = [replace(bundled[name], name=f"{name}_{seat}") for seat, name in enumerate(names)]
    return build_config("uno", specs, seed=seed, plan={"planner": "ring", "games": games}, where="bench")


def _matchup(names: tuple[str, ...], games: int) -> Matchup:
    return next(matchup for _, matchup in _config(names, games).planned())


def _plain_program(names: tuple[str, ...]) -> Path:
    bots = ROOT / "engines" / "uno" / "bots"
    sources = {"proj2.h": (ROOT / "engines" / "uno" / "referee" / "proj2.h").read_bytes()}
    sources |= {f"{name}.c": (bots / f"{name}.c").read_bytes() for name in set(names)}
    sources["plain.c"] = (ROOT / "tests" / "bench" / "plain_referee.c").read_bytes()
    glue = tuple(f"-DBOT{seat}={name}_Play" for seat, name in enumerate(names))
    units = [native.Unit("plain.c", ("-O2", "-fno-pie", *glue))]
    units += [native.Unit(f"{name}.c", (*BOT_FLAGS, "-fno-pie", *wall_flags())) for name in sorted(set(names))]
    return native.build(sources, units, ["-lm", "-no-pie"], "plain")


def _against_the_plain_referee(names: tuple[str, ...], games: int = 480_000) -> Figure:
    """Same bots, same flags, same number of games, one core each, taken in turn."""
    plain, engine = _plain_program(names), UnoEngine()
    matchup = replace(_matchup(names, games), rules=UnoRules(level=Level.NATIVE))
    engine.check(matchup)
    value = ratio(
        lambda: subprocess.run([plain, str(games), "1"], check=True, stdout=subprocess.DEVNULL),
        lambda: engine._run(matchup, 0, games, Variant.FAST),
    )
    what = "UNO, level native, one core, games/s of the referee over those of a plain one"
    if len(set(names)) == 1:
        return at_least(f"{what}, bots that cost next to nothing (four {names[0]})", value, 1.7)
    return shown(f"{what}, bots that compute most of the time ({', '.join(names)})", value)


def _walls() -> Figure:
    """The referee without walls, and with those of level native."""
    matchup = _at(Level.NATIVE)
    value = 100 * (1 - _processor_ratio(matchup, Variant.OPEN, matchup, Variant.FAST))
    return at_most("UNO, speed that the walls of level native cost", value, 5, " %", 1)


def _wasm() -> Figure:
    """Level wasm against level native."""
    value = 100 * _processor_ratio(_at(Level.NATIVE), Variant.FAST, _at(Level.WASM), Variant.FAST)
    return at_least("UNO, speed of level wasm in that of level native", value, 90, " %", 1)


def _pack(games: int = 1_000_000) -> Figure:
    """The author's pack, referee and summary on one core together."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pack(folder, UnoEngine.bots)
        shutil.copy(UnoEngine.bots / "veteran.c", folder)
        subprocess.run(build_command(HOUSE), shell=True, cwd=folder, check=True)
        core = {min(os.sched_getaffinity(0))}
        took = seconds_of(
            lambda: subprocess.run(
                ["./uno", str(games)],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
                preexec_fn=lambda: os.sched_setaffinity(0, core),
            )
        )
    return at_least("UNO, games/s of the author's pack on one core, house bots", games / took, 75_000, digits=0)


def _at(level: Level, games: int = 120_000) -> Matchup:
    return replace(_matchup(HOUSE, games), rules=UnoRules(level=level))


def _processor_ratio(first: Matchup, variant: Variant, second: Matchup, other: Variant, rounds: int = 12) -> float:
    """Processor time of the first over that of the second, the least of each over rounds taken in turn: these differ
    by a few percent, which the wall time of a shared machine does not show."""
    engine = UnoEngine()
    commands = [engine.command(first, 0, first.stop, variant), engine.command(second, 0, second.stop, other)]
    least = [float("inf")] * 2
    for _ in range(rounds):
        for place, (program, arguments) in enumerate(commands):
            running = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(running.pid, 0)
            assert status == 0
            least[place] = min(least[place], usage.ru_utime + usage.ru_stime)
    return least[0] / least[1]


def _play(config: RunConfig, workers: int, folder: Path) -> float:
    return seconds_of(lambda: runs.play(Run.create(folder, config), LocalExecutor(workers), lambda progress: None))


def _two_workers(games: int = 2_400_000) -> Figure:
    """Speed of two workers over one, start-up of the workers left out by a difference of two sizes."""
    engine = UnoEngine()
    engine.check(_matchup(HOUSE, games))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(3):
            took = {}
            for workers in (1, 2):
                small, large = (
                    _play(_config(HOUSE, size), workers, Path(folder) / f"{turn}-{workers}-{size}")
                    for size in (games // 8, games)
                )
                took[workers] = large - small
            found.append(took[1] / took[2])
    return at_least("UNO, speed of two workers over one, rows written", statistics.median(found), 1.9)


def _official_size(games: int = 20_000_000) -> Iterator[Figure]:
    """The main event in a process of its own, as a user starts it, beside the bare referee on every core."""
    cores = len(os.sched_getaffinity(0))
    matchup, engine = _matchup(HOUSE, games), UnoEngine()
    bare = _bare_speed(engine, matchup, cores)
    with tempfile.TemporaryDirectory() as folder:
        script = "from simfarm.__main__ import main; main()"
        config = str(ROOT / "configs" / "uno-main-event.toml")
        started = time.perf_counter()
        driver = subprocess.Popen([sys.executable, "-c", script, "run", config, "-q", "--out", f"{folder}/run"])
        _, status, usage = os.wait4(driver.pid, 0)
        run = Run(Path(folder) / "run")
        report_seconds = seconds_of(lambda: significance(run).json())
        seconds = time.perf_counter() - started
        assert status == 0
        bare_after = _bare_speed(engine, matchup, cores)
        size = sum(path.stat().st_size for path in (run.path / "parts").rglob("*.parquet"))
        statement = "select winner_bot, count(*) n, sum(points) p from games group by 1 order by p desc"
        query.sql(run, statement)
        query_seconds = statistics.median(seconds_of(lambda: query.sql(run, statement)) for _ in range(5))
        sigma = significance(run).data["bots"][1]["sigma_pp"]
        page = [sys.executable, "-m", "simfarm", "report", "html", str(run.path), "--out", f"{folder}/page.html"]
        started = time.perf_counter()
        _, status, page_usage = os.wait4(subprocess.Popen(page, stdout=subprocess.DEVNULL).pid, 0)
        page_seconds = time.perf_counter() - started
        assert status == 0
    whole = f"UNO, {games:,} games of the house bots on {cores} cores"
    yield at_most(f"{whole}, rows and report included", seconds, 75, " s", 0)
    part = games / seconds / ((bare + bare_after) / 2)
    yield at_least(f"{whole}: speed over that of the bare referee on as many cores", part, 0.9)
    yield at_most("UNO, peak memory of that run's driver", usage.ru_maxrss / 1024, 500, " MB", 0)
    yield at_most("UNO, rows on disk", size / games, 8, " bytes a game")
    yield at_most(f"UNO, query that groups {games:,} rows, checksums verified before", query_seconds, 1, " s")
    yield at_most(f"UNO, significance report over {games:,} rows", report_seconds, 10, " s", 1)
    yield at_most(
        f"UNO, page of all reports over {games:,} rows, start of the command included", page_seconds, 10, " s", 1
    )
    yield at_most("UNO, peak memory of that", page_usage.ru_maxrss / 1024, 2000, " MB", 0)
    assert sigma is not None
    yield at_most("UNO, sigma of a margin at that size", sigma, 0.018, " pp", 4)


def _bare_speed(engine: UnoEngine, matchup: Matchup, cores: int, games: int = 720_000) -> float:
    """Games per second of the referee's program on all cores at once, nothing done with its records."""
    program, arguments = engine.command(matchup, 0, games, Variant.FAST)
    started = time.perf_counter()
    running = [
        subprocess.Popen(["taskset", "-c", str(core), program, *arguments], stdout=subprocess.DEVNULL)
        for core in sorted(os.sched_getaffinity(0))[:cores]
    ]
    assert all(process.wait() == 0 for process in running)
    return cores * games / (time.perf_counter() - started)


def _exact_values(games: int = 5_000_000) -> Iterator[Figure]:
    """Four equal bots: the means that the rules imply, and a quarter of the points each."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder) / "run", _config(("first_legal",) * 4, games))
        runs.play(run, LocalExecutor(), lambda progress: None)
        rows = query.sql(Run(run.path), "select avg(turns) turns, avg(points) points from games")
        for name, (mean, deviation) in EXACT.items():
            off = (rows[name].item() - mean) / (deviation / games**0.5)
            yield at_most(f"UNO, four first_legal, {name} per game off {mean} in standard errors", abs(off), 4)
        bots = significance(Run(run.path)).data["bots"]
        off = max(abs(bot["share_percent"] - 25) / bot["share_error_pp"] for bot in bots)
        yield at_most("UNO, four first_legal, largest distance of a share from 25 % in sigma", off, 4)
