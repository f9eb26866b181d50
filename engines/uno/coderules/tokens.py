"""C source as a sequence of tokens, each with the line on which it stands in the author's file."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<comment>/\*.*?(?:\*/|\Z)|//[^\n]*)
    |(?P<newline>\n)
    |(?P<space>[ \t\f\v\r]+)
    |(?P<text>[LuU]?"(?:\\.|[^"\\\n])*"|u8"(?:\\.|[^"\\\n])*")
    |(?P<character>[LuU]?'(?:\\.|[^'\\\n])+')
    |(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
    |(?P<word>[A-Za-z_$][\w$]*)
    |(?P<mark>%:%:|\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\#\#|<:|:>|<%|%>|%:|.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_SPLICE = re.compile(r"\\\r?\n")


@dataclass(frozen=True, slots=True)
class Token:
    """A token of C, or a newline."""

    kind: str
    """``word``, ``number``, ``text`` (a string literal), ``character``, ``mark`` or ``newline``."""
    value: str
    """Its spelling, line splices removed."""
    line: int
    """Line of its first character, from 1."""
    start: int
    """Offset of its first character, in the text as it was given."""


def tokens(source: str) -> Iterator[Token]:
    """The tokens of a source: line splices are joined, comments and spaces left out, newlines are tokens.

    Quotes without a partner are marks, as in the text of ``#error``.
    """
    newlines = [match.start() for match in re.finditer("\n", source)]
    joined, places, end, length = [], [(0, 0)], 0, 0
    for match in _SPLICE.finditer(source):
        joined.append(source[end : match.start()])
        length += match.start() - end
        end = match.end()
        places.append((length, end))
    joined.append(source[end:])
    for match in _TOKEN.finditer("".join(joined)):
        if match.lastgroup in ("comment", "space"):
            continue
        at, original = places[bisect_right(places, match.start(), key=lambda place: place[0]) - 1]
        start = original + match.start() - at
        yield Token(match.lastgroup or "", match.group(), bisect_right(newlines, start - 1) + 1, start)
