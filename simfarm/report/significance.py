"""Who is better, and how sure that is: a run's points shares, margins and verdicts against a reference bot.

:func:`significance` makes the report of a run: :func:`analyse` computes the figures, :func:`render` lays them out.
The method is explained in :mod:`simfarm.stats.margin`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from simfarm.core.errors import ConfigError
from simfarm.core.model import Deal, Fault, Matchup, Score
from simfarm.report.render import Column, Report, Table, number
from simfarm.stats.margin import Estimate, Judgement, Moments, Rule
from simfarm.stats.pairing import Gain, Seatings
from simfarm.stats.rounds import Rounds, Span
from simfarm.stats.sequential import Sequential, assess
from simfarm.stats.tally import SeatingTally, SeatTally, Tally, faults_by_bot
from simfarm.store import Run


@dataclass(frozen=True, slots=True)
class BotResult:
    """One bot over the whole run."""

    name: str
    games: int
    """Games of the matchups that it takes part in."""
    points: float
    wins: int | None
    """Rows that name it; None where games are not one row each."""
    share: Estimate
    """Its points over all points, in percent."""
    margin: Estimate | None
    """Its share less the reference's, in percentage points; None for the reference and without games."""
    verdict: str
    """``win``, ``loss``, ``tie`` or ``undecided``, from its point of view; ``reference`` for the reference."""
    sentence: str
    """The verdict in words."""
    games_to_decide: int | None
    """Games in all that would settle an open verdict at the present margin."""
    pairing: Gain | None
    """What the shared deals do for its margin; None where deals are fresh."""
    penalties: int | None
    """Rule breaches; None where the game counts none."""
    faults: Mapping[str, int]
    """Rows that name it at fault, by termination."""

    @property
    def eligible(self) -> bool:
        """Whether it has neither penalties nor faults: a game that it ends counts for nobody, so a bot that
        leaves whenever another is about to win keeps its own wins and voids those of the others."""
        return not self.penalties and not self.faults


