"""Configs: what is accepted, and the one line that each mistake gets."""

import json
from pathlib import Path

import pytest

from simfarm.config import RunConfig, json_schema, load_config, parse_assignments
from simfarm.core.errors import BotError, ConfigError

GOOD = """
engine = "coin"
seed = 5
record = ["details"]
[plan]
planner = "coins"
games = 7
[rules]
points = 2
[verdict]
reference = "tails"
[[bots]]
name = "heads"
[[bots]]
name = "tails"
file = "mine.txt"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "mine.txt").write_text("tails")
    path = tmp_path / "run.toml"
    path.write_text(GOOD)
    return path


def test_a_config_is_read_whole(config: Path) -> None:
    read = load_config(config)
    assert (read.engine, read.seed, read.planner, read.record) == ("coin", 5, "coins", ("details",))
    assert read.plan.model_dump() == {"games": 7}
    assert read.rules.model_dump() == {"points": 2}
    assert read.verdict.reference == "tails"
    assert [bot.name for bot in read.bots] == ["heads", "tails"]
    assert read.bots[1].files[0].data == b"tails"


def test_json_and_back(config: Path) -> None:
    read = load_config(config)
    contents = {file.sha256: file.data for bot in read.bots for file in bot.files}
    assert RunConfig.from_json(json.loads(json.dumps(read.to_json())), contents, "x") == read


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("games = 7", "gamez = 7", "plan.gamez: unknown key (did you mean 'games'?); allowed: games"),
        ("seed = 5", "sead = 5", "sead: unknown key (did you mean 'seed'?); allowed: bots, bots_folder, engine,"),
        ("points = 2", 'points = "2"', 'rules.points = "2": input should be a valid integer'),
        ("points = 2", "points = true", "rules.points = true: input should be a valid integer"),
        ("seed = 5", "seed = -1", "seed = -1: input should be greater than or equal to 0"),
        ('engine = "coin"', "", "engine: this key is required"),
        ('engine = "coin"', 'engine = "coim"', "engine: unknown engine 'coim' (did you mean 'coin'?); known: "),
        ('planner = "coins"', 'planner = "coin"', "plan.planner: unknown planner 'coin' (did you mean 'coins'?)"),
        ('record = ["details"]', 'record = ["detail"]', "record: unknown table 'detail'; allowed: details"),
        ('reference = "tails"', 'reference = "tail"', "verdict.reference = 'tail' is no bot of this run (did you"),
        ('name = "tails"', 'name = "heads"', "bots: the name 'heads' is given to 2 bots; names must differ"),
        ('name = "heads"', 'name = "head"', "bot 'head' has no file and is not bundled with coin (did you mean"),
        ('name = "heads"', 'name = "a b"', "bots: the name 'a b': must be up to 64 letters, digits and . _ + -"),
        (
            'name = "heads"',
            'name = "heads"\nfil = "x"',
            "bots.0.fil: unknown key (did you mean 'file'?); allowed:",
        ),
        ("seed = 5", "seed = 2020-01-01", "dates and times are not allowed"),
        ("seed = 5", "seed = ", "not TOML: "),
        ("[verdict]", "[verdict]\ntie = -1.0", "verdict.tie = -1.0: input should be greater than or equal to 0"),
    ],
)
def test_a_mistake_is_one_line(config: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    config.write_text(GOOD.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        load_config(config)
    text = str(caught.value)
    assert text.startswith(f"{config}: ")
    assert text.removeprefix(f"{config}: ").startswith(message)
    assert "\n" not in text


def test_several_mistakes_are_counted(config: Path) -> None:
    config.write_text(GOOD.replace("seed = 5", "sead = 5\nb = 1"))
    with pytest.raises(ConfigError, match=r"\(and 1 more\)$"):
        load_config(config)


def test_missing_files(config: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such config file$"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "mine.txt").unlink()
    with pytest.raises(BotError, match=r"mine\.txt: No such file"):
        load_config(config)


def test_a_folder_of_bots(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for name in ("b.txt", "a.txt", "notes.md"):
        (folder / name).write_text("heads")
    config.write_text('engine = "coin"\nbots_folder = "many"')
    assert [bot.name for bot in load_config(config).bots] == ["a", "b"]
    config.write_text('engine = "coin"\nbots_folder = "few"')
    with pytest.raises(ConfigError, match=r"bots_folder = 'few': no such folder"):
        load_config(config)


def test_the_schema_knows_every_engine_and_planner() -> None:
    schema = json_schema()
    assert {"coin", "uno"} <= set(schema["properties"]["engine"]["enum"])
    assert "points" in schema["$defs"]["rules-coin"]["properties"]
    planners = {plan["properties"]["planner"]["const"] for plan in schema["properties"]["plan"]["anyOf"]}
    assert {"coins", "ring"} <= planners


def test_assignments() -> None:
    assert parse_assignments(["a=1", "b=true", "c=x", 'd="y"'], "--rule") == {
        "a": 1,
        "b": True,
        "c": "x",
        "d": "y",
    }
    with pytest.raises(ConfigError, match="write KEY=VALUE"):
        parse_assignments(["a"], "--rule")
