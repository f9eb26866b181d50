"""The referee's packed records, and how they become the columns of the table ``games``."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simfarm.core.model import NAME, Column, Matchup, Table, Termination

SEATS = 4

RECORD = np.dtype(
    [
        ("seating", "u1"),
        ("first_seat", "u1"),
        ("right", "u1"),
        ("winner", "u1"),
        ("termination", "u1"),
        ("fault", "u1"),
        ("reshuffles", "u1"),
        ("unused", "u1"),
        ("points", "<u2"),
        ("turns", "<u2"),
        ("penalties", "<u2", SEATS),
    ]
)
"""``struct record`` of referee/referee.c, little-endian."""

NOBODY = 255
"""In a record: no seat."""

TERMINATIONS = (
    Termination.COMPLETED,
    Termination.LENGTH_LIMIT,
    Termination.FORFEITED,
    Termination.TIMEOUT,
    Termination.EXITED,
    Termination.CRASHED,
    Termination.FORBIDDEN,
)
"""By the number that stands in a record (referee/game.h)."""

GAMES = Table(
    "games",
    "one row per game",
    (
        Column("seating", pa.uint8(), "position of the game's seating in the matchup's seatings"),
        Column("first_seat", pa.uint8(), "seat that had the first turn"),
        Column("direction", NAME, "direction at the start: left or right"),
        Column("winner_seat", pa.uint8(), "seat that won, null if nobody did"),
        Column("winner_bot", NAME, "bot that won, null if nobody did"),
        Column("points", pa.uint16(), "points of the winner: the cards of the other three hands; 0 without one"),
        Column("turns", pa.uint16(), "turns begun, the last one included"),
        Column("reshuffles", pa.uint8(), "times the discards became the deck; 255 means 255 or more"),
        *(Column(f"penalties_seat{seat}", pa.uint16(), f"penalties of seat {seat}") for seat in range(SEATS)),
        Column("termination", NAME, "why the game ended"),
        Column("fault_bot", NAME, "bot at fault, null if none; of a forfeited game the one disqualified before"),
    ),
)


def games_table(records: npt.NDArray[np.void], matchup: Matchup, first_block: int) -> pa.Table:
    """The rows of the table ``games``, ``block`` in front.

    Args:
        records: of :data:`RECORD`, in order of play.
        matchup: that was played.
        first_block: block of the first record.
    """
    per_block = len(matchup.seatings_of(0))
    blocks = first_block + np.arange(len(records), dtype=np.uint64) // per_block
    names = list(dict.fromkeys(bot.name for bot in matchup.bots))
    bot_at = _name_index(matchup, names)
    columns: dict[str, pa.Array] = {
        "block": pa.array(blocks.astype(np.uint32)),
        "seating": pa.array(records["seating"]),
        "first_seat": pa.array(records["first_seat"]),
        "direction": _names(records["right"], ["left", "right"]),
        "winner_seat": pa.array(records["winner"], mask=records["winner"] == NOBODY),
        "winner_bot": _bots(records, "winner", bot_at, names),
        "points": pa.array(records["points"]),
        "turns": pa.array(records["turns"]),
        "reshuffles": pa.array(records["reshuffles"]),
        **{f"penalties_seat{seat}": pa.array(records["penalties"][:, seat]) for seat in range(SEATS)},
        "termination": _names(records["termination"], [str(value) for value in TERMINATIONS]),
        "fault_bot": _bots(records, "fault", bot_at, names),
    }
    return pa.table(columns)


def seatings(matchup: Matchup) -> tuple[tuple[int, ...], ...]:
    """The matchup's seatings; as listed if it names none."""
    return matchup.seatings or (tuple(range(SEATS)),)


def _name_index(matchup: Matchup, names: list[str]) -> npt.NDArray[np.int16]:
    """Index of a bot's name by [seating, seat]."""
    position = [names.index(bot.name) for bot in matchup.bots]
    return np.array([[position[bot] for bot in seating] for seating in seatings(matchup)], dtype=np.int16)


def _bots(records: npt.NDArray[np.void], field: str, bot_at: npt.NDArray[np.int16], names: list[str]) -> pa.Array:
    seat = records[field]
    nobody = seat == NOBODY
    return _names(bot_at[records["seating"], np.where(nobody, 0, seat)], names, nobody)


def _names(
    index: npt.NDArray[np.generic], names: list[str], mask: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int16), mask=mask), pa.array(names))