@dataclass(frozen=True, slots=True)
class SignificanceReport:
    """All figures of the report."""

    engine: str
    unit: str
    """What a point is called."""
    games: int
    planned: int
    """Games of the whole run; the report is of a run that is not finished where ``games`` is less."""
    blocks: int
    points: float
    reference: str
    rule: Rule
    method: str
    """Whose verdicts stand: ``fixed``, the rule's over all rows, or ``sequential``."""
    sequential: Sequential
    """What the sequential rule says, whichever method is chosen."""
    bots: tuple[BotResult, ...]
    seats: tuple[SeatTally, ...]
    bot_seats: tuple[SeatTally, ...]
    seatings: tuple[SeatingTally, ...]

    @property
    def comparisons(self) -> int:
        """Bots with games that are compared with the reference."""
        return sum(bot.margin is not None for bot in self.bots)

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values. Shares are percent, margins percentage points (pp); null: there is none.

        =====================  ===================================================================================
        key                    value
        =====================  ===================================================================================
        report                 ``"significance"``
        engine, unit           the game, and what a point is called
        games, planned_games   games in the rows, games of the whole run
        blocks, points         independent blocks in the rows, points of all bots
        reference              name of the bot that others are compared with
        rule                   ``method`` (``fixed`` or ``sequential``), ``sigmas``, ``tie_pp``, ``error_rate`` (of
                               one comparison, a fraction), ``text``
        sequential             :meth:`~simfarm.stats.sequential.Sequential.to_json`
        bots                   list in config order: ``name``, ``games``, ``points``, ``wins``, ``share_percent``,
                               ``share_error_pp``, ``margin_pp``, ``sigma_pp``, ``z``, ``verdict``, ``sentence``,
                               ``games_to_decide``, ``penalties``, ``eligible``, ``faults`` (termination -> rows),
                               ``pairing_gain`` (games of an independent design that one game is worth; null: none);
                               a verdict is ``win``, ``loss``, ``tie``, ``undecided`` or ``reference``
        seats                  list: ``seat``, ``games``, ``wins``, ``points``, ``share_percent``
        bot_seats              the same with ``bot``: the share of the points of its games at that seat
        seatings               list: ``bots`` by seat, ``games``, ``points``, ``shares_percent`` by seat
        notes                  sentences on what limits the figures
        =====================  ===================================================================================
        """
        return {
            "report": "significance",
            "engine": self.engine,
            "unit": self.unit,
            "games": self.games,
            "planned_games": self.planned,
            "blocks": self.blocks,
            "points": self.points,
            "reference": self.reference,
            "rule": {
                "method": self.method,
                "sigmas": self.rule.sigmas,
                "tie_pp": self.rule.tie,
                "error_rate": self.rule.alpha if self._is_sequential else self.rule.error_rate(self.blocks),
                "text": self.text,
            },
            "sequential": self.sequential.to_json(),
            "bots": [_bot_json(bot) for bot in self.bots],
            "seats": [_seat_json(seat) for seat in self.seats],
            "bot_seats": [{"bot": seat.bot, **_seat_json(seat)} for seat in self.bot_seats],
            "seatings": [
                {
                    "bots": list(seating.bots),
                    "games": seating.games,
                    "points": seating.points,
                    "shares_percent": list(seating.shares),
                }
                for seating in self.seatings
            ],
            "notes": list(self.notes()),
        }

    @property
    def _is_sequential(self) -> bool:
        return self.method == "sequential"

    @property
    def text(self) -> str:
        """The rule of the verdicts in words."""
        if self._is_sequential:
            return self.sequential.text(self.rule.tie)
        return self.rule.text(self.blocks, self.comparisons)

    def notes(self) -> Iterator[str]:
        """Sentences on what limits the figures."""
        if self._is_sequential:
            yield self.sequential.sentence()
            yield (
                f"{self.games:,} of {self.planned:,} planned games are in. Verdicts follow from whole rounds in "
                "order alone; the other figures are of all these games."
            )
        elif self.games < self.planned:
            yield (
                f"The run is not finished: {self.games:,} of {self.planned:,} games are in. "
                "The rule's error rate holds at its end."
            )
        if len({bot.games for bot in self.bots}) > 1:
            yield "The bots have played unequal numbers of games; a share favours those that have played more."
        for bot in self.bots:
            if bot.pairing:
                yield from bot.pairing.sentences(f"{bot.name}'s margin", "one deal in all seatings")
        for bot in self.bots:
            if bot.penalties:
                times = "penalty" if bot.penalties == 1 else "penalties"
                yield f"{bot.name} is ineligible: {bot.penalties:,} {times}."
            if bot.faults:
                times = ", ".join(f"{termination} {count:,}" for termination, count in bot.faults.items())
                yield (
                    f"{bot.name} is ineligible, and no verdict of this run means much: games ended by its "
                    f"fault or not played because of it have no winner ({times})."
                )


def significance(run: Run) -> Report:
    """The significance report of a run's committed rows; its JSON is :meth:`SignificanceReport.to_json`.

    Raises:
        ConfigError: the reference takes part in no matchup.
    """
    return render(analyse_run(run))


def analyse_run(run: Run) -> SignificanceReport:
    """The figures of a run's committed rows.

    Raises:
        ConfigError: the reference takes part in no matchup.
    """
    engine, config = run.engine, run.config
    return analyse(
        run.lazy(engine.score.table),
        run.lazy(engine.fault.table),
        engine=engine.name,
        score=engine.score,
        fault=engine.fault,
        matchups=run.matchups(),
        bots=[bot.name for bot in config.bots],
        reference=config.verdict.reference,
        rule=Rule(config.verdict.tie, config.verdict.sigmas),
        method=config.verdict.method,
        committed=[(receipt.key, receipt.start, receipt.stop) for receipt in run.receipts()],
    )


def analyse(
    rows: pl.LazyFrame,
    fault_rows: pl.LazyFrame,
    *,
    engine: str,
    score: Score,
    fault: Fault,
    matchups: Mapping[str, Matchup],
    bots: Sequence[str],
    reference: str | None,
    rule: Rule,
    method: str = "fixed",
    committed: Iterable[Span] | None = None,
) -> SignificanceReport:
    """The figures, from rows wherever they come from.

    Args:
        rows: rows of the table that ``score`` names, with ``matchup`` and ``block``.
        fault_rows: rows of the table that ``fault`` names.
        engine: name of the game.
        score: where the metric stands.
        fault: where faults stand.
        matchups: every planned matchup by key.
        bots: names in the order of the report; those in no matchup are left out.
        reference: the bot that others are compared with; None: the first.
        rule: the decision rule.
        method: ``fixed`` or ``sequential``: whose verdicts stand.
        committed: blocks whose rows are all there; None: those of the whole plan.

    Raises:
        ConfigError: the reference takes part in no matchup.
    """
    playing = {bot.name for matchup in matchups.values() for bot in matchup.bots}
    names = tuple(name for name in bots if name in playing)
    if reference is None and names:
        reference = names[0]
    if reference not in names:
        allowed = ", ".join(names) or "none, the run has no matchups"
        raise ConfigError(f"the reference {reference!r} takes part in no matchup; allowed: {allowed}")
    clustered = any(matchup.deal is Deal.SHARED or matchup.games != 1 for matchup in matchups.values())
    rounds = Rounds.of(matchups)
    moments = Moments.of(rows, score, names, clustered, rounds)
    assert moments.totals is not None
    complete = rounds.count if committed is None else rounds.complete(committed)
    sequential = assess("significance", moments.totals, complete, rule=rule, bots=names, reference=reference)
    found = {finding.bot: finding for finding in sequential.findings}
    tally = Tally(rows, score, matchups, moments.blocks)
    faults = faults_by_bot(fault_rows, fault)
    seatings = Seatings(rows, score, matchups)
    results = []
    for name in names:
        games = tally.bot_games[name]
        margin, verdict, sentence, needed = None, "undecided", "no games yet", None
        if name == reference:
            verdict, sentence = "reference", "the reference"
        elif games and tally.bot_games[reference]:
            margin = moments.margin(name, reference)
            judgement = rule.judge(margin, moments.n, tally.games)
            if method == "sequential":
                judgement = Judgement(found[name].verdict, found[name].sentence("pp", 3), None)
            verdict, sentence, needed = judgement.verdict.value, judgement.sentence, judgement.games_to_decide
        results.append(
            BotResult(
                name=name,
                games=games,
                points=float(moments.sums[names.index(name)]),
                wins=tally.wins(name),
                share=moments.share(name),
                margin=margin,
                verdict=verdict,
                sentence=sentence,
                games_to_decide=needed,
                pairing=seatings.margin(name, reference) if seatings and margin is not None else None,
                penalties=tally.penalties[name] if score.penalties else None,
                faults=faults[name],
            )
        )
    return SignificanceReport(
        engine=engine,
        unit=score.unit,
        games=tally.games,
        planned=sum((matchup.stop - matchup.start) * matchup.games for matchup in matchups.values()),
        blocks=moments.n,
        points=moments.total,
        reference=reference,
        rule=rule,
        method=method,
        sequential=sequential,
        bots=tuple(results),
        seats=tuple(tally.seats()),
        bot_seats=tuple(tally.bot_seats()),
        seatings=tuple(tally.seatings()),
    )


def _bot_json(bot: BotResult) -> dict[str, Any]:
    return {
        "name": bot.name,
        "games": bot.games,
        "points": bot.points,
        "wins": bot.wins,
        "share_percent": bot.share.value,
        "share_error_pp": bot.share.sigma,
        "margin_pp": bot.margin.value if bot.margin else None,
        "sigma_pp": bot.margin.sigma if bot.margin else None,
        "z": bot.margin.z if bot.margin else None,
        "verdict": bot.verdict,
        "sentence": bot.sentence,
        "games_to_decide": bot.games_to_decide,
        "penalties": bot.penalties,
        "eligible": bot.eligible,
        "faults": dict(bot.faults),
        "pairing_gain": bot.pairing.ratio if bot.pairing else None,
    }


def _seat_json(seat: SeatTally) -> dict[str, Any]:
    return {
        "seat": seat.seat,
        "games": seat.games,
        "wins": seat.wins,
        "points": seat.points,
        "share_percent": seat.share,
    }


def render(result: SignificanceReport) -> Report:
    """Lay the figures out; every table that has rows is shown."""
    names = [bot.name for bot in result.bots]
    games = (
        f"{result.games:,} games in {result.blocks:,} independent blocks, {number(result.points)} {result.unit}"
    )
    tables = [
        Table(
            f"Verdicts against {result.reference}",
            _columns("bot", "margin pp", "sigma pp", "z", "verdict", "in words"),
            tuple(_verdict_row(bot) for bot in result.bots),
        ),
        Table(
            "Points",
            _columns("no.", "bot", "games", result.unit, "share %", "error pp", "wins", "penalties"),
            tuple(
                (
                    str(position),
                    bot.name,
                    number(bot.games),
                    number(bot.points),
                    number(bot.share.value, 3),
                    number(bot.share.sigma, 4),
                    number(bot.wins),
                    number(bot.penalties),
                )
                for position, bot in enumerate(result.bots, 1)
            ),
        ),
        Table(
            "Faults",
            _columns("bot", "termination", "times"),
            tuple(
                (bot.name, termination, number(count))
                for bot in result.bots
                for termination, count in bot.faults.items()
            ),
        ),
        Table(
            "Seats",
            _columns("seat", "games", "wins", result.unit, "share %"),
            tuple(_seat_row(seat) for seat in result.seats),
        ),
        Table(
            "Bots by seat",
            _columns("bot", "seat", "games", "wins", result.unit, "share %"),
            tuple((seat.bot or "", *_seat_row(seat)) for seat in result.bot_seats),
        ),
        Table(
            "Seatings, share %",
            (
                Column("bots by seat"),
                Column("games", right=True),
                *(Column(f"{position}. {bot.name}", right=True) for position, bot in enumerate(result.bots, 1)),
            ),
            tuple(_seating_row(seating, names) for seating in result.seatings),
        ),
    ]
    return Report(
        title=f"Significance: {result.engine}, reference {result.reference}",
        paragraphs=(f"{games}.", result.text, *result.notes()),
        tables=tuple(table for table in tables if table.rows),
        data=result.to_json(),
    )


def _columns(*heads: str) -> tuple[Column, ...]:
    return tuple(Column(head, right=head not in ("bot", "termination", "verdict", "in words")) for head in heads)


def _verdict_row(bot: BotResult) -> tuple[str, ...]:
    margin = bot.margin or Estimate(None, None)
    return (
        bot.name,
        number(margin.value, 3, signed=True),
        number(margin.sigma, 4),
        number(margin.z, 2, signed=True),
        bot.verdict if bot.eligible else f"{bot.verdict}, ineligible",
        bot.sentence,
    )


def _seat_row(seat: SeatTally) -> tuple[str, ...]:
    return (str(seat.seat), number(seat.games), number(seat.wins), number(seat.points), number(seat.share, 3))


def _seating_row(seating: SeatingTally, names: Sequence[str]) -> tuple[str, ...]:
    shares = dict(zip(seating.bots, seating.shares, strict=True))
    order = " ".join(str(names.index(bot) + 1) for bot in seating.bots)
    return (order, number(seating.games), *(number(shares.get(name), 2) for name in names))
