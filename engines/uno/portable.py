"""A bot's text for a compiler of another machine: macros expanded as on this one, every integer as wide as here.

WebAssembly's ``long`` has 32 bits and its headers are others, so that one text would be two programs. Only the text
of bots that include nothing but ``proj2.h`` is made over: what other headers declare fits their own machine only.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from engines.uno.coderules.tokens import Token, tokens
from simfarm.core.native import BOT_LIMITS, call_compiler, find_compiler

_BEGIN = "simfarm_author_begins"
_OTHER_INCLUDE = re.compile(rb'^[ \t]*#\s*(?:include|import)(?!\s*"proj2\.h")', re.MULTILINE)
_SPECIFIERS = frozenset(
    ("long", "int", "unsigned", "signed", "short", "double", "const", "volatile", "register", "__extension__")
)
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)([uU]?)([lL]?)([uU]?)")
_MARK = re.compile(r'# (\d+) ("(?:\\.|[^"\\])*")[ \d]*')
_BUILTIN = re.compile(r"__builtin_(?:clz|ctz|clrsb|ffs|parity|popcount)l")


def portable(data: bytes, header: bytes, flags: Sequence[str]) -> bytes:
    """The text made over, its lines marked; or the text itself if it includes other headers.

    Args:
        data: a bot's source.
        header: ``proj2.h``.
        flags: how bots are compiled.

    Raises:
        CompileError: its macros cannot be expanded; the source is called ``bot.c``.
        ToolError: there is no compiler.
    """
    with tempfile.TemporaryDirectory(prefix="simfarm-") as name:
        folder = Path(name)
        (folder / "proj2.h").write_bytes(header)
        (folder / "begin.h").write_text(_BEGIN + "\n")
        (folder / "bot.c").write_bytes(data)
        arguments = [*flags, "-include", "begin.h", "-I.", "-E", "bot.c", "-o", "bot.i"]
        call_compiler(find_compiler(), arguments, folder, BOT_LIMITS)
        # expanded in any case: what cannot be read to its end is refused by a compiler that keeps to its memory
        if _OTHER_INCLUDE.search(data):
            return data
        author = (folder / "bot.i").read_bytes().partition(_BEGIN.encode())[2]
    return "".join(_rows(author.decode("latin-1"))).encode("latin-1")


def _rows(author: str) -> Iterator[str]:
    """The lines that the preprocessor wrote. Its marks become those that authors may write as well."""
    rows = [(row, [] if row.startswith("#") else list(tokens(row))) for row in author.split("\n")]
    flat = [token for _, row in rows for token in row]
    place = 0
    for text, row in rows:
        if text.startswith("#"):
            yield _MARK.sub(r"#line \1 \2", text) + "\n"
            continue
        end = 0
        for number, token in enumerate(row, place):
            yield text[end : token.start] + _wide(flat, number)
            end = token.start + len(token.value)
        yield text[end:] + "\n"
        place += len(row)


def _wide(flat: Sequence[Token], place: int) -> str:
    """A token, or what stands for it where ``long`` has 32 bits."""
    token = flat[place]
    if token.value == "long":
        around = list(_around(flat, place))
        return "long" if "double" in around or around.count("long") > 1 else "long long"
    if token.value in ("labs", "__builtin_labs"):
        return token.value.replace("labs", "llabs")
    if _BUILTIN.fullmatch(token.value):
        return token.value + "l"
    if token.kind == "number" and (match := _INTEGER.fullmatch(token.value)):
        digits, before, length, after = match.groups()
        sign = before or after
        decimal = not digits.startswith("0")
        value = int(digits, 10 if decimal else 8 if re.fullmatch("0[0-7]*", digits) else 0)
        if length or value >= 2 ** (31 if decimal and not sign else 32):
            return f"{digits}{sign}LL"
    return token.value


def _around(flat: Sequence[Token], place: int) -> Iterator[str]:
    """The words that make up one type with the one at ``place``, itself included."""
    first = place
    while first > 0 and flat[first - 1].value in _SPECIFIERS:
        first -= 1
    while first < len(flat) and flat[first].value in _SPECIFIERS:
        yield flat[first].value
        first += 1
