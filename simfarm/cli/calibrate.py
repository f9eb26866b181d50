"""``simfarm calibrate``: whether verdicts err as often as they say."""

from typing import Annotated

import typer

from simfarm.calibrate import calibrate as calibrate_report
from simfarm.cli.options import Format, FormatOption, Workers
from simfarm.cli.report import show
from simfarm.executors.local import LocalExecutor


def calibrate(
    games: Annotated[
        list[str] | None, typer.Argument(metavar="[GAME]...", help="Games; default: all that can be calibrated.")
    ] = None,
    tournaments: Annotated[
        int, typer.Option("--tournaments", min=100, max=1_000_000, help="Simulated tournaments for each check.")
    ] = 4000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the games and of the drawing.")] = 1,
    workers: Workers = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Count how often verdicts are false, intervals miss and differences are found, on rows of real games.

    Plays a few seconds of each game with one bot under two names and with two different ones, draws thousands of
    tournaments from the blocks, and compares the counts with what reports state and `simfarm power` predicts.

    Exit code 1: a rate does not hold.
    """
    report = calibrate_report(games or [], tournaments, seed, LocalExecutor(workers))
    show(report, format)
    if not report.data["holds"]:
        raise typer.Exit(1)
