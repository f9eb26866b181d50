"""``simfarm verify``: is everything that a run keeps sound, and drop what is not."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from simfarm.cli.options import PlainFormat, RunPath, find_run
from simfarm.store import verify as verifying
from simfarm.store.manifest import place_at


def verify(
    run: RunPath,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Drop what cannot be trusted, so that the next run plays it, and stray files."
        ),
    ] = False,
    format: Annotated[PlainFormat, typer.Option("--format", "-f", help="How to write it.")] = PlainFormat.TEXT,
) -> None:
    """Check every receipt, part (checksum, rows, schema, cells) and bot of a run, and look for stray files.

    Exit code 1 if anything is wrong and was not mended. --repair loses no sound row, and waits for nobody: a run that
    is being played is refused.

    Example: simfarm verify uno-demo && simfarm report significance uno-demo
    """
    where = find_run(run)
    found = verifying.verify(where, repair=repair)
    if format is PlainFormat.JSON:
        data = {"run": str(place_at(where)), "passed": found.passed, **asdict(found)}
        print(json.dumps(data, indent=2))
    else:
        _print(found, repair=repair)
    if not found.passed:
        raise typer.Exit(1)


def _print(found: verifying.Verification, *, repair: bool) -> None:
    for finding in found.findings:
        print(f"{finding.kind} {finding.where}: {finding.problem}{' (dropped)' if finding.mended else ''}")
    sound = f"{found.receipts:,} receipts, {found.parts:,} parts with {found.rows:,} rows"
    if not found.findings:
        print(f"{sound} and {found.bots:,} bots' files: all sound")
        return
    print(f"{sound} are sound; {len(found.findings):,} problems")
    if found.dropped_blocks:
        print(f"{found.dropped_blocks:,} blocks do not count: simfarm run with the run's config plays them again")
    if any(finding.kind is verifying.Kind.BOT for finding in found.findings):
        print("bots' files are written again by simfarm run with the run's config")
    if not repair and any(finding.kind is not verifying.Kind.BOT for finding in found.findings):
        print("--repair drops them; no sound row is lost")
