"""The significance report: against counting by hand, on runs that are unfinished or odd, in three forms."""

import io
import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from simfarm import run as runs
from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, Deal, Fault, Matchup, Rules, Score
from simfarm.executors.local import LocalExecutor
from simfarm.report.render import Column, Report, Table
from simfarm.report.significance import SignificanceReport, analyse, render, significance
from simfarm.stats.margin import Rule
from simfarm.store import Run
from tests.conftest import Coin

BOTS = ("ada", "bob", "cyd", "dan")
SEATINGS = tuple(permutations(range(4)))[3:9]
SCORE = Score(
    "games", "winner", "points", "points", "seating", "winner_seat", tuple(f"penalties{s}" for s in range(4))
)
SCHEMA = {
    "matchup": pl.Categorical,
    "block": pl.UInt32,
    "seating": pl.UInt8,
    "winner": pl.Categorical,
    "winner_seat": pl.UInt8,
    "points": pl.UInt16,
    **{f"penalties{seat}": pl.UInt16 for seat in range(4)},
    "faulty": pl.Categorical,
    "termination": pl.Categorical,
}


def ring(deal: Deal, blocks: int, bots: Sequence[str] = BOTS) -> Matchup:
    games = len(SEATINGS) if deal is Deal.SHARED else 1
    return Matchup(tuple(map(Bot, bots)), Rules(), 1, 0, blocks, games, SEATINGS, deal)


