"""A match at full speed: the table in C (``native/table.c``) asks the bots over their pipes by itself
(``native/wire.c``) and comes back here for whatever is out of the ordinary.

The rows are the same as those of :class:`~engines.blackjack.table.Table`, which a test holds it to.
"""

import ctypes
import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from engines.blackjack.player import BotPlayer
from engines.blackjack.rules import DOUBLE_TOTALS, BlackjackRules
from engines.blackjack.shoe import hidden
from engines.blackjack.table import (
    BET,
    DOUBLE,
    HIT,
    INSURANCE,
    NO_INSURANCE,
    SPLIT,
    STAND,
    Answer,
    Failure,
    Hand,
    Seat,
    Table,
)
from simfarm.core import native, seeds
from simfarm.core.model import Termination

SEATS_AT_MOST = 64
"""``MAX_SEATS`` of native/table.h."""

_PAUSE_GAMES = 256
"""Games after which Python gets a chance to see signals."""
_FOLDER = Path(__file__).parent / "native"
_SEEDS = Path(seeds.__file__).parent / "native" / "seeds.h"
_ACTIONS = (STAND, HIT, DOUBLE, SPLIT, BET, INSURANCE, NO_INSURANCE)
_UNKNOWN = len(_ACTIONS)
_PHASES = ("bet", "bet", "insurance", "play")
_FLAGS = ("-O2", "-std=gnu17", "-fPIC")
_LARGEST = 2**62
_OVER, _PAUSED, _ASK, _REST, _WAIT, _READ, _FAULT = range(7)
_VERDICTS = (None, Termination.ILLEGAL, Termination.UNAFFORDABLE)

_int, _long, _seats = ctypes.c_int32, ctypes.c_int64, SEATS_AT_MOST


class _Rules(ctypes.Structure):
    _fields_ = (
        *((name, _int) for name in ("decks", "reshuffle_at", "dealer_hits_soft_17", "insurance_allowed")),
        *((name, _long) for name in ("payout_num", "payout_den")),
        *((name, _int) for name in ("double_least", "double_most", "double_after_split", "split_max_hands")),
        *((name, _int) for name in ("resplit_aces", "hit_split_aces", "split_by_value", "natural_completes")),
        *((name, _int) for name in ("twenty_one_completes", "clamp", "max_hands")),
        *((name, _long) for name in ("min_bet", "max_bet")),
    )


class _Hand(ctypes.Structure):
    _fields_ = (
        ("wager", _long),
        ("cards", ctypes.c_uint8 * 32),
        *((name, ctypes.c_uint8) for name in ("count", "hard", "ace", "is_split", "from_aces", "completed")),
    )


class _Seat(ctypes.Structure):
    _fields_ = (
        *((name, _long) for name in ("balance", "wagered", "bet", "staked", "insurance")),
        *((name, ctypes.c_uint32) for name in ("games", "decisions")),
        *((name, _int) for name in ("terminated", "number", "hand_count")),
        ("hands", _Hand * 8),
    )


class _Table(ctypes.Structure):
    _fields_ = (
        ("rules", _Rules),
        *((name, ctypes.c_uint64) for name in ("shoe_secret", "order_secret")),
        *((name, _int) for name in ("bots", "seated", "terminated")),
        *((name, ctypes.c_uint32) for name in ("games_completed", "game_id")),
        ("bank", _long),
        *((name, _int) for name in ("phase", "turn", "hand_index")),
        *((name, _int * _seats) for name in ("order", "gone")),
        ("dealer", ctypes.c_uint8 * 32),
        *((name, _int) for name in ("dealer_count", "peeked")),
        ("shuffles", ctypes.c_uint32),
        *((name, _int) for name in ("size", "left", "on_table")),
        ("discards", _int * 13),
        *((name, ctypes.c_void_p) for name in ("cards", "laid")),
        ("seats", _Seat * _seats),
    )


class _Pipe(ctypes.Structure):
    _fields_ = (
        *((name, _int) for name in ("to_bot", "from_bot", "errors", "direct", "timeout_ms")),
        ("name", ctypes.c_char * 512),
        ("times", ctypes.POINTER(ctypes.c_uint32)),
        *((name, ctypes.c_uint32) for name in ("count", "space")),
    )


