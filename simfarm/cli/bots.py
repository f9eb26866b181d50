"""``simfarm bots``: look at bots before they play."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from simfarm import registry
from simfarm.core.engine import Engine
from simfarm.core.errors import BotError, ConfigError
from simfarm.core.model import Bot, SourceFile, Violation

app = typer.Typer(help="Look at bots before they play.", no_args_is_help=True)


class CheckFormat(StrEnum):
    """How broken rules are written."""

    TEXT = "text"
    JSON = "json"


@app.callback()
def bots() -> None:
    """Look at bots before they play."""


@app.command("check")
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Sources of bots, one bot a file.")],
    engine: Annotated[
        str | None, typer.Option("--engine", "-e", help="The game; default: the one whose bots end so.")
    ] = None,
    format: Annotated[CheckFormat, typer.Option("--format", "-f", help="How to write it.")] = CheckFormat.TEXT,
) -> None:
    """Check that bots keep the code rules of their game; exit code 1 if one does not.

    Example: simfarm bots check mybot.c
    """
    found = [(path, broken) for path in files for broken in _engine_of(path, engine).violations(read_source(path))]
    if format is CheckFormat.JSON:
        print(json.dumps({"legal": not found, "violations": [entry_of(*one) for one in found]}, indent=2))
    else:
        for path, broken in found:
            print(f"{path}:{broken.line}: {broken.rule}: {broken.message}")
        for path in files:
            if path not in {bad for bad, _ in found}:
                print(f"{path}: legal")
    raise typer.Exit(1 if found else 0)


def _engine_of(path: Path, name: str | None) -> Engine:
    with_rules = {key: game for key in registry.engine_names() if (game := registry.engine(key)).code_rules}
    if name is not None:
        game = registry.engine(name)
        if name not in with_rules:
            raise ConfigError(f"--engine {name}: has no code rules; games that have: {_listed(with_rules)}")
        return game
    fitting = {key: game for key, game in with_rules.items() if path.suffix in game.suffixes}
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    if fitting:
        raise ConfigError(f"{path}: name its game with --engine: {_listed(fitting)}")
    suffixes = sorted({suffix for game in with_rules.values() for suffix in game.suffixes})
    raise ConfigError(f"{path}: no game with code rules has such bots; their names end in: {_listed(suffixes)}")


def _listed(names: object) -> str:
    assert isinstance(names, dict | list)
    return ", ".join(names) or "none"


def read_source(path: Path) -> Bot:
    """A file as a bot whose source can be checked, whether or not it is one of any game.

    Raises:
        BotError: it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise BotError(f"{path}: is not a file")
    try:
        return Bot(path.stem, (SourceFile(path.name, path.read_bytes()),))
    except OSError as error:
        raise BotError(f"{path}: cannot be read: {error.strerror}") from None


def entry_of(path: Path, broken: Violation) -> dict[str, object]:
    """A broken rule as JSON values."""
    return {"file": str(path), "rule": broken.rule, "line": broken.line, "message": broken.message}
