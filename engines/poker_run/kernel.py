"""The C kernel: the same rules as :mod:`engines.poker_run.rules`, a few hundred times as fast.

The structures mirror ``native/rules.h`` and ``native/kernel.c``; a ruleset is handed over as numbers.
"""

import ctypes
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.poker_run import checker
from engines.poker_run.checker import Mistake, Verdict
from engines.poker_run.hands import strongest
from engines.poker_run.instance import Case
from engines.poker_run.moves import MOST_CARDS, Kind, Move
from engines.poker_run.rules import RoundEnd
from engines.poker_run.ruleset import DECK, RANKS, SUITS, TYPES, Effect, Modifier, Per, Ruleset, Scored
from simfarm.core.native import Unit, build

MOST_ROUNDS = 16
MOST_OFFERS = 32
MOST_OWNED = 16
_WORD = 33
NATIVE = Path(__file__).parent / "native"
FLAGS = ("-O3", "-std=gnu11", "-fPIC", "-ffp-contract=off")
PATTERNS = ((1, 1, 1, 1, 1), (2, 1, 1, 1), (2, 2, 1), (3, 1, 1), (3, 2), (4, 1), (5,))
"""Patterns of equal ranks, in the kernel's numbering."""

_I32, _I64, _U8 = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint8


class _Modifier(ctypes.Structure):
    _fields_ = [
        *((name, _I32) for name in ("price", "effect", "amount", "per", "max_cards", "last_play", "step")),
        ("hands", ctypes.c_uint32),
        ("faces", ctypes.c_uint64),
    ]


class _Ruleset(ctypes.Structure):
    _fields_ = [
        *((name, _I32) for name in ("rounds", "hand_size", "plays", "discards", "max_modifiers", "queue")),
        ("targets", _I32 * MOST_ROUNDS),
        ("chips", _I32 * RANKS),
        *((name, _I32) for name in ("start", "clear", "unused_play", "interest_step", "interest_max")),
        *((name, _I32) for name in ("window", "level", "paint", "promote", "remove", "reroll", "next")),
        *((name, _I32 * len(TYPES)) for name in ("base", "mult", "base_step", "mult_step", "scored")),
        ("type", _I32 * 2 * 2 * len(PATTERNS)),
        ("modifiers", _I32),
        ("modifier", _Modifier * MOST_OFFERS),
    ]


class _Words(ctypes.Structure):
    _fields_ = [
        ("modifiers", ctypes.c_char * _WORD * MOST_OFFERS),
        ("hands", ctypes.c_char * _WORD * len(TYPES)),
        ("suits", ctypes.c_char * _WORD * SUITS),
        ("modifier_count", _I32),
    ]


class _RoundEnd(ctypes.Structure):
    _fields_ = [
        ("points", _I64),
        *((name, _I32) for name in ("plays", "discards", "cleared", "money", "earned", "owned_count")),
        ("owned", _U8 * MOST_OWNED),
        ("types", _U8 * MOST_ROUNDS),
        ("levels", _I32 * len(TYPES)),
    ]


class _Verdict(ctypes.Structure):
    _fields_ = [
        ("total", _I64),
        *((name, _I32) for name in ("status", "move", "cleared", "rounds")),
        ("ends", _RoundEnd * MOST_ROUNDS),
    ]


GAME = np.dtype([("orders", "u1", (MOST_ROUNDS, DECK)), ("queues", "u1", (MOST_ROUNDS, MOST_OFFERS))])
"""``struct game``: one case."""
MOVE = np.dtype([("kind", "u1"), ("count", "u1"), ("cards", "u1", MOST_CARDS), ("which", "u1")])
"""``struct move``."""
PLAY = np.dtype(
    [
        ("faces", "u1", MOST_CARDS),
        ("count", "u1"),
        ("owned", "u1", MOST_OWNED),
        ("owned_count", "u1"),
        ("padding", "u1"),
        ("levels", "<i4", len(TYPES)),
        ("plays_made", "<i4"),
        ("discards_left", "<i4"),
        ("money", "<i4"),
    ]
)
"""``struct play``: a play and its situation. A face is ``suit * 13 + rank``."""
VERDICT = np.dtype(_Verdict)
"""``struct verdict``."""

Array = npt.NDArray[np.void]
KINDS = tuple(Kind)


