"""A channel of lines to a bot process: one line out, one line back within a time, and its errors kept short.

Nothing that a bot does with its pipes can block the referee for longer than the time of a reply: not a bot that
does not read, that writes without end, that closes a pipe or fills its standard error.
"""

import math
import os
import select
from time import perf_counter

from simfarm.core.evidence import STDERR_BYTES
from simfarm.core.model import Termination
from simfarm.core.process import BotProcess

LINE_BYTES = 64 << 10
"""Longest line that is read unless told otherwise, newline apart."""

_READ_BYTES = 64 << 10
_LAST_READS = 32


class LineChannel:
    """Lines over the pipes of a bot process, which stays the caller's to close.

    Lines that the bot writes unasked are read as the next replies. The time of a reply runs from the end of writing
    the request; writing it may take as long again.

    Args:
        process: the running bot.
        line_bytes: longest line that is read, newline apart.
    """

    def __init__(self, process: BotProcess, line_bytes: int = LINE_BYTES) -> None:
        self.seconds = 0.0
        """How long the last reply took."""
        self.stderr_tail = b""
        """The last bytes of standard error."""
        self.pipes = (process.stdin, process.stdout, process.stderr)
        """File descriptors of the bot's standard input, output and error."""
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._stderr = process.stderr
        self._line_bytes = line_bytes
        self._buffer = b""
        self._ended = False
        os.set_blocking(self._stdin, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)

    @property
    def in_order(self) -> bool:
        """Whether the bot has written nothing beyond its replies and its output is open: others may then use the
        pipes directly, and hand over to :meth:`resume` when anything unusual comes up."""
        return not self._buffer and not self._ended

    @property
    def unread(self) -> bytes:
        """What has come and is no whole line yet, or belongs to the next ones."""
        return self._buffer

    def exchange(self, request: bytes, seconds: float) -> bytes | Termination:
        """Send a line and wait for the next one.

        Args:
            request: the line with its newline.
            seconds: wall time for the reply.

        Returns:
            The reply without its newline; or TIMEOUT: it was late, or the request was not read; EXITED: the bot
            closed its output and left no whole line; OUTPUT_LIMIT: a line longer than ``line_bytes``.
        """
        return self.resume(request, b"", perf_counter(), seconds)

    def resume(self, unsent: bytes, received: bytes, started: float, seconds: float) -> bytes | Termination:
        """Finish an exchange that was begun on the pipes.

        Args:
            unsent: what is left of the request.
            received: what has come of the reply.
            started: when writing the request ended, on the clock of :func:`time.perf_counter`; of no account if
                some is unsent.
            seconds: wall time for the reply.
        """
        if unsent:
            if not self._send(unsent, perf_counter() + seconds):
                self.seconds = seconds
                return Termination.TIMEOUT
            started = perf_counter()
        self._buffer += received
        reply = self._receive(started + seconds)
        self.seconds = perf_counter() - started
        return reply

    def drain(self) -> None:
        """Read what standard error holds now, without waiting: before the process is closed."""
        os.set_blocking(self._stderr, False)
        for _ in range(_LAST_READS):
            try:
                piece = os.read(self._stderr, _READ_BYTES)
            except BlockingIOError:
                return
            if not piece:
                return
            self._keep(piece)

    def _receive(self, deadline: float) -> bytes | Termination:
        while True:
            end = self._buffer.find(b"\n")
            if end > self._line_bytes or (end < 0 and len(self._buffer) > self._line_bytes):
                return Termination.OUTPUT_LIMIT
            if end >= 0:
                line = self._buffer[:end]
                self._buffer = self._buffer[end + 1 :]
                return line
            if self._ended:
                return Termination.EXITED
            if not self._wait(deadline):
                return Termination.TIMEOUT

    def _send(self, rest: bytes, deadline: float) -> bool:
        """Write what the pipe did not take at once. A bot that closed its input may have answered before, so that
        is no failure here. Its output is left alone meanwhile: who writes without reading has to wait as well."""
        if not self._ended:
            self._poll.unregister(self._stdout)
        self._poll.register(self._stdin, select.POLLOUT)
        try:
            while rest:
                try:
                    rest = rest[os.write(self._stdin, rest) :]
                except BlockingIOError:
                    if not self._wait(deadline):
                        return False
                except BrokenPipeError:
                    return True
            return True
        finally:
            self._poll.unregister(self._stdin)
            if not self._ended:
                self._poll.register(self._stdout, select.POLLIN)

    def _wait(self, deadline: float) -> bool:
        """Wait for any pipe and take what has come; False if it is too late."""
        left = deadline - perf_counter()
        if left <= 0:
            return False
        for pipe, _ in self._poll.poll(math.ceil(left * 1000)):
            if pipe == self._stdout:
                self._take(os.read(pipe, _READ_BYTES))
            elif pipe == self._stderr:
                piece = os.read(pipe, _READ_BYTES)
                if piece:
                    self._keep(piece)
                else:
                    self._poll.unregister(pipe)
        return True

    def _take(self, piece: bytes) -> None:
        if piece:
            self._buffer += piece
        else:
            self._ended = True
            self._poll.unregister(self._stdout)

    def _keep(self, piece: bytes) -> None:
        self.stderr_tail = (self.stderr_tail + piece)[-STDERR_BYTES:]
