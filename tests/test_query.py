"""Rows as SQL and as frames: what a person types, and what a script reads."""

import io
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import simfarm
from simfarm import query
from simfarm.cli.main import app
from simfarm.core.errors import ConfigError, SimfarmError, StoreError
from simfarm.store import Run
from tests.conftest import Coin
from tests.test_html import played

GAMES = 60


@pytest.fixture
def run(coin: Coin, tmp_path: Path) -> Run:
    """Three bots, every pair."""
    return played(tmp_path / "run", coin(games=GAMES, heads="heads", tails="tails", never="edge"))


def ask(run: Run, *arguments: str) -> bytes:
    """What the command writes to stdout."""
    done = CliRunner().invoke(app, ["query", str(run.path), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout_bytes


def test_without_sql_it_tells_what_there_is(run: Run) -> None:
    text = ask(run).decode()
    assert f"tosses: {3 * GAMES:,} rows, one toss" in text
    assert "matchups: 3 rows, one row per matchup" in text
    assert "points               uint8    points it got" in text
    assert "games_per_block      int64    games in one block" in text
    assert "details" not in text


def test_a_count_is_called_count(run: Run) -> None:
    assert query.sql(run, "select count(*) from tosses").to_dicts() == [{"count": 3 * GAMES}]
    assert query.sql(run, "select count(*) len from tosses").columns == ["len"]
    assert query.sql(run, "select count(*) n, winner from tosses group by winner").columns == ["n", "winner"]


@pytest.mark.parametrize("where", ["stdout", "file"])
def test_parquet_is_exact(run: Run, tmp_path: Path, where: str) -> None:
    statement = "select block, points, 9007199254740993 as big, 0.1 + points as tenth from tosses order by block"
    if where == "file":
        assert ask(run, statement, "--format", "parquet", "--out", str(tmp_path / "x.parquet")) == b""
        frame = pl.read_parquet(tmp_path / "x.parquet")
    else:
        frame = pl.read_parquet(io.BytesIO(ask(run, statement, "--format", "parquet")))
    assert frame.equals(query.sql(run, statement))
    assert frame["big"].unique().to_list() == [9007199254740993]


def test_numbers_are_whole_in_every_format(run: Run) -> None:
    statement = "select 9007199254740993 as big, 1.0 / 3 as third, '1.5' as text from tosses limit 1"
    (row,) = json.loads(ask(run, statement, "-f", "json"))
    assert row == {"big": 9007199254740993, "third": 1 / 3, "text": "1.5"}
    assert ask(run, statement, "-f", "csv").decode().splitlines()[1] == f"9007199254740993,{1 / 3!r},1.5"
    table = ask(run, statement).decode()
    assert "9,007,199,254,740,993" in table
    assert repr(1 / 3) in table


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "select foo from tosses",
            r'column "foo"; tables: tosses, matchups; columns of tosses \(matchup, block, w',
        ),
        (
            "select * from games",
            r"'games' was not found; tables: tosses, matchups; columns of tosses .*of matchups",
        ),
        ("select from where", "tables: tosses, matchups"),
    ],
)
def test_a_wrong_statement_names_tables_and_columns(run: Run, statement: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        query.sql(run, statement)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("arguments", [["--format", "csv"], ["select 1", "--out", "no/such/file"]])
def test_other_mistakes(run: Run, arguments: list[str]) -> None:
    with pytest.raises(SimfarmError, match=r"need an SQL statement|cannot be written: No such file"):
        CliRunner().invoke(app, ["query", str(run.path), *arguments], catch_exceptions=False)


def test_open_run_gives_lazy_frames(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = simfarm.open_run(run.path)
    assert isinstance(rows.games(), pl.LazyFrame)
    assert rows.games().collect().equals(run.lazy("tosses").collect())
    assert rows.tables == ("tosses", "matchups")
    assert rows.table("matchups").collect().height == 3
    with pytest.raises(ConfigError, match="no table 'details'; it has: tosses, matchups"):
        rows.table("details")
    with pytest.raises(StoreError, match="no run here"):
        simfarm.open_run(tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    run.path.rename(tmp_path / "results" / "named")
    assert simfarm.open_run("named").games().collect().height == 3 * GAMES


@pytest.mark.parametrize(
    ("module", "heavy"),
    [("simfarm", ("polars", "pyarrow", "altair")), ("simfarm.cli.main", ("altair", "vl_convert", "jinja2"))],
)
def test_an_import_loads_only_what_is_used(module: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
