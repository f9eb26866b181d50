"""Ray nodes with nothing but the installed package: bots travel by content, C is compiled there, rows come home."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GAMES = {
    "coin": "[plan]\ngames = 500\n",
    "uno": "[plan]\ngames = 40000\n",
    "blackjack": 'record = ["games"]\n[plan]\nplanner = "pairings"\ngames = 100\n',
    "duel": "[plan]\ngames = 20\nblock = 10\n",
    "poker_run": '[plan]\nseeds = ["1-20"]\n',
}
BOTS = {
    "coin": ("heads.txt", "tails.txt"),
    "uno": ("veteran", "starter", "sparring_tempo", "own.c"),
    "blackjack": ("basic_strategy", "dflat"),
    "duel": ("odds", "own.js"),
    "poker_run": ("baseline",),
}


def namespaces() -> list[str]:
    """The command that gives a process namespaces of its own and lets it make more; empty if there is none."""
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        command.append("--map-root-user")
    if not shutil.which("ip") or not shutil.which("unshare"):
        return []
    probe = "ip link add br0 type bridge && ip link add v0 type veth peer name v1 && mount -t tmpfs none /mnt"
    return command if subprocess.run([*command, "sh", "-c", probe], capture_output=True).returncode == 0 else []


def wheels(folder: Path) -> Path:
    """The project and its plug-in as anyone would install them, from copies: a build leaves nothing in the tree."""
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("simfarm", "engines", "jobs", "tests/plugin"):
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=skipped)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / "source" / name)
    sources = [folder / "source", folder / "source/tests/plugin"]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps"]
    subprocess.run([*pip, "--target", folder / "wheels", *map(str, sources)], check=True)
    return folder / "wheels"


@pytest.mark.slow
def test_nodes_that_share_nothing_with_the_driver(tmp_path: Path) -> None:
    command = namespaces()
    if not command:
        pytest.skip("this machine gives no namespaces, or has no iproute2")
    (tmp_path / "heads.txt").write_text("heads")
    (tmp_path / "tails.txt").write_text("tails")
    shutil.copy(ROOT / "engines/uno/bots/first_legal.c", tmp_path / "own.c")
    shutil.copy(ROOT / "engines/duel/bots/sample.js", tmp_path / "own.js")
    configs = []
    for game, text in GAMES.items():
        entries = ""
        for bot in BOTS[game]:
            file = f'file = "{bot}"\n' if "." in bot else ""
            entries += f'[[bots]]\nname = "{Path(bot).stem}"\n{file}'
        configs.append(tmp_path / f"{game}.toml")
        configs[-1].write_text(f'engine = "{game}"\n{text}{entries}')
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "node").mkdir()
    arguments = [sysconfig.get_path("purelib"), str(wheels(tmp_path)), str(work), *map(str, configs)]
    done = subprocess.run(
        [*command, sys.executable, "-m", "tests.ray_isolated", *arguments],
        cwd=ROOT,
        env={**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split("\n")[:-1] == [f"equal {game}" for game in GAMES]
