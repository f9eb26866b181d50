"""The elimination report: last places against exact fractions, probabilities against enumeration and simulation."""

import json
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfarm import run as runs
from simfarm.config import RunConfig, build_config, load_config
from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, BotSpec, Matchup, Rules, Score
from simfarm.executors.local import LocalExecutor
from simfarm.report.elimination import elimination
from simfarm.stats.elimination import SURE, Blocks, Certainty, Standing
from simfarm.store import Run

SCORE = Score("seats", "bot", "balance", "coins", survived="games")
BOTS = ("ada", "bob", "cyd")

Matches = dict[tuple[str, ...], list[tuple[float, ...]]]
"""Scores of each table's bots, one tuple per match."""


def standing(matches: Matches, *, tie_break: bool = False, bots: Sequence[str] = BOTS) -> Standing:
    """What follows from the matches; every bot survives as many games in a match as the match's number."""
    rows, matchups = [], {}
    for table, blocks in matches.items():
        key = "".join(name[0] for name in table)
        matchups[key] = Matchup(tuple(map(Bot, table)), Rules(), 1, 0, len(blocks))
        for block, scores in enumerate(blocks):
            rows += [(key, block, name, float(score), block) for name, score in zip(table, scores, strict=True)]
    schema = {
        "matchup": pl.String,
        "block": pl.UInt32,
        "bot": pl.Categorical,
        "balance": pl.Float64,
        "games": pl.UInt32,
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row").sample(fraction=1, shuffle=True, seed=1)
    return Standing.of(frame.lazy(), SCORE, matchups, bots, tie_break)


HALVES = st.integers(-40_000, 40_000).map(lambda units: units / 2)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 4).flatmap(
        lambda count: st.fixed_dictionaries(
            {
                pair: st.lists(st.tuples(HALVES, HALVES), min_size=1, max_size=3)
                for pair in combinations(("ada", "bob", "cyd", "dan")[:count], 2)
            }
        )
    )
)
def test_sums_are_those_of_fractions(matches: Matches) -> None:
    found = standing(matches, bots=("dan", "cyd", "bob", "ada"))
    sums: dict[str, Fraction] = defaultdict(Fraction)
    pairs: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for (first, second), blocks in matches.items():
        for scores in blocks:
            for name, other, score in ((first, second, scores[0]), (second, first, scores[1])):
                sums[name] += Fraction(score)
                pairs[name, other] += Fraction(score)
    assert {
        name: Fraction(found.points(int(u))) for name, u in zip(found.bots, found.balances, strict=True)
    } == sums
    against = found.against()
    for row, name in enumerate(found.bots):
        for column, other in enumerate(found.bots):
            assert Fraction(int(against[row, column]), found.scale) == pairs.get((name, other), 0)
    assert set(found.last()) == {name for name, value in sums.items() if value == min(sums.values())}


def test_a_half_is_not_lost_beside_large_sums() -> None:
    """In floating point these sums would be equal."""
    pair = ("ada", "bob")
    found = standing({pair: [(2.0**53, 2.0**53), (0.5, 0.0)]})
    assert 2.0**53 + 0.5 == 2.0**53
    assert found.last() == ("bob",)


def test_equal_sums_tie_whatever_they_consist_of() -> None:
    matches: Matches = {
        ("ada", "bob"): [(7.5, 3.0)],
        ("ada", "cyd"): [(0.0, 20.0)],
        ("bob", "cyd"): [(4.5, 0.5)],
    }
    assert standing(matches).last() == ("ada", "bob")


def test_games_survived_break_ties_by_option_only() -> None:
    matches: Matches = {
        ("ada", "bob"): [(0, 0), (0, 0)],
        ("ada", "cyd"): [(0, 9), (0, 9), (0, 9)],
        ("bob", "cyd"): [(0, 9)],
    }
    # ada has 1 + 3 games, bob 1
    assert standing(matches).last() == ("ada", "bob")
    broken = standing(matches, tie_break=True)
    assert broken.last() == ("bob",)
    assert list(broken.survived) == [4, 1, 3]
    # cyd has survived fewer games than the others, but only equal balances are compared by games
    matches = {("ada", "bob"): [(0, 0), (0, 0)], ("ada", "cyd"): [(0, 9)], ("bob", "cyd"): [(0, 9)]}
    assert standing(matches, tie_break=True).last() == ("ada", "bob")
    lead = broken.lead()
    assert lead is not None
    assert (lead.last, lead.next, lead.value) == ("bob", "ada", 0)
    assert lead.blocks_needed is None


def test_scores_that_do_not_add_up_exactly_are_refused() -> None:
    assert standing({("ada", "bob"): [(1 / 1024, 0)]}).scale == 1024
    with pytest.raises(ConfigError, match=r"seats\.balance holds scores that are no multiples of 1/1024 coins"):
        standing({("ada", "bob"): [(0.1, 0.2)]})


