"""The rules at the table: examples card by card, and what holds whatever is played."""

import importlib.util
import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.blackjack.cards import DECK, RANK, RANKS, VALUE, card_of
from engines.blackjack.protocol import request_of
from engines.blackjack.rules import BlackjackRules
from engines.blackjack.shoe import Orders, Shoe
from engines.blackjack.table import (
    BET,
    BET_ONLY,
    DOUBLE,
    HIT,
    INSURANCE_OR_NOT,
    NO_INSURANCE,
    SPLIT,
    STAND,
    Answer,
    Failure,
    Legal,
    Player,
    Seat,
    Table,
)
from simfarm.core.errors import ConfigError
from simfarm.core.model import Termination
from tests.blackjack_players import Script, flat, free_table, games, net_per_game, random_player, table_of

ALL = (HIT, STAND, DOUBLE, SPLIT)
NO_SPLIT = (HIT, STAND, DOUBLE)


def rules(**changes: Any) -> BlackjackRules:
    return BlackjackRules(**changes)


def plays(script: Script) -> list[tuple[str, Legal]]:
    return [(hand, legal) for hand, legal in script.offered if legal not in (BET_ONLY, INSURANCE_OR_NOT)]


@pytest.mark.parametrize(
    ("cards", "words", "net"),
    [
        pytest.param("10 9 10 8", "S", 10, id="higher total wins one to one"),
        pytest.param("10 8 10 8", "S", 0, id="equal totals push"),
        pytest.param("10 7 10 8", "S", -10, id="lower total loses"),
        pytest.param("10 6 10 8 9", "H", -10, id="bust loses"),
        pytest.param("10 6 10 6 9", "S", 10, id="dealer busts"),
        pytest.param("A K 10 8", "", 15, id="a natural wins 3 to 2, no request"),
        pytest.param("A K 10 A", "", 0, id="naturals push"),
        pytest.param("10 9 10 A", "", -10, id="dealer's blackjack under a ten ends the game at once"),
        pytest.param("10 9 A K", "n", -10, id="dealer's blackjack under an ace, after insurance"),
        pytest.param("10 9 A K", "i", 0, id="insurance pays 2 to 1, left out amount is the maximum"),
        pytest.param("10 9 A K", "i0", 0, id="insurance of 0 is the maximum"),
        pytest.param("10 9 A K", "i2", -6, id="part of the insurance"),
        pytest.param("10 9 A 7", "i S", -5 + 10, id="insurance is lost without a blackjack"),
        pytest.param("A K A Q", "i", 10, id="an insured natural against a blackjack"),
        pytest.param("A K A 9", "n", 15, id="a natural is offered insurance and wins"),
        pytest.param("5 6 10 8 9", "D", 20, id="double: twice the wager, one card"),
        pytest.param("5 6 10 8 3", "D", -20, id="double: no more cards"),
        pytest.param("10 8 6 A A 9", "S", 0, id="dealer draws to a soft 17 and stands on a soft 18"),
        pytest.param("10 9 8 8 5", "S", -10, id="dealer draws to 16"),
        pytest.param("8 8 10 7 3 2 9 10", "P D D", 20 + 20, id="double after a split"),
        pytest.param("8 8 10 7 10 9", "P S S", 10 + 0, id="split hands play one after the other"),
        pytest.param("A A 10 7 10 9", "P", 20, id="split aces: one card each, 21 is no blackjack"),
        pytest.param("10 10 10 7 A 9", "P S", 20, id="a ten and an ace after a split win one to one"),
        pytest.param("5 6 10 8 2 8", "H H", 10, id="21 by a hit completes"),
    ],
)
def test_results(cards: str, words: str, net: float) -> None:
    script = Script(10, *words.split())
    table = table_of(cards, script)
    assert table.play_game()
    (seat,) = table.everyone
    assert seat.outcome is None
    assert script.words == []
    assert seat.balance == 2 * (10_000 + net)
    assert table.bank == -2 * net


