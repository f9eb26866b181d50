"""The report of ratings: against brute force on a real run, and where no rating is finite."""

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from simfarm import run as runs
from simfarm.config import build_config
from simfarm.core.model import BotSpec
from simfarm.core.rating import rate
from simfarm.executors.local import LocalExecutor
from simfarm.report.ratings import ratings
from simfarm.store import Run


def test_winners_of_four_beat_the_others_and_nobody_else(tmp_path: Path) -> None:
    names = ("starter", "sparring_tempo", "sparring_points", "first_legal")
    specs = [BotSpec(name, file=f"engines/uno/bots/{name}.c") for name in names]
    run = Run.create(tmp_path / "run", build_config("uno", specs, plan={"games": 3000}, where="test"))
    runs.play(run, LocalExecutor(1), lambda progress: None)
    run = Run(run.path)
    data = ratings(run).data
    won = dict(
        run.lazy("games")
        .select(pl.col("winner_bot").cast(pl.String))
        .collect()["winner_bot"]
        .value_counts()
        .iter_rows()
    )
    for a, b in combinations(names, 2):
        cell = data["wins"][a][b]
        assert (cell["ahead"], cell["compared"]) == (won[a], won[a] + won[b])
    # of one winner among four the model is Luce's: strengths are as the wins
    for bot in data["bots"]:
        log_odds = np.log(won[bot["name"]]) - np.mean([np.log(count) for count in won.values()])
        assert bot["rating"] == pytest.approx(400 / np.log(10) * log_odds, abs=1e-6)
        assert bot["low"] < bot["rating"] < bot["high"]
        # the error of a log-share of n games, about
        assert bot["error"] == pytest.approx(173.7 * (1 / won[bot["name"]]) ** 0.5, rel=0.25)


def test_intervals_cover_though_pairs_of_a_table_hang_together() -> None:
    """Luce's choices among four, 40 tables a cluster: 95 % intervals cover 95 %, within 4 sigma."""
    rng = np.random.default_rng(4)
    strength = np.array([0.4, 0.1, -0.1, -0.4])
    chance = np.exp(strength) / np.exp(strength).sum()
    places = list(combinations(range(4), 2))
    covered, runs_, clusters = 0, 250, 60
    for _ in range(runs_):
        won = rng.multinomial(40, chance, size=clusters).astype(float)
        scores = np.concatenate([won[:, i] for i, _ in places])
        counts = np.concatenate([won[:, i] + won[:, j] for i, j in places])
        pairs = np.repeat(np.array(places, dtype=np.intp), clusters, axis=0)
        found = rate("abcd", pairs, scores, counts, np.tile(np.arange(clusters), len(places)))
        for rating, true in zip(found, strength * 400 / np.log(10), strict=True):
            assert rating.value is not None
            assert rating.error is not None
            covered += abs(rating.value - true) <= 1.96 * rating.error
    assert abs(covered / (4 * runs_) - 0.95) < 4 * (0.95 * 0.05 / runs_) ** 0.5


def test_nobody_is_rated_where_one_always_wins(tmp_path: Path) -> None:
    specs = []
    for index, name in enumerate(("ada", "bob", "cyd")):
        (tmp_path / f"{name}.txt").write_text(f"score={index}")
        specs.append(BotSpec(name, file=str(tmp_path / f"{name}.txt")))
    config = build_config("ladder", specs, plan={"games": 5, "repeats": 4}, where="test")
    run = Run.create(tmp_path / "run", config)
    runs.play(run, LocalExecutor(1), lambda progress: None)
    report = ratings(Run(run.path))
    assert {bot["rating"] for bot in report.data["bots"]} == {None}
    assert "ada never won against bob, cyd, not even through others" in report.paragraphs[1]
    assert report.data["wins"]["cyd"]["ada"] == {"ahead": 4.0, "compared": 4.0}