class _Wire(ctypes.Structure):
    _fields_ = (
        ("table", _Table),
        ("pipes", _Pipe * _seats),
        ("games", ctypes.c_uint32),
        ("time_budget_ms", _int),
        ("match_id", ctypes.c_char * 512),
        ("rules", ctypes.c_char * 1024),
        ("request", ctypes.c_void_p),
        *((name, _long) for name in ("length", "sent", "got", "started")),
        *((name, _int) for name in ("verdict", "action", "pending")),
        ("amount", _long),
        ("reply", ctypes.c_char * 65536),
    )


@cache
def library() -> ctypes.CDLL:
    """The C part, built when it is first needed.

    Raises:
        ToolError: there is no C compiler.
    """
    sources = {path.name: path.read_bytes() for path in sorted(_FOLDER.iterdir()) if path.suffix in (".c", ".h")}
    sources["seeds.h"] = _SEEDS.read_bytes()
    units = [native.Unit(name, _FLAGS) for name in ("table.c", "wire.c")]
    found = ctypes.CDLL(str(native.build(sources, units, ["-shared"], "blackjack.so")))
    wire = ctypes.POINTER(_Wire)
    found.wire_new.restype = wire
    found.wire_new.argtypes = (_int,)
    found.wire_free.argtypes = (wire,)
    found.wire_run.argtypes = (wire, ctypes.c_uint32)
    found.wire_answer.argtypes = (wire, ctypes.c_int, _long)
    found.wire_terminate.argtypes = (wire,)
    found.wire_size.restype = _long
    if found.wire_size() != ctypes.sizeof(_Wire):
        raise AssertionError(f"struct wire has {found.wire_size()} bytes, fast.py says {ctypes.sizeof(_Wire)}")
    return found


