"""The protocol, field by field: requests against the statement's example, replies against the rulings."""

import json
from typing import Any

import pytest

from engines.blackjack.protocol import answer_of, request_of
from engines.blackjack.rules import BlackjackRules
from engines.blackjack.table import BET_ONLY, Answer, Failure, Legal, Seat, Table
from simfarm.core.model import Termination
from tests.blackjack_players import Script, table_of

STATED_RULES = (
    '{"decks":6,"penetration_reshuffle_fraction":0.75,"dealer_hits_soft_17":1,"blackjack_payout":1.5,'
    '"double_allowed":"any_two","double_after_split":1,"split_max_hands":4,"resplit_aces":0,"hit_split_aces":0,'
    '"surrender":"none","insurance_allowed":1,"min_bet":1,"max_bet":100}'
)
NO_DISCARDS = '{"A":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"10":0,"J":0,"Q":0,"K":0}'
ORDER = '"seat_order":[{"seat":0,"bot_id":"bot0"},{"seat":1,"bot_id":"bot1"}]'
NAMES = '["bot0","bot1"]'


class Recorder(Script):
    """A script that keeps the requests it would have got."""

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self.requests: list[str] = []

    def __call__(self, table: Table, seat: Seat, legal: Legal) -> Answer | Failure:
        self.requests.append(request_of(table.rules, "demo-match", table, seat, legal).decode())
        return super().__call__(table, seat, legal)


def state(
    balances: str, bets: str, hands: str, dealt: int, you: str, dealer: str, decision: str, more: str = ""
) -> str:
    return (
        f'"st":{{"rules":{STATED_RULES},"table":{{"num_seats":2,{ORDER},"balances":{{{balances}}},'
        f'"active_bots":{NAMES},"terminated_bots":[],"current_bets":{{{bets}}},"hands":[{hands}]}},'
        f'"shoe":{{"cards_dealt_in_shoe":{dealt},"cards_remaining_in_shoe":{312 - dealt},"reshuffle_at_dealt":234,'
        f'"discard_rank_counts":{NO_DISCARDS}}},"history":{{"games_completed":0,"recent_games":[]}},'
        f'"you":{{{you}}},"dealer":{{{dealer}}},"decision":{{{decision}}}{more}}}'
    )


def head(bot: int, phase: str) -> str:
    return (
        f'{{"type":"action_request","match_id":"demo-match","game_id":1,"bot_id":"bot{bot}","seat":{bot},'
        f'"phase":"{phase}",'
    )


