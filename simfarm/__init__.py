"""simfarm: very many bot-against-bot matches, every game a row, every verdict with its error."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simfarm.query import Rows

__version__ = "0.1.0"


def open_run(path: "str | Path") -> "Rows":
    """The rows of a run, for scripts and notebooks: ``simfarm.open_run("uno-demo").games()`` is a polars LazyFrame.

    Args:
        path: the run folder, the name of one in ``results/``, or a URI.

    Raises:
        StoreError: there is none.
    """
    # by name and when wanted: modules below the query import this package for its version, and polars takes its time
    rows: Rows = import_module("simfarm.query").open_run(path)
    return rows
