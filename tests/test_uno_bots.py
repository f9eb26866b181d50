"""The bundled UNO bots: plain C by the statement's code rules, never a penalty, and of the strength they claim."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from simfarm.core.native import find_compiler

ROOT = Path(__file__).parents[1]
BOTS = ROOT / "engines/uno/bots"
HEADERS = ROOT / "engines/uno/referee"
REFEREE = ROOT / "tests/bench/plain_referee.c"
NAMES = sorted(path.stem for path in BOTS.glob("*.c"))
SPARRING = ("sparring_points", "sparring_tempo", "sparring_colour")

Play = Callable[..., dict[str, Any]]


def compile_c(arguments: Sequence[str]) -> None:
    done = subprocess.run(
        [*find_compiler().command, f"-I{HEADERS}", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Plays a ring on the plain referee: ``play(four names, games=..., seed=...)`` gives its report."""
    folder = tmp_path_factory.mktemp("rings")

    def ring(names: Sequence[str], games: int, seed: int = 1) -> dict[str, Any]:
        program = folder / "-".join(names)
        if not program.exists():
            entries = [f"-DBOT{seat}={name}_Play" for seat, name in enumerate(names)]
            sources = [str(BOTS / f"{name}.c") for name in sorted(set(names))]
            compile_c(
                ["-O2", "-Wall", "-Wextra", "-Werror", *entries, str(REFEREE), *sources, "-lm", "-o", str(program)]
            )
        done = subprocess.run([program, str(games), str(seed)], capture_output=True, text=True, check=True)
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    return ring


def test_the_bundle_is_complete() -> None:
    assert {"first_legal", "starter", "veteran", *SPARRING} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_bot_is_clean_c89(name: str, tmp_path: Path) -> None:
    compile_c(
        [
            "-std=c89",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O2",
            "-c",
            str(BOTS / f"{name}.c"),
            "-o",
            str(tmp_path / "bot.o"),
        ]
    )
    assert (tmp_path / "bot.o").stat().st_size > 0


@pytest.mark.parametrize("name", NAMES)
def test_bot_keeps_no_state_and_calls_nothing(name: str, tmp_path: Path) -> None:
    """Every function carries the alias; nothing is writable, nothing is local to the file, nothing is imported."""
    program = tmp_path / "bot.o"
    compile_c(["-O2", "-fno-stack-protector", "-c", str(BOTS / f"{name}.c"), "-o", str(program)])
    listing = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        *_, kind, symbol = line.split()
        assert kind in "Tr", line
        assert kind == "r" or symbol.startswith(f"{name}_"), line


def test_referee_reproduces_the_known_figures(play: Play) -> None:
    """Against the statement's figures for four bots that play their first card and call red, within 4 errors."""
    games = 200_000
    report = play(["first_legal"] * 4, games)
    assert sum(report["penalties"]) == report["unfinished"] == 0
    assert report["turns_per_game"] == pytest.approx(61.199, abs=4 * 33.20 / games**0.5)
    assert report["points_per_game"] == pytest.approx(115.036, abs=4 * 48.19 / games**0.5)
    assert report["turns_sd"] == pytest.approx(33.20, rel=0.01)
    assert report["points_sd"] == pytest.approx(48.19, rel=0.01)
    assert report["reshuffles_per_game"] == pytest.approx(0.0251, abs=4 * (0.0251 / games) ** 0.5)
    for share, known in zip(report["wins_by_offset"], (0.26686, 0.24520, 0.24273, 0.24521), strict=True):
        assert share == pytest.approx(known, abs=4 * (known * (1 - known) / games) ** 0.5)


def test_a_run_depends_on_its_seed_alone(play: Play) -> None:
    def report(seed: int) -> dict[str, Any]:
        return {**play(["first_legal"] * 4, 2_000, seed), "seconds": None}

    assert report(5) == report(5)
    assert report(5) != report(6)


def test_a_broken_bot_is_penalised_and_never_stops_the_run(tmp_path: Path) -> None:
    """Four bots that answer nonsense: each turn is a penalty, and a game that cannot end is counted as such."""
    bot = tmp_path / "wrong.c"
    bot.write_text('#include "proj2.h"\nint wrong_Play(GameState *s) { return s->yourNumberOfCards; }\n')
    program = tmp_path / "wrong"
    entries = [f"-DBOT{seat}=wrong_Play" for seat in range(4)]
    compile_c(["-O2", *entries, str(REFEREE), str(bot), "-lm", "-o", str(program)])
    report = json.loads(subprocess.run([program, "10", "1"], capture_output=True, check=True).stdout)
    assert report["unfinished"] == 10
    assert sum(report["penalties"]) == 10 * report["turns_per_game"]


@pytest.mark.parametrize(
    ("names", "games"),
    [
        (("veteran", *SPARRING), 100_000),
        (("veteran", "starter", "sparring_colour", "first_legal"), 100_000),
        (("sparring_points", "sparring_tempo", "sparring_colour", "first_legal"), 100_000),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_strength_in_a_ring(play: Play, names: tuple[str, ...], games: int) -> None:
    """The first-named champion is 3 points of share ahead, the first-legal player as far behind; no penalty at all.

    The margin between two bots has a standard error of 0.24 points of share at this size; the real gaps are wider.
    """
    report = play(names, games, seed=3)
    assert report["penalties"] == [0, 0, 0, 0]
    share = dict(zip(names, report["share"], strict=True))
    if "veteran" in share:
        champion = share.pop("veteran")
        assert champion > max(share.values()) + 0.03
    if "first_legal" in share:
        last = share.pop("first_legal")
        assert last < min(share.values()) - 0.03
