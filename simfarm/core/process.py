"""Bot processes: started by ``/bin/sh -c`` in a session and a scratch folder of their own, within limits, and ended
with everything that they have started, wherever it has gone.

A small program stands between a worker and each of its bots (``native/keeper.c``): it sets the limits, is the reaper
of all that the bot starts, and takes the bot down, also when the worker is killed. What is said over the pipes is up
to the engine; this module only brings bots up and takes them down.
"""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from simfarm.core import native
from simfarm.core.errors import ToolError
from simfarm.core.model import Bot, Rules, Termination

Walls = Literal["process", "namespace"]

_PREFIX = "simfarm-bot-"
_END_SECONDS = 60.0
_ORPHAN_SECONDS = 60.0
_CANNOT_RUN = (126, 127)
"""What a shell ends with when it cannot run a command."""
_MEMORY_WORDS = ("memoryerror", "out of memory", "bad_alloc", "cannot allocate memory")
_NATIVE = Path(__file__).parent / "native"
# native/keeper.c: TOO_MANY and FAILED
_TOO_MANY = -signal.SIGRTMAX
_KEEPER_FAILED = -(signal.SIGRTMAX - 1)


class ProcessRules(Rules):
    """Rule options of every game whose bots are processes."""

    means: ClassVar[frozenset[str]] = frozenset({"walls"})

    processes: Annotated[
        int, Field(ge=1, le=4096, description="processes that a bot may have at once, its shell included")
    ] = 256
    walls: Annotated[
        Walls,
        Field(
            description="process: limits, a scratch folder, and nothing left alive; namespace: moreover no network, "
            "nothing writable but the scratch folder, and no other process in sight, where the machine offers it"
        ),
    ] = "process"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one bot may use."""

    memory: int = 1 << 30
    """Address space of each of its processes, in bytes."""
    file_size: int = 64 << 20
    """Size of any file it writes, in bytes."""
    processes: int = 256
    """Processes that it may have at once."""
    walls: Walls = "process"
    """What stands between it and the machine, see :class:`ProcessRules`."""


class BotProcess:
    """A running bot; a context manager that leaves nothing behind.

    Its files lie in a new scratch folder, which is its working directory and is removed at the end. The bot ends when
    its command does, and all that it has started ends with it.

    Args:
        bot: a bot with a command.
        limits: what it may use.
        environment: variables added to those that it inherits (PATH, HOME = scratch folder, LANG).

    Raises:
        OSError: the machine cannot start a process.
        ToolError: there is no C compiler.
    """

    def __init__(self, bot: Bot, limits: Limits, environment: Mapping[str, str] | None = None) -> None:
        assert bot.command is not None
        keeper = _keeper()
        self.limits = limits
        """What it may use."""
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # as long as it is locked its worker lives, and no one sweeps it away
        self._lock = _locked(self.folder)
        self.closed = False
        """Whether it was ended; its pipes are closed then."""
        try:
            for file in bot.files:
                path = self.folder / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.data)
                path.chmod(0o755 if file.executable else 0o644)
            walls = "counted" if limits.walls == "process" and _counted() else limits.walls
            figures = (os.getpid(), limits.memory, limits.file_size, limits.processes, walls)
            self.process = subprocess.Popen(
                [keeper, *map(str, figures), self.folder, bot.command],
                cwd=self.folder,
                env=_environment(self.folder, environment or {}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except BaseException:
            self._remove()
            raise
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdin = self.process.stdin.fileno()
        """File descriptor of the bot's standard input."""
        self.stdout = self.process.stdout.fileno()
        """File descriptor of its standard output."""
        self.stderr = self.process.stderr.fileno()
        """File descriptor of its standard error."""

    def wait(self, seconds: float) -> int | None:
        """Wait for the bot's end.

        Returns:
            The exit code, negative for a signal; None if it is still there after so many seconds.

        Raises:
            OSError: the bot was never started, and that is the machine's fault.
        """
        code = self._gone(seconds)
        if code == _KEEPER_FAILED:
            raise OSError(os.read(self.stderr, 1000).decode(errors="replace").strip() or "a bot was not started")
        return code

    def _gone(self, seconds: float) -> int | None:
        if self.process.poll() is None:
            end = os.pidfd_open(self.process.pid)
            try:
                poll = select.poll()
                poll.register(end, select.POLLIN)
                poll.poll(max(0.0, seconds) * 1000)
            finally:
                os.close(end)
        return self.process.poll()

    def fault(self, code: int, stderr: bytes, spoke: bool) -> tuple[Termination, str]:
        """What the bot's end means where it had to go on or to succeed.

        Args:
            code: what :meth:`wait` gave.
            stderr: the end of its standard error.
            spoke: whether it has written anything that counts.

        Returns:
            The reason and, for people, what was seen.
        """
        # a shell tells of a child's signal by 128 and its number
        number = -code if code < 0 else code - 128 if 128 < code <= 128 + signal.SIGRTMAX else 0
        words = stderr.decode(errors="replace").lower()
        if code == _TOO_MANY:
            return Termination.FORBIDDEN, f"more than {self.limits.processes} processes at once"
        if any(word in words for word in _MEMORY_WORDS):
            return Termination.MEMORY_LIMIT, f"out of memory, exit code {code}"
        if code in _CANNOT_RUN and not spoke:
            return Termination.NOT_STARTED, f"the shell cannot run the command (exit code {code})"
        if number == signal.SIGXFSZ:
            return Termination.OUTPUT_LIMIT, f"a file of more than {self.limits.file_size} bytes"
        if number:
            with contextlib.suppress(ValueError):
                return Termination.CRASHED, f"ended by signal {number} ({signal.Signals(number).name})"
            return Termination.CRASHED, f"ended by signal {number}"
        return Termination.EXITED, f"ended with exit code {code}"

    def late(self, detail: str) -> tuple[Termination, str]:
        """End a bot that was not ready in time, and say what is wrong with it: its time, unless it had so many
        processes that this is why.

        Args:
            detail: how late it is, for people.
        """
        code = self.close()
        return self.fault(code, b"", spoke=True) if code == _TOO_MANY else (Termination.TIMEOUT, detail)

    def close(self) -> int:
        """End the bot and all that it has started, remove its folder; it may be called again.

        Returns:
            The exit code, negative for a signal.

        Raises:
            OSError: its processes cannot be ended; the keeper goes on trying.
        """
        if self.closed:
            return self.process.returncode
        self.closed = True
        # the second wakes a keeper that the bot has stopped
        for number in (signal.SIGTERM, signal.SIGCONT):
            self.process.send_signal(number)
        code = self._gone(_END_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        self._remove()
        if code is None:
            raise OSError(f"the processes of a bot have not ended within {_END_SECONDS:g} s")
        return code

    def _remove(self) -> None:
        _remove(self.folder)
        os.close(self._lock)

    def __enter__(self) -> "BotProcess":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def check_walls(walls: Walls) -> None:
    """Make sure that this machine offers the walls.

    Raises:
        ToolError: it does not, or there is no C compiler.
    """
    if walls == "process":
        _keeper()
        return
    try:
        with BotProcess(Bot("walls", command="exit 0"), Limits(walls=walls)) as process:
            process.wait(_END_SECONDS)
    except OSError as error:
        raise ToolError(
            f'walls = "{walls}" cannot be had on this machine: {error}; '
            'allow user namespaces, or use walls = "process"'
        ) from None


@cache
def _keeper() -> Path:
    """The program that starts bots; the first call also sweeps folders that nobody has any more.

    Raises:
        ToolError: there is no C compiler.
    """
    _sweep(Path(tempfile.gettempdir()))
    sources = {"keeper.c": (_NATIVE / "keeper.c").read_bytes()}
    return native.build(sources, [native.Unit("keeper.c", ("-O2", "-std=gnu17"))], output="keeper")


@cache
def _counted() -> bool:
    """Whether bots are to run in namespaces of users and processes, so that the kernel counts and ends what belongs
    to each: root has other means, and elsewhere systems may refuse it."""
    if os.geteuid() == 0:
        return False
    with tempfile.TemporaryDirectory() as folder:
        figures = (os.getpid(), 1 << 30, 1 << 20, 8, "counted")
        tried = subprocess.run(
            [_keeper(), *map(str, figures), folder, "touch file"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return tried.returncode == 0


def _environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    return {**inherited, "HOME": str(folder), "TMPDIR": str(folder), **more}


def _locked(folder: Path) -> int:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
        return
    # what is deeper than Python can go, or lies where the bot has shut even its owner out
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        subprocess.run([*command, "--", folder], stderr=subprocess.DEVNULL, check=False)
        if not os.path.lexists(folder):
            return


def _sweep(folder: Path) -> None:
    """Remove the scratch folders of workers that were killed together with their keepers."""
    for path in _old(folder):
        with contextlib.suppress(OSError):
            lock = _locked(path)
            try:
                _remove(path)
            finally:
                os.close(lock)


def _old(folder: Path) -> Iterator[Path]:
    for path in folder.glob(_PREFIX + "*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ORPHAN_SECONDS:
                yield path
