"""Lines over the pipes of a process, and what odd processes do to them."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from simfarm.core.lines import LINE_BYTES, LineChannel
from simfarm.core.model import Bot, Termination
from simfarm.core.process import BotProcess, Limits


@contextmanager
def channel(command: str) -> Iterator[LineChannel]:
    with BotProcess(Bot("b", command=command), Limits()) as process:
        yield LineChannel(process)


def test_lines_there_and_back() -> None:
    with channel("exec cat") as cat:
        for number in range(100):
            assert cat.exchange(f"line {number}\n".encode(), 5) == f"line {number}".encode()
        assert cat.in_order
        long = b"x" * (LINE_BYTES - 1)
        assert cat.exchange(long + b"\n", 5) == long
        assert cat.exchange(b"y" * LINE_BYTES + b"\n", 5) == b"y" * LINE_BYTES
        assert cat.exchange(b"z" * (LINE_BYTES + 1) + b"\n", 5) is Termination.OUTPUT_LIMIT


def test_surplus_lines_wait_for_the_next_exchange() -> None:
    with channel("printf 'a\\nb\\n\\nd\\ne'") as ahead:
        assert ahead.exchange(b"1\n", 5) == b"a"
        assert not ahead.in_order
        assert ahead.exchange(b"2\n", 5) == b"b"
        assert ahead.exchange(b"3\n", 5) == b""
        assert ahead.exchange(b"4\n", 5) == b"d"
        assert ahead.exchange(b"5\n", 5) is Termination.EXITED
        assert ahead.exchange(b"6\n", 5) is Termination.EXITED


def test_time_runs_from_the_end_of_the_request() -> None:
    with channel("sleep 0.2; read line; echo $line; sleep 60") as slow:
        assert slow.exchange(b"hello\n", 5) == b"hello"
        assert 0.15 < slow.seconds < 2
        started = time.monotonic()
        assert slow.exchange(b"again\n", 0.2) is Termination.TIMEOUT
        assert 0.2 <= slow.seconds < 1
        assert time.monotonic() - started < 1


def test_who_does_not_read_is_late_and_blocks_nobody() -> None:
    with channel("while :; do echo x; done") as deaf:
        request = b"r" * 5000 + b"\n"
        replies = [deaf.exchange(request, 0.2) for _ in range(14)]
        assert replies[0] == b"x"
        assert replies[-1] is Termination.TIMEOUT
        assert deaf.exchange(request, 0.2) is Termination.TIMEOUT


def test_a_large_request_goes_out_in_pieces() -> None:
    with channel("sleep 0.1; wc -c") as counter:
        assert counter.exchange(b"x" * 500_000 + b"\n", 0.05) is Termination.TIMEOUT
    with channel("head -c 500001 | wc -c") as counter:
        assert counter.exchange(b"x" * 500_000 + b"\n", 5) == b"500001"


def test_stderr_is_drained_and_its_end_kept() -> None:
    noisy = "head -c 1000000 /dev/zero | tr '\\0' 'e' >&2; echo tail >&2; read line; echo done"
    with channel(noisy) as process:
        assert process.exchange(b"x\n", 5) == b"done"
        process.drain()
        assert process.stderr_tail.endswith(b"eetail\n")
        assert len(process.stderr_tail) == 2000


def test_a_closed_stderr_costs_no_time() -> None:
    with channel("exec 2>&-; sleep 0.3; exec cat") as process:
        cpu = time.process_time()
        assert process.exchange(b"x\n", 5) == b"x"
        assert time.process_time() - cpu < 0.1


def test_an_exchange_can_be_taken_over() -> None:
    with channel("exec cat") as cat:
        assert cat.resume(b"lo\n", b"hel", 0.0, 5) == b"hello"
        os.write(cat.pipes[0], b"world\n")
        assert cat.resume(b"", b"", time.perf_counter(), 5) == b"world"
        assert cat.resume(b"", b"there\n", time.perf_counter(), 5) == b"there"
