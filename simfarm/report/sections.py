"""What a page says about a run: the sections that its rows have something for.

Every figure comes from the analyses that the other reports are made of; here they are put into words and charts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simfarm.report import elimination, significance
from simfarm.report.elimination import EliminationReport
from simfarm.report.leaderboard import leaderboard
from simfarm.report.looks import over_games
from simfarm.report.margins import margins, seats
from simfarm.report.page import MOST_TABLE, Page, Section
from simfarm.report.quantities import curves, distributions, terminations, times
from simfarm.report.render import Report, capital, number, significant
from simfarm.report.repeat import repeat
from simfarm.report.significance import SignificanceReport
from simfarm.report.standing import balances, board_title, pairings, scores
from simfarm.stats.sequential import assess_run
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
    tables = {
        table.name: run.lazy(table.name)
        for table in engine.tables
        if not table.optional or table.name in run.config.record
    }
    kind = "elimination" if sums is not None else "leaderboard" if board is not None else "significance"
    sections = [
        verdict(shares, sums, board),
        _over_games(run, kind),
        *([balances(sums)] if sums is not None else []),
        *([scores(board)] if board is not None else []),
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
    reports += [board] if board is not None else []
    sections.insert(-1, _in_full(reports))
    games = sum((matchup.stop - matchup.start) * matchup.games for matchup in matchups.values())
    done = sum((r.stop - r.start) * matchups[r.key].games for r in run.receipts())
    amount = number(done) if done == games else f"{number(done)} of {number(games)}"
    pairs = "1 matchup" if len(matchups) == 1 else f"{len(matchups):,} matchups"
    return Page(
        title=f"{run.path.resolve().name}: {engine.name}",
        summary=f"{amount} games of {len(run.config.bots)} bots in {pairs}.",
        sections=tuple(section for section in sections if not section.empty),
    )


def _over_games(run: Run, kind: str) -> Section:
    figures = tuple(over_games(run, assess_run(run, kind)))
    silent = () if figures else ("Too few blocks for a band that holds at every look.",)
    return Section("over-games", "The verdict over games", silent, figures=figures)


def verdict(shares: SignificanceReport | None, sums: EliminationReport | None, board: Report | None) -> Section:
    if sums is not None:
        return Section("verdict", "Verdict", (sums.verdict(), sums.rule(), *sums.notes()))
    if board is not None:
        return Section("verdict", "Verdict", board.paragraphs, points=tuple(_board_points(board.data)))
    assert shares is not None
    points = tuple(
        f"{bot.name}: {bot.verdict}{'' if bot.eligible else ', ineligible'}. {capital(bot.sentence)}."
        for bot in shares.bots
        if bot.name != shares.reference
    )
    against = f"Each bot's share of the {shares.unit} is compared with that of {shares.reference}."
    rule = shares.rule.text(shares.blocks, shares.comparisons)
    return Section("verdict", "Verdict", (against, rule, *shares.notes()), points)


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
                sure = "no error can be told"
            side = "more" if paired["difference"] >= 0 else "less"
            yield (
                f"{_in(place)}{bot['name']} makes {significant(abs(paired['difference']))} {unit} per block {side} "
                f"than {reference} on the same {paired['blocks']:,} blocks ({sure})."
            )


def _in(place: str) -> str:
    return f"{capital(place)}: " if place else ""


def _in_full(reports: Sequence[Report]) -> Section:
    tables = [
        replace(table, title=f"{report.title.split(':')[0]}: {table.title}", rows=table.rows[:MOST_TABLE])
        if len(table.rows) <= MOST_TABLE
        else replace(table, title=f"{table.title} (the first {MOST_TABLE} rows)", rows=table.rows[:MOST_TABLE])
        for report in reports
        for table in report.tables
    ]
    return Section("full", "The reports in full", tables=tuple(tables))
