"""Cards as small integers, and every text that a card has.

A card is ``4 * rank + suit``, 0 to 51, with the ranks in the order of :data:`RANKS` and the suits in that of
:data:`SUITS`. The tables below are indexed by the card.
"""

from collections.abc import Iterable

RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
"""Ranks as requests name them, in the order of ``discard_rank_counts``."""
SUITS = ("S", "H", "D", "C")
"""Suits as requests name them."""
DECK = 52
"""Cards of one deck."""

RANK = tuple(card // 4 for card in range(DECK))
"""Index of the card's rank in :data:`RANKS`."""
VALUE = tuple(min(rank + 1, 10) for rank in RANK)
"""Points of the card, an ace as 1."""
TEXT = tuple(RANKS[card // 4] + SUITS[card % 4] for card in range(DECK))
"""The card for people: ``AS``, ``10H``."""
POINTS_OF_DECK = sum(VALUE)
"""Points of a whole deck, aces as 1."""


def card_of(text: str) -> int:
    """The card of a text as in :data:`TEXT`.

    Raises:
        ValueError: it is no card.
    """
    return TEXT.index(text)


def points(cards: Iterable[int]) -> tuple[int, bool]:
    """The best total of a hand and whether it is soft (an ace counts as 11)."""
    hard, ace = 0, False
    for card in cards:
        hard += VALUE[card]
        ace = ace or card < 4
    soft = ace and hard <= 11
    return hard + 10 if soft else hard, soft