def test_one_match_of_a_pair_has_no_spread() -> None:
    once: Matches = {pair: [(1, 2)] for pair in combinations(BOTS, 2)}
    assert standing(once).certainty() is None
    lead = standing(once).lead()
    assert lead is not None
    assert lead.sigma is None
    assert standing({**once, ("ada", "bob"): [(1, 2), (2, 1)]}).certainty() is None


def certain(found: Standing) -> Certainty:
    certainty = found.certainty()
    assert certainty is not None
    return certainty


def test_probabilities_are_those_of_all_resamples() -> None:
    """Two draws of three matches each, scaled to three: 9 x 9 equally likely resamples can be listed. Each is widened
    by every chi-squared value, in thousandths of its distribution."""
    matches: Matches = {
        ("ada", "bob"): [(3, 5), (7, 1), (0, 4)],
        ("bob", "cyd"): [(2, 6.5), (1, 1), (5, 0)],
    }
    found = standing(matches)
    lead = found.lead()
    assert lead is not None
    assert lead.freedom is not None
    chi = np.random.default_rng(8).chisquare(lead.freedom, 4000)
    wider = np.sqrt(lead.freedom / chi)[:, None]
    now = found.balances / found.scale
    counts, same = np.zeros(3), 0.0
    for draws in product(range(3), repeat=4):
        sums = np.zeros(3)
        for (table, blocks), drawn in zip(matches.items(), (draws[:2], draws[2:]), strict=True):
            for block in drawn:
                for name, score in zip(table, blocks[block], strict=True):
                    sums[BOTS.index(name)] += score * 3 / 2
        widened = (now + wider * (sums - now)).round(6)
        last = widened == widened.min(axis=1, keepdims=True)
        counts += last.mean(axis=0)
        same += float((last == (now == now.min())).all(axis=1).mean())
    certainty = certain(found)
    assert certainty.resamples == 10_000
    for name, count in zip(BOTS, counts, strict=True):
        assert certainty.probabilities[name] == pytest.approx(count / 81, abs=0.02)
    assert certainty.same == pytest.approx(same / 81, abs=0.02)


def test_bots_that_always_tie_tie_in_every_resample() -> None:
    matches: Matches = {
        ("ada", "bob"): [(10, 10), (7, 7), (12, 12), (3, 3)],
        ("ada", "cyd"): [(5, 90)] * 3,
        ("bob", "cyd"): [(5, 80), (5, 70), (5, 95)],
    }
    certainty = certain(standing(matches))
    # in a few resamples the spread is wide enough for cyd to be last, alone
    assert certainty.probabilities["ada"] == certainty.probabilities["bob"] == certainty.same > 0.99
    assert certainty.probabilities["cyd"] == pytest.approx(1 - certainty.same)


