"""``simfarm run`` and ``simfarm plan``."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from simfarm import registry
from simfarm import run as runs
from simfarm.cli.options import (
    ConfigPath,
    ExecutorName,
    ExecutorOption,
    Format,
    FormatOption,
    Out,
    Quiet,
    RayAddress,
    Workers,
    make_executor,
    out_place,
)
from simfarm.cli.progress import play
from simfarm.config import load_config
from simfarm.executors.local import LocalExecutor
from simfarm.plan import estimate
from simfarm.stats.tally import faults_by_bot
from simfarm.store import Run, exists, place_at


def run(
    config: ConfigPath,
    out: Out = None,
    executor: ExecutorOption = ExecutorName.LOCAL,
    ray_address: RayAddress = None,
    workers: Workers = None,
    update: Annotated[
        bool,
        typer.Option("--update", help="Let a changed config take over its folder; play what is missing."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Play a config: everything that its run folder does not hold yet.

    Run the same command again to go on after Ctrl-C, a crash or a full disk.

    Rows land in results/NAME/parts; look at them with `simfarm query` and `simfarm report`.
    """
    parsed = load_config(config)
    where = out_place(config, out)
    runs.check(parsed)
    target = Run.create(where, parsed, update=update)
    last = play(target, make_executor(executor, ray_address, workers), quiet=quiet)
    if not quiet:
        report = registry.engine(parsed.engine).default_report
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"{last.games:,} games in {target.place}"
            + (f", {last.played:,} of them now at {last.games_per_second:,.0f} games/s" if last.played else "")
            + "".join(f"\n{line}" for line in _faults(where))
            + f"\nnext: simfarm report {report} {where}",
            markup=False,
        )


def _faults(where: str) -> Iterator[str]:
    run = Run(where)
    for bot, terminations in faults_by_bot(run.lazy(run.engine.fault.table), run.engine.fault).items():
        times = ", ".join(f"{termination} {count:,}" for termination, count in terminations.items())
        yield f"{bot} is at fault: {times}"


def plan(
    config: ConfigPath,
    out: Out = None,
    workers: Workers = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say what a config would play, without writing anything: matchups, games, what is done, time and rows.

    The time comes from playing a second's worth of games and throwing them away.
    """
    parsed = load_config(config)
    where = out_place(config, out)
    runs.check(parsed)
    receipts = Run(where).committed({key for key, _ in parsed.planned()}) if exists(where) else []
    count = LocalExecutor(workers).workers
    found = estimate(parsed, receipts, count)
    if format is Format.JSON:
        print(
            json.dumps({"config": str(config), "folder": str(place_at(where)), "workers": count, **asdict(found)})
        )
        return
    minutes, seconds = divmod(round(found.seconds), 60)
    rows = [
        ("matchups", f"{found.matchups:,}"),
        ("games", f"{found.games:,}"),
        ("done", f"{found.games_done:,} games in {found.cells_done:,} cells of {place_at(where)}"),
        ("shards to play", f"about {found.shards:,}"),
        *(
            [
                ("speed", f"about {found.games_per_second:,.0f} games/s on one core"),
                ("time to go", f"about {minutes} min {seconds} s on {count} workers"),
            ]
            if found.games_done < found.games
            else []
        ),
        ("rows", f"about {found.rows:,}, {found.bytes / 1e6:,.1f} MB"),
    ]
    markdown = format is Format.MARKDOWN
    for name, value in rows:
        print(f"- {name}: {value}" if markdown else f"{name:<15} {value}")
