"""The ring: the same four bots in game after game, spread evenly over their seatings.

With ``deal = "fresh"`` (the official way) every game is a block with cards of its own, and game g is played in
seating ``g mod n`` of the n seatings in use, so that no seating is ahead of another by more than one game.
With ``deal = "shared"`` a block is one deal played in every seating: luck cancels, bots can be told apart
with fewer games, and two copies of one bot come out exactly equal.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Annotated

from pydantic import Field, field_validator

from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, Deal, Matchup, Rules
from simfarm.core.planner import Planner, PlanOptions

SEATINGS = tuple(permutations(range(4)))
"""All 24 seatings in lexicographic order: number n seats bot ``SEATINGS[n][seat]`` at each seat."""


class RingOptions(PlanOptions):
    """Options of the planner ``ring``."""

    games: Annotated[int, Field(gt=0, le=2**32, description="games in all, over all seatings")] = 20_000_000
    deal: Annotated[
        Deal, Field(description="'fresh': new cards each game; 'shared': each deal in every seating")
    ] = Deal.FRESH
    seatings: Annotated[
        tuple[int, ...],
        Field(description="numbers of the seatings in use, 0 to 23 in lexicographic order; empty: all 24"),
    ] = ()

    @field_validator("seatings")
    @classmethod
    def _known_seatings(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(not 0 <= number < len(SEATINGS) for number in value) or len(set(value)) != len(value):
            raise ValueError("must be different numbers from 0 to 23")
        return value


class RingPlanner(Planner):
    """One matchup: four bots, all seatings."""

    name = "ring"
    options = RingOptions

    def matchups(
        self, bots: Sequence[Bot], rules: Rules, options: PlanOptions, seed: int, record: tuple[str, ...]
    ) -> Iterator[Matchup]:
        """See :meth:`Planner.matchups`. The matchup's seed is the run's own: game g of a ring depends on
        (run seed, g) alone, so that rings with the same seed get the same cards."""
        assert isinstance(options, RingOptions)
        if len(bots) != 4:
            raise ConfigError(f"a ring has four bots, not {len(bots)}: {', '.join(bot.name for bot in bots)}")
        seatings = tuple(SEATINGS[number] for number in options.seatings or range(len(SEATINGS)))
        shared = options.deal is Deal.SHARED
        games_per_block = len(seatings) if shared else 1
        if options.games % games_per_block:
            more = -(-options.games // games_per_block) * games_per_block
            raise ConfigError(
                f"plan.games = {options.games}: with deal = 'shared' a block is one game in each of "
                f"{games_per_block} seatings; the next multiple is {more}"
            )
        yield Matchup(
            bots=tuple(bots),
            rules=rules,
            seed=seed,
            start=0,
            stop=options.games // games_per_block,
            games=games_per_block,
            seatings=seatings,
            deal=options.deal,
            record=record,
        )
