"""Terminations, times, distributions and curves of a page: what else the rows tell."""

from collections.abc import Mapping, Sequence

import polars as pl

from simfarm.core.figures import Curves, Histogram
from simfarm.report import charts
from simfarm.report import distributions as counted
from simfarm.report.charts import Bar, Interval, Point
from simfarm.report.distributions import Distribution
from simfarm.report.elimination import EliminationReport
from simfarm.report.figure import Figure
from simfarm.report.page import MOST_ROWS, Section, cut, numbers
from simfarm.report.render import Table, number, significant
from simfarm.store import Run

_MOST_HISTOGRAMS = 12


def terminations(run: Run, sums: EliminationReport | None = None) -> Section:
    """How games or matches ended, and whose fault that was."""
    fault = run.engine.fault
    if sums is not None:
        counts = {bot.name: dict(bot.terminations) for bot in sums.bots if bot.terminations}
        title = "How matches ended, by bot"
    else:
        found = (
            run.lazy(fault.table)
            .group_by(pl.col(fault.bot).alias("bot"), pl.col(fault.termination).alias("end"))
            .len("rows")
            .collect(engine="streaming")
            .with_columns(pl.col("bot", "end").cast(pl.String))
            .sort("rows", descending=True)
        )
        counts = {}
        for bot, end, rows in found.iter_rows():
            counts.setdefault("nobody's fault" if bot is None else bot, {})[end] = rows
        title = f"How {fault.table} ended, by the bot at fault"
    if not counts:
        return Section("terminations", "Terminations")
    kinds = list(dict.fromkeys(kind for row in counts.values() for kind in row))
    shown = dict(list(counts.items())[:MOST_ROWS])
    figure = Figure(
        "terminations",
        title,
        f"Rows by termination{cut(counts, shown)}.",
        charts.stacked({bot: _few(row, kinds) for bot, row in shown.items()}, "rows"),
        numbers(("bot", *kinds), [(bot, *(number(row.get(k, 0)) for k in kinds)) for bot, row in counts.items()]),
    )
    return Section("terminations", "Terminations", figures=(figure,))


def _few(counts: Mapping[str, int], kinds: Sequence[str]) -> dict[str, float]:
    """As many kinds as there are colours; the rest together."""
    most = len(charts.SERIES) - 1
    few: dict[str, float] = {}
    for kind, count in counts.items():
        name = kind if len(kinds) <= most + 1 or kinds.index(kind) < most else "other"
        few[name] = few.get(name, 0) + count
    return few


def times(run: Run) -> Section:
    """How long bots took."""
    figures = []
    for index, histogram in enumerate((h for h in run.engine.histograms if h.time), 1):
        found = [d for d in _found(run, histogram) if d.quantiles[0] > 0]
        if not found:
            continue
        shown = found[:MOST_ROWS]
        rows = [
            Interval(d.bot or "all", q[2], q[1], q[3], outer=(q[0], q[4])) for d in shown for q in (d.quantiles,)
        ]
        figures.append(
            Figure(
                f"times-{index}",
                f"{histogram.title}, {histogram.unit}",
                f"Median, with 80 % of the values inside the thick bar and all of them inside the thin one. Times "
                f"depend on the machine{cut(found, shown)}.",
                charts.intervals(rows, histogram.unit, log=True),
                _quantiles(found, histogram.unit),
            )
        )
    return Section("times", "Reply times", figures=tuple(figures))


def distributions(run: Run) -> Section:
    """How the game's quantities are distributed."""
    figures = []
    for index, histogram in enumerate((h for h in run.engine.histograms if not h.time), 1):
        found = _found(run, histogram)
        shown = found[:12]
        if not found:
            continue
        bars = [Bar(d.bot or "", b.low, b.high, b.share) for d in shown for b in d.bins]
        whose = "by bot" if found[0].bot is not None else "over all rows"
        figures.append(
            Figure(
                f"distribution-{index}",
                histogram.title,
                f"Percent of the rows by {histogram.unit}, {whose}{cut(found, shown)}.",
                charts.histograms(bars, histogram.unit),
                _quantiles(found, histogram.unit),
            )
        )
    return Section("distributions", "Distributions", figures=tuple(figures))


def _found(run: Run, histogram: Histogram) -> Sequence[Distribution]:
    written = {table.name: not table.optional or table.name in run.config.record for table in run.engine.tables}
    if not written.get(histogram.table):
        return ()
    return counted.distributions(histogram, run.lazy(histogram.table), [bot.name for bot in run.config.bots])


def _quantiles(found: Sequence[Distribution], unit: str) -> Table:
    return numbers(
        ("bot", "rows", "smallest", "10\u00a0%", f"median, {unit}", "90\u00a0%", "largest"),
        [(d.bot or "all", number(d.rows), *map(significant, d.quantiles)) for d in found],
    )


def curves(drawn: Sequence[Curves]) -> Section:
    """What only the game can draw."""
    figures = []
    for index, curve in enumerate(drawn, 1):
        frame = curve.frame.filter(pl.col("y").is_not_null())
        names = list(dict.fromkeys(frame["line"]))
        shown = names[: len(charts.SERIES)]
        rows = frame.select("line", "x", "y", "low", "high").iter_rows()
        points = [Point(line, x, y, low, high) for line, x, y, low, high in rows]
        if not points:
            continue
        figures.append(
            Figure(
                f"curve-{index}",
                curve.title,
                curve.text.removesuffix(".") + cut(names, shown) + ".",
                charts.lines(
                    [point for point in points if point.line in shown],
                    (curve.x, curve.y),
                    log=(False, curve.log),
                    ticks=True,
                ),
                numbers(
                    ("line", curve.x, curve.y, "low", "high"),
                    [
                        (p.line, number(p.x), significant(p.y), significant(p.low), significant(p.high))
                        for p in points
                    ],
                ),
            )
        )
    return Section("rounds", "Over rounds", figures=tuple(figures))
