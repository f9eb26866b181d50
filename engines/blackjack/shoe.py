"""The luck of a match: its shoes and its seat orders, all from one seed that bots cannot work out.

Bots are told seeds of their own and the match's name. Both come from the match's seed through SHA-256: the mixing
of :func:`simfarm.core.seeds.derive` can be undone, and whoever undid it would know every card to come.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence

from engines.blackjack.cards import DECK, RANK, RANKS
from simfarm.core.seeds import derive, mix

_GOLDEN = 0x9E3779B97F4A7C15


def hidden(seed: int, *key: int | str) -> int:
    """A 64-bit number for the thing that ``key`` names under ``seed``, from which ``seed`` cannot be had."""
    text = "/".join(map(str, ("blackjack", seed, *key)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def shuffle(items: list[int], seed: int) -> None:
    """Put items into an order that the seed decides, each as likely as any: Fisher and Yates, with the numbers of
    ``seeds_below`` (native/seeds.h)."""
    for count in range(len(items), 1, -1):
        seed += _GOLDEN
        other = (mix(seed) * count) >> 64
        items[count - 1], items[other] = items[other], items[count - 1]


class Shoe:
    """The cards that are still to come, those on the table, and what was discarded (README, section Cards).

    Shuffle n of a match depends on its seed, on n and on the cards that are shuffled.

    Args:
        decks: number of decks.
        reshuffle_at: cards dealt at which :meth:`begin_game` shuffles.
        seed: the match's seed.
    """

    def __init__(self, decks: int, reshuffle_at: int, seed: int) -> None:
        self.size = DECK * decks
        """Cards in all."""
        self.reshuffle_at = reshuffle_at
        """Cards dealt at which the shoe is shuffled before the next game."""
        self.discards = [0] * len(RANKS)
        """Cards of completed games of this shoe, by rank."""
        self.table: list[int] = []
        """Cards on the table, in the order in which they were dealt."""
        self.shuffles = 0
        """Shuffles so far."""
        self._decks = decks
        self._secret = hidden(seed, "shoe")
        self._cards: list[int] = []
        self._shuffle()

    @property
    def dealt(self) -> int:
        """Cards dealt from this shoe: discards and cards on the table."""
        return self.size - len(self._cards)

    def begin_game(self) -> None:
        """Shuffle if it is time."""
        if self.dealt >= self.reshuffle_at:
            self._shuffle()

    def draw(self) -> int:
        """Deal a card to the table. If none is left, all that do not lie there are shuffled back first.

        Raises:
            IndexError: every card lies on the table.
        """
        if not self._cards:
            self._shuffle()
        card = self._cards.pop()
        self.table.append(card)
        return card

    def end_game(self) -> None:
        """Clear the table: its cards become discards."""
        discards = self.discards
        for card in self.table:
            discards[RANK[card]] += 1
        self.table.clear()

    def _shuffle(self) -> None:
        on_table = Counter(self.table)
        self._cards = [card for card in range(DECK) for _ in range(self._decks - on_table[card])]
        shuffle(self._cards, derive(self._secret, self.shuffles))
        self.discards = [0] * len(RANKS)
        self.shuffles += 1


class StackedShoe(Shoe):
    """A shoe whose first cards are known, for examples: after them come all the others, shuffled."""

    def __init__(self, decks: int, reshuffle_at: int, seed: int, first: Sequence[int]) -> None:
        super().__init__(decks, reshuffle_at, seed)
        for card in first:
            self._cards.remove(card)
        self._cards += reversed(first)


class Orders:
    """The seat orders of a match, game by game (statement, Match / Hand Flow, 1).

    Args:
        seed: the match's seed.
        bots: number of bots in the match.
    """

    def __init__(self, seed: int, bots: int) -> None:
        self._secret = hidden(seed, "order")
        self._bots = bots

    def of(self, game: int) -> list[int]:
        """The positions of all bots of the match in the order of a game (from 0); who does not sit is skipped."""
        order = list(range(self._bots))
        shuffle(order, derive(self._secret, game))
        return order