def test_requests_byte_for_byte() -> None:
    """A game of two seats against an ace, each request written out by hand after the statement."""
    first, second = Recorder(10, "i", "P", "S", "D"), Recorder(5, "n", "S")
    table = table_of("10H 10D 9C 7S AC 6D 5S 6H 9H", first, second)
    table.play_game()
    none = '"upcard":null,"hole_card_known":0,"cards_revealed":[],"peek_checked":0,"has_blackjack":0'
    ace = (
        '"upcard":{"rank":"A","suit":"C"},"hole_card_known":0,"cards_revealed":[{"rank":"A","suit":"C"}],'
        '"peek_checked":%d,"has_blackjack":0'
    )
    one = (
        '{"hand_id":"1-0-0","wager":10.0,"is_split_hand":0,"is_completed":0,'
        '"cards":[{"rank":"10","suit":"H"},{"rank":"10","suit":"D"}]}'
    )
    two = (
        '{"hand_id":"1-1-0","wager":5.0,"is_split_hand":0,"is_completed":0,'
        '"cards":[{"rank":"9","suit":"C"},{"rank":"7","suit":"S"}]}'
    )
    both = f'{{"seat":0,"hands":[{one}]}},{{"seat":1,"hands":[{two}]}}'
    bet_end = ',"legal_actions":["BET"],"min_bet":1,"max_bet":100,"time_budget_ms":50}\n'
    assert first.requests[0] == head(0, "bet") + (
        state(
            '"bot0":10000.0,"bot1":10000.0',
            "",
            "",
            0,
            '"bot_id":"bot0","seat":0,"balance":10000.0,"current_bet_total":0.0,"current_hands":[]',
            none,
            '"phase":"bet","legal_actions":["BET"]',
        )
        + bet_end
    )
    assert second.requests[0] == head(1, "bet") + (
        state(
            '"bot0":9990.0,"bot1":10000.0',
            '"bot0":10.0',
            "",
            0,
            '"bot_id":"bot1","seat":1,"balance":10000.0,"current_bet_total":0.0,"current_hands":[]',
            none,
            '"phase":"bet","legal_actions":["BET"]',
        )
        + bet_end
    )
    choice = '"legal_actions":["INSURANCE","NO_INSURANCE"]'
    assert first.requests[1] == head(0, "insurance") + (
        state(
            '"bot0":9990.0,"bot1":9995.0',
            '"bot0":10.0,"bot1":5.0',
            both,
            6,
            f'"bot_id":"bot0","seat":0,"balance":9990.0,"current_bet_total":10.0,"current_hands":[{one}]',
            ace % 0,
            f'"phase":"insurance",{choice}',
            ',"max_insurance":5',
        )
        + f',{choice},"max_insurance":5,"time_budget_ms":50}}\n'
    )
    split = '"legal_actions":["HIT","STAND","DOUBLE","SPLIT"]'
    assert first.requests[2] == head(0, "play") + (
        state(
            '"bot0":9985.0,"bot1":9995.0',
            '"bot0":10.0,"bot1":5.0',
            both,
            6,
            f'"bot_id":"bot0","seat":0,"balance":9985.0,"current_bet_total":10.0,"current_hands":[{one}]',
            ace % 1,
            f'"phase":"play","hand_id":"1-0-0",{split}',
        )
        + f',{split},"time_budget_ms":50}}\n'
    )
    halves = (
        '{"hand_id":"1-0-0","wager":10.0,"is_split_hand":1,"is_completed":1,'
        '"cards":[{"rank":"10","suit":"H"},{"rank":"5","suit":"S"}]},'
        '{"hand_id":"1-0-1","wager":10.0,"is_split_hand":1,"is_completed":0,'
        '"cards":[{"rank":"10","suit":"D"},{"rank":"6","suit":"H"}]}'
    )
    double = '"legal_actions":["HIT","STAND","DOUBLE"]'
    assert first.requests[4] == head(0, "play") + (
        state(
            '"bot0":9975.0,"bot1":9995.0',
            '"bot0":20.0,"bot1":5.0',
            both.replace(one, halves),
            8,
            f'"bot_id":"bot0","seat":0,"balance":9975.0,"current_bet_total":20.0,"current_hands":[{halves}]',
            ace % 1,
            f'"phase":"play","hand_id":"1-0-1",{double}',
        )
        + f',{double},"time_budget_ms":50}}\n'
    )
    assert len(first.requests) == 5
    assert len(second.requests) == 3


def test_halves_discards_and_the_next_game() -> None:
    bot = Recorder(5, 7, "S")
    table = table_of("AH KD 9 9 5C 6C 7 10 9 8", bot)
    table.play_game()
    table.play_game()
    request = json.loads(bot.requests[1])
    assert '"balances":{"bot0":10007.5}' in bot.requests[1]
    assert request["game_id"] == 2
    assert request["st"]["history"] == {"games_completed": 1, "recent_games": []}
    counts = request["st"]["shoe"]["discard_rank_counts"]
    assert {rank: count for rank, count in counts.items() if count} == {"A": 1, "9": 2, "K": 1}
    assert request["st"]["shoe"]["cards_dealt_in_shoe"] == 4
    play = json.loads(bot.requests[2])
    # the dealer's hole card is dealt and is in no count
    assert play["st"]["shoe"]["cards_dealt_in_shoe"] == 8
    assert play["st"]["shoe"]["discard_rank_counts"] == counts
    assert play["st"]["dealer"]["peek_checked"] == 0
    assert play["st"]["decision"]["hand_id"] == "2-0-0"


def test_who_was_terminated_is_gone_from_later_requests() -> None:
    first, second = Recorder(10, Failure(Termination.TIMEOUT, "")), Recorder(5, "S", 5, "S")
    table = table_of("10 9 9 8 7 9 10 10 10 10", first, second)
    table.play_game()
    table.play_game()
    shown = json.loads(second.requests[1])["st"]["table"]
    assert shown["num_seats"] == 2
    assert [entry["bot_id"] for entry in shown["seat_order"]] == ["bot0", "bot1"]
    assert shown["balances"] == {"bot0": 0.0, "bot1": 9995.0}
    assert (shown["active_bots"], shown["terminated_bots"]) == (["bot1"], ["bot0"])
    assert shown["current_bets"] == {"bot1": 5.0}
    assert [entry["seat"] for entry in shown["hands"]] == [1]
    later = json.loads(second.requests[2])["st"]["table"]
    assert later["num_seats"] == 1
    assert later["seat_order"] == [{"seat": 0, "bot_id": "bot1"}]
    assert later["terminated_bots"] == ["bot0"]


