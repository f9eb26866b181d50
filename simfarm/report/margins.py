"""Margins and shares of a page: at the end, by seat and by seating."""

from collections.abc import Sequence

from simfarm.report import charts
from simfarm.report.charts import Cell, Interval, Point
from simfarm.report.figure import Figure
from simfarm.report.page import MOST_ROWS, Section, cut, numbers
from simfarm.report.render import number
from simfarm.report.significance import BotResult, SignificanceReport

_MOST_SEATINGS = 48


def margins(shares: SignificanceReport, judged: bool) -> Section:
    """Shares and, where the game is judged by them, margins against the reference."""
    bots = [bot for bot in shares.bots if bot.share.value is not None]
    figures: list[Figure] = []
    compared = [bot for bot in bots if bot.margin is not None and bot.margin.value is not None]
    if judged and compared:
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
                    [_share(bot) for bot in shown],
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


def _share(bot: BotResult) -> Interval:
    value, reach = bot.share.value or 0.0, 3 * (bot.share.sigma or 0.0)
    return Interval(bot.name, value, max(0.0, value - reach), min(100.0, value + reach))


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
                    ("seat", "games", shares.unit, "share %"),
                    [(str(s.seat), number(s.games), number(s.points), number(s.share, 3)) for s in seats],
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
