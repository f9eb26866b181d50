"""The rules as a state machine in readable Python: the truth that ``native/rules.h`` has to agree with.

A :class:`Run` is pure: no files, no clock, no luck. Sections named in docstrings are the statement's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from engines.poker_run.hands import Scoring, Situation, score
from engines.poker_run.instance import Case
from engines.poker_run.moves import MOST_CARDS, Kind, Move
from engines.poker_run.ruleset import DECK, RANKS, SUITS, Ruleset


class Phase(StrEnum):
    """Where a run stands."""

    ROUND = "round"
    SHOP = "shop"
    OVER = "over"


class IllegalMove(ValueError):
    """A move that the rules do not allow here. ``str()`` holds the bad value and the state it met."""


class UnaffordableMove(IllegalMove):
    """A move that costs more than is held."""


@dataclass(frozen=True, slots=True)
class RoundEnd:
    """What is known of a round when it has ended, or when the moves stop in it."""

    number: int
    """From 1."""
    target: int
    points: int
    cleared: bool
    """Ended at or above the target."""
    plays: int
    """Plays made."""
    discards: int
    """Discards made."""
    types: tuple[int, ...]
    """The hand types played, in order."""
    owned: tuple[int, ...]
    """Modifiers owned during the round, in order of purchase."""
    levels: tuple[int, ...]
    """Levels of the hand types during the round."""
    money: int
    """Dollars held during the round, before its pay."""
    earned: int
    """Dollars that it paid."""


@dataclass(frozen=True, slots=True)
class Event:
    """What a move did."""

    move: Move
    scoring: Scoring | None = None
    """Of a play."""
    ended: RoundEnd | None = None
    """The round that the move ended."""


class Run:
    """One run in progress."""

    def __init__(self, case: Case, ruleset: Ruleset) -> None:
        self.case = case
        self.ruleset = ruleset
        self.faces = [(card % RANKS, card // RANKS) for card in range(DECK)]
        """Rank and suit of each card as they are now, by id."""
        self.deck = [True] * DECK
        """Whether each card is still in the deck."""
        self.levels = [1] * len(ruleset.hand)
        self.owned: list[int] = []
        self.money = ruleset.money.start
        self.total = 0
        self.rounds_cleared = 0
        self.round = 0
        """Index of the round that is played, or that the shop follows."""
        self.ended: list[RoundEnd] = []
        self.phase = Phase.ROUND
        self._start_round()

    # ---- rounds (section A round)

    def _start_round(self) -> None:
        self.phase = Phase.ROUND
        self.hand: list[int] = []
        self.pile = [card for card in self.case.orders[self.round] if self.deck[card]]
        self.plays_left = self.ruleset.params.plays
        self.discards_left = self.ruleset.params.discards
        self.points = 0
        self.types: list[int] = []
        self._draw()
        if not self.hand:
            self._end_round()

    def _draw(self) -> None:
        missing = self.ruleset.params.hand_size - len(self.hand)
        self.hand += self.pile[:missing]
        del self.pile[:missing]

    @property
    def target(self) -> int:
        """The round's target."""
        return self.ruleset.params.targets[self.round]

    def so_far(self, earned: int = 0) -> RoundEnd:
        """The round that is played, as it stands."""
        return RoundEnd(
            number=self.round + 1,
            target=self.target,
            points=self.points,
            cleared=self.phase is not Phase.ROUND and self.points >= self.target,
            plays=self.ruleset.params.plays - self.plays_left,
            discards=self.ruleset.params.discards - self.discards_left,
            types=tuple(self.types),
            owned=tuple(self.owned),
            levels=tuple(self.levels),
            money=self.money,
            earned=earned,
        )

    def _end_round(self) -> None:
        if self.points < self.target:
            self.phase = Phase.OVER
            self.ended.append(self.so_far())
            return
        money = self.ruleset.money
        earned = money.clear + money.unused_play * self.plays_left
        earned += min(self.money // money.interest_step, money.interest_max)
        self.rounds_cleared += 1
        self.phase = Phase.OVER if self.round == self.ruleset.params.rounds - 1 else Phase.SHOP
        self.ended.append(self.so_far(earned))
        self.money += earned
        self.start = 0
        self.bought: set[int] = set()

    # ---- the shop (section The shop)

    @property
    def window(self) -> list[int]:
        """The offers that are seen, by position of the modifier."""
        queue = self.case.queues[self.round]
        stop = min(self.start + self.ruleset.shop.window, len(queue))
        return [queue[place] for place in range(self.start, stop) if place not in self.bought]

    def price(self, move: Move) -> int:
        """What a shop move costs."""
        shop = self.ruleset.shop
        match move.kind:
            case Kind.BUY:
                assert move.which is not None
                return self.ruleset.modifier[move.which].price
            case Kind.LEVEL:
                return shop.level
            case Kind.PAINT:
                return shop.paint
            case Kind.PROMOTE:
                return shop.promote
            case Kind.REMOVE:
                return shop.remove
            case Kind.REROLL:
                return shop.reroll
            case _:
                return shop.next

    # ---- moves

    def legal_actions(self) -> Iterator[Move]:
        """Every move that is legal now, cards in the order of the hand."""
        if self.phase is Phase.ROUND:
            for size in range(1, MOST_CARDS + 1):
                for cards in combinations(self.hand, size):
                    yield Move(Kind.PLAY, cards)
                    if self.discards_left:
                        yield Move(Kind.DISCARD, cards)
            if self.points >= self.target:
                yield Move(Kind.END)
        elif self.phase is Phase.SHOP:
            yield from (move for move in self._shop_moves() if self.price(move) <= self.money)

    def _shop_moves(self) -> Iterator[Move]:
        if len(self.owned) < self.ruleset.params.max_modifiers:
            yield from (Move(Kind.BUY, (), which) for which in self.window if which not in self.owned)
        yield from (Move(Kind.LEVEL, (), which) for which in range(len(self.levels)))
        for card in range(DECK):
            if self.deck[card]:
                yield from (Move(Kind.PAINT, (card,), suit) for suit in range(SUITS))
                if self.faces[card][0] < RANKS - 1:
                    yield Move(Kind.PROMOTE, (card,))
                yield Move(Kind.REMOVE, (card,))
        if self._can_reroll():
            yield Move(Kind.REROLL)
        yield Move(Kind.NEXT)

    def _can_reroll(self) -> bool:
        return self.start + self.ruleset.shop.window < len(self.case.queues[self.round])

    def verify(self, move: Move) -> None:
        """Make sure a move is legal now.

        Raises:
            IllegalMove: it is not; :class:`UnaffordableMove` if money is all that is missing.
        """
        if self.phase is Phase.OVER:
            raise IllegalMove(f"{move.kind} after the run is over")
        if (move.kind in (Kind.PLAY, Kind.DISCARD, Kind.END)) != (self.phase is Phase.ROUND):
            place = "a round" if self.phase is Phase.ROUND else "the shop"
            raise IllegalMove(f"{move.kind} in {place}")
        if self.phase is Phase.ROUND:
            self._verify_round_move(move)
        else:
            self._verify_shop_move(move)

    def _verify_round_move(self, move: Move) -> None:
        if move.kind is Kind.END:
            if self.points < self.target:
                raise IllegalMove(f"end at {self.points} points, the target is {self.target}")
            return
        if not 1 <= len(move.cards) <= MOST_CARDS:
            raise IllegalMove(f"{move.kind} of {len(move.cards)} cards")
        for card in move.cards:
            if card not in self.hand:
                raise IllegalMove(f"card {card} is not in the hand {' '.join(map(str, self.hand))}")
            if move.cards.count(card) > 1:
                raise IllegalMove(f"card {card} is named twice")
        if move.kind is Kind.DISCARD and not self.discards_left:
            raise IllegalMove("no discards are left")

    def _verify_shop_move(self, move: Move) -> None:
        for card in move.cards:
            if not self.deck[card]:
                raise IllegalMove(f"card {card} was removed from the deck")
            if move.kind is Kind.PROMOTE and self.faces[card][0] == RANKS - 1:
                raise IllegalMove(f"card {card} is an ace and cannot be promoted")
        if move.kind is Kind.BUY:
            assert move.which is not None
            name = self.ruleset.modifier[move.which].name
            if move.which not in self.window:
                offers = ", ".join(self.ruleset.modifier[which].name for which in self.window)
                raise IllegalMove(f"{name} is not offered; offers: {offers or 'none'}")
            if move.which in self.owned:
                raise IllegalMove(f"{name} is owned already")
            if len(self.owned) >= self.ruleset.params.max_modifiers:
                raise IllegalMove(f"{len(self.owned)} modifiers are owned, no more are allowed")
        if move.kind is Kind.REROLL and not self._can_reroll():
            raise IllegalMove("reroll at the end of the queue")
        if self.price(move) > self.money:
            raise UnaffordableMove(f"{move.kind} costs ${self.price(move)}, ${self.money} is held")

    def apply(self, move: Move) -> Event:
        """Make a move.

        Raises:
            IllegalMove: as :meth:`verify`; nothing has changed then.
        """
        self.verify(move)
        rounds = len(self.ended)
        scoring = None
        if self.phase is Phase.ROUND:
            scoring = self._round_move(move)
        else:
            self._shop_move(move)
        return Event(move, scoring, self.ended[rounds] if len(self.ended) > rounds else None)

    def _round_move(self, move: Move) -> Scoring | None:
        if move.kind is Kind.END:
            self._end_round()
            return None
        scoring = None
        if move.kind is Kind.PLAY:
            params = self.ruleset.params
            situation = Situation(
                self.levels, self.owned, params.plays - self.plays_left, self.discards_left, self.money
            )
            scoring = score([self.faces[card] for card in move.cards], situation, self.ruleset)
            self.points += scoring.points
            self.total += scoring.points
            self.types.append(scoring.type)
            self.plays_left -= 1
        else:
            self.discards_left -= 1
        self.hand = [card for card in self.hand if card not in move.cards]
        if self.plays_left:
            self._draw()
        if not self.plays_left or not self.hand:
            self._end_round()
        return scoring

    def _shop_move(self, move: Move) -> None:
        self.money -= self.price(move)
        match move.kind:
            case Kind.BUY:
                assert move.which is not None
                queue = self.case.queues[self.round]
                places = range(self.start, self.start + self.ruleset.shop.window)
                self.bought.add(next(p for p in places if queue[p] == move.which and p not in self.bought))
                self.owned.append(move.which)
            case Kind.LEVEL:
                assert move.which is not None
                self.levels[move.which] += 1
            case Kind.PAINT:
                assert move.which is not None
                self.faces[move.cards[0]] = (self.faces[move.cards[0]][0], move.which)
            case Kind.PROMOTE:
                rank, suit = self.faces[move.cards[0]]
                self.faces[move.cards[0]] = (rank + 1, suit)
            case Kind.REMOVE:
                self.deck[move.cards[0]] = False
            case Kind.REROLL:
                self.start += self.ruleset.shop.window
            case _:
                self.round += 1
                self._start_round()
