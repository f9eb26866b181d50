"""A report as a value, and its three forms: text for a terminal, Markdown, JSON.

Whoever makes a report formats each figure once, as a cell, and puts the figure itself into ``data``; text and
Markdown show the same cells, JSON the data.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~])")


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a table's column."""

    head: str
    right: bool = False
    """Whether cells stand at the right, as numbers do."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of cells that are formatted already."""

    title: str
    """May be empty where the report's title says enough."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    """One cell per column in each row."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r}: {len(row)} cells for {len(self.columns)} columns: {row}")


@dataclass(frozen=True, slots=True)
class Report:
    """A title, paragraphs, tables, and the same figures as JSON-ready data."""

    title: str
    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...]
    data: Mapping[str, Any]

    def text(self, console: Console) -> None:
        """Print the report. Nothing in it is taken for console markup, and no word or number is cut: a table that
        does not fit into the console is printed wider."""
        console.print(Text(self.title, style="bold"))
        for paragraph in self.paragraphs:
            console.print(Padding(Text(paragraph), (1, 0, 0, 0)))
        for table in self.tables:
            console.print()
            console.print(_rich(table), crop=False)

    def markdown(self) -> str:
        """The report as Markdown, tables as on GitHub."""
        parts = [f"# {_escape(self.title)}", *(_escape(paragraph) for paragraph in self.paragraphs)]
        for table in self.tables:
            parts += [f"## {_escape(table.title)}"] if table.title else []
            parts.append(_markdown(table))
        return "\n\n".join(parts)

    def json(self) -> str:
        """The data as strict JSON: no NaN, no infinity.

        Raises:
            ValueError: the data holds a number that JSON does not have.
        """
        return json.dumps(self.data, indent=2, ensure_ascii=False, allow_nan=False)


def number(value: float | None, digits: int = 0, signed: bool = False) -> str:
    """A number as a cell: thousands separated, a fixed number of decimals, a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:{'+' if signed else ''},.{digits}f}"


def significant(value: float | None) -> str:
    """A number of any size as a cell: four significant digits at least, thousands separated."""
    if value is None:
        return "-"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def capital(text: str) -> str:
    """A text with a capital in front, as a sentence or a title begins."""
    return text[:1].upper() + text[1:]


def _rich(table: Table) -> RichTable:
    title = Text(table.title, style="bold") if table.title else None
    grid = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(table.columns):
        # Fold between words only: part of a number reads as another number, part of a name as another bot.
        words = " ".join([column.head, *(row[index] for row in table.rows)]).split()
        width = max(map(len, words), default=1)
        grid.add_column(Text(column.head), justify="right" if column.right else "left", min_width=width)
    for row in table.rows:
        grid.add_row(*(Text(cell) for cell in row))
    return grid


def _markdown(table: Table) -> str:
    lines = [
        [_escape(column.head) for column in table.columns],
        ["---:" if column.right else "---" for column in table.columns],
        *([_escape(cell) for cell in row] for row in table.rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.splitlines()))
