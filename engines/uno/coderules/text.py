"""First layer: the text. What the author wrote, and what it becomes when macros are expanded.

The text as written is judged before any compiler sees it, so that no file but ``proj2.h`` is ever opened for it;
lines with a directive that is not allowed are then left out. The rest is expanded by the compiler itself, with the
flags of the arena, so that a keyword that macros put together is seen as the keyword that it becomes.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from engines.uno.coderules.tokens import Token, tokens
from engines.uno.program import BOT_FLAGS
from simfarm.core.model import Violation
from simfarm.core.native import BOT_LIMITS, CompileError, call_compiler, find_compiler

SOURCE_BYTES = 256 << 10
EXPANDED_BYTES = 2 << 20
FILE = "bot.c"
"""What a source is called while it is checked, whatever its own name."""

HEADER = Path(__file__).parents[1] / "referee" / "proj2.h"
_DIRECTIVES = frozenset(
    ("define", "undef", "include", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "warning")
)
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_UNREADABLE = {
    "\0": "a zero byte; a source is text",
    r"\r(?!\n)": "a carriage return without a newline; end lines with a newline",
    r"\\[ \t\f\v]+\r?\n": "a backslash, spaces and the end of the line; leave out the spaces",
}
"""What compilers do not agree about: such a text is given to none."""
_DIGRAPHS = frozenset(("%:%:", "%:", "<:", ":>", "<%", "%>"))
_BEGIN = "simfarm_author_begins"
"""The token between the interface and the author's text."""
_KEPT_NAMES = re.compile(r"_of_unit\d")
_RESERVED = re.compile(r"_(_.*|[A-Z].*)?")
_NOT_RESERVED = re.compile(
    r"__builtin_\w+|__(inline|const|volatile|signed|restrict|alignof|typeof)(__)?|__extension__|__LINE__"
    r"|__VA_ARGS__|_Bool|_Static_assert|_Generic|_Alignas|_Alignof|_CRT_(SECURE|NONSTDC)_NO_(WARNINGS|DEPRECATE)"
)
"""Keywords, builtins, and what authors on Windows define to silence their compiler."""
_LINE_MARK = re.compile(r'#\s+(\d+)\s+"((?:\\.|[^"\\])*)"')

