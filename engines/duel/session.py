"""Blocks through the referee's process: sent, received, and played again where a bot took the process down.

A process that dies or falls silent tells nobody which bot was on turn. Bots cannot tell one play of a block from
another (their luck and their clock are seeded), so the block is played again with the calls of the game in question
watched, and the bot in whose call the process is lost again is at fault. The game counts as lost, what had been
played of it is not kept, and the block is played once more with that known.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from engines.duel.node import HEAP_BYTES, OLD_SPACE_BYTES, Node, NodeLostError, borrowed, inside_source
from engines.duel.records import GAME_FIELDS, ROUND_FIELDS, SET_FIELDS, TERMINATIONS, seatings
from engines.duel.rules import DuelRules
from simfarm.core.errors import BotError
from simfarm.core.evidence import Evidence, printable
from simfarm.core.model import Bot, Deal, Matchup, Termination

CHECK_SECONDS = 5.0
"""CPU time in which a bot must load and be constructed before a run starts."""
LOG_PATIENCE = 10
"""How many times slower a block may be with its log, every fault in it known from a play without."""
BEFORE_CLASS = re.compile(r"\ufeff?(?>\s+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*+(?=class\b)", re.DOTALL)
"""What may stand in front of a bot's class: comments and blanks. It never backtracks: a hostile file could make that
last for ever."""
DOORS = {
    "load": "loading",
    "create": "the constructor",
    "playerName": "player_name",
    "startGame": "onGameStart",
    "startSet": "onSetStart",
    "startRound": "onRoundStart",
    "firstTurn": "onTurnStart",
    "turn": "onTurnStart",
    "endRound": "onRoundEnd",
    "endSet": "onSetEnd",
    "endGame": "onGameEnd",
}
"""What a bot does behind each door of ``referee/inside.js``."""


@dataclass(frozen=True, slots=True)
class BlockRows:
    """One block's rows as they came from the referee."""

    block: int
    game_count: int
    games: bytes
    set_count: int
    sets: bytes
    round_count: int
    rounds: bytes
    details: list["Detail"]
    """What is to be said about games."""
    spent: bool
    """Whether the process should not be used further."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What is to be said about a game."""

    row: int
    """Row of ``games`` within the block."""
    text: str
    """Faults and first exceptions, safe to print; "" for none."""
    evidence: Evidence
    """Of the fault, empty where there is none."""


@dataclass(slots=True)
class _Seen:
    """How far an attempt at a block came."""

    game: int | None = None
    """The game that was going on."""
    position: int | None = None
    """Of a watched game: the bot that was called last, as a position in the matchup."""
    door: str = ""
    """And by which door."""
    asked: dict[int, tuple[str, str]] = field(default_factory=dict)
    """What each bot was asked last, and its last answer before, by position."""
    kept: tuple[int, int] = (0, 0)
    """Bytes that each bot kept before that call, by position."""


def play_blocks(matchup: Matchup, start: int, stop: int) -> list[BlockRows]:
    """Play the blocks of a matchup from ``start`` to ``stop``.

    Raises:
        RuntimeError: the referee failed in a way that is no bot's fault.
    """
    played: list[BlockRows] = []
    while start + len(played) < stop:
        block = start + len(played)
        try:
            with borrowed() as node:
                node.request(_task(matchup, block, stop))
                while start + len(played) < stop and node.alive:
                    played.append(_receive(node, matchup, start + len(played), _Seen()))
                    if played[-1].spent:
                        node.close()
        except NodeLostError:
            played.append(_play_faulty(matchup, start + len(played))[0])
    return played


def replay_block(matchup: Matchup, block: int) -> Iterator[str]:
    """Play one block and yield its log.

    Raises:
        RuntimeError: as :func:`play_blocks`.
    """
    _, faults = _play_faulty(matchup, block)
    with borrowed() as node:
        node.request(_task(matchup, block, block + 1, faults=faults, log=True))
        while True:
            letter, data = node.frame(LOG_PATIENCE * _patience(matchup))
            if letter == "L":
                yield from (printable(line) for line in data.removesuffix(b"\n").split(b"\n"))
            elif letter == "B":
                return


@cache
def check_bot(bot: Bot) -> None:
    """Load a bot as a game would and construct it.

    Raises:
        BotError: its file does not parse or is no bot; the message names the file and, where there is one, the line.
    """
    try:
        problem = _problem(bot)
    except NodeLostError:
        # Perhaps for what other bots have left in the process: once more in a new one.
        try:
            problem = _problem(bot)
        except NodeLostError as lost:
            problem = f"does not come up within {CHECK_SECONDS:g} s" if lost.silent else "takes its process down"
    if problem:
        raise BotError(f"bot {bot.name!r}: {_with_place(problem, bot)}")


def _problem(bot: Bot) -> str:
    with borrowed() as node:
        node.request(
            {"kind": "check", "inside": inside_source(), "bot": _bot(bot), "heap_bytes": HEAP_BYTES},
        )
        _, data = node.frame(CHECK_SECONDS)
        if data[0]:
            node.close()
    return printable(data[1:])