def test_dealer_and_soft_17() -> None:
    hits = table_of("10 8 6 A 2 5", Script(10, "S"))
    hits.play_game()
    assert [VALUE[card] for card in hits.dealer] == [6, 1, 2]
    stands = table_of("10 8 6 A 2 5", Script(10, "S"), rules=rules(dealer_hits_soft_17=False))
    stands.play_game()
    assert [VALUE[card] for card in stands.dealer] == [6, 1]


def test_the_dealer_draws_only_for_a_live_hand() -> None:
    bust = table_of("10 6 9 3 10", Script(10, "H"))
    bust.play_game()
    assert len(bust.dealer) == 2
    natural = table_of("A K 9 3 10", Script(10))
    natural.play_game()
    assert len(natural.dealer) == 3
    gone = table_of("10 6 9 3 10", Script(10, Failure(Termination.TIMEOUT, "")))
    gone.play_game()
    assert len(gone.dealer) == 2


def test_deal_order_and_what_is_offered() -> None:
    first, second = Script(10, "S"), Script(5, "P", "S", "H", "S")
    table = table_of("10 5 8S 8H 9 10 2S 3H 4", first, second)
    table.play_game()
    one, two = table.everyone
    assert [str(hand) for hand in one.hands] == ["10S 5S"]
    assert [str(hand) for hand in two.hands] == ["8S 2S", "8H 3H 4S"]
    assert plays(first) == [("10S 5S", NO_SPLIT)]
    assert plays(second) == [
        ("8S 8H", ALL),
        ("8S 2S", NO_SPLIT),
        ("8H 3H", NO_SPLIT),
        ("8H 3H 4S", (HIT, STAND)),
    ]


def test_pairs_by_rank_or_by_value() -> None:
    script = Script(10, "S")
    table_of("10 K 9 9", script).play_game()
    assert plays(script) == [("10S KS", NO_SPLIT)]
    script = Script(10, "S")
    table_of("10 K 9 9", script, rules=rules(split_by="value")).play_game()
    assert plays(script) == [("10S KS", ALL)]


def test_up_to_four_hands_and_in_which_order() -> None:
    script = Script(10, "P", "P", "S", "P", "S", "S", "S")
    table = table_of("8S 8H 9 10 8D 8C 2 3 4 8 10", script)
    table.play_game()
    (seat,) = table.everyone
    assert [str(hand) for hand in seat.hands] == ["8S 2S", "8H 4S", "8D 3S", "8C 8S"]
    assert plays(script)[-1] == ("8C 8S", NO_SPLIT)
    assert seat.staked == 40


def test_split_aces() -> None:
    script = Script(10, "P")
    table_of("AS AH 9 10 AD 5 10", script).play_game()
    assert plays(script) == [("AS AH", ALL)]
    script = Script(10, "P", "P")
    table = table_of("AS AH 9 10 AD 5 6 7 10", script, rules=rules(resplit_aces=True))
    table.play_game()
    assert plays(script) == [("AS AH", ALL), ("AS AD", (STAND, SPLIT))]
    assert [str(hand) for hand in table.everyone[0].hands] == ["AS 6S", "AH 5S", "AD 7S"]
    script = Script(10, "P", "H", "S", "S")
    table_of("AS AH 9 10 AD 5 6", script, rules=rules(hit_split_aces=True)).play_game()
    assert plays(script)[1:] == [("AS AD", (HIT, STAND)), ("AS AD 6S", (HIT, STAND)), ("AH 5S", (HIT, STAND))]


def test_a_natural_and_21_may_be_left_to_the_bot() -> None:
    script = Script(10, "S")
    table = table_of("A K 9 9", script, rules=rules(natural_completes=False))
    table.play_game()
    assert plays(script) == [("AS KS", NO_SPLIT)]
    assert table.everyone[0].balance == 2 * 10_015
    script = Script(10, "H", "S")
    table_of("5 6 9 9 10", script, rules=rules(twenty_one_completes=False)).play_game()
    assert plays(script)[-1] == ("5S 6S 10S", (HIT, STAND))


