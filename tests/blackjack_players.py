"""Players and tables for tests: in this process, without pipes."""

import random
from collections.abc import Callable, Iterator, Sequence

from engines.blackjack.cards import card_of
from engines.blackjack.rules import BlackjackRules
from engines.blackjack.shoe import Orders, Shoe, StackedShoe
from engines.blackjack.table import (
    BET,
    BET_ONLY,
    DOUBLE,
    HIT,
    INSURANCE,
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

SHORT = {"H": HIT, "S": STAND, "D": DOUBLE, "P": SPLIT, "n": NO_INSURANCE}


class Script:
    """Plays what it is told, and remembers what it was offered.

    Args:
        words: one per decision: a number is a bet, ``i`` or ``i5`` insurance, ``n`` none, ``H S D P`` plays, and a
            :class:`Failure` is no answer.
    """

    def __init__(self, *words: str | int | Failure) -> None:
        self.words = list(words)
        self.offered: list[tuple[str, Legal]] = []

    def __call__(self, table: Table, seat: Seat, legal: Legal) -> Answer | Failure:
        self.offered.append((str(table.hand) if table.hand else table.phase, legal))
        word = self.words.pop(0)
        if isinstance(word, Failure):
            return word
        if isinstance(word, int):
            return Answer(BET, word)
        if word[0] == "i":
            return Answer(INSURANCE, int(word[1:]) if word[1:] else None)
        return Answer(SHORT[word])


class InOrder(Orders):
    """Seats as the match lists them."""

    def of(self, game: int) -> list[int]:
        return list(range(self._bots))


def table_of(
    cards: str, *players: Player, balance: float | None = None, rules: BlackjackRules | None = None
) -> Table:
    """A table whose first cards are known: seat by seat two, the dealer two with the upcard first, then the draws."""
    rules = rules or BlackjackRules()
    first = [card_of(text if text[-1] in "SHDC" else text + "S") for text in cards.split()]
    halves = round(2 * (rules.start_balance if balance is None else balance))
    seats = [Seat(f"bot{number}", player, halves) for number, player in enumerate(players)]
    shoe = StackedShoe(rules.decks, rules.reshuffle_at_dealt, 1, first)
    return Table(rules, seats, shoe, InOrder(1, len(seats)))


def free_table(seed: int, players: Sequence[Player], rules: BlackjackRules) -> Table:
    """A table as in a match."""
    seats = [Seat(f"bot{number}", player, 2 * rules.start_balance) for number, player in enumerate(players)]
    return Table(rules, seats, Shoe(rules.decks, rules.reshuffle_at_dealt, seed), Orders(seed, len(seats)))


def random_player(seed: int, most: int, mistakes: float = 0.0) -> Player:
    """Chooses among what is legal, and now and then something that is not."""
    luck = random.Random(seed)

    def play(table: Table, seat: Seat, legal: Legal) -> Answer | Failure:
        if luck.random() < mistakes:
            return Answer(
                luck.choice((BET, INSURANCE, HIT, DOUBLE, SPLIT, "FOLD")), luck.choice((None, -1, 10**6))
            )
        if legal is BET_ONLY:
            return Answer(BET, luck.randint(table.rules.min_bet, min(most, seat.balance // 2)))
        action = luck.choice(legal)
        if action != INSURANCE:
            return Answer(action)
        stake = luck.randint(0, seat.bet // 2)
        full = stake or seat.bet // 2
        return Answer(INSURANCE, stake) if 2 * full <= seat.balance else Answer(NO_INSURANCE)

    return play


def flat(table: Table, seat: Seat, legal: Legal) -> Answer:
    """The flat example bot of the statement, without its splits."""
    if legal is BET_ONLY:
        return Answer(BET, 10)
    if legal is INSURANCE_OR_NOT:
        return Answer(NO_INSURANCE)
    return Answer(DOUBLE if DOUBLE in legal else HIT if HIT in legal else STAND)


def games(table: Table, count: int) -> Iterator[Table]:
    """Play so many games, fewer if nobody is left."""
    for _ in range(count):
        if not table.play_game():
            return
        yield table


def net_per_game(player: Callable[[], Player], count: int, seed: int) -> tuple[float, float]:
    """Mean and standard deviation of what a player alone at the table wins per game, in coins."""
    table = free_table(seed, [player()], BlackjackRules(start_balance=10**9))
    (seat,) = table.everyone
    total = squares = 0
    before = seat.balance
    for _ in games(table, count):
        net = seat.balance - before
        before = seat.balance
        total += net
        squares += net * net
    mean = total / count
    return mean / 2, (squares / count - mean * mean) ** 0.5 / 2
