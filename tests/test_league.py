"""Leagues as a user plays them: who goes, ties, kings, changes between rounds, kills, archives."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import chdir
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simfarm import registry
from simfarm.cli.main import app
from simfarm.config import load_config
from simfarm.core.errors import SimfarmError, StoreError
from simfarm.executors import Item, Result
from simfarm.league import REPLAYS, League
from simfarm.store import Run

ROOT = Path(__file__).parents[1]
PROGRAM = str(Path(sys.executable).with_name("simfarm"))


class Inline:
    """An executor without processes: what these tests are about is which rounds are played, not where."""

    workers = 1

    def map(self, function: Callable[[Item], Result], items: Iterator[Item]) -> Generator[Result, None, None]:
        """See :class:`simfarm.executors.Executor`."""
        yield from map(function, items)


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simfarm.cli.league.make_executor", lambda *_: Inline())


def good(*arguments: str, cwd: Path) -> str:
    """What a command prints that has to work."""
    with chdir(cwd):
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def mistake(*arguments: str, cwd: Path) -> str:
    """The line that a command says which cannot work; ``main`` puts it on stderr and exits with 2."""
    with chdir(cwd):
        done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, SimfarmError), done.exception
    assert done.output == ""
    line = str(done.exception)
    assert "\n" not in line
    return line


def config(folder: Path, bots: dict[str, str], repeats: int = 1, extra: str = "", seed: int = 1) -> Path:
    text = f'engine = "ladder"\nseed = {seed}\n[plan]\nrepeats = {repeats}\n{extra}'
    for name, words in bots.items():
        (folder / f"{name}.txt").write_text(words)
        text += f'\n[[bots]]\nname = "{name}"\nfile = "{name}.txt"\nauthor = "Team {name}"\n'
    path = folder / "c.toml"
    path.write_text(text)
    return path


def status(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(good("league", "status", "l", "--format", "json", cwd=folder))
    return found


def league(folder: Path, bots: dict[str, str], **options: Any) -> None:
    config(folder, bots, **options)
    good("league", "new", "l", "c.toml", cwd=folder)


def test_to_the_king(tmp_path: Path) -> None:
    league(tmp_path, {"ada": "score=3.5", "bob": "score=1", "cyd": "score=2", "dan": "score=1"})
    before = status(tmp_path)
    assert (before["over"], before["next"], before["rounds"]) == (False, {"round": 1, "replay": 0}, [])
    first = good("league", "round", "l", cwd=tmp_path)
    assert first.splitlines() == ["round 1: bob, dan go with 3 points each", "Next: round 2, 2 bots."]
    assert status(tmp_path)["remaining"] == ["ada", "cyd"]
    assert not (tmp_path / "l/rounds/02").exists()
    rest = good("league", "run", "l", "-q", cwd=tmp_path)
    assert rest.splitlines() == ["round 2: cyd goes with 2 points", "King of the hill: ada."]
    after = status(tmp_path)
    assert (after["over"], after["kings"], after["next"]) == (True, ["ada"], None)
    assert [played["eliminated"] for played in after["rounds"]] == [["bob", "dan"], ["cyd"]]
    assert [bot["balance"] for bot in after["rounds"][0]["bots"]] == [10.5, 3, 6, 3]
    assert {bot["author"] for bot in after["rounds"][1]["bots"]} == {"Team ada", "Team cyd"}
    receipts = (tmp_path / "l/rounds/01/receipts.jsonl").read_bytes()
    assert good("league", "run", "l", cwd=tmp_path).splitlines() == ["King of the hill: ada."]
    assert good("league", "round", "l", cwd=tmp_path).splitlines() == ["King of the hill: ada."]
    assert (tmp_path / "l/rounds/01/receipts.jsonl").read_bytes() == receipts
    assert "| round 1 | 4 | bob, dan go with 3 points each | 01 |" in good(
        "league", "status", "l", "--format", "markdown", cwd=tmp_path
    )


def test_joint_kings_after_three_replays(tmp_path: Path) -> None:
    league(tmp_path, {"ada": "score=2", "bob": "score=1", "cyd": "score=2"})
    said = good("league", "run", "l", "-q", cwd=tmp_path).splitlines()
    assert said == [
        "round 1: bob goes with 2 points",
        "round 2: all 2 tie for last with 2 points each",
        *(f"round 2, replay {replay}: all 2 tie for last with 2 points each" for replay in (1, 2, 3)),
        "Joint kings of the hill: ada, cyd.",
    ]
    assert sorted(path.name for path in (tmp_path / "l/rounds").iterdir()) == ["01", "02", "02.1", "02.2", "02.3"]
    seeds = {Run(path).config.seed for path in (tmp_path / "l/rounds").iterdir()}
    assert len(seeds) == 2 + REPLAYS
    found = status(tmp_path)
    assert (found["over"], found["kings"], found["remaining"]) == (True, ["ada", "cyd"], ["ada", "cyd"])


def test_a_replay_decides(tmp_path: Path) -> None:
    """Each bot scores 0 or 1 by the seed: some seed ties in round 1 and not in its replay."""
    outcomes = set()
    for seed in range(8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        league(folder, {"ada": "score=0 luck=2", "bob": "score=0 luck=2"}, seed=seed)
        good("league", "round", "l", "-q", cwd=folder)
        rounds = status(folder)["rounds"]
        assert [(played["round"], played["replay"]) for played in rounds] == [(1, i) for i in range(len(rounds))]
        assert all(played["all_tie"] and not played["eliminated"] for played in rounds[:-1])
        assert status(folder)["over"]
        outcomes.add(len(rounds))
        if len(outcomes) > 1:
            break
    assert len(outcomes) > 1


def test_tie_break_by_games_survived(tmp_path: Path) -> None:
    bots = {"ada": "score=0 games=30", "bob": "score=0 games=20", "cyd": "score=9 games=1"}
    league(tmp_path, bots, extra='[verdict]\ntie_break = "games_survived"\nreference = "bob"\n')
    said = good("league", "run", "l", "-q", cwd=tmp_path).splitlines()
    assert said == [
        "round 1: bob goes with 0 points",
        "round 2: ada goes with 0 points",
        "King of the hill: cyd.",
    ]


def test_authors_change_their_bots_between_rounds(tmp_path: Path) -> None:
    league(tmp_path, {"ada": "score=3", "bob": "score=1", "cyd": "score=2"})
    good("league", "round", "l", "-q", cwd=tmp_path)
    before = status(tmp_path)
    (tmp_path / "l/bots/cyd/cyd.txt").write_text("score=4")
    (tmp_path / "l/bots/bob/bob.txt").unlink()
    assert "bot 'bob': " in mistake("league", "status", "l", cwd=tmp_path)
    (tmp_path / "l/bots/bob/bob.txt").write_text("score=100")
    between = status(tmp_path)
    assert between["changed"] == ["cyd"]
    assert between["rounds"] == before["rounds"], "what has been played stands"
    good("league", "round", "l", "-q", cwd=tmp_path)
    after = status(tmp_path)
    assert after["kings"] == ["cyd"]
    hashes = [{bot["name"]: bot["hash"] for bot in played["bots"]} for played in after["rounds"]]
    assert hashes[0]["ada"] == hashes[1]["ada"]
    assert hashes[0]["cyd"] != hashes[1]["cyd"]


def test_who_may_be_in_a_round(tmp_path: Path) -> None:
    league(tmp_path, {"ada": "score=3", "bob": "score=1", "cyd": "score=2"})
    path = tmp_path / "l/league.toml"
    entry = '\n[[bots]]\nname = "dan"\nfile = "../dan.txt"\n'
    (tmp_path / "dan.txt").write_text("score=0")
    path.write_text(path.read_text() + entry)
    assert good("league", "round", "l", "-q", cwd=tmp_path).startswith("round 1: dan goes")
    text = path.read_text()
    (tmp_path / "eve.txt").write_text("score=0")
    path.write_text(text + entry.replace("dan", "eve"))
    assert "bot 'eve' was not in round 1" in mistake("league", "round", "l", cwd=tmp_path)
    path.write_text(text.replace('"cyd"', '"cyx"'))
    assert "bot 'cyd' is missing; it has not been eliminated" in mistake("league", "round", "l", cwd=tmp_path)
    path.write_text(text)
    (tmp_path / "l/bots/ada/ada.txt").write_text("nothing=1")
    assert "bot 'ada': its file names no score" in mistake("league", "run", "l", cwd=tmp_path)
    assert not (tmp_path / "l/rounds/02").exists()


def committed(folder: Path) -> int:
    path = folder / "receipts.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_round_goes_on_where_it_was_and_changed_bots_play_again(tmp_path: Path, how: signal.Signals) -> None:
    bots = {"ada": "score=3", "bob": "score=1", "cyd": "score=2", "slow": "score=9 slow=20"}
    league(tmp_path, bots, repeats=150)
    folder = tmp_path / "l/rounds/01"
    first = subprocess.Popen(
        [PROGRAM, "league", "run", "l", "-w", "1"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and first.poll() is None and "ada bob" not in _pairs(folder):
        time.sleep(0.02)
    assert first.poll() is None
    assert "another simfarm is playing this league" in mistake("league", "run", "l", cwd=tmp_path)
    os.killpg(first.pid, how) if how == signal.SIGINT else first.kill()
    _, error = first.communicate(timeout=20)
    if how == signal.SIGINT:
        assert first.returncode == 130
        assert "the same command goes on from there" in error
    kept = Run(folder).receipts()
    of_ada_and_bob = [receipt for receipt in kept if _pair(Run(folder), receipt.key) == "ada bob"]
    assert of_ada_and_bob
    now = status(tmp_path)
    assert 0 < now["rounds"][0]["matches"] < 6 * 150
    assert (now["next"], now["rounds"][0]["eliminated"]) == ({"round": 1, "replay": 0}, [])
    assert "not decided yet" in mistake("league", "publish", "l", "1", cwd=tmp_path)
    (tmp_path / "l/bots/slow/slow.txt").write_text("score=0")
    said = good("league", "run", "l", "-q", cwd=tmp_path).splitlines()
    assert said[0] == "round 1: slow goes with 0 points"
    assert said[-1] == "King of the hill: ada."
    receipts = Run(folder).receipts()
    assert [receipt for receipt in receipts if receipt in of_ada_and_bob] == of_ada_and_bob, "not played again"
    slow = next(bot for bot in status(tmp_path)["rounds"][0]["bots"] if bot["name"] == "slow")
    assert slow["balance"] == 0


def _pair(run: Run, key: str) -> str:
    return " ".join(bot.name for bot in run.matchups()[key].bots)


def _pairs(folder: Path) -> set[str]:
    if not committed(folder):
        return set()
    run = Run(folder)
    return {_pair(run, receipt.key) for receipt in run.receipts()}


def test_killed_before_a_round_had_its_manifest(tmp_path: Path) -> None:
    league(tmp_path, {"ada": "score=3", "bob": "score=1"})
    (tmp_path / "l/rounds/01/bots").mkdir(parents=True)
    assert status(tmp_path)["rounds"] == []
    assert "King of the hill: ada." in good("league", "run", "l", cwd=tmp_path)


def test_a_newer_engine_does_not_unmake_what_was_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    league(tmp_path, {"ada": "score=3", "bob": "score=1", "cyd": "score=2"})
    good("league", "round", "l", "-q", cwd=tmp_path)
    opened = League(tmp_path / "l")
    before = opened.status()
    monkeypatch.setattr(type(registry.engine("ladder")), "version", 2)
    assert opened.status() == before
    run = opened.open_next()
    assert run is not None
    assert (run.path.name, run.manifest["engine_version"]) == ("02", 2)
    first = Run(tmp_path / "l/rounds/01")
    with pytest.raises(StoreError, match=r"older or newer ladder: version 1 of its rules \(installed: 2\)"):
        Run.create(first.path, first.config)
    taken = Run.create(first.path, first.config, update=True)
    assert not taken.receipts(), "rows by the rules of version 1 are no rows of version 2"


def test_rounds_that_do_not_follow_from_each_other(tmp_path: Path) -> None:
    league(tmp_path, {"ada": "score=3", "bob": "score=1", "cyd": "score=2"})
    good("league", "run", "l", "-q", cwd=tmp_path)
    rounds = tmp_path / "l/rounds"
    part = next((rounds / "01/parts/results").iterdir())
    data = part.read_bytes()
    part.write_bytes(data[:-1])
    said = mistake("league", "run", "l", cwd=tmp_path)
    assert "l/rounds/02: does not follow from the rounds before it: 01 has 2 of 3 matches played" in said
    part.write_bytes(data)
    shutil.copytree(rounds / "01", rounds / "04")
    assert "l/rounds/04: does not follow" in mistake("league", "status", "l", cwd=tmp_path)
    shutil.rmtree(rounds / "04")
    shutil.rmtree(rounds / "02")
    shutil.copytree(rounds / "01", rounds / "02")
    assert "by the rounds before it remain ada, cyd" in mistake("league", "status", "l", cwd=tmp_path)


def test_publish(tmp_path: Path) -> None:
    league(tmp_path, {"ada": "score=2", "bob": "score=1", "cyd": "score=2"}, repeats=2)
    good("league", "run", "l", "-q", cwd=tmp_path)
    path = Path(good("league", "publish", "l", "2", cwd=tmp_path).strip())
    assert path == Path("l/published/l-round-02.zip")
    data = (tmp_path / path).read_bytes()
    good("league", "publish", "l", "2", "--out", "again.zip", cwd=tmp_path)
    assert (tmp_path / "again.zip").read_bytes() == data, "the same round is the same archive"
    with zipfile.ZipFile(tmp_path / path) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "open")
    top = tmp_path / "open"
    assert sorted(folder.name for folder in top.iterdir()) == ["02", "02.1", "02.2", "02.3"]
    assert (top / "02/bots/cyd/cyd.txt").read_text() == "score=2"
    attribution = (top / "02/ATTRIBUTION.md").read_text()
    assert "| ada | Team ada |" in attribution
    assert "bob" not in attribution
    lines = (top / "02/results.csv").read_text().splitlines()
    assert lines[0] == "matchup,bots,block,bot,score,games,termination,faulty"
    assert [line.split(",", 1)[1] for line in lines[1:3]] == [
        "ada cyd,0,ada,2.0,10000,completed,",
        "ada cyd,0,cyd,2.0,10000,completed,",
    ]
    assert len(lines) == 5
    report = good("report", "elimination", "open/02/run", "--format", "json", cwd=tmp_path)
    assert report == (top / "02/report.json").read_text()
    assert "tie for last" in (top / "02/report.md").read_text()
    assert "there is no round 3; rounds: 1, 2" in mistake("league", "publish", "l", "3", cwd=tmp_path)
    assert "cannot be written" in mistake("league", "publish", "l", "1", "--out", "c.toml/x.zip", cwd=tmp_path)


def test_a_league_holds_the_same_bots_as_its_config(tmp_path: Path) -> None:
    """Commands with their files, files in folders, further files, modes: every hash is the config's."""
    (tmp_path / "sub").mkdir()
    for name in ("run.sh", "sub/table.dat", "other.py", "extra.txt"):
        (tmp_path / name).write_text(f"content of {name}\n")
    (tmp_path / "run.sh").chmod(0o755)
    bots = (
        '[[bots]]\nname = "one"\ncommand = "./run.sh --fast sub/table.dat"\nfiles = ["extra.txt"]\n'
        '[[bots]]\nname = "two"\nfile = "other.py"\nfiles = ["sub/table.dat", "extra.txt"]\nauthor = "Zoë \\"Z\\""\n'
        '[[bots]]\nname = "dflat"\n'
    )
    text = 'engine = "blackjack"\nseed = 7\nrecord = ["games"]\n[plan]\ngames = 50\n[rules]\nmax_bet = 20\n'
    (tmp_path / "c.toml").write_text(text + '[verdict]\ntie_break = "games_survived"\n' + bots)
    given = load_config(tmp_path / "c.toml")
    League.new(tmp_path / "deep" / "l", tmp_path / "c.toml")
    assert load_config(tmp_path / "deep/l/league.toml") == given
    assert [bot.author for bot in given.bots] == [None, 'Zoë "Z"', None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('engine = "ladder"\n[[bots]]\nname = "a"\nfile = "a.txt"\n', "plan.table = 2 needs as many bots, not 1"),
        (
            'engine = "ladder"\n[plan]\ntable = 3\n{abc}',
            "plan.table = 3 needs as many bots, not 2: a, b (with two",
        ),
        ('engine = "ladder"\n[plan]\nplanner = "ring"\n{abc}', "a ring has four bots, not 3: a, b, c"),
        ('engine = "coin"\n[[bots]]\nname = "heads"\n', "c.toml: 1 bots make no matchup with the planner 'coins'"),
        ('engine = "ladder"\n{abc}[[bots]]\nname = "d"\nfile = "d.txt"\n', "bot 'd': "),
    ],
)
def test_configs_that_are_no_leagues(tmp_path: Path, text: str, message: str) -> None:
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("score=1")
    abc = "".join(f'[[bots]]\nname = "{name}"\nfile = "{name}.txt"\n' for name in "abc")
    (tmp_path / "c.toml").write_text(text.replace("{abc}", abc))
    assert message in mistake("league", "new", "l", "c.toml", cwd=tmp_path)
    assert not (tmp_path / "l").exists()


