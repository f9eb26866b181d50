"""``simfarm run`` and ``simfarm plan``."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from simfarm import background, registry
from simfarm import plan as plans
from simfarm import run as runs
from simfarm.cli.options import (
    RESULTS,
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
from simfarm.core.errors import ConfigError, ExecutorError
from simfarm.executors.local import LocalExecutor
from simfarm.stats.tally import faults_by_bot
from simfarm.store import Coverage, Run, exists, place_at
from simfarm.store.folder import Folder
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
    detach: Annotated[
        bool, typer.Option("--detach", help="Play in the background; simfarm status and simfarm stop reach it.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Play a config: everything that its run folder does not hold yet.

    Run the same command again to go on after Ctrl-C, a crash or a full disk. A run may lie on an object store:
    --out s3://bucket/run; every command that reads a run takes the same URI.

    --until-decided sets `method = "sequential"` in the run's table `verdict`: its bounds hold at every look, so that
    stopping early costs no certainty. Without it the plan is played whole, and the rule is the config's.

    Rows land in results/NAME/parts; look at them with `simfarm query` and `simfarm report`.
    """
    parsed = load_config(config)
    where = out_place(config, out)
    runs.check(parsed)
    if max_games is not None and not until_decided:
        raise ConfigError("--max-games goes with --until-decided")
    if until_decided:
        parsed = replace(parsed, verdict=parsed.verdict.model_copy(update={"method": "sequential"}))
    target = Run.create(where, parsed, update=update)
    until = UntilDecided(target, max_games) if until_decided else None
    if detach:
        _detach(target, where, config)
        return
    last = play(target, make_executor(executor, ray_address, workers), quiet=quiet, until=until)
    if not quiet:
        report = registry.engine(parsed.engine).default_report
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"{last.games:,} games in {target.place}"
            + (f", {last.played:,} of them now at {last.games_per_second:,.0f} games/s" if last.played else "")
            + (f"\n{until.state.sentence()}" if until is not None else "")
            + "".join(f"\n{line}" for line in _faults(where))
            + f"\nnext: simfarm report {report} {where}",
            markup=False,
        )


def _detach(run: Run, where: str, config: Path) -> None:
    """Start this very command again in the background."""
    log = run.place.path / "log" if isinstance(run.place, Folder) else RESULTS / f"{config.stem}.log"
    before = log.stat().st_size if log.exists() else 0
    pid, code = background.start([word for word in sys.argv[1:] if word != "--detach"], run.place, log)
    if code is not None:
        sys.stderr.write(log.read_bytes()[before:].decode(errors="replace"))
        if code < 0:
            raise ExecutorError(f"process {pid} was ended by signal {-code} before it began to play")
        if code:
            raise typer.Exit(code)
        return
    print(f"process {pid} plays {run.place}; its messages: {log}")
    print(f"look: simfarm status {where}    end it: simfarm stop {where}")


def _faults(where: str) -> Iterator[str]:
    run = Run(where)
    for bot, terminations in faults_by_bot(run.lazy(run.engine.fault.table), run.engine.fault).items():
        times = ", ".join(f"{termination} {count:,}" for termination, count in terminations.items())
        yield f"{bot} is at fault: {times}"


def plan(
    config: ConfigPath,
    out: Out = None,
    workers: Workers = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Cut the whole plan into shards as well; count them, time and memory."),
    ] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say what a config would play, without writing anything: matchups, games, what is done, time and rows.

    The time comes from playing a second's worth of games and throwing them away. A plan is cut while it is played and
    never held as a whole; --dry-run does all of the cutting, at the speed that was found, and shows what that takes.
    """
    parsed = load_config(config)
    where = out_place(config, out)
    runs.check(parsed)
    receipts = list(Run(where).committed({key for key, _ in parsed.planned()})) if exists(where) else []
    count = LocalExecutor(workers).workers
    found = plans.estimate(parsed, receipts, count)
    cut = plans.dry_run(parsed, Coverage.of(receipts), count, found.games_per_second) if dry_run else None
    if format is Format.JSON:
        told = {"config": str(config), "folder": str(place_at(where)), "workers": count, **asdict(found)}
        print(json.dumps({**told, "dry_run": asdict(cut)} if cut is not None else told))
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
        *(
            [
                ("dry run", f"{cut.shards:,} shards with {cut.games:,} games cut in {cut.seconds:,.1f} s"),
                ("memory", f"{cut.memory / 1e6:,.0f} MB before, at most {cut.peak / 1e6:,.0f} MB meanwhile"),
            ]
            if cut is not None
            else []
        ),
    ]
    markdown = format is Format.MARKDOWN
    for name, value in rows:
        print(f"- {name}: {value}" if markdown else f"{name:<15} {value}")
