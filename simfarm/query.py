"""Rows as frames and as SQL. The tables of a run: its engine's, and ``matchups`` that explains their keys."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl
import polars.selectors as cs

from simfarm.core.errors import ConfigError
from simfarm.store import Run

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


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a run for a program, see :func:`simfarm.open_run`."""

    run: Run

    def games(self) -> pl.LazyFrame:
        """The rows of the games: the table ``games``, or in a game without one the table of its scores.

        Raises:
            ConfigError: the run does not record it.
        """
        names = [table.name for table in self.run.engine.tables]
        return self.table("games" if "games" in names else self.run.engine.score.table)

    def table(self, name: str) -> pl.LazyFrame:
        """All committed rows of a table, checked, in plan order: one of the engine's, or ``matchups``.

        Raises:
            ConfigError: there is no such table, or the run does not record it.
        """
        known = tables(self.run)
        if name not in known:
            optional = [table.name for table in self.run.engine.tables if table.optional]
            hint = f' (it is written with record = ["{name}"] in the config)' if name in optional else ""
            raise ConfigError(f"{self.run.place}: no table {name!r}{hint}; tables: {', '.join(known)}")
        return known[name]

    def sql(self, statement: str) -> pl.DataFrame:
        """The answer to one SQL statement, see :func:`sql`."""
        return sql(self.run, statement)


def tables(run: Run) -> dict[str, pl.LazyFrame]:
    """All tables of a run by name; optional ones only if the run writes them."""
    names = [table.name for table in run.engine.tables if not table.optional or table.name in run.config.record]
    return {**{name: run.lazy(name) for name in names}, "matchups": matchups(run).lazy()}


def contents(run: Run) -> pl.DataFrame:
    """What can be asked: one row per table with its number of rows and the names of its columns."""
    frames = tables(run)
    return pl.DataFrame(
        {
            "table": list(frames),
            "rows": [frame.select(pl.len()).collect().item() for frame in frames.values()],
            "columns": [", ".join(frame.collect_schema().names()) for frame in frames.values()],
        },
        schema={"table": pl.String, "rows": pl.Int64, "columns": pl.String},
    )


def sql(run: Run, statement: str) -> pl.DataFrame:
    """The answer to one SQL statement (polars' dialect) over a run's tables.

    Integers are 64 bits wide here, so that sums and differences do not wrap, and a number with a point is a float, so
    that quotients keep their digits. Names are dictionary-coded, which is what makes grouping millions of rows quick;
    a statement that needs them as text (``like``, a join with ``matchups``) is answered over text. A ``count(*)``
    without a name of its own is called ``count``.

    Raises:
        ConfigError: the statement is not understood, changes something, or names what is not there.
    """
    if not re.match(r"\s*(select|with|from|explain|show)\b", statement, re.IGNORECASE):
        raise ConfigError("query: rows are read only: the statement must begin with select or with")
    floats = _POINT.sub(lambda match: match[1] or f"{match[2]}e0", statement)
    narrow = [pl.UInt8, pl.UInt16, pl.UInt32, pl.Int8, pl.Int16, pl.Int32]
    frames = {name: frame.with_columns(cs.by_dtype(narrow).cast(pl.Int64)) for name, frame in tables(run).items()}
    texts = {name: frame.with_columns(cs.categorical().cast(pl.String)) for name, frame in frames.items()}
    columns = {name: frame.collect_schema().names() for name, frame in frames.items()}
    try:
        try:
            answer = pl.SQLContext(frames).execute(floats).collect(engine="streaming")
        except (pl.exceptions.SchemaError, pl.exceptions.InvalidOperationError):
            answer = pl.SQLContext(texts).execute(floats).collect(engine="streaming")
    except (pl.exceptions.PolarsError, ValueError) as error:
        reason = str(error).splitlines()[0]
        known = "" if "valid columns" in reason else f"; {_known(statement, columns)}"
        raise ConfigError(f"query: {reason}{known}") from None
    return _named(answer, statement)


def _known(statement: str, columns: Mapping[str, Collection[str]]) -> str:
    """The tables, and the columns of those that the statement names."""
    words = set(re.findall(r"\w+", statement.lower()))
    named = [f"columns of {name}: {', '.join(columns[name])}" for name in columns if name in words]
    return "; ".join([f"tables: {', '.join(columns)}", *named])


def _named(answer: pl.DataFrame, statement: str) -> pl.DataFrame:
    """The answer with ``count(*)`` called ``count``: polars calls it ``len``, which nobody asked for."""
    asked = re.search(r"\blen\b", statement, re.IGNORECASE)
    if "len" not in answer.columns or "count" in answer.columns or asked:
        return answer
    return answer.rename({"len": "count"})
