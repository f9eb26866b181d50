"""Pairings: every pair of bots meets, or by option every table of k."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Annotated

from pydantic import Field

from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, Deal, Matchup, Rules
from simfarm.core.planner import Planner, PlanOptions
from simfarm.core.seeds import derive

_SHARED_SEATS = 5
"""Most bots at a table of which every order can be played: 120 orders."""


class PairingsOptions(PlanOptions):
    """Options of the planner ``pairings``."""

    games: Annotated[int, Field(ge=1, le=10**9, description="games in a match")] = 10_000
    repeats: Annotated[
        int, Field(ge=1, le=2**31, description="matches of each table, each with cards of its own")
    ] = 1
    table: Annotated[int, Field(ge=1, le=64, description="bots at a table; every choice of so many meets")] = 2
    deal: Annotated[
        Deal,
        Field(
            description="'fresh': a match; 'shared': the same cards once in every order of the bots, as one block"
        ),
    ] = Deal.FRESH


class PairingsPlanner(Planner):
    """Every pair, or every table of k bots, for equally many matches."""

    name = "pairings"
    options = PairingsOptions

    def matchups(
        self, bots: Sequence[Bot], rules: Rules, options: PlanOptions, seed: int, record: tuple[str, ...]
    ) -> Iterator[Matchup]:
        """See :meth:`Planner.matchups`. A matchup's seed comes from the run's and from its bots' names, in any
        order: no other bot changes it."""
        assert isinstance(options, PairingsOptions)
        if len(bots) < options.table:
            names = ", ".join(bot.name for bot in bots) or "none"
            raise ConfigError(f"plan.table = {options.table} needs as many bots, not {len(bots)}: {names}")
        shared = options.deal is Deal.SHARED
        if shared and not 2 <= options.table <= _SHARED_SEATS:
            raise ConfigError(
                f"plan.table = {options.table}: with deal = 'shared' every order of the bots is played; "
                f"allowed: 2 to {_SHARED_SEATS}"
            )
        seatings = tuple(permutations(range(options.table))) if shared else ()
        for table in combinations(bots, options.table):
            yield Matchup(
                bots=table,
                rules=rules,
                seed=derive(seed, "pairings", *sorted(bot.name for bot in table)),
                start=0,
                stop=options.repeats,
                games=options.games * max(1, len(seatings)),
                seatings=seatings,
                deal=options.deal,
                record=record,
            )
