"""What each action is worth, from the rules alone: the yardstick for the strategies of bots.

Six decks, dealer hits soft 17 and has no blackjack (it has looked), double any two cards and after a split, split
to four hands, split aces get one card each. Once the two cards of the hand and the upcard are gone, all further cards
are drawn with the chances that hold then; for decisions of six decks that is as good as exact except in near ties.
"""

from collections.abc import Mapping
from functools import cache

CARDS = range(1, 11)
"""An ace is 1, tens and pictures are 10."""
Chances = tuple[float, ...]
"""The chance of each card, by value; index 0 is not used."""


def chances(*gone: int) -> Chances:
    """The chances of the next card once these are gone from six decks."""
    left = [0] + [24] * 9 + [96]
    for card in gone:
        left[card] -= 1
    return tuple(count / sum(left) for count in left)


def _add(total: int, soft: bool, card: int) -> tuple[int, bool]:
    """The total of a hand after one more card, and whether an ace in it counts 11."""
    total += card
    if card == 1 and total + 10 <= 21:
        total, soft = total + 10, True
    if total > 21 and soft:
        total, soft = total - 10, False
    return total, soft


def total_of(*cards: int) -> tuple[int, bool]:
    """The total of a hand, and whether it is soft."""
    hand = (0, False)
    for card in cards:
        hand = _add(*hand, card)
    return hand


@cache
def _dealer(total: int, soft: bool, draw: Chances) -> Mapping[int, float]:
    """How often the dealer ends with each total; 22 stands for all above 21."""
    if total > 21:
        return {22: 1.0}
    if total > 17 or (total == 17 and not soft):
        return {total: 1.0}
    ends: dict[int, float] = {}
    for card in CARDS:
        for end, chance in _dealer(*_add(total, soft, card), draw).items():
            ends[end] = ends.get(end, 0.0) + draw[card] * chance
    return ends


@cache
def _dealer_from(upcard: int, draw: Chances) -> Mapping[int, float]:
    """The same from the upcard, given that there is no blackjack."""
    natural = {1: 10, 10: 1}.get(upcard)
    ends: dict[int, float] = {}
    for card in CARDS:
        if card == natural:
            continue
        for end, chance in _dealer(*_add(*total_of(upcard), card), draw).items():
            ends[end] = ends.get(end, 0.0) + draw[card] * chance
    whole = sum(ends.values())
    return {end: chance / whole for end, chance in ends.items()}


@cache
def stand(total: int, upcard: int, draw: Chances) -> float:
    """What standing on a total is worth, in bets."""
    ends = _dealer_from(upcard, draw)
    return sum(chance * (1 if end > 21 or end < total else -(end > total)) for end, chance in ends.items())


@cache
def hit(total: int, soft: bool, upcard: int, draw: Chances) -> float:
    """What a hit is worth if the hand is then played as well as can be; 21 is complete."""
    worth = 0.0
    for card in CARDS:
        after, is_soft = _add(total, soft, card)
        if after > 21:
            worth -= draw[card]
        elif after == 21:
            worth += draw[card] * stand(21, upcard, draw)
        else:
            worth += draw[card] * max(stand(after, upcard, draw), hit(after, is_soft, upcard, draw))
    return worth


def double(total: int, soft: bool, upcard: int, draw: Chances) -> float:
    """What doubling is worth, in bets as they were."""
    ends = (_add(total, soft, card)[0] for card in CARDS)
    worths = [-1.0 if end > 21 else stand(end, upcard, draw) for end in ends]
    return 2 * sum(draw[card] * worth for card, worth in zip(CARDS, worths, strict=True))


def play(total: int, soft: bool, upcard: int, draw: Chances) -> float:
    """What a hand of two cards is worth without a split."""
    if total == 21:
        return stand(21, upcard, draw)
    return max(stand(total, upcard, draw), hit(total, soft, upcard, draw), double(total, soft, upcard, draw))


def split(card: int, upcard: int, draw: Chances) -> float:
    """What splitting a pair is worth, with more splits up to four hands where they pay."""
    after = {other: total_of(card, other) for other in CARDS}
    if card == 1:
        return 2 * sum(draw[other] * stand(after[other][0], upcard, draw) for other in CARDS)
    as_pair = play(*after[card], upcard, draw)
    others = sum(draw[other] * play(*after[other], upcard, draw) for other in CARDS if other != card)
    pair = draw[card]

    @cache
    def pending(hands: int, in_all: int, resplit: bool) -> float:
        if hands == 0:
            return 0.0
        rest = pending(hands - 1, in_all, resplit)
        again = pending(hands + 1, in_all + 1, resplit) if resplit and in_all < 4 else as_pair + rest
        return others + (1 - pair) * rest + pair * again

    return max(pending(2, 2, True), pending(2, 2, False))
