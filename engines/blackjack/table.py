"""The game itself: a table that deals, asks its seats, moves the money and settles. Pure: it knows no process, no
pipe and no JSON; a seat's player may be a process behind a pipe or a function.

Money is counted in half coins, which makes every balance a whole number; wagers are whole coins.
Rules: README, sections Cards, Game and Answers.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from engines.blackjack.cards import RANK, TEXT, VALUE, points
from engines.blackjack.rules import DOUBLE_TOTALS, BlackjackRules
from engines.blackjack.shoe import Orders, Shoe
from simfarm.core.model import Outcome, Termination

BET, INSURANCE, NO_INSURANCE = "BET", "INSURANCE", "NO_INSURANCE"
HIT, STAND, DOUBLE, SPLIT = "HIT", "STAND", "DOUBLE", "SPLIT"

Legal = tuple[str, ...]
"""The actions that a seat may take."""
BET_ONLY: Legal = (BET,)
INSURANCE_OR_NOT: Legal = (INSURANCE, NO_INSURANCE)
PLAYS: tuple[Legal, ...] = tuple(
    (*((HIT,) if bits & 1 else ()), STAND, *((DOUBLE,) if bits & 2 else ()), *((SPLIT,) if bits & 4 else ()))
    for bits in range(8)
)
"""The legal actions of the play phase, by 1 for HIT + 2 for DOUBLE + 4 for SPLIT."""
_STAND_ONLY = PLAYS[0]


class Answer(NamedTuple):
    """A player's decision in the protocol's form; whether it is legal is the table's business."""

    action: str
    amount: int | None = None
    """Whole coins of a bet or an insurance; None if left out."""


class Failure(NamedTuple):
    """No decision: why the seat is terminated."""

    termination: Termination
    detail: str


class Hand:
    """A hand of a seat."""

    __slots__ = ("ace", "cards", "completed", "from_aces", "hard", "is_split", "wager")

    def __init__(self, cards: list[int], wager: int, is_split: bool = False, from_aces: bool = False) -> None:
        self.cards = cards
        self.wager = wager
        """Whole coins."""
        self.is_split = is_split
        """Whether the hand comes from a split."""
        self.from_aces = from_aces
        """Whether it comes from split aces."""
        self.completed = False
        """Whether it takes no more actions."""
        self.hard = 0
        """Points, aces as 1."""
        self.ace = False
        """Whether it holds an ace."""
        for card in cards:
            self.hard += VALUE[card]
            self.ace = self.ace or card < 4

    def add(self, card: int) -> None:
        """Give it a card."""
        self.cards.append(card)
        self.hard += VALUE[card]
        if card < 4:
            self.ace = True

    @property
    def total(self) -> int:
        """The best total; above 21 it is bust."""
        return self.hard + 10 if self.ace and self.hard <= 11 else self.hard

    @property
    def is_natural(self) -> bool:
        """An ace and a ten as dealt; 21 after a split is none."""
        return self.hard == 11 and self.ace and len(self.cards) == 2 and not self.is_split

    def __str__(self) -> str:
        return " ".join(TEXT[card] for card in self.cards)


class Seat:
    """A bot of the match: what it owns, how it fared, and its place in the current game.

    Args:
        name: the bot's name.
        player: who decides.
        balance: half coins at the start.
    """

    __slots__ = (
        "balance",
        "bet",
        "decisions",
        "games",
        "hands",
        "insurance",
        "name",
        "number",
        "outcome",
        "player",
        "staked",
        "wagered",
    )

    def __init__(self, name: str, player: "Player", balance: int) -> None:
        self.name = name
        self.player = player
        self.balance = balance
        """Half coins."""
        self.outcome: Outcome | None = None
        """Why the seat was terminated, if it was."""
        self.games = 0
        """Games in which it has bet."""
        self.decisions = 0
        """Answers asked of it."""
        self.wagered = 0
        """Coins staked on hands in all games so far; insurance is not in it."""
        self.number = 0
        """Place in the order of the current game."""
        self.bet = 0
        """Coins bet in the current game."""
        self.staked = 0
        """Coins on all its hands in the current game: the bet, doubles and splits."""
        self.insurance = 0
        """Coins of insurance in the current game."""
        self.hands: list[Hand] = []
        """Hands of the current game; none before the deal and after a termination."""


