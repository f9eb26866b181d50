"""What this machine offers, found out by trying it: the form in which ``simfarm doctor`` and engines say it."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from simfarm.core.errors import SimfarmError, ToolError

PROBE_SECONDS = 20.0
"""Wall time after which a program that is tried counts as broken."""


class Status(StrEnum):
    """What became of a probe."""

    OK = "ok"
    """It is there and works."""
    LACKS = "lacks"
    """It is not there."""
    BROKEN = "broken"
    """It is there and does not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a machine has or lacks."""

    what: str
    """Its name."""
    status: Status
    found: str
    """What was seen: a version, an amount, an error; one line."""
    costs: str
    """What does not work, or works worse, without it."""
    remedy: str
    """How to get it."""
    needed: bool
    """Whether the defaults of simfarm or of a game need it."""


def probe(what: str, look: Callable[[], str], costs: str, remedy: str, needed: bool = False) -> Finding:
    """Try something.

    Args:
        what: its name.
        look: tries it and returns what it saw. A ToolError means that the thing is not there; any other SimfarmError,
            an OSError or a SubprocessError that it does not work.
        costs: what does not work without it.
        remedy: how to get it.
        needed: whether a default needs it.
    """
    try:
        status, found = Status.OK, look()
    except ToolError as error:
        status, found = Status.LACKS, str(error)
    except subprocess.CalledProcessError as error:
        tail = (error.stderr or error.output or "").strip().splitlines()
        status, found = Status.BROKEN, f"exit code {error.returncode}: {tail[-1] if tail else 'no message'}"
    except (SimfarmError, OSError, subprocess.SubprocessError) as error:
        status, found = Status.BROKEN, str(error)
    return Finding(what, status, " ".join(found.split()), costs, remedy, needed)


def said(command: Sequence[str], input: str = "") -> str:
    """What a program says: the first line of its output, or of its standard error if it has no output.

    Raises:
        ToolError: there is no such program.
        subprocess.SubprocessError: it fails, or does not end in time.
    """
    try:
        done = subprocess.run(
            command,
            input=input,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
            check=True,
        )
    except FileNotFoundError:
        raise ToolError(f"there is no program {command[0]}") from None
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return lines[0] if lines else ""
