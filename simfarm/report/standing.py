"""Balances, means and pairings of a page: who stands where."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from simfarm.core.model import Matchup
from simfarm.report import charts
from simfarm.report.charts import Cell, Interval
from simfarm.report.elimination import EliminationReport
from simfarm.report.figure import Figure
from simfarm.report.page import MOST_ROWS, Section, cut, numbers
from simfarm.report.render import Report, capital, number, significant
from simfarm.store import Run

MOST_CELLS = 24
"""Bots of a heat map at most, the best ones."""
_MOST_BOARDS = 12


def balances(sums: EliminationReport) -> Section:
    """Balances over all matches, and how likely each bot is the last."""
    bots = sorted(sums.bots, key=lambda bot: -bot.balance)
    shown = bots[:MOST_ROWS]
    digits = 1 if any(isinstance(bot.balance, float) for bot in bots) else 0
    figures = [
        Figure(
            "balances",
            f"Balances in {sums.unit}",
            f"Sum of each bot's {sums.unit} over all its matches{cut(bots, shown)}.",
            charts.bars([(bot.name, float(bot.balance)) for bot in shown], sums.unit),
            numbers(
                ("bot", "balance", "matches"),
                [(b.name, number(b.balance, digits), number(b.matches)) for b in bots],
            ),
        )
    ]
    if any(bot.probability is not None for bot in bots):
        last = [(bot.name, 100 * (bot.probability or 0.0)) for bot in reversed(bots)]
        figures.append(
            Figure(
                "last",
                "How likely each bot is the last",
                "Percent of resamples of the matches in which the bot is last or ties for it; near 100 it is sure.",
                charts.bars(last[:MOST_ROWS], "%", top=100),
                numbers(("bot", "P(last) %"), [(name, number(value, 1)) for name, value in last]),
            )
        )
    return Section("balances", "Balances", figures=tuple(figures))


def scores(board: Report, rated: Report | None) -> Section:
    """Means of a leaderboard, differences on the same blocks, and ratings where there are any."""
    figures = []
    unit, reference = board.data["unit"], board.data["reference"]
    for index, one in enumerate(board.data["boards"][:_MOST_BOARDS], 1):
        place = board_title(one)
        of = f", {place}" if place else ""
        bots, shown = one["bots"], one["bots"][:MOST_ROWS]
        figures.append(
            Figure(
                f"means-{index}",
                f"Mean {unit} per block{of}",
                f"Best first, with one standard error to each side{cut(bots, shown)}.",
                charts.intervals(
                    [Interval.around(b["name"], b["mean"], b["error"]) for b in shown], f"{unit} per block"
                ),
                numbers(
                    ("bot", "blocks", "mean", "error"),
                    [
                        (b["name"], number(b["blocks"]), significant(b["mean"]), significant(b["error"]))
                        for b in bots
                    ],
                ),
            )
        )
        paired = [(b["name"], b["paired"]) for b in bots if b["paired"] is not None]
        if paired:
            figures.append(
                Figure(
                    f"paired-{index}",
                    f"{capital(unit)} less those of {reference} on the same blocks{of}",
                    "Mean difference with three standard errors to each side; a bar that keeps clear of 0 is a "
                    f"difference that chance does not explain{cut(paired, paired[:MOST_ROWS])}.",
                    charts.intervals(
                        [Interval.around(name, p["difference"], p["error"], 3) for name, p in paired[:MOST_ROWS]],
                        f"{unit} per block",
                        rules=(0,),
                    ),
                    numbers(
                        ("bot", "blocks", "difference", "error"),
                        [
                            (n, number(p["blocks"]), significant(p["difference"]), significant(p["error"]))
                            for n, p in paired
                        ],
                    ),
                )
            )
    bots = [bot for bot in rated.data["bots"] if bot["low"] is not None] if rated is not None else []
    if bots:
        shown = bots[:MOST_ROWS]
        figures.append(
            Figure(
                "ratings",
                "Ratings",
                "Bradley-Terry ratings with their 95 % intervals: 400 points are odds of 10 to 1"
                f"{cut(bots, shown)}.",
                charts.intervals([Interval(b["name"], b["rating"], b["low"], b["high"]) for b in shown], "rating"),
                numbers(
                    ("bot", "rating", "from", "to"),
                    [(b["name"], *(number(b[key], 1) for key in ("rating", "low", "high"))) for b in bots],
                ),
            )
        )
    return Section("scores", "Scores", figures=tuple(figures))


def pairings(run: Run) -> Section:
    """Who made how much against whom, in a plan of pairs."""
    matchups, score = run.matchups(), run.engine.score
    if any(len(matchup.bots) != 2 for matchup in matchups.values()):
        return Section("pairings", "Pairings")
    if len({frozenset(bot.name for bot in matchup.bots) for matchup in matchups.values()}) < 2:
        return Section("pairings", "Pairings")
    balances = _pair_sums(matchups, run.lazy(score.table), score.bot, score.value)
    totals: dict[str, float] = {}
    for (name, _), value in balances.items():
        totals[name] = totals.get(name, 0.0) + value
    order = sorted(totals, key=lambda name: -totals[name])
    digits = 0 if all(value == int(value) for value in balances.values()) else 1
    return Section("pairings", "Pairings", figures=(_pairing_figure(balances, order, score.unit, digits),))


def _pairing_figure(
    balances: Mapping[tuple[str, str], float], order: Sequence[str], unit: str, digits: int
) -> Figure:
    """The heat map of a plan of pairs: what each bot made against each other."""
    shown = order[:MOST_CELLS]
    cells = [
        Cell(row, column, _lead(balances, row, column), number(balances[row, column], digits))
        for row in shown
        for column in shown
        if (row, column) in balances
    ]
    rows = [
        (
            bot,
            *(number(balances.get((bot, other)), digits) for other in shown),
            number(_sum_of(balances, bot), digits),
        )
        for bot in order
    ]
    return Figure(
        "pairings",
        f"Pairings: {unit} of the row against the column",
        f"Best bot first. Blue: the row made more {unit} than the column in their matches, orange: less; the deeper "
        f"the clearer{cut(order, shown)}.",
        charts.matrix(cells, shown, "against", 0.0),
        numbers(("bot", *shown, "sum"), rows),
    )


def _sum_of(balances: Mapping[tuple[str, str], float], bot: str) -> float:
    """A bot's balance over all its pairings."""
    return sum(value for (name, _), value in balances.items() if name == bot)


