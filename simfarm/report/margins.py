"""Margins and shares of a page: over games, at the end, by seat and by seating."""

import math
from collections.abc import Iterator, Sequence

import polars as pl

from simfarm.report import charts
from simfarm.report.charts import Cell, Interval, Point
from simfarm.report.figure import Figure
from simfarm.report.page import MOST_ROWS, Section, cut, numbers
from simfarm.report.render import number
from simfarm.report.significance import BotResult, SignificanceReport
from simfarm.stats.sequential import Rounds, Track
from simfarm.store import Run

_LOOKS = 120
_MOST_SEATINGS = 48


def margins(run: Run, shares: SignificanceReport, judged: bool) -> Section:
    """Shares and, where the game is judged by them, margins against the reference."""
    bots = [bot for bot in shares.bots if bot.share.value is not None]
    figures: list[Figure] = []
    compared = [bot for bot in bots if bot.margin is not None and bot.margin.value is not None]
    if judged and compared:
        figures.extend(_margin_over_games(run, shares, compared))
        figures.append(_final_margins(shares, compared))
    if bots:
        shown = bots[:MOST_ROWS]
        even = 100 / len(bots)
        figures.append(
            Figure(
                "shares",
                f"Shares of all {shares.unit}",
                f"Percent of all {shares.unit}, with three standard errors to each side; the dashed line is an equal "
                f"share{cut(bots, shown)}.",
                charts.intervals(
                    [Interval.around(bot.name, bot.share.value or 0.0, bot.share.sigma, 3) for bot in shown],
                    "share %",
                    rules=(even,),
                ),
                numbers(
                    ("bot", "share %", "error pp"),
                    [(bot.name, number(bot.share.value, 3), number(bot.share.sigma, 4)) for bot in bots],
                ),
            )
        )
    return Section("margins", "Margins and shares" if judged else "Shares", figures=tuple(figures))


def _final_margins(shares: SignificanceReport, compared: Sequence[BotResult]) -> Figure:
    rule, shown = shares.rule, compared[:MOST_ROWS]
    rows = [
        Interval.around(bot.name, bot.margin.value or 0.0, bot.margin.sigma, rule.sigmas)
        for bot in shown
        if bot.margin is not None
    ]
    return Figure(
        "margins",
        f"Margins against {shares.reference}",
        f"Share less that of {shares.reference}, with {rule.sigmas:g} sigma to each side. Shaded: the tie band of "
        f"±{rule.tie:g} pp. A bar that keeps clear of 0 with its dot outside of the band is a win or a loss"
        f"{cut(compared, shown)}.",
        charts.intervals(rows, "margin in percentage points", rules=(0,), band=rule.tie),
        numbers(
            ("bot", "margin pp", "sigma pp", "verdict"),
            [
                (
                    bot.name,
                    number(bot.margin.value, 3, signed=True),
                    number(bot.margin.sigma, 4),
                    bot.verdict,
                )
                for bot in compared
                if bot.margin is not None
            ],
        ),
    )


def _margin_over_games(run: Run, shares: SignificanceReport, compared: Sequence[BotResult]) -> Iterator[Figure]:
    shown = compared[: len(charts.SERIES)]
    tracks = margin_tracks(run, shares, [bot.name for bot in shown])
    if not tracks:
        return
    points, rows = [], []
    for name, track in tracks.items():
        looks = [look for look in track if math.isfinite(look[2]) and math.isfinite(look[3])]
        for index in sorted(_spread(len(looks))):
            _, games, value, low, high = looks[index]
            points.append(Point(name, games, value, low, high))
        for index in sorted(_spread(len(looks), 8)):
            _, games, value, low, high = looks[index]
            rows.append((name, number(games), *(number(figure, 3, signed=True) for figure in (value, low, high))))
    if not points:
        return
    late = [point for point in points if point.x >= max(point.x for point in points) / 8]
    low = min(0.0, *(point.low or 0.0 for point in late), -2 * shares.rule.tie)
    high = max(0.0, *(point.high or 0.0 for point in late), 2 * shares.rule.tie)
    pad = 0.15 * (high - low)
    rate = next(iter(tracks.values())).alpha
    yield Figure(
        "margin-over-games",
        "Margin over games",
        f"Share less that of {shares.reference} as games came in, by the plan's order, with a band that holds the "
        f"true margin at every look together, but for {100 * rate:.2g} % of runs. Shaded: the tie band of "
        f"±{shares.rule.tie:g} pp. A band that has left 0 has decided{cut(compared, shown)}.",
        charts.lines(
            points,
            ("games", "margin in percentage points"),
            domain=(low - pad, high + pad),
            rules=(0,),
            band=shares.rule.tie,
        ),
        numbers(("bot", "games", "margin pp", "low", "high"), rows),
    )


