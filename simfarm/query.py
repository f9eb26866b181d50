"""Rows as frames and as SQL. The tables of a run: its engine's, and ``matchups`` that explains their keys."""

import json

import polars as pl

from simfarm.core.errors import ConfigError
from simfarm.store import Run


def matchups(run: Run) -> pl.DataFrame:
    """One row per matchup: key, bots in order, rules as JSON, seed, blocks, games per block, deal."""
    rows = [
        {
            "matchup": key,
            "bots": [bot.name for bot in matchup.bots],
            "rules": json.dumps(matchup.rules.model_dump(mode="json")),
            "seed": matchup.seed,
            "start": matchup.start,
            "stop": matchup.stop,
            "games_per_block": matchup.games,
            "deal": str(matchup.deal),
        }
        for key, matchup in run.matchups().items()
    ]
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "matchup": pl.String,
        "bots": pl.List(pl.String),
        "rules": pl.String,
        "seed": pl.UInt64,
        "start": pl.Int64,
        "stop": pl.Int64,
        "games_per_block": pl.Int64,
        "deal": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def tables(run: Run) -> dict[str, pl.LazyFrame]:
    """All tables of a run by name; optional ones only if the run writes them."""
    names = [table.name for table in run.engine.tables if not table.optional or table.name in run.config.record]
    return {**{name: run.lazy(name) for name in names}, "matchups": matchups(run).lazy()}


def sql(run: Run, statement: str) -> pl.DataFrame:
    """The answer to one SQL statement (polars' dialect) over a run's tables.

    Raises:
        ConfigError: the statement is not understood, or names what is not there.
    """
    frames = tables(run)
    try:
        return pl.SQLContext(frames).execute(statement).collect(engine="streaming")
    except (pl.exceptions.PolarsError, ValueError) as error:
        columns = "; ".join(f"{name}({', '.join(frame.collect_schema())})" for name, frame in frames.items())
        reason = str(error).splitlines()[0]
        raise ConfigError(f"query: {reason}; tables: {columns}") from None
