"""The page of ``simfarm report html`` in a real browser: each game, a league, and texts that mean harm."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from simfarm import run as runs
from simfarm.config import build_config, load_config
from simfarm.core.model import BotSpec
from simfarm.executors.local import LocalExecutor
from simfarm.league import League
from simfarm.report.charts import Interval, intervals
from simfarm.report.figure import ChartFormat, Figure, write_charts
from simfarm.report.html import write_html
from simfarm.report.page import Page, Section, numbers
from simfarm.report.rounds import of_league
from simfarm.report.sections import of_run
from simfarm.schema import SCHEMA_VERSION
from simfarm.store import Run
from tests.browser import PROGRAM, Browser, browser
from tests.test_cli import simfarm as command

pytestmark = pytest.mark.skipif(
    PROGRAM is None and "CI" not in os.environ, reason="no browser here: apt-get install chromium"
)

EVIL = """<script>document.title='owned'</script><img src="x" onerror="document.title='owned'">'&amp;"""
MOST_BYTES = 3_000_000
GAMES: Mapping[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "uno": ({"games": 20_000}, ("veteran", "sparring_points", "sparring_tempo", "first_legal")),
    "blackjack": ({"games": 60, "repeats": 2}, ("basic_strategy", "dflat", "drandom")),
    "duel": ({"games": 24, "block": 4}, ("odds", "mirror", "sample")),
    "poker_run": ({"seeds": ["1-2", "1001-1004"]}, ("baseline", "planner_quick")),
}
FIGURES = {
    "uno": "over-games margins shares seats bots-by-seat seatings terminations distribution-1 distribution-2",
    "blackjack": "balances last shares pairings terminations times-1 times-2 times-3 distribution-1 distribution-2",
    "duel": "means-1 paired-1 shares pairings seats bots-by-seat terminations times-1 distribution-1 distribution-2",
    "poker_run": "means-1 paired-1 means-2 paired-2 terminations times-1 distribution-1 distribution-2 curve-1",
    "league": "rounds round-01-balances round-01-pairings terminations times-1 times-2 times-3 distribution-1",
}
"""The charts that rows of the games above have something for; a page may have more."""

