"""Native builds: one per content, whole or not at all, within limits, and clear words when there is no compiler."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simfarm.core import native
from simfarm.core.errors import ToolError

MAIN = b"int printf(const char *, ...); int main(void) { printf(WORD); return 0; }"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("SIMFARM_CACHE", str(folder))
    return folder


def build(word: str = "yes", source: bytes = MAIN, limits: native.Limits = native.OWN_LIMITS) -> Path:
    unit = native.Unit("main.c", ("-O2", f'-DWORD="{word}"'))
    return native.build({"main.c": source}, [unit], limits=limits)


def test_equal_content_is_built_once_and_anything_else_again(cache: Path) -> None:
    first = build()
    assert subprocess.run([first], capture_output=True, check=True).stdout == b"yes"
    before = first.stat().st_mtime_ns
    assert build() == first
    assert first.stat().st_mtime_ns == before
    assert build("no") != first, "flags are part of the key"
    assert build(source=MAIN + b" ") != first, "sources are part of the key"
    assert len(list((cache / "native").iterdir())) == 3


def test_another_compiler_is_another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    first = build()
    known = native.find_compiler()
    monkeypatch.setattr(native, "find_compiler", lambda: native.Compiler(known.command, known.version + " "))
    assert build() != first


def test_a_compile_error_leaves_nothing_and_says_where(cache: Path) -> None:
    with pytest.raises(native.CompileError, match=r"main\.c:1:\d+: error: "):
        build(source=b"int main(void) { return nothing; }")
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_a_compiler_that_takes_for_ever_is_ended() -> None:
    growing = b"#define A(x) x x x x x x x x\nint y = A(A(A(A(A(A(A(A(A(A(A(A(1))))))))))));\n"
    with pytest.raises(native.CompileError, match=r"^the compiler did not finish within 1 s of CPU time$"):
        build(source=growing, limits=native.Limits(cpu_seconds=1, memory=8 << 30))


def is_read(pipe: Path) -> bool:
    """Whether anybody has a named pipe open for reading: it refuses a writer that does not wait otherwise."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def test_a_compiler_that_waits_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never.h")
    source = f'#include "{tmp_path}/never.h"\n'.encode()
    with pytest.raises(native.CompileError, match=r"^the compiler did not finish within 0\.5 s$"):
        build(source=source, limits=native.Limits(wall_seconds=0.5))
    deadline = time.monotonic() + 20
    while is_read(tmp_path / "never.h"):
        assert time.monotonic() < deadline, "the compiler itself has outlived its driver"


@pytest.mark.parametrize(
    "source", [b"char x[40 << 20] = {1};\n", b"#define A x\nint y = " + b"A + " * 400_000 + b"A;\n"]
)
def test_a_compiler_that_writes_too_much_is_ended(source: bytes) -> None:
    limits = native.Limits(file=1 << 20)
    with pytest.raises(native.CompileError, match=r"^the compiler wrote more than 1 MiB$"):
        build(source=source, limits=limits)


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/full", "a giant file"])
def test_a_bot_that_includes_what_has_no_end_is_refused_soon(target: str, tmp_path: Path) -> None:
    path = Path(target)
    if target == "a giant file":
        path = tmp_path / "giant.h"
        with path.open("wb") as file:
            file.truncate(3 << 30)
    started = time.monotonic()
    with pytest.raises(native.CompileError):
        build(source=f'#include "{path}"\n'.encode() + MAIN, limits=native.BOT_LIMITS)
    assert time.monotonic() - started < 40


def test_a_compiler_that_takes_too_much_memory_is_ended() -> None:
    with pytest.raises(native.CompileError, match="memory"):
        build(
            source=b"char x[] = {"
            + b"1," * 10
            + b"};\n"
            + b"#define A(x) x x x x x x x x\n"
            + b"int y = A(A(A(A(A(A(A(A(A(A(A(A(1))))))))))));\n",
            limits=native.Limits(memory=100 << 20),
        )


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolError, match=r"install gcc or clang .*pip install 'simfarm\[cc\]'"):
        native.find_compiler()
    monkeypatch.setenv("CC", "mycc")
    with pytest.raises(ToolError, match="the C compiler that CC names was not found: 'mycc'"):
        native.find_compiler()


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SIMFARM_CACHE", str(tmp_path / "file"))
    with pytest.raises(ToolError, match="cannot build in the cache folder"):
        build()


def test_builders_at_the_same_time_do_not_meet(cache: Path) -> None:
    script = (
        "from simfarm.core import native\n"
        f"print(native.build({{'main.c': {MAIN!r}}}, [native.Unit('main.c', ('-DWORD=\"x\"',))]))"
    )
    environment = {**os.environ, "SIMFARM_CACHE": str(cache)}
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(4)
    ]
    paths = {process.communicate()[0].strip() for process in running}
    assert len(paths) == 1
    (path,) = paths
    assert subprocess.run([path], capture_output=True, check=True).stdout == b"x"
