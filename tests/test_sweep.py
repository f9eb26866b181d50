"""The planner ``sweep``: bots x rule options x ranges of seeds."""

from typing import Any

import pytest

from jobs.sweep import SweepOptions, SweepPlanner, ranges
from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, Matchup, Rules, SourceFile, matchup_key
from simfarm.core.seeds import derive

BOTS = tuple(Bot(name, (SourceFile("f", name.encode()),)) for name in ("ada", "bob"))


class SomeRules(Rules):
    points: int = 1
    colour: str = "red"


def plan(bots: tuple[Bot, ...] = BOTS, seed: int = 5, **options: Any) -> list[Matchup]:
    return list(SweepPlanner().matchups(bots, SomeRules(), SweepOptions(**options), seed, ()))


def test_one_matchup_for_each_bot_options_and_range() -> None:
    matchups = plan(seeds=(7, "1001-1100"), vary={"points": (1, 2), "colour": ("red", "blue")})
    assert len(matchups) == 2 * 2 * 2 * 2
    found = [(m.bots[0].name, m.rules.model_dump(), m.start, m.stop) for m in matchups[:4]]
    red = {"points": 1, "colour": "red"}
    assert found == [
        ("ada", red, 7, 8),
        ("ada", red, 1001, 1101),
        ("bob", red, 7, 8),
        ("bob", red, 1001, 1101),
    ]
    assert [m.rules.model_dump()["colour"] for m in matchups[::4]] == ["red", "blue"] * 2
    assert {m.seed for m in matchups} == {derive(5, 7), derive(5, 1001)}
    keys = [matchup_key("x", 1, 1, m) for m in matchups]
    assert len(set(keys)) == len(keys)


def test_a_longer_range_and_a_new_bot_keep_the_cells() -> None:
    def key(m: Matchup) -> str:
        return matchup_key("x", 1, 1, m)

    short, longer = plan(seeds=("1-10",)), plan(seeds=("1-1000",))
    assert list(map(key, short)) == list(map(key, longer))
    assert {key(m) for m in plan(BOTS[:1], seeds=("1-10",))} < {key(m) for m in short}


def test_ranges() -> None:
    assert ranges((3, "4", "5-6", f"0-{2**32 - 1}")) == (
        range(3, 4),
        range(4, 5),
        range(5, 7),
        range(2**32),
    )
    assert SweepOptions(tuning_seeds=("5-6",)).tuned() == (range(5, 7),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": ("6-5",)}, "'6-5' is no seed"),
        ({"seeds": (2**32,)}, "4294967296 is no seed"),
        ({"seeds": (-1,)}, "-1 is no seed"),
        ({"seeds": ("all",)}, "'all' is no seed"),
        ({"seeds": ("1-10", 10)}, "seed 10 is named twice"),
        ({"seeds": ()}, "at least 1 item"),
        ({"vary": {"points": ()}}, "points needs a list of different values"),
        ({"vary": {"points": (1, 1)}}, "points needs a list of different values"),
    ],
)
def test_refused_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SweepOptions(**options)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"size": (1,)}, r"plan\.vary\.size: no rule option of this game; allowed: points, colour"),
        ({"points": ("many",)}, r"plan\.vary\.points = 'many': input should be a valid integer"),
    ],
)
def test_rule_options_are_checked(vary: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan(vary=vary)


def test_a_sweep_needs_a_bot() -> None:
    with pytest.raises(ConfigError, match="at least one bot"):
        plan(())
