"""How a league stands, as values: its rounds by their rows, who remains, who is king; for people and as JSON.

:class:`simfarm.league.League` works them out.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simfarm.report.render import Column, Report, Table, number


@dataclass(frozen=True, slots=True)
class Entrant:
    """A bot as it took part in a round."""

    name: str
    author: str | None
    hash: str
    balance: int | float
    """Sum of its scores in the round so far."""
    survived: int | None
    """Games in which it took part; None where rows do not tell."""


@dataclass(frozen=True, slots=True)
class Round:
    """One playing of a round, by its rows."""

    number: int
    """From 1."""
    replay: int
    """0, or how often it had been played before."""
    folder: Path
    """Its run folder."""
    unit: str
    """What a point is called."""
    matches: int
    planned: int
    entrants: tuple[Entrant, ...]
    last: tuple[str, ...]
    """Who is last by the rows that are there; final once :attr:`complete`."""

    @property
    def complete(self) -> bool:
        """Whether every match is committed."""
        return self.matches == self.planned

    @property
    def names(self) -> tuple[str, ...]:
        """Who takes part."""
        return tuple(entrant.name for entrant in self.entrants)

    @property
    def all_tie(self) -> bool:
        """Whether nobody would stay."""
        return len(self.last) == len(self.entrants)

    @property
    def eliminated(self) -> tuple[str, ...]:
        """Who goes by this round."""
        return self.last if self.complete and not self.all_tie else ()

    @property
    def title(self) -> str:
        """``round 2``, ``round 2, replay 1``."""
        return f"round {self.number}" + (f", replay {self.replay}" if self.replay else "")

    def outcome(self) -> str:
        """What came of it, in words."""
        if not self.complete:
            return f"{self.matches:,} of {self.planned:,} matches played"
        balances = {entrant.name: entrant.balance for entrant in self.entrants}
        amount = f"{balances[self.last[0]]:,} {self.unit}" + (" each" if len(self.last) > 1 else "")
        if self.all_tie:
            return f"all {len(self.last)} tie for last with {amount}"
        return f"{', '.join(self.last)} {'go' if len(self.last) > 1 else 'goes'} with {amount}"


@dataclass(frozen=True, slots=True)
class Status:
    """How a league stands."""

    engine: str
    seed: int
    rounds: tuple[Round, ...]
    """Every playing of every round, in order; the last one may be unfinished."""
    remaining: tuple[str, ...]
    """Who is not eliminated."""
    kings: tuple[str, ...]
    """One, or several that cannot be told apart; empty while the league goes on."""
    next: tuple[int, int] | None
    """Number and replay of the round to play or to go on with; None when the league is over."""
    changed: tuple[str, ...]
    """Who of those that remain differs from the bot that took part in the latest round."""

    def verdict(self) -> str:
        """The state in words."""
        if self.next is None:
            kings = ", ".join(self.kings)
            return f"King of the hill: {kings}." if len(self.kings) == 1 else f"Joint kings of the hill: {kings}."
        number, replay = self.next
        name = f"round {number}" + (f", replay {replay}" if replay else "")
        started = bool(self.rounds) and not self.rounds[-1].complete
        return f"{'Unfinished' if started else 'Next'}: {name}, {len(self.remaining)} bots."

    def to_json(self) -> dict[str, Any]:
        """The state as JSON values.

        =============  ==========================================================================================
        key            value
        =============  ==========================================================================================
        engine, seed   of the league
        over           whether there is nothing more to play
        kings          names; empty while the league goes on
        remaining      names
        next           null, or ``round`` and ``replay`` (0: the first time)
        changed        names of those that remain and differ from the bot of the latest round
        rounds         list: ``round``, ``replay``, ``folder``, ``complete``, ``matches``, ``planned_matches``,
                       ``all_tie``, ``eliminated``, ``bots`` (list: ``name``, ``author``, ``hash``, ``balance``,
                       ``games_survived``)
        =============  ==========================================================================================
        """
        return {
            "engine": self.engine,
            "seed": self.seed,
            "over": self.next is None,
            "kings": list(self.kings),
            "remaining": list(self.remaining),
            "next": None if self.next is None else {"round": self.next[0], "replay": self.next[1]},
            "changed": list(self.changed),
            "rounds": [_round_json(played) for played in self.rounds],
        }

    def report(self) -> Report:
        """The state for people."""
        notes = [f"Changed since the latest round: {', '.join(self.changed)}."] if self.changed else []
        rounds = Table(
            "Rounds",
            (Column("round"), Column("bots", right=True), Column("outcome"), Column("folder")),
            tuple((r.title, number(len(r.entrants)), r.outcome(), r.folder.name) for r in self.rounds),
        )
        balances = Table(
            "Balances",
            (Column("round"), Column("bot"), Column("author"), Column("balance", right=True), Column("hash")),
            tuple(
                (r.title, bot.name, bot.author or "-", f"{bot.balance:,}", bot.hash[:12])
                for r in self.rounds
                for bot in sorted(r.entrants, key=lambda bot: -bot.balance)
            ),
        )
        return Report(
            title=f"League: {self.engine}",
            paragraphs=(self.verdict(), *notes),
            tables=tuple(table for table in (rounds, balances) if table.rows),
            data=self.to_json(),
        )


def _round_json(played: Round) -> dict[str, Any]:
    return {
        "round": played.number,
        "replay": played.replay,
        "folder": str(played.folder),
        "complete": played.complete,
        "matches": played.matches,
        "planned_matches": played.planned,
        "all_tie": played.complete and played.all_tie,
        "eliminated": list(played.eliminated),
        "bots": [
            {
                "name": entrant.name,
                "author": entrant.author,
                "hash": entrant.hash,
                "balance": entrant.balance,
                "games_survived": entrant.survived,
            }
            for entrant in played.entrants
        ],
    }
