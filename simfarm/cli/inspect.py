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

_LONGEST = 60


class RowFormat(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def query(
    run: RunPath,
    sql: Annotated[
        str | None, typer.Argument(help="One SQL statement over the run's tables; without it they are listed.")
    ] = None,
    format: Annotated[RowFormat, typer.Option("--format", "-f", help="How to write rows.")] = RowFormat.TABLE,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write them there instead of to stdout.")
    ] = None,
) -> None:
    """Ask a run's rows in SQL: its engine's tables, and `matchups`, which explains their keys.

    Example: simfarm query RUN "select winner_bot, count(*) n from games group by 1 order by n desc"
    """
    if format is RowFormat.PARQUET and out is None and sys.stdout.isatty():
        raise ConfigError("query: parquet is not for a terminal: name a file with --out")
    opened = open_run(run)
    answer = queries.contents(opened) if sql is None else queries.sql(opened, sql)
    written = _written(answer, format, longest=_LONGEST if sql is not None else None)
    if out is None:
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()
        return
    try:
        out.write_bytes(written)
    except OSError as error:
        raise StoreError(f"{out}: cannot be written: {error.strerror}") from None


def _written(answer: pl.DataFrame, format: RowFormat, longest: int | None) -> bytes:
    """Rows in a format; a table shows that many letters of a text.

    Raises:
        ConfigError: the format cannot hold them.
    """
    if format is RowFormat.PARQUET:
        file = BytesIO()
        answer.write_parquet(file)
        return file.getvalue()
    if format is RowFormat.JSON:
        return answer.write_json().encode() + b"\n"
    if format is RowFormat.CSV:
        try:
            return answer.write_csv().encode()
        except pl.exceptions.ComputeError as error:
            raise ConfigError(f"query: as csv: {error}; use --format json") from None
    with pl.Config(
        tbl_rows=200,
        tbl_cols=-1,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        thousands_separator=",",
        fmt_str_lengths=longest or sys.maxsize,
        tbl_width_chars=shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000,
    ):
        return f"{answer}\n".encode()


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