LETTERS = """(() => {
    const sizes = {}, cut = [];
    for (const chart of document.querySelectorAll('.chart')) {
        const svg = chart.querySelector('svg'), room = chart.getBoundingClientRect();
        for (const text of svg.querySelectorAll('text')) {
            const box = text.getBoundingClientRect();
            if (!box.width) continue;
            const size = parseFloat(getComputedStyle(text).fontSize) * svg.clientWidth / svg.viewBox.baseVal.width;
            sizes[chart.parentElement.id] = Math.min(size, sizes[chart.parentElement.id] ?? size);
            const scrolls = chart.scrollWidth > chart.clientWidth + 1;
            if (box.top < room.top - 1 || (!scrolls && (box.left < room.left - 1 || box.right > room.right + 1)))
                cut.push(text.textContent);
        }
    }
    return [sizes, cut];
})()"""
"""The smallest letters of each chart in pixels, and labels that stick out of the room that their chart has."""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def play(folder: Path, engine: str, plan: dict[str, Any], bots: list[BotSpec]) -> Run:
    run = Run.create(folder, build_config(engine, bots, seed=7, plan=plan, where="test"))
    runs.play(run, LocalExecutor(2), lambda progress: None)
    return run


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Page, Path]]:
    """A page of each game and of a league, as values and as files."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for engine, (plan, bots) in GAMES.items():
        made[engine] = of_run(play(folder / f"{engine}-run", engine, plan, [BotSpec(bot) for bot in bots]))
    config = folder / "league.toml"
    names = "".join(f'[[bots]]\nname = "{bot}"\n' for bot in GAMES["blackjack"][1])
    config.write_text(
        f'engine = "blackjack"\nseed = 21\n[plan]\ngames = 60\n[rules]\nstart_balance = 1000\n{names}'
    )
    League.new(folder / "league", config)
    league = League(folder / "league")
    with league.playing():
        while (opened := league.open_next()) is not None:
            runs.play(opened, LocalExecutor(2), lambda progress: None)
    made["league"] = of_league(league.status(), "league")
    files = {}
    for name, page in made.items():
        write_html(page, folder / f"{name}.html")
        files[name] = (page, folder / f"{name}.html")
    return files


@pytest.mark.parametrize("name", FIGURES)
def test_a_page(tab: Browser, pages: dict[str, tuple[Page, Path]], name: str) -> None:
    page, path = pages[name]
    assert path.stat().st_size < MOST_BYTES
    tab.open(path, 1280)
    assert tab.requests() == [path.as_uri()], "nothing but the file itself is asked for"
    assert tab.complaints() == []
    assert tab.value("document.title") == page.title
    assert tab.value("document.querySelector('h2').textContent") == "Verdict", "the verdict comes first"
    figures = tab.value(
        """Object.fromEntries([...document.querySelectorAll('figure')].map(figure => [figure.id.slice(7), {
            marks: figure.querySelectorAll('svg [class*=mark-] path > title').length,
            texts: figure.querySelectorAll('svg text').length,
            label: figure.querySelector('svg').getAttribute('aria-label'),
            rows: figure.querySelectorAll('tbody tr').length,
            drawn: figure.querySelector('svg').getBoundingClientRect().height,
        }]))"""
    )
    assert set(FIGURES[name].split()) <= set(figures)
    assert list(figures) == [figure.name for figure in page.figures()]
    for figure in page.figures():
        seen = figures[figure.name]
        assert seen["marks"] > 0, f"{figure.name} shows nothing"
        assert seen["texts"] > 0
        assert seen["drawn"] > 40
        assert seen["label"] == f"{figure.title}. {figure.text}"
        assert seen["rows"] == len(figure.table.rows) > 0
    ids = tab.value("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))
    assert tab.value("document.querySelector('#repeat pre').textContent").startswith("engine = ")
    tab.open(path, 390)
    assert tab.value("document.documentElement.scrollWidth") <= 390, "a phone need not scroll sideways"
    assert tab.complaints() == []
    letters, cut = tab.value(LETTERS)
    assert min(letters.values()) > 9, f"too small to read on a phone: {letters}"
    assert cut == [], "labels that stick out of their chart"


def test_marks_are_those_of_the_rows(tab: Browser, pages: dict[str, tuple[Page, Path]]) -> None:
    _, path = pages["uno"]
    tab.open(path, 1280)
    marks = "document.querySelectorAll('#figure-{} .mark-{} path').length"
    assert tab.value(marks.format("seatings", "rect")) == 24 * 4
    assert tab.value(marks.format("shares", "symbol")) == 4
    assert tab.value(marks.format("margins", "symbol")) == 3
    assert tab.value("document.querySelectorAll('#figure-over-games .mark-line path').length") == 3


def test_dark_mode(tab: Browser, pages: dict[str, tuple[Page, Path]]) -> None:
    _, path = pages["uno"]
    look = """[getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('#figure-shares svg text')).fill,
        getComputedStyle(document.querySelector('#figure-shares svg .mark-symbol path')).fill]"""
    tab.open(path, 800)
    light = tab.value(look)
    tab.open(path, 800, dark=True)
    dark = tab.value(look)
    assert [brightness(colour) > 128 for colour in light[:2]] == [True, False]
    assert [brightness(colour) > 128 for colour in dark[:2]] == [False, True]
    assert brightness(dark[2]) > brightness(light[2])
    inks = tab.value(
        """[...document.querySelectorAll('svg [fill], svg [stroke]')].flatMap(e => [e.getAttribute('fill'),
        e.getAttribute('stroke')]).filter(c => c && c.startsWith('#'))"""
    )
    assert inks == [], "a colour that dark mode does not change"


def brightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


def test_paper(tab: Browser, pages: dict[str, tuple[Page, Path]]) -> None:
    _, path = pages["uno"]
    hidden = """[...document.querySelectorAll('details:not([open]) table')].filter(
        table => !table.checkVisibility()).length"""
    tab.open(path, 718)
    assert tab.value(hidden) > 0, "long tables are folded on a screen"
    tab.open(path, 718, media="print", dark=True)
    assert tab.value(hidden) == 0, "paper cannot be unfolded"
    assert brightness(tab.value("getComputedStyle(document.body).backgroundColor")) > 200
    assert tab.value("document.documentElement.scrollWidth") <= 718, "nothing is cut at the paper's edge"
    paper = tab.pdf()
    assert paper.startswith(b"%PDF")
    assert paper.count(b"/Type /Page\n") > 2


def test_a_hostile_run(tab: Browser, tmp_path: Path) -> None:
    file = tmp_path / "<img src=x onerror=alert(1)>.txt"
    file.write_text("heads")
    bots = [BotSpec("heads", file=str(file), author=EVIL), BotSpec("tails")]
    page = of_run(play(tmp_path / "<b>run", "coin", {"games": 20}, bots))
    write_html(page, tmp_path / "report.html")
    tab.open(tmp_path / "report.html", 1280)
    assert tab.value("document.title") == "<b>run: coin"
    assert tab.value("document.querySelectorAll('script, img, b, main iframe').length") == 0
    text = tab.value("document.body.textContent")
    assert EVIL in text
    assert file.name in text
    assert tab.complaints() == []


def test_hostile_texts_everywhere(tab: Browser, tmp_path: Path) -> None:
    table = numbers(("bot", EVIL), [(EVIL, EVIL)])
    chart = intervals([Interval.around(EVIL, 1.0, 0.5), Interval.around("b", 2.0, 0.5)], EVIL)
    figure = Figure("evil", EVIL, EVIL, chart, table)
    section = Section("evil-section", EVIL, (EVIL,), (EVIL,), (figure,), (table,), ((EVIL, EVIL),))
    write_html(Page(EVIL, EVIL, (section,)), tmp_path / "report.html")
    tab.open(tmp_path / "report.html", 1280)
    assert tab.value("document.title") == EVIL
    assert tab.value("document.querySelectorAll('script, img').length") == 0
    assert tab.value("document.querySelector('svg').textContent.includes('<script>')")
    assert tab.requests() == [(tmp_path / "report.html").as_uri()]
    assert tab.complaints() == []


def test_the_config_on_a_page_is_the_run_again(pages: dict[str, tuple[Page, Path]], tmp_path: Path) -> None:
    for name in GAMES:
        page, path = pages[name]
        (repeat,) = [section for section in page.sections if section.name == "repeat"]
        (tmp_path / "again.toml").write_text(repeat.code[0][1])
        run = Run(path.with_name(f"{name}-run"))
        again = load_config(tmp_path / "again.toml")
        assert dict(again.planned(run.engine.version, SCHEMA_VERSION)).keys() == run.matchups().keys()


@pytest.mark.parametrize(("format", "start"), [(ChartFormat.SVG, b"<svg"), (ChartFormat.PNG, b"\x89PNG")])
def test_chart_files(
    pages: dict[str, tuple[Page, Path]], tmp_path: Path, format: ChartFormat, start: bytes
) -> None:
    figures = list(pages["duel"][0].figures())
    paths = write_charts(figures, tmp_path / "charts", format)
    assert sorted(paths) == sorted((tmp_path / "charts").iterdir())
    assert [path.name for path in paths] == [f"{figure.name}.{format}" for figure in figures]
    assert all(path.read_bytes().startswith(start) for path in paths)


def test_a_report_writes_charts_beside_itself(pages: dict[str, tuple[Page, Path]], tmp_path: Path) -> None:
    page, path = pages["duel"]
    run = str(path.with_name("duel-run"))
    done = command("report", "leaderboard", run, "--charts", "c", "--chart-format", "png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = sorted(f"{figure.name}.png" for figure in page.figures())
    assert sorted(file.name for file in (tmp_path / "c").iterdir()) == names
    assert f"{len(names)} charts in c/" in done.stderr
