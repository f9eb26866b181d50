"""How quantities are distributed, by bot: counted once over the rows, then small numbers only."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from simfarm.core.figures import Histogram

_DIGITS = 5
_BINS = 30
_QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of a histogram."""

    low: float
    high: float
    """Not included."""
    share: float
    """Percent of the rows of the bot."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A quantity of one bot, or of the game."""

    bot: str | None
    """None where the quantity is the game's."""
    rows: int
    quantiles: tuple[float, float, float, float, float]
    """Smallest, 10 %, median, 90 %, largest; to 5 significant digits."""
    bins: tuple[Bin, ...]
    """Of equal widths, the same for every bot of the quantity, from the smallest value to the largest."""


def distributions(histogram: Histogram, rows: pl.LazyFrame, bots: Sequence[str]) -> tuple[Distribution, ...]:
    """The distribution of a quantity for each bot that has rows, in the order given; nothing without rows.

    Args:
        histogram: which columns.
        rows: of the table that it names.
        bots: names in the order of the report.
    """
    kinds = rows.collect_schema()
    sides = []
    for value, bot in histogram.values:
        number = pl.col(value)
        if kinds[value] not in (pl.UInt8, pl.Int8, pl.UInt16, pl.Int16):
            number = number.cast(pl.Float64).round_sig_figs(_DIGITS)  # few different values, however many rows
        name = pl.lit(None, pl.String) if bot is None else pl.col(bot)
        counted = rows.group_by(name.alias("bot"), number.cast(pl.Float64).alias("value")).len("rows")
        sides.append(counted.with_columns(pl.col("bot").cast(pl.String), pl.col("rows").cast(pl.Int64)))
    counts = pl.concat(sides).collect(engine="streaming").filter(pl.col("value").is_finite())
    named = any(bot is not None for _, bot in histogram.values)
    counts = counts.filter(pl.col("bot").is_not_null()) if named else counts
    counts = counts.group_by("bot", "value").agg(pl.col("rows").sum()).sort("value")
    if counts.is_empty():
        return ()
    whole = all(kinds[value].is_integer() for value, _ in histogram.values)
    edges = _edges(counts["value"][0], counts["value"][-1], whole)
    order = bots if named else [None]
    parts = {key: part for (key,), part in counts.partition_by("bot", as_dict=True, include_key=False).items()}
    return tuple(_distribution(bot, parts[bot], edges) for bot in order if bot in parts)


def _distribution(bot: str | None, counts: pl.DataFrame, edges: Sequence[float]) -> Distribution:
    total = int(counts["rows"].sum())
    below = counts["rows"].cum_sum()
    values = counts["value"]
    places = [int((below < max(1, math.ceil(part * total))).sum()) for part in _QUANTILES]
    smallest, tenth, median, ninetieth, largest = (float(values[place]) for place in places)
    return Distribution(
        bot, total, (smallest, tenth, median, ninetieth, largest), tuple(_bins(counts, edges, total))
    )


def _bins(counts: pl.DataFrame, edges: Sequence[float], total: int) -> Iterator[Bin]:
    for low, high in pairwise(edges):
        rows = counts.filter((pl.col("value") >= low) & (pl.col("value") < high))["rows"].sum()
        yield Bin(low, high, 100 * int(rows) / total)


def _edges(low: float, high: float, whole: bool) -> list[float]:
    """Bounds of at most some 30 bins, at round numbers, around all values."""
    step = _round_step((high - low) / _BINS)
    if whole or step == 0:
        step = max(1.0, step)
    first = math.floor(low / step)
    shift = 0.5 if whole and step == 1 else 0.0  # a whole number stands in the middle of its bar
    return [step * index - shift for index in range(first, math.floor(high / step) + 2)]


def _round_step(step: float) -> float:
    """The smallest of 1, 2, 5, 10, ... times a power of ten that is no less."""
    if step <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))
