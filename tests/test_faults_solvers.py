"""The fault suite's Poker Run solvers: a verdict within the limit plus 0.2 s, and nothing of them left."""

import os
import time

import pytest

from simfarm.core.evidence import STDERR_BYTES
from tests.test_faults_bots import running
from tests.test_poker_run_engine import outside

LIMIT = 0.6
SLACK = 0.2
TRIES = 4
"""Times that a verdict may be late because this machine was busy."""
ANSWER = r"printf '3\ndiscard 26 16 17 45\nplay 33 8 9 23 50\nend\n'"
SLEEP = f"sleep 4600.{os.getpid()}"
SOLVERS = {
    "sleeps": (SLEEP, "timeout", None),
    "sleeps after its answer": (f"{ANSWER}; {SLEEP}", "timeout", "3\n"),
    "floods its output": ("yes", "output_limit", "y\ny\n"),
    "floods its stderr": ("yes >&2", "timeout", None),
    "floods both and ignores signals": ("trap '' TERM; yes >&2 & yes", "output_limit", "y\ny\n"),
    "closes its output": (f"exec >&-; {SLEEP}", "timeout", None),
    "closes all": (f"exec <&- >&- 2>&-; {SLEEP}", "timeout", None),
    "a grandchild holds its output": (f"{ANSWER}; setsid {SLEEP} & (setsid {SLEEP} &); exit 0", "completed", None),
    "a grandchild, and no answer": (f"setsid {SLEEP} & (setsid {SLEEP} &); exit 0", "unparsable", None),
    "ignores its input": (ANSWER, "completed", None),
    "drips": ("while :; do printf 1; sleep 0.05; done", "timeout", "11"),
    "starts children": (f"for i in 1 2 3 4 5 6; do setsid {SLEEP} & done; {SLEEP}", "timeout", None),
    "starts too many": (f"for i in $(seq 30); do {SLEEP} & done; {SLEEP}", "forbidden", None),
    "stops itself": ("kill -STOP $$", "timeout", None),
    "writes after its answer": (f"{ANSWER}; sleep 0.1; echo 'play 1'", "unparsable", "3\n"),
    "writes after its end": (f"{ANSWER}; (sleep 0.1; echo 'play 1') &", "completed", None),
}
"""By name: command, termination, and how the reply begins that the row keeps."""


@pytest.mark.parametrize("name", SOLVERS)
def test_the_verdict_is_in_time(name: str) -> None:
    command, termination, said = SOLVERS[name]
    for _ in range(TRIES):
        started = time.monotonic()
        row = outside(command, seconds=LIMIT, processes=16)
        took = time.monotonic() - started
        assert row["termination"] == termination, row
        if took < LIMIT + SLACK:
            break
    assert took < LIMIT + SLACK
    assert not running(SLEEP.replace(" ", "\0"))
    if termination == "completed":
        assert row["points"] == 316
        assert (row["detail"], row["last_request"], row["last_reply"], row["stderr"]) == (None,) * 4
    else:
        assert row["points"] == 0
        assert row["detail"]
        assert len(row["last_request"]) == 400
        assert (row["last_reply"] or "").startswith(said or "")
        assert (row["last_reply"] is None) == (said is None)
        assert len(row["stderr"]) <= STDERR_BYTES
