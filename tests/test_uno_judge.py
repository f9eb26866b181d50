"""The official judging and its leaderboard, as a user types them."""

import json
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engines.uno import wasm
from engines.uno.engine import UnoEngine
from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, SourceFile
from simfarm.judge import load_house
from simfarm.leaderboard import Division, Leaderboard
from simfarm.report.significance import significance
from simfarm.store import Run
from tests.test_cli import simfarm

STARTER = (UnoEngine.bots / "starter.c").read_text()
SECRET = "a thought that nobody else is to read"
LEGAL = STARTER.replace("starter_", "mine_") + f"/* {SECRET} */\n"
NO_CARD = "if (state->yourNumberOfCards == 3) return 99;"
ZERO = "if (state->yourNumberOfCards == 3) return 1 / (state->yourPosition - state->yourPosition);"
HOUSES = [
    ["veteran", "sparring_points", "sparring_tempo"],
    ["veteran", "sparring_colour", "first_legal"],
]


def judge(place: Path, name: str, *options: str, games: int = 24_000) -> subprocess.CompletedProcess[str]:
    return simfarm("judge", "uno", name, "--games", str(games), *options, cwd=place)


def told(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, object]:
    assert done.returncode == code, done.stderr
    data = json.loads(done.stdout)
    assert isinstance(data, dict)
    return data


def board(place: Path) -> list[dict[str, object]]:
    entries = told(simfarm("leaderboard", "uno", "--format", "json", cwd=place))["entries"]
    assert isinstance(entries, list)
    return entries


