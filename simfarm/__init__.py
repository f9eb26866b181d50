"""simfarm: very many bot-against-bot matches, every game a row, every verdict with its error."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from simfarm.query import Rows

__version__ = "0.1.0"


def open_run(where: "str | Path") -> "Rows":
    """The rows of a run, as polars frames: ``simfarm.open_run("results/uno-demo").games()``.

    Args:
        where: the run's folder, or its URI.

    Raises:
        StoreError: there is no run, or it is not readable by this version.
    """
    from simfarm.query import Rows  # imported when wanted: polars takes a while to load
    from simfarm.store import Run

    return Rows(Run(where))
