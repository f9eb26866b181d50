"""What a page says about a run: the sections that its rows have something for.

Every figure comes from the analyses that the other reports are made of; here they are put into words and charts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simfarm.report import elimination, significance
from simfarm.report.elimination import EliminationReport
from simfarm.report.leaderboard import leaderboard
from simfarm.report.looks import over_games
from simfarm.report.margins import margins, seats
from simfarm.report.page import MOST_TABLE, Page, Section
from simfarm.report.quantities import curves, distributions, terminations, times
from simfarm.report.ratings import ratings
from simfarm.report.render import Report, capital, number, significant
from simfarm.report.repeat import repeat
from simfarm.report.significance import BotResult, SignificanceReport
from simfarm.report.standing import balances, board_title, pairings, scores
from simfarm.stats.sequential import Sequential, assess_run
from simfarm.store import Run


def of_run(run: Run) -> Page:
    """The page of a run's committed rows.

    Raises:
        ConfigError: as the reports that the page is made of.
    """
    matchups, engine = run.matchups(), run.engine
    together = any(len(matchup.bots) > 1 for matchup in matchups.values())
    shares = significance.analyse_run(run) if together else None
    sums = elimination.analyse(run) if together and engine.default_report == "elimination" else None
    board = leaderboard(run) if engine.default_report == "leaderboard" else None
    rated = ratings(run) if together and board is not None else None
    tables = {
        table.name: run.lazy(table.name)
        for table in engine.tables
        if not table.optional or table.name in run.config.record
    }
    kind = "elimination" if sums is not None else "leaderboard" if board is not None else "significance"
    sections = [
        verdict(shares, sums, board),
        _over_games(
            run, shares.sequential if shares is not None and kind == "significance" else assess_run(run, kind)
        ),
        *([balances(sums)] if sums is not None else []),
        *([scores(board, rated)] if board is not None else []),
        *([margins(shares, kind == "significance")] if shares is not None else []),
        pairings(run),
        *([seats(shares)] if shares is not None else []),
        terminations(run, sums),
        times(run),
        distributions(run),
        curves(engine.curves(matchups, tables)),
        repeat(run),
    ]
    reports = [significance.render(shares)] if shares is not None and sums is None else []
    reports += [elimination.render(sums)] if sums is not None else []
    reports += [report for report in (board, rated) if report is not None]
    sections.insert(-1, _in_full(reports))
    games = sum((matchup.stop - matchup.start) * matchup.games for matchup in matchups.values())
    done = sum((r.stop - r.start) * matchups[r.key].games for r in run.receipts())
    amount = number(done) if done == games else f"{number(done)} of {number(games)}"
    pairs = "1 matchup" if len(matchups) == 1 else f"{len(matchups):,} matchups"
    return Page(
        title=f"{Path(run.place.address).name}: {engine.name}",
        summary=f"{amount} games of {len(run.config.bots)} bots in {pairs}.",
        sections=tuple(section for section in sections if not section.empty),
    )


def _over_games(run: Run, seen: Sequential) -> Section:
    figures = tuple(over_games(run, seen))
    silent = () if figures else ("Too few blocks for a band that holds at every look.",)
    return Section("over-games", "The verdict over games", silent, figures=figures)


def verdict(shares: SignificanceReport | None, sums: EliminationReport | None, board: Report | None) -> Section:
    """The verdict in words, by the report that the game is usually read by."""
    if sums is not None:
        return Section("verdict", "Verdict", (sums.verdict(), sums.rule(), *sums.notes()))
    if board is not None:
        points = tuple(_board_points(board.data)) or ("No games yet.",)
        return Section("verdict", "Verdict", board.paragraphs, points)
    assert shares is not None
    points = tuple(_verdict_of(bot, shares.reference) for bot in shares.bots if bot.name != shares.reference)
    return Section("verdict", "Verdict", significance.render(shares).paragraphs, points)


def _verdict_of(bot: BotResult, reference: str) -> str:
    ineligible = "" if bot.eligible else ", ineligible"
    return f"{bot.name} against {reference}: {bot.verdict}{ineligible}. {capital(bot.sentence)}."


def _board_points(data: Mapping[str, Any]) -> Iterator[str]:
    unit, reference = data["unit"], data["reference"]
    for board in data["boards"]:
        bots = board["bots"]
        place = board_title(board)
        best = bots[0]
        error = "" if best["error"] is None else f" ± {significant(best['error'])}"
        yield f"{_in(place)}{best['name']} has the highest mean: {significant(best['mean'])}{error} {unit} per block."
        for bot in bots:
            paired = bot["paired"]
            if paired is None:
                continue
            if paired["error"]:
                z = paired["difference"] / paired["error"]
                sure = f"{significant(paired['error'])} standard error, {abs(z):.1f} sigma"
            else:
                sure = "in every block alike" if paired["blocks"] > 1 else "one block shows no error"
            side = "more" if paired["difference"] >= 0 else "less"
            yield (
                f"{_in(place)}{bot['name']} makes {significant(abs(paired['difference']))} {unit} per block {side} "
                f"than {reference} on the same {paired['blocks']:,} blocks ({sure})."
            )


def _in(place: str) -> str:
    return f"{capital(place)}: " if place else ""


def _in_full(reports: Sequence[Report]) -> Section:
    tables = []
    for report in reports:
        name = report.title.split(":")[0]
        for table in report.tables:
            title = f"{name}: {table.title}" if table.title else name
            if len(table.rows) > MOST_TABLE:
                title += f" (the first {MOST_TABLE} of {len(table.rows):,} rows)"
            tables.append(replace(table, title=title, rows=table.rows[:MOST_TABLE]))
    return Section("full", "The reports in full", tables=tuple(tables))
