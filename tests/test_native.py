"""Native builds: one per content, whole or not at all, within limits, and clear words when there is no compiler."""

import os
import subprocess
import sys
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


def build(word: str = "yes", source: bytes = MAIN) -> Path:
    return native.build({"main.c": source}, [native.Unit("main.c", ("-O2", f'-DWORD="{word}"'))])


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


def test_a_compiler_that_takes_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "COMPILE_SECONDS", 0.5)
    with pytest.raises(native.CompileError, match="did not finish within"):
        build(source=b'#include "/dev/zero"\n')


def test_a_compiler_that_takes_too_much_memory_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "COMPILE_BYTES", 100 << 20)
    with pytest.raises(native.CompileError, match="memory"):
        build(
            source=b"char x[] = {"
            + b"1," * 10
            + b"};\n"
            + b"#define A(x) x x x x x x x x\n"
            + b"int y = A(A(A(A(A(A(A(A(A(A(A(A(1))))))))))));\n"
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