def write(place: Path, alias: str, wrong: str = "") -> str:
    """A bot like starter, with a statement at the start of its turn; returns the name of its file."""
    source = LEGAL.replace("mine_", f"{alias}_")
    if wrong:
        source = re.sub(r"(_Play\(GameState \*state\)\s*\{\n(    int .*;\n)*)", rf"\1    {wrong}\n", source)
        assert wrong in source
    (place / f"{alias}.c").write_text(source)
    return f"{alias}.c"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which mine.c was judged and posted."""
    place = tmp_path_factory.mktemp("judged")
    done = judge(place, write(place, "mine"), "--post", "--format", "json")
    (place / "told.json").write_text(done.stdout)
    (place / "stderr.txt").write_text(done.stderr)
    assert done.returncode == 0, done.stderr
    return place


def test_two_rings_and_a_verdict(judged: Path) -> None:
    data = json.loads((judged / "told.json").read_text())
    assert (data["alias"], data["division"], data["legal"], data["eligible"]) == ("mine", "open", True, True)
    assert [ring["ring"] for ring in data["rings"]] == ["A", "B"]
    assert [ring["house"] for ring in data["rings"]] == HOUSES
    for ring in data["rings"]:
        assert (ring["games"], ring["reference"], ring["verdict"]) == (24_000, "veteran", "loss")
        assert ring["margin_pp"] < -3 * ring["sigma_pp"] < 0
        assert ring["offence"] is None
        run = Run(judged / ring["run"])
        assert [bot.name for bot in run.config.bots] == ["mine", *ring["house"]]
        bot = significance(run).data["bots"][0]
        assert (bot["margin_pp"], bot["sigma_pp"]) == (ring["margin_pp"], ring["sigma_pp"])
    assert data["level"] == "wasm"
    stderr = (judged / "stderr.txt").read_text()
    assert "mine is legal; 2 rings, level wasm\n" in stderr
    assert re.search(r"24,000 of 24,000 games, .*, mine -\d+\.\d+ ± \d", stderr)


def test_judging_again_goes_on_where_it_was(judged: Path) -> None:
    runs = sorted((judged / "results" / "judge").iterdir())
    before = {run: (run / "receipts.jsonl").stat().st_mtime_ns for run in runs}
    again = told(judge(judged, "mine.c", "--format", "json"))
    assert again["rings"] == json.loads((judged / "told.json").read_text())["rings"]
    assert {run: (run / "receipts.jsonl").stat().st_mtime_ns for run in runs} == before
    assert sorted((judged / "results" / "judge").iterdir()) == runs


def test_levels_agree_and_are_told(judged: Path) -> None:
    native = told(judge(judged, "mine.c", "--level", "native", "--format", "json"))
    data = json.loads((judged / "told.json").read_text())
    assert native["level"] == "native"
    rings = native["rings"]
    assert isinstance(rings, list)
    for ring, other in zip(rings, data["rings"], strict=True):
        assert {**ring, "run": ""} == {**other, "run": ""}


def test_wasm_is_insisted_on(judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from simfarm.cli.judge import judge as command
    from simfarm.core.errors import ToolError

    monkeypatch.setattr(wasm, "available", lambda: False)
    monkeypatch.chdir(judged)
    write(judged, "other")
    with pytest.raises(
        ToolError, match=r"pip install .* \(judging here takes level wasm; --level names another\)"
    ):
        command("uno", Path("other.c"), games=2400)


def test_an_illegal_bot_is_not_played(tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text(
        LEGAL.replace("mine_", "bad_") + "int bad_memory;\nint other(void) { return 1; }\n"
    )
    data = told(judge(tmp_path, "bad.c", "--post", "--format", "json"), code=1)
    assert data["legal"] is False
    broken = data["violations"]
    assert isinstance(broken, list)
    assert {"global", "prefix"} <= {one["rule"] for one in broken}
    assert not (tmp_path / "results").exists()
    text = judge(tmp_path, "bad.c")
    assert text.returncode == 1
    assert "bad.c: not legal" in text.stdout


@pytest.mark.parametrize(
    ("wrong", "what", "last"),
    [(NO_CARD, "penalty", "answers 99: penalty, no such card"), (ZERO, "crashed", "    it was shown: direction ")],
)
def test_an_offence_makes_ineligible_and_is_shown(tmp_path: Path, wrong: str, what: str, last: str) -> None:
    name = write(tmp_path, "rogue", wrong)
    data = told(judge(tmp_path, name, "--post", "--format", "json", games=240_000), code=1)
    assert (data["legal"], data["eligible"], data["posted"]) == (True, False, False)
    rings = data["rings"]
    assert isinstance(rings, list)
    (ring,) = rings  # it ends with the first
    assert (ring["verdict"], ring["offence"]["what"]) == ("ineligible", what)
    assert ring["games"] < 240_000
    *_, turn, end = ["", *ring["offence"]["replay"]]
    assert last in end
    assert " rogue [" in (end if what == "penalty" else turn)
    assert (turn.endswith("crashes: the game ends")) == (what == "crashed")
    replay = simfarm("replay", ring["run"], "--block", str(ring["offence"]["block"]), cwd=tmp_path).stdout
    assert replay.startswith("\n".join(ring["offence"]["replay"]))
    rows = Run(tmp_path / ring["run"]).lazy("games").collect()
    column = "fault_bot" if what == "crashed" else None
    wrong_rows = rows.filter(
        rows[column] == "rogue" if column else rows.select("^penalties_seat.$").sum_horizontal() > 0
    )
    assert wrong_rows["block"].min() == ring["offence"]["block"]
    assert board(tmp_path) == []
    text = judge(tmp_path, name, games=240_000)
    assert f"First offence in ring A: {what} in block" in text.stdout


def test_the_board(judged: Path) -> None:
    (entry,) = board(judged)
    data = json.loads((judged / "told.json").read_text())
    assert (entry["alias"], entry["division"], entry["level"]) == ("mine", "open", "wasm")
    assert re.fullmatch(r"[0-9a-f]{64}", str(entry["bot"]))
    rings = entry["rings"]
    assert isinstance(rings, list)
    assert [ring["margin_pp"] for ring in rings] == [ring["margin_pp"] for ring in data["rings"]]
    folder = judged / "results" / "leaderboard-uno"
    assert (folder / "sources" / "mine" / "mine.c").read_text() == LEGAL
    for path in (folder / "sources", *(folder / "sources").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE((judged / "results" / "judge").stat().st_mode) == 0o700
    for form in ("text", "markdown", "json"):
        shown = simfarm("leaderboard", "uno", "--format", form, cwd=judged).stdout
        assert "mine" in shown
        assert SECRET not in shown
    assert SECRET not in (folder / "mine.json").read_text()


def test_a_new_entry_replaces_the_old_one(tmp_path: Path) -> None:
    name = write(tmp_path, "mine")
    other = write(tmp_path, "other")
    for file in (name, other):
        assert judge(tmp_path, file, "--post", "-q", games=2400).returncode == 0
    first = {entry["alias"]: entry["bot"] for entry in board(tmp_path)}
    (tmp_path / name).write_text(LEGAL + "/* better */\n")
    assert judge(tmp_path, name, "--post", "-q", games=2400).returncode == 0
    second = {entry["alias"]: entry["bot"] for entry in board(tmp_path)}
    assert second.keys() == first.keys() == {"mine", "other"}
    assert (second["other"] == first["other"], second["mine"] == first["mine"]) == (True, False)
    kept = tmp_path / "results" / "leaderboard-uno" / "sources"
    assert (kept / "mine" / "mine.c").read_text().endswith("/* better */\n")
    assert sorted(path.name for path in kept.iterdir()) == ["mine", "other"]
    assert len({str(entry["rings"]) for entry in board(tmp_path)}) == 1  # the same bot under two names


def test_one_shot_is_judged_once(tmp_path: Path) -> None:
    name = write(tmp_path, "mine")
    done = judge(tmp_path, name, "--move-to-open", games=2400)
    assert (done.returncode, "there is none to move" in done.stderr) == (2, True)
    assert judge(tmp_path, name, "--division", "one-shot", "--post", games=2400).returncode == 0
    assert [entry["division"] for entry in board(tmp_path)] == ["one-shot"]
    for options in (["--division", "one-shot"], ["--post"], []):
        done = judge(tmp_path, name, *options, games=2400)
        assert (done.returncode, done.stdout) == (2, "")
        assert "a one-shot entry is judged once" in done.stderr
        assert "with --move-to-open it moves to the open division" in done.stderr
    (tmp_path / name).write_text(LEGAL + "/* better */\n")
    assert judge(tmp_path, name, "--move-to-open", games=2400).returncode == 0
    assert [entry["division"] for entry in board(tmp_path)] == ["open"]
    before = board(tmp_path)[0]["bot"]
    assert judge(tmp_path, name, "--post", games=2400).returncode == 0
    assert board(tmp_path)[0]["bot"] != before
    done = judge(tmp_path, name, "--division", "one-shot", games=2400)
    assert done.returncode == 2
    assert "judged once" in done.stderr
    assert "move" not in done.stderr


def test_a_one_shot_judging_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    name = write(tmp_path, "mine")
    blocked = tmp_path / "results" / "judge"
    blocked.parent.mkdir()
    blocked.write_text("in the way")
    assert judge(tmp_path, name, "--division", "one-shot", games=2400).returncode == 2
    blocked.unlink()
    kept = (tmp_path / name).read_text()
    (tmp_path / name).write_text(kept + "/* another */\n")
    assert "judged once" in judge(tmp_path, name, "--division", "one-shot", games=2400).stderr
    (tmp_path / name).write_text(kept)
    assert judge(tmp_path, name, "--division", "one-shot", games=2400).returncode == 0


def test_a_house_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "champion.c").write_text(STARTER.replace("starter_", "king_"))
    house = 'games = 2400\nreference = "king"\n[[rings]]\nname = "X"\nhouse = ["king", "starter", "first_legal"]\n'
    (tmp_path / "house.toml").write_text(house + '[[bots]]\nname = "king"\nfile = "champion.c"\n')
    done = simfarm("judge", "uno", write(tmp_path, "mine"), "--house", "house.toml", "-f", "json", cwd=tmp_path)
    (ring,) = told(done)["rings"]  # type: ignore[misc]
    assert (ring["ring"], ring["reference"], ring["games"]) == ("X", "king", 2400)
    assert abs(ring["margin_pp"]) < 5 * ring["sigma_pp"]  # the champion is the same bot


def test_a_bot_of_the_house_can_be_judged_and_not_posted(tmp_path: Path) -> None:
    (tmp_path / "copy.c").write_text((UnoEngine.bots / "sparring_tempo.c").read_text())
    data = told(judge(tmp_path, "copy.c", "--format", "json", games=2400))
    assert data["alias"] == "sparring_tempo"
    done = judge(tmp_path, "copy.c", "--post", games=2400)
    assert (done.returncode, "is that of a bot of the house" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("reference = 'a'", "reference = 'b'"), "ring A: the reference 'b' is not in its house; it is: a, c"),
        (("games = 9", "games = 0"), "games = 0: "),
        (("games = 9", "games = 9\nfoo = 1"), "foo: unknown key; allowed: "),
        (("[[rings]]", "[[bots]]\nname = 'z'\nfile = 'z.c'\n[[rings]]"), "bots: in no ring's house: z"),
        (("games = 9", "games = ="), "not TOML: "),
    ],
)
def test_a_wrong_house_file_gets_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    good = "games = 9\nreference = 'a'\n[[rings]]\nname = 'A'\nhouse = ['a', 'c']\n"
    path = tmp_path / "house.toml"
    path.write_text(good)
    assert load_house(path).rings[0].house == ("a", "c")
    path.write_text(good.replace(*change))
    with pytest.raises(ConfigError) as caught:
        load_house(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_games_without_judging_say_so(tmp_path: Path) -> None:
    (tmp_path / "heads.txt").write_text("heads")
    done = simfarm("judge", "coin", "heads.txt", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "simfarm: judge: coin has no official house; name a house file with --house\n",
    )
    empty = simfarm("leaderboard", "uno", cwd=tmp_path)
    assert (empty.returncode, "No entries." in empty.stdout) == (0, True)


ENTRY: dict[str, Any] = {
    "alias": "mine",
    "division": "open",
    "bot": "ab" * 32,
    "date": "2013-10-01T00:00:00+00:00",
    "level": "wasm",
    "rings": [
        {
            **{"ring": "A", "house": ["veteran"], "reference": "veteran", "games": 24, "share_percent": 25.0},
            **{"margin_pp": 0.5, "sigma_pp": 0.1, "verdict": "win", "sentence": "better"},
        }
    ],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alias": 3}, "alias = 3: input should be a valid string"),
        ({"alias": "other"}, "alias = 'other': the file of an entry is called after it"),
        ({"division": "all"}, 'division = "all": input should be'),
        ({"rings": []}, "rings = []: list should have at least 1 item"),
        ({"rings": [{**ENTRY["rings"][0], "margin_pp": "big"}]}, 'rings.0.margin_pp = "big": input should be'),
        ({"rings": [{**ENTRY["rings"][0], "sigma_pp": {}}]}, "rings.0.sigma_pp = {}: input should be"),
        ({"rings": [{"ring": "A"}]}, "rings.0.house: this key is required"),
    ],
)
def test_an_entry_that_was_tampered_with_is_one_line(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(ENTRY))
    (entry,) = Leaderboard(tmp_path).entries()
    assert (entry.alias, entry.to_json()) == ("mine", ENTRY)
    path.write_text(json.dumps({**ENTRY, **change}))
    with pytest.raises(ConfigError, match="^" + re.escape(f"{path}: {message}")) as caught:
        Leaderboard(tmp_path).entries()
    assert "\n" not in str(caught.value)


def test_a_note_on_a_one_shot_bot_that_was_tampered_with_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "one-shot").mkdir()
    (tmp_path / "one-shot" / "mine.json").write_text('{"bot": "ab", "date": 5}')
    bot = Bot("mine", (SourceFile("mine.c", b""),))
    with pytest.raises(ConfigError, match=r"mine\.json: date = 5: input should be a valid string"):
        Leaderboard(tmp_path).admit(bot, Division.ONE_SHOT)
