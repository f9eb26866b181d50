"""The referee's rows, and how they become Arrow columns: no Python runs per game, set or round."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simfarm.core.evidence import EVIDENCE, Evidence
from simfarm.core.model import NAME, Column, Matchup, Table, Termination

SEATS = 2


def _per_seat(name: str, type: pa.DataType, doc: str, *, time: bool = False) -> tuple[Column, ...]:
    return tuple(Column(f"{name}_seat{seat}", type, f"{doc} of seat {seat}", time) for seat in range(SEATS))


GAMES = Table(
    "games",
    "one row per game",
    (
        Column("game", pa.uint16(), "number of the game in its block"),
        Column("seating", pa.uint8(), "position of the game's seating in the matchup's seatings"),
        *_per_seat("bot", NAME, "bot"),
        Column("first_seat", pa.uint8(), "seat that moved first in the first round, null if nothing was played"),
        Column("winner_seat", pa.uint8(), "seat that won, null if nobody did"),
        Column("winner_bot", NAME, "bot that won, null if nobody did"),
        Column("won", pa.uint8(), "1 if somebody won, 0 if not"),
        Column("sets", pa.uint16(), "sets played"),
        *_per_seat("sets", pa.uint16(), "sets won"),
        Column("rounds", pa.uint32(), "rounds played"),
        *_per_seat("rounds", pa.uint32(), "rounds won"),
        Column("turns", pa.uint32(), "times that a bot was asked for its bet"),
        *_per_seat("folds", pa.uint32(), "rounds given up"),
        *_per_seat("illegal", pa.uint32(), "rounds given up by an answer that was not -1"),
        *_per_seat("coins", pa.uint32(), "coins held at the ends of sets, added up"),
        *_per_seat("exceptions", pa.uint32(), "callbacks that threw"),
        *_per_seat("attempts", pa.uint32(), "recognised attempts to get out"),
        Column("termination", NAME, "why the game ended"),
        Column("fault_bot", NAME, "bot at fault, null if none"),
        Column("detail", pa.string(), "what was seen of faults and first exceptions, null if nothing"),
        *EVIDENCE,
        *_per_seat(
            "seconds", pa.float32(), "seconds of real time, estimated from every seventh round,", time=True
        ),
    ),
)

SETS = Table(
    "sets",
    "one row per set",
    (
        Column("game", pa.uint16(), "number of the game in its block"),
        Column("set", pa.uint16(), "number of the set in its game"),
        Column("first_seat", pa.uint8(), "seat that moved first in the first round"),
        Column("winner_seat", pa.uint8(), "seat that won, null at equal coins"),
        Column("winner_bot", NAME, "bot that won, null at equal coins"),
        *_per_seat("coins", pa.uint32(), "coins at the end"),
        Column("rounds", pa.uint32(), "rounds played"),
        *_per_seat("rounds", pa.uint32(), "rounds won"),
        Column("turns", pa.uint32(), "times that a bot was asked for its bet"),
        *_per_seat("folds", pa.uint32(), "rounds given up"),
    ),
)

ROUNDS = Table(
    "rounds",
    "one row per round",
    (
        Column("game", pa.uint16(), "number of the game in its block"),
        Column("set", pa.uint16(), "number of the set in its game"),
        Column("round", pa.uint32(), "number of the round in its set"),
        Column("first_seat", pa.uint8(), "seat that moved first"),
        Column("card0_seat0", pa.uint8(), "first card of seat 0, shown to the opponent"),
        Column("card1_seat0", pa.uint8(), "second card of seat 0"),
        Column("card0_seat1", pa.uint8(), "first card of seat 1, shown to the opponent"),
        Column("card1_seat1", pa.uint8(), "second card of seat 1"),
        *_per_seat("coins", pa.uint32(), "coins before the round"),
        *_per_seat("bet", pa.uint32(), "coins bet, ante included,"),
        Column("winner_seat", pa.uint8(), "seat that won"),
        Column("folded_seat", pa.uint8(), "seat that gave up, null at a showdown"),
        Column("turns", pa.uint32(), "times that a bot was asked for its bet"),
    ),
    optional=True,
)

NOT_FROM_THE_REFEREE = {"bot_seat0", "bot_seat1", "winner_bot", "won", "fault_bot", "detail"}.union(
    column.name for column in EVIDENCE
)
"""Columns that are made here; the referee's rows hold the others as 32-bit integers, in the table's order."""


def _fields(table: Table, extra: Mapping[str, str] | None = None) -> tuple[str, ...]:
    names = []
    for column in table:
        if extra and column.name in extra:
            names.append(extra[column.name])
        elif column.name not in NOT_FROM_THE_REFEREE:
            names.append(column.name)
    return tuple(names)


GAME_FIELDS = _fields(GAMES, {"fault_bot": "fault_seat"})
SET_FIELDS = _fields(SETS)
ROUND_FIELDS = _fields(ROUNDS)

TERMINATIONS = (
    Termination.COMPLETED,
    Termination.TIME_LIMIT,
    Termination.FORBIDDEN,
    Termination.CRASHED,
    Termination.MEMORY_LIMIT,
    Termination.FORFEITED,
    Termination.TIMEOUT,
    Termination.NOT_STARTED,
)
"""By the number that stands in a row (referee/blocks.mjs)."""

Numbers = npt.NDArray[np.int32]


def seatings(matchup: Matchup) -> tuple[tuple[int, ...], ...]:
    """The matchup's seatings; as listed if it names none."""
    return matchup.seatings or (tuple(range(SEATS)),)


