"""Rows as frames and as SQL. The tables of a run: its engine's, and ``matchups`` that explains their keys."""

import json
import re

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

    Integers are 64 bits wide here, so that sums and differences do not wrap. Names are dictionary-coded, which is
    what makes grouping millions of rows quick; a statement that needs them as text (``like``, a join with
    ``matchups``) is answered over text.

    Raises:
        ConfigError: the statement is not understood, changes something, or names what is not there.
    """
    if not re.match(r"\s*(select|with|from|explain|show)\b", statement, re.IGNORECASE):
        raise ConfigError("query: rows are read only: the statement must begin with select or with")
    narrow = [pl.UInt8, pl.UInt16, pl.UInt32, pl.Int8, pl.Int16, pl.Int32]
    frames = {name: frame.with_columns(cs.by_dtype(narrow).cast(pl.Int64)) for name, frame in tables(run).items()}
    texts = {name: frame.with_columns(cs.categorical().cast(pl.String)) for name, frame in frames.items()}
    try:
        try:
            return pl.SQLContext(frames).execute(statement).collect(engine="streaming")
        except (pl.exceptions.SchemaError, pl.exceptions.InvalidOperationError):
            return pl.SQLContext(texts).execute(statement).collect(engine="streaming")
    except (pl.exceptions.PolarsError, ValueError) as error:
        reason = str(error).splitlines()[0]
        known = f"tables: {', '.join(frames)}; their columns: simfarm schema --tables"
        raise ConfigError(f"query: {reason}; {known}") from None
