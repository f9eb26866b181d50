"""Bot processes: started by ``/bin/sh -c`` in a session and a scratch folder of their own, within limits, and ended
with everything that they have started in it.

What is said over their pipes is up to the engine; this module only brings them up and takes them down.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simfarm.core.model import Bot

_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What one bot process may use; its children inherit each limit for themselves."""

    memory: int = 1 << 30
    """Address space in bytes."""
    file_size: int = 64 << 20
    """Size of any file it writes, in bytes."""

    def shell(self) -> str:
        """The limits as shell commands. They stand in front of the bot's own command, so that it never runs
        without them."""
        return f"ulimit -c 0; ulimit -v {self.memory // 1024}; ulimit -f {self.file_size // 512}; "


class BotProcess:
    """A running bot; a context manager that leaves nothing behind.

    Its files lie in a new scratch folder, which is its working directory and is removed at the end.

    Args:
        bot: a bot with a command.
        limits: what it may use.
        environment: variables added to those that it inherits (PATH, HOME = scratch folder, LANG).

    Raises:
        OSError: the machine cannot start a process.
    """

    def __init__(self, bot: Bot, limits: Limits, environment: Mapping[str, str] | None = None) -> None:
        assert bot.command is not None
        self.folder = Path(tempfile.mkdtemp(prefix="simfarm-bot-"))
        try:
            for file in bot.files:
                path = self.folder / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.data)
                path.chmod(0o755 if file.executable else 0o644)
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", limits.shell() + bot.command],
                cwd=self.folder,
                env=_environment(self.folder, environment or {}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
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

    def close(self) -> int:
        """End the bot and all of its session, remove its folder.

        Returns:
            The exit code, negative for a signal; -9 if it had to be killed.
        """
        # The session's leader may be gone while others of its group live on: kill the group in any case.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait(_GRACE_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return code

    def __enter__(self) -> "BotProcess":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    return {**inherited, "HOME": str(folder), "TMPDIR": str(folder), **more}
