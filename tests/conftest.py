"""Fixtures that several test files share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from simfarm.config import RunConfig, build_config
from simfarm.core.model import BotSpec

Coin = Callable[..., RunConfig]


@pytest.fixture
def coin(tmp_path: Path) -> Coin:
    """Makes configs of the coin game: bots are keyword arguments, name to what their file says."""

    def make(games: int = 100, seed: int = 1, record: tuple[str, ...] = (), **bots: str) -> RunConfig:
        specs = []
        for name, text in (bots or {"heads": "heads", "tails": "tails"}).items():
            path = tmp_path / f"{name}.txt"
            path.write_text(text)
            specs.append(BotSpec(name, file=str(path)))
        return build_config("coin", specs, seed=seed, plan={"games": games}, record=record, where="test")

    return make
