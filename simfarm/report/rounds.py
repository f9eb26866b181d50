"""What a page says about a league: who went when, and each round's balances and pairings."""

from dataclasses import replace

from simfarm.report import charts, elimination
from simfarm.report.charts import Cell
from simfarm.report.figure import Figure
from simfarm.report.league import Round, Status
from simfarm.report.page import Page, Section
from simfarm.report.quantities import distributions, terminations, times
from simfarm.report.render import Column, Table, capital, number
from simfarm.report.repeat import repeat
from simfarm.report.standing import balances, pairings
from simfarm.store import Run

MOST_ROUNDS = 12
"""Rounds that are drawn, the latest ones; the tables have them all."""
MOST_BOTS = 60
"""Bots that are drawn, those that were there last."""


def of_league(status: Status, name: str) -> Page:
    """The page of a league.

    Args:
        status: how it stands.
        name: what it is called.

    Raises:
        ConfigError: as the elimination report of its rounds.
    """
    sections = [
        Section(
            "verdict",
            "Verdict",
            points=(status.verdict(), *(f"{capital(r.title)}: {r.outcome()}." for r in status.rounds)),
        ),
        *([_rounds(status)] if status.rounds else []),
    ]
    sections += map(_round, reversed(status.rounds[-MOST_ROUNDS:]))
    if status.rounds:
        latest = Run(status.rounds[-1].folder)
        of = f" in {status.rounds[-1].title}"
        for section in (terminations(latest, elimination.analyse(latest)), times(latest), distributions(latest)):
            sections.append(replace(section, title=section.title + of))
        again = repeat(latest)
        sections.append(replace(again, title=f"What was run{of}, and how to repeat it"))
    entrants = len(status.rounds[0].entrants) if status.rounds else len(status.remaining)
    played = len(status.rounds)
    return Page(
        title=f"{name}: a league of {status.engine}",
        summary=f"{entrants} bots, {'1 round' if played == 1 else f'{played} rounds'} played, seed {status.seed}.",
        sections=tuple(section for section in sections if not section.empty),
    )


def _rounds(status: Status) -> Section:
    rounds = status.rounds[-MOST_ROUNDS:]
    order = _order(status)
    cells = []
    for bot in order[:MOST_BOTS]:
        for played in rounds:
            found = next((entrant for entrant in played.entrants if entrant.name == bot), None)
            if found is not None:
                sums = [entrant.balance for entrant in played.entrants]
                middle = sum(sums) / len(sums)
                reach = max(abs(value - middle) for value in sums) or 1
                goes = bot in played.eliminated
                depth = -1.0 if goes else max(-0.6, (found.balance - middle) / reach)
                cells.append(Cell(bot, _column(played), depth, _brief(found.balance) + (" out" if goes else "")))
    unit = status.rounds[0].unit
    figure = Figure(
        "rounds",
        "Round by round",
        f"Balances in {unit}; the lowest goes, and all that tie with it, marked out. Blue: above the round's mean, "
        "orange: below it."
        + (f" Drawn are the latest {MOST_ROUNDS} rounds." if len(status.rounds) > MOST_ROUNDS else ""),
        charts.matrix(cells, [_column(played) for played in rounds], "round", 0.0),
        _table(status, order),
    )
    return Section("rounds", "Who went when", figures=(figure,))


def _table(status: Status, order: list[str]) -> Table:
    rows = []
    for bot in order:
        row = [bot]
        for played in status.rounds:
            found = next((entrant for entrant in played.entrants if entrant.name == bot), None)
            goes = ", goes" if bot in played.eliminated else ""
            row.append("-" if found is None else number(found.balance, int(found.balance % 1 != 0)) + goes)
        rows.append(tuple(row))
    heads = [Column(f"round {_column(played)}", right=True) for played in status.rounds]
    return Table("", (Column("bot"), *heads), tuple(rows))


def _order(status: Status) -> list[str]:
    """The bots, those that were there longest first, and of these those with more in their last round."""
    last = {
        entrant.name: (index, entrant.balance) for index, r in enumerate(status.rounds) for entrant in r.entrants
    }
    return sorted(last, key=lambda name: (name in status.remaining, last[name]), reverse=True)


def _round(played: Round) -> Section:
    run = Run(played.folder)
    sums = elimination.analyse(run)
    name = f"round-{played.folder.name.replace('.', '-')}"
    figures = (*balances(sums).figures, *pairings(run).figures)
    return Section(
        name,
        capital(played.title),
        (sums.verdict(), *sums.notes()),
        figures=tuple(replace(figure, name=f"{name}-{figure.name}") for figure in figures),
    )


def _brief(value: float) -> str:
    """A balance that fits into a cell."""
    return f"{value / 1_000_000:,.0f} M" if abs(value) >= 10_000_000 else f"{value:,.0f}"


def _column(played: Round) -> str:
    return played.folder.name
