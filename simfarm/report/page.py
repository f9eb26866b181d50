"""A page as a value: sections of words, figures and tables, in the order in which they are read."""

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass

from simfarm.report.figure import Figure
from simfarm.report.render import Column, Table

MOST_ROWS = 30
"""Rows of a chart at most; the table below has more."""
MOST_TABLE = 200
"""Rows of a table at most; the other forms of a report have them all."""
_TEXTS = ("bot", "line", "verdict", "bots by seat")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page with a heading of its own."""

    name: str
    """Letters, digits and dashes: its place in the page's address."""
    title: str
    paragraphs: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    """Short statements, shown as a list."""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    code: tuple[tuple[str, str], ...] = ()
    """Texts to be copied as they are, each with a sentence in front."""

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.paragraphs or self.points or self.figures or self.tables or self.code)


def numbers(heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    """The numbers of a figure: columns of names at the left, the others at the right, as many rows as fit."""
    columns = tuple(Column(head, right=head not in _TEXTS) for head in heads)
    return Table("", columns, tuple(rows[:MOST_TABLE]))


def cut(all: Sized, shown: Sized) -> str:
    """What a figure's text says at its end where not all is drawn."""
    return f"; the first {len(shown)} of {len(all)} are drawn" if len(shown) < len(all) else ""


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that a page shows."""

    title: str
    summary: str
    """What it is of, in a line."""
    sections: tuple[Section, ...]
    """None of them empty."""

    def figures(self) -> Iterator[Figure]:
        """Every figure, in order."""
        for section in self.sections:
            yield from section.figures