def _lead(balances: Mapping[tuple[str, str], float], row: str, column: str) -> float:
    own, other = balances[row, column], balances.get((column, row), 0.0)
    both = abs(own) + abs(other)
    return (own - other) / both if both else 0.0


def _pair_sums(
    matchups: Mapping[str, Matchup], rows: pl.LazyFrame, bot: str, value: str
) -> dict[tuple[str, str], float]:
    sums = (
        rows.filter(pl.col(bot).is_not_null())
        .group_by(pl.col("matchup"), pl.col(bot).alias("bot"))
        .agg(pl.col(value).cast(pl.Float64).sum().alias("x"))
        .collect(engine="streaming")
        .with_columns(pl.col("matchup", "bot").cast(pl.String))
    )
    made = {(key, name): x for key, name, x in sums.select("matchup", "bot", "x").iter_rows()}
    played = set(sums["matchup"])
    balances: dict[tuple[str, str], float] = {}
    for key, matchup in matchups.items():
        first, second = (bot.name for bot in matchup.bots)
        if key in played:
            for name, other in ((first, second), (second, first)):
                balances[name, other] = balances.get((name, other), 0.0) + made.get((key, name), 0.0)
    return balances


def board_title(board: Mapping[str, Any]) -> str:
    """What one board of a leaderboard's JSON is of; empty where there is but one."""
    options = ", ".join(f"{name} = {_option(value)}" for name, value in board["rules"].items())
    return "; ".join(part for part in (options, "public blocks" if board["public"] else "") if part)


def _option(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."
