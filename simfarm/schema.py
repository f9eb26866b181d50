"""Row schemas: the columns that every table has, and how an engine's tables become Arrow schemas.

``SCHEMA_VERSION`` rises when the common columns or their encoding change; it is part of every cell and of
every Parquet part, and a golden test holds the schemas still.
"""

import pyarrow as pa

from simfarm.core.model import NAME, Column, Table

SCHEMA_VERSION = 1

COMMON = (
    Column("matchup", NAME, "key of the matchup, 16 hex digits; the table `matchups` explains it"),
    Column("block", pa.uint32(), "index of the block within its matchup"),
)


def arrow_schema(table: Table, engine: str, version: int) -> pa.Schema:
    """The Arrow schema of a table, versions in its metadata.

    Args:
        table: an engine's table.
        engine: the engine's name.
        version: the engine's rules version.
    """
    fields = [pa.field(column.name, column.type) for column in (*COMMON, *table)]
    metadata: dict[str | bytes, str | bytes] = {
        "simfarm.schema": str(SCHEMA_VERSION),
        "simfarm.engine": engine,
        "simfarm.engine_version": str(version),
        "simfarm.table": table.name,
    }
    return pa.schema(fields, metadata=metadata)


def complete(rows: pa.Table, schema: pa.Schema, matchup_key: str) -> pa.Table:
    """Put the matchup's key in front of an engine's rows and hold them to their schema.

    Args:
        rows: ``block`` and the table's columns, in any order.
        schema: from :func:`arrow_schema`.
        matchup_key: 16 hex digits.

    Raises:
        ValueError: a column is missing, surplus or of a type that does not fit.
    """
    zeros = pa.repeat(pa.scalar(0, pa.int16()), rows.num_rows)
    rows = rows.append_column("matchup", pa.DictionaryArray.from_arrays(zeros, pa.array([matchup_key])))
    if sorted(rows.column_names) != sorted(schema.names):
        raise ValueError(f"the engine's columns {rows.column_names} are not the schema's {schema.names}")
    return rows.select(schema.names).cast(schema)
