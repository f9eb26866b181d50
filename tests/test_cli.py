"""The commands as a user types them: output, exit codes, and the one line that a mistake gets."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.text import Text

from simfarm import registry
from simfarm.cli import main

CONFIG = 'engine = "coin"\n[plan]\ngames = 40\n[[bots]]\nname = "heads"\n[[bots]]\nname = "tails"\n'


def simfarm(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("simfarm")), *arguments]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a config ``c.toml`` that has been run."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "c.toml").write_text(CONFIG)
    done = simfarm("run", "c.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "40 of 40 games" in done.stderr
    assert "next: simfarm report significance results/c" in done.stderr
    return folder


def test_running_again_plays_nothing(place: Path) -> None:
    done = simfarm("run", "c.toml", cwd=place)
    assert done.returncode == 0
    assert "40 games in results/c\n" in done.stderr


def test_query_formats(place: Path) -> None:
    statement = "select winner, count(*) n from tosses group by 1 order by 1"
    rows = json.loads(simfarm("query", "c", statement, "--format", "json", cwd=place).stdout)
    assert sum(row["n"] for row in rows) == 40
    csv = simfarm("query", "results/c", statement, "--format", "csv", cwd=place).stdout.splitlines()
    assert csv[0] == "winner,n"
    assert [line.split(",")[0] for line in csv[1:]] == ["heads", "tails"]
    assert "winner" in simfarm("query", "c", statement, cwd=place).stdout
    explained = simfarm("query", "c", "select bots from matchups", "-f", "json", cwd=place).stdout
    assert json.loads(explained) == [{"bots": "heads, tails"}]


def test_replay(place: Path) -> None:
    assert simfarm("replay", "c", "--block", "3", cwd=place).stdout in ("heads\n", "tails\n")


def test_plan_writes_nothing(place: Path, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CONFIG)
    told = json.loads(simfarm("plan", "c.toml", "--format", "json", cwd=tmp_path).stdout)
    assert (told["matchups"], told["games"], told["games_done"], told["rows"]) == (1, 40, 0, 40)
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]
    done = json.loads(simfarm("plan", "c.toml", "--format", "json", cwd=place).stdout)
    assert (done["games_done"], done["seconds"]) == (40, 0)
    assert "40 games in" in simfarm("plan", "c.toml", cwd=place).stdout


def test_play(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("tails")
    bots = ("--bot", "heads", "--bot", "mine.txt")
    answer = json.loads(simfarm("play", "coin", *bots, "-n", "25", "-f", "json", cwd=tmp_path).stdout)
    assert answer["games"] == 25
    assert [bot["name"] for bot in answer["bots"]] == ["heads", "mine"]
    assert sum(bot["wins"] for bot in answer["bots"]) == 25
    assert "mine" in simfarm("play", "coin", *bots, cwd=tmp_path).stdout
    assert simfarm("play", "coin", *bots, "-n", "3", "--log", cwd=tmp_path).stdout.count("\n") == 3


def test_schema(tmp_path: Path) -> None:
    assert "$defs" in json.loads(simfarm("schema", cwd=tmp_path).stdout)
    tables = simfarm("schema", "--tables", cwd=tmp_path).stdout
    assert "coin.tosses: one toss" in tables
    for name in registry.engine_names():
        assert f"{name}." in tables


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "none.toml"], "none.toml: no such config file"),
        (["plan", "none.toml"], "none.toml: no such config file"),
        (["query", "none", "select 1"], "none: no run here; runs in results/: c"),
        (["query", "c", "selekt 1"], "query: rows are read only: the statement must begin with select or with"),
        (["query", "c", "drop table tosses"], "query: rows are read only"),
        (["play", "coin", "--bot", "heads", "--seed", "-1"], "play coin: seed = -1: must be from 0 to 2**63 - 1"),
        (["play", "coin", "--bot", "heads"], "play coin: 1 bots make no matchup with the planner 'coins'"),
        (["query", "c", "select * from games"], "query: "),
        (["replay", "c", "--block", "40"], "replay: --block 40: blocks run from 0 to 39"),
        (["replay", "c", "--block", "1", "-m", "zz"], "replay: no matchup starts with 'zz'"),
        (["play", "coin", "--bot", "nobody"], "play coin: bot 'nobody' has no file and is not bundled"),
        (["play", "chess", "--bot", "a"], "unknown engine 'chess'"),
        (["play", "coin", "--bot", "heads", "--rule", "point=1"], "play coin: rules.point: unknown key (did you"),
        (["play", "coin", "--bot", "heads:"], "--bot 'heads:': write NAME:FILE"),
        (["run", "c.toml", "--workers", "0"], "workers = 0: at least 1 is needed"),
        (["report", "significance", "none"], "none: no run here"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(place: Path, arguments: list[str], message: str) -> None:
    done = simfarm(*arguments, cwd=place)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"simfarm: {message}")
    assert done.stderr.count("\n") == 1


def test_help_shows_all_that_is_written() -> None:
    """Typer reads help as Rich markup, in which a word in square brackets is a style and vanishes."""
    texts: list[str] = []

    def walk(command: Any) -> None:
        texts.extend(text for item in (command, *command.params) if (text := getattr(item, "help", None)))
        for inner in getattr(command, "commands", {}).values():
            walk(inner)

    walk(typer.main.get_command(main.app))
    assert len(texts) > 100
    assert [text for text in texts if Text.from_markup(text).plain.rstrip() != text.rstrip()] == []


def test_usage_errors_and_help(tmp_path: Path) -> None:
    assert simfarm("run", cwd=tmp_path).returncode == 2
    assert simfarm("fly", cwd=tmp_path).returncode == 2
    for command in ("run", "plan", "play", "query", "replay", "schema", "report"):
        done = simfarm(command, "--help", cwd=tmp_path)
        assert done.returncode == 0
        assert "Usage" in done.stdout


def test_a_results_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CONFIG)
    (tmp_path / "results").touch()
    done = simfarm("run", "c.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "results/c: cannot be written" in done.stderr


def test_a_reader_that_leaves(place: Path) -> None:
    command = f"{Path(sys.executable).with_name('simfarm')} schema | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=place, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_integers_of_a_query_do_not_wrap(place: Path) -> None:
    statement = "select sum(block) s, min(points - 200) low, max(block * block * block * block) high from tosses"
    (row,) = json.loads(simfarm("query", "c", statement, "-f", "json", cwd=place).stdout)
    assert row == {"s": 780, "low": -199, "high": 39**4}


def test_a_query_joins_matchups_and_looks_into_names(place: Path) -> None:
    joined = "select m.bots b, count(*) n from tosses t join matchups m on t.matchup = m.matchup group by 1"
    assert json.loads(simfarm("query", "c", joined, "-f", "json", cwd=place).stdout) == [
        {"b": "heads, tails", "n": 40}
    ]
    like = "select distinct winner from tosses where winner like 'h%'"
    assert json.loads(simfarm("query", "c", like, "-f", "json", cwd=place).stdout) == [{"winner": "heads"}]
    plain = json.loads(simfarm("query", "c", "select block from tosses", "-f", "json", cwd=place).stdout)
    assert [row["block"] for row in plain] == list(range(40)), "rows come in order of blocks"


def test_a_bundled_bot_under_another_name_plays_itself(tmp_path: Path) -> None:
    bots = ("--bot", "heads", "--bot", "again:heads")
    answer = json.loads(simfarm("play", "coin", *bots, "-f", "json", cwd=tmp_path).stdout)
    assert [bot["name"] for bot in answer["bots"]] == ["again", "heads"]
    assert answer["faults"] == {}


def test_play_says_what_a_bot_said_last(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("print(1))")
    play = ("play", "blackjack", "-b", "mine:bad.py", "-b", "dflat", "--games", "2")
    assert "SyntaxError" in json.loads(simfarm(*play, "-f", "json", cwd=tmp_path).stdout)["stderr"]["mine"]
    text = " ".join(simfarm(*play, cwd=tmp_path).stdout.split())
    assert "mine is at fault: exited 1; its standard error ends: SyntaxError: unmatched ')'" in text


def test_another_verdict_is_no_other_run(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CONFIG)
    assert simfarm("run", "c.toml", cwd=tmp_path).returncode == 0
    (tmp_path / "c.toml").write_text(CONFIG + '[verdict]\nreference = "tails"\n')
    done = simfarm("run", "c.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(simfarm("report", "significance", "c", "-f", "json", cwd=tmp_path).stdout)
    assert report["reference"] == "tails"
