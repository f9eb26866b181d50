"""The leaderboard, on rows with known answers."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from simfarm import registry
from simfarm import run as runs
from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, Matchup, Rules, SourceFile
from simfarm.executors.local import LocalExecutor
from simfarm.report import leaderboard as module
from simfarm.report.leaderboard import leaderboard
from simfarm.stats.pairing import Seatings
from simfarm.stats.tally import block_scores, conditions
from simfarm.store import Run
from tests.conftest import Coin

ENGINE = registry.engine("coin")
NO_SEATINGS = Seatings(pl.LazyFrame(), ENGINE.score, {})


class SomeRules(Rules):
    points: int = 1
    colour: str = "red"


def bot(name: str) -> Bot:
    return Bot(name, (SourceFile("f", name.encode()),))


def alone(name: str, seed: int = 1, **rules: object) -> Matchup:
    return Matchup((bot(name),), SomeRules.model_validate(rules), seed, 0, 50)


def frame(rows: Sequence[tuple[str, int, str | None, int, str | None]]) -> dict[str, pl.LazyFrame]:
    """Rows of the coin game: matchup, block, winner, points, bot at fault."""
    columns = {
        "matchup": pl.String,
        "block": pl.UInt32,
        "winner": pl.String,
        "points": pl.UInt32,
        "faulty": pl.String,
    }
    data = pl.DataFrame(rows, schema=columns, orient="row")
    ended = pl.when(pl.col("faulty").is_null()).then(pl.lit("completed")).otherwise(pl.lit("illegal"))
    return {"tosses": data.with_columns(ended.alias("termination")).lazy()}


def test_lone_bots_are_paired_by_block_rules_and_seed() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 1000, 50), rng.integers(0, 1000, 30)
    matchups = {"a": alone("ada"), "b": alone("bob"), "c": alone("bob", points=2), "d": alone("bob", seed=2)}
    rows = [("a", block, "ada", int(a[block]), None) for block in range(50)]
    rows += [("b", block, "bob", int(b[block]), None) for block in range(30)]
    rows += [(key, block, "bob", 10**6, None) for key in "cd" for block in range(50)]
    units = block_scores(frame(rows), ENGINE, matchups)
    rules = conditions(matchups)
    assert rules == [{"points": 1}, {"points": 2}]
    board = module._board(units.filter(condition=0), rules[0], False, ["ada", "bob"], "ada", ENGINE, NO_SEATINGS)
    assert board.title == "points = 1"
    bob, ada = board.standings
    assert (ada.bot, ada.units, ada.mean) == ("ada", 50, a.mean())
    assert ada.error == pytest.approx(a.std(ddof=1) / 50**0.5)
    assert bob.units == 80
    assert bob.paired is not None
    gaps = b - a[:30]
    assert (bob.paired.units, bob.paired.difference) == (30, pytest.approx(gaps.mean()))
    assert bob.paired.error == pytest.approx(gaps.std(ddof=1) / 30**0.5)
    assert bob.paired.z == pytest.approx(gaps.mean() / (gaps.std(ddof=1) / 30**0.5))


def test_bots_that_meet_are_paired_in_their_block() -> None:
    pair = Matchup((bot("ada"), bot("bob")), SomeRules(), 1, 0, 4)
    rows = [
        ("m", 0, "ada", 3, None),
        ("m", 1, "bob", 1, "ada"),
        ("m", 2, None, 0, None),
        ("m", 3, "bob", 1, "ada"),
    ]
    units = block_scores(frame(rows), ENGINE, {"m": pair})
    assert units.filter(bot="ada")["score"].to_list() == [3, 0, 0, 0]
    assert units.filter(bot="bob")["score"].to_list() == [0, 1, 0, 1]
    assert units.filter(bot="ada")["invalid"].to_list() == [0, 1, 0, 1]
    board = module._board(units, {}, False, ["ada", "bob"], "ada", ENGINE, NO_SEATINGS)
    paired = next(standing.paired for standing in board.standings if standing.bot == "bob")
    assert paired is not None
    assert (paired.units, paired.difference) == (4, (-3 + 1 + 0 + 1) / 4)


def test_equal_bots_are_seldom_told_apart() -> None:
    """|z| > 2 in about one of 20 runs of two equal bots, whatever a block is worth to both."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(300):
        luck = rng.exponential(1000, 40)
        gaps = (luck + rng.normal(0, 50, 40)) - (luck + rng.normal(0, 50, 40))
        error = module._error(gaps)
        assert error is not None
        hits += abs(gaps.mean() / error) > 2
    assert 5 <= hits <= 32


def test_one_block_has_no_error() -> None:
    units = block_scores(frame([("a", 0, "ada", 5, None)]), ENGINE, {"a": alone("ada")})
    board = module._board(units, {}, False, ["ada"], "ada", ENGINE, NO_SEATINGS)
    assert (board.standings[0].mean, board.standings[0].error, board.standings[0].paired) == (5, None, None)


def test_a_run_that_is_not_finished(coin: Coin, tmp_path: object) -> None:
    units = block_scores(frame([("a", 0, "ada", 5, None)]), ENGINE, {"a": alone("ada")})
    notes = module._notes(units, {"a": alone("ada")}, (range(1),))
    assert notes[0] == "The run is not finished: 1 of 50 scores are in."
    assert notes[1].startswith("Warning: 1 of the 1 blocks judged are among the tuning seeds")
    assert module._notes(units, {"a": alone("ada")}, (range(1, 9),))[1:] == []


def test_a_real_run_in_three_forms(coin: Coin, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("run") / "run"
    runs.play(Run.create(folder, coin(games=200)), LocalExecutor(1), lambda progress: None)
    report = leaderboard(Run(folder))
    data = json.loads(report.json())
    wins = Run(folder).lazy("tosses").collect()["winner"].cast(pl.String).value_counts()
    counts = dict(wins.iter_rows())
    bots = {entry["name"]: entry for entry in data["boards"][0]["bots"]}
    assert {name: entry["mean"] * 200 for name, entry in bots.items()} == pytest.approx(counts)
    tails = bots["tails"]["paired"]
    assert tails["difference"] == pytest.approx((counts["tails"] - counts["heads"]) / 200)
    assert f"| tails | 200 | {tails['difference']:+,.1f}" in report.markdown()


def test_a_reference_that_does_not_play(coin: Coin, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("run") / "run"
    made = coin(games=10)
    run = Run.create(folder, replace(made, bots=made.bots[:1]))
    with pytest.raises(ConfigError, match="takes part in no matchup"):
        leaderboard(run)