@cache
def _library() -> ctypes.CDLL:
    sources = {path.name: path.read_bytes() for path in sorted(NATIVE.iterdir()) if path.suffix in (".c", ".h")}
    return ctypes.CDLL(str(build(sources, [Unit("kernel.c", FLAGS)], ("-shared",), "kernel.so")))


def packed(ruleset: Ruleset) -> ctypes.Structure:
    """The ruleset as ``struct ruleset``."""
    params, money, shop = ruleset.params, ruleset.money, ruleset.shop
    target = _Ruleset()
    for section in (params, money, shop):
        for name in type(section).model_fields:
            if name != "targets":
                setattr(target, name, getattr(section, name))
    target.targets[: params.rounds] = params.targets
    target.chips[:] = ruleset.cards.chips
    for index, hand in enumerate(ruleset.hand):
        target.base[index], target.mult[index] = hand.base, hand.mult
        target.base_step[index], target.mult_step[index] = hand.base_per_level, hand.mult_per_level
        target.scored[index] = list(Scored).index(hand.scored)
    for pattern, straight, flush in product(range(len(PATTERNS)), range(2), range(2)):
        counts = PATTERNS[pattern]
        target.type[pattern][straight][flush] = strongest(counts, bool(straight), bool(flush), ruleset)
    target.modifiers = len(ruleset.modifier)
    for index, modifier in enumerate(ruleset.modifier):
        target.modifier[index] = _packed_modifier(modifier, ruleset)
    return target


def _packed_modifier(modifier: Modifier, ruleset: Ruleset) -> _Modifier:
    cards = ruleset.cards
    faces = sum(
        1 << (suit * RANKS + rank)
        for suit, rank in product(range(SUITS), range(RANKS))
        if (modifier.suits is None or cards.suits[suit] in modifier.suits)
        and (modifier.ranks is None or cards.ranks[rank] in modifier.ranks)
    )
    hands = sum(
        1 << index
        for index, hand in enumerate(ruleset.hand)
        if modifier.hands is None or hand.code in modifier.hands
    )
    return _Modifier(
        price=modifier.price,
        effect=list(Effect).index(modifier.effect),
        amount=modifier.amount,
        per=list(Per).index(modifier.per),
        max_cards=modifier.max_cards or MOST_CARDS,
        last_play=modifier.last_play,
        step=modifier.step or 1,
        hands=hands,
        faces=faces,
    )


def packed_case(case: Case) -> Array:
    """A case as one :data:`GAME`."""
    game = np.zeros(1, GAME)
    for index, order in enumerate(case.orders):
        game["orders"][0, index] = order
    for index, queue in enumerate(case.queues):
        game["queues"][0, index, : len(queue)] = queue
    return game


def packed_moves(moves: Sequence[Move]) -> Array:
    """Moves as an array of :data:`MOVE`."""
    array = np.zeros(len(moves), MOVE)
    for index, move in enumerate(moves):
        array["kind"][index] = KINDS.index(move.kind)
        array["count"][index] = len(move.cards)
        array["cards"][index, : len(move.cards)] = move.cards
        array["which"][index] = move.which or 0
    return array


def unpacked_moves(array: Array) -> list[Move]:
    """The inverse of :func:`packed_moves`."""
    with_which = (Kind.BUY, Kind.LEVEL, Kind.PAINT)
    moves = []
    for kind, count, cards, which in array.tolist():
        word = KINDS[kind]
        moves.append(Move(word, tuple(cards[:count]), which if word in with_which else None))
    return moves


