"""The duel engine in its frame: files that are no bots, rows from any cut, plans, standings, the command line."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from engines.duel.rules import DuelRules
from engines.duel.standings import leaderboard_tables
from jobs.duels import DuelOptions, DuelPlanner
from simfarm import run as runs
from simfarm.config import build_config, load_config
from simfarm.core.errors import BotError, ConfigError
from simfarm.core.model import Bot, BotSpec, Deal
from simfarm.core.rating import rate
from simfarm.executors.local import LocalExecutor
from simfarm.store import Run
from tests.duel_table import CALLER, ENGINE, bot, matchup, play, spec, timeless
from tests.test_cli import simfarm

ROOT = Path(__file__).parents[1]


def check(folder: Path, source: str) -> None:
    loaded = ENGINE.load(spec(folder, "mine", source))
    ENGINE.check(matchup(loaded, bot("caller", CALLER)))


@pytest.mark.parametrize(
    "source",
    [
        CALLER,
        "class { onTurnStart() { return -1 } };",
        "// first\n/* second\n */ class A extends Object { onTurnStart() { return -1 } }\n// last\n;\n",
        "\ufeffclass { onTurnStart = (data) => data.op_bet_coins }",
        "class { constructor() { this.onTurnStart = () => -1 } }",
        "\r\nclass {\r\n  onTurnStart() { return -1 }\r\n}\r\n",
    ],
)
def test_a_class_expression_with_comments_and_a_semicolon_is_a_bot(tmp_path: Path, source: str) -> None:
    check(tmp_path, source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class {\n  onTurnStart( { return -1 }\n}", "mine.js:2: SyntaxError: "),
        ("class {\n  onTurnStart() { return -1 }\n", "mine.js:3: SyntaxError: "),
        ("// a\n/* b */ class {\n  onRoundStart() {}\n}", "mine.js:2: has no method onTurnStart"),
        ("class {\n  onRoundStart() {}\n}", "mine.js:1: has no method onTurnStart"),
        (
            "class {\n  constructor() {\n    this.x.y = 1;\n  }\n onTurnStart() {}\n}",
            "mine.js:3: the constructor threw",
        ),
        ("class {\n  static x = nowhere;\n  onTurnStart() {}\n}", "mine.js:2: threw ReferenceError: nowhere"),
        ("({ onTurnStart() { return -1 } })", "mine.js:1: must hold one class and nothing else"),
        ("function bot() {}", "mine.js:1: must hold one class and nothing else"),
        ("", "mine.js:1: must hold one class and nothing else"),
        ("class A { onTurnStart() {} }; globalThis.x = 1", "mine.js:1: is no class expression"),
        ("class A { onTurnStart() {} }, class B { onTurnStart() {} }", "mine.js:1: holds more than one class"),
        ("class A { onTurnStart() {} } + 1", "mine.js:1: is no class expression"),
        ("class A { onTurnStart() {} } && class B {}", "mine.js:1: holds more than one class expression"),
        ("class { static { for (;;); } }", "mine.js:1: does not come up within"),
        ("class { constructor() { for (;;); } onTurnStart() {} }", "mine.js:1: does not come up within"),
        ("class { get player_name() { for (;;); } onTurnStart() {} }", "mine.js:1: does not come up within"),
    ],
)
def test_a_file_that_is_no_bot_gets_one_line(
    tmp_path: Path, source: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engines.duel.session.CHECK_SECONDS", 0.5)
    with pytest.raises(BotError) as caught:
        check(tmp_path, source)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (BotSpec("a"), "a duel bot is one JavaScript file"),
        (BotSpec("a", file="a.py"), "its name must end in .js"),
        (BotSpec("a", file="nowhere.js"), "cannot read nowhere.js"),
    ],
)
def test_a_spec_that_names_no_file_of_the_kind(wrong: BotSpec, message: str) -> None:
    with pytest.raises(BotError, match=message):
        ENGINE.load(wrong)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_bytes(b"class {\xff}")
    with pytest.raises(BotError, match="not UTF-8 at byte 7"):
        ENGINE.load(BotSpec("a", file=str(tmp_path / "a.js")))


def test_matchups_that_are_no_duel() -> None:
    pair = matchup(bot("odds", ""), bot("sample", ""))
    for wrong, message in (
        (replace(pair, bots=pair.bots[:1]), "a duel has two bots, not 1"),
        (replace(pair, seatings=((0, 0),)), "must be an order of the positions"),
        (replace(pair, games=3, deal=Deal.SHARED, seatings=((0, 1), (1, 0))), "cannot be shared by 2 seatings"),
        (replace(pair, rules=DuelRules(sets=9_999, coins=100_000)), None),
    ):
        if message is None:
            ENGINE.check(wrong)
            continue
        with pytest.raises(ConfigError, match=message):
            ENGINE.check(wrong)


def test_rows_do_not_depend_on_the_cut() -> None:
    table = matchup(bot("mirror", ""), bot("sample", ""), games=3, blocks=4, rules={"sets": 9}, record=("rounds",))
    whole = play(table)
    assert set(whole) == {"games", "sets", "rounds"}
    parts = [play(table, 2, 4), play(table, 1, 2), play(table, 0, 1)]
    for name, frame in whole.items():
        joined = pl.concat([part[name] for part in reversed(parts)])
        assert timeless(frame).equals(timeless(joined))


def test_executors_give_the_same_rows(tmp_path: Path) -> None:
    rows = []
    for workers in (1, 2):
        specs = [ENGINE.bundled()[name] for name in ("odds", "sample", "bluffer")]
        plan = {"games": 8, "block": 2, "deal": "shared"}
        config = build_config("duel", specs, seed=5, plan=plan, rules={"sets": 9}, where="test")
        run = Run.create(tmp_path / f"{workers}", config)
        runs.play(run, LocalExecutor(workers), lambda progress: None)
        frame = Run(run.path).lazy("games").collect().with_columns(pl.col(pl.Categorical).cast(pl.String))
        rows.append(timeless(frame).sort("matchup", "block", "game"))
    assert rows[0].height == 24
    assert rows[0].equals(rows[1])


A, B, C = (Bot(name) for name in "abc")


def plan(*bots: Bot, seed: int = 1, **options: object) -> list[object]:
    return list(DuelPlanner().matchups(bots, DuelRules(), DuelOptions(**options), seed, ()))  # type: ignore[arg-type]


def test_every_pair_seed_and_combination_of_rules_is_planned() -> None:
    found = list(
        DuelPlanner().matchups(
            [C, A, B], DuelRules(), DuelOptions(seeds=(1, 2), vary={"ante": (5, 10), "sets": (9,)}), 1, ("rounds",)
        )
    )
    assert len(found) == 3 * 2 * 2
    assert len({m.seed for m in found}) == 12
    assert {tuple(bot.name for bot in m.bots) for m in found} == {("a", "b"), ("a", "c"), ("b", "c")}
    assert {(m.rules.ante, m.rules.sets) for m in found if isinstance(m.rules, DuelRules)} == {(5, 9), (10, 9)}
    assert (found[0].stop, found[0].games, found[0].record) == (50, 20, ("rounds",))


def test_a_new_bot_changes_no_matchup_of_the_others() -> None:
    assert plan(A, B)[0] in plan(C, B, A)
    assert plan(B, A) == plan(A, B)
    assert plan(A, B, seed=2) != plan(A, B)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"games": 30}, "must be a multiple of plan.block = 20; next is 40"),
        ({"games": 30, "block": 15, "deal": "shared"}, "it must be even"),
        ({"vary": {"antes": (1,)}}, "plan.vary.antes: no rule option; allowed: ante"),
        ({"vary": {"ante": (0,)}}, "plan.vary.ante: 0: "),
    ],
)
def test_plans_that_cannot_be(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan(A, B, **options)
    with pytest.raises(ConfigError, match="at least two bots"):
        plan(A)


def test_a_rating_is_the_log_odds_of_two() -> None:
    pairs = np.tile([0, 1], (50, 1))
    rng = np.random.default_rng(1)
    scores = rng.binomial(20, 0.75, 50).astype(float)
    ratings = rate(["a", "b"], pairs, scores, np.full(50, 20.0))
    share = scores.sum() / 1000
    gap = 400 * math.log10(share / (1 - share))
    assert ratings[0].value == pytest.approx(gap / 2)
    assert ratings[1].value == pytest.approx(-gap / 2)
    # Independent games: the error is that of the share, half of it for each of the two.
    assert ratings[0].error == pytest.approx(
        400 / math.log(10) / math.sqrt(1000 * share * (1 - share)) / 2, rel=0.25
    )


def test_ratings_find_what_games_were_drawn_from_and_say_how_well() -> None:
    true = np.array([120.0, 0.0, -40.0, -80.0])
    names = ["a", "b", "c", "d"]
    inside, tries = 0, 100
    for number in range(tries):
        rng = np.random.default_rng(number)
        pairs = np.array([(i, j) for i in range(4) for j in range(i + 1, 4) for _ in range(20)])
        chance = 1 / (1 + 10 ** ((true[pairs[:, 1]] - true[pairs[:, 0]]) / 400))
        counts = np.full(len(pairs), 10.0)
        found = rate(names, pairs, rng.binomial(10, chance).astype(float), counts)
        value, error = found[0].value, found[0].error
        assert value is not None
        assert error is not None
        inside += abs(value - true[0]) < 1.96 * error
    assert 88 <= inside <= 99, "a 95 % interval"


def test_ratings_that_do_not_exist_say_so() -> None:
    pairs = np.array([[0, 1], [0, 1], [2, 3]])
    ratings = rate(["a", "b", "c", "d"], pairs, np.array([5.0, 5.0, 2.0]), np.array([5.0, 5.0, 5.0]))
    assert all(rating.value is None for rating in ratings)
    assert ratings[0].note == "not connected with c, d"
    one_sided = rate(["a", "b"], pairs[:2], np.array([5.0, 5.0]), np.array([5.0, 5.0]))
    assert one_sided[0].note == "never lost to b, not even through others"
    assert one_sided[1].note == "never won against a, not even through others"


def test_standings() -> None:
    table = matchup(bot("odds", ""), bot("sample", ""), games=4, blocks=2)
    games = play(table)["games"].with_columns(matchup=pl.lit("k"))
    tables = leaderboard_tables({"k": table}, games.lazy())
    standings = tables["Standings"]
    assert standings.columns[:5] == ["bot", "games", "won", "sets", "sets won"]
    first, second = standings.iter_rows(named=True)
    assert (first["bot"], first["games"], first["won"], first["sets"]) == ("odds", 8, 8, 792)
    assert first["coins a set"] + second["coins a set"] == pytest.approx(2000)
    assert first["rating"] is None
    assert "never lost to sample" in first["note"]
    assert first["set rating"] > 0 > second["set rating"]
    matrix = next(frame for title, frame in tables.items() if title.startswith("Head to head"))
    assert matrix.row(0) == ("odds", "-", "8/8")
    assert matrix.row(1) == ("sample", "0/8", "-")


def test_play_prints_what_scripts_need(tmp_path: Path) -> None:
    (tmp_path / "mine.js").write_text(CALLER)
    arguments = ["--bot", "a:mine.js", "--bot", "b:mine.js", "--games", "10", "--seed", "7", "--rule", "sets=5"]
    told = json.loads(simfarm("play", "duel", *arguments, "--format", "json", cwd=tmp_path).stdout)
    assert (told["games"], told["sets"]) == (10, 50)
    assert [
        sorted({"name", "game_wins", "set_wins", "round_wins", "folds"} - set(one)) for one in told["bots"]
    ] == [[], []]
    assert [one["name"] for one in told["bots"]] == ["a", "b"]
    assert sum(one["round_wins"] for one in told["bots"]) == told["rounds"] == told["turns"]
    assert sum(one["set_wins"] for one in told["bots"]) <= 50
    log = simfarm("play", "duel", *arguments, "--log", cwd=tmp_path).stdout.splitlines()
    assert len([line for line in log if line.startswith("game ")]) == 10
    assert log[-1].startswith("  game won by ")


def test_a_bot_that_is_none_is_one_line_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "mine.js").write_text("class {\n  onTurnStart( {}\n}")
    done = simfarm("play", "duel", "--bot", "a:mine.js", "--bot", "odds", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("simfarm: bot 'a': mine.js:3: SyntaxError")
    assert done.stderr.count("\n") == 1


def test_replay_and_leaderboard_show_what_the_rows_tell(tmp_path: Path) -> None:
    config = (ROOT / "configs" / "duel-demo.toml").read_text()
    (tmp_path / "c.toml").write_text(config.replace("games = 40", "games = 4").replace("block = 20", "block = 2"))
    assert simfarm("run", "c.toml", "-q", cwd=tmp_path).returncode == 0
    run = Run(tmp_path / "results" / "c")
    key = next(k for k, m in run.matchups().items() if {b.name for b in m.bots} == {"odds", "sample"})
    log = simfarm("replay", "c", "--block", "1", "-m", key, cwd=tmp_path).stdout.splitlines()
    games = run.lazy("games").filter((pl.col("matchup").cast(pl.String) == key) & (pl.col("block") == 1)).collect()
    assert sum(line.startswith("    round ") for line in log) == games["rounds"].sum()
    assert sum(" gives up" in line for line in log) == games["folds_seat0"].sum() + games["folds_seat1"].sum()
    ends = [line for line in log if line.startswith("  game won by ")]
    scores = [f"{a} to {b} sets" for a, b in games.select("sets_seat0", "sets_seat1").iter_rows()]
    assert len(ends) == 2
    assert all(score in end for score, end in zip(scores, ends, strict=True))
    assert log[-1] == ends[-1], "the newest line is the last"
    report = json.loads(simfarm("report", "leaderboard", "c", "--format", "json", cwd=tmp_path).stdout)
    assert {row["bot"] for row in report["tables"]["Standings"]} == {"odds", "mirror", "bluffer", "sample"}


def test_the_bundled_configs_load() -> None:
    for name in ("duel-demo", "duel-sweep"):
        config = load_config(ROOT / "configs" / f"{name}.toml")
        runs.check(config)
        assert {bot.name for bot in config.bots} == {"odds", "mirror", "bluffer", "sample"}
