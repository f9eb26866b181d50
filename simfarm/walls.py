"""The walls that Linux may offer around processes, each with a way to try it.

Each is tried in a Python process of its own: most cannot be taken down again, and one is tried by dying of it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simfarm.core.errors import ToolError
from simfarm.core.probe import PROBE_SECONDS, said


@dataclass(frozen=True, slots=True)
class Wall:
    """One kind of wall."""

    name: str
    look: Callable[[], str]
    """As :func:`~simfarm.core.probe.probe` takes it."""
    costs: str
    """What is missed without it."""
    remedy: str
    """How to get it."""
    needed: bool = False
    """Whether a default needs it."""


_LIBC = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *values):
    if getattr(libc, name)(*values) != 0:
        sys.exit(f"{name}: {os.strerror(ctypes.get_errno())}")
"""
_SECCOMP = """
class Filter(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]
kill = Filter(0x06, 0, 0, 0x80000000)  # return: kill the process, whatever it calls
call("prctl", 38, 1, 0, 0, 0)  # no new privileges
call("prctl", 22, 2, ctypes.byref(Program(1, ctypes.pointer(kill))), 0, 0)
"""
_USER = """
call("unshare", 0x10000000)
"""
_PID = """
call("unshare", 0x10000000 | 0x20000000)
child = os.fork()
if child == 0:
    os._exit(0 if os.getpid() == 1 else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
_NETWORK = """
call("unshare", 0x10000000 | 0x40000000)
import socket
sys.exit(0 if [name for _, name in socket.if_nameindex()] == ["lo"] else "other interfaces are in sight")
"""
_SUBREAPER = """
call("prctl", 36, 1, 0, 0, 0)
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        os._exit(7)
    os._exit(0)
ends = sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(2))
sys.exit(0 if ends == [0, 7] else f"ended: {ends}")
"""


def _tried(code: str) -> str:
    said([sys.executable, "-I", "-c", _LIBC + code])
    return "works"


def _seccomp() -> str:
    command = [sys.executable, "-I", "-c", _LIBC + _SECCOMP]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    if done.returncode != -signal.SIGSYS:
        raise OSError(done.stderr.strip() or f"a forbidden call ended with code {done.returncode}")
    return "a forbidden call kills its process"


def _bubblewrap() -> str:
    said(["bwrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"])
    return said(["bwrap", "--version"])


def _cgroup() -> str:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and controllers == "" and Path("/sys/fs/cgroup/cgroup.controllers").exists():
            group = Path(f"/sys/fs/cgroup{path}") / f"simfarm-doctor-{os.getpid()}"
            group.mkdir()
            try:
                return f"writable; controllers: {(group / 'cgroup.controllers').read_text().strip() or 'none'}"
            finally:
                group.rmdir()
    raise ToolError("no cgroup v2 is mounted at /sys/fs/cgroup")


_NAMESPACES = "sysctl kernel.unprivileged_userns_clone=1, or a container with --security-opt seccomp=unconfined"
WALLS = (
    Wall(
        "subreaper",
        lambda: _tried(_SUBREAPER),
        "processes that a bot hides from its session outlive it",
        "a kernel newer than 3.4",
        needed=True,
    ),
    Wall(
        "seccomp",
        _seccomp,
        "compiled bots are not kept from system calls",
        "a kernel with CONFIG_SECCOMP_FILTER, or a container that allows it",
    ),
    Wall("user namespaces", lambda: _tried(_USER), "no further walls around bot processes", _NAMESPACES),
    Wall("PID namespaces", lambda: _tried(_PID), "bots see the machine's other processes", _NAMESPACES),
    Wall("network namespaces", lambda: _tried(_NETWORK), "bots reach the network", _NAMESPACES),
    Wall(
        "bubblewrap",
        _bubblewrap,
        "bots cannot be started in it by their command",
        "Debian: apt-get install bubblewrap",
    ),
    Wall(
        "cgroup v2",
        _cgroup,
        "memory is limited for each process and not for a bot as a whole",
        "a service manager or container that delegates a cgroup to this user",
    ),
)
"""All walls that are looked for."""
