"""Second layer: the parse tree of the expanded text, made by pycparser.

The parser takes no more than it knows, so whatever passes has been understood. It runs as a program of its own,
within limits of time and memory, for it is given text that was made to hurt: ``python -m engines.uno.coderules.tree``
reads ``{"tokens": [[kind, value, line], ...], "types": [...]}`` and writes what :func:`judge` returns.
"""

import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast, c_parser
from pycparser.c_lexer import CLexer

from engines.uno.coderules.rules import BUILTINS, LIBRARY, refusal
from engines.uno.coderules.tokens import Token

SECONDS = 20
BYTES = 2 << 30
DEPTH = 20_000
"""Calls of the parser within each other; an ``if`` in an ``if`` takes about four, a pair of parentheses about ten."""

Found = list[tuple[str, int, str]]
"""Broken rules: name, line, message."""

_PLAIN = {
    **dict.fromkeys(("__inline", "__inline__"), "inline"),
    **dict.fromkeys(("__const", "__const__"), "const"),
    **dict.fromkeys(("__volatile", "__volatile__"), "volatile"),
    **dict.fromkeys(("__signed", "__signed__"), "signed"),
    **dict.fromkeys(("__restrict", "__restrict__"), "restrict"),
    **dict.fromkeys(("__alignof", "__alignof__"), "sizeof"),
    **dict.fromkeys(("__extension__", "__thread"), ""),
    "__builtin_offsetof": "offsetof",
    "__int128": "long",
}
_TYPEOF = frozenset(("typeof", "__typeof", "__typeof__"))
_LEFT_OUT = frozenset(("asm", "__asm", "__asm__", "__attribute", "__attribute__", "__declspec"))
_QUALIFIERS = frozenset(("volatile", "__volatile__", "__volatile", "goto", "inline"))
_POSITION = re.compile(r"(?::(\d+):\d+)?: ?(.*)", re.DOTALL)


