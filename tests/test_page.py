"""What a page says, as a value: in every state of a run, by either rule, and the same as the other reports."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from simfarm import run as runs
from simfarm.config import Verdict, build_config, load_config
from simfarm.core.model import BotSpec
from simfarm.report.html import html
from simfarm.report.page import MOST_TABLE, Page, Section
from simfarm.report.ratings import ratings
from simfarm.report.sections import of_run
from simfarm.report.significance import significance
from simfarm.store import Run
from tests.conftest import Coin

Item = TypeVar("Item")
Result = TypeVar("Result")
CONFIGS = Path(__file__).parent.parent / "configs"


class Here:
    """Plays in this process, since starting others takes longer than these few games."""

    workers = 1

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result, None, None]:
        """The function's results."""
        yield from map(function, items)


def played(run: Run) -> Run:
    """The run, with all its rows."""
    runs.play(run, Here(), lambda progress: None)
    return run


def section(page: Page, name: str) -> Section:
    """One section of a page."""
    return next(part for part in page.sections if part.name == name)


def test_the_tables_are_those_of_the_report(coin: Coin, tmp_path: Path) -> None:
    run = played(Run.create(tmp_path / "run", coin(games=400, heads="heads", tails="tails", both="heads")))
    report, page = significance(run), of_run(run)
    assert [table.rows for table in section(page, "full").tables] == [table.rows for table in report.tables]
    assert section(page, "verdict").paragraphs == report.paragraphs
    shares = next(figure for figure in page.figures() if figure.name == "shares").table.rows
    assert [row[0] for row in shares] == [bot["name"] for bot in report.data["bots"]]
    assert [float(row[1]) for row in shares] == [round(bot["share_percent"], 3) for bot in report.data["bots"]]


@pytest.mark.parametrize("name", ["uno-demo", "duel-demo", "blackjack-quick", "poker-run-quick"])
def test_a_run_without_rows_has_a_page(name: str, tmp_path: Path) -> None:
    page = of_run(Run.create(tmp_path / "run", load_config(CONFIGS / f"{name}.toml")))
    assert page.summary.startswith("0 of ")
    assert not section(page, "verdict").empty
    assert section(page, "repeat").code
    assert "<h2" in html(page)


def test_the_words_are_those_of_the_rule_that_was_chosen(coin: Coin, tmp_path: Path) -> None:
    config = coin(games=4000)
    fixed = section(of_run(played(Run.create(tmp_path / "fixed", config))), "verdict")
    config = replace(config, verdict=Verdict(method="sequential"))
    sequential = section(of_run(played(Run.create(tmp_path / "sequential", config))), "verdict")
    assert any("fixed in advance" in text for text in fixed.paragraphs)
    assert not any("fixed in advance" in text for text in sequential.paragraphs)
    assert fixed.points[0].startswith("tails against heads: ")


def test_ratings_are_on_the_page_where_there_are_any(tmp_path: Path) -> None:
    odds = str(CONFIGS.parent / "engines/duel/bots/odds.js")
    bots = [BotSpec("odds"), BotSpec("again", file=odds), BotSpec("third", file=odds)]
    plan = {"games": 12, "block": 2, "deal": "shared"}
    run = played(Run.create(tmp_path / "run", build_config("duel", bots, seed=5, plan=plan, where="test")))
    report, page = ratings(run), of_run(run)
    rated = [bot["name"] for bot in report.data["bots"] if bot["low"] is not None]
    drawn = [row[0] for figure in page.figures() if figure.name == "ratings" for row in figure.table.rows]
    assert len(rated) == 3
    assert drawn == rated
    assert set(report.tables[0].rows) <= {row for table in section(page, "full").tables for row in table.rows}


def test_a_page_of_many_bots_stays_small(coin: Coin, tmp_path: Path) -> None:
    bots = {f"bot_{number:03}_{'x' * 50}": "heads" if number % 2 else "tails" for number in range(24)}
    page = of_run(played(Run.create(tmp_path / "run", coin(games=2, **bots))))
    assert len(html(page).encode()) < 3_000_000
    tables = [table for part in page.sections for table in part.tables]
    assert max(len(table.rows) for table in tables) == MOST_TABLE
    assert any(f"the first {MOST_TABLE} of 276 rows" in table.title for table in tables)
