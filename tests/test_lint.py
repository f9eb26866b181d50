"""The project's own rules: import layers, types, style. Each linter runs as it does in ``make lint``."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINTERS = {
    "import layers": ["lint-imports"],
    "types": ["mypy"],
    "style": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
}


@pytest.mark.parametrize("name", LINTERS)
def test_lint(name: str) -> None:
    program, *arguments = LINTERS[name]
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
