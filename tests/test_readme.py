"""Every command of the README works as it stands, in its order; ``make test`` is what runs this."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
    if line and line != "make test"
]


@pytest.mark.slow
def test_commands_of_the_readme(tmp_path: Path) -> None:
    """They run in a copy of the project's files, so that no run folder of a user is touched."""
    copy = tmp_path / "simfarm"
    copy.mkdir()
    for name in ("configs", "engines", "Makefile", "pyproject.toml", "constraints.txt"):
        (copy / name).symlink_to(ROOT / name)
    (copy / ".venv" / "bin").mkdir(parents=True)
    binaries = Path(sys.executable).parent
    (copy / ".venv" / "bin" / "simfarm").symlink_to(binaries / "simfarm")
    (copy / ".venv" / ".ready").touch()
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
    assert len(COMMANDS) > 5
    for command in COMMANDS:
        done = subprocess.run(
            ["bash", "-c", command], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout or "simfarm run" in command, command
