"""Native code: find a C compiler, compile with limits, keep what was built under the hash of what went in.

A cache key covers the sources, the flags, the compiler's own version line and the target: two machines with
unlike compilers that share a cache never mix their programs.
"""

import hashlib
import importlib.util
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simfarm.core.errors import ToolError
from simfarm.core.model import canonical_json


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call of a compiler may take."""

    cpu_seconds: float = 120
    """CPU time of each of its processes: a machine that is busy takes none of it away."""
    wall_seconds: float = 300
    """Time by the clock, for one that waits."""
    memory: int = 4 << 30
    """Address space of each process, bytes."""
    file: int = 64 << 20
    """Size of each file that it writes, bytes; what it says is one as well."""


OWN_LIMITS = Limits()
"""For what is compiled of simfarm and its games."""
BOT_LIMITS = Limits(cpu_seconds=20, wall_seconds=120, memory=1 << 30, file=32 << 20)
"""For a bot in C: far more than one of the size that people write takes."""
_SAID_BYTES = 64 << 10
_ERROR_SIGNS = ("error: ", "error[", "undefined", "multiple definition")


class CompileError(Exception):
    """The compiler refused the source, or hit a limit. ``str()`` is its message, shortened."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler that was found."""

    command: tuple[str, ...]
    """How to call it, for example ``("gcc",)`` or ``(python, "-m", "ziglang", "cc")``."""
    version: str
    """The first line of what it says about itself."""


def cache_folder() -> Path:
    """Where built programs are kept: ``$SIMFARM_CACHE``, else ``simfarm`` in the user's cache folder."""
    if folder := os.environ.get("SIMFARM_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simfarm"


def find_compiler() -> Compiler:
    """The C compiler: ``$CC``, else gcc, cc or clang on the path, else the one in the package ziglang.

    Raises:
        ToolError: there is none; the message says what to install.
    """
    return _find_compiler(os.environ.get("CC"), os.environ.get("PATH"))


@cache
def _find_compiler(cc: str | None, path: str | None) -> Compiler:
    candidates = [tuple(cc.split())] if cc else [("gcc",), ("cc",), ("clang",)]
    for command in candidates:
        if shutil.which(command[0], path=path):
            return Compiler(command, _version(command))
    if cc:
        raise ToolError(f"the C compiler that CC names was not found: {cc!r}")
    if importlib.util.find_spec("ziglang") is not None:
        command = (sys.executable, "-m", "ziglang", "cc")
        return Compiler(command, _version(command))
    raise ToolError(
        "no C compiler found: install gcc or clang (Debian: apt-get install gcc libc6-dev), "
        "or the one that pip brings: pip install 'simfarm[cc]'"
    )


def _version(command: tuple[str, ...]) -> str:
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0 or not done.stdout:
        raise ToolError(
            f"the C compiler {' '.join(command)} does not answer --version: {done.stderr.strip()[:200]}"
        )
    return done.stdout.splitlines()[0]


@dataclass(frozen=True, slots=True)
class Unit:
    """One file to compile, with the flags for it."""

    name: str
    """File name within the build folder, as compiler messages show it."""
    flags: tuple[str, ...]


def build(
    sources: Mapping[str, bytes],
    units: Sequence[Unit],
    link_flags: Sequence[str] = (),
    output: str = "program",
    limits: Limits = OWN_LIMITS,
) -> Path:
    """Compile and link a program (or, with ``-shared`` among the link flags, a library), once per content.

    Args:
        sources: every file that goes in, headers included, by name within the build folder.
        units: the files to compile. Include paths: the build folder only.
        link_flags: flags for the last step.
        output: file name of the result.
        limits: what each call of the compiler may take; a result that is in the cache needs none.

    Returns:
        Path of the result in the cache; it is complete, whoever else builds the same at the same time.

    Raises:
        CompileError: the compiler refused.
        ToolError: there is no compiler, or the cache folder cannot be written.
    """
    compiler = find_compiler()
    recipe = {
        "compiler": [*compiler.command, compiler.version],
        "sources": {name: hashlib.sha256(data).hexdigest() for name, data in sources.items()},
        "units": [[unit.name, unit.flags] for unit in units],
        "link": list(link_flags),
        "machine": os.uname().machine,
    }
    return cached(
        "native",
        recipe,
        output,
        lambda folder: _compile(compiler, folder, sources, units, link_flags, output, limits),
    )


def cached(kind: str, recipe: object, output: str, make: Callable[[Path], Path]) -> Path:
    """A file that is made once and kept in the cache under the hash of its recipe.

    Args:
        kind: subfolder of the cache folder.
        recipe: JSON-ready values: everything that decides the content.
        output: file name of the result.
        make: makes the file in the empty folder it is given, and returns its path there.

    Returns:
        Path of the result in the cache; it is complete, whoever else makes the same at the same time.

    Raises:
        ToolError: the cache folder cannot be written.
    """
    folder = cache_folder() / kind / hashlib.sha256(canonical_json(recipe)).hexdigest()[:32]
    result = folder / output
    if result.exists():
        return result
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as build_folder:
            make(Path(build_folder)).replace(result)
    except OSError as error:
        raise ToolError(f"cannot build in the cache folder {folder}: {error.strerror}") from error
    return result


def _compile(
    compiler: Compiler,
    folder: Path,
    sources: Mapping[str, bytes],
    units: Sequence[Unit],
    link_flags: Sequence[str],
    output: str,
    limits: Limits,
) -> Path:
    for name, data in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    objects = []
    for index, unit in enumerate(units):
        objects.append(f"{index}.o")
        call_compiler(compiler, [*unit.flags, "-I.", "-c", unit.name, "-o", objects[-1]], folder, limits)
    call_compiler(compiler, [*objects, *link_flags, "-o", output], folder, limits)
    return folder / output


def call_compiler(compiler: Compiler, arguments: Sequence[str], folder: Path, limits: Limits = OWN_LIMITS) -> None:
    """Run the compiler in ``folder`` within limits.

    Args:
        compiler: which one.
        arguments: what follows its name.
        folder: where it runs and keeps its temporary files.
        limits: what it may take.

    Raises:
        CompileError: it failed or met a limit; the message holds the first errors.
    """
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}
    with tempfile.TemporaryFile(dir=folder) as told:
        process = subprocess.Popen(
            [*compiler.command, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=told,
            preexec_fn=lambda: _limit_compiler(limits),
            process_group=0,
        )
        try:
            code = process.wait(limits.wall_seconds)
        except subprocess.TimeoutExpired:
            raise CompileError(f"the compiler did not finish within {limits.wall_seconds:g} s") from None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)  # the driver and what it started
                process.wait()
        told.seek(0)
        said = told.read(_SAID_BYTES).decode(errors="replace")
    if code == 0:
        return
    if code == -signal.SIGXCPU or "CPU time limit exceeded" in said:
        raise CompileError(f"the compiler did not finish within {limits.cpu_seconds:g} s of CPU time")
    if code == -signal.SIGXFSZ or "File size limit exceeded" in said or "File too large" in said:
        raise CompileError(f"the compiler wrote more than {limits.file >> 20} MiB")
    # places of this machine mean nothing to whoever wrote the source
    lines = said.replace(f"{folder}/", "").strip().splitlines()
    errors = [line for line in lines if any(sign in line for sign in _ERROR_SIGNS)] or lines
    raise CompileError("\n".join(errors[:5]) or f"the compiler ended with code {code}")


def _limit_compiler(limits: Limits) -> None:
    # One second more until it is killed: the first signal says why.
    seconds = math.ceil(limits.cpu_seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file, limits.file))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
