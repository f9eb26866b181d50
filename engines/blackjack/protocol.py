"""Requests as bytes and replies as answers (statement, sections Action Request JSON and Expected Action Response
JSON; README, sections Requests and Answers).

A request is written from pieces, each kept until what it shows changes: this is what makes a decision cost little
more than its way through the pipes. Replies in one of the two common spellings of JSON are read by comparing
bytes, all others by a strict parser.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from engines.blackjack.cards import JSON, RANKS
from engines.blackjack.rules import BlackjackRules
from engines.blackjack.table import (
    BET,
    BET_ONLY,
    INSURANCE,
    INSURANCE_OR_NOT,
    PLAYS,
    Answer,
    Failure,
    Hand,
    Legal,
    Seat,
    Table,
)
from simfarm.core.model import Termination

_COUNTS = ",".join(f'"{rank}":%d' for rank in RANKS)
_LEGAL = {legal: json.dumps(legal, separators=(",", ":")) for legal in (BET_ONLY, INSURANCE_OR_NOT, *PLAYS)}
_ORDERS_KEPT = 1024


def halves(amount: int) -> str:
    """An amount of half coins as a request shows it: ``9990.0``, ``10.5``."""
    return f"{amount >> 1}.5" if amount & 1 else f"{amount >> 1}.0"


class _Places:
    """The pieces of a request that depend on who sits where."""

    __slots__ = ("asked", "order", "you")

    def __init__(self, names: Sequence[str], rules: str) -> None:
        places = [f'"seat":{number},"bot_id":{name}' for number, name in enumerate(names)]
        self.asked = [f',"bot_id":{name},"seat":{number},"phase":"' for number, name in enumerate(names)]
        self.you = [f'"you":{{"bot_id":{name},"seat":{number},"balance":' for number, name in enumerate(names)]
        order = "},{".join(places)
        self.order = (
            f'","st":{{"rules":{rules},"table":{{"num_seats":{len(names)},"seat_order":[{{{order}}}],"balances":{{'
        )


class Requests:
    """Writes the requests of a match.

    Args:
        rules: the rule options.
        match_id: the name of the match.
    """

    def __init__(self, rules: BlackjackRules, match_id: str) -> None:
        self._rules = rules.shown()
        self._head = f'{{"type":"action_request","match_id":{json.dumps(match_id)},"game_id":'
        self._places: dict[tuple[str, ...], _Places] = {}
        self._end = f',"time_budget_ms":{rules.time_budget_ms}}}\n'
        legal = _LEGAL[BET_ONLY]
        self._bet_end = (
            '"dealer":{"upcard":null,"hole_card_known":0,"cards_revealed":[],"peek_checked":0,"has_blackjack":0},'
            f'"decision":{{"phase":"bet","legal_actions":{legal}}}}},"legal_actions":{legal},'
            f'"min_bet":{rules.min_bet},"max_bet":{rules.max_bet}{self._end}'
        )
        self._game = -1
        self._money = -1
        self._changes = -1
        self._seating: _Places
        self._names: dict[str, str] = {}
        self._game_head = self._money_text = self._hands_text = self._shoe_end = ""
        self._roster_key: tuple[int, int] = (-1, -1)
        self._roster = ""
        self._own: dict[int, str] = {}
        self._dealer: dict[tuple[int, bool], str] = {}

    def request(self, table: Table, seat: Seat, legal: Legal) -> bytes:
        """The request of a decision, newline included.

        Args:
            table: the table as it is now.
            seat: who is asked.
            legal: the actions that it may take.
        """
        if table.game_id != self._game:
            self._begin_game(table)
        if table.money_changes != self._money:
            self._show_money(table)
        if table.hand_changes != self._changes:
            self._show_hands(table)
        number = seat.number
        places = self._seating
        phase = table.phase
        shoe = table.shoe
        dealt = shoe.dealt
        if phase == "bet":
            end = self._bet_end
        else:
            dealer = self._dealer.get((table.dealer[0], table.peeked)) or self._show_dealer(table)
            actions = _LEGAL[legal]
            if phase == "play":
                end = (
                    f'{dealer}"play","hand_id":"{table.game_id}-{number}-{table.hand_index}",'
                    f'"legal_actions":{actions}}}}},"legal_actions":{actions}{self._end}'
                )
            else:
                most = f'"max_insurance":{seat.bet // 2}'
                end = (
                    f'{dealer}"insurance","legal_actions":{actions}}},{most}}},'
                    f'"legal_actions":{actions},{most}{self._end}'
                )
        return (
            f"{self._game_head}{places.asked[number]}{phase}{places.order}{self._money_text}{self._hands_text}"
            f'{dealt},"cards_remaining_in_shoe":{shoe.size - dealt}{self._shoe_end}'
            f'{places.you[number]}{halves(seat.balance)},"current_bet_total":{seat.staked}.0,'
            f'"current_hands":[{self._own.get(number, "")}]}},{end}'
        ).encode("ascii")

    def _begin_game(self, table: Table) -> None:
        self._game = table.game_id
        self._game_head = f"{self._head}{table.game_id}"
        order = tuple([seat.name for seat in table.seats])
        if order not in self._places:
            if len(self._places) == _ORDERS_KEPT:
                self._places.clear()
            self._places[order] = _Places([self._quoted(name) for name in order], self._rules)
        self._seating = self._places[order]
        self._roster_key = (-1, -1)
        shoe = table.shoe
        self._shoe_end = (
            f',"reshuffle_at_dealt":{shoe.reshuffle_at},"discard_rank_counts":{{{_COUNTS % tuple(shoe.discards)}}}}},'
            f'"history":{{"games_completed":{table.games_completed},"recent_games":[]}},'
        )

    def _show_money(self, table: Table) -> None:
        self._money = table.money_changes
        if len(table.terminated) != self._roster_key[0]:
            self._show_roster(table)
        quoted = self._names
        balances = ",".join([f"{self._quoted(seat.name)}:{halves(seat.balance)}" for seat in table.everyone])
        bets = ",".join([f"{quoted[seat.name]}:{seat.staked}.0" for seat in table.seats if seat.staked])
        self._money_text = f'{balances}{self._roster}{bets}}},"hands":['

    def _show_roster(self, table: Table) -> None:
        self._roster_key = (len(table.terminated), 0)
        active = ",".join([self._quoted(seat.name) for seat in table.seats if seat.outcome is None])
        gone = ",".join([self._quoted(seat.name) for seat in table.terminated])
        self._roster = f'}},"active_bots":[{active}],"terminated_bots":[{gone}],"current_bets":{{'

    def _show_hands(self, table: Table) -> None:
        self._changes = table.hand_changes
        own = self._own
        own.clear()
        shown = []
        for seat in table.seats:
            if seat.hands:
                number = seat.number
                own[number] = text = ",".join(
                    [
                        hand.shown or self._show_hand(hand, f"{table.game_id}-{number}-{index}")
                        for index, hand in enumerate(seat.hands)
                    ]
                )
                shown.append(f'{{"seat":{number},"hands":[{text}]}}')
        self._hands_text = f'{",".join(shown)}]}},"shoe":{{"cards_dealt_in_shoe":'

    def _show_hand(self, hand: Hand, hand_id: str) -> str:
        cards = ",".join([JSON[card] for card in hand.cards])
        hand.shown = (
            f'{{"hand_id":"{hand_id}","wager":{hand.wager}.0,"is_split_hand":{int(hand.is_split)},'
            f'"is_completed":{int(hand.completed)},"cards":[{cards}]}}'
        )
        return hand.shown

    def _show_dealer(self, table: Table) -> str:
        card = JSON[table.dealer[0]]
        text = (
            f'"dealer":{{"upcard":{card},"hole_card_known":0,"cards_revealed":[{card}],'
            f'"peek_checked":{int(table.peeked)},"has_blackjack":0}},"decision":{{"phase":'
        )
        self._dealer[table.dealer[0], table.peeked] = text
        return text

    def _quoted(self, name: str) -> str:
        quoted = self._names.get(name)
        if quoted is None:
            quoted = self._names[name] = json.dumps(name)
        return quoted


_WITH_AMOUNT = (BET, INSURANCE)
_TAIL = re.compile(rb'([A-Z_]{1,16})"(?:, ?"amount": ?(0|[1-9]\d{0,8}))?\}')
_TAILS_KEPT = 4096
_tails: dict[bytes, Answer] = {}
"""What the usual ends of replies say; they say the same in every match."""


class Replies:
    """Reads the replies of one bot in a match.

    Args:
        rules: the rule options.
        match_id: the name of the match.
        name: the bot's name.
    """

    def __init__(self, rules: BlackjackRules, match_id: str, name: str) -> None:
        self._strict = rules.strict_ids
        self._expected = {"type": "action_response", "match_id": match_id, "bot_id": name}
        identity = f'{{"type":"action_response","match_id":{json.dumps(match_id)},"game_id":'
        after = f',"bot_id":{json.dumps(name)},"action":"'
        self._compact = (identity, after)
        self._spaced = (_spaced(identity), _spaced(after))
        self._style = self._compact
        self._game = -1
        self._prefix = b""

    def read(self, line: bytes, game_id: int) -> Answer | Failure:
        """The answer in a line.

        Args:
            line: without its newline.
            game_id: of the current game.
        """
        if game_id != self._game:
            self._game = game_id
            before, after = self._style
            self._prefix = f"{before}{game_id}{after}".encode()
        prefix = self._prefix
        if line.startswith(prefix):
            tail = line[len(prefix) :]
            answer = _tails.get(tail) or _known_tail(tail)
            if answer is not None:
                return answer
        elif line.startswith(b'{"type": '):
            self._style = self._spaced
            self._game = -1
        return self._parse(line, game_id)

    def _parse(self, line: bytes, game_id: int) -> Answer | Failure:
        if not line.strip():
            return Failure(Termination.UNPARSABLE, "a blank line")
        try:
            reply = json.loads(line.decode(), parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            return Failure(Termination.UNPARSABLE, f"not JSON: {error or type(error).__name__}")
        if not isinstance(reply, dict):
            return Failure(Termination.UNPARSABLE, "not a JSON object")
        if self._strict:
            for key in ("type", "match_id", "game_id", "bot_id", "action"):
                if key not in reply:
                    return Failure(Termination.UNPARSABLE, f"{key} is missing")
            for key, value in self._expected.items():
                if reply[key] != value:
                    return _mismatch(key, reply[key], value)
            if _whole(reply["game_id"]) != game_id:
                return _mismatch("game_id", reply["game_id"], game_id)
        action = reply.get("action")
        if not isinstance(action, str):
            return Failure(Termination.UNPARSABLE, f"action is {_excerpt(action)}, not a string")
        if action not in _WITH_AMOUNT or "amount" not in reply:
            return Answer(action)
        amount = _whole(reply["amount"])
        if amount is None:
            return Failure(Termination.UNPARSABLE, f"amount is {_excerpt(reply['amount'])}, not a whole number")
        return Answer(action, amount)


def _spaced(text: str) -> str:
    return text.replace('":', '": ').replace(',"', ', "')


def _known_tail(tail: bytes) -> Answer | None:
    match = _TAIL.fullmatch(tail)
    if match is None:
        return None
    action, amount = match[1].decode(), match[2]
    if len(_tails) == _TAILS_KEPT:
        _tails.clear()
    answer = _tails[tail] = Answer(action, int(amount) if amount and action in _WITH_AMOUNT else None)
    return answer


def _whole(value: Any) -> int | None:
    """The whole number that a JSON value is, 10.0 counting as 10; None for all others."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _mismatch(key: str, value: Any, expected: object) -> Failure:
    return Failure(Termination.MISMATCHED, f"{key} is {_excerpt(value)}, not {json.dumps(expected)}")


def _excerpt(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