def rows_of(matchups: dict[str, Matchup], seed: int = 1, penalties: float = 0.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for key, matchup in matchups.items():
        for block in range(matchup.start, matchup.stop):
            for seating in matchup.seatings_of(block):
                names = [matchup.bots[position].name for position in seating]
                seat = None if rng.random() < 0.1 else int(rng.integers(4))
                fault = names[int(rng.integers(4))] if seat is None else None
                rows.append(
                    (
                        key,
                        block,
                        matchup.seatings.index(seating),
                        None if seat is None else names[seat],
                        seat,
                        0 if seat is None else int(rng.integers(1, 500)),
                        *(int(rng.random() < penalties * seat) for seat in range(4)),
                        fault,
                        "timeout" if fault else "completed",
                    )
                )
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").sample(fraction=1, shuffle=True, seed=1)


def report_of(matchups: dict[str, Matchup], rows: pl.DataFrame, **changes: Any) -> SignificanceReport:
    arguments: dict[str, Any] = {
        "engine": "ring",
        "score": SCORE,
        "fault": Fault("games", "faulty"),
        "matchups": matchups,
        "bots": BOTS,
        "reference": "dan",
        "rule": Rule(),
    }
    return analyse(rows.lazy(), rows.lazy(), **{**arguments, **changes})


@pytest.mark.parametrize("deal", list(Deal))
def test_tables_agree_with_counting_by_hand(deal: Deal) -> None:
    matchups = {"m1": ring(deal, 60), "m2": ring(deal, 40, ("dan", "bob", "ada", "cyd"))}
    rows = rows_of(matchups, penalties=0.1)
    data = report_of(matchups, rows).to_json()
    games: dict[Any, int] = defaultdict(int)
    wins: dict[Any, int] = defaultdict(int)
    points: dict[Any, int] = defaultdict(int)
    at_stake: dict[Any, int] = defaultdict(int)
    penalties: dict[str, int] = defaultdict(int)
    faults: dict[str, int] = defaultdict(int)
    sat = set()
    for row in rows.iter_rows(named=True):
        matchup = matchups[row["matchup"]]
        names = tuple(matchup.bots[position].name for position in SEATINGS[row["seating"]])
        for seat, name in enumerate(names):
            penalties[name] += row[f"penalties{seat}"]
            sat.add((name, seat))
            for what in (seat, name, (name, seat)):
                games[what] += 1
                at_stake[what] += row["points"]
        games[names] += 1
        at_stake[names] += row["points"]
        if row["faulty"]:
            faults[row["faulty"]] += 1
        if row["winner"]:
            seat = row["winner_seat"]
            for what in (seat, row["winner"], (row["winner"], seat), (*names, seat)):
                wins[what] += 1
                points[what] += row["points"]
    assert data["games"] == rows.height
    assert data["blocks"] == 100
    for bot in data["bots"]:
        name = bot["name"]
        assert [bot["games"], bot["wins"], bot["points"]] == [games[name], wins[name], points[name]]
        assert bot["share_percent"] == pytest.approx(100 * points[name] / at_stake[name])
        assert bot["penalties"] == penalties[name] > 0
        assert not bot["eligible"]
        assert bot["faults"] == {"timeout": faults[name]}
    assert [seat["seat"] for seat in data["seats"]] == [0, 1, 2, 3]
    assert {(seat["bot"], seat["seat"]) for seat in data["bot_seats"]} == sat
    for seat in data["seats"]:
        what = seat["seat"]
        assert [seat["games"], seat["wins"], seat["points"]] == [games[what], wins[what], points[what]]
        assert seat["share_percent"] == pytest.approx(100 * points[what] / at_stake[what])
    for seat in data["bot_seats"]:
        what = seat["bot"], seat["seat"]
        assert [seat["games"], seat["wins"], seat["points"]] == [games[what], wins[what], points[what]]
        assert seat["share_percent"] == pytest.approx(100 * points[what] / at_stake[what])
    assert sum(seating["games"] for seating in data["seatings"]) == rows.height
    for seating in data["seatings"]:
        names = tuple(seating["bots"])
        assert [seating["games"], seating["points"]] == [games[names], at_stake[names]]
        for seat, share in enumerate(seating["shares_percent"]):
            assert share == pytest.approx(100 * points[(*names, seat)] / at_stake[names])


def test_margins_are_of_shares() -> None:
    matchups = {"m": ring(Deal.FRESH, 200)}
    data = report_of(matchups, rows_of(matchups)).to_json()
    shares = {bot["name"]: bot["share_percent"] for bot in data["bots"]}
    assert sum(shares.values()) == pytest.approx(100)
    for bot in data["bots"]:
        if bot["name"] == "dan":
            assert (bot["verdict"], bot["margin_pp"], bot["z"]) == ("reference", None, None)
        else:
            assert bot["margin_pp"] == pytest.approx(shares[bot["name"]] - shares["dan"])
            assert bot["z"] == pytest.approx(bot["margin_pp"] / bot["sigma_pp"])


def test_verdicts_are_from_the_bots_own_point_of_view() -> None:
    matchups = {"m": ring(Deal.FRESH, 400)}
    rows = rows_of(matchups)
    worse = pl.when(pl.col("winner") == "bob").then(pl.col("points") // 50).otherwise(pl.col("points"))
    better = pl.when(pl.col("winner") == "ada").then(pl.col("points") * 50).otherwise(worse)
    data = report_of(matchups, rows.with_columns(better.alias("points"))).to_json()
    verdicts = {bot["name"]: (bot["verdict"], bot["sentence"].split()[0]) for bot in data["bots"]}
    assert verdicts["ada"] == ("win", "better")
    assert verdicts["bob"] == ("loss", "worse")


def test_bots_that_met_in_some_matchups() -> None:
    """Blocks of the same number in different matchups are different blocks."""
    pairs = {
        f"m{first}{second}": Matchup((Bot(first), Bot(second)), Rules(), 1, 0, 50)
        for first, second in (("ada", "bob"), ("bob", "cyd"))
    }
    rows = [(key, block, pairs[key].bots[block % 2].name, 3) for key in pairs for block in range(50)]
    frame = pl.DataFrame(rows, schema=["matchup", "block", "winner", "points"], orient="row")
    frame = frame.with_columns(pl.lit(None, pl.String).alias("faulty"), pl.lit("completed").alias("termination"))
    score = Score("games", "winner", "points", "points")
    report = report_of(pairs, frame, score=score, bots=("ada", "bob", "cyd", "dan"), reference=None)
    data = report.to_json()
    assert (data["games"], data["blocks"], data["reference"]) == (100, 100, "ada")
    assert [(bot["name"], bot["games"]) for bot in data["bots"]] == [("ada", 50), ("bob", 100), ("cyd", 50)]
    assert data["bots"][0]["penalties"] is None
    assert data["seats"] == data["bot_seats"] == []
    assert [seating["bots"] for seating in data["seatings"]] == [["ada", "bob"], ["bob", "cyd"]]
    assert any("unequal numbers of games" in note for note in data["notes"])


def test_a_block_of_many_games_with_a_row_per_bot() -> None:
    """A match of 50 games is one block and has four rows, each with a bot's winnings."""
    match = Matchup(tuple(map(Bot, BOTS)), Rules(), 1, 0, 30, games=50)
    rng = np.random.default_rng(7)
    won = rng.integers(1, 1000, (30, 4))
    frame = pl.DataFrame(
        {
            "matchup": "m",
            "block": np.repeat(np.arange(30), 4),
            "bot": BOTS * 30,
            "coins": won.ravel(),
            "faulty": pl.Series([None] * 120, dtype=pl.String),
            "termination": "completed",
        }
    )
    report = report_of({"m": match}, frame, score=Score("seats", "bot", "coins", "coins"))
    data = report.to_json()
    assert (data["games"], data["blocks"], data["unit"]) == (1500, 30, "coins")
    assert [(bot["games"], bot["wins"], bot["points"]) for bot in data["bots"]] == [
        (1500, None, total) for total in won.sum(axis=0)
    ]
    assert [(seating["bots"], seating["games"]) for seating in data["seatings"]] == [(list(BOTS), 1500)]
    margin = (won[:, 0] - won[:, 3]).sum() / won.sum()
    d = won[:, 0] - won[:, 3] - margin * won.sum(axis=1)
    expected = 100 * (30 / 29 * (d**2).sum()) ** 0.5 / won.sum()
    assert data["bots"][0]["sigma_pp"] == pytest.approx(expected)


def test_shared_deals_are_clustered_while_most_blocks_are_missing() -> None:
    matchups = {"m": ring(Deal.SHARED, 100)}
    rows = rows_of(matchups).filter(pl.col("block").is_in([0, 99]))
    report = report_of(matchups, rows)
    assert (report.games, report.blocks) == (2 * len(SEATINGS), 2)


def test_before_the_first_and_before_the_last_row() -> None:
    matchups = {"m": ring(Deal.FRESH, 10)}
    rows = rows_of(matchups)
    for count in (0, 1):
        report = report_of(matchups, rows.head(count))
        data = json.loads(render(report).json())
        assert (data["games"], data["planned_games"]) == (count, 10)
        assert {bot["verdict"] for bot in data["bots"]} == {"undecided", "reference"}
        assert {bot["z"] for bot in data["bots"]} == {None}
        assert any(f"{count} of 10 games" in note for note in data["notes"])
    data = report_of(matchups, rows).to_json()
    assert not any("not finished" in note for note in data["notes"])
    faulty = {bot["name"] for bot in data["bots"] if bot["faults"]}
    assert faulty
    assert {bot["name"] for bot in data["bots"] if not bot["eligible"]} == faulty
    assert any("is ineligible, and no verdict of this run means much" in note for note in data["notes"])


def test_games_without_any_point() -> None:
    matchups = {"m": ring(Deal.FRESH, 10)}
    rows = rows_of(matchups).with_columns(pl.lit(0, pl.UInt16).alias("points"))
    data = json.loads(render(report_of(matchups, rows)).json())
    assert {bot["share_percent"] for bot in data["bots"]} == {None}
    assert {bot["sentence"] for bot in data["bots"][:3]} == {"no points were scored, so there are no shares"}
    assert {seat["share_percent"] for seat in data["seats"]} == {None}


def test_a_reference_that_does_not_play() -> None:
    with pytest.raises(ConfigError, match="'eve' takes part in no matchup; allowed: ada, bob, cyd, dan"):
        report_of({"m": ring(Deal.FRESH, 1)}, rows_of({}), reference="eve")


def test_penalties_without_seatings_are_refused() -> None:
    score = Score("games", "winner", "points", "points", penalties=SCORE.penalties)
    matchups = {"m": ring(Deal.FRESH, 3)}
    with pytest.raises(ValueError, match=r"Score\.seating is missing"):
        report_of(matchups, rows_of(matchups), score=score)


def test_one_penalty_makes_ineligible() -> None:
    matchups = {"m": ring(Deal.FRESH, 5)}
    rows = rows_of(matchups).sort("block")
    hit = pl.when(pl.col("block") == 2).then(1).otherwise(0).cast(pl.UInt16)
    report = report_of(matchups, rows.with_columns(hit.alias("penalties1")))
    guilty = BOTS[SEATINGS[2][1]]
    assert [bot.name for bot in report.bots if not bot.eligible] == [guilty]
    assert f"{guilty} is ineligible: 1 penalty." in report.notes()
    verdicts = next(table for table in render(report).tables if table.title.startswith("Verdicts"))
    assert [row[0] for row in verdicts.rows if "ineligible" in row[4]] == [guilty]


def test_a_real_run(coin: Coin, tmp_path: Path) -> None:
    """From committed rows: two bots that toss a coin, and one that never wins."""
    run = Run.create(tmp_path / "run", coin(games=400, heads="heads", tails="tails"))
    runs.play(run, LocalExecutor(2), lambda progress: None)
    report = significance(Run(tmp_path / "run"))
    data = json.loads(report.json())
    won = {
        name: Run(tmp_path / "run").lazy("tosses").filter(pl.col("winner") == name).collect().height
        for name in ("heads", "tails")
    }
    assert {bot["name"]: bot["wins"] for bot in data["bots"]} == won
    assert data["games"] == data["blocks"] == data["planned_games"] == 400
    heads = won["heads"] / 400
    # A toss is a Bernoulli trial, and the margin is 2 p - 1.
    assert data["bots"][1]["margin_pp"] == pytest.approx(100 * (1 - 2 * heads))
    assert data["bots"][1]["sigma_pp"] == pytest.approx(200 * (heads * (1 - heads) / 399) ** 0.5)


def cells_of(markdown: str) -> dict[str, list[list[str]]]:
    tables: dict[str, list[list[str]]] = {}
    title = ""
    for line in markdown.splitlines():
        if line.startswith("## "):
            title = line[3:]
        elif line.startswith("| ") and not line.startswith(("| ---", "| --:")):
            tables.setdefault(title, []).append([cell.strip() for cell in line.strip("|").split(" | ")])
    return tables


def test_three_forms_show_the_same_figures() -> None:
    matchups = {"m": ring(Deal.FRESH, 3000)}
    report = render(report_of(matchups, rows_of(matchups, penalties=0.001)))
    data = json.loads(report.json())
    tables = cells_of(report.markdown())
    for bot, row in zip(data["bots"], tables["Verdicts against dan"][1:], strict=True):
        figures = [bot["name"], bot["margin_pp"], bot["sigma_pp"], bot["z"]]
        assert row[0] == bot["name"]
        for cell, figure, digits in zip(row[1:4], figures[1:], (3, 4, 2), strict=True):
            assert cell == "-" if figure is None else float(cell) == pytest.approx(figure, abs=0.51 * 10**-digits)
        assert row[4].split(",")[0] == bot["verdict"]
    for bot, row in zip(data["bots"], tables["Points"][1:], strict=True):
        assert [int(row[column].replace(",", "")) for column in (2, 3, 6, 7)] == [
            bot["games"],
            bot["points"],
            bot["wins"],
            bot["penalties"],
        ]
        assert float(row[4]) == pytest.approx(bot["share_percent"], abs=5.1e-4)
    output = io.StringIO()
    report.text(Console(file=output, width=300))
    shown = [" ".join(line.split()) for line in output.getvalue().splitlines()]
    assert data["rule"]["text"] in " ".join(shown)
    for title, rows in tables.items():
        assert title in shown
        for row in rows[1:]:
            assert " ".join(row).replace("\\", "") in shown


ODD = Report(
    title="a_b [bold]x[/bold]",
    paragraphs=("<script>\n| `x`",),
    tables=(Table("t|1", (Column("name"), Column("n", right=True)), (("[red]r|b", "1"),)),),
    data={"x": float("nan")},
)


def test_nothing_is_taken_for_markup() -> None:
    output = io.StringIO()
    ODD.text(Console(file=output, width=80))
    assert "[bold]x[/bold]" in output.getvalue()
    assert "[red]r|b" in output.getvalue()
    assert r"| \[red\]r\|b | 1 |" in ODD.markdown()
    assert r"\<script\> \| \`x\`" in ODD.markdown()


@pytest.mark.parametrize("width", [20, 40, 60, 100])
def test_numbers_and_names_stay_whole_on_a_narrow_terminal(width: int) -> None:
    columns = (Column("bot"), *[Column("points", right=True)] * 3, Column("in words"))
    rows = (("sparring_partner", "123,456,789", "23,456", "-3.45", "better by some words"),)
    output = io.StringIO()
    Report("t", (), (Table("", columns, rows),), {}).text(Console(file=output, width=width))
    shown = output.getvalue().split()
    assert shown.count("points") == 3
    for cell in rows[0]:
        assert set(cell.split()) <= set(shown)


def test_json_is_strict_and_tables_are_complete() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        ODD.json()
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        Table("t", (Column("a"), Column("b")), (("x",),))