Player = Callable[["Table", Seat, Legal], Answer | Failure]
"""Decides for a seat: of the table it may look at what its request would show."""


class Table:
    """A table for the length of a match.

    Args:
        rules: the rule options.
        seats: the bots of the match.
        shoe: the cards.
        orders: the seat order of each game.
    """

    def __init__(self, rules: BlackjackRules, seats: Sequence[Seat], shoe: Shoe, orders: Orders) -> None:
        self.rules = rules
        self.everyone = tuple(seats)
        """All bots of the match, seated or not, as the match lists them."""
        self.shoe = shoe
        self.seats: list[Seat] = []
        """Who was seated in the current game, in its order."""
        self.terminated: list[Seat] = []
        """Who was terminated in this match, in order of time."""
        self.games_completed = 0
        self.game_id = 0
        """Of the current game, from 1."""
        self.phase = "bet"
        """``bet``, ``insurance`` or ``play``."""
        self.dealer: list[int] = []
        """The dealer's cards, the upcard first; none before the deal."""
        self.peeked = False
        """Whether the dealer has looked for a blackjack."""
        self.hand: Hand | None = None
        """The hand that is played."""
        self.hand_index = 0
        """Its index among its seat's hands."""
        self.bank = 0
        """Half coins that the bank has gained from the seats; what lies on the table is with the bank."""
        self._orders = orders
        self._min_balance = 2 * rules.min_bet
        self._double_totals = DOUBLE_TOTALS[rules.double_allowed]
        self._pair_of = RANK if rules.split_by == "rank" else VALUE
        self._max_hands = rules.max_hands

    def seatable(self) -> list[Seat]:
        """Who can play the next game, in its seat order: not terminated, and able to pay the smallest bet."""
        everyone = self.everyone
        return [
            seat
            for seat in map(everyone.__getitem__, self._orders.of(self.games_completed))
            if seat.outcome is None and seat.balance >= self._min_balance
        ]

    def play_game(self) -> bool:
        """Play the next game.

        Returns:
            False if there is none: nobody could be seated, or nobody made a bet.
        """
        self.seats = seats = self.seatable()
        self.shoe.begin_game()
        self.game_id = self.games_completed + 1
        self.phase = "bet"
        self.dealer = []
        self.peeked = False
        self.hand = None
        for number, seat in enumerate(seats):
            seat.number = number
            seat.bet = seat.staked = seat.insurance = 0
            seat.hands = []
        for seat in seats:
            self._ask_bet(seat)
        playing = [seat for seat in seats if seat.outcome is None]
        if not playing:
            return False
        self._deal(playing)
        upcard, hole = self.dealer
        if VALUE[upcard] == 1 and self.rules.insurance_allowed:
            self.phase = "insurance"
            for seat in playing:
                self._ask_insurance(seat)
        # the dealer looks only under an ace or a ten, which are the only upcards of a blackjack
        self.peeked = VALUE[upcard] in (1, 10)
        if self.peeked and VALUE[upcard] + VALUE[hole] == 11:
            self._settle_blackjack(playing)
        else:
            self.phase = "play"
            for seat in playing:
                if seat.outcome is None:
                    self._play(seat)
            self._settle(playing)
        self.shoe.end_game()
        self.games_completed += 1
        return True

    def legal_actions(self, seat: Seat, hand: Hand, rich: bool = False) -> Legal:
        """The actions of a hand in the play phase; those the rules allow if money were no matter if ``rich``."""
        rules = self.rules
        bits = 0 if hand.from_aces and not rules.hit_split_aces else 1
        cards = hand.cards
        if len(cards) == 2 and (rich or seat.balance >= 2 * hand.wager):
            if (
                hand.total in self._double_totals
                and not hand.from_aces
                and (not hand.is_split or rules.double_after_split)
            ):
                bits |= 2
            pair_of = self._pair_of
            if (
                pair_of[cards[0]] == pair_of[cards[1]]
                and len(seat.hands) < rules.split_max_hands
                and (not hand.from_aces or rules.resplit_aces)
                and sum(len(other.hands) for other in self.seats) < self._max_hands
            ):
                bits |= 4
        return PLAYS[bits]

    def verify_bet(self, seat: Seat, answer: Answer) -> int | Failure:
        """The bet in coins that an answer makes, or what is wrong with it."""
        action, amount = answer
        rules = self.rules
        if action != BET:
            return Failure(Termination.ILLEGAL, f"{action} when asked to BET")
        if amount is None:
            return Failure(Termination.UNPARSABLE, "BET without an amount")
        if rules.out_of_range == "clamp":
            amount = min(max(amount, rules.min_bet), rules.max_bet, seat.balance // 2)
        if not rules.min_bet <= amount <= rules.max_bet:
            return Failure(Termination.ILLEGAL, f"bet {amount}, allowed {rules.min_bet} to {rules.max_bet}")
        if 2 * amount > seat.balance:
            return Failure(Termination.UNAFFORDABLE, f"bet {amount} with a balance of {seat.balance / 2}")
        return amount

    def verify_insurance(self, seat: Seat, answer: Answer) -> int | Failure:
        """The insurance in coins that an answer takes, 0 if none, or what is wrong with it."""
        action, amount = answer
        if action == NO_INSURANCE:
            return 0
        if action != INSURANCE:
            return Failure(Termination.ILLEGAL, f"{action} when asked for INSURANCE or NO_INSURANCE")
        most = seat.bet // 2
        stake = amount or most
        if self.rules.out_of_range == "clamp":
            stake = min(max(stake, 0), most, seat.balance // 2)
        if not 0 <= stake <= most:
            return Failure(Termination.ILLEGAL, f"insurance {stake}, allowed 0 to {most}")
        if 2 * stake > seat.balance:
            return Failure(Termination.UNAFFORDABLE, f"insurance {stake} with a balance of {seat.balance / 2}")
        return stake

    def verify_play(self, seat: Seat, hand: Hand, answer: Answer) -> str | Failure:
        """The action of an answer, or what is wrong with it."""
        action = answer.action
        legal = self.legal_actions(seat, hand)
        if action in legal:
            return action
        if action in self.legal_actions(seat, hand, rich=True):
            what = f"{action} of a wager of {hand.wager} with a balance of {seat.balance / 2}"
            return Failure(Termination.UNAFFORDABLE, what)
        return Failure(Termination.ILLEGAL, f"{action} with {hand}, allowed {', '.join(legal)}")

    def terminate(self, seat: Seat, failure: Failure) -> None:
        """Take a seat out of the match: balance, stakes and insurance are lost, its hands are gone."""
        detail = f"game {self.game_id}, {self.phase}: {failure.detail}"
        seat.outcome = Outcome(failure.termination, seat.number, detail)
        self.terminated.append(seat)
        self._pay(seat, -seat.balance)
        seat.staked = 0
        seat.hands = []
        self.hand = None

    def _ask_bet(self, seat: Seat) -> None:
        seat.decisions += 1
        answer = seat.player(self, seat, BET_ONLY)
        bet = answer if isinstance(answer, Failure) else self.verify_bet(seat, answer)
        if isinstance(bet, Failure):
            self.terminate(seat, bet)
            return
        seat.bet = bet
        seat.games += 1
        self._stake(seat, bet)

    def _deal(self, playing: list[Seat]) -> None:
        draw = self.shoe.draw
        natural_completes = self.rules.natural_completes
        for seat in playing:
            hand = Hand([draw(), draw()], seat.bet)
            hand.completed = natural_completes and hand.is_natural
            seat.hands.append(hand)
        self.dealer = [draw(), draw()]

    def _ask_insurance(self, seat: Seat) -> None:
        seat.decisions += 1
        answer = seat.player(self, seat, INSURANCE_OR_NOT)
        stake = answer if isinstance(answer, Failure) else self.verify_insurance(seat, answer)
        if isinstance(stake, Failure):
            self.terminate(seat, stake)
            return
        seat.insurance = stake
        self._pay(seat, -2 * stake)

    def _play(self, seat: Seat) -> None:
        hands = seat.hands
        index = 0
        while index < len(hands):
            self.hand_index = index
            while not (hand := hands[index]).completed:
                legal = self.legal_actions(seat, hand)
                if legal is _STAND_ONLY:
                    self._apply(STAND, seat, hand)
                    break
                self.hand = hand
                seat.decisions += 1
                answer = seat.player(self, seat, legal)
                action = answer if isinstance(answer, Failure) else self.verify_play(seat, hand, answer)
                if isinstance(action, Failure):
                    self.terminate(seat, action)
                    return
                self._apply(action, seat, hand)
            index += 1
        self.hand = None

    def _apply(self, action: str, seat: Seat, hand: Hand) -> None:
        if action == STAND:
            hand.completed = True
        elif action == SPLIT:
            self._split(seat, hand)
        else:
            if action == DOUBLE:
                self._stake(seat, hand.wager)
                hand.wager *= 2
                hand.completed = True
            hand.add(self.shoe.draw())
            if hand.hard > 21 or (self.rules.twenty_one_completes and hand.total == 21):
                hand.completed = True

    def _split(self, seat: Seat, hand: Hand) -> None:
        self._stake(seat, hand.wager)
        rules = self.rules
        draw = self.shoe.draw
        kept, moved = hand.cards
        aces = VALUE[kept] == 1
        for place, first in ((seat.hands.index(hand), kept), (len(seat.hands), moved)):
            new = Hand([first, draw()], hand.wager, is_split=True, from_aces=aces)
            if aces and not rules.hit_split_aces:
                new.completed = not (rules.resplit_aces and VALUE[new.cards[1]] == 1)
            else:
                new.completed = rules.twenty_one_completes and new.total == 21
            seat.hands[place : place + 1] = [new]

    def _settle_blackjack(self, playing: list[Seat]) -> None:
        """The dealer has a blackjack: insurance pays 2 to 1, naturals push, the rest is lost."""
        for seat in playing:
            if seat.outcome is not None:
                continue
            if seat.insurance:
                self._pay(seat, 6 * seat.insurance)
            for hand in seat.hands:
                if hand.is_natural:
                    self._pay(seat, 2 * hand.wager)

    def _settle(self, playing: list[Seat]) -> None:
        live = [(seat, hand) for seat in playing if seat.outcome is None for hand in seat.hands if hand.hard <= 21]
        dealer = self._dealer_total() if live else 0
        for seat, hand in live:
            stake = 2 * hand.wager
            total = hand.total
            if hand.is_natural:
                self._pay(seat, stake + self.rules.payout(hand.wager))
            elif dealer > 21 or total > dealer:
                self._pay(seat, 2 * stake)
            elif total == dealer:
                self._pay(seat, stake)

    def _dealer_total(self) -> int:
        cards = self.dealer
        hits_soft_17 = self.rules.dealer_hits_soft_17
        while True:
            total, soft = points(cards)
            if total > 17 or (total == 17 and not (soft and hits_soft_17)):
                return total
            cards.append(self.shoe.draw())

    def _stake(self, seat: Seat, coins: int) -> None:
        seat.staked += coins
        seat.wagered += coins
        self._pay(seat, -2 * coins)

    def _pay(self, seat: Seat, halves: int) -> None:
        seat.balance += halves
        self.bank -= halves
