"""The rows of a match: table ``seats``, and by option ``games``."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from engines.blackjack.cards import TEXT
from engines.blackjack.referee import Match
from engines.blackjack.table import Hand, Seat, Table
from simfarm.core.evidence import EVIDENCE, NO_EVIDENCE
from simfarm.core.model import NAME, Column
from simfarm.core.model import Table as RowTable

SEATS = RowTable(
    "seats",
    "one row per match and bot",
    (
        Column("seating", pa.uint8(), "position of the match's seating in the matchup's seatings"),
        Column("bot", NAME, "the bot"),
        Column("balance", pa.float64(), "final balance in coins, 0 after a termination for a fault"),
        Column("games", pa.uint32(), "games in which the bot has bet"),
        Column("match_games", pa.uint32(), "games of the match, until its end or until no bot could be seated"),
        Column("wagered", pa.uint64(), "coins staked on hands in all games, insurance apart"),
        Column("decisions", pa.uint32(), "requests sent to the bot"),
        Column("termination", NAME, "why the match ended for the bot: completed, broke or its fault"),
        Column("fault_bot", NAME, "the bot again if it was terminated for a fault, else null"),
        Column("detail", pa.string(), "of a fault: game, phase and what was wrong"),
        *EVIDENCE,
        Column(
            "reply_us_median",
            pa.float32(),
            "time of a reply in microseconds, median; null without requests",
            time=True,
        ),
        Column("reply_us_p99", pa.float32(), "the same, 99th percentile", time=True),
        Column("reply_us_worst", pa.float32(), "the same, longest", time=True),
    ),
)

GAMES = RowTable(
    "games",
    "one row per game",
    (
        Column("seating", pa.uint8(), "position of the match's seating in the matchup's seatings"),
        Column("game", pa.uint32(), "game_id of the game, from 1"),
        Column("bets", pa.string(), "bot:coins for each bet, in seat order, +coins for insurance"),
        Column("results", pa.string(), "bot:coins won or lost in the game, in seat order"),
        Column("cards", pa.string(), "bot:hands in seat order, hands separated by |, then dealer:cards"),
    ),
    optional=True,
)


@dataclass(slots=True)
class Rows:
    """Rows in the making, column by column."""

    table: RowTable
    columns: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = {name: [] for name in ("block", *(column.name for column in self.table))}

    def add(self, **values: Any) -> None:
        """Add a row."""
        for name, value in values.items():
            self.columns[name].append(value)

    def arrow(self) -> pa.Table:
        """All rows, ``block`` in front."""
        types = {"block": pa.uint32(), **{column.name: column.type for column in self.table}}
        arrays = {}
        for name, values in self.columns.items():
            if types[name] == NAME:
                arrays[name] = pa.array(values, pa.string()).cast(NAME)
            else:
                arrays[name] = pa.array(values, types[name])
        return pa.table(arrays)


def add_seats(rows: Rows, block: int, seating: int, match: Match) -> None:
    """Add the rows of a match that is over and closed, in the match's order of bots."""
    table = match.table
    for seat in table.everyone:
        player = match.players[seat.name]
        outcome = match.outcome(seat)
        fault = outcome.termination.is_bot_fault
        times = np.frombuffer(player.reply_seconds, dtype=np.float64) * 1e6
        median, p99, worst = np.quantile(times, (0.5, 0.99, 1.0)) if len(times) else (None, None, None)
        rows.add(
            block=block,
            seating=seating,
            bot=seat.name,
            balance=seat.balance / 2,
            games=seat.games,
            match_games=table.games_completed,
            wagered=seat.wagered,
            decisions=seat.decisions,
            termination=str(outcome.termination),
            fault_bot=seat.name if fault else None,
            detail=outcome.detail if fault else None,
            **asdict(player.evidence if fault else NO_EVIDENCE),
            reply_us_median=median,
            reply_us_p99=p99,
            reply_us_worst=worst,
        )


class GameRows:
    """Adds a match's games to the table ``games``.

    Args:
        rows: where to.
        block: the block.
        seating: position of the match's seating.
        seats: the seats before the first game.
    """

    def __init__(self, rows: Rows, block: int, seating: int, seats: Sequence[Seat]) -> None:
        self._rows = rows
        self._block = block
        self._seating = seating
        self._balances = {seat.name: seat.balance for seat in seats}

    def add(self, table: Table) -> None:
        """Add the game that has just been played."""
        bettors = [seat for seat in table.seats if seat.bet]
        self._rows.add(
            block=self._block,
            seating=self._seating,
            game=table.game_id,
            bets=" ".join(f"{seat.name}:{seat.bet}{_insurance(seat)}" for seat in bettors),
            results=" ".join(
                f"{seat.name}:{(seat.balance - self._balances[seat.name]) / 2:+g}" for seat in table.seats
            ),
            cards="; ".join(
                [
                    *(f"{seat.name}:{hands_text(seat.hands)}" for seat in bettors),
                    f"dealer:{cards_text(table.dealer)}",
                ]
            ),
        )
        for seat in table.seats:
            self._balances[seat.name] = seat.balance


def cards_text(cards: Sequence[int]) -> str:
    """Cards for people: ``AS 10H``."""
    return " ".join(TEXT[card] for card in cards)


def hands_text(hands: Sequence[Hand]) -> str:
    """A seat's hands for people, separated by bars."""
    return " | ".join(cards_text(hand.cards) for hand in hands)


def _insurance(seat: Seat) -> str:
    return f"+{seat.insurance}" if seat.insurance else ""
