"""Who is eliminated: balances over all pairings, who is last by the official rule, and how sure that is.

The rule (statement of blackjack, section Organisation): the lowest final balance goes, and all that tie for it. The
method is explained in :mod:`simfarm.stats.elimination`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simfarm.core.model import Matchup
from simfarm.report.render import Column, Report, Table, number
from simfarm.stats.elimination import SURE, Certainty, Lead, Standing
from simfarm.stats.pairing import Gain, Seatings
from simfarm.stats.sequential import Sequential, assess_run
from simfarm.stats.tally import terminations
from simfarm.store import Run

ENOUGH_BLOCKS = 10
"""Repeats that show the spread of matches well."""


@dataclass(frozen=True, slots=True)
class BotStanding:
    """One bot over the whole run."""

    name: str
    author: str | None
    hash: str
    """Of its content."""
    matches: int
    balance: int | float
    """Sum of its scores over all its matches."""
    survived: int | None
    """Games in which it took part; None where rows do not tell."""
    last: bool
    """Whether it goes."""
    probability: float | None
    """Of being last; None where there is no spread to tell it from."""
    terminations: Mapping[str, int]
    """Its matches by how they ended for it, where rows tell; else the rows that name it at fault."""


@dataclass(frozen=True, slots=True)
class EliminationReport:
    """All figures of the report."""

    engine: str
    unit: str
    """What a point is called."""
    matches: int
    planned: int
    """Matches of the whole run; what the report says is provisional where ``matches`` is less."""
    tie_break: str
    bots: tuple[BotStanding, ...]
    """In config order."""
    against: tuple[tuple[int | float | None, ...], ...]
    """The row's balance where the column's bot took part; None where they never meet."""
    pairs: bool
    """Whether every matchup has two bots, so that a row adds up to a balance."""
    certainty: Certainty | None
    lead: Lead | None
    pairing: Gain | None
    """What mirrored matches do for the differences of those that meet; None where deals are fresh."""
    sequential: Sequential | None
    """What the sequential rule says; None where the config chooses the fixed one."""

    @property
    def last(self) -> tuple[str, ...]:
        """The bots that go; all, if all tie."""
        return tuple(bot.name for bot in self.bots if bot.last)

    def verdict(self) -> str:
        """The verdict in words."""
        provisional = "So far" if self.matches < self.planned else "By the rule"
        if not self.last:
            return "No matches yet."
        if len(self.last) == len(self.bots):
            return (
                f"{provisional} all {len(self.bots)} tie for last: nobody stays, the round has to be played again."
            )
        if len(self.last) > 1:
            return f"{provisional} {', '.join(self.last)} tie for last: all of them go."
        return f"{provisional} {self.last[0]} is last and goes."

    def rule(self) -> str:
        """The rule in words."""
        rule = f"The lowest sum of {self.unit} over all matches is last"
        if self.tie_break == "games_survived":
            rule += "; of equal sums the one with fewer games survived"
        return f"{rule}; all that tie for last go."

    def sureness(self) -> Iterator[str]:
        """What can be said on how sure the verdict is, in words."""
        if not self.last:
            return
        certainty, lead = self.certainty, self.lead
        if certainty is None:
            yield (
                "How sure that is cannot be told: some bots met in one match only, and one match has no spread to "
                f"resample. Two matches of each matchup show some, {ENOUGH_BLOCKS} show it well."
            )
            return
        error = (
            f"The chance that others are really the worst is {100 * (1 - certainty.same):.1f} % "
            f"({certainty.resamples:,} resamples of the matches)."
        )
        if certainty.same >= SURE:
            yield error
        else:
            yield (
                f"These matches do not tell them apart at {SURE:.0%}: the official rule removes "
                f"{', '.join(self.last)} all the same. {error}"
            )
        if lead is not None and lead.sigma is not None:
            yield (
                f"Closest: {lead.next} stays {number(lead.value, 1)} {self.unit} ahead of {lead.last}, "
                f"sigma {number(lead.sigma, 1)}"
                + (
                    f"; with a lead like this about {lead.blocks_needed:,} matches of each matchup make it "
                    f"{SURE:.0%} sure."
                    if lead.sigma and lead.blocks_needed is not None
                    else "."
                )
            )

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values.

        =====================  ===================================================================================
        key                    value
        =====================  ===================================================================================
        report                 ``"elimination"``
        engine, unit           the game, and what a point is called
        matches, planned_matches  matches (blocks) in the rows, matches of the whole run
        tie_break              ``none`` or ``games_survived``
        last                   names of the bots that go
        all_tie                whether that is every bot
        bots                   list in config order: ``name``, ``author``, ``hash``, ``matches``, ``balance``,
                               ``games_survived``, ``last``, ``probability_last`` (a fraction), ``terminations``
                               (termination -> times); null: there is none
        against                object: bot -> bot -> balance of the first where the second took part
        certainty              null, or ``resamples``, ``same_last`` (a fraction: exactly these go) and ``told_apart``
                               (whether that is 99 % or more)
        pairing_gain           null, or games of an independent design that one game is worth
        sequential             null, or :meth:`~simfarm.stats.sequential.Sequential.to_json` with
                               ``[verdict] method = "sequential"``
        lead                   null, or ``last``, ``next``, ``value``, ``sigma``, ``matches_needed`` (per matchup)
        verdict, rule, notes   sentences
        =====================  ===================================================================================
        """
        names = [bot.name for bot in self.bots]
        return {
            "report": "elimination",
            "engine": self.engine,
            "unit": self.unit,
            "matches": self.matches,
            "planned_matches": self.planned,
            "tie_break": self.tie_break,
            "last": list(self.last),
            "all_tie": bool(self.last) and len(self.last) == len(self.bots),
            "bots": [_bot_json(bot) for bot in self.bots],
            "against": {
                name: {other: value for other, value in zip(names, row, strict=True) if value is not None}
                for name, row in zip(names, self.against, strict=True)
            },
            "certainty": self.certainty
            and {
                "resamples": self.certainty.resamples,
                "same_last": self.certainty.same,
                "told_apart": self.certainty.same >= SURE,
            },
            "pairing_gain": self.pairing.ratio if self.pairing else None,
            "sequential": self.sequential.to_json() if self.sequential else None,
            "lead": self.lead
            and {
                "last": self.lead.last,
                "next": self.lead.next,
                "value": self.lead.value,
                "sigma": self.lead.sigma,
                "matches_needed": self.lead.blocks_needed,
            },
            "verdict": self.verdict(),
            "rule": self.rule(),
            "notes": list(self.notes()),
        }

    def notes(self) -> Iterator[str]:
        """Sentences on how sure the verdict is and on what limits it."""
        if self.sequential is not None:
            yield self.sequential.text(0.0)
            yield self.sequential.sentence()
        if self.matches < self.planned:
            yield f"The run is not finished: {self.matches:,} of {self.planned:,} matches are in."
        if len({bot.matches for bot in self.bots}) > 1:
            yield "The bots have played unequal numbers of matches; their sums do not compare."
        yield from self.sureness()
        if self.pairing is not None:
            yield from self.pairing.sentences("the difference of two that meet", "the same cards in every seating")