def games_table(
    data: bytes, blocks: Numbers, details: Sequence[tuple[int, str, Evidence]], matchup: Matchup
) -> pa.Table:
    """The rows of the table ``games``.

    Args:
        data: the referee's rows.
        blocks: block of each row.
        details: row, text and evidence of games about which there is something to say.
        matchup: that was played.
    """
    fields = _matrix(data, GAME_FIELDS)
    bots = _BotNames(matchup, fields["seating"])
    names = ["detail", *(column.name for column in EVIDENCE)]
    texts = {name: np.full(len(blocks), None, dtype=object) for name in names}
    for row, text, evidence in details:
        for name, value in zip(names, (text or None, *astuple(evidence)), strict=True):
            texts[name][row] = value
    columns: dict[str, pa.Array] = {
        "bot_seat0": bots.at(np.zeros_like(blocks)),
        "bot_seat1": bots.at(np.ones_like(blocks)),
        "winner_bot": bots.at(fields["winner_seat"]),
        "won": pa.array((fields["winner_seat"] >= 0).astype(np.uint8)),
        "termination": _names(fields["termination"], [str(value) for value in TERMINATIONS]),
        "fault_bot": bots.at(fields["fault_seat"]),
        **{name: pa.array(column, pa.string()) for name, column in texts.items()},
    }
    for seat in range(SEATS):
        name = f"seconds_seat{seat}"
        columns[name] = pa.array((fields[name] / 1e6).astype(np.float32))
    return _table(GAMES, blocks, fields, columns)


def sets_table(data: bytes, blocks: Numbers, games: pa.Table, matchup: Matchup) -> pa.Table:
    """The rows of the table ``sets``; ``games`` are the same blocks' rows of that table, which know the seatings."""
    fields = _matrix(data, SET_FIELDS)
    first = int(games["block"][0].as_py()) if games.num_rows else 0
    seating = games["seating"].to_numpy()[(blocks - first) * matchup.games + fields["game"]]
    return _table(SETS, blocks, fields, {"winner_bot": _BotNames(matchup, seating).at(fields["winner_seat"])})


def rounds_table(data: bytes, blocks: Numbers) -> pa.Table:
    """The rows of the table ``rounds``."""
    return _table(ROUNDS, blocks, _matrix(data, ROUND_FIELDS), {})


def block_column(counts: Iterable[tuple[int, int]]) -> Numbers:
    """The block of each row, from each block and its number of rows."""
    blocks, rows = np.array(list(counts), dtype=np.int64).reshape(-1, 2).T
    return np.repeat(blocks, rows)


class _BotNames:
    """Names of bots by seat, for rows whose seatings are known."""

    def __init__(self, matchup: Matchup, seating: Numbers) -> None:
        self._names = [bot.name for bot in matchup.bots]
        self._position = np.array(seatings(matchup), dtype=np.int16)
        self._seating = seating

    def at(self, seat: Numbers) -> pa.Array:
        """The bot at each row's seat; null where the seat is negative."""
        nobody = seat < 0
        return _names(self._position[self._seating, np.where(nobody, 0, seat)], self._names, nobody)


def _matrix(data: bytes, fields: Sequence[str]) -> dict[str, Numbers]:
    columns = np.frombuffer(data, "<i4").reshape(-1, len(fields)).T
    return dict(zip(fields, columns, strict=True))


def _table(table: Table, blocks: Numbers, fields: Mapping[str, Numbers], made: Mapping[str, pa.Array]) -> pa.Table:
    columns = {"block": pa.array(blocks.astype(np.uint32))}
    for column in table:
        if column.name in made:
            columns[column.name] = made[column.name]
            continue
        values = fields[column.name]
        null = values < 0 if column.name.endswith("_seat") else None
        columns[column.name] = pa.array(values.astype(column.type.to_pandas_dtype()), mask=null)
    return pa.table(columns)


def _names(
    index: npt.NDArray[np.generic], names: list[str], mask: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int16), mask=mask), pa.array(names))
