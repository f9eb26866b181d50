"""``simfarm power``: how many games a verdict needs."""

from enum import StrEnum
from typing import Annotated

import typer

from simfarm.cli.options import Format, FormatOption, open_run
from simfarm.cli.report import show
from simfarm.report.power import METHODS
from simfarm.report.power import power as power_report


class Method(StrEnum):
    """How a verdict is reached."""

    FIXED = "fixed"
    SEQUENTIAL = "sequential"


def power(
    source: Annotated[
        str, typer.Option("--from", metavar="RUN", help="The run whose variance is taken: its folder or name.")
    ],
    margin: Annotated[
        list[float] | None,
        typer.Option("--margin", "-m", help="True margin, in pp or score per block; repeat it for a table."),
    ] = None,
    method: Annotated[Method | None, typer.Option("--method", help="Default: both.")] = None,
    wanted: Annotated[
        float, typer.Option("--power", min=0.5, max=0.999, help="How often a run should find the margin.")
    ] = 0.9,
    games: Annotated[
        int | None, typer.Option("--games", min=100, help="Plan of the sequential rule; default: the run's.")
    ] = None,
    bot: Annotated[
        str | None, typer.Option("--bot", help="Whose difference; default: the one that varies most.")
    ] = None,
    runs: Annotated[
        int, typer.Option("--tournaments", min=100, max=1_000_000, help="Simulated runs for each margin.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the simulation.")] = 1,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say how many games a verdict needs for a true margin, from what a run has shown of its variance.

    For example: simfarm power --from uno-demo --margin 0.2 --games 20000000
    """
    methods = METHODS if method is None else (method.value,)
    margins = margin or [0.0, 0.05, 0.1, 0.2, 0.5, 1.0]
    report = power_report(
        open_run(source), margins, methods=methods, power=wanted, planned=games, bot=bot, runs=runs, seed=seed
    )
    show(report, format)