def elimination(run: Run) -> Report:
    """The elimination report of a run's committed rows; its JSON is :meth:`EliminationReport.to_json`.

    Raises:
        ConfigError: the engine's scores cannot be summed exactly.
    """
    return render(analyse(run))


def analyse(run: Run) -> EliminationReport:
    """The figures of a run.

    Raises:
        ConfigError: the engine's scores cannot be summed exactly.
    """
    standing, matchups, score = Standing.of_run(run), run.matchups(), run.engine.score
    played = sum(receipt.stop - receipt.start for receipt in run.receipts())
    certainty, last = standing.certainty(), standing.last() if played else ()
    seatings = Seatings(run.lazy(score.table), score, matchups)
    ends = terminations(run.engine, run.lazy(run.engine.fault.table))
    bots = {bot.name: bot for bot in run.config.bots}
    figures = zip(standing.bots, standing.balances, standing.survived, standing.matches, strict=True)
    return EliminationReport(
        engine=run.engine.name,
        unit=score.unit,
        matches=played,
        planned=sum(matchup.stop - matchup.start for matchup in matchups.values()),
        tie_break=run.config.verdict.tie_break,
        bots=tuple(
            BotStanding(
                name=name,
                author=bots[name].author,
                hash=bots[name].hash,
                matches=int(matches),
                balance=standing.points(int(balance)),
                survived=int(survived) if score.survived is not None else None,
                last=name in last,
                probability=certainty.probabilities[name] if certainty is not None else None,
                terminations=ends[name],
            )
            for name, balance, survived, matches in figures
        ),
        against=_against(standing, matchups),
        pairs=all(len(matchup.bots) == 2 for matchup in matchups.values()),
        certainty=certainty,
        lead=standing.lead(),
        pairing=seatings.all_differences() if seatings else None,
        sequential=assess_run(run, "elimination") if run.config.verdict.method == "sequential" else None,
    )


