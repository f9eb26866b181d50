"""The author's pack: it stands alone, and plays the games that simfarm plays."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from engines.uno.coderules.check import check_source
from engines.uno.coderules.rules import RULES
from engines.uno.engine import UnoEngine
from engines.uno.pack import SPARRING, build_command, write_pack
from simfarm import run as runs
from simfarm.config import build_config
from simfarm.core.model import BotSpec
from simfarm.executors.local import LocalExecutor
from simfarm.report.significance import significance
from simfarm.store import Run
from tests.test_cli import simfarm
from tests.uno_bots import ODD, PLAIN

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="the pack's command calls gcc")
BARE = {"PATH": os.environ["PATH"]}
HOUSE = ("veteran", *SPARRING)
BUNDLED = UnoEngine().bundled()


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack, with the house champion and a bot that breaks the rules of play put to it."""
    folder = tmp_path_factory.mktemp("pack")
    write_pack(folder, UnoEngine.bots)
    shutil.copy(str(BUNDLED["veteran"].file), folder)
    (folder / "odd.c").write_text(PLAIN.replace("/* BODY */", ODD).replace("plain_", "odd_"))
    crash = "if (state->numberOfDiscards == 30 && state->yourPosition == 2) abort();"
    (folder / "crash.c").write_text(PLAIN.replace("/* BODY */", crash).replace("plain_", "crash_"))
    return folder


def play(pack: Path, ring: tuple[str, ...], *arguments: str) -> str:
    """What the pack's program prints for a ring."""
    name = f"uno-{'-'.join(ring)}"
    build = subprocess.run(
        build_command(ring, name), shell=True, cwd=pack, env=BARE, capture_output=True, text=True
    )
    assert (build.returncode, build.stdout, build.stderr) == (0, "", "")
    done = subprocess.run([f"./{name}", *arguments], cwd=pack, env=BARE, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def rows(text: str) -> dict[str, list[float]]:
    """The figures of each bot, in the order of the columns; those of no margin left out."""
    lines = [line.split() for line in text.splitlines() if re.match(r"\w+ +\d+ +\d+ +\d+\.", line)]
    return {name: [float(figure) for figure in figures if figure != "-"] for name, *figures in lines}


@pytest.mark.parametrize("ring", [HOUSE, ("odd", "veteran", "sparring_tempo", "sparring_points")])
def test_same_seed_same_games_as_simfarm(pack: Path, tmp_path: Path, ring: tuple[str, ...]) -> None:
    told = rows(play(pack, ring, "24000", "11"))
    specs = [arg for name in ring for arg in ("-b", f"{name}:{pack / name}.c")]
    options = ("--games", "24000", "--seed", "11", "--rule", "level=native", "--format", "json")
    done = simfarm("play", "uno", *specs, *options, cwd=tmp_path)
    bots = json.loads(done.stdout)["bots"]
    assert list(told) == [bot["name"] for bot in bots] == list(ring)
    for bot in bots:
        points, wins, share = told[bot["name"]][:3]
        assert (points, wins, told[bot["name"]][-1]) == (bot["points"], bot["wins"], bot["penalties"])
        assert share == pytest.approx(100 * bot["share"], abs=5e-5)


def test_margins_and_sigma_are_those_of_the_report(pack: Path, tmp_path: Path) -> None:
    told = rows(play(pack, HOUSE, "24000", "3"))
    specs = [BotSpec(name) for name in HOUSE]
    config = build_config("uno", specs, seed=3, plan={"games": 24_000}, where="test")
    run = Run.create(tmp_path / "run", config)
    runs.play(run, LocalExecutor(1), lambda progress: None)
    for bot in significance(Run(run.path)).data["bots"]:
        figures = told[bot["name"]]
        assert figures[3] == pytest.approx(bot["share_error_pp"], abs=5e-5)
        if bot["verdict"] != "reference":
            assert figures[4:6] == pytest.approx([bot["margin_pp"], bot["sigma_pp"]], abs=5.1e-5)
            assert figures[6] == pytest.approx(bot["z"], abs=5.1e-3)


def test_what_a_bot_does_wrong_is_told(pack: Path) -> None:
    text = play(pack, ("odd", *SPARRING), "2400")
    assert re.search(r"odd is ineligible: its first penalty is in game \d+\n", text)
    text = play(pack, ("crash", *SPARRING), "2400")
    found = re.search(r"crash is ineligible: its first fault is in game (\d+)\n", text)
    assert found
    assert re.search(r"forfeited after a fault: \d+\n    crashed: 1\n", text)
    log = build_command(("crash", *SPARRING), "uno-log", ("-DUNO_TRACE",))
    subprocess.run(log, shell=True, cwd=pack, env=BARE, check=True)
    done = subprocess.run(["./uno-log", found[1]], cwd=pack, env=BARE, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"block {found[1]}, ")
    assert "crash [" in done.stdout
    assert "crashes: the game ends" in done.stdout


@pytest.mark.parametrize("arguments", [("0",), ("x",), ("-1",), ("5", "6", "7"), ("4294967297",), ("1e6",)])
def test_wrong_arguments_get_one_line(pack: Path, arguments: tuple[str, ...]) -> None:
    play(pack, HOUSE, "24")
    done = subprocess.run([f"./uno-{'-'.join(HOUSE)}", *arguments], cwd=pack, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "usage: uno [GAMES [SEED]]: 1 to 2^32 games, and a seed below 2^63\n"


def test_the_readme_alone_makes_a_legal_bot(tmp_path: Path) -> None:
    """Its commands work as they stand, its bot is legal and has no penalty, and nothing is left to fill in."""
    assert simfarm("pack", "uno", "p", cwd=tmp_path).returncode == 0
    folder = tmp_path / "p"
    text = (folder / "README.md").read_text()
    assert not re.search(r"@[A-Z ]+@", text)
    assert (folder / "proj2.h").read_text().strip() in text
    assert all(f"| `{rule}` | {demand} |" in text for rule, demand in RULES.items())
    example = next(code for code in re.findall(r"```c\n(.*?)```", text, re.DOTALL) if "youralias_Play" in code)
    source = example.replace("youralias_", "mybot_")
    assert check_source(source.encode()) == []
    (folder / "mybot.c").write_text(source)
    commands = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert sum(command.startswith("gcc ") for command in commands) == 4
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=folder, env=BARE, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), command
    assert [figures[-1] for figures in rows(play(folder, ("mybot", *SPARRING), "24000")).values()] == [0] * 4


def test_the_referee_is_the_one_that_simfarm_builds(pack: Path) -> None:
    """Whatever the referee includes is there, byte for byte."""
    referee = Path(str(BUNDLED["veteran"].file)).parents[1] / "referee"
    names = {path.name for path in (pack / "referee").iterdir()}
    wanted = re.findall(r'#include "([\w-]+\.h)"', "".join(path.read_text() for path in referee.glob("*.[ch]")))
    assert set(wanted) - {"wasm-rt.h", "proj2.h"} <= names
    for name in names - {"seeds.h"}:
        assert (pack / "referee" / name).read_bytes() == (referee / name).read_bytes()


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "bot.c").write_text("")
    done = simfarm("pack", "uno", "mine", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "simfarm: pack: mine is not empty; name a new folder\n")
    done = simfarm("pack", "coin", "new", cwd=tmp_path)
    assert done.returncode == 2
    assert "coin has no pack for authors; games that have: uno\n" in done.stderr
    assert not (tmp_path / "new").exists()
