"""Ratings of the bots of a run, with intervals, and who beat whom (:mod:`simfarm.stats.ratings`)."""

from statistics import NormalDist

from simfarm.core.rating import Rating
from simfarm.report.render import Column, Report, Table, number
from simfarm.stats.ratings import Ratings
from simfarm.store import Run

COVERAGE = 0.95
"""How often an interval covers the true rating, about."""


def ratings(run: Run) -> Report:
    """The ratings of a run's committed rows.

    Its JSON has ``report``, ``engine``, ``compared`` (``games`` or ``blocks``), ``coverage``, ``bots`` (``name``,
    ``rating``, ``error``, ``low``, ``high``, ``compared``, ``note``; null: there is none) and ``wins``: bot -> bot ->
    ``ahead`` (draws a half) and ``compared``.
    """
    found = Ratings.of_run(run)
    order = sorted(range(len(found.bots)), key=lambda i: (-(found.ratings[i].value or 0.0), found.bots[i]))
    open_notes = sorted({f"{found.bots[i]} {found.ratings[i].note}" for i in order if found.ratings[i].note})
    words = [
        f"Bradley-Terry ratings, {found.compared} compared in pairs: 400 points are odds of 10 to 1, 0 is the mean. "
        f"Intervals of {COVERAGE:.0%} allow for games that hang together."
    ]
    if open_notes:
        words.append(f"No ratings, since none are finite: {'; '.join(open_notes)}.")
    heads = ("rating", "error", f"{COVERAGE:.0%} from", "to", "score %", found.compared)
    rows = []
    for i in order:
        rating, met = found.ratings[i], float(found.counts[i].sum())
        low, high = _interval(rating)
        share = 100 * float(found.wins[i].sum()) / met if met else None
        figures = (number(value, 1) for value in (rating.value, rating.error, low, high, share))
        rows.append((found.bots[i], *figures, number(met)))
    matrix = tuple(
        (
            found.bots[i],
            *(
                number(100 * found.wins[i, j] / found.counts[i, j], 2) if found.counts[i, j] else "-"
                for j in order
            ),
        )
        for i in order
    )
    return Report(
        title=f"Ratings: {run.engine.name}",
        paragraphs=tuple(words),
        tables=(
            Table("", (Column("bot"), *(Column(head, right=True) for head in heads)), tuple(rows)),
            Table(
                "How often the row was ahead of the column, %",
                (Column("bot"), *(Column(found.bots[j], right=True) for j in order)),
                matrix,
            ),
        ),
        data={
            "report": "ratings",
            "engine": run.engine.name,
            "compared": found.compared,
            "coverage": COVERAGE,
            "bots": [
                {
                    "name": found.bots[i],
                    "rating": found.ratings[i].value,
                    "error": found.ratings[i].error,
                    "low": _interval(found.ratings[i])[0],
                    "high": _interval(found.ratings[i])[1],
                    "compared": float(found.counts[i].sum()),
                    "note": found.ratings[i].note or None,
                }
                for i in order
            ],
            "wins": {
                found.bots[i]: {
                    found.bots[j]: {"ahead": float(found.wins[i, j]), "compared": float(found.counts[i, j])}
                    for j in order
                    if found.counts[i, j]
                }
                for i in order
            },
        },
    )


def _interval(rating: Rating) -> tuple[float | None, float | None]:
    if rating.value is None or rating.error is None:
        return None, None
    reach = NormalDist().inv_cdf((1 + COVERAGE) / 2) * rating.error
    return rating.value - reach, rating.value + reach
