"""The engine as users meet it: bots by command and by file, rows, replay, play and run."""

import json
import shutil
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from engines.blackjack.engine import BlackjackEngine
from simfarm import query
from simfarm.cli.main import app
from simfarm.config import build_config, load_config
from simfarm.core.errors import BotError, ConfigError
from simfarm.core.model import BotSpec, Matchup, Shard
from simfarm.schema import arrow_schema, complete
from simfarm.store import Run

ROOT = Path(__file__).parents[1]
ENGINE = BlackjackEngine()
BOTS = ENGINE.bundled()
TIMES = ["reply_us_median", "reply_us_p99", "reply_us_worst"]


def config(*specs: BotSpec, record: tuple[str, ...] = (), rules: dict[str, Any] | None = None, **plan: Any) -> Any:
    return build_config("blackjack", specs, seed=9, plan=plan, rules=rules, record=record, where="test")


def matchup_of(*specs: BotSpec, **options: Any) -> Matchup:
    ((_, matchup),) = config(*specs, **options).planned()
    return matchup


def rows(matchup: Matchup, start: int, stop: int) -> dict[str, pl.DataFrame]:
    ENGINE.check(matchup)
    parts = ENGINE.play(Shard(matchup, "0" * 16, start, stop))
    frames = {}
    for table in ENGINE.tables:
        if table.name in parts:
            frame = pl.from_arrow(complete(parts[table.name], arrow_schema(table, "blackjack", 1), "0" * 16))
            assert isinstance(frame, pl.DataFrame)
            frames[table.name] = frame
    return frames


def test_rows_depend_on_the_block_alone() -> None:
    matchup = matchup_of(BOTS["dflat"], BOTS["drandom"], games=200, repeats=4, record=("games",))
    together = rows(matchup, 0, 4)
    parts = [rows(matchup, start, start + 1) for start in range(4)]
    for name, frame in together.items():
        again = pl.concat([part[name] for part in parts])
        hidden = [column for column in TIMES if column in frame.columns]
        assert frame.drop(hidden).equals(again.drop(hidden))
    seats = together["seats"]
    assert seats["block"].to_list() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert seats["bot"].cast(pl.String).to_list() == ["dflat", "drandom"] * 4
    assert seats["balance"].n_unique() > 4
    assert (seats["reply_us_median"] <= seats["reply_us_p99"]).all()
    assert (seats["reply_us_p99"] <= seats["reply_us_worst"]).all()


def test_games_add_up_to_balances() -> None:
    matchup = matchup_of(BOTS["dflat"], BOTS["drandom"], games=300, record=("games",))
    frames = rows(matchup, 0, 1)
    games, seats = frames["games"], frames["seats"]
    assert games["game"].to_list() == list(range(1, 301))
    for row in seats.iter_rows(named=True):
        nets = games["results"].str.extract(rf"\b{row['bot']}:([+-][\d.]+)").cast(pl.Float64)
        assert 10_000 + nets.sum() == row["balance"]
        bets = games["bets"].str.extract(rf"\b{row['bot']}:(\d+)").cast(pl.Int64)
        assert bets.null_count() == 0
        assert bets.sum() <= row["wagered"]
    assert games["cards"].str.contains(r"^\w+:[\dAJQKSHDC |]+; \w+:[\dAJQKSHDC |]+; dealer:[\dAJQKSHDC ]+$").all()


def test_shared_deals_swap_the_seats() -> None:
    """The same bot under two names: with the seats swapped each gets what the other had."""
    twins = [replace(BOTS["dflat"], name=name) for name in ("one", "two")]
    silent = BotSpec("x", command="true")
    assert silent.command
    matchup = matchup_of(*twins, games=100, deal="shared", rules={"start_balance": 100_000})
    seats = rows(matchup, 0, 1)["seats"]
    assert seats["seating"].to_list() == [0, 0, 1, 1]
    assert seats["bot"].cast(pl.String).to_list() == ["one", "two", "two", "one"]
    assert seats["match_games"].to_list() == [100] * 4


def test_commands_travel_with_their_files(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "play.py").write_text("import helper\n")
    (tmp_path / "helper.txt").write_text("x")
    script = tmp_path / "flat"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    spec = BotSpec("b", command="FOO=1 ./flat <helper.txt 'bots/play.py' python3 /bin/sh", folder=str(tmp_path))
    bot = ENGINE.load(spec)
    assert [(file.path, file.executable) for file in bot.files] == [
        ("bots/play.py", False),
        ("flat", True),
        ("helper.txt", False),
    ]
    assert bot.command == spec.command
    more = ENGINE.load(replace(spec, command="./flat", files=(str(tmp_path / "helper.txt"), "/etc/hostname")))
    assert [file.path for file in more.files] == ["flat", "helper.txt", "hostname"]
    before = ENGINE.load(replace(spec, command="./flat")).hash
    script.write_text("#!/bin/sh\nexit\n")
    assert ENGINE.load(replace(spec, command="./flat")).hash != before


