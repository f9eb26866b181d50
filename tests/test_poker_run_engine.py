"""Poker Run as an engine: rows, built-in players, outside bots, rules from a config, replay, the commands."""

import ctypes
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from engines.poker_run import players
from engines.poker_run.checker import check
from engines.poker_run.engine import PokerRunEngine, PokerRunRules, output_of
from engines.poker_run.instance import generate
from engines.poker_run.kernel import MOVE, kernel, packed, unpacked_moves
from engines.poker_run.ruleset import default_ruleset
from simfarm import run as runs
from simfarm.config import RunConfig, build_config, load_config
from simfarm.core.errors import BotError, ConfigError
from simfarm.core.model import BotSpec, Matchup, Shard
from simfarm.executors.local import LocalExecutor
from simfarm.report.leaderboard import leaderboard
from simfarm.store import Run
from tests.test_cli import simfarm

ROOT = Path(__file__).parents[1]
ENGINE = PokerRunEngine()
RULES = default_ruleset()
ECHO = "import sys; sys.stdin.read(); print('3\\ndiscard 26 16 17 45\\nplay 33 8 9 23 50\\nend')"


def config(*specs: BotSpec, folder: Path = ROOT, rules: dict[str, Any] | None = None, **plan: Any) -> RunConfig:
    return build_config("poker_run", specs, plan=plan, rules=rules, where="test", folder=folder)


def quick_planner(folder: Path, work: int = 300) -> BotSpec:
    path = folder / f"planner{work}.toml"
    path.write_text(f'player = "planner"\nwork = {work}\n')
    return BotSpec(path.stem, file=str(path))


def matchup_of(config: RunConfig) -> Matchup:
    return next(matchup for _, matchup in config.planned())


def rows(matchup: Matchup, start: int, stop: int) -> dict[str, pl.DataFrame]:
    found = {}
    for name, table in ENGINE.play(Shard(matchup, "k", start, stop)).items():
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        found[name] = frame.drop("seconds", strict=False)
    return found


def outside(command: str, seed: int = 7, **rules: Any) -> dict[str, Any]:
    """The row of a command on a seed."""
    matchup = matchup_of(config(BotSpec("b", command=command), seeds=[seed], rules=rules))
    return rows(matchup, seed, seed + 1)["runs"].row(0, named=True)


@pytest.mark.parametrize("name", ["baseline", "planner"])
def test_rows_do_not_depend_on_shards(tmp_path: Path, name: str) -> None:
    spec = ENGINE.bundled()["baseline"] if name == "baseline" else quick_planner(tmp_path)
    matchup = matchup_of(config(spec, seeds=["20-31"]))
    whole = rows(matchup, 20, 32)
    for cuts in ([20, 25, 32], list(range(20, 33))):
        parts = [rows(matchup, start, stop) for start, stop in itertools.pairwise(cuts)]
        for table, frame in whole.items():
            assert pl.concat([part[table] for part in parts]).equals(frame)
    sums = (
        whole["rounds"].group_by("block", maintain_order=True).agg(pl.col("points").sum(), pl.col("cleared").sum())
    )
    assert sums["points"].to_list() == whole["runs"]["points"].to_list()
    assert sums["cleared"].to_list() == whole["runs"]["rounds_cleared"].to_list()


def test_the_baseline_figures_of_the_readme() -> None:
    """The README of the engine shows them beside the statement's."""
    text = (ROOT / "engines" / "poker_run" / "README.md").read_text()
    matchup = matchup_of(config(ENGINE.bundled()["baseline"], seeds=["1-40"]))
    found = rows(matchup, 1, 41)["runs"]
    public = found.head(10)
    shown = f"| {public['points'].mean():.0f} | {public['rounds_cleared'].mean():.1f} | "
    assert shown + f"{found['rounds_cleared'].mean():.1f} |" in text.replace(",", "")
    assert found["rounds_cleared"].max() < 8  # type: ignore[operator]


def test_built_in_players_are_valid_for_the_readable_checker(tmp_path: Path) -> None:
    for spec in (ENGINE.bundled()["baseline"], quick_planner(tmp_path, 2000)):
        bot = ENGINE.load(spec)
        for seed in (1, 2**32 - 1):
            moves, _ = players.play(bot, kernel(RULES).generate([seed]), RULES)
            verdict = check(generate(seed, RULES), RULES, output_of(unpacked_moves(moves), RULES))
            assert verdict.valid
            assert verdict.total > 1000


def test_the_planner_knows_what_its_moves_score(tmp_path: Path) -> None:
    """Its tables, its remembered rounds and its shop agree with the rules."""
    bot = ENGINE.load(quick_planner(tmp_path))
    games = kernel(RULES).generate(range(100, 108))
    moves, counts = np.zeros((8, players.MOST_MOVES), MOVE), np.zeros(8, np.int32)
    arrays = [ctypes.c_void_p(array.ctypes.data) for array in (games, moves, counts)]
    number, work = ctypes.c_int64(8), ctypes.c_int64(8000)
    rules = packed(RULES)
    play = players._library(bot.files[1:]).poker_play
    assert play(ctypes.byref(rules), arrays[0], number, work, arrays[1], arrays[2]) == 0
    assert counts.min() > 20