def test_all_must_play_equally_many_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planner = type(registry.planner("pairings"))
    fair = planner.matchups
    monkeypatch.setattr(planner, "matchups", lambda *arguments: islice(fair(*arguments), 1, None))
    config(tmp_path, {"ada": "score=1", "bob": "score=2", "cyd": "score=2"})
    said = mistake("league", "new", "l", "c.toml", cwd=tmp_path)
    assert said.startswith("c.toml: plan: cyd would play 2 matches and ")
    monkeypatch.setattr(planner, "matchups", lambda *arguments: iter(()))
    assert "3 bots make no matchup with the planner 'pairings'" in mistake(
        "league", "new", "l", "c.toml", cwd=tmp_path
    )


def test_mistakes_in_the_folder(tmp_path: Path) -> None:
    for words in (("status", "x"), ("round", "x"), ("run", "x"), ("publish", "x", "1")):
        assert "x: no league here (no league.toml)" in mistake("league", *words, cwd=tmp_path)
    config(tmp_path, {"ada": "score=1", "bob": "score=2"})
    assert ". is in the way: a league needs a new folder" in mistake("league", "new", ".", "c.toml", cwd=tmp_path)
    assert "none.toml: no such config file" in mistake("league", "new", "l", "none.toml", cwd=tmp_path)
    (tmp_path / "empty").mkdir()
    good("league", "new", ".", "../c.toml", cwd=tmp_path / "empty")
    assert "none yet" in mistake("league", "publish", "empty", "1", cwd=tmp_path)
    (tmp_path / "empty/league.toml").write_text("engine = 3\n")
    assert "empty/league.toml: engine = 3: " in mistake("league", "round", "empty", cwd=tmp_path)


@pytest.mark.slow
def test_the_real_league(tmp_path: Path) -> None:
    """Both example bots lose all within 10,000 games and tie; the only one left is king."""
    good("league", "new", "l", str(ROOT / "configs/league-demo.toml"), cwd=tmp_path)
    done = subprocess.run(
        [PROGRAM, "league", "run", "l"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "30,000 of 30,000 games" in done.stderr
    said = done.stdout.splitlines()
    assert said == ["round 1: dflat, drandom go with 0 coins each", "King of the hill: basic_strategy."]
    bots = {bot["name"]: bot for bot in status(tmp_path)["rounds"][0]["bots"]}
    # broke after 1,545 games (sd 109) and 3,188 (sd 182), twice each, by the rulings' figures
    assert bots["dflat"]["games_survived"] / 2 == pytest.approx(1545, abs=4 * 109 / 2**0.5)
    assert bots["drandom"]["games_survived"] / 2 == pytest.approx(3188, abs=4 * 182 / 2**0.5)
    assert bots["basic_strategy"]["games_survived"] == 20_000
