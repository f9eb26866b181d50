"""Two copies of one bot come out exactly equal where a block is one deal in every seating."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simfarm import registry
from simfarm import run as runs
from simfarm.config import build_config
from simfarm.core.model import BotSpec
from simfarm.executors.local import LocalExecutor
from simfarm.stats.tally import block_scores
from simfarm.store import Run


@pytest.mark.parametrize(
    ("game", "bot", "others", "plan"),
    [
        ("uno", "starter", ("veteran", "first_legal"), {"games": 24 * 20, "deal": "shared"}),
        ("blackjack", "basic_strategy", (), {"games": 5, "repeats": 4, "deal": "shared"}),
        ("duel", "mirror", (), {"games": 8, "block": 4, "deal": "shared"}),
    ],
)
def test_in_every_block(
    game: str, bot: str, others: tuple[str, ...], plan: Mapping[str, Any], tmp_path: Path
) -> None:
    engine = registry.engine(game)
    bundled = engine.bundled()
    twins = [BotSpec(name, file=bundled[bot].file) for name in ("one", "two")]
    config = build_config(game, [*twins, *(bundled[name] for name in others)], seed=5, plan=plan, where="test")
    run = Run.create(tmp_path / "run", config)
    runs.play(run, LocalExecutor(1), lambda progress: None)
    run = Run(run.path)
    tables = {table.name: run.lazy(table.name) for table in engine.tables if not table.optional}
    scores = block_scores(tables, engine, run.matchups())
    one, two = (scores.filter(bot=name).sort("block")["score"].to_list() for name in ("one", "two"))
    assert len(one) == sum(matchup.stop - matchup.start for matchup in run.matchups().values())
    assert one == two
    assert sum(one) != 0
