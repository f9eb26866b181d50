"""``simfarm doctor``: what is there is found by trying it, what lacks is told from what is broken."""

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engines.blackjack import languages
from engines.duel import node
from engines.duel.engine import DuelEngine
from engines.poker_run.engine import PokerRunEngine
from engines.uno.engine import UnoEngine
from simfarm import doctor, registry, walls
from simfarm.cli.main import app
from simfarm.core import native
from simfarm.core.errors import ToolError
from simfarm.core.probe import Finding, Status, probe, said


def look(folder: Path) -> dict[tuple[str, str], Finding]:
    return {(area, found.what): found for area, found in doctor.findings(folder)}


@pytest.fixture(autouse=True)
def only_the_coin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small game, so that not every language is tried in every test."""
    monkeypatch.setattr(registry, "engine_names", lambda: ["coin"])


def test_this_machine_has_what_the_tests_have_used(tmp_path: Path) -> None:
    found = look(tmp_path)
    for area, what in (
        ("python", "Python"),
        ("python", "polars"),
        ("disk", "results folder"),
        ("walls", "subreaper"),
    ):
        assert found[area, what].status is Status.OK, found[area, what]
    compiler = found["compiler", "C compiler"]
    assert (compiler.status, compiler.found) == (Status.OK, native.find_compiler().version)
    assert str(tmp_path) in found["disk", "results folder"].found


def test_each_game_tries_what_it_needs() -> None:
    assert [finding.status for finding in DuelEngine().needs()] == [Status.OK]
    assert [finding.status for finding in PokerRunEngine().needs()] == [Status.OK]
    assert next(iter(UnoEngine().needs())).found == "100 games played"


@pytest.mark.parametrize("name", ["C", "Python", "JavaScript", "Brainfuck", "Befunge-98"])
def test_a_language_is_tried_by_a_program(name: str) -> None:
    assert languages.tried(name) == "a program runs"


def test_a_language_without_its_program_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="apt-get install ruby"):
        languages.tried("Ruby")


def test_a_program_that_fails_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ruby = tmp_path / "ruby"
    ruby.write_text("#!/bin/sh\necho cannot load the library >&2\nexit 127\n")
    ruby.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = probe("Ruby", lambda: languages.tried("Ruby"), "no bots", "install it")
    assert (found.status, found.found) == (Status.BROKEN, "exit code 127: cannot load the library")


def test_a_program_that_does_not_end_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simfarm.core.probe.PROBE_SECONDS", 0.2)
    found = probe("sleep", lambda: said(["sleep", "60"]), "", "")
    assert found.status is Status.BROKEN
    assert "timed out" in found.found


def test_a_wall_of_node_that_does_not_hold_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "_WALLS", tuple(flag for flag in node._WALLS if flag != "--permission"))
    [found] = DuelEngine().needs()
    assert found.status is Status.BROKEN
    assert found.needed


@pytest.mark.parametrize("code", ["_SECCOMP", "_SUBREAPER"])
def test_a_wall_that_does_not_stand_is_not_said_to(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    source = getattr(walls, code)
    spared = "\n".join(line for line in source.splitlines() if not line.startswith('call("prctl"'))
    monkeypatch.setattr(walls, code, spared)
    wall = next(wall for wall in walls.WALLS if wall.name == code[1:].lower())
    with pytest.raises((OSError, subprocess.SubprocessError)):
        wall.look()


def test_exit_codes_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CliRunner().invoke(app, ["doctor", "--format", "json"])
    told = json.loads(whole.stdout)
    assert (whole.exit_code, told["ok"]) == (0, True)
    monkeypatch.setenv("CC", "no-such-compiler")
    without = CliRunner().invoke(app, ["doctor", "--format", "json"])
    told = json.loads(without.stdout)
    assert (without.exit_code, told["ok"]) == (1, False)
    [compiler] = [found for found in told["findings"] if found["what"] == "C compiler"]
    assert (compiler["status"], compiler["needed"]) == ("lacks", True)
    assert "no-such-compiler" in compiler["found"]
    assert "apt-get" in compiler["remedy"]
    text = CliRunner().invoke(app, ["doctor"])
    assert text.exit_code == 1
    assert "the defaults need and do not have: C compiler" in " ".join(text.stdout.split())


@pytest.mark.slow
def test_ray_is_started_when_asked(tmp_path: Path) -> None:
    found = {finding.what: finding for _, finding in doctor.findings(tmp_path, start_ray=True)}
    assert found["Ray on this machine"].status is Status.OK, found["Ray on this machine"]