@pytest.mark.parametrize(
    "rules",
    [
        {"hand_size": 1, "plays": 1, "discards": 0, "max_modifiers": 0},
        {"hand_size": 16, "plays": 16, "discards": 16, "max_modifiers": 16},
        {"hand_size": 5, "plays": 2},
    ],
)
def test_players_take_other_rules(tmp_path: Path, rules: dict[str, Any]) -> None:
    for spec in (ENGINE.bundled()["baseline"], quick_planner(tmp_path, 100)):
        matchup = matchup_of(config(spec, seeds=["1-3"], rules=rules))
        assert rows(matchup, 1, 4)["runs"]["valid"].all()


def test_more_work_is_worth_it(tmp_path: Path) -> None:
    means = []
    for spec in (ENGINE.bundled()["baseline"], quick_planner(tmp_path, 200), quick_planner(tmp_path, 6000)):
        matchup = matchup_of(config(spec, seeds=["1001-1006"]))
        points = rows(matchup, 1001, 1007)["runs"]["points"]
        means.append(points.sum() / 6)
    assert means[0] * 3 < means[1] * 2 < means[2]
    assert means[2] > 8 * means[0]


def test_outside_bots() -> None:
    row = outside(f'{sys.executable} -c "{ECHO}"', seconds=20.0)
    assert (row["points"], row["rounds_cleared"], row["valid"], row["moves"]) == (316, 1, True, 3)
    assert (row["termination"], row["fault_bot"], row["detail"]) == ("completed", None, None)


@pytest.mark.parametrize(
    ("command", "termination", "move", "detail"),
    [
        ("cat", "unparsable", 0, "first line must be the number of moves"),
        ("printf '2\\nplay 23\\nplay 23\\n'", "illegal", 1, "card 23 is not in the hand"),
        ("sleep 9", "timeout", None, "no answer within 0.5 s"),
        ("echo bad luck >&2; exit 2", "exited", None, "ended with exit code 2"),
        ("printf '1\\nplay 23\\n'; exit 2", "exited", None, "ended with exit code 2"),
        ("yes", "output_limit", None, "more than 16777216 bytes"),
    ],
)
def test_outside_bots_that_do_wrong(command: str, termination: str, move: int | None, detail: str) -> None:
    row = outside(command, seconds=0.5 if "sleep" in command else 20.0)
    assert (row["points"], row["rounds_cleared"], row["valid"], row["fault_bot"]) == (0, 0, False, "b")
    assert (row["termination"], row["invalid_move"]) == (termination, move)
    assert detail in row["detail"]


def test_the_memory_limit() -> None:
    hungry = f"{sys.executable} -c 'x = bytes(300 << 20); print(0)'"
    assert outside(hungry, seconds=20.0, memory_mb=1024)["valid"]
    row = outside(hungry, seconds=20.0, memory_mb=256)
    assert (row["termination"], row["points"]) == ("memory_limit", 0)


def test_files_of_a_command_travel(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "mine.py").write_text(ECHO + "\nopen('table.txt').read()")
    (tmp_path / "table.txt").write_text("x")
    (tmp_path / "c.toml").write_text(
        'engine = "poker_run"\n[plan]\nseeds = [7]\n[rules]\nseconds = 20\n[[bots]]\nname = "mine"\n'
        f'command = "{sys.executable} bots/mine.py"\nfiles = ["table.txt"]\n'
    )
    matchup = matchup_of(load_config(tmp_path / "c.toml"))
    assert [file.path for file in matchup.bots[0].files] == ["bots/mine.py", "table.txt"]
    os.rename(tmp_path / "bots", tmp_path / "gone")
    assert rows(matchup, 7, 8)["runs"]["points"].to_list() == [316]


