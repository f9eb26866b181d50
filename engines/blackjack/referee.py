"""A match: bots as processes at one table, from the first game to the last."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

from engines.blackjack.fast import FastTable
from engines.blackjack.player import BotPlayer, Entrant
from engines.blackjack.rules import BlackjackRules
from engines.blackjack.shoe import Orders, Shoe, hidden
from engines.blackjack.table import Answer, Failure, Legal, Seat, Table
from simfarm.core.model import Outcome, Termination

Watcher = Callable[[Table, Seat, Legal, Answer | Failure], None]
"""Sees every decision: the state in which it was asked and the answer."""


class Match:
    """A match between bots, in seats that change from game to game; a context manager that ends all processes.

    Args:
        rules: the rule options.
        entrants: the bots in the match's order.
        seed: the match's seed: cards, seat orders, the bots' own seeds and the match's name come from it.
        games: games to play at most.
        watcher: told of every decision.

    Raises:
        OSError: the machine cannot start a process.
        ToolError: there is no C compiler.
    """

    def __init__(
        self,
        rules: BlackjackRules,
        entrants: Sequence[Entrant],
        seed: int,
        games: int,
        watcher: Watcher | None = None,
    ) -> None:
        self.match_id = f"match-{hidden(seed, 'match'):016x}"
        """The name of the match in requests."""
        self.players: dict[str, BotPlayer] = {}
        """The processes by the bots' names, in the match's order."""
        self._games = games
        self._seed = seed
        self._watched = watcher is not None
        self._stack = contextlib.ExitStack()
        seats = []
        with self._stack:
            for entrant in entrants:
                name = entrant.bot.name
                player = BotPlayer(entrant, rules, self.match_id, hidden(seed, "bot", name))
                self._stack.callback(player.close)
                self.players[name] = player
                asked = player if watcher is None else _watched(player, watcher)
                seats.append(Seat(name, asked, 2 * rules.start_balance))
            self._stack = self._stack.pop_all()
        shoe = Shoe(rules.decks, rules.reshuffle_at_dealt, seed)
        self.table = Table(rules, seats, shoe, Orders(seed, len(seats)))
        """The table; its seats hold the results."""

    def __enter__(self) -> "Match":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def play(self, each_game: bool = True) -> Iterator[Table]:
        """Play to the end.

        Yields:
            The table after each game, its cards still shown by seats and dealer; or now and then, if not
            ``each_game``.
        """
        gone = 0
        table = self.table
        for played in self._games_in_python() if self._watched else self._games_in_c(each_game):
            while gone < len(table.terminated):
                # at once, so that it takes no time from the others
                self.players[table.terminated[gone].name].close()
                gone += 1
            if played:
                yield table

    def _games_in_c(self, each_game: bool) -> Iterator[bool]:
        players = tuple(self.players.values())
        return FastTable(self.table, players, self.match_id, self._seed, self._games).play(each_game)

    def _games_in_python(self) -> Iterator[bool]:
        while self.table.games_completed < self._games and self.table.play_game():
            yield True
        yield False

    def outcome(self, seat: Seat) -> Outcome:
        """How the match ended for a seat."""
        if seat.outcome is not None:
            return seat.outcome
        if seat.balance < 2 * self.table.rules.min_bet:
            return Outcome(Termination.BROKE)
        return Outcome(Termination.COMPLETED)


def _watched(player: BotPlayer, watcher: Watcher) -> Callable[[Table, Seat, Legal], Answer | Failure]:
    def ask(table: Table, seat: Seat, legal: Legal) -> Answer | Failure:
        answer = player(table, seat, legal)
        watcher(table, seat, legal, answer)
        return answer

    return ask
