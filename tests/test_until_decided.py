"""Runs that stop at their verdict: the same verdict whatever the order, the cut and the breaks."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from simfarm import run as runs
from simfarm.config import RunConfig, Verdict, build_config
from simfarm.core.errors import ConfigError
from simfarm.core.model import BotSpec
from simfarm.executors.local import LocalExecutor
from simfarm.plan import Coverage, gaps
from simfarm.report.elimination import elimination
from simfarm.report.leaderboard import leaderboard
from simfarm.report.significance import significance
from simfarm.stats.rounds import Rounds
from simfarm.store import Run
from simfarm.until import UntilDecided


def uno(games: int, *names: str, **verdict: Any) -> RunConfig:
    specs = [BotSpec(f"{name}{i}", file=f"engines/uno/bots/{name}.c") for i, name in enumerate(names)]
    return build_config(
        "uno", specs, plan={"games": games}, verdict=Verdict(method="sequential", **verdict), where="test"
    )


def ladder(folder: Path, repeats: int, **bots: str) -> RunConfig:
    specs = []
    for name, text in bots.items():
        (folder / f"{name}.txt").write_text(text)
        specs.append(BotSpec(name, file=str(folder / f"{name}.txt")))
    verdict = Verdict(method="sequential")
    return build_config("ladder", specs, plan={"games": 5, "repeats": repeats}, verdict=verdict, where="test")


def play(
    folder: Path, config: RunConfig, workers: int = 1, max_games: int | None = None
) -> tuple[Run, UntilDecided]:
    run = Run.create(folder, config)
    until = UntilDecided(run, max_games)
    runs.play(run, LocalExecutor(workers), lambda progress: None, until)
    return Run(folder), until


STRONG = ("veteran", "first_legal", "first_legal", "first_legal")


def test_a_ring_stops_at_its_verdict_and_more_rows_do_not_change_it(tmp_path: Path) -> None:
    config = uno(60_000, *STRONG)
    run, until = play(tmp_path / "a", config)
    assert until.state.decided
    early = significance(run).data
    assert early["games"] < 60_000
    assert {bot["verdict"] for bot in early["bots"][1:]} == {"loss"}
    assert early["rule"]["method"] == "sequential"
    games = sum((receipt.stop - receipt.start) for receipt in run.receipts())
    assert early["sequential"]["games"] <= games
    # again: nothing is played, and the same is said
    again, until = play(tmp_path / "a", config, workers=2)
    assert sum((receipt.stop - receipt.start) for receipt in again.receipts()) == games
    # everything is played: the verdict, and where it was reached, stay
    runs.play(Run.create(tmp_path / "a", config), LocalExecutor(2), lambda progress: None)
    late = significance(Run(tmp_path / "a")).data
    assert late["games"] == 60_000
    for key in ("decided", "games", "blocks", "findings"):
        assert late["sequential"][key] == early["sequential"][key]
    # with two workers and another cut
    other, _ = play(tmp_path / "b", config, workers=2)
    assert significance(other).data["sequential"]["findings"] == early["sequential"]["findings"]


def test_rows_beyond_a_gap_decide_nothing(tmp_path: Path) -> None:
    config = uno(40_000, *STRONG)
    run = Run.create(tmp_path / "run", config)
    runs.play(run, LocalExecutor(1), lambda progress: None)
    lines = (run.path / "receipts.jsonl").read_text().splitlines()
    assert len(lines) > 2
    kept = [line for line in lines if json.loads(line)["start"] > 0]
    (run.path / "receipts.jsonl").write_text("\n".join(kept) + "\n")
    data = significance(Run(run.path)).data
    assert data["games"] > 30_000
    assert data["sequential"]["complete"] == 0
    assert {bot["verdict"] for bot in data["bots"][1:]} == {"undecided"}


def test_order_covers_what_is_missing_once_and_round_by_round(tmp_path: Path) -> None:
    config = ladder(tmp_path, 90, ada="score=1 luck=2", bob="score=2 luck=2", cyd="score=9 luck=2")
    run = Run.create(tmp_path / "run", config)
    until = UntilDecided(run)
    found = list(until.order(gaps(run.config, Coverage())))
    for key, matchup in run.matchups().items():
        own = [(gap.start, gap.stop) for gap in found if gap.key == key]
        assert own[0][0] == matchup.start
        assert own[-1][1] == matchup.stop
        assert all(before[1] == after[0] for before, after in pairwise(own))
    assert [gap.key for gap in found[:3]] == list(run.matchups())
    rounds = Rounds.of(run.matchups())
    # at any time the matchups are within a tenth of each other
    for count in range(0, len(found), 3):
        spans = [(gap.key, gap.start, gap.stop) for gap in found[: count + 3]]
        assert rounds.complete(spans) >= 0.85 * max(gap.stop for gap in found[: count + 3])


def test_who_is_last_is_decided_and_stops_the_run(tmp_path: Path) -> None:
    config = ladder(tmp_path, 400, ada="score=1 luck=2", bob="score=3 luck=2", cyd="score=3 luck=2")
    run, until = play(tmp_path / "run", config)
    assert until.state.last == "ada"
    report = elimination(run)
    assert report.data["sequential"]["last"] == "ada"
    assert report.data["matches"] < 1200
    assert any(paragraph.startswith("ada is last: decided after") for paragraph in report.paragraphs)
    # bob and cyd are alike: nobody of them is called worse
    alike = ladder(tmp_path, 60, bob="score=3 luck=2", cyd="score=3 luck=2")
    _, until = play(tmp_path / "alike", alike)
    assert until.state.last is None
    assert until.state.complete == 60


def test_the_cap_and_plans_that_are_too_short(tmp_path: Path) -> None:
    config = uno(40_000, "veteran", "veteran", "veteran", "veteran")
    run, until = play(tmp_path / "run", config, max_games=6000)
    assert not until.state.decided
    assert until.limit * 20 <= 6000
    assert until.state.rounds.games[until.limit] >= 6000
    assert sum(receipt.stop - receipt.start for receipt in run.receipts()) < 9000
    with pytest.raises(ConfigError, match="--max-games 100: the first look is after 20 of 2,000 rounds"):
        UntilDecided(run, 100)
    short = Run.create(tmp_path / "short", ladder(tmp_path, 5, ada="score=1", bob="score=2"))
    with pytest.raises(ConfigError, match="the plan has 5 rounds"):
        UntilDecided(short)


def test_differences_on_a_leaderboard(tmp_path: Path) -> None:
    config = ladder(tmp_path, 100, ada="score=1 luck=2", bob="score=5 luck=2", cyd="score=1 luck=2")
    config = replace(config, verdict=config.verdict.model_copy(update={"reference": "ada"}))
    run = Run.create(tmp_path / "run", config)
    runs.play(run, LocalExecutor(1), lambda progress: None)
    found = {finding["bot"]: finding for finding in leaderboard(Run(run.path)).data["sequential"]["findings"]}
    assert found["bob"]["verdict"] == "win"
    assert found["bob"]["low"] > 0
    assert found["cyd"]["verdict"] == "undecided"
    assert found["bob"]["games"] < 300 * 5
