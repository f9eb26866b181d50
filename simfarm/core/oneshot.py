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

from simfarm.core.model import Bot, Termination
from simfarm.core.process import BotProcess, Limits

_PIECE: Final = 1 << 16
STDERR_TAIL = 2000
"""Bytes of standard error that are kept: the last ones."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one call."""

    output: bytes
    """Standard output: all of it, or what had come when the call was ended."""
    termination: Termination
    """``completed`` (the bot closed its output or ended with code 0), ``timeout``, ``output_limit``,
    ``crashed`` (ended by a signal), ``exited`` (ended with another code) or ``memory_limit`` (it failed
    and its last words say so)."""
    detail: str
    """For people: the exit code or the limit, and the end of standard error."""
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
        limits: memory and file size.
        most_output: bytes it may write to standard output.

    Raises:
        OSError: the machine cannot start a process.
    """
    started = time.monotonic()
    streams = _Streams(memoryview(data))
    with BotProcess(bot, limits) as process:
        ended = _exchange(process, streams, started + seconds, most_output)
        if ended is None:
            # Its output is closed; what it still does counts against its time, and its exit code tells how it went.
            ended = _wait(process, started + seconds)
        took = time.monotonic() - started
        code = process.process.poll()
        _drain(process.stderr, streams)
    tail = bytes(streams.error[-STDERR_TAIL:]).decode(errors="replace").strip()
    termination, detail = ended or _of_code(code, tail)
    if termination is Termination.TIMEOUT:
        detail = f"no answer within {seconds:g} s"
    elif termination is Termination.OUTPUT_LIMIT:
        detail = f"more than {most_output} bytes of output"
    return Answer(
        bytes(streams.output), termination, f"{detail}: {tail}" if detail and tail else detail or tail, took
    )


def _exchange(
    process: BotProcess, streams: _Streams, deadline: float, most_output: int
) -> tuple[Termination, str] | None:
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
            return Termination.TIMEOUT, ""
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
                del streams.error[:-STDERR_TAIL]
            else:
                piece = os.read(descriptor, _PIECE)
                if not piece:
                    return None
                streams.output += piece
                if len(streams.output) > most_output:
                    del streams.output[most_output:]
                    return Termination.OUTPUT_LIMIT, ""


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


def _wait(process: BotProcess, deadline: float) -> tuple[Termination, str] | None:
    """Wait for the exit of a bot that has closed its output; living on past the deadline is a timeout."""
    descriptor = os.pidfd_open(process.process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return Termination.TIMEOUT, ""
    finally:
        os.close(descriptor)
    return None


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


def _of_code(code: int | None, tail: str) -> tuple[Termination, str]:
    if code == 0:
        return Termination.COMPLETED, ""
    assert code is not None
    # A shell tells of a child's signal by 128 and its number.
    signal = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    words = tail.lower()
    if any(word in words for word in ("memoryerror", "out of memory", "bad_alloc", "cannot allocate memory")):
        return Termination.MEMORY_LIMIT, f"out of memory, exit code {code}"
    if signal:
        return Termination.CRASHED, f"ended by signal {signal}"
    return Termination.EXITED, f"ended with code {code}"
