"""``simfarm report``: verdicts and tables, all of them queries over committed rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from simfarm.cli.options import RESULTS, Format, FormatOption, RunPath, open_run
from simfarm.league import League
from simfarm.report.elimination import elimination as elimination_report
from simfarm.report.figure import ChartFormat, write_charts
from simfarm.report.leaderboard import leaderboard as leaderboard_report
from simfarm.report.page import Page
from simfarm.report.ratings import ratings as ratings_report
from simfarm.report.render import Report
from simfarm.report.significance import significance as significance_report
from simfarm.store import Run

app = typer.Typer(help="Verdicts and tables over a run's rows.", no_args_is_help=True)

Charts = Annotated[
    Path | None, typer.Option("--charts", metavar="DIR", help="Also write each chart of the page as a file there.")
]
ChartFormatOption = Annotated[ChartFormat, typer.Option("--chart-format", help="How to write chart files.")]


def show(report: Report, format: Format) -> None:
    """Write a report to stdout."""
    if format is Format.JSON:
        print(report.json())
    elif format is Format.MARKDOWN:
        print(report.markdown())
    else:
        report.text(Console())


@app.command()
def elimination(
    run: RunPath,
    format: FormatOption = Format.TEXT,
    charts: Charts = None,
    chart_format: ChartFormatOption = ChartFormat.SVG,
) -> None:
    """Who is last and goes: balances over all pairings, the pairing matrix, and how sure that is."""
    _report(elimination_report, run, format, charts, chart_format)


@app.command()
def significance(
    run: RunPath,
    format: FormatOption = Format.TEXT,
    charts: Charts = None,
    chart_format: ChartFormatOption = ChartFormat.SVG,
) -> None:
    """Who is better than the reference bot, and how sure that is: shares, margins, sigma, verdicts."""
    _report(significance_report, run, format, charts, chart_format)


@app.command()
def leaderboard(
    run: RunPath,
    format: FormatOption = Format.TEXT,
    charts: Charts = None,
    chart_format: ChartFormatOption = ChartFormat.SVG,
) -> None:
    """Mean scores with their errors, best first, and paired comparisons with the reference bot on the same blocks."""
    _report(leaderboard_report, run, format, charts, chart_format)


@app.command()
def ratings(
    run: RunPath,
    format: FormatOption = Format.TEXT,
    charts: Charts = None,
    chart_format: ChartFormatOption = ChartFormat.SVG,
) -> None:
    """Bradley-Terry ratings with intervals, and how often who was ahead of whom; none where no rating is finite."""
    _report(ratings_report, run, format, charts, chart_format)


@app.command()
def html(
    path: Annotated[
        str,
        typer.Argument(
            metavar="RUN|LEAGUE", help="Folder of a run or a league, the name of one in results/, or a run's URI."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.")] = Path("report.html"),
    charts: Charts = None,
    chart_format: ChartFormatOption = ChartFormat.SVG,
) -> None:
    """Everything on one page: the verdict in words, charts with their tables, and how to repeat the run.

    The page is one file that needs nothing else: no network, no script. It opens from a mail, on a phone, in dark
    mode, on paper.

    Example: simfarm report html uno-demo --out report.html --charts charts --chart-format png
    """
    # imported when wanted: what draws takes a second to load
    from simfarm.report.figure import need_libraries

    need_libraries()
    from simfarm.report.html import write_html

    page = _page(path)
    write_html(page, out)
    print(f"{out}: {out.stat().st_size:,} bytes")
    if charts is not None:
        _write_charts(page, charts, chart_format)


def _report(
    make: Callable[[Run], Report], path: str, format: Format, charts: Path | None, chart_format: ChartFormat
) -> None:
    run = open_run(path)
    show(make(run), format)
    if charts is not None:
        _write_charts(_page(path), charts, chart_format)


def _page(path: str) -> Page:
    from simfarm.report.sections import of_run

    for candidate in (Path(path), RESULTS / path):
        if League.is_at(candidate):
            from simfarm.report.rounds import of_league

            return of_league(League(candidate).status(), candidate.resolve().name)
    return of_run(open_run(path))


def _write_charts(page: Page, folder: Path, format: ChartFormat) -> None:
    written = write_charts(page.figures(), folder, format)
    typer.echo(f"{len(written)} charts in {folder}/", err=True)
