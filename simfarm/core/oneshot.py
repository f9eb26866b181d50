"""Run a bot once: input on its standard input, output until it ends, within limits of time, memory and size.

For games whose bots are programs that read one case and print one answer. Whatever the bot does (sleep,
flood, close or hold its output, leave its input unread, start children), the result is there within the time
limit and a little more.
"""

import os
import select
import time
from dataclasses import dataclass, field
from typing import Final

from simfarm.core.evidence import STDERR_BYTES
from simfarm.core.model import Bot, Termination
from simfarm.core.process import BotProcess, Limits

_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one call."""

    output: bytes
    """Standard output: all of it, or what had come when the call was ended."""
    termination: Termination
    """``completed`` (the bot ended with code 0), ``timeout``, ``output_limit``, or what
    :meth:`BotProcess.fault` makes of its end."""
    detail: str
    """For people: the exit code or the limit; empty if the bot completed."""
    stderr: bytes
    """The end of standard error."""
    seconds: float
    """Wall time from the start of the process."""


@dataclass(slots=True)
class _Streams:
    """What has gone in and come out so far."""

    unsent: memoryview
    output: bytearray = field(default_factory=bytearray)
    error: bytearray = field(default_factory=bytearray)


def call(bot: Bot, data: bytes, seconds: float, limits: Limits, most_output: int = 16 << 20) -> Answer:
    """Start a bot, give it its input, take its output.

    Args:
        bot: a bot with a command.
        data: what it reads.
        seconds: wall time it has, starting up included.
        limits: what it may use.
        most_output: bytes it may write to standard output.

    Raises:
        OSError: the machine cannot start a process.
    """
    started = time.monotonic()
    streams = _Streams(memoryview(data))
    with BotProcess(bot, limits) as process:
        stopped = _exchange(process, streams, started + seconds, most_output)
        # Once its output is closed, what it still does counts against its time, and its end tells how it went.
        code = process.wait(started + seconds - time.monotonic()) if stopped is None else None
        took = time.monotonic() - started
        _drain(process.stderr, streams)
        stderr = bytes(streams.error[-STDERR_BYTES:])
        end: tuple[Termination, str]
        if stopped is Termination.OUTPUT_LIMIT:
            end = stopped, f"more than {most_output} bytes of output"
        elif code is None:
            end = process.late(f"no answer within {seconds:g} s")
        elif code == 0:
            end = Termination.COMPLETED, ""
        else:
            end = process.fault(code, stderr, bool(streams.output))
    return Answer(bytes(streams.output), *end, stderr, took)


def _exchange(process: BotProcess, streams: _Streams, deadline: float, most_output: int) -> Termination | None:
    """Move bytes until standard output is closed; None then, else why it was given up."""
    os.set_blocking(process.stdin, False)
    os.set_blocking(process.stdout, False)
    os.set_blocking(process.stderr, False)
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)
    poll.register(process.stderr, select.POLLIN)
    if streams.unsent:
        poll.register(process.stdin, select.POLLOUT)
    else:
        _close_input(process)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return Termination.TIMEOUT
        for descriptor, _ in poll.poll(left * 1000):
            if descriptor == process.stdin:
                if not _send(process, streams):
                    poll.unregister(descriptor)
                    _close_input(process)
            elif descriptor == process.stderr:
                piece = os.read(descriptor, _PIECE)
                if not piece:
                    poll.unregister(descriptor)
                streams.error += piece
                del streams.error[:-STDERR_BYTES]
            else:
                piece = os.read(descriptor, _PIECE)
                if not piece:
                    return None
                streams.output += piece
                if len(streams.output) > most_output:
                    del streams.output[most_output:]
                    return Termination.OUTPUT_LIMIT


def _send(process: BotProcess, streams: _Streams) -> bool:
    """Send a piece; whether there is more, and somebody to read it."""
    try:
        sent = os.write(process.stdin, streams.unsent[:_PIECE])
    except BrokenPipeError:
        return False
    streams.unsent = streams.unsent[sent:]
    return bool(streams.unsent)


def _close_input(process: BotProcess) -> None:
    assert process.process.stdin is not None
    process.process.stdin.close()


def _drain(descriptor: int, streams: _Streams) -> None:
    """Take what standard error still holds, without waiting for more."""
    for _ in range(16):
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return
        if not piece:
            return
        streams.error += piece
