"""``simfarm pack``: what an author needs to write bots without simfarm."""

from pathlib import Path
from typing import Annotated

import typer

from simfarm import registry
from simfarm.core.errors import ConfigError


def pack(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="The game.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="An empty or a new folder.")],
) -> None:
    """Write the author's pack of a game: its referee, bots to spar with, and a README that says it all.

    Example: simfarm pack uno pack
    """
    game = registry.engine(engine)
    if not game.packs:
        having = [name for name in registry.engine_names() if registry.engine(name).packs]
        raise ConfigError(
            f"pack: {engine} has no pack for authors; games that have: {', '.join(having) or 'none'}"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"pack: {folder} is not empty; name a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        command = game.pack(folder)
    except OSError as error:
        raise ConfigError(f"pack: {folder}: cannot be written: {error.strerror}") from None
    print(f"{folder}: start with README.md; build there with\n\n{command}")