def margin_tracks(run: Run, shares: SignificanceReport, names: Sequence[str]) -> dict[str, Track]:
    """The margins of some bots against the reference over the complete rounds of a run, with their bands."""
    rounds, score = Rounds.of(run.matchups()), run.engine.score
    complete = rounds.complete((r.key, r.start, r.stop) for r in run.receipts())
    if complete == 0:
        return {}
    sums = (
        run.lazy(score.table)
        .group_by(rounds.number().alias("round"), pl.col(score.bot).alias("bot"))
        .agg(pl.col(score.value).cast(pl.Float64).sum().alias("x"))
        .collect(engine="streaming")
        .with_columns(pl.col("bot").cast(pl.String))
        .filter(pl.col("round") < complete)
    )
    every = pl.DataFrame({"round": range(complete)}, schema={"round": pl.Int64})
    total = every.join(sums.group_by("round").agg(pl.col("x").sum()), on="round", how="left").fill_null(0)
    wide = {
        name: every.join(sums.filter(pl.col("bot") == name), on="round", how="left")["x"].fill_null(0).to_numpy()
        for name in (*names, shares.reference)
    }
    rate, t = shares.rule.error_rate(shares.blocks), total["x"].to_numpy()
    return {name: Track.of(rounds, rate, wide[name] - wide[shares.reference], t, 100) for name in names}


def _spread(count: int, most: int = _LOOKS) -> set[int]:
    """Positions of at most that many of the looks, evenly spread, the first and the last among them."""
    return {round(step * (count - 1) / (most - 1)) for step in range(most)} if count else set()


def seats(shares: SignificanceReport) -> Section:
    """What a seat, and who sits where, is worth."""
    figures = []
    seats = [seat for seat in shares.seats if seat.share is not None]
    if len(seats) > 1:
        figures.append(
            Figure(
                "seats",
                "Seats",
                f"Share of all {shares.unit} by seat, whoever sat there; the dashed line is an equal share.",
                charts.intervals(
                    [Interval(f"seat {seat.seat}", seat.share or 0.0, None, None) for seat in seats],
                    "share %",
                    rules=(100 / len(seats),),
                ),
                numbers(
                    ("seat", "games", "wins", shares.unit, "share %"),
                    [
                        (str(s.seat), number(s.games), number(s.wins), number(s.points), number(s.share, 3))
                        for s in seats
                    ],
                ),
            )
        )
    own = [seat for seat in shares.bot_seats if seat.share is not None]
    names = [bot.name for bot in shares.bots]
    if len({seat.seat for seat in own}) > 1:
        shown = names[: len(charts.SERIES)]
        points = [Point(name, s.seat, s.share or 0.0) for name in shown for s in own if s.bot == name]
        figures.append(
            Figure(
                "bots-by-seat",
                "Bots by seat",
                f"Share that each bot makes of the {shares.unit} of its games at a seat{cut(names, shown)}.",
                charts.lines(points, ("seat", "share %"), ticks=True),
                numbers(
                    ("bot", "seat", "games", "share %"),
                    [(s.bot or "", str(s.seat), number(s.games), number(s.share, 3)) for s in own],
                ),
            )
        )
    several = [seating for seating in shares.seatings if len(seating.bots) > 2]
    if 1 < len(several) <= _MOST_SEATINGS:
        labels = [" ".join(str(names.index(bot) + 1) for bot in seating.bots) for seating in several]
        keys = "; ".join(f"{position}: {name}" for position, name in enumerate(names, 1))
        cells = [
            Cell(label, bot, share, number(share, 1))
            for label, seating in zip(labels, several, strict=True)
            for bot, share in sorted(
                zip(seating.bots, seating.shares, strict=True), key=lambda s: names.index(s[0])
            )
            if share is not None
        ]
        figures.append(
            Figure(
                "seatings",
                "Permutations",
                f"Share % of each bot in each seating. A row names the bots by seat ({keys}). Blue: more than an "
                "equal share, orange: less.",
                charts.matrix(cells, names, "", 100 / len(several[0].bots)),
                numbers(
                    ("bots by seat", "games", *names),
                    [
                        (label, number(s.games), *(_of(s.bots, s.shares, name) for name in names))
                        for label, s in zip(labels, several, strict=True)
                    ],
                ),
            )
        )
    return Section("seats", "Seats and permutations", figures=tuple(figures))


def _of(bots: Sequence[str], shares: Sequence[float | None], name: str) -> str:
    return number(shares[bots.index(name)], 2) if name in bots else "-"