def _against(standing: Standing, matchups: Mapping[str, Matchup]) -> tuple[tuple[int | float | None, ...], ...]:
    met = set()
    for key in standing.matchups:
        names = [bot.name for bot in matchups[key].bots]
        met |= {(name, other) for name in names for other in names if other != name}
    return tuple(
        tuple(
            standing.points(int(units)) if (name, other) in met else None
            for other, units in zip(standing.bots, row, strict=True)
        )
        for name, row in zip(standing.bots, standing.against(), strict=True)
    )


def _bot_json(bot: BotStanding) -> dict[str, Any]:
    return {
        "name": bot.name,
        "author": bot.author,
        "hash": bot.hash,
        "matches": bot.matches,
        "balance": bot.balance,
        "games_survived": bot.survived,
        "last": bot.last,
        "probability_last": bot.probability,
        "terminations": dict(bot.terminations),
    }


def render(result: EliminationReport) -> Report:
    """Lay the figures out; tables show the best first."""
    order = sorted(range(len(result.bots)), key=lambda position: _place(result.bots[position]))
    bots = [result.bots[position] for position in order]
    digits = 1 if any(isinstance(bot.balance, float) for bot in bots) else 0
    tables = [
        Table(
            f"Balances in {result.unit}",
            _columns("place", "bot", "matches", "balance", "games survived", "P(last) %", "verdict"),
            tuple(
                (
                    str(1 + sum(_place(other)[0] < _place(bot)[0] for other in bots)),
                    bot.name,
                    number(bot.matches),
                    number(bot.balance, digits),
                    number(bot.survived),
                    number(None if bot.probability is None else 100 * bot.probability, 1),
                    "goes" if bot.last else "stays",
                )
                for bot in bots
            ),
        ),
        Table(
            "Pairings: the row's balance against the column"
            + ("" if result.pairs else " (at tables of more than two; rows do not add up)"),
            _columns("bot", *(bot.name for bot in bots)),
            tuple(
                (bot.name, *(number(result.against[row][column], digits) for column in order))
                for row, bot in zip(order, bots, strict=True)
            ),
        ),
        Table(
            "Terminations",
            _columns("bot", "termination", "times"),
            tuple(
                (bot.name, termination, number(times))
                for bot in bots
                for termination, times in bot.terminations.items()
            ),
        ),
    ]
    return Report(
        title=f"Elimination: {result.engine}, {result.matches:,} matches of {len(bots)} bots",
        paragraphs=(result.verdict(), result.rule(), *result.notes()),
        tables=tuple(table for table in tables if table.rows),
        data=result.to_json(),
    )


def _place(bot: BotStanding) -> tuple[float, str]:
    return (-bot.balance, bot.name)


def _columns(*heads: str) -> tuple[Column, ...]:
    left: Sequence[str] = ("bot", "termination", "verdict")
    return tuple(Column(head, right=head not in left) for head in heads)