_WORDS = {
    "static": ("static", "'static' keeps a value from call to call, or hides a function; use locals"),
    "extern": ("extern", "'extern' reaches for what the file does not hold; declare functions without it"),
    **{
        word: ("thread-local", f"'{word}' is storage that outlives the call; use locals")
        for word in ("__thread", "_Thread_local", "thread_local")
    },
    **{
        word: ("assembly", f"'{word}': inline assembly is not allowed; write C")
        for word in ("asm", "__asm", "__asm__")
    },
    **{
        word: ("attribute", f"'{word}': attributes are not allowed; leave it out")
        for word in ("__attribute", "__attribute__", "__declspec")
    },
    "__int128": ("wide-number", "'__int128' is not there on every machine; use long"),
    "_Pragma": ("pragma", "'_Pragma': pragmas are not allowed; leave it out"),
    "__pragma": ("pragma", "'__pragma': pragmas are not allowed; leave it out"),
}
_PRAGMAS = frozenset(("_Pragma", "__pragma"))
_NO_OPERAND = frozenset(("return", "case", "goto", "else", "do", "sizeof"))
_ENDS_TYPE = frozenset(
    ("*", "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "const", "volatile")
)


def written(data: bytes) -> tuple[str, list[Violation]]:
    """Judge the text as written.

    Returns:
        The text that may be given to a compiler: the same lines, those with a forbidden directive empty. A text that
        must not be given to one at all comes back empty. And the broken rules.
    """
    if len(data) > SOURCE_BYTES:
        message = f"the file has {len(data):,} bytes; allowed are {SOURCE_BYTES:,}"
        return "", [Violation("size", 1, message)]
    source = data.decode("latin-1")
    found = list(_spelling(source))
    if any(re.search(pattern, source) for pattern in _UNREADABLE):
        return "", found
    keep, includes = list(source), 0
    for new_line, group in groupby(tokens(source), key=lambda token: token.kind == "newline"):
        line = [] if new_line else list(group)
        problem: tuple[str, str] | None = None
        if line and line[0].value in ("#", "%:"):
            problem = _directive(line[1:])
            if problem is None and len(line) > 1 and line[1].value == "include":
                includes += 1
                if includes > 1:
                    problem = ("include", 'a second include; one of "proj2.h" is all there may be')
        problems = [(line[0], problem)] if problem else []
        problems += [(token, reserved) for token in line if (reserved := _reserved(token))]
        # The preprocessor carries some pragmas out and leaves no mark of them: none may get so far
        problems += [(token, _WORDS[token.value]) for token in line if token.value in _PRAGMAS]
        found += [Violation(rule, token.line, message) for token, (rule, message) in problems]
        if problems and line[0].value in ("#", "%:"):
            for place in range(line[0].start, line[-1].start + len(line[-1].value)):
                keep[place] = "\n" if source[place] == "\n" else " "
    return "".join(keep), found


def _spelling(source: str) -> Iterator[Violation]:
    for pattern, message in _UNREADABLE.items():
        if match := re.search(pattern, source):
            yield Violation("spelling", source.count("\n", 0, match.start()) + 1, message)
    for token in tokens(source):
        if token.value in _DIGRAPHS:
            yield Violation("spelling", token.line, f"'{token.value}' is a digraph; write what it stands for")
        elif token.kind == "mark" and (token.value in "\\`@" or ord(token.value[0]) > 126):
            yield Violation("spelling", token.line, f"{token.value!a} outside of comments and literals")
        elif token.value == "?" or token.kind in ("text", "character"):
            stands = source[token.start : token.start + max(3, len(token.value))]
            if match := _TRIGRAPH.search(stands):
                yield Violation(
                    "spelling", token.line, f"'{match.group()}' is a trigraph; write it in another way"
                )


def _directive(line: list[Token]) -> tuple[str, str] | None:
    """What is wrong with a directive, given its tokens after the ``#``."""
    if not line:
        return None
    name, arguments = line[0].value, [token.value for token in line[1:]]
    if name == "pragma":
        return "pragma", "'#pragma': pragmas are not allowed; leave it out"
    if name.startswith(("include", "import", "embed")):
        if name != "include":
            return "include", f"'#{name}' is not allowed; only #include \"proj2.h\" is"
        if arguments != ['"proj2.h"']:
            shown = "".join(arguments)[:60]
            return "include", f'#include {shown} is not allowed; only #include "proj2.h" is'
    if name not in _DIRECTIVES:
        return "directive", f"'#{name}' is not allowed; allowed: {', '.join(sorted(_DIRECTIVES))}"
    return None


def _reserved(token: Token) -> tuple[str, str] | None:
    """A name by which a text could tell where, when or by what it is compiled, and so be another text there."""
    name = token.value
    if token.kind != "word" or name in _WORDS:
        return None
    if _KEPT_NAMES.search(name) or name.startswith("simfarm_"):
        return "reserved-name", f"'{name}' is a name kept for the arena; choose another"
    if _RESERVED.fullmatch(name) and not _NOT_RESERVED.fullmatch(name):
        return "reserved-name", f"'{name}' is a name of the compiler or its library; write for none of them"
    return None


def expanded(text: str) -> tuple[list[Token], frozenset[str], list[Violation]]:
    """Expand the macros of a text that :func:`written` passed on, and judge what comes out.

    Returns:
        The tokens of the author's part, newlines left out; the names of types that the interface declares; and the
        broken rules. There are no tokens where the text cannot be expanded.
    """
    with tempfile.TemporaryDirectory(prefix="simfarm-rules-") as name:
        folder = Path(name)
        (folder / "proj2.h").write_bytes(HEADER.read_bytes())
        (folder / "begin.h").write_text(_BEGIN + "\n")
        (folder / FILE).write_bytes(text.encode("latin-1"))
        arguments = [*BOT_FLAGS, "-include", "begin.h", "-I.", "-E", FILE, "-o", "bot.i"]
        try:
            call_compiler(find_compiler(), arguments, folder, BOT_LIMITS)
            output = folder / "bot.i"
            size = output.stat().st_size
            whole = output.read_text("latin-1") if size <= 2 * EXPANDED_BYTES else ""
        except CompileError as error:
            return [], frozenset(), compile_violations(error)
    interface, _, author = whole.partition(_BEGIN)
    if len(author) > EXPANDED_BYTES or not whole:
        message = f"with its macros expanded the file has more than {EXPANDED_BYTES:,} bytes"
        return [], frozenset(), [Violation("size", 1, message)]
    found: list[Violation] = []
    own = list(_author_tokens(author, found))
    found += _words(own)
    return own, _type_names(interface), found


def _author_tokens(author: str, found: list[Violation]) -> Iterator[Token]:
    """Follows the line marks that the preprocessor writes; tokens of other files are a broken rule."""
    file, line = FILE, 1
    for row in author.split("\n"):
        if mark := _LINE_MARK.match(row):
            file, line = mark.group(2), int(mark.group(1))
            continue
        if row.lstrip().startswith("#"):
            found.append(Violation("pragma", line, f"'{row.strip()[:60]}': pragmas are not allowed; leave it out"))
            line += 1
            continue
        for token in tokens(row):
            if not file.endswith(FILE):
                found.append(Violation("include", 1, "macros change what proj2.h says; leave its guard alone"))
                break
            yield Token(token.kind, token.value, line, 0)
        line += 1


def _words(own: list[Token]) -> Iterator[Violation]:
    for index, token in enumerate(own):
        after = own[index + 1].value if index + 1 < len(own) else ""
        if token.kind == "word":
            if token.value in _WORDS:
                rule, message = _WORDS[token.value]
                yield Violation(rule, token.line, message)
            elif token.value == "goto" and after == "*":
                yield Violation("computed-goto", token.line, "a computed goto; use switch")
        elif token.value == "[" and after == "[":
            yield Violation("attribute", token.line, "'[[': attributes are not allowed; leave it out")
        elif token.value == "&&" and _takes_label(own, index):
            yield Violation("computed-goto", token.line, f"'&&{after}' is the address of a label; use switch")


def _takes_label(own: list[Token], index: int) -> bool:
    """Whether ``&&`` has no left operand, and so takes the address of a label."""
    if index == 0:
        return True
    before = own[index - 1]
    if before.value == ")":
        return own[index - 2].value in _ENDS_TYPE
    return before.value not in ("]", "}") and (before.kind == "mark" or before.value in _NO_OPERAND)


def _type_names(interface: str) -> frozenset[str]:
    """Names that typedefs of the interface and of the headers that it includes declare."""
    text = "\n".join(row for row in interface.split("\n") if not row.startswith("#"))
    names = re.findall(r"\btypedef\b[^;{}()]*?\b(\w+)\s*;", text) + re.findall(r"\}\s*(\w+)\s*;", text)
    return frozenset(names)


def compile_violations(error: CompileError) -> list[Violation]:
    """The compiler's own errors, each on its line."""
    found = []
    for row in str(error).splitlines():
        match = re.match(rf"(?:\./)?{re.escape(FILE)}:(\d+):(?:\d+:)?\s*(?:fatal )?error: (.*)", row)
        if match:
            found.append(Violation("compile", int(match.group(1)), match.group(2)[:200]))
    return found or [Violation("compile", 1, _outside(str(error)))]


def _outside(message: str) -> str:
    rows: Iterable[str] = (row.strip() for row in message.splitlines())
    return "; ".join(row for row in rows if row)[:200] or "the compiler refused it without saying why"
