"""Bot processes: files, limits, and that nothing is left behind."""

import os
import signal
import time
from pathlib import Path

from simfarm.core.model import Bot, SourceFile
from simfarm.core.process import BotProcess, Limits


def start(command: str, *files: SourceFile, limits: Limits | None = None) -> BotProcess:
    return BotProcess(Bot("b", files, command=command), limits or Limits(), {"SIMFARM_SEED": "5"})


def read_all(process: BotProcess) -> bytes:
    data = b""
    while piece := os.read(process.stdout, 65536):
        data += piece
    return data


def test_a_bot_finds_its_files_in_a_folder_of_its_own() -> None:
    script = SourceFile("bin/say", b"#!/bin/sh\ncat data.txt; echo $SIMFARM_SEED; pwd", executable=True)
    with start("bin/say", script, SourceFile("data.txt", b"hello\n")) as process:
        words = read_all(process).decode().split()
        assert words == ["hello", "5", str(process.folder)]
    assert not process.folder.exists()


def test_the_whole_session_ends_with_the_bot() -> None:
    with start("trap '' TERM; (trap '' TERM; sleep 60) & echo $!; sleep 60") as process:
        child = int(os.read(process.stdout, 100))
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and _state(child) != "Z" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{child}").exists() or _state(child) == "Z"


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_limits_hold() -> None:
    allocate = "python3 -c 'x = bytearray(500_000_000); print(1)'"
    with start(allocate, limits=Limits(memory=200 << 20)) as process:
        assert read_all(process) == b""
    with start(allocate) as process:
        assert read_all(process) == b"1\n"
    with start(
        "head -c 2000000 /dev/zero > big; echo $?; wc -c < big", limits=Limits(file_size=1 << 20)
    ) as process:
        code, size = read_all(process).split()
        assert int(code) != 0
        assert int(size) == 1 << 20


def test_exit_codes() -> None:
    for command, code in (("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV), ("kill -64 $$", 128 + 64)):
        with start(command) as process:
            assert process.wait(5) == code
    with start("sleep 60") as process:
        assert process.wait(0.1) is None


def test_nothing_leaks() -> None:
    start("true").close()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        start("true").close()
    assert len(os.listdir("/proc/self/fd")) == before