class Kernel:
    """The kernel for one ruleset; :func:`kernel` keeps one per ruleset."""

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        self.packed = packed(ruleset)
        self._words = _Words(modifier_count=len(ruleset.modifier))
        for index, modifier in enumerate(ruleset.modifier):
            self._words.modifiers[index].value = modifier.name.encode()
        for index, hand in enumerate(ruleset.hand):
            self._words.hands[index].value = hand.code.encode()
        for index, suit in enumerate(ruleset.cards.suits):
            self._words.suits[index].value = suit.encode()
        self._library = _library()

    def generate(self, seeds: Sequence[int]) -> Array:
        """The cases of some seeds, as :data:`GAME`."""
        numbers = np.array([seed & 0xFFFFFFFF for seed in seeds], np.uint32)
        games = np.empty(len(numbers), GAME)
        self._library.poker_generate(
            ctypes.byref(self.packed), _pointer(numbers), _I64(len(numbers)), _pointer(games)
        )
        return games

    def replay(self, games: Array, moves: Array, starts: npt.NDArray[np.int64]) -> Array:
        """Judge lists of moves from memory.

        Args:
            games: :data:`GAME`, shape (n,).
            moves: :data:`MOVE`, all lists one after the other.
            starts: shape (n + 1,); list i is ``moves[starts[i]:starts[i + 1]]``.

        Returns:
            :data:`VERDICT`, shape (n,). ``status`` is 0 for a valid list, else 2 (illegal) or 3
            (unaffordable).
        """
        assert games.dtype == GAME
        assert moves.dtype == MOVE
        assert len(starts) == len(games) + 1
        assert starts[0] >= 0
        assert starts[-1] <= len(moves)
        verdicts = np.empty(len(games), VERDICT)
        games, moves = np.ascontiguousarray(games), np.ascontiguousarray(moves)
        starts = np.ascontiguousarray(starts, np.int64)
        self._library.poker_replay(
            ctypes.byref(self.packed),
            _pointer(games),
            _pointer(moves),
            _pointer(starts),
            _I64(len(games)),
            _pointer(verdicts),
        )
        return verdicts

    def score(self, plays: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Points and hand types of plays, given as :data:`PLAY`."""
        assert plays.dtype == PLAY
        points, types = np.empty(len(plays), np.int64), np.empty(len(plays), np.int32)
        self._library.poker_score(
            ctypes.byref(self.packed), _pointer(plays), _I64(len(plays)), _pointer(points), _pointer(types)
        )
        return points, types

    def check(self, case: Case, output: bytes) -> Verdict:
        """Judge an output: the verdict of :func:`checker.check`, most of the time without it."""
        verdicts, game = np.empty(1, VERDICT), packed_case(case)
        self._library.poker_check(
            ctypes.byref(self.packed),
            ctypes.byref(self._words),
            _pointer(game),
            ctypes.c_char_p(output),
            _I64(len(output)),
            _pointer(verdicts),
        )
        if verdicts["status"][0] != 0:
            return self._explained(case, output, int(verdicts["move"][0]))
        return self._verdict(verdicts[0])

    def _explained(self, case: Case, output: bytes, move: int) -> Verdict:
        verdict = checker.check(case, self.ruleset, output)
        if not isinstance(verdict.mistake, Mistake) or verdict.mistake.move != move:
            raise RuntimeError(f"the checkers do not agree: {move} in C, {verdict.mistake} in Python")
        return verdict

    def verdicts(self, verdicts: Array) -> list[Verdict]:
        """Valid verdicts of :meth:`replay`, unpacked.

        Raises:
            ValueError: one of the lists was not valid; its index is in the message.
        """
        bad = np.flatnonzero(verdicts["status"])
        if len(bad):
            raise ValueError(f"list {bad[0]} is invalid at move {verdicts['move'][bad[0]]}")
        return [self._verdict(verdict) for verdict in verdicts]

    def _verdict(self, verdict: np.void) -> Verdict:
        total, moves, cleared = (int(verdict[name]) for name in ("total", "move", "cleared"))
        ends: list[Any] = verdict["ends"][: verdict["rounds"]].tolist()
        targets = self.ruleset.params.targets
        unpacked = []
        for index, end in enumerate(ends):
            points, plays, discards, passed, money, earned, count, owned, types, levels = end
            unpacked.append(
                RoundEnd(
                    number=index + 1,
                    target=targets[index],
                    points=points,
                    cleared=bool(passed),
                    plays=plays,
                    discards=discards,
                    types=tuple(map(int, types[:plays])),
                    owned=tuple(map(int, owned[:count])),
                    levels=tuple(map(int, levels)),
                    money=money,
                    earned=earned,
                )
            )
        return Verdict(total, cleared, moves, tuple(unpacked), None)


@lru_cache(maxsize=64)
def kernel(ruleset: Ruleset) -> Kernel:
    """The kernel for a ruleset.

    Raises:
        ToolError: there is no C compiler.
    """
    return Kernel(ruleset)


def _pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