def test_a_seat_with_a_natural_is_asked_for_insurance_and_not_to_play() -> None:
    bot = Recorder(3, "n")
    table_of("A K A 9", bot).play_game()
    assert [json.loads(text)["phase"] for text in bot.requests] == ["bet", "insurance"]
    asked = json.loads(bot.requests[1])
    assert asked["max_insurance"] == asked["st"]["max_insurance"] == 1
    assert asked["st"]["you"]["current_hands"][0]["is_completed"] == 1


BET_7 = Answer("BET", 7)
IDENTITY = {"type": "action_response", "match_id": "m", "game_id": 12, "bot_id": "b"}


def reply(**changes: Any) -> bytes:
    fields = {**IDENTITY, "action": "BET", "amount": 10, **changes}
    return json.dumps({key: value for key, value in fields.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (reply(), Answer("BET", 10)),
        (reply(amount=10.0), Answer("BET", 10)),
        (reply(amount=1e3), Answer("BET", 1000)),
        (reply(amount=-3), Answer("BET", -3)),
        (reply(amount=...), Answer("BET")),
        (reply(game_id=12.0), Answer("BET", 10)),
        (reply(extra=[1, {"a": None}]), Answer("BET", 10)),
        (reply() + b"\r", Answer("BET", 10)),
        (b"\t " + reply() + b"  ", Answer("BET", 10)),
        (b'{"amount":7,"action":"BET","bot_id":"b","game_id":12,"match_id":"m","type":"action_response"}', BET_7),
        (reply(action="INSURANCE", amount=0), Answer("INSURANCE", 0)),
        (reply(action="NO_INSURANCE", amount=None), Answer("NO_INSURANCE")),
        (reply(action="HIT", amount="ten"), Answer("HIT")),
        (reply(action="FOLD"), Answer("FOLD")),
    ],
)
def test_replies_in_form(line: bytes, expected: Answer) -> None:
    assert answer_of(line, IDENTITY) == expected


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\r",
        b"   ",
        b"HIT",
        b"{",
        b"[]",
        b"12",
        b"null",
        b'"BET"',
        reply()[:-1],
        reply() + reply(),
        b"\xff" + reply(),
        reply().decode().encode("utf-16"),
        b"[" * 100_000,
        reply(amount=7.5),
        reply(amount="10"),
        reply(amount=True),
        reply(amount=None),
        reply(amount=[10]),
        reply(amount=float("nan")),
        reply(amount=float("inf")),
        reply().replace(b"10", b"1e999"),
        reply().replace(b"10", b"9" * 5000),
        reply(action=None),
        reply(action=["BET"]),
        reply(action=...),
        reply(type=...),
        reply(match_id=...),
        reply(game_id=...),
        reply(bot_id=...),
    ],
)
def test_replies_out_of_form(line: bytes) -> None:
    failure = answer_of(line, IDENTITY)
    assert isinstance(failure, Failure)
    assert failure.termination is Termination.UNPARSABLE
    assert "\n" not in failure.detail


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "action_request"},
        {"match_id": "n"},
        {"match_id": 5},
        {"game_id": 11},
        {"game_id": "12"},
        {"game_id": 12.5},
        {"bot_id": "B"},
        {"bot_id": None},
    ],
)
def test_replies_for_something_else(changes: dict[str, Any]) -> None:
    failure = answer_of(reply(**changes), IDENTITY)
    assert isinstance(failure, Failure)
    assert failure.termination is Termination.MISMATCHED
    assert answer_of(reply(**changes), None) == Answer("BET", 10)


def test_game_one_is_not_true() -> None:
    failure = answer_of(reply(game_id=True), {**IDENTITY, "game_id": 1})
    assert isinstance(failure, Failure)


def test_a_bet_without_amount_is_out_of_form() -> None:
    table = table_of("9 9 9 9", lambda *_: Answer("BET"))
    table.play_game()
    outcome = table.everyone[0].outcome
    assert outcome is not None
    assert outcome.termination is Termination.UNPARSABLE


def test_bets_of_other_rules_are_shown() -> None:
    bot = Recorder(20, "S")
    table_of("9 9 9 9", bot, rules=BlackjackRules(min_bet=20, max_bet=500, time_budget_ms=70)).play_game()
    request = json.loads(bot.requests[0])
    assert (request["min_bet"], request["max_bet"], request["time_budget_ms"]) == (20, 500, 70)
    assert request["st"]["rules"]["max_bet"] == 500
    assert bot.offered[0] == ("bet", BET_ONLY)