@pytest.mark.parametrize(
    ("allowed", "cards", "legal"),
    [
        ("none", "5 6", (HIT, STAND)),
        ("10_to_11", "5 6", NO_SPLIT),
        ("10_to_11", "5 4", (HIT, STAND)),
        ("9_to_11", "5 4", NO_SPLIT),
        ("9_to_11", "A 9", (HIT, STAND)),
        ("any_two", "A 9", NO_SPLIT),
    ],
)
def test_which_hands_may_double(allowed: str, cards: str, legal: Legal) -> None:
    script = Script(10, "S")
    table_of(f"{cards} 9 9", script, rules=rules(double_allowed=allowed)).play_game()
    assert plays(script)[0][1] == legal


def test_double_after_split_may_be_forbidden() -> None:
    script = Script(10, "P", "S", "S")
    table_of("8 8 9 9 2 3", script, rules=rules(double_after_split=False)).play_game()
    assert plays(script)[1][1] == (HIT, STAND)


@pytest.mark.parametrize(("word", "termination"), [("D", "unaffordable"), ("P", "unaffordable"), ("n", "illegal")])
def test_what_the_balance_does_not_allow_is_not_offered(word: str, termination: str) -> None:
    script = Script(10, word)
    table = table_of("8 8 9 9", script, balance=19.5)
    table.play_game()
    (seat,) = table.everyone
    assert plays(script) == [("8S 8S", (HIT, STAND))]
    assert seat.outcome is not None
    assert seat.outcome.termination == termination
    assert (seat.balance, seat.hands, table.terminated) == (0, [], [seat])
    script = Script(10, "S")
    table_of("8 8 9 9", script, balance=20).play_game()
    assert plays(script) == [("8S 8S", ALL)]


@pytest.mark.parametrize(
    ("bet", "balance", "reason", "clamped"),
    [
        (0, 1000, "illegal", 1),
        (101, 1000, "illegal", 100),
        (-5, 1000, "illegal", 1),
        (60, 50.5, "unaffordable", 50),
        (50, 50.5, None, 50),
        (100, 1000, None, 100),
        (1, 1000, None, 1),
    ],
)
def test_bets(bet: int, balance: float, reason: str | None, clamped: int) -> None:
    table = table_of("10 10 9 9", Script(bet, "S"), balance=balance)
    played = table.play_game()
    (seat,) = table.everyone
    assert (seat.outcome.termination if seat.outcome else None) == reason
    assert played == (reason is None)
    assert seat.games == (reason is None)
    table = table_of("10 10 9 9", Script(bet, "S"), balance=balance, rules=rules(out_of_range="clamp"))
    table.play_game()
    assert table.everyone[0].bet == clamped


@pytest.mark.parametrize(
    ("bet", "word", "balance", "reason", "clamped"),
    [
        (11, "i", 1000, None, 5),
        (11, "i5", 1000, None, 5),
        (11, "i6", 1000, "illegal", 5),
        (11, "i-1", 1000, "illegal", 0),
        (11, "i", 15.5, "unaffordable", 4),
        (11, "i4", 15.5, None, 4),
        (1, "i", 1000, None, 0),
        (1, "i1", 1000, "illegal", 0),
        (11, "H", 1000, "illegal", None),
    ],
)
def test_insurance(bet: int, word: str, balance: float, reason: str | None, clamped: int | None) -> None:
    table = table_of("10 10 A 9", Script(bet, word, "S"), balance=balance)
    table.play_game()
    (seat,) = table.everyone
    assert (seat.outcome.termination if seat.outcome else None) == reason
    if clamped is not None:
        table = table_of("10 10 A 9", Script(bet, word, "S"), balance=balance, rules=rules(out_of_range="clamp"))
        table.play_game()
        assert table.everyone[0].insurance == clamped


def test_no_insurance_where_it_is_not_allowed() -> None:
    script = Script(10, "S")
    table_of("10 10 A 9", script, rules=rules(insurance_allowed=False)).play_game()
    assert [legal for _, legal in script.offered] == [BET_ONLY, (HIT, STAND, DOUBLE, SPLIT)]


