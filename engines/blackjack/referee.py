"""A match: bots as processes, asked over pipes, at one table from the first game to the last."""

import contextlib
import subprocess
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

from engines.blackjack.protocol import Replies, Requests
from engines.blackjack.rules import BlackjackRules
from engines.blackjack.shoe import Orders, Shoe, hidden
from engines.blackjack.table import Answer, Failure, Legal, Seat, Table
from simfarm.core.lines import LineChannel
from simfarm.core.model import Bot, Outcome, Termination
from simfarm.core.process import BotProcess, Limits

EXCERPT = 400
"""Characters of the last request's end and of the last reply that a fault keeps."""

_EXIT_SECONDS = 0.25
_SHELL_CANNOT_RUN = (126, 127)


@dataclass(frozen=True, slots=True)
class Entrant:
    """A bot that is ready to start."""

    bot: Bot
    """With a command."""
    time_factor: float = 1.0
    """How much longer than the rules say it may take."""
    memory: int = 4 << 30
    """Address space in bytes."""


Watcher = Callable[[Table, Seat, Legal, Answer | Failure], None]
"""Sees every decision: the state in which it was asked and the answer."""


class BotPlayer:
    """A process that plays for a seat.

    Args:
        entrant: the bot.
        rules: the rule options.
        match_id: the name of the match.
        seed: what the bot gets as ``SIMFARM_SEED``.
        requests: the match's request writer.
    """

    def __init__(
        self, entrant: Entrant, rules: BlackjackRules, match_id: str, seed: int, requests: Requests
    ) -> None:
        self.reply_seconds = array("d")
        """Time of each reply."""
        self._process = BotProcess(entrant.bot, Limits(memory=entrant.memory), {"SIMFARM_SEED": str(seed)})
        self._channel = LineChannel(self._process)
        self._replies = Replies(rules, match_id, entrant.bot.name)
        self._requests = requests
        self._seconds = rules.reply_ms / 1000 * entrant.time_factor
        self._startup = rules.startup_ms / 1000 * entrant.time_factor
        self._last_request = b""
        self._last_reply: bytes | None = None
        self._closed = False

    def __call__(self, table: Table, seat: Seat, legal: Legal) -> Answer | Failure:
        """Ask the bot."""
        request = self._last_request = self._requests.request(table, seat, legal)
        channel = self._channel
        reply = channel.exchange(request, self._seconds + self._startup)
        self.reply_seconds.append(channel.seconds)
        if reply.__class__ is not bytes:
            return self._no_reply(reply)
        self._startup = 0.0
        self._last_reply = reply
        return self._replies.read(reply, table.game_id)

    @property
    def stderr_tail(self) -> str:
        """The end of what the bot wrote to standard error."""
        return self._channel.stderr_tail.decode(errors="replace")

    def last_words(self) -> str:
        """The end of the last request and the last reply, for the row of a fault."""
        reply = "none" if self._last_reply is None else _text(self._last_reply[:EXCERPT])
        return f"request ends {_text(self._last_request[-EXCERPT:].rstrip())}; last reply {reply}"

    def close(self) -> None:
        """End the process; it may be called again."""
        if not self._closed:
            self._closed = True
            self._channel.drain()
            self._process.close()

    def _no_reply(self, reply: object) -> Failure:
        assert isinstance(reply, Termination)
        if reply is Termination.TIMEOUT:
            limit = round((self._seconds + self._startup) * 1000)
            return Failure(reply, f"no reply within {limit} ms")
        if reply is Termination.OUTPUT_LIMIT:
            return Failure(reply, "a line of more than 64 KiB")
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.process.wait(_EXIT_SECONDS)
            if code in _SHELL_CANNOT_RUN and self._last_reply is None:
                return Failure(Termination.NOT_STARTED, f"the shell cannot run the command (exit code {code})")
            if code < 0 or code > 128:
                return Failure(Termination.CRASHED, f"ended by signal {-code if code < 0 else code - 128}")
            return Failure(Termination.EXITED, f"ended with exit code {code} before it had answered")
        return Failure(Termination.EXITED, "closed its output before it had answered")


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
        """The processes by the bots' names."""
        self._games = games
        self._stack = contextlib.ExitStack()
        requests = Requests(rules, self.match_id)
        seats = []
        with self._stack:
            for entrant in entrants:
                name = entrant.bot.name
                bot_seed = hidden(seed, "bot", name)
                player = BotPlayer(entrant, rules, self.match_id, bot_seed, requests)
                self._stack.callback(player.close)
                self.players[name] = player
                watched = player if watcher is None else _watched(player, watcher)
                seats.append(Seat(name, watched, 2 * rules.start_balance))
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

    def play(self) -> Iterator[Table]:
        """Play to the end; yields the table after each game, its cards still shown by seats and dealer."""
        table = self.table
        gone = 0
        while table.games_completed < self._games:
            played = table.play_game()
            while gone < len(table.terminated):
                self._dismiss(table.terminated[gone])
                gone += 1
            if not played:
                return
            yield table

    def outcome(self, seat: Seat) -> Outcome:
        """How the match ended for a seat."""
        if seat.outcome is not None:
            return seat.outcome
        if seat.balance < 2 * self.table.rules.min_bet:
            return Outcome(Termination.BROKE)
        return Outcome(Termination.COMPLETED)

    def _dismiss(self, seat: Seat) -> None:
        """End a terminated seat's process at once, so that it takes no time from the others."""
        assert seat.outcome is not None
        player = self.players[seat.name]
        player.close()
        detail = f"{seat.outcome.detail}; {player.last_words()}"
        seat.outcome = Outcome(seat.outcome.termination, seat.outcome.seat, detail)


def _watched(player: BotPlayer, watcher: Watcher) -> Callable[[Table, Seat, Legal], Answer | Failure]:
    def ask(table: Table, seat: Seat, legal: Legal) -> Answer | Failure:
        answer = player(table, seat, legal)
        watcher(table, seat, legal, answer)
        return answer

    return ask


def _text(data: bytes) -> str:
    return data.decode(errors="backslashreplace").replace("\r", "\\r")
