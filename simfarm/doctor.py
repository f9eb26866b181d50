"""What this machine offers to simfarm and to the installed games, found out by trying each thing.

What only a game needs (interpreters, its own tools) is asked of the game: :meth:`~simfarm.core.engine.Engine.needs`.
"""

import contextlib
import importlib.metadata
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from simfarm import registry
from simfarm.core import native
from simfarm.core.cores import free_cores
from simfarm.core.errors import ToolError
from simfarm.core.probe import PROBE_SECONDS, Finding, probe, said
from simfarm.walls import WALLS

MIN_PYTHON = (3, 11)
MIN_FILES = 1024
"""Open files that a driver with a few workers may want."""
MIN_FREE_BYTES = 1 << 30
"""Free space below which a folder is said to be full, and memory below which a machine is said to be small."""
RAY_SECONDS = 120
"""Wall time in which Ray must start here and do a task."""

_RAY_TASK = """
import ray
ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
assert ray.get(ray.remote(lambda: 6 * 7).remote(), timeout=60) == 42
ray.shutdown()
"""


def findings(results: Path, start_ray: bool = False) -> Iterator[tuple[str, Finding]]:
    """Everything that is tried, one after the other: its area and what was found.

    Args:
        results: the folder in which runs are kept; its parent if it does not exist yet.
        start_ray: whether to start Ray here for a moment, which takes seconds.
    """
    areas = {"python": _python(), "machine": _machine(), "disk": _disk(results), "compiler": _compiler()}
    areas |= {"walls": _walls(), "ray": _ray(start_ray)}
    for name in registry.engine_names():
        areas[name] = iter(registry.engine(name).needs())
    for area, found in areas.items():
        for finding in found:
            yield area, finding


def _python() -> Iterator[Finding]:
    def version() -> str:
        if sys.version_info < MIN_PYTHON:
            raise ToolError(platform.python_version())
        return f"{platform.python_version()} ({sys.executable})"

    wanted = ".".join(map(str, MIN_PYTHON))
    yield probe("Python", version, "simfarm does not run", f"install Python {wanted} or newer", needed=True)
    for requirement in importlib.metadata.requires("simfarm") or ():
        match = re.match(r"[\w.-]+", requirement)
        if match is None or "extra ==" in requirement:
            continue
        name = match.group()
        yield probe(name, partial(_package, name), "parts of simfarm fail", f"pip install {name}", needed=True)


def _package(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise ToolError("not installed") from None


def _machine() -> Iterator[Finding]:
    def system() -> str:
        if sys.platform != "linux":
            raise ToolError(platform.platform())
        return platform.platform()

    def cores() -> str:
        free = free_cores()
        if not free:
            raise ToolError(f"all of {len(os.sched_getaffinity(0))} are taken")
        return f"{len(free)} free of {len(os.sched_getaffinity(0))} allowed and {os.cpu_count()} there"

    def memory() -> str:
        sizes = {name: int(size) << 10 for name, size in re.findall(r"(\w+): +(\d+) kB", _text("/proc/meminfo"))}
        told = f"{sizes['MemAvailable'] / 2**30:.1f} GiB available of {sizes['MemTotal'] / 2**30:.1f}"
        if sizes["MemAvailable"] < MIN_FREE_BYTES:
            raise ToolError(told)
        return told

    def open_files() -> str:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < MIN_FILES:
            raise ToolError(f"{soft}, at most {hard}")
        return f"{soft}, at most {hard}"

    def processes() -> str:
        running = int(_text("/proc/loadavg").split()[3].partition("/")[2])
        most = min(int(_text(f"/proc/sys/kernel/{name}")) for name in ("threads-max", "pid_max"))
        told = f"{running:,} threads run, {most:,} can"
        if running > 0.8 * most:
            raise ToolError(told)
        return told

    yield probe("Linux", system, "bots cannot be limited", "run simfarm on Linux", needed=True)
    yield probe(
        "cores",
        cores,
        "bots and referees share cores, so that each round trip takes longer",
        "wait for other runs",
    )
    yield probe("memory", memory, "workers may be killed in the middle of shards", "fewer --workers")
    yield probe("processes", processes, "bots cannot be started", "end what has started so many")
    yield probe(
        "open files", open_files, "runs with many workers may run out of files", f"ulimit -n {MIN_FILES} or more"
    )


def _disk(results: Path) -> Iterator[Finding]:
    folder = results.absolute()
    while not folder.is_dir():
        folder = folder.parent

    def keeps() -> str:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        return _space(folder)

    def runs_programs() -> str:
        with tempfile.TemporaryDirectory(prefix="simfarm-doctor-") as scratch:
            program = Path(scratch) / "program"
            program.write_text("#!/bin/sh\necho runs\n")
            program.chmod(0o755)
            said([str(program)])
            return _space(Path(scratch))

    yield probe(
        "results folder",
        keeps,
        "runs cannot be kept",
        f"free space, or the right to write, in {folder}",
        needed=True,
    )
    yield probe(
        "temporary folder",
        runs_programs,
        "bots that are processes cannot be started",
        "set TMPDIR to a folder with free space in which programs may run (not mounted noexec)",
        needed=True,
    )


def _space(folder: Path) -> str:
    free = shutil.disk_usage(folder).free
    told = f"{free / 2**30:.1f} GiB free in {folder if folder.name[:8] != 'simfarm-' else folder.parent}"
    if free < MIN_FREE_BYTES:
        raise ToolError(told)
    return told


def _compiler() -> Iterator[Finding]:
    def compiles() -> str:
        compiler = native.find_compiler()
        limits = native.Limits(wall_seconds=PROBE_SECONDS)
        with tempfile.TemporaryDirectory(prefix="simfarm-doctor-") as scratch:
            (Path(scratch) / "try.c").write_text(
                '#include <stdio.h>\nint main(void) { return puts("runs") < 0; }\n'
            )
            try:
                native.call_compiler(compiler, ["try.c", "-o", "try"], Path(scratch), limits)
            except native.CompileError as error:
                raise OSError(f"{compiler.version}: {error}") from None
            said([f"{scratch}/try"])
        return compiler.version

    def cache() -> str:
        folder = native.cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return _space(folder)

    yield probe(
        "C compiler",
        compiles,
        "games and bots in C cannot be played",
        "Debian: apt-get install gcc libc6-dev; or: pip install 'simfarm[cc]'",
        needed=True,
    )
    yield probe(
        "cache folder", cache, "nothing can be compiled", "set SIMFARM_CACHE to a folder that you may write", True
    )


def _walls() -> Iterator[Finding]:
    for wall in WALLS:
        yield probe(wall.name, wall.look, wall.costs, wall.remedy, wall.needed)


def _ray(start: bool) -> Iterator[Finding]:
    remedy = "pip install ray"
    yield probe("Ray", lambda: _package("ray"), "no runs on clusters (--executor ray)", remedy)
    if start:

        def starts() -> str:
            _package("ray")
            process = subprocess.Popen(
                [sys.executable, "-c", _RAY_TASK],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            with process:
                try:
                    told = process.communicate(timeout=RAY_SECONDS)[1]
                finally:
                    # what Ray has started, too
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
            if process.returncode != 0:
                raise OSError(told.strip().splitlines()[-1] if told.strip() else f"exit code {process.returncode}")
            return "started here, did a task, ended"

        yield probe(
            "Ray on this machine", starts, "no runs with --executor ray here", "see the message; or use local"
        )


def _text(path: str) -> str:
    return Path(path).read_text()