def test_a_termination_takes_everything_and_the_game_goes_on() -> None:
    first, second = Script(10, "i", Failure(Termination.TIMEOUT, "late")), Script(10, "n", "S", 10, "S")
    table = table_of("10 9 10 8 A 7 9 9 9 9 10 10", first, second)
    table.play_game()
    one, two = table.everyone
    assert one.outcome is not None
    assert one.outcome.termination is Termination.TIMEOUT
    assert one.outcome.detail == "game 1, play: late"
    assert (one.balance, one.staked, one.hands) == (0, 0, [])
    assert two.balance == 2 * 10_000
    assert table.bank == 2 * 10_000
    # its cards have become discards all the same: 6 dealt, none drawn
    assert sum(table.shoe.discards) == table.shoe.dealt == 6
    assert table.play_game()
    assert [seat.name for seat in table.seats] == ["bot1"]


def test_who_cannot_pay_sits_out_and_keeps_what_it_has() -> None:
    poor, rich = Script(5, "S"), Script(*[5, "S"] * 2)
    table = table_of("10 7 10 9 10 9 10 9 10 8", poor, rich, balance=9, rules=rules(min_bet=5))
    table.play_game()
    table.play_game()
    one, two = table.everyone
    assert (one.balance, one.games, one.outcome) == (8, 1, None)
    assert two.games == 2
    assert table.seats == [two]


def test_nobody_left() -> None:
    table = table_of("", Script(Failure(Termination.EXITED, "")))
    assert not table.play_game()
    assert not table.play_game()
    assert table.games_completed == 0
    assert table.shoe.dealt == 0


@pytest.mark.parametrize(
    ("payout", "bet", "net"), [(1.5, 5, 7.5), (1.2, 10, 12), (1.2, 7, 8), (1.2, 6, 7), (2, 3, 6), (1, 3, 3)]
)
def test_payout_to_the_half_coin(payout: float, bet: int, net: float) -> None:
    table = table_of("A K 9 9", Script(bet), rules=rules(blackjack_payout=payout))
    table.play_game()
    assert table.everyone[0].balance == 20_000 + 2 * net


def test_reshuffle_comes_before_the_bets() -> None:
    official = rules()
    assert (official.shoe_size, official.reshuffle_at_dealt) == (312, 234)
    seen: list[tuple[int, int]] = []

    def player(table: Table, seat: Seat, legal: Legal) -> Answer | Failure:
        if legal is BET_ONLY:
            seen.append((table.shoe.dealt, sum(table.shoe.discards)))
        return flat(table, seat, legal)

    table = free_table(3, [player, flat], rules(start_balance=10**6))
    for _ in games(table, 300):
        assert len(seen) == table.games_completed
    dealt = [before for before, _ in seen]
    assert all(before < 234 and before == discards for before, discards in seen)
    ends = [before for before, after in pairwise(dealt) if after == 0]
    assert len(ends) == table.shoe.shuffles - 1 > 5
    assert all(234 - 30 < end < 234 for end in ends)


def test_a_shoe_that_runs_out_takes_back_all_but_the_table() -> None:
    small = rules(decks=1, start_balance=10**6, penetration_reshuffle_fraction=1.0)
    table = free_table(5, [random_player(seed, 100) for seed in range(9)], small)
    ran_out = 0
    for _ in range(300):
        shuffles = table.shoe.shuffles
        before = table.shoe.dealt
        assert table.play_game()
        cards = [card for seat in table.seats for hand in seat.hands for card in hand.cards] + table.dealer
        ran_out += table.shoe.shuffles - shuffles > (before >= 52)
        assert max(Counter(cards).values()) == 1
        assert table.shoe.dealt + len(table.shoe._cards) == 52
        assert sum(table.shoe.discards) == table.shoe.dealt
    assert ran_out > 20


def test_more_seats_than_the_cards_allow() -> None:
    assert rules().max_hands == 64
    assert rules(decks=1).max_hands == 10


def test_seat_orders_are_even() -> None:
    orders = Orders(7, 3)
    counts = Counter(tuple(orders.of(game)) for game in range(6000))
    assert len(counts) == 6
    assert all(abs(count - 1000) < 5 * 1000**0.5 for count in counts.values())


