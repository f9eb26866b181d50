"""Requests and replies as the statement shows them (sections Action Request JSON and Expected Action Response JSON;
README, sections Requests and Answers).

This is what counts. ``native/wire.c`` writes the same bytes faster and reads only the plainest replies by itself.
"""

import json
from collections.abc import Mapping
from typing import Any

from engines.blackjack.cards import RANK, RANKS, SUITS
from engines.blackjack.rules import BlackjackRules
from engines.blackjack.table import BET, INSURANCE, Answer, Failure, Legal, Seat, Table
from simfarm.core.model import Termination


def request_of(rules: BlackjackRules, match_id: str, table: Table, seat: Seat, legal: Legal) -> bytes:
    """The request of a decision: one line, newline included, keys in the statement's order.

    Args:
        rules: the rule options.
        match_id: the name of the match.
        table: the table as it is now.
        seat: who is asked.
        legal: the actions that it may take.
    """
    phase = table.phase
    decision: dict[str, object] = {"phase": phase}
    if phase == "play":
        decision["hand_id"] = f"{table.game_id}-{seat.number}-{table.hand_index}"
    decision["legal_actions"] = legal
    insurance = {"max_insurance": seat.bet // 2} if phase == "insurance" else {}
    bets = {"min_bet": rules.min_bet, "max_bet": rules.max_bet} if phase == "bet" else {}
    request = {
        "type": "action_request",
        "match_id": match_id,
        "game_id": table.game_id,
        "bot_id": seat.name,
        "seat": seat.number,
        "phase": phase,
        "st": {
            "rules": rules.shown(),
            "table": _table(table),
            "shoe": _shoe(table),
            "history": {"games_completed": table.games_completed, "recent_games": []},
            "you": {
                "bot_id": seat.name,
                "seat": seat.number,
                "balance": seat.balance / 2,
                "current_bet_total": float(seat.staked),
                "current_hands": _hands(table, seat),
            },
            "dealer": _dealer(table),
            "decision": decision,
            **insurance,
        },
        "legal_actions": legal,
        **bets,
        **insurance,
        "time_budget_ms": rules.time_budget_ms,
    }
    return json.dumps(request, separators=(",", ":")).encode() + b"\n"


def _table(table: Table) -> dict[str, object]:
    seats = table.seats
    return {
        "num_seats": len(seats),
        "seat_order": [{"seat": seat.number, "bot_id": seat.name} for seat in seats],
        "balances": {seat.name: seat.balance / 2 for seat in table.everyone},
        "active_bots": [seat.name for seat in seats if seat.outcome is None],
        "terminated_bots": [seat.name for seat in table.terminated],
        "current_bets": {seat.name: float(seat.staked) for seat in seats if seat.staked},
        "hands": [{"seat": seat.number, "hands": _hands(table, seat)} for seat in seats if seat.hands],
    }


def _hands(table: Table, seat: Seat) -> list[dict[str, object]]:
    return [
        {
            "hand_id": f"{table.game_id}-{seat.number}-{index}",
            "wager": float(hand.wager),
            "is_split_hand": int(hand.is_split),
            "is_completed": int(hand.completed),
            "cards": [_card(card) for card in hand.cards],
        }
        for index, hand in enumerate(seat.hands)
    ]


def _shoe(table: Table) -> dict[str, object]:
    shoe = table.shoe
    return {
        "cards_dealt_in_shoe": shoe.dealt,
        "cards_remaining_in_shoe": shoe.size - shoe.dealt,
        "reshuffle_at_dealt": shoe.reshuffle_at,
        "discard_rank_counts": dict(zip(RANKS, shoe.discards, strict=True)),
    }


def _dealer(table: Table) -> dict[str, object]:
    upcard = _card(table.dealer[0]) if table.dealer else None
    return {
        "upcard": upcard,
        "hole_card_known": 0,
        "cards_revealed": [upcard] if upcard else [],
        "peek_checked": int(table.peeked),
        # a dealer's blackjack ends the game before anyone is asked again
        "has_blackjack": 0,
    }


def _card(card: int) -> dict[str, str]:
    return {"rank": RANKS[RANK[card]], "suit": SUITS[card % 4]}


def answer_of(line: bytes, identity: Mapping[str, Any] | None) -> Answer | Failure:
    """The answer in a reply.

    Args:
        line: the reply without its newline.
        identity: ``type``, ``match_id``, ``game_id`` and ``bot_id`` as they must be; None if they are free.
    """
    if not line.strip():
        return Failure(Termination.UNPARSABLE, "a blank line")
    try:
        reply = json.loads(line.decode(), parse_constant=_no_number, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        return Failure(Termination.UNPARSABLE, f"not JSON: {error or type(error).__name__}")
    if not isinstance(reply, dict):
        return Failure(Termination.UNPARSABLE, "not a JSON object")
    for key in ("action", *(identity or ())):
        if key not in reply:
            return Failure(Termination.UNPARSABLE, f"{key} is missing")
    for key, expected in (identity or {}).items():
        found = _whole(reply[key]) if isinstance(expected, int) else reply[key]
        if found != expected:
            return Failure(Termination.MISMATCHED, f"{key} is {_excerpt(reply[key])}, not {json.dumps(expected)}")
    action = reply["action"]
    if not isinstance(action, str):
        return Failure(Termination.UNPARSABLE, f"action is {_excerpt(action)}, not a string")
    if action not in (BET, INSURANCE) or "amount" not in reply:
        return Answer(action)
    amount = _whole(reply["amount"])
    if amount is None:
        return Failure(Termination.UNPARSABLE, f"amount is {_excerpt(reply['amount'])}, not a whole number")
    return Answer(action, amount)


def _whole(value: Any) -> int | None:
    """The whole number that a JSON value is, 10.0 counting as 10; None for all others."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key is there twice")
    return values


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _excerpt(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
