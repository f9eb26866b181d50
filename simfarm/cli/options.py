"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from simfarm.core.errors import StoreError
from simfarm.executors import Executor
from simfarm.executors.local import LocalExecutor
from simfarm.store import Run, exists, place_at

RESULTS = Path("results")
"""Where runs go by default, relative to the working directory."""


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


class PlainFormat(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"


class ExecutorName(StrEnum):
    """Where shards are played."""

    LOCAL = "local"
    RAY = "ray"


ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="Config file (TOML).")]
RunPath = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="Run folder, the name of one in results/, or a URI such as s3://bucket/run."
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to write it.")]
Out = Annotated[
    str | None,
    typer.Option(
        "--out", help="Run folder, or a URI such as s3://bucket/run; default: results/ and the config's name."
    ),
]
ExecutorOption = Annotated[ExecutorName, typer.Option("--executor", help="Where shards are played.")]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", help="Join this Ray cluster ('auto': the one this machine belongs to)."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Workers = Annotated[int | None, typer.Option("--workers", "-w", help="Shards played at once; default: cores.")]


def out_place(config: Path, out: str | None) -> str:
    """Where a config's run goes: a path or a URI."""
    return out if out is not None else str(RESULTS / config.stem)


def open_run(where: str) -> Run:
    """The run at a path or a URI, or of that name in ``results/``.

    Raises:
        StoreError: there is none.
    """
    return Run(find_run(where))


def find_run(where: str) -> str:
    """The path or the URI of a run, likewise.

    Raises:
        StoreError: there is none.
    """
    for candidate in (where, str(RESULTS / where)) if "://" not in where else (where,):
        if exists(candidate):
            return candidate
    if "://" in where:
        raise StoreError(f"{place_at(where)}: no run here")
    known = sorted(folder.parent.name for folder in RESULTS.glob("*/manifest.json"))
    raise StoreError(f"{where}: no run here; runs in {RESULTS}/: {', '.join(known) or 'none'}")


def make_executor(name: ExecutorName, address: str | None, workers: int | None) -> Executor:
    """The executor of that name."""
    if name is ExecutorName.RAY or address is not None:
        # imported when wanted: Ray takes a second to load
        from simfarm.executors.ray import RayExecutor

        return RayExecutor(address, workers)
    return LocalExecutor(workers)
