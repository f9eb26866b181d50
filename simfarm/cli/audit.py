"""``simfarm audit``: play committed rows again and compare."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from simfarm import audit as audits
from simfarm.cli.options import ExecutorName, PlainFormat, RunPath, Workers, make_executor, open_run
from simfarm.core.errors import ConfigError


def audit(
    run: RunPath,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help=f"Blocks to draw; default: {audits.SAMPLE}.")
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Every block instead of a sample.")] = False,
    wipe: Annotated[
        bool, typer.Option("--wipe", help="Wipe a bot's memory before every call: what it smuggles shows.")
    ] = False,
    executor: Annotated[ExecutorName, typer.Option(help="Where blocks are played.")] = ExecutorName.LOCAL,
    ray_address: Annotated[
        str | None, typer.Option(help="Join this Ray cluster ('auto': the one this machine belongs to).")
    ] = None,
    workers: Workers = None,
    format: Annotated[PlainFormat, typer.Option("--format", "-f", help="How to write it.")] = PlainFormat.TEXT,
) -> None:
    """Play committed blocks of a run again, in fresh processes, and compare row by row; exit code 1 on a difference.

    Example: simfarm audit uno-demo --sample 50
    """
    if whole and sample is not None:
        raise ConfigError("audit: give --sample or --all, not both")
    opened = open_run(run)
    count = None if whole else audits.SAMPLE if sample is None else sample
    found = audits.audit(opened, make_executor(executor, ray_address, workers), count, wipe=wipe)
    if format is PlainFormat.JSON:
        print(json.dumps({"run": str(opened.place), "passed": found.passed, **asdict(found)}, indent=2))
    else:
        _print(found)
    if not found.passed:
        raise typer.Exit(1)


def _print(found: audits.Audit) -> None:
    for line in found.damaged:
        print(f"damaged: {line}")
    for difference in found.differences:
        print(f"matchup {difference.matchup}, block {difference.block}, {difference.table}: {difference.what}")
    blocks = len({(difference.matchup, difference.block) for difference in found.differences})
    wiped = ", with bots' memory wiped before every call" if found.wiped else ""
    print(
        f"{found.blocks:,} blocks played again{wiped}, {found.rows:,} rows compared: "
        + ("no difference" if not blocks else f"{blocks:,} blocks differ")
    )