def tree_violations(own: Sequence[Token], types: frozenset[str]) -> Found:
    """:func:`judge` in a process of its own, within limits."""
    text = json.dumps({"tokens": [[token.kind, token.value, token.line] for token in own], "types": sorted(types)})
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__],
        input=text,
        capture_output=True,
        text=True,
        preexec_fn=_limit,
        check=False,
    )
    if done.returncode == 0:
        return [(rule, line, message) for rule, line, message in json.loads(done.stdout)]
    if done.returncode > 0 and not done.stderr.rstrip().endswith("MemoryError"):
        raise RuntimeError(f"the parser of the code rules failed: {done.stderr[-2000:]}")
    return [("nesting", 1, f"the file cannot be read within {SECONDS} s and {BYTES >> 30} GiB; write it plainer")]


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def judge(own: Sequence[Token], types: frozenset[str]) -> Found:
    """Parse the expanded text and judge its tree.

    Args:
        own: the tokens of the author's part.
        types: names that the interface declares as types.
    """
    prelude = "".join(f"typedef int {name};\n" for name in sorted(types))
    parser = c_parser.CParser(lexer=_Lexer)
    try:
        tree = parser.parse(prelude + "\n".join(_plain(own)) + "\n", "bot.c")
    except RecursionError:
        return [("nesting", 1, "statements or expressions are nested too deep; a few hundred levels are allowed")]
    except (c_parser.ParseError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        match = _POSITION.fullmatch(str(error).removeprefix("bot.c"))
        assert isinstance(parser.clex, _Lexer)
        line = int(match.group(1)) if match and match.group(1) else parser.clex.reached
        what = match.group(2) if match else "a construct that the parser does not know"
        return [("unreadable", line, f"cannot be read as C here ({what.strip()[:80]})")]
    return sorted(set(_Judge(tree, len(types)).found), key=lambda one: one[1:])


def _plain(own: Sequence[Token]) -> Iterator[str]:
    """Rows for the parser, with line marks; what GNU C adds is rewritten to plain C of the same names and calls."""
    row: list[str] = []
    closing: list[int] = []  # where a parenthesis is added, the innermost last
    line, index = 0, 0
    while index < len(own):
        token = own[index]
        if token.line != line:
            yield " ".join(row)
            row, line = [], token.line
            yield f'#line {line} "bot.c"'
        following = own[index + 1].value if index + 1 < len(own) else ""
        index += 1
        if token.value in _LEFT_OUT:
            while index < len(own) and own[index].value in _QUALIFIERS:
                index += 1
            index = _after_parentheses(own, index)
        elif token.value in _TYPEOF:
            # a specifier that the parser knows, in which it reads where the type is taken from
            row.append("int _Alignas ( sizeof")
            closing.append(_after_parentheses(own, index))
        elif token.value == "?" and following == ":":
            row += ["?", "0"]  # `a ?: b`
        elif token.value == "..." and following != ")":
            row.append("+")  # a range in `case 1 ... 3:` or `[0 ... 3] = 1`
        else:
            row.append(_PLAIN.get(token.value, token.value))
        while closing and index >= closing[-1]:
            row.append(")")
            closing.pop()
    yield " ".join(row)


def _after_parentheses(own: Sequence[Token], index: int) -> int:
    depth = 0
    while index < len(own):
        depth += {"(": 1, ")": -1}.get(own[index].value, 0)
        if depth <= 0:
            return index + 1 if own[index].value == ")" else index
        index += 1
    return index


class _Lexer(CLexer):  # type: ignore[misc]
    """Knows how far the parser has come, for errors that do not say where they are."""

    reached = 1

    def token(self) -> Any:
        """The next token."""
        token = super().token()
        if token is not None:
            self.reached = token.lineno
        return token


class _Judge:
    """Goes over a tree once, without recursion."""

    def __init__(self, tree: c_ast.FileAST, prelude: int) -> None:
        self.found: Found = []
        outer = tree.ext[prelude:]
        nodes = list(_walk(outer))
        self.defined = {node.decl.name for node in outer if isinstance(node, c_ast.FuncDef)}
        self.declared = {node.name for node, _ in nodes if isinstance(node, c_ast.Decl | c_ast.Enumerator)}
        self.declared |= {
            name.name
            for node, _ in nodes
            if isinstance(node, c_ast.FuncDecl) and node.args
            for name in node.args.params
            if isinstance(name, c_ast.ID)
        }
        self.promised = {
            node.name
            for node, _ in nodes
            if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)
        } - self.defined
        self.constants = {node.name for node, _ in nodes if isinstance(node, c_ast.Enumerator)}
        for node in outer:
            self.outer(node)
        self.entry(outer)
        for node, parents in nodes:
            if (look := getattr(self, f"see_{type(node).__name__}", None)) is not None:
                look(node, parents)

    def add(self, rule: str, node: c_ast.Node, message: str) -> None:
        """Note a broken rule where a node stands."""
        inner = node
        while inner.coord is None and isinstance(inner, c_ast.Decl | c_ast.FuncDecl | c_ast.PtrDecl):
            inner = inner.type
        self.found.append((rule, inner.coord.line if inner.coord else 1, message))

    def outer(self, node: c_ast.Node) -> None:
        """What stands outside functions: functions, types, and variables that must not be there."""
        if isinstance(node, c_ast.Decl) and node.name and not isinstance(node.type, c_ast.FuncDecl):
            kind = "constant" if "const" in _quals(node) else "variable"
            self.add("global", node, f"'{node.name}' is a {kind} outside functions; move it into the function")

    def entry(self, outer: Sequence[c_ast.Node]) -> None:
        """The one function that the arena calls, and the names of all others."""
        functions = [node for node in outer if isinstance(node, c_ast.FuncDef)]
        entries = [node for node in functions if node.decl.name.endswith("_Play") and _takes_state(node)]
        if not entries:
            self.no_entry(functions)
            return
        alias = entries[0].decl.name.removesuffix("_Play")
        for more in entries[1:]:
            self.add("entry", more, f"a second entry {more.decl.name}() beside {alias}_Play(); one is allowed")
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", alias):
            self.add("entry", entries[0], f"the alias {alias!r} must begin with a letter")
        if not _is_entry(entries[0].decl):
            name = f"{alias}_Play"
            self.add("entry", entries[0], f"{name}() must be declared 'int {name}(GameState *state)'")
        for node, _ in _walk(outer):
            is_function = isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)
            if is_function and node.name not in LIBRARY and not node.name.startswith(f"{alias}_"):
                self.add("prefix", node, f"{node.name}() must begin with the alias: {alias}_{node.name}")

    def no_entry(self, functions: Sequence[c_ast.FuncDef]) -> None:
        """Nothing is the entry: say of the functions that look like it what they lack."""
        near = [node for node in functions if node.decl.name.lower().endswith("play")]
        for node in near:
            name = node.decl.name
            rest = name[:-4].rstrip("_") or "alias"
            lacks = (
                f"takes no GameState *; declare 'int {name}(GameState *state)'"
                if name.endswith("_Play")
                else f"is not called alias_Play; call it {rest}_Play"
            )
            self.add("entry", node, f"{name}() {lacks}")
        if not near:
            self.found.append(("entry", 1, "there is no function 'int alias_Play(GameState *)'; define one"))

    def see_Decl(self, node: c_ast.Decl, parents: "_Parents") -> None:
        """Parameters that are functions."""
        if isinstance(node.type, c_ast.FuncDecl) and parents and isinstance(parents[0], c_ast.ParamList):
            self.add(
                "function-pointer", node, f"the parameter {node.name!r} is a function; call functions by name"
            )

    def see_Typedef(self, node: c_ast.Typedef, parents: "_Parents") -> None:
        """A name for a type of functions hides pointers to functions."""
        if isinstance(node.type, c_ast.FuncDecl):
            self.add("function-pointer", node, f"'{node.name}' is a type of functions; call functions by name")

    def see_Typename(self, node: c_ast.Typename, parents: "_Parents") -> None:
        """Type names of casts and of sizeof."""
        if isinstance(node.type, c_ast.FuncDecl):
            self.add("function-pointer", node, "a type of functions; call functions by name")

    def see_PtrDecl(self, node: c_ast.PtrDecl, parents: "_Parents") -> None:
        """Pointers to functions."""
        if isinstance(node.type, c_ast.FuncDecl):
            self.add("function-pointer", node, "a pointer to a function; call functions by name")

    def see_ArrayDecl(self, node: c_ast.ArrayDecl, parents: "_Parents") -> None:
        """Arrays of a size that is known when compiling; in a parameter no array is made."""
        if node.dim is None or any(isinstance(parent, c_ast.ParamList) for parent in parents):
            return
        for part, within in _walk([node.dim]):
            measured = any(isinstance(one, c_ast.UnaryOp) and one.op == "sizeof" for one in within)
            field = bool(within) and isinstance(within[0], c_ast.StructRef) and within[0].field is part
            varies = isinstance(part, c_ast.ID) and part.name not in self.constants and not measured and not field
            if varies and not any(isinstance(one, c_ast.FuncCall) for one in within):
                self.add(
                    "variable-length", part, f"the size depends on '{part.name}'; use a constant, as MAX_CARDS"
                )
            if isinstance(part, c_ast.FuncCall) and not measured:
                self.add("variable-length", part, "the size depends on a call; use a constant, as MAX_CARDS")

    def see_FuncCall(self, node: c_ast.FuncCall, parents: "_Parents") -> None:
        """Calls of functions of the file, and of those that the rules list."""
        if not isinstance(node.name, c_ast.ID):
            self.add("indirect-call", node, "a call through a value; call functions by name")
            return
        name = node.name.name
        if name in self.defined or name in LIBRARY or name in BUILTINS or _is_offsetof(node):
            return
        if name in self.promised:
            self.add("call", node, f"{name}() is declared and not defined in this file")
        elif name in self.declared:
            self.add("indirect-call", node, f"'{name}' is no function of the file; call functions by name")
        else:
            self.add("call", node, refusal(name))

    def see_ID(self, node: c_ast.ID, parents: "_Parents") -> None:
        """Names: of functions only where they are called, of objects only those of the file."""
        parent = parents[0] if parents else None
        if isinstance(parent, c_ast.FuncCall) and parent.name is node:
            return
        if isinstance(parent, c_ast.StructRef) and parent.field is node:
            return
        if isinstance(parent, c_ast.NamedInitializer | c_ast.ParamList):
            return
        if any(isinstance(one, c_ast.FuncCall) and _is_offsetof(one) for one in parents):
            return
        if node.name in self.defined or node.name in LIBRARY or node.name in BUILTINS:
            self.add("function-pointer", node, f"{node.name} is named without a call; call functions by name")
        elif node.name not in self.declared:
            self.add("outside-name", node, f"'{node.name}' is not declared in this file; use what proj2.h gives")

    def see_IdentifierType(self, node: c_ast.IdentifierType, parents: "_Parents") -> None:
        """Numbers that are others elsewhere."""
        if "long" in node.names and "double" in node.names:
            self.add("wide-number", node, "'long double' is another number on other machines; use double")

    def see_Constant(self, node: c_ast.Constant, parents: "_Parents") -> None:
        """String literals: only as the first content of a char array. Constants that are long double."""
        if node.type == "long double":
            self.add("wide-number", node, f"{node.value} is a long double; leave out the letter at its end")
        if node.type != "string" and not node.value.endswith('"'):
            return
        if parents and isinstance(parents[0], c_ast.StaticAssert):
            return
        holders = [parent for parent in parents if not isinstance(parent, c_ast.InitList | c_ast.NamedInitializer)]
        holder = holders[0] if holders else None
        if isinstance(holder, c_ast.Decl) and isinstance(holder.type, c_ast.ArrayDecl):
            inner = holder.type
            while isinstance(inner, c_ast.ArrayDecl):
                inner = inner.type
            if not isinstance(inner, c_ast.PtrDecl):
                return
        self.add(
            "string-literal", node, 'a string literal; it may only fill a local array, as char name[] = "text"'
        )


