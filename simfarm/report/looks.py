"""The verdict over games, for a page: how the figure that decides moved as games came in, and what its band says."""

import math
from collections.abc import Iterator

from simfarm.report import charts
from simfarm.report.charts import Point
from simfarm.report.figure import Figure
from simfarm.report.page import cut, numbers
from simfarm.report.render import capital, number, significant
from simfarm.stats.margin import Verdict
from simfarm.stats.sequential import Finding, Sequential
from simfarm.store import Run

_DRAWN = 120
_LISTED = 6
_SETTLED = 8
"""The y axis holds the bands from one in so many games on; earlier they are so wide that they would hide the rest."""


def over_games(run: Run, seen: Sequential) -> Iterator[Figure]:
    """The figure of each set of rule options that is judged apart; none where nothing can be told yet.

    Args:
        run: the run.
        seen: what the sequential rule says of it.
    """
    conditions = list(dict.fromkeys(repr(finding.condition) for finding in seen.findings))
    for index, condition in enumerate(conditions[:_SETTLED], 1):
        findings = [finding for finding in seen.findings if repr(finding.condition) == condition]
        findings = [finding for finding in findings if finding.bot != finding.other]
        figure = _figure(run, seen, findings, "" if len(conditions) == 1 else f"-{index}")
        if figure is not None:
            yield figure


def _figure(run: Run, seen: Sequential, findings: list[Finding], suffix: str) -> Figure | None:
    shown = findings[: len(charts.SERIES)]
    tie = run.config.verdict.tie if seen.kind == "significance" else 0.0
    points, rows, marks = [], [], []
    for finding in shown:
        looks = [look for look in finding.track if all(map(math.isfinite, look[2:]))]
        for at in _spread(len(looks), _DRAWN):
            _, games, value, low, high = looks[at]
            points.append(Point(finding.bot, games, value, low, high))
        if finding.look is not None:
            _, games, value, _, _ = list(finding.track)[finding.look]
            marks.append(Point(finding.bot, games, value))
        for at in _spread(len(looks), _LISTED):
            _, games, *figures = looks[at]
            rows.append((finding.bot, number(games), *map(significant, figures)))
    if not points:
        return None
    late = [point for point in points if point.x >= max(point.x for point in points) / _SETTLED]
    low = min(0.0, -2 * tie, *(point.low for point in late if point.low is not None))
    high = max(0.0, 2 * tie, *(point.high for point in late if point.high is not None))
    pad = 0.1 * (high - low) or 1.0
    other, unit = shown[0].other, run.engine.score.unit
    title, axis = {
        "significance": (f"Margin against {other} over games", "margin in percentage points"),
        "leaderboard": (f"{capital(unit)} less those of {other}, over games", f"{unit} per block"),
        "elimination": (f"Lead over {other} over games", f"{unit} per block"),
    }[seen.kind]
    options = ", ".join(f"{name} = {value}" for name, value in shown[0].condition.items())
    return Figure(
        f"over-games{suffix}",
        title + (f", {options}" if options else ""),
        f"By the plan's order. Each band holds the true value at every look together, but for {100 * seen.alpha:.2g} "
        "% of runs: a band that has left the dashed line at 0 has decided"
        + (f", at the mark; shaded is the tie band of ±{tie:g} pp" if tie else ", at the mark")
        + f"{cut(findings, shown)}. {' '.join(map(_decided, shown))}",
        charts.lines(
            points, ("games", axis), domain=(low - pad, high + pad), rules=(0,), band=tie or None, marks=marks
        ),
        numbers(("bot", "games", "value", "low", "high"), rows),
    )


def _decided(finding: Finding) -> str:
    if finding.look is None or finding.verdict is Verdict.UNDECIDED:
        return f"{capital(finding.bot)}: open."
    return f"{finding.bot}: {finding.verdict} after {int(finding.track.games[finding.look]):,} games."


def _spread(count: int, most: int) -> list[int]:
    """Positions of at most that many of the looks, evenly spread, the first and the last among them."""
    return sorted({round(step * (count - 1) / (most - 1)) for step in range(most)}) if count else []
