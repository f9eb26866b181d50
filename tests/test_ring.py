"""The ring planner: seatings spread evenly, and what it refuses."""

from collections import Counter
from dataclasses import replace

import pytest

from jobs.ring import SEATINGS, RingOptions, RingPlanner
from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, Deal, Matchup, Rules

BOTS = tuple(Bot(name) for name in "abcd")


def plan(bots: tuple[Bot, ...] = BOTS, seed: int = 9, **options: object) -> Matchup:
    (matchup,) = RingPlanner().matchups(bots, Rules(), RingOptions.model_validate(options), seed, ())
    return matchup


def test_games_are_spread_over_all_seatings_as_evenly_as_their_number_allows() -> None:
    matchup = plan(games=100)
    counts = Counter(matchup.seatings_of(block)[0] for block in range(matchup.start, matchup.stop))
    assert sorted(counts) == sorted(SEATINGS)
    assert set(counts.values()) == {4, 5}
    assert len(set(SEATINGS)) == 24


def test_the_official_size_is_no_multiple_of_24() -> None:
    matchup = plan()
    assert (matchup.stop, matchup.games, matchup.seed) == (20_000_000, 1, 9)
    assert matchup.stop % 24 == 8


def test_a_subset_of_seatings() -> None:
    matchup = plan(games=10, seatings=(0, 23))
    assert matchup.seatings == ((0, 1, 2, 3), (3, 2, 1, 0))
    for wrong in ((24,), (-1,), (0, 0)):
        with pytest.raises(ValueError, match="different numbers from 0 to 23"):
            plan(seatings=wrong)


def test_shared_deals_are_blocks_of_all_seatings() -> None:
    matchup = plan(games=48, deal="shared")
    assert (matchup.stop, matchup.games, matchup.deal) == (2, 24, Deal.SHARED)
    assert matchup.seatings_of(1) == SEATINGS
    assert plan(games=10, deal="shared", seatings=(1, 2)).stop == 5
    with pytest.raises(ConfigError, match=r"plan.games = 50: .*24 seatings; the next multiple is 72"):
        plan(games=50, deal="shared")


def test_a_ring_has_four_bots() -> None:
    for bots in (BOTS[:3], (*BOTS, Bot("e"))):
        with pytest.raises(ConfigError, match=f"a ring has four bots, not {len(bots)}: a, b, c"):
            plan(bots)
    assert plan(tuple(replace(BOTS[0], name=name) for name in "abcd")).bots[3].hash == BOTS[0].hash


@pytest.mark.parametrize("games", [0, -5, 2**32 + 1])
def test_games_must_be_a_number_that_makes_sense(games: int) -> None:
    with pytest.raises(ValueError, match="games"):
        plan(games=games)