def test_shuffles_are_even() -> None:
    """Each card comes first as often as any, and so do the ranks at a later place."""
    firsts: Counter[int] = Counter()
    later: Counter[int] = Counter()
    for seed in range(5200):
        shoe = Shoe(1, 52, seed)
        firsts[shoe.draw()] += 1
        for _ in range(30):
            card = shoe.draw()
        later[RANK[card]] += 1
    assert set(firsts) == set(range(DECK))
    assert sum((count - 100) ** 2 / 100 for count in firsts.values()) < 51 + 4 * 102**0.5
    assert sum((count - 400) ** 2 / 400 for count in later.values()) < 12 + 4 * 24**0.5


RULES = st.builds(
    BlackjackRules,
    decks=st.sampled_from((1, 2, 6)),
    penetration_reshuffle_fraction=st.sampled_from((0.5, 0.75, 1.0)),
    dealer_hits_soft_17=st.booleans(),
    blackjack_payout=st.sampled_from((1.0, 1.2, 1.5, 2.0)),
    double_allowed=st.sampled_from(("any_two", "9_to_11", "10_to_11", "none")),
    double_after_split=st.booleans(),
    split_max_hands=st.integers(1, 4),
    resplit_aces=st.booleans(),
    hit_split_aces=st.booleans(),
    insurance_allowed=st.booleans(),
    start_balance=st.sampled_from((20, 300, 10_000)),
    split_by=st.sampled_from(("rank", "value")),
    natural_completes=st.booleans(),
    twenty_one_completes=st.booleans(),
    out_of_range=st.sampled_from(("terminate", "clamp")),
)


def naive_total(cards: list[int]) -> int:
    """The best total by trying every value of every ace."""
    totals = {0}
    for card in cards:
        totals = {total + value for total in totals for value in ((1, 11) if card < 4 else (VALUE[card],))}
    return max((total for total in totals if total <= 21), default=min(totals))


def naive_net(table: Table, seat: Seat) -> float:
    """What a seat has won, told from the cards that lie on the table and nothing else. Wagers as at the end."""
    dealer = naive_total(table.dealer)
    blackjack = dealer == 21 and len(table.dealer) == 2
    net = 2.0 * seat.insurance if blackjack else -1.0 * seat.insurance
    for hand in seat.hands:
        total = naive_total(hand.cards)
        natural = total == 21 and len(hand.cards) == 2 and not hand.is_split
        if natural and not blackjack:
            net += int(2 * hand.wager * round(10 * table.rules.blackjack_payout) / 10) / 2
        elif (blackjack and not natural) or total > 21 or (dealer > total and dealer <= 21):
            net -= hand.wager
        elif not natural and (dealer > 21 or total > dealer):
            net += hand.wager
    return net


@settings(max_examples=150, deadline=None)
@given(RULES, st.integers(0, 2**32), st.integers(1, 5), st.sampled_from((0.0, 0.01)))
def test_money_is_conserved_and_cards_add_up(
    rules: BlackjackRules, seed: int, count: int, mistakes: float
) -> None:
    requests = 0

    def watched(player: Player) -> Player:
        def play(table: Table, seat: Seat, legal: Legal) -> Answer | Failure:
            nonlocal requests
            requests += 1
            if requests % 7 == 0:
                check_request(table, seat, legal)
            return player(table, seat, legal)

        return play

    table = free_table(seed, [watched(random_player(seed + n, 100, mistakes)) for n in range(count)], rules)
    owned = 2 * rules.start_balance * count
    for _ in range(25):
        before = {seat: seat.balance for seat in table.everyone}
        bank = table.bank
        sat = table.seatable()
        table.play_game()
        assert table.bank + sum(seat.balance for seat in table.everyone) == owned
        assert table.bank - bank == sum(before[seat] - seat.balance for seat in table.everyone)
        for seat in table.everyone:
            assert seat.balance >= 0
            if seat.outcome is not None:
                assert seat.balance == 0
            elif seat in sat:
                assert seat.balance - before[seat] == 2 * naive_net(table, seat)
            else:
                assert seat.balance == before[seat]