_Parents = tuple[c_ast.Node, ...]


def _walk(roots: Sequence[c_ast.Node]) -> Iterator[tuple[c_ast.Node, _Parents]]:
    """All nodes in the order of the text, each with its nearest ancestors, the closest first."""
    waiting: list[tuple[c_ast.Node, _Parents]] = [(root, ()) for root in reversed(roots)]
    while waiting:
        node, parents = waiting.pop()
        yield node, parents
        within = (node, *parents[:7])
        waiting += [(child, within) for child in getattr(node, "align", None) or ()]
        waiting += [(child, within) for _, child in reversed(node.children())]


def _quals(node: c_ast.Decl) -> list[str]:
    inner: c_ast.Node = node.type
    while isinstance(inner, c_ast.ArrayDecl):
        inner = inner.type
    return list(getattr(inner, "quals", [])) + list(node.quals)


def _takes_state(function: c_ast.FuncDef) -> bool:
    """Whether a GameState is among what is passed; parameters may be declared behind the list, as of old."""
    roots = [function.decl, *(function.param_decls or ())]
    return any(isinstance(node, c_ast.IdentifierType) and "GameState" in node.names for node, _ in _walk(roots))


def _is_entry(decl: c_ast.Decl) -> bool:
    """Whether a function is declared as ``int f(GameState *)``."""
    returns, parameters = decl.type.type, decl.type.args.params if decl.type.args else []
    if (
        len(parameters) != 1
        or not isinstance(returns, c_ast.TypeDecl)
        or not isinstance(parameters[0], c_ast.Decl)
    ):
        return False
    pointer = parameters[0].type
    return (
        getattr(returns.type, "names", None) in (["int"], ["signed"], ["signed", "int"])
        and isinstance(pointer, c_ast.PtrDecl)
        and isinstance(pointer.type, c_ast.TypeDecl)
        and getattr(pointer.type.type, "names", None) == ["GameState"]
    )


def _is_offsetof(call: c_ast.FuncCall) -> bool:
    return isinstance(call.name, c_ast.ID) and call.name.name == "offsetof"


def main() -> None:
    """The program: see the head of this file."""
    sys.setrecursionlimit(DEPTH)
    asked = json.load(sys.stdin)
    own = [Token(kind, value, line, 0) for kind, value, line in asked["tokens"]]
    json.dump(judge(own, frozenset(asked["types"])), sys.stdout)


if __name__ == "__main__":
    main()