def test_files_from_elsewhere_come_along(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    outside = tmp_path / "dflat"
    shutil.copy(ENGINE.bots / "dflat.c", tmp_path / "dflat.c")
    outside.write_text("#!/bin/sh\necho hello\n")
    outside.chmod(outside.stat().st_mode | stat.S_IXUSR)
    for word in ("../dflat", str(outside)):
        bot = ENGINE.load(BotSpec("b", command=f"{word} 5", folder=str(tmp_path / "here")))
        assert bot.command == "./files/0/dflat 5"
        assert [file.path for file in bot.files] == ["files/0/dflat"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (BotSpec("b", command="./x 'y"), "no closing quotation"),
        (BotSpec("b", command="  "), "its command is empty"),
        (BotSpec("b", command="./x", language="C"), "a command has no language"),
        (BotSpec("b", command="./x", files=("nowhere.txt",)), "nowhere.txt: No such file"),
        (BotSpec("b", file="nowhere.c"), "nowhere.c: No such file"),
        (BotSpec("b", file="bot.xyz"), "cannot tell the language of bot.xyz; allowed: Brainfuck, "),
        (BotSpec("b", file="bot.c", language="Cobol"), "language = 'Cobol'; allowed: "),
        (BotSpec("b"), "needs a file or a command"),
    ],
)
def test_what_is_no_bot(spec: BotSpec, message: str) -> None:
    with pytest.raises(BotError, match=message):
        ENGINE.load(spec)


def test_what_is_no_matchup() -> None:
    matchup = matchup_of(BOTS["dflat"], BOTS["drandom"])
    for change, message in (
        ({"bots": (matchup.bots[0],) * 2}, "cannot sit twice"),
        ({"bots": ()}, "has 1 to 64 seats, not 0"),
        ({"seatings": ((0, 0),)}, "must be an order of the positions 0 to 1"),
    ):
        with pytest.raises(ConfigError, match=message):
            ENGINE.check(replace(matchup, **change))


def test_replay_tells_every_decision_and_agrees_with_the_rows() -> None:
    matchup = matchup_of(BOTS["dflat"], BOTS["drandom"], games=20, repeats=2)
    lines = list(ENGINE.replay(matchup, 1))
    seats = rows(matchup, 1, 2)["seats"]
    assert sum(" -> " in line for line in lines) == seats["decisions"].sum()
    assert sum(line.startswith("game ") for line in lines) == 20
    for row in seats.iter_rows(named=True):
        assert f"{row['bot']}: {row['balance']:g} after 20 games, completed" in lines


def invoke(*arguments: str) -> Any:
    result = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_play_as_in_the_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dflat", "drandom"):
        from simfarm.core import native

        source = (ENGINE.bots / f"{name}.c").read_bytes()
        shutil.copy(native.build({"bot.c": source}, [native.Unit("bot.c", ("-O2",))]), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    arguments = ("play", "blackjack", "--games", "2000", "--bot", "flat:./dflat", "--bot", "random:./drandom")
    found = json.loads(invoke(*arguments, "--format", "json").stdout)
    assert found["games"] == 2000
    flat, other = found["bots"]
    assert [bot["name"] for bot in found["bots"]] == ["flat", "random"]
    assert {"name", "balance", "games", "terminated", "reason"} <= set(flat)
    # dflat is bankrupt near game 1545; drandom lives on
    assert 1100 < flat["games"] < 2000
    assert flat["balance"] == 0
    assert (flat["terminated"], flat["reason"]) in ((False, "broke"), (True, "unaffordable"))
    assert (other["games"], other["terminated"], other["reason"]) == (2000, False, "completed")
    assert 1500 < other["balance"] < 6000
    assert "unaffordable" in invoke(*arguments).stdout or "broke" in invoke(*arguments).stdout


def test_play_takes_commands_with_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ENGINE.bots / "basic_strategy.py", tmp_path / "mine.py")
    monkeypatch.chdir(tmp_path)
    found = json.loads(
        invoke(
            *("play", "blackjack", "-n", "20", "-b", f"a:{sys.executable} mine.py", "-b", "b:mine.py"),
            *("-b", "drandom", "--format", "json"),
        ).stdout
    )
    assert [(bot["name"], bot["games"], bot["terminated"]) for bot in found["bots"]] == [
        ("a", 20, False),
        ("b", 20, False),
        ("drandom", 20, False),
    ]


def test_a_run_of_pairings(tmp_path: Path) -> None:
    source = (ROOT / "configs" / "blackjack-quick.toml").read_text().replace("games = 500", "games = 50")
    path = tmp_path / "quick.toml"
    path.write_text(source)
    invoke("run", str(path), "--out", str(tmp_path / "out"), "--workers", "2")
    seats = query.sql(
        Run(tmp_path / "out"), "select bot, count(*) n, sum(games) g from seats group by bot order by bot"
    )
    assert seats.rows() == [("basic_strategy", 4, 200), ("dflat", 4, 200), ("drandom", 4, 200)]


def test_configs_are_valid() -> None:
    for name in ("blackjack-round", "blackjack-quick"):
        loaded = load_config(ROOT / "configs" / f"{name}.toml")
        for _, matchup in loaded.planned():
            ENGINE.check(matchup)