def check_request(table: Table, seat: Seat, legal: Legal) -> None:
    """What holds in every request (ruling 15 and the others on what bots see)."""
    request = json.loads(request_of(table.rules, "m", table, seat, legal))
    state = request["st"]
    shoe = state["shoe"]
    shown = [hand for entry in state["table"]["hands"] for hand in entry["hands"]]
    assert shoe["cards_dealt_in_shoe"] + shoe["cards_remaining_in_shoe"] == table.rules.shoe_size
    discards = sum(shoe["discard_rank_counts"].values())
    assert discards + len(table.shoe.table) == shoe["cards_dealt_in_shoe"]
    if not table.terminated:
        hole = 1 if state["dealer"]["upcard"] else 0
        cards = sum(len(hand["cards"]) for hand in shown) + len(state["dealer"]["cards_revealed"]) + hole
        assert discards + cards == shoe["cards_dealt_in_shoe"]
    assert state["dealer"]["has_blackjack"] == state["dealer"]["hole_card_known"] == 0
    assert request["legal_actions"] == state["decision"]["legal_actions"]
    assert state["you"]["balance"] == state["table"]["balances"][seat.name]
    assert set(state["table"]["terminated_bots"]).isdisjoint(state["table"]["active_bots"])


def bundled(name: str) -> ModuleType:
    path = Path(__file__).parents[1] / "engines" / "blackjack" / "bots" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"bundled_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dflat(seed: int) -> Player:
    luck = random.Random(seed)

    def play(table: Table, seat: Seat, legal: Legal) -> Answer:
        if SPLIT in legal and luck.random() < 0.2:
            return Answer(SPLIT)
        return flat(table, seat, legal)

    return play


def drandom(seed: int) -> Player:
    luck = random.Random(seed)

    def play(table: Table, seat: Seat, legal: Legal) -> Answer:
        if legal is BET_ONLY:
            return Answer(BET, luck.randint(5, 10))
        return Answer(NO_INSURANCE if legal is INSURANCE_OR_NOT else luck.choice(legal))

    return play


def basic_strategy(seed: int) -> Player:
    decide = bundled("basic_strategy").decide

    def play(table: Table, seat: Seat, legal: Legal) -> Answer:
        if legal is BET_ONLY:
            return Answer(BET, 10)
        if legal is INSURANCE_OR_NOT:
            return Answer(NO_INSURANCE)
        assert table.hand is not None
        ranks = [RANKS[RANK[card]].encode() for card in table.hand.cards]
        upcard = RANKS[RANK[table.dealer[0]]].encode()
        return Answer(decide(ranks, upcard, DOUBLE in legal, SPLIT in legal).decode())

    return play


@pytest.mark.slow
@pytest.mark.parametrize(
    ("player", "mean", "deviation"),
    [(dflat, -6.474, 18.05), (drandom, -3.135, 10.21), (basic_strategy, -0.0644, 11.604)],
)
def test_bots_lose_what_the_rules_say(player: Any, mean: float, deviation: float) -> None:
    """Within four standard errors of the mean, and more than those of the deviation."""
    count = 100_000
    found, spread = net_per_game(lambda: player(11), count, seed=2)
    assert abs(found - mean) < 4 * deviation / count**0.5
    assert abs(spread / deviation - 1) < 0.02


def test_rule_options_are_checked() -> None:
    from simfarm.config import validate

    assert validate(BlackjackRules, {"dealer_hits_soft_17": 0}, "x").dealer_hits_soft_17 is False
    with pytest.raises(ConfigError, match=r"max_bet = 5 is below min_bet = 10"):
        validate(BlackjackRules, {"min_bet": 10, "max_bet": 5}, "x")
    with pytest.raises(ConfigError, match="dealer_hits_soft_17"):
        validate(BlackjackRules, {"dealer_hits_soft_17": 2}, "x")


def test_card_texts() -> None:
    assert [card_of(text) for text in ("AS", "10H", "KC")] == [0, 37, 51]