def _with_place(problem: str, bot: Bot) -> str:
    """What is wrong in one line, its place in front: that of the innermost frame, else where the class starts."""
    file = bot.files[0]
    first, *frames = problem.splitlines()
    if first.startswith(f"{file.path}:"):
        return first
    places = [frame.partition("(")[2].rstrip(")") for frame in frames if "(" in frame]
    start = BEFORE_CLASS.match(file.data.decode())
    line = 1 + (start.group().count("\n") if start is not None else 0)
    return f"{places[0] if places else f'{file.path}:{line}'}: {first}"


def _play_faulty(matchup: Matchup, block: int) -> tuple[BlockRows, list[dict[str, Any]]]:
    """A block's rows, and the faults that had to be found out for them."""
    faults: list[dict[str, Any]] = []
    watched: int | None = None
    for _ in range(2 * matchup.games + 2):
        seen = _Seen()
        try:
            with borrowed() as node:
                node.request(_task(matchup, block, block + 1, faults=faults, watch=watched))
                rows = _receive(node, matchup, block, seen)
                if rows.spent:
                    node.close()
                return rows, faults
        except NodeLostError as lost:
            if seen.game is None or not lost.by_bot:
                raise RuntimeError(f"the duel's referee failed in block {block}: {lost.told}") from lost
            if seen.position is None:
                # Who keeps how much memory is booked from the first call on.
                watched = 0 if lost.full else seen.game
            else:
                faults = [*faults, _fault(seen, lost)]
                watched = None
    raise RuntimeError(f"block {block}: the referee was lost again and again")


def _fault(seen: _Seen, lost: NodeLostError) -> dict[str, Any]:
    position = seen.position
    assert position is not None
    if lost.silent:
        loading = seen.door in ("load", "create")
        termination = Termination.NOT_STARTED if loading else Termination.TIMEOUT
        detail = f"{DOORS[seen.door]} did not return"
    elif lost.full:
        # The heap ran over in the call of one; if the other keeps most of what there is, it is the one who filled it.
        if 2 * seen.kept[1 - position] > OLD_SPACE_BYTES:
            position = 1 - position
        termination, detail = Termination.MEMORY_LIMIT, "filled the heap"
    else:
        termination, detail = Termination.CRASHED, f"{DOORS[seen.door]} took the process down"
    return {
        "game": seen.game,
        "position": position,
        "termination": TERMINATIONS.index(termination),
        "detail": detail,
        "evidence": [*seen.asked[position], lost.told],
    }


def _receive(node: Node, matchup: Matchup, block: int, seen: _Seen) -> BlockRows:
    while True:
        letter, data = node.frame(_patience(matchup))
        if letter == "H":
            seen.game, seen.position = int.from_bytes(data, "little"), None
        elif letter == "C":
            call = json.loads(data)
            seen.position, seen.door, seen.kept = call["position"], call["door"], call["kept"]
            seen.asked[call["position"]] = call["request"], call["reply"]
        elif letter == "F":
            seen.position = int.from_bytes(data, "little")
        elif letter == "B":
            return _rows(block, data)


def _rows(block: int, data: bytes) -> BlockRows:
    games, sets, rounds, details, spent = np.frombuffer(data, "<u4", 5).tolist()
    sizes = [4 * games * len(GAME_FIELDS), 4 * sets * len(SET_FIELDS), 4 * rounds * len(ROUND_FIELDS), details]
    parts, start = [], 20
    for size in sizes:
        parts.append(data[start : start + size])
        start += size
    notes = [_detail(*values) for values in json.loads(parts[3])]
    return BlockRows(block, games, parts[0], sets, parts[1], rounds, parts[2], notes, bool(spent))


def _detail(row: int, text: str, *evidence: str) -> Detail:
    return Detail(row, printable(_bytes(text)), _evidence(*evidence) if evidence else Evidence())


def _evidence(request: str, reply: str, stderr: str) -> Evidence:
    return Evidence.of(_bytes(request) or None, _bytes(reply) or None, _bytes(stderr))


def _bytes(text: str) -> bytes:
    """A text of JavaScript: one may hold halves of characters."""
    return text.encode(errors="surrogatepass")


def _task(
    matchup: Matchup,
    start: int,
    stop: int,
    faults: Sequence[dict[str, Any]] = (),
    watch: int | None = None,
    log: bool = False,
) -> dict[str, Any]:
    """The request that ``referee/main.mjs`` takes for blocks."""
    return {
        "kind": "play",
        "inside": inside_source(),
        "bots": [_bot(bot) for bot in matchup.bots],
        "rules": matchup.rules.model_dump(mode="json"),
        "seed": str(matchup.seed % 2**64),
        "start": start,
        "stop": stop,
        "games": matchup.games,
        "seatings": seatings(matchup),
        "shared": matchup.deal is Deal.SHARED,
        "rounds": "rounds" in matchup.record and not log,
        "heap_bytes": HEAP_BYTES,
        "faults": list(faults),
        "watch": watch,
        "log": log,
    }


def _bot(bot: Bot) -> dict[str, str]:
    file = bot.files[0]
    return {"name": bot.name, "file": file.path, "source": file.data.decode()}


def _patience(matchup: Matchup) -> float:
    rules = matchup.rules
    assert isinstance(rules, DuelRules)
    return rules.turn_limit_ms / 1000
