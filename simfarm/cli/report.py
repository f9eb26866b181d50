"""``simfarm report``: verdicts and tables, all of them queries over committed rows."""

import typer
from rich.console import Console

from simfarm.cli.options import Format, FormatOption, RunPath, open_run
from simfarm.report.elimination import elimination as elimination_report
from simfarm.report.leaderboard import leaderboard as leaderboard_report
from simfarm.report.ratings import ratings as ratings_report
from simfarm.report.render import Report
from simfarm.report.significance import significance as significance_report

app = typer.Typer(help="Verdicts and tables over a run's rows.", no_args_is_help=True)


def show(report: Report, format: Format) -> None:
    """Write a report to stdout."""
    if format is Format.JSON:
        print(report.json())
    elif format is Format.MARKDOWN:
        print(report.markdown())
    else:
        report.text(Console())


@app.command()
def elimination(run: RunPath, format: FormatOption = Format.TEXT) -> None:
    """Who is last and goes: balances over all pairings, the pairing matrix, and how sure that is."""
    show(elimination_report(open_run(run)), format)


@app.command()
def significance(run: RunPath, format: FormatOption = Format.TEXT) -> None:
    """Who is better than the reference bot, and how sure that is: shares, margins, sigma, verdicts."""
    show(significance_report(open_run(run)), format)


@app.command()
def leaderboard(run: RunPath, format: FormatOption = Format.TEXT) -> None:
    """Mean scores with their errors, best first, and paired comparisons with the reference bot on the same blocks."""
    show(leaderboard_report(open_run(run)), format)


@app.command()
def ratings(run: RunPath, format: FormatOption = Format.TEXT) -> None:
    """Bradley-Terry ratings with intervals, and how often who was ahead of whom; none where no rating is finite."""
    show(ratings_report(open_run(run)), format)
