"""What an engine has to show beside its score: distributions and curves, as plain values."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Histogram:
    """A quantity in the rows whose distribution is worth a look."""

    title: str
    """What it is, for people: ``Points of a game``."""
    table: str
    """The table; without its rows (an optional one) nothing is shown."""
    values: tuple[tuple[str, str | None], ...]
    """Numeric columns, each with the column that names the bot it belongs to, or None where it is the game's; a
    table with one row per game has a pair for each seat."""
    unit: str
    """Unit of the values."""
    time: bool = False
    """Whether it is a time that bots took: shown with the other times, by quantiles on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines over a common axis."""

    title: str
    text: str
    """What is shown, in a sentence or two."""
    x: str
    """What stands on the axis; its values are whole numbers."""
    y: str
    frame: pl.DataFrame
    """Columns ``line`` (text), ``x`` (integer), ``y`` (float); ``low`` and ``high`` (float, null without a band)."""
    log: bool = False
    """Whether the y axis is logarithmic; then every value is above 0."""