@pytest.mark.parametrize("blocks", [2, 3, 10])
def test_two_equal_bots_are_told_apart_no_oftener_than_stated(
    blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two equal bots is called last with 95 % or more in 10 of 100 contests; the bounds are 4 sigma."""
    monkeypatch.setattr("simfarm.stats.elimination._MOST_RESAMPLES", 1000)
    rng = np.random.default_rng(3)
    contests, sure = 400, 0
    for contest in range(contests):
        scores = np.rint(rng.normal(0, 1000, (blocks, 2))).astype(np.int64)
        alike = Blocks((0, 1), scores, np.zeros_like(scores), np.ones(blocks, np.int64))
        found = Standing(("ada", "bob"), 1, {"m": alike}, False).certainty(seed=contest)
        assert found is not None
        sure += max(found.probabilities.values()) >= 0.95
    assert 0.04 < sure / contests < 0.1 + 4 * (0.1 * 0.9 / contests) ** 0.5


def test_sigma_and_matches_needed() -> None:
    rng = np.random.default_rng(4)
    scores = {pair: np.rint(rng.normal((0, 40), 100, (25, 2))) for pair in combinations(BOTS, 2)}
    found = standing({pair: [tuple(row) for row in rows] for pair, rows in scores.items()})
    lead = found.lead()
    assert lead is not None
    assert (lead.last, lead.next, lead.blocks) == ("ada", "bob", 25)
    contributions = {
        ("ada", "bob"): scores["ada", "bob"] @ [-1, 1],
        ("ada", "cyd"): scores["ada", "cyd"] @ [-1, 0],
        ("bob", "cyd"): scores["bob", "cyd"] @ [1, 0],
    }
    assert lead.value == sum(d.sum() for d in contributions.values())
    assert lead.sigma == pytest.approx(sum(25 * d.var(ddof=1) for d in contributions.values()) ** 0.5)
    assert lead.sigma
    parts = [25 * d.var(ddof=1) for d in contributions.values()]
    assert lead.freedom == pytest.approx(sum(parts) ** 2 / sum(part**2 / 24 for part in parts))
    z = lead.value / lead.sigma
    assert lead.blocks_needed == max(25, np.ceil(25 * (NormalDist().inv_cdf(SURE) / z) ** 2))
    assert certain(found).probabilities["ada"] == pytest.approx(NormalDist().cdf(z), abs=0.03)


def ladder(folder: Path, repeats: int, **bots: str) -> RunConfig:
    specs = []
    for name, text in bots.items():
        (folder / f"{name}.txt").write_text(text)
        specs.append(BotSpec(name, file=str(folder / f"{name}.txt"), author=f"Team {name}"))
    return build_config("ladder", specs, plan={"games": 5, "repeats": repeats}, where="test")


def played(folder: Path, config: RunConfig) -> Run:
    run = Run.create(folder / "run", config)
    runs.play(run, LocalExecutor(1), lambda progress: None)
    return Run(folder / "run")


def test_the_report_of_a_run(tmp_path: Path) -> None:
    bots = {"ada": "score=2.5 games=3 fault=timeout", "bob": "score=1 luck=2", "cyd": "score=40"}
    run = played(tmp_path, ladder(tmp_path, 4, **bots))
    report = elimination(run)
    data = json.loads(report.json())
    rows = run.lazy("results").collect()
    bob = rows.filter(pl.col("bot") == "bob")["score"].sum()
    assert [(bot["name"], bot["matches"], bot["balance"]) for bot in data["bots"]] == [
        ("ada", 8, 20),
        ("bob", 8, bob),
        ("cyd", 8, 320),
    ]
    assert bob < 20
    assert (data["last"], data["all_tie"], data["matches"], data["planned_matches"]) == (["bob"], False, 12, 12)
    assert [bot["games_survived"] for bot in data["bots"]] == [24, 40, 40]
    assert [bot["terminations"] for bot in data["bots"]] == [{"timeout": 8}, {"completed": 8}, {"completed": 8}]
    assert [bot["author"] for bot in data["bots"]] == ["Team ada", "Team bob", "Team cyd"]
    assert data["against"]["ada"] == {"bob": 10, "cyd": 10}
    assert data["against"]["cyd"] == {"ada": 160, "bob": 160}
    assert data["certainty"]["same_last"] == data["bots"][1]["probability_last"]
    assert "By the rule bob is last and goes." in report.paragraphs
    told_apart = data["certainty"]["same_last"] >= SURE
    assert data["certainty"]["told_apart"] == told_apart
    assert any("the official rule removes bob all the same" in note for note in data["notes"]) != told_apart
    assert "| 1 | cyd | 8 | 320 | 40 | 0.0 | stays |" in report.markdown()


def test_one_match_each_and_unfinished(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", ladder(tmp_path, 1, ada="score=0.5", bob="score=1", cyd="score=2"))
    nothing = elimination(run)
    assert nothing.paragraphs[0] == "No matches yet."
    assert nothing.data["last"] == []
    runs.play(run, LocalExecutor(1), lambda progress: None)
    report = elimination(Run(run.path))
    assert report.data["last"] == ["ada"]
    assert report.data["certainty"] is None
    assert {bot["probability_last"] for bot in report.data["bots"]} == {None}
    assert any("one match has no spread" in note and "10 show it well" in note for note in report.data["notes"])
    assert "| 3 | ada | 2 | 1 |" in report.markdown()
    (run.path / "receipts.jsonl").write_text("".join((run.path / "receipts.jsonl").open().readlines()[:1]))
    report = elimination(Run(run.path))
    assert "So far" in report.paragraphs[0]
    assert "The run is not finished: 1 of 3 matches are in." in report.data["notes"]


def test_all_tie(tmp_path: Path) -> None:
    data = elimination(played(tmp_path, ladder(tmp_path, 2, ada="score=3", bob="score=3"))).data
    assert (data["last"], data["all_tie"], data["lead"]) == (["ada", "bob"], True, None)
    assert "nobody stays" in data["verdict"]


def test_tables_of_three(tmp_path: Path) -> None:
    bots = [BotSpec(name, file=str(tmp_path / f"{name}.txt")) for name in ("ada", "bob", "cyd", "dan")]
    for index, bot in enumerate(bots):
        (tmp_path / f"{bot.name}.txt").write_text(f"score={index}")
    config = build_config("ladder", bots, plan={"table": 3, "repeats": 2}, where="test")
    report = elimination(played(tmp_path, config))
    assert [bot["balance"] for bot in report.data["bots"]] == [0, 6, 12, 18]
    assert report.data["against"]["bob"] == {"ada": 4, "cyd": 4, "dan": 4}
    assert "(at tables of more than two; rows do not add up)" in report.markdown().replace("\\", "")


def test_a_tie_break_that_rows_do_not_tell(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('engine = "coin"\n[verdict]\ntie_break = "games_survived"\n')
    with pytest.raises(ConfigError, match=r"verdict\.tie_break = 'games_survived': rows of coin do not tell it"):
        load_config(tmp_path / "c.toml")
