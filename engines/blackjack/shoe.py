"""The luck of a match: its shoes and its seat orders, all from one seed that bots cannot work out.

Bots are told seeds of their own and the match's name. Both come from the match's seed through SHA-256: the mixing
of :func:`simfarm.core.seeds.derive` can be undone, and whoever undid it would know every card to come.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engines.blackjack.cards import DECK, RANK, RANKS

_CHUNK = 512
"""Games whose seat orders are drawn at once."""


def hidden(seed: int, *key: int | str) -> int:
    """A 64-bit number for the thing that ``key`` names under ``seed``, from which ``seed`` cannot be had."""
    text = "/".join(map(str, ("blackjack", seed, *key)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _stream(seed: int, count: int) -> npt.NDArray[np.uint64]:
    """The first ``count`` numbers of splitmix64, as :func:`simfarm.core.seeds.mix` makes them."""
    value = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def shuffled(cards: npt.NDArray[np.int64], seed: int) -> list[int]:
    """The cards in an order that the seed decides, each order as likely as any."""
    order = np.argsort(_stream(seed, len(cards)), kind="stable")
    shuffled: list[int] = cards[order].tolist()
    return shuffled


class Shoe:
    """The cards that are still to come, those on the table, and what was discarded (README, section Cards).

    Shuffle n of a match depends on its seed and on n alone.

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
        self._all = np.arange(self.size) % DECK
        self._seed = seed
        self._cards: list[int] = []
        self._shuffle(self._all)

    @property
    def dealt(self) -> int:
        """Cards dealt from this shoe: discards and cards on the table."""
        return self.size - len(self._cards)

    def begin_game(self) -> None:
        """Shuffle if it is time."""
        if self.dealt >= self.reshuffle_at:
            self.discards = [0] * len(RANKS)
            self._shuffle(self._all)

    def draw(self) -> int:
        """Deal a card to the table. If none is left, all that do not lie there are shuffled back first.

        Raises:
            IndexError: every card lies on the table.
        """
        if not self._cards:
            counts = np.bincount(self._all, minlength=DECK) - np.bincount(self.table, minlength=DECK)
            self.discards = [0] * len(RANKS)
            self._shuffle(np.repeat(np.arange(DECK), counts))
        card = self._cards.pop()
        self.table.append(card)
        return card

    def end_game(self) -> None:
        """Clear the table: its cards become discards."""
        discards = self.discards
        for card in self.table:
            discards[RANK[card]] += 1
        self.table.clear()

    def _shuffle(self, cards: npt.NDArray[np.int64]) -> None:
        self._cards = shuffled(cards, hidden(self._seed, "shoe", self.shuffles))
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
        self._seed = seed
        self._bots = bots
        self._chunk = -1
        self._orders: list[list[int]] = []

    def of(self, game: int) -> list[int]:
        """The positions of all bots of the match in the order of a game (from 0); who does not sit is skipped."""
        chunk, row = divmod(game, _CHUNK)
        if chunk != self._chunk:
            keys = _stream(hidden(self._seed, "order", chunk), _CHUNK * self._bots)
            self._orders = np.argsort(keys.reshape(_CHUNK, self._bots), axis=1, kind="stable").tolist()
            self._chunk = chunk
        return self._orders[row]
