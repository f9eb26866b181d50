"""``simfarm run`` and ``simfarm plan``."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
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
    out_folder,
)
from simfarm.cli.progress import play
from simfarm.config import load_config
from simfarm.core.errors import ConfigError
from simfarm.executors.local import LocalExecutor
from simfarm.plan import estimate
from simfarm.stats.tally import faults_by_bot
from simfarm.store import Run
from simfarm.until import UntilDecided


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
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Stop as soon as the verdict of the game's usual report is in, by the sequential rule: every bot "
            "against the reference, or who is last.",
        ),
    ] = False,
    max_games: Annotated[
        int | None, typer.Option("--max-games", min=1, help="With --until-decided: at most about so many games.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Play a config: everything that its run folder does not hold yet.

    Run the same command again to go on after Ctrl-C, a crash or a full disk.

    --until-decided sets `method = "sequential"` in the run's [verdict]: its bounds hold at every look, so that
    stopping early costs no certainty. Without it the plan is played whole, and the rule is the config's.

    Rows land in results/NAME/parts; look at them with `simfarm query` and `simfarm report`.
    """
    parsed = load_config(config)
    folder = out_folder(config, out)
    runs.check(parsed)
    if max_games is not None and not until_decided:
        raise ConfigError("--max-games goes with --until-decided")
    if until_decided:
        parsed = replace(parsed, verdict=parsed.verdict.model_copy(update={"method": "sequential"}))
    target = Run.create(folder, parsed, update=update)
    until = UntilDecided(target, max_games) if until_decided else None
    last = play(target, make_executor(executor, ray_address, workers), quiet=quiet, until=until)
    if not quiet:
        report = registry.engine(parsed.engine).default_report
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"{last.games:,} games in {folder}"
            + (f", {last.played:,} of them now at {last.games_per_second:,.0f} games/s" if last.played else "")
            + (f"\n{until.state.sentence()}" if until is not None else "")
            + "".join(f"\n{line}" for line in _faults(folder))
            + f"\nnext: simfarm report {report} {folder}",
            markup=False,
        )


def _faults(folder: Path) -> Iterator[str]:
    run = Run(folder)
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
    folder = out_folder(config, out)
    runs.check(parsed)
    present = (folder / "manifest.json").exists()
    receipts = Run(folder).receipts({key for key, _ in parsed.planned()}) if present else []
    count = LocalExecutor(workers).workers
    found = estimate(parsed, receipts, count)
    if format is Format.JSON:
        print(json.dumps({"config": str(config), "folder": str(folder), "workers": count, **asdict(found)}))
        return
    minutes, seconds = divmod(round(found.seconds), 60)
    rows = [
        ("matchups", f"{found.matchups:,}"),
        ("games", f"{found.games:,}"),
        ("done", f"{found.games_done:,} games in {found.cells_done:,} cells of {folder}"),
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
