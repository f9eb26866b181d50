"""A bot process as a player: it is asked over its pipes and answers in time, or fails in a way that has a name."""

from array import array
from dataclasses import dataclass

from engines.blackjack.protocol import answer_of, request_of
from engines.blackjack.rules import BlackjackRules
from engines.blackjack.table import Answer, Failure, Legal, Seat, Table
from simfarm.core.evidence import Evidence
from simfarm.core.lines import LineChannel
from simfarm.core.model import Bot, Termination
from simfarm.core.process import BotProcess, Limits

_EXIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Entrant:
    """A bot that is ready to start."""

    bot: Bot
    """With a command."""
    time_factor: float = 1.0
    """How much longer than the rules say it may take."""
    memory: int = 4 << 30
    """Address space in bytes."""


class BotPlayer:
    """A process that plays for a seat.

    Args:
        entrant: the bot.
        rules: the rule options.
        match_id: the name of the match.
        seed: what the bot gets as ``SIMFARM_SEED``.
    """

    def __init__(self, entrant: Entrant, rules: BlackjackRules, match_id: str, seed: int) -> None:
        self.reply_seconds = array("d")
        """Time of each reply."""
        limits = Limits(memory=entrant.memory, processes=rules.processes, walls=rules.walls)
        self._process = BotProcess(entrant.bot, limits, {"SIMFARM_SEED": str(seed)})
        self.channel = LineChannel(self._process, rules.line_bytes)
        """Its pipes."""
        self._rules = rules
        self._match_id = match_id
        self._name = entrant.bot.name
        self.seconds = rules.reply_ms / 1000 * entrant.time_factor
        """Wall time for a reply, the first apart."""
        self._startup = rules.startup_ms / 1000 * entrant.time_factor
        self.last_request = b""
        """The request that was sent last."""
        self.last_reply: bytes | None = None
        """The reply that was read last, or what had come of one."""

    def __call__(self, table: Table, seat: Seat, legal: Legal) -> Answer | Failure:
        """Ask the bot."""
        return self.ask(request_of(self._rules, self._match_id, table, seat, legal), table.game_id)

    def ask(self, request: bytes, game_id: int) -> Answer | Failure:
        """Send a request of a game and read the answer."""
        return self.resume(request, request, b"", 0.0, game_id)

    def resume(
        self, request: bytes, unsent: bytes, received: bytes, started: float, game_id: int
    ) -> Answer | Failure:
        """Finish asking; the arguments are those of :meth:`LineChannel.resume`, and the whole request."""
        self.last_request = request
        reply = self.channel.resume(unsent, received, started, self.seconds + self._startup)
        self.reply_seconds.append(self.channel.seconds)
        if isinstance(reply, Termination):
            failure = self._no_reply(reply)
            self.last_reply = self.channel.unread or self.last_reply
            return failure
        self._startup = 0.0
        return self.read(request, reply, game_id)

    def read(self, request: bytes, reply: bytes, game_id: int) -> Answer | Failure:
        """Read the reply to a request."""
        self.last_request = request
        self.last_reply = reply
        if len(reply) > self._rules.line_bytes:
            return self._no_reply(Termination.OUTPUT_LIMIT)
        if not self._rules.strict_ids:
            return answer_of(reply, None)
        identity = {
            "type": "action_response",
            "match_id": self._match_id,
            "game_id": game_id,
            "bot_id": self._name,
        }
        return answer_of(reply, identity)

    @property
    def evidence(self) -> Evidence:
        """For the row of a fault."""
        return Evidence.of(self.last_request or None, self.last_reply, self.channel.stderr_tail)

    def close(self) -> None:
        """End the process; it may be called again."""
        if not self._process.closed:
            self.channel.drain()
            self._process.close()

    def _no_reply(self, reply: Termination) -> Failure:
        if reply is Termination.TIMEOUT:
            limit = round((self.seconds + self._startup) * 1000)
            self.channel.drain()
            return Failure(*self._process.late(f"no reply within {limit} ms"))
        if reply is Termination.OUTPUT_LIMIT:
            return Failure(reply, f"a line of more than {self._rules.line_bytes} bytes")
        code = self._process.wait(_EXIT_SECONDS)
        self.channel.drain()
        if code is None:
            return Failure(Termination.EXITED, "closed its output before it had answered")
        return Failure(*self._process.fault(code, self.channel.stderr_tail, self.last_reply is not None))