class FastTable:
    """Plays a match in place of :meth:`Table.play_game`, and keeps the given table's seats and counts up to date.

    Args:
        table: the table before its first game; its shoe and orders are not used.
        players: the seats' players, in the order of ``table.everyone``.
        match_id: the name of the match.
        seed: the match's seed.
        games: games to play at most.

    Raises:
        ToolError: there is no C compiler.
    """

    def __init__(self, table: Table, players: Sequence[BotPlayer], match_id: str, seed: int, games: int) -> None:
        self._library = library()
        self._table = table
        self._players = players
        self._pointer = self._library.wire_new(table.rules.decks)
        if not self._pointer:
            raise MemoryError("no memory for a blackjack table")
        self._wire: _Wire = self._pointer.contents
        wire = self._wire
        wire.games = games
        wire.match_id = json.dumps(match_id).encode()
        wire.rules = json.dumps(table.rules.shown(), separators=(",", ":")).encode()
        wire.time_budget_ms = table.rules.time_budget_ms
        wire.table.rules = _rules(table.rules)
        wire.table.shoe_secret = hidden(seed, "shoe")
        wire.table.order_secret = hidden(seed, "order")
        wire.table.bots = len(players)
        for seat, own, player, pipe in zip(table.everyone, wire.table.seats, players, wire.pipes, strict=False):
            own.balance = seat.balance
            pipe.name = json.dumps(seat.name).encode()
            pipe.to_bot, pipe.from_bot, pipe.errors = player.channel.pipes
            pipe.timeout_ms = math.ceil(player.seconds * 1000)

    def play(self, each_game: bool) -> Iterator[bool]:
        """Play to the end of the match; yields true after every game if ``each_game``, else now and then, and false
        at the end."""
        run = self._library.wire_run
        games = 1 if each_game else _PAUSE_GAMES
        try:
            while (outcome := run(self._pointer, games)) != _OVER:
                if outcome == _PAUSED:
                    self._update(hands=each_game)
                    yield True
                else:
                    self._decide(outcome)
            self._update(hands=False)
            yield False
        finally:
            for player, pipe in zip(self._players, self._wire.pipes, strict=False):
                if pipe.count:
                    times = np.ctypeslib.as_array(pipe.times, (pipe.count,))
                    player.reply_seconds.frombytes((times * 1e-9).tobytes())
            self._library.wire_free(self._pointer)

    def _decide(self, outcome: int) -> None:
        wire = self._wire
        position = wire.table.order[wire.table.turn]
        player = self._players[position]
        request = ctypes.string_at(wire.request, wire.length)
        received = ctypes.string_at(ctypes.addressof(wire) + _Wire.reply.offset, wire.got)
        game_id = wire.table.game_id
        answer: Answer | Failure
        if outcome == _ASK:
            answer = player.ask(request, game_id)
        elif outcome in (_REST, _WAIT):
            answer = player.resume(request, request[wire.sent :], received, wire.started / 1e9, game_id)
        else:
            answer = player.read(request, received[:-1], game_id)
        failure = self._give(answer) if isinstance(answer, Answer) else answer
        if failure is not None:
            self._terminate(position, failure)
        wire.pipes[position].direct = player.channel.in_order

    def _give(self, answer: Answer) -> Failure | None:
        """Hand an answer to the table in C; says what is wrong with it, if anything is."""
        action = _ACTIONS.index(answer.action) if answer.action in _ACTIONS else _UNKNOWN
        amount = -(2**63) if answer.amount is None else max(-_LARGEST, min(answer.amount, _LARGEST))
        if answer == Answer(BET):
            action = _UNKNOWN
        if self._library.wire_answer(self._pointer, action, amount):
            return None
        seat, table = self._asked(), self._table
        if table.phase == "bet":
            verified: object = table.verify_bet(seat, answer)
        elif table.phase == "insurance":
            verified = table.verify_insurance(seat, answer)
        else:
            assert table.hand is not None
            verified = table.verify_play(seat, table.hand, answer)
        if not isinstance(verified, Failure):
            raise AssertionError(f"{answer} is refused in C, and in Python it is {verified}")
        return verified

    def _asked(self) -> Seat:
        """The table's seat whose decision it is, up to date."""
        self._update(hands=True)
        own = self._wire.table
        seat: Seat = self._table.everyone[own.order[own.turn]]
        self._table.phase = _PHASES[own.phase]
        self._table.hand_index = own.hand_index
        self._table.hand = seat.hands[own.hand_index] if self._table.phase == "play" else None
        return seat

    def _terminate(self, position: int, failure: Failure) -> None:
        seat = self._asked()
        self._table.terminate(seat, failure)
        self._library.wire_terminate(self._pointer)
        self._update(hands=True)

    def _update(self, *, hands: bool) -> None:
        """Bring the table up to date, the current game's cards only if asked for."""
        own, table = self._wire.table, self._table
        table.games_completed = own.games_completed
        table.game_id = own.game_id
        table.bank = own.bank
        table.seats = [table.everyone[position] for position in own.order[: own.seated]]
        for seat, source in zip(table.everyone, own.seats, strict=False):
            seat.balance = source.balance
            seat.wagered = source.wagered
            seat.games = source.games
            seat.decisions = source.decisions
            seat.number = source.number
            seat.bet, seat.staked, seat.insurance = source.bet, source.staked, source.insurance
            if hands:
                seat.hands = [_hand(hand) for hand in source.hands[: source.hand_count]]
        table.dealer = list(own.dealer[: own.dealer_count])


def _hand(source: _Hand) -> Hand:
    hand = Hand(list(source.cards[: source.count]), source.wager, bool(source.is_split), bool(source.from_aces))
    hand.completed = bool(source.completed)
    return hand


def _rules(rules: BlackjackRules) -> _Rules:
    payout = Fraction(str(rules.blackjack_payout)) * 2
    doubles = DOUBLE_TOTALS[rules.double_allowed]
    return _Rules(
        decks=rules.decks,
        reshuffle_at=rules.reshuffle_at_dealt,
        dealer_hits_soft_17=rules.dealer_hits_soft_17,
        insurance_allowed=rules.insurance_allowed,
        payout_num=payout.numerator,
        payout_den=payout.denominator,
        double_least=doubles.start,
        double_most=doubles.stop - 1,
        double_after_split=rules.double_after_split,
        split_max_hands=rules.split_max_hands,
        resplit_aces=rules.resplit_aces,
        hit_split_aces=rules.hit_split_aces,
        split_by_value=rules.split_by == "value",
        natural_completes=rules.natural_completes,
        twenty_one_completes=rules.twenty_one_completes,
        clamp=rules.out_of_range == "clamp",
        max_hands=rules.max_hands,
        min_bet=rules.min_bet,
        max_bet=rules.max_bet,
    )
