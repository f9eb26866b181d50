"""Third layer: the proof. What the compiler makes of a source holds nothing that a bot must not have.

The bot is compiled as for a ring, with two things more. Every jump and call through a value is made to ask for a
symbol, so that it shows among the undefined ones (x86-64 only), and the assembly text is kept, where inline assembly
is marked, so that the assembler never sees it. The compiler also tells of which functions it cannot know the stack.
The object file is then read with pyelftools.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from engines.uno.coderules.rules import LIBRARY, refusal
from engines.uno.coderules.text import FILE, HEADER, compile_violations
from engines.uno.program import BOT_FLAGS
from simfarm.core.model import Violation
from simfarm.core.native import BOT_LIMITS, CompileError, Compiler, call_compiler, find_compiler

_ALONE = ("-U_FORTIFY_SOURCE", "-fno-stack-protector", "-fno-jump-tables", "-g0")
_THUNK = "__x86_indirect_thunk_"
_HELPERS = re.compile(
    r"__(popcount|parity|clz|ctz|ffs|bswap|u?div|u?mod|u?divmod|mul|ash[lr]|lshr|u?cmp)[sdt]i[234]"
)
"""Functions of the compiler's own library for arithmetic that the machine lacks."""
_SECTIONS = re.compile(
    r"(\.rela?)?\.(text|rodata|eh_frame)(\..+)?|\.(data|bss|comment|symtab|symtab_shndx|strtab|shstrtab|llvm_addrsig)"
    r"|\.note\.(GNU-stack|gnu\.property)"
)
_STATEMENT = re.compile(
    r"(?:^|;)\s*(\.(?:inc\w+|macro|irpc?|rept|altmacro|popsection|pushsection|symver))\b", re.M
)
_STACK = re.compile(rf"^(?:\./)?{re.escape(FILE)}:(\d+)(?::\d+)?:([^\t]+)\t\d+\t(\S+)$", re.M)
_WRITE, _ALLOCATED, _EXECUTE = 1, 2, 4


def object_violations(text: str, alias: str) -> list[Violation]:
    """Compile a source alone and judge the object file.

    Args:
        text: the source; one that the layer before passed on.
        alias: what the names of its functions begin with, underscore apart.
    """
    with tempfile.TemporaryDirectory(prefix="simfarm-rules-") as name:
        folder = Path(name)
        (folder / "proj2.h").write_bytes(HEADER.read_bytes())
        (folder / FILE).write_bytes(text.encode("latin-1"))
        compiler = find_compiler()
        flags = [*BOT_FLAGS, *_ALONE, *_proof_flags(compiler), "-fstack-usage", "-I."]
        try:
            call_compiler(compiler, [*flags, "-S", FILE, "-o", "bot.s"], folder, BOT_LIMITS)
            if found := list(_assembly((folder / "bot.s").read_text("latin-1"))):
                return found
            usage = folder / "bot.su"
            unbounded = list(_unbounded(usage.read_text("latin-1"))) if usage.exists() else []
            call_compiler(compiler, ["-g0", "-c", "bot.s", "-o", "bot.o"], folder, BOT_LIMITS)
        except CompileError as error:
            return compile_violations(error)
        with (folder / "bot.o").open("rb") as file:
            try:
                judged = sorted(set(_judge(ELFFile(file), alias)))
            except ELFError as error:
                return [Violation("section", 1, f"the object file cannot be read: {error}")]
    return unbounded + [Violation(rule, _line_of(text, symbol), message) for rule, symbol, message in judged]


def _proof_flags(compiler: Compiler) -> tuple[str, ...]:
    """Flags that keep assembly in the listing and have indirect calls and jumps ask for an undefined symbol."""
    # Clang otherwise carries out assembly outside functions itself and leaves no mark of it
    clang = "clang" in compiler.version
    marks = ("-fno-integrated-as",) if clang else ()
    if os.uname().machine != "x86_64":
        return marks
    if clang:
        return (*marks, "-mretpoline", "-mretpoline-external-thunk")
    return ("-mindirect-branch=thunk-extern", "-fcf-protection=none")


def _assembly(listing: str) -> Iterator[Violation]:
    if re.search(r"^\s*#\s*APP\b", listing, re.MULTILINE):
        yield Violation("assembly", 1, "the compiled file holds inline assembly; write C")
    code = re.sub(r'"(?:\\.|[^"\\])*"', '""', listing)
    for match in _STATEMENT.finditer(code):
        yield Violation("assembly", 1, f"the assembler would carry out '{match.group(1)}'; write C")


