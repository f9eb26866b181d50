"""A plain checker of Poker Run, written straight from the rules for one list of moves at a time: the yardstick."""

from collections import Counter
from typing import Any

from engines.poker_run.instance import Case
from engines.poker_run.moves import Kind, Move
from engines.poker_run.ruleset import Ruleset


class PlainRun:
    """One run; an illegal move raises ``ValueError``."""

    def __init__(self, case: Case, ruleset: Ruleset) -> None:
        self.case, self.ruleset, self.params = case, ruleset, ruleset.params
        self.codes = [hand.code for hand in ruleset.hand]
        self.faces = {card: (card % 13, card // 13) for card in range(52)}
        self.levels = dict.fromkeys(self.codes, 1)
        self.owned: list[int] = []
        self.money, self.total, self.cleared, self.round = ruleset.money.start, 0, 0, 0
        self.over = self.shopping = False
        self.begin()

    def begin(self) -> None:
        """Start a round."""
        self.shopping = False
        self.pile = [card for card in self.case.orders[self.round] if card in self.faces]
        self.hand: list[int] = []
        self.plays, self.discards, self.points = self.params.plays, self.params.discards, 0
        self.draw()
        if not self.hand:
            self.finish()

    def draw(self) -> None:
        """Fill the hand."""
        while len(self.hand) < self.params.hand_size and self.pile:
            self.hand.append(self.pile.pop(0))

    def finish(self) -> None:
        """End a round."""
        self.over = True
        if self.points < self.params.targets[self.round]:
            return
        money = self.ruleset.money
        interest = min(money.interest_max, self.money // money.interest_step)
        self.money += money.clear + money.unused_play * self.plays + interest
        self.cleared += 1
        if self.round + 1 < self.params.rounds:
            self.over, self.shopping = False, True
            self.offers = list(self.case.queues[self.round])
            self.window, self.offers = self.offers[:3], self.offers[3:]

    def score(self, cards: tuple[int, ...]) -> int:
        """The points of a play."""
        faces = [self.faces[card] for card in cards]
        counts = Counter(rank for rank, _ in faces)
        shape = sorted(counts.values(), reverse=True)
        ranks = sorted(counts)
        flush = len(cards) == 5 and len({suit for _, suit in faces}) == 1
        straight = len(ranks) == 5 and (ranks[4] - ranks[0] == 4 or ranks == [0, 1, 2, 3, 12])
        if shape[0] == 5:
            code = "F5" if flush else "FV"
        elif shape == [3, 2]:
            code = "HF" if flush else "FH"
        elif straight:
            code = "SF" if flush else "ST"
        elif flush:
            code = "FL"
        else:
            code = {4: "FK", 3: "TK"}.get(shape[0]) or (
                "TP" if shape[:2] == [2, 2] else "PR" if shape[0] == 2 else "HC"
            )
        if code == "HC":
            scored = [max(faces)]
        elif code in ("PR", "TP", "TK", "FK"):
            scored = [face for face in faces if counts[face[0]] >= 2]
        else:
            scored = faces
        hand = self.ruleset.hand[self.codes.index(code)]
        base = hand.base + (self.levels[code] - 1) * hand.base_per_level
        base += sum(self.ruleset.cards.chips[rank] for rank, _ in scored)
        mult = hand.mult + (self.levels[code] - 1) * hand.mult_per_level
        factor = 1
        for index in self.owned:
            m = self.ruleset.modifier[index]
            if (
                (m.hands and code not in m.hands)
                or len(cards) > (m.max_cards or 5)
                or (m.last_play and self.plays != 1)
            ):
                continue
            count = {
                "play": 1,
                "kicker": len(cards) - len(scored),
                "play_made": self.params.plays - self.plays,
                "discard_left": self.discards,
                "money": self.money // (m.step or 1),
                "scored": sum(self.names(m, face) for face in scored),
            }[m.per]
            if m.effect == "times":
                factor *= m.amount
            elif m.effect == "add_base":
                base += m.amount * count
            else:
                mult += m.amount * count
        return base * mult * factor

    def names(self, modifier: Any, face: tuple[int, int]) -> bool:
        """Whether a modifier counts a card."""
        rank, suit = self.ruleset.cards.ranks[face[0]], self.ruleset.cards.suits[face[1]]
        return (not modifier.ranks or rank in modifier.ranks) and (not modifier.suits or suit in modifier.suits)

    def pay(self, price: int) -> None:
        """Spend money."""
        if price > self.money:
            raise ValueError("too expensive")
        self.money -= price

    def move(self, move: Move) -> None:
        """Make a move."""
        in_round = move.kind in (Kind.PLAY, Kind.DISCARD, Kind.END)
        if self.over or in_round == self.shopping:
            raise ValueError("wrong phase")
        if in_round:
            self.round_move(move)
        else:
            self.shop_move(move)

    def round_move(self, move: Move) -> None:
        """Make a move of a round."""
        if move.kind is Kind.END:
            if self.points < self.params.targets[self.round]:
                raise ValueError("too early")
            self.finish()
            return
        if len(set(move.cards)) != len(move.cards) or not set(move.cards) <= set(self.hand):
            raise ValueError("not in the hand")
        if move.kind is Kind.DISCARD:
            if not self.discards:
                raise ValueError("no discards")
            self.discards -= 1
        else:
            points = self.score(move.cards)
            self.points += points
            self.total += points
            self.plays -= 1
        self.hand = [card for card in self.hand if card not in move.cards]
        if self.plays:
            self.draw()
        if not self.plays or not self.hand:
            self.finish()

    def shop_move(self, move: Move) -> None:
        """Make a move of the shop."""
        shop = self.ruleset.shop
        card = move.cards[0] if move.cards else 0
        if card not in self.faces and move.cards:
            raise ValueError("removed")
        if move.kind is Kind.BUY:
            if (
                move.which not in self.window
                or move.which in self.owned
                or len(self.owned) >= self.params.max_modifiers
            ):
                raise ValueError("cannot be bought")
            self.pay(self.ruleset.modifier[move.which].price)
            self.window.remove(move.which)
            self.owned.append(move.which)
        elif move.kind is Kind.LEVEL:
            assert move.which is not None
            self.pay(shop.level)
            self.levels[self.codes[move.which]] += 1
        elif move.kind is Kind.PAINT:
            assert move.which is not None
            self.pay(shop.paint)
            self.faces[card] = (self.faces[card][0], move.which)
        elif move.kind is Kind.PROMOTE:
            if self.faces[card][0] == 12:
                raise ValueError("an ace")
            self.pay(shop.promote)
            self.faces[card] = (self.faces[card][0] + 1, self.faces[card][1])
        elif move.kind is Kind.REMOVE:
            self.pay(shop.remove)
            del self.faces[card]
        elif move.kind is Kind.REROLL:
            if not self.offers:
                raise ValueError("no more offers")
            self.pay(shop.reroll)
            self.window, self.offers = self.offers[:3], self.offers[3:]
        else:
            self.pay(shop.next)
            self.round += 1
            self.begin()


def judge(case: Case, ruleset: Ruleset, moves: list[Move]) -> tuple[int, int]:
    """Total and rounds cleared; 0 and 0 for an illegal list."""
    run = PlainRun(case, ruleset)
    try:
        for move in moves:
            run.move(move)
    except ValueError:
        return 0, 0
    return run.total, run.cleared
