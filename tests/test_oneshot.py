"""One-shot calls: whatever a bot does, there is an answer in time."""

import sys
import time
from pathlib import Path

import pytest

from simfarm.core.evidence import STDERR_BYTES
from simfarm.core.model import Bot, SourceFile, Termination
from simfarm.core.oneshot import Answer, call
from simfarm.core.process import Limits

LIMIT = 1.0
PYTHON = sys.executable


def run(
    command: str, data: bytes = b"", seconds: float = LIMIT, *files: SourceFile, memory: int = 1 << 30
) -> Answer:
    return call(Bot("b", files, command=command), data, seconds, Limits(memory=memory), most_output=1 << 20)


def test_input_output_and_files() -> None:
    answer = run("cat data.txt -; echo done >&2", b"abc\n", 10, SourceFile("data.txt", b"first\n"))
    assert (answer.output, answer.termination, answer.stderr) == (
        b"first\nabc\n",
        Termination.COMPLETED,
        b"done\n",
    )
    assert 0 < answer.seconds < 10


def test_more_data_than_a_pipe_holds_in_both_directions() -> None:
    data = bytes(range(256)) * 3000
    assert run("cat", data, 10).output == data


@pytest.mark.parametrize(
    ("command", "termination", "detail", "stderr"),
    [
        ("sleep 60", "timeout", "no answer within 1 s", b""),
        ("exec >&-; sleep 60", "timeout", "no answer within 1 s", b""),
        ("sleep 60 & echo 5", "completed", "", b""),
        ("trap '' TERM INT; while :; do :; done", "timeout", "no answer within 1 s", b""),
        ("yes >&2", "timeout", "no answer within 1 s", b"y\ny"),
        ("yes", "output_limit", "more than 1048576 bytes of output", b""),
        ("exit 3", "exited", "ended with exit code 3", b""),
        ("echo oops >&2; exit 3", "exited", "ended with exit code 3", b"oops"),
        ("kill -SEGV $$", "crashed", "ended by signal 11 (SIGSEGV)", b""),
        ("exec <&-; echo 5", "completed", "", b""),
        ("no-such-program", "not_started", "the shell cannot run the command", b"no-such-program"),
        (f"{PYTHON} -c 'x = bytes(4 << 30)'", "memory_limit", "out of memory, exit code 1", b"MemoryError"),
    ],
)
def test_what_bots_do(command: str, termination: str, detail: str, stderr: bytes) -> None:
    """With more input than a pipe holds, which none of them reads."""
    limit = 20 if PYTHON in command else LIMIT
    started = time.monotonic()
    answer = run(command, b"x" * 1_000_000, limit)
    assert time.monotonic() - started < limit + 0.5
    assert answer.termination is Termination(termination)
    assert answer.detail.startswith(detail)
    assert stderr in answer.stderr
    assert len(answer.stderr) <= STDERR_BYTES


def test_late_ones_are_killed_with_their_children() -> None:
    answer = run("sh -c 'sleep 60; touch late' & echo $! ; sleep 60")
    assert answer.termination is Termination.TIMEOUT
    pid = int(answer.output)
    deadline = time.monotonic() + 5
    while _lives(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    path = Path(f"/proc/{pid}/stat")
    return path.exists() and path.read_text().rsplit(")", 1)[1].split()[0] != "Z"