def _unbounded(usage: str) -> Iterator[Violation]:
    """Functions whose stack the compiler could not measure, from what it says of each (GCC; clang from 13)."""
    for line, function, kind in _STACK.findall(usage):
        if kind == "dynamic":
            message = f"{function}() takes room on its stack as it runs; give arrays a constant size"
            yield Violation("variable-length", int(line), message)


def _judge(elf: ELFFile, alias: str) -> Iterator[tuple[str, str, str]]:
    """Broken rules as (name, symbol, message)."""
    names = []
    for section in elf.iter_sections():
        flags, kind, name = section["sh_flags"], section["sh_type"], section.name
        names.append(name)
        if kind == "SHT_NULL":
            continue
        if not _SECTIONS.fullmatch(name):
            yield "section", "", f"the object file has a section {name!a}; allowed are code and constants"
        elif flags & _WRITE and section["sh_size"]:
            yield "writable-data", "", f"the object file has {section['sh_size']} bytes of writable data in {name}"
        elif flags & _EXECUTE and not name.startswith(".text") and flags & _ALLOCATED:
            yield "section", "", f"section {name} holds code; only .text may"
        if name == ".note.GNU-stack" and flags & _EXECUTE:
            yield "section", "", "the stack would hold code: a function within a function; take it out"
        if isinstance(section, RelocationSection) and elf.get_section(section["sh_info"]).name.startswith(
            ".rodata"
        ):
            yield "section", "", "a constant holds an address; only values may be in constants"
    tables = [table for table in elf.iter_sections() if isinstance(table, SymbolTableSection)]
    symbols = [symbol for table in tables for symbol in table.iter_symbols()]
    for symbol in symbols:
        yield from _judge_symbol(symbol.name, symbol.entry, names, alias)
    entry = f"{alias}_Play"
    if not any(symbol.name == entry and symbol.entry["st_info"]["type"] == "STT_FUNC" for symbol in symbols):
        yield "entry", "", f"the object file has no function {entry}(); define it"


def _judge_symbol(
    name: str, entry: Mapping[str, Any], sections: list[str], alias: str
) -> Iterator[tuple[str, str, str]]:
    info, place = entry["st_info"], entry["st_shndx"]
    kind, bind = info["type"], info["bind"]
    if kind in ("STT_FILE", "STT_SECTION") or not name:
        return
    if place == "SHN_UNDEF":
        if name.startswith(_THUNK):
            yield "indirect-call", "", "the code calls or jumps through a value; name the function, use switch"
        elif name not in LIBRARY and name != "_GLOBAL_OFFSET_TABLE_" and not _HELPERS.fullmatch(name):
            yield "undefined-symbol", name, refusal(name)
        return
    if kind == "STT_TLS":
        yield "thread-local", name, f"'{name}' is thread-local storage; use locals"
    elif not isinstance(place, int) or sections[place].startswith((".data", ".bss")):
        yield "writable-data", name, f"'{name}' keeps a value from call to call; use locals"
    elif kind == "STT_FUNC" and bind == "STB_GLOBAL":
        if not name.startswith(f"{alias}_"):
            yield "prefix", name, f"{name}() must begin with the alias: {alias}_{name}"
    elif kind == "STT_FUNC" and bind == "STB_LOCAL" and not name.startswith(f"{alias}_"):
        yield "static", name, f"{name}() is hidden from the arena; leave out 'static'"
    elif kind != "STT_FUNC" and bind != "STB_LOCAL":
        yield "global", name, f"'{name}' is a constant outside functions; move it into the function"
    elif bind not in ("STB_LOCAL", "STB_GLOBAL") or kind not in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE"):
        yield "section", name, f"'{name}' is a symbol of a kind that no plain function or constant has"


def _line_of(text: str, symbol: str) -> int:
    """The first line that names a symbol, for a static local without what the compiler adds to its name; else 1."""
    parts = [part for part in symbol.split(".") if part and not part.isdigit()]
    match = re.search(rf"\b{re.escape(parts[-1])}\b", text) if parts else None
    return text.count("\n", 0, match.start()) + 1 if match else 1
