"""The page of a run and of a league: complete, safe with hostile texts, the same figures as the other reports."""

import json
import re
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TypeVar

import pytest
from typer.testing import CliRunner

from simfarm.cli.main import app
from simfarm.config import Verdict, build_config, load_config
from simfarm.core.errors import StoreError, ToolError
from simfarm.core.model import BotSpec
from simfarm.league import League
from simfarm.report.html import html, write_html
from simfarm.report.league import Status
from simfarm.report.page import MOST_TABLE, Page, Section
from simfarm.report.ratings import ratings
from simfarm.report.render import Column, Table
from simfarm.report.repeat import config_text
from simfarm.report.rounds import of_league
from simfarm.report.sections import of_run
from simfarm.report.significance import significance
from simfarm.run import Progress, play
from simfarm.store import Run
from tests.conftest import Coin

Item = TypeVar("Item")
Result = TypeVar("Result")
HOSTILE = "<script>alert('x')</script><img src=http://example.org/x onerror=alert(1)>\"'&"
LIMIT = 3_000_000
CONFIGS = Path(__file__).parent.parent / "configs"


class Here:
    """Plays in this process, since starting others takes longer than these few games."""

    workers = 1

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result, None, None]:
        """Function of each item."""
        yield from map(function, items)


class Parsed(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.headings: list[int] = []
        self.texts: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
                self.addresses.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def played(path: Path, config: object) -> Run:
    """The run of a config, played."""
    run = Run.create(path, config)  # type: ignore[arg-type]
    play(run, Here(), _ignore)
    return run


def _ignore(progress: Progress) -> None:
    """Reports nothing."""


def sound(text: str) -> Parsed:
    """A page that needs nothing, runs nothing and is in order."""
    page = Parsed(text)
    assert len(text.encode()) < LIMIT
    assert "script" not in page.tags
    assert not page.handlers
    assert all(address.startswith(("#", "data:,")) for address in page.addresses), page.addresses
    assert len(page.ids) == len(set(page.ids))
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert page.tags.count("figure") == page.tags.count("figcaption")
    assert page.tags.count("table") >= page.tags.count("figure")
    assert page.tags.count("caption") == page.tags.count("table")
    assert 'lang="en"' in text
    assert text.count('role="img"') == page.tags.count("figure")
    return page


def test_a_page_has_the_figures_of_the_report(coin: Coin, tmp_path: Path) -> None:
    run = played(tmp_path / "run", coin(games=400, heads="heads", tails="tails", both="heads"))
    page = of_run(run)
    text = html(page)
    parsed = sound(text)
    cells = set(parsed.texts)
    for table in significance(run).tables:
        for row in table.rows:
            assert cells.issuperset(cell for cell in row if cell), table.title
    names = [section.name for section in page.sections]
    assert names[0] == "verdict"
    assert {"over-games", "margins", "pairings", "terminations", "full", "repeat"} <= set(names)
    for bot in run.config.bots:
        assert bot.hash in text
    assert "default-src 'none'" in text


def test_hostile_texts_stay_texts() -> None:
    table = Table(HOSTILE, (Column(HOSTILE),), ((HOSTILE,),))
    section = Section("x", HOSTILE, (HOSTILE,), (HOSTILE,), (), (table,), ((HOSTILE, HOSTILE),))
    text = html(Page(HOSTILE, HOSTILE, (section,)))
    page = sound(text)
    assert "img" not in page.tags
    assert page.texts.count(HOSTILE) == 12
    assert "<script" not in text.casefold()


def test_an_author_and_a_command_are_hostile_too(coin: Coin, tmp_path: Path) -> None:
    config = coin(games=20)
    (tmp_path / "x.txt").write_text("heads")
    specs = [BotSpec(n, file=str(tmp_path / "x.txt"), author=HOSTILE) for n in ("a", "b")]
    run = played(tmp_path / "run", build_config("coin", specs, plan={"games": 20}, where="test"))
    assert config.engine == "coin"
    page = sound(html(of_run(run)))
    assert HOSTILE in page.texts


def test_a_run_that_has_barely_begun(coin: Coin, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", coin(games=40))
    page = of_run(run)
    sound(html(page))
    assert page.summary.startswith("0 of 40 games")


def test_many_bots_stay_below_the_limit(coin: Coin, tmp_path: Path) -> None:
    bots = {f"bot_{number:03}_{'x' * 50}": "heads" if number % 2 else "tails" for number in range(26)}
    run = played(tmp_path / "run", coin(games=4, **bots))
    page = of_run(run)
    sound(html(page))
    titles = [table.title for section in page.sections for table in section.tables]
    assert any(f"the first {MOST_TABLE} of 325 rows" in title for title in titles)


def league(folder: Path) -> Status:
    """A league of four after two rounds."""
    lines = ['engine = "coin"', "seed = 3", "[plan]", "games = 9"]
    for name, side in (("a", "heads"), ("b", "tails"), ("c", "heads"), ("d", "tails")):
        (folder / f"{name}.txt").write_text(side)
        lines += ["[[bots]]", f'name = "{name}"', f'file = "{name}.txt"']
    (folder / "league.toml").write_text("\n".join(lines))
    made = League.new(folder / "league", folder / "league.toml")
    for _ in range(2):
        upcoming = made.open_next()
        assert upcoming is not None
        play(upcoming, Here(), _ignore)
    return made.status()


def test_a_league_shows_who_went_when(tmp_path: Path) -> None:
    status = league(tmp_path)
    page = of_league(status, "hill")
    parsed = sound(html(page))
    out = [name for played_round in status.rounds for name in played_round.eliminated]
    assert out
    assert status.verdict() in parsed.texts
    rounds = next(section for section in page.sections if section.name == "rounds").figures[0].table
    gone = {row[0] for row in rounds.rows if any("goes" in cell for cell in row)}
    assert gone == set(out)


@pytest.mark.parametrize(
    "name", ["uno-demo", "uno-shared-deals", "duel-demo", "blackjack-quick", "poker-run-quick", "duel-sweep"]
)
def test_the_config_on_the_page_plays_the_same_cells(name: str, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", load_config(CONFIGS / f"{name}.toml"))
    (tmp_path / "again.toml").write_text(config_text(run))
    assert dict(load_config(tmp_path / "again.toml").planned()).keys() == run.matchups().keys()


def test_bots_of_ones_own_are_named_by_file(coin: Coin, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", coin(games=8, mine="heads", yours="tails"))
    (tmp_path / "again.toml").write_text(config_text(run))
    assert dict(load_config(tmp_path / "again.toml").planned()).keys() == run.matchups().keys()


def test_the_command_writes_page_and_charts(coin: Coin, tmp_path: Path) -> None:
    played(tmp_path / "run", coin(games=200))
    arguments = ["report", "html", str(tmp_path / "run"), "--out", str(tmp_path / "r.html")]
    done = CliRunner().invoke(app, [*arguments, "--charts", str(tmp_path / "svg")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    names = {path.stem for path in (tmp_path / "svg").iterdir()}
    assert f"{(tmp_path / 'r.html').stat().st_size:,} bytes" in done.output
    assert {"shares", "margins", "over-games"} <= names
    assert all(path.read_text().startswith("<svg") for path in (tmp_path / "svg").iterdir())
    report = [
        "report",
        "significance",
        str(tmp_path / "run"),
        "--format",
        "json",
        "--charts",
        str(tmp_path / "png"),
    ]
    done = CliRunner().invoke(app, [*report, "--chart-format", "png"], catch_exceptions=False)
    assert json.loads(done.stdout)["report"] == "significance"
    assert {path.stem for path in (tmp_path / "png").iterdir()} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (tmp_path / "png").iterdir())


def test_errors_are_one_line(coin: Coin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = of_run(Run.create(tmp_path / "run", coin(games=4)))
    with pytest.raises(StoreError, match=r"no/r.html: cannot be written: No such file"):
        write_html(page, tmp_path / "no" / "r.html")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ToolError, match=r"vl_convert: pip install 'simfarm\[report\]'"):
        html(page)


def part_of(page: Page, name: str) -> Section:
    """One section of a page."""
    return next(part for part in page.sections if part.name == name)


@pytest.mark.parametrize("name", ["uno-demo", "duel-demo", "blackjack-quick", "poker-run-quick"])
def test_a_run_without_rows_has_a_page(name: str, tmp_path: Path) -> None:
    page = of_run(Run.create(tmp_path / "run", load_config(CONFIGS / f"{name}.toml")))
    assert page.summary.startswith("0 of ")
    assert not part_of(page, "verdict").empty
    assert part_of(page, "repeat").code
    assert "<h2" in html(page)


def test_the_words_are_those_of_the_rule_that_was_chosen(coin: Coin, tmp_path: Path) -> None:
    config = coin(games=4000)
    fixed = part_of(of_run(played(tmp_path / "fixed", config)), "verdict")
    config = replace(config, verdict=Verdict(method="sequential"))
    sequential = part_of(of_run(played(tmp_path / "sequential", config)), "verdict")
    assert any("fixed in advance" in text for text in fixed.paragraphs)
    assert not any("fixed in advance" in text for text in sequential.paragraphs)
    assert fixed.points[0].startswith("tails against heads: ")


def test_ratings_are_on_the_page_where_there_are_any(tmp_path: Path) -> None:
    odds = str(CONFIGS.parent / "engines/duel/bots/odds.js")
    bots = [BotSpec("odds"), BotSpec("again", file=odds), BotSpec("third", file=odds)]
    plan = {"games": 12, "block": 2, "deal": "shared"}
    run = played(tmp_path / "run", build_config("duel", bots, seed=5, plan=plan, where="test"))
    report, page = ratings(run), of_run(run)
    rated = [bot["name"] for bot in report.data["bots"] if bot["low"] is not None]
    drawn = [row[0] for figure in page.figures() if figure.name == "ratings" for row in figure.table.rows]
    assert len(rated) == 3
    assert drawn == rated
    assert set(report.tables[0].rows) <= {row for table in part_of(page, "full").tables for row in table.rows}
