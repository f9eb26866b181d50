"""``simfarm query``, ``replay`` and ``schema``: look at what is there."""

import json
import shutil
import sys
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from simfarm import query as queries
from simfarm import registry
from simfarm.cli.options import RunPath, open_run
from simfarm.config import json_schema
from simfarm.core.errors import ConfigError, StoreError
from simfarm.core.model import NAME
from simfarm.schema import COMMON
from simfarm.store import Run

_FIRST = 5


class RowFormat(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def query(
    run: RunPath,
    sql: Annotated[
        str | None,
        typer.Argument(help="One SQL statement over the run's tables; without it: what there is to ask."),
    ] = None,
    format: Annotated[RowFormat, typer.Option("--format", "-f", help="How to write rows.")] = RowFormat.TABLE,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file instead of stdout.")] = None,
) -> None:
    """Ask a run's rows in SQL: its engine's tables, and `matchups`, which explains their keys.

    Without SQL it lists the tables with their columns, how many rows they have, and the first of them.

    Examples: simfarm query RUN "select winner_bot, count(*) n from games group by 1 order by n desc"

    simfarm query RUN "select * from games where points > 300" --format parquet --out high.parquet
    """
    opened = open_run(run)
    if sql is None:
        if format is not RowFormat.TABLE or out is not None:
            raise ConfigError("query: --format and --out need an SQL statement")
        _list_tables(opened)
        return
    data = _encoded(queries.sql(opened, sql), format)
    if out is None:
        if format is RowFormat.PARQUET and sys.stdout.isatty():
            raise ConfigError("query: parquet is no text: name a file with --out, or send stdout to one")
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        out.write_bytes(data)
    except OSError as error:
        raise StoreError(f"{out}: cannot be written: {error.strerror}") from None


def _encoded(answer: pl.DataFrame, format: RowFormat) -> bytes:
    """Rows in a format.

    Raises:
        ConfigError: they do not fit into it.
    """
    if format is RowFormat.CSV:
        try:
            return answer.write_csv().encode()
        except pl.exceptions.ComputeError as error:
            raise ConfigError(f"query: as csv: {error}; use --format json") from None
    if format is RowFormat.JSON:
        return answer.write_json().encode() + b"\n"
    if format is RowFormat.PARQUET:
        buffer = BytesIO()
        answer.write_parquet(buffer)
        return buffer.getvalue()
    return (_text(answer) + "\n").encode()


def _text(frame: pl.DataFrame) -> str:
    with pl.Config(
        tbl_rows=200,
        tbl_cols=-1,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        thousands_separator=",",
        fmt_float="full",
        fmt_str_lengths=60,
        tbl_width_chars=shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000,
    ):
        return str(frame)


def _list_tables(run: Run) -> None:
    docs = {table.name: table for table in run.engine.tables}
    for name, frame in queries.tables(run).items():
        rows = frame.select(pl.len()).collect(engine="streaming").item()
        table = docs.get(name)
        print(f"{name}: {rows:,} rows, {table.doc if table is not None else 'one row per matchup'}")
        columns = (
            {column.name: column.doc for column in (*COMMON, *table)} if table is not None else queries.MATCHUPS
        )
        kinds = frame.collect_schema()
        for column, doc in columns.items():
            kind = "text" if kinds[column] in (pl.Categorical, pl.String) else str(kinds[column]).lower()
            print(f"  {column:<20} {kind:<8} {doc}")
        print(_text(frame.head(_FIRST).collect()))
        print()


def replay(
    run: RunPath,
    block: Annotated[int, typer.Option("--block", "-b", help="Index of the block.")],
    matchup: Annotated[
        str | None, typer.Option("--matchup", "-m", help="Key of the matchup, or the start of one.")
    ] = None,
) -> None:
    """Play one block of a run again and show every move.

    It is played with the bots as they were when the run was made, and comes out as it did.
    """
    opened = open_run(run)
    found = {key: value for key, value in opened.matchups().items() if key.startswith(matchup or "")}
    offered = found or opened.matchups()
    if len(found) != 1:
        choices = ", ".join(
            f"{key} ({' '.join(bot.name for bot in value.bots)})" for key, value in list(offered.items())[:8]
        )
        problem = f"{len(found)} matchups fit" if found else f"no matchup starts with {matchup!r}"
        raise ConfigError(f"replay: {problem}; name one with --matchup: {choices}")
    chosen = next(iter(found.values()))
    if not chosen.start <= block < chosen.stop:
        raise ConfigError(f"replay: --block {block}: blocks run from {chosen.start} to {chosen.stop - 1}")
    for line in opened.engine.replay(chosen, block):
        print(line)


def schema(
    tables: Annotated[bool, typer.Option("--tables", help="The columns of every engine's rows instead.")] = False,
) -> None:
    """Print the JSON schema of config files (for editors), or what the columns of rows mean."""
    if not tables:
        print(json.dumps(json_schema(), indent=2))
        return
    for name in registry.engine_names():
        for table in registry.engine(name).tables:
            print(f"{name}.{table.name}: {table.doc}")
            for column in (*COMMON, *table):
                type = "text" if column.type == NAME else str(column.type)
                print(f"  {column.name:<20} {type:<8} {column.doc}")
    print("matchups: one row per matchup, in every run")
    for name, doc in queries.MATCHUPS.items():
        print(f"  {name:<20} {'':<8} {doc}")