def test_a_ruleset_travels_by_content(tmp_path: Path) -> None:
    text = (ROOT / "engines" / "poker_run" / "ruleset.toml").read_text()
    (tmp_path / "easy.toml").write_text(text.replace("targets = [300,", "targets = [1,"))
    (tmp_path / "c.toml").write_text(
        'engine = "poker_run"\n[plan]\nseeds = ["1-3"]\nvary = { discards = [0, 3] }\n'
        '[rules]\nruleset = "easy.toml"\n[[bots]]\nname = "baseline"\n'
    )
    read = load_config(tmp_path / "c.toml")
    (tmp_path / "easy.toml").unlink()
    assert isinstance(read.rules, PokerRunRules)
    assert read.rules.ruleset.params.targets[0] == 1
    assert (
        RunConfig.from_json(
            json.loads(json.dumps(read.to_json())), {f.sha256: f.data for b in read.bots for f in b.files}, "x"
        )
        == read
    )
    matchups = [matchup for _, matchup in read.planned()]
    assert [m.rules.played().params.discards for m in matchups] == [0, 3]  # type: ignore[attr-defined]
    assert rows(matchups[0], 1, 4)["rounds"].filter(round=1)["target"].to_list() == [1, 1, 1]
    assert rows(matchups[0], 1, 4)["rounds"]["discards"].sum() == 0


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"ruleset": "none.toml"}, r"test: rules: ruleset = 'none.toml': .*none.toml cannot be read"),
        ({"ruleset": "bad.toml"}, r"test: rules: ruleset = 'bad.toml': .*bad.toml is not TOML"),
        ({"ruleset": "empty.toml"}, r"test: rules.ruleset.format: this key is required"),
        ({"ruleset": "extra.toml"}, r"rules.ruleset.params.roundz: unknown key \(did you mean 'rounds'\?\)"),
        ({"seconds": 0}, r"rules.seconds = 0"),
        ({"discard": 1}, r"rules.discard: unknown key \(did you mean 'discards'\?\)"),
    ],
)
def test_rules_with_a_mistake(tmp_path: Path, rules: dict[str, Any], message: str) -> None:
    (tmp_path / "bad.toml").write_text("x = ")
    (tmp_path / "empty.toml").write_text("")
    text = (ROOT / "engines" / "poker_run" / "ruleset.toml").read_text()
    (tmp_path / "extra.toml").write_text(text.replace("rounds = 8", "rounds = 8\nroundz = 8"))
    with pytest.raises(ConfigError, match=message):
        config(ENGINE.bundled()["baseline"], folder=tmp_path, rules=rules)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('player = "genius"', "player: .*players: baseline, planner"),
        ("player = ", "not TOML"),
        ('player = "planner"\nwork = 0', "work: "),
        ('player = "planner"\nhope = 1', "hope: "),
    ],
)
def test_bot_files_with_a_mistake(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "b.toml").write_text(text)
    with pytest.raises(BotError, match=message):
        ENGINE.load(BotSpec("b", file=str(tmp_path / "b.toml")))


def test_a_bots_hash_covers_the_players_source(tmp_path: Path) -> None:
    bot = ENGINE.load(quick_planner(tmp_path))
    assert {"planner.c", "round.h", "rules.h"} <= {file.path for file in bot.files}
    sources = {path.name for path in (ROOT / "engines" / "poker_run" / "native").iterdir()}
    text = "".join(file.data.decode() for file in bot.files)
    assert {name for name in sources if f'#include "{name}"' in text} <= {file.path for file in bot.files}


def test_a_run_and_its_leaderboard(tmp_path: Path) -> None:
    bots = [
        ENGINE.bundled()["baseline"],
        quick_planner(tmp_path),
        BotSpec("cat", command="cat"),
    ]
    made = config(*bots, seeds=["9-12"], tuning_seeds=["12-20"], rules={"seconds": 20.0})
    run = Run.create(tmp_path / "run", made)
    runs.play(run, LocalExecutor(2), lambda progress: None)
    data = json.loads(leaderboard(Run(tmp_path / "run")).json())
    assert [(board["public"], [bot["name"] for bot in board["bots"]]) for board in data["boards"]] == [
        (False, ["planner300", "baseline", "cat"]),
        (True, ["planner300", "baseline", "cat"]),
    ]
    direct = rows(matchup_of(made), 9, 13)["runs"]
    for board, part in zip(data["boards"], (direct.tail(2), direct.head(2)), strict=True):
        mine = next(bot for bot in board["bots"] if bot["name"] == "baseline")
        assert mine["mean"] == part["points"].mean()
        assert mine["rounds_cleared"] == part["rounds_cleared"].mean()
        assert board["bots"][2]["invalid"] == 2
    assert data["faults"] == {"cat": {"unparsable": 4}}
    assert any("1 of the 4 blocks judged are among the tuning seeds" in note for note in data["notes"])
    cleared = {row["bot"]: row for row in data["tables"]["Runs by rounds cleared"]}
    assert cleared["cat"]["0"] == 4


def test_play_and_replay(tmp_path: Path) -> None:
    told = json.loads(
        simfarm("play", "poker_run", "--bot", "baseline", "--seed", "7", "-f", "json", cwd=tmp_path).stdout
    )
    direct = rows(matchup_of(config(ENGINE.bundled()["baseline"], seeds=[7])), 7, 8)["runs"]
    assert told["games"] == 1
    assert told["bots"][0]["points"] == direct["points"][0]
    log = simfarm(
        "play", "poker_run", "--bot", "baseline", "--seed", "7", "--log", cwd=tmp_path
    ).stdout.splitlines()
    assert log[1].startswith("round 1, target 300, $4, no modifiers: QH JS KC 6H 8C 10S 2D 5H")
    assert log[-1].startswith(f"{direct['points'][0]} points, ")
    wrong = ("play", "poker_run", "--bot", "x:printf '2\\nplay 23\\nnext\\n'", "--seed", "7", "--log")
    log = simfarm(*wrong, cwd=tmp_path).stdout.splitlines()
    assert "  play 23  [QH] High Card: 15 x 1 x 1 = 15" in log
    assert any("line 3, move 1 (next): next in a round" in line for line in log)
