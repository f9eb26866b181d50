"""The planner of pairings: who meets, and that a new bot changes nothing for the others."""

from itertools import combinations

import pytest

from jobs.pairings import PairingsOptions, PairingsPlanner
from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, Deal, Matchup, Rules, matchup_key


def bots(names: str) -> list[Bot]:
    return [Bot(name, command=f"./{name}") for name in names]


def plan(names: str, seed: int = 1, **options: object) -> list[Matchup]:
    return list(
        PairingsPlanner().matchups(bots(names), Rules(), PairingsOptions.model_validate(options), seed, ("games",))
    )


def names(matchup: Matchup) -> str:
    return "".join(bot.name for bot in matchup.bots)


def test_every_pair_meets() -> None:
    matchups = plan("dabc", games=500, repeats=3)
    assert [names(matchup) for matchup in matchups] == ["da", "db", "dc", "ab", "ac", "bc"]
    assert len({matchup.seed for matchup in matchups}) == 6
    assert {(m.start, m.stop, m.games, m.seatings, m.deal, m.record) for m in matchups} == {
        (0, 3, 500, (), Deal.FRESH, ("games",))
    }


def test_every_table_meets() -> None:
    assert [names(matchup) for matchup in plan("abcd", table=3)] == ["abc", "abd", "acd", "bcd"]
    assert [names(matchup) for matchup in plan("abcd", table=1)] == list("abcd")
    assert [names(matchup) for matchup in plan("abcd", table=4)] == ["abcd"]


def test_a_new_bot_adds_cells_and_changes_none() -> None:
    def keys(names: str) -> set[str]:
        return {matchup_key("e", 1, 1, matchup) for matchup in plan(names)}

    assert keys("abd") < keys("abcd")
    assert keys("abd") < keys("xabdy")
    assert len(keys("xabdy")) == len(list(combinations("xabdy", 2)))


def test_seeds_come_from_names_and_the_runs_seed() -> None:
    (one,), (turned,), (other,), (later,) = plan("ab"), plan("ba"), plan("ac"), plan("ab", seed=2)
    assert one.seed == turned.seed
    assert len({one.seed, other.seed, later.seed}) == 3


def test_shared_deals_play_every_order() -> None:
    (pair,) = plan("ab", deal="shared", games=500)
    assert (pair.seatings, pair.games, pair.deal) == (((0, 1), (1, 0)), 1000, Deal.SHARED)
    (three,) = plan("abc", table=3, deal="shared", games=500)
    assert (len(three.seatings), three.games) == (6, 3000)


@pytest.mark.parametrize(
    ("count", "options", "message"),
    [
        (1, {}, "plan.table = 2 needs as many bots, not 1: a"),
        (0, {}, "plan.table = 2 needs as many bots, not 0: none"),
        (6, {"table": 6, "deal": "shared"}, "allowed: 2 to 5"),
        (3, {"table": 1, "deal": "shared"}, "allowed: 2 to 5"),
    ],
)
def test_what_does_not_fit(count: int, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan("abcdef"[:count], **options)
