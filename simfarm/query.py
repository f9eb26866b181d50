"""Rows as frames and as SQL. The tables of a run: its engine's, and ``matchups`` that explains their keys."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import polars.selectors as cs

from simfarm.core.errors import ConfigError
from simfarm.store import Run, find_run

MATCHUPS = {
    "matchup": "key, as in the other tables",
    "bots": "names of the bots; a seating names positions in this order",
    "rules": "rule options, JSON",
    "seed": "what its blocks' seeds are derived from",
    "start": "first block",
    "stop": "one past the last block",
    "games_per_block": "games in one block",
    "deal": "fresh or shared",
    "seatings": "JSON: for each seating the bots by seat",
}
"""Columns of the table ``matchups`` and what they mean."""


_POINT = re.compile(r"""('(?:[^']|'')*'|"[^"]*"|--.*)|(?<![\w.])(\d+\.\d*|\.\d+)(?![\w.])""")
"""Texts, quoted names and comments; or a number with a point, which polars takes for a decimal of few digits."""


def matchups(run: Run) -> pl.DataFrame:
    """One row per matchup, see :data:`MATCHUPS`; texts, so that every format can show them."""
    rows = [
        {
            "matchup": key,
            "bots": ", ".join(bot.name for bot in matchup.bots),
            "rules": json.dumps(matchup.rules.model_dump(mode="json")),
            "seed": matchup.seed,
            "start": matchup.start,
            "stop": matchup.stop,
            "games_per_block": matchup.games,
            "deal": str(matchup.deal),
            "seatings": json.dumps([[matchup.bots[at].name for at in seating] for seating in matchup.seatings]),
        }
        for key, matchup in run.matchups().items()
    ]
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "matchup": pl.String,
        "bots": pl.String,
        "rules": pl.String,
        "seed": pl.UInt64,
        "start": pl.Int64,
        "stop": pl.Int64,
        "games_per_block": pl.Int64,
        "deal": pl.String,
        "seatings": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def tables(run: Run) -> dict[str, pl.LazyFrame]:
    """All tables of a run by name; optional ones only if the run writes them."""
    names = [table.name for table in run.engine.tables if not table.optional or table.name in run.config.record]
    return {**{name: run.lazy(name) for name in names}, "matchups": matchups(run).lazy()}


def sql(run: Run, statement: str) -> pl.DataFrame:
    """The answer to one SQL statement (polars' dialect) over a run's tables.

    Integers are 64 bits wide here, so that sums and differences do not wrap, and a number with a point is a float, so
    that quotients keep their digits; a count without a name is called ``count``. Names are dictionary-coded, which is
    what makes grouping millions of rows quick; a statement that needs them as text (``like``, a join with
    ``matchups``) is answered over text.

    Raises:
        ConfigError: the statement is not understood, changes something, or names what is not there.
    """
    if not re.match(r"\s*(select|with|from|explain|show)\b", statement, re.IGNORECASE):
        raise ConfigError("query: rows are read only: the statement must begin with select or with")
    narrow = [pl.UInt8, pl.UInt16, pl.UInt32, pl.Int8, pl.Int16, pl.Int32]
    floats = _POINT.sub(lambda match: match[1] or f"{match[2]}e0", statement)
    plain = tables(run)
    frames = {name: frame.with_columns(cs.by_dtype(narrow).cast(pl.Int64)) for name, frame in plain.items()}
    texts = {name: frame.with_columns(cs.categorical().cast(pl.String)) for name, frame in frames.items()}
    try:
        try:
            answer = pl.SQLContext(frames).execute(floats).collect(engine="streaming")
        except (pl.exceptions.SchemaError, pl.exceptions.InvalidOperationError):
            answer = pl.SQLContext(texts).execute(floats).collect(engine="streaming")
    except (pl.exceptions.PolarsError, ValueError) as error:
        reason = str(error).splitlines()[0].partition("; valid columns:")[0]
        raise ConfigError(f"query: {reason}; {_known(statement, plain)}") from None
    if "len" in answer.columns and "count" not in answer.columns and not re.search(r"\blen\b", statement):
        answer = answer.rename({"len": "count"})
    return answer


def _known(statement: str, frames: Mapping[str, pl.LazyFrame]) -> str:
    """The columns of the tables that a statement names; of all, if it names none."""
    named = [name for name in frames if re.search(rf"\b{name}\b", statement, re.IGNORECASE)]
    columns = (f"{name} ({', '.join(frames[name].collect_schema())})" for name in named or frames)
    return f"tables: {', '.join(frames)}; columns of {'; of '.join(columns)}"


class Rows:
    """A run's rows, as :func:`simfarm.open_run` gives them: every table a polars LazyFrame."""

    def __init__(self, run: Run) -> None:
        self._tables = tables(run)
        self._main = run.engine.score.table

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""
        return tuple(self._tables)

    def table(self, name: str) -> pl.LazyFrame:
        """The committed rows of a table, in plan order; ``simfarm schema --tables`` tells the columns.

        Raises:
            ConfigError: the run has no such table.
        """
        if name not in self._tables:
            raise ConfigError(f"this run has no table {name!r}; it has: {', '.join(self._tables)}")
        return self._tables[name]

    def games(self) -> pl.LazyFrame:
        """The table that the game's score stands in: a row per game or, where a block is a whole match or a puzzle,
        per bot and block."""
        return self._tables[self._main]


def open_run(path: str | Path) -> Rows:
    """The rows of a run.

    Args:
        path: the run folder, the name of one in ``results/``, or a URI.

    Raises:
        StoreError: there is none.
    """
    return Rows(Run(find_run(str(path))))
