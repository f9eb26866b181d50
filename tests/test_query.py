"""Rows for people and programs: ``simfarm query`` as it is typed, and ``simfarm.open_run``."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import simfarm
from simfarm import query
from simfarm import run as runs
from simfarm.core.errors import ConfigError, StoreError
from simfarm.executors.local import LocalExecutor
from simfarm.store import Run
from tests.conftest import Coin
from tests.test_cli import CONFIG
from tests.test_cli import simfarm as command


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run ``results/c`` of 40 tosses."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "c.toml").write_text(CONFIG)
    assert command("run", "c.toml", "-q", cwd=folder).returncode == 0
    return folder


def test_without_a_statement_tables_are_listed(place: Path) -> None:
    tables = json.loads(command("query", "c", "--format", "json", cwd=place).stdout)
    assert [(row["table"], row["rows"]) for row in tables] == [("tosses", 40), ("matchups", 1)]
    assert "block" in tables[0]["columns"].split(", ")
    shown = command("query", "c", cwd=place).stdout
    assert tables[0]["columns"] in shown, "no column is cut"


def test_rows_go_to_a_file_in_every_format(place: Path, tmp_path: Path) -> None:
    statement = "select block, winner from tosses order by block"
    for format in ("table", "csv", "json", "parquet"):
        out = tmp_path / f"rows.{format}"
        done = command("query", "c", statement, "-f", format, "--out", str(out), cwd=place)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    rows = pl.read_parquet(tmp_path / "rows.parquet")
    assert rows["block"].to_list() == list(range(40))
    assert pl.read_csv(tmp_path / "rows.csv").rows() == rows.cast({"winner": pl.String}).rows()
    assert json.loads((tmp_path / "rows.json").read_text()) == rows.to_dicts()
    assert (tmp_path / "rows.table").read_text().count("\n") > 40
    nowhere = command("query", "c", statement, "--out", "none/rows.csv", cwd=place)
    assert (nowhere.returncode, nowhere.stderr) == (
        2,
        "simfarm: none/rows.csv: cannot be written: No such file or directory\n",
    )


def test_parquet_is_for_pipes_not_for_terminals(place: Path) -> None:
    typed = [str(Path(sys.executable).with_name("simfarm")), "query", "c", "-f", "parquet"]
    piped = subprocess.run(typed, cwd=place, capture_output=True, check=True).stdout
    assert pl.read_parquet(piped)["table"].to_list() == ["tosses", "matchups"]
    ours, theirs = pty.openpty()
    done = subprocess.run(typed, cwd=place, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    os.close(ours)
    assert (done.returncode, done.stderr) == (
        2,
        "simfarm: query: parquet is not for a terminal: name a file with --out\n",
    )


def test_mistakes_name_what_is_known(place: Path) -> None:
    for statement, told in (
        ("select 1 from games", "tables: tosses, matchups"),
        ("select loser from tosses", "winner"),
        ("select nonsense(points) from tosses", "columns of tosses: "),
    ):
        done = command("query", "c", statement, cwd=place)
        assert done.returncode == 2
        assert told in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.fixture
def run(coin: Coin, tmp_path: Path) -> Run:
    made = Run.create(tmp_path / "run", coin(games=10))
    runs.play(made, LocalExecutor(1), lambda progress: None)
    return made


def test_counts_have_a_name(run: Run) -> None:
    assert query.sql(run, "select count(*) from tosses").to_dicts() == [{"count": 10}]
    assert query.sql(run, "select winner, COUNT(*) from tosses group by 1").columns == ["winner", "count"]
    assert query.sql(run, "select count(*) as len from tosses").columns == ["len"]
    assert query.sql(run, "select count(*) n from tosses").columns == ["n"]


def test_a_number_with_a_point_is_a_float(run: Run) -> None:
    statement = "select 1.0 / 3 as third, 100.0 * sum(points) / 7 as part, '1.5' as \"2.5\" from tosses -- 3.5"
    (row,) = query.sql(run, statement).to_dicts()
    points = int(query.sql(run, "select sum(points) from tosses").item())
    assert row == {"third": 1 / 3, "part": 100.0 * points / 7, "2.5": "1.5"}


def test_json_has_no_nan(run: Run) -> None:
    answer = query.sql(run, "select 0.0 * ln(0.0 * points) x, ln(0.0 * points) y from tosses limit 1")
    assert str(answer.row(0)) == "(nan, -inf)"

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(answer.write_json(), parse_constant=refuse) == [{"x": None, "y": None}]


def test_rows_for_a_program(run: Run) -> None:
    rows = simfarm.open_run(run.path)
    games = rows.games()
    assert isinstance(games, pl.LazyFrame)
    assert games.select(pl.len()).collect().item() == 10
    assert rows.games().collect().equals(rows.table("tosses").collect())
    assert rows.table("matchups").collect()["bots"].to_list() == ["heads, tails"]
    assert rows.sql("select max(block) m from tosses").item() == 9
    with pytest.raises(ConfigError, match="no table 'games'; tables: tosses, matchups"):
        rows.table("games")
    with pytest.raises(StoreError, match="no run here"):
        simfarm.open_run(run.path / "none")


def test_importing_simfarm_is_light() -> None:
    heavy = "import sys, simfarm; print([m for m in ('polars', 'pyarrow', 'pydantic', 'ray') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True).stdout == "[]\n"
    )
