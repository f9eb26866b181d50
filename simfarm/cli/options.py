"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from simfarm.core.errors import StoreError
from simfarm.executors import Executor
from simfarm.executors.local import LocalExecutor
from simfarm.store import Run

RESULTS = Path("results")
"""Where runs go by default, relative to the working directory."""


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


class ExecutorName(StrEnum):
    """Where shards are played."""

    LOCAL = "local"
    RAY = "ray"


ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="Config file (TOML).")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder, or the name of one in results/.")]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to write it.")]
Out = Annotated[Path | None, typer.Option("--out", help="Run folder; default: results/ and the config's name.")]
ExecutorOption = Annotated[ExecutorName, typer.Option("--executor", help="Where shards are played.")]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", help="Join this Ray cluster ('auto': the one this machine belongs to)."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Workers = Annotated[int | None, typer.Option("--workers", "-w", help="Shards played at once; default: cores.")]


def out_folder(config: Path, out: Path | None) -> Path:
    """Where a config's run goes."""
    return out if out is not None else RESULTS / config.stem


def open_run(path: Path) -> Run:
    """The run at a path, or of that name in ``results/``.

    Raises:
        StoreError: there is neither.
    """
    for candidate in (path, RESULTS / path):
        if (candidate / "manifest.json").exists():
            return Run(candidate)
    known = sorted(folder.parent.name for folder in RESULTS.glob("*/manifest.json"))
    raise StoreError(f"{path}: no run here; runs in {RESULTS}/: {', '.join(known) or 'none'}")


def make_executor(name: ExecutorName, address: str | None, workers: int | None) -> Executor:
    """The executor of that name."""
    if name is ExecutorName.RAY or address is not None:
        # imported when wanted: Ray takes a second to load
        from simfarm.executors.ray import RayExecutor

        return RayExecutor(address, workers)
    return LocalExecutor(workers)
