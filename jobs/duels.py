"""Duels: every pair of bots, for every seed and every combination of rule options that are varied.

What identifies a matchup is its two names, the seed and the rules: a new bot or a new value adds matchups and changes
none.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Annotated, Any

from pydantic import Field, ValidationError

from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, Deal, Matchup, Rules
from simfarm.core.planner import Planner, PlanOptions
from simfarm.core.seeds import derive

SEATINGS = ((0, 1), (1, 0))

Value = bool | int | float | str


class DuelOptions(PlanOptions):
    """Options of the planner ``duels``."""

    games: Annotated[int, Field(gt=0, description="games of a pair, for each seed and each rule combination")] = (
        1000
    )
    block: Annotated[
        int, Field(gt=0, le=65_535, description="games of a block: bots keep what they learn that long")
    ] = 20
    deal: Annotated[
        Deal, Field(description="'fresh': new cards each game; 'shared': each game once in both seatings")
    ] = Deal.FRESH
    seeds: Annotated[
        tuple[int, ...], Field(description="seeds that are swept, each beside the run's own; empty: the run's own")
    ] = ()
    vary: Annotated[
        dict[str, tuple[Value, ...]],
        Field(
            default_factory=dict,
            description="rule options that are swept, each with its values: every combination is played",
        ),
    ]


class DuelPlanner(Planner):
    """One matchup for each pair, seed and combination of rules; the pair in the order of its names."""

    name = "duels"
    options = DuelOptions

    def matchups(
        self, bots: Sequence[Bot], rules: Rules, options: PlanOptions, seed: int, record: tuple[str, ...]
    ) -> Iterator[Matchup]:
        """See :meth:`Planner.matchups`."""
        assert isinstance(options, DuelOptions)
        if len(bots) < 2:
            raise ConfigError(f"duels need at least two bots, not {len(bots)}")
        if options.games % options.block:
            more = -(-options.games // options.block) * options.block
            raise ConfigError(
                f"plan.games = {options.games}: must be a multiple of plan.block = {options.block}; next is {more}"
            )
        if options.deal is Deal.SHARED and options.block % len(SEATINGS):
            raise ConfigError(
                f"plan.block = {options.block}: deal = 'shared' plays games in pairs, so it must be even"
            )
        pairs = list(combinations(sorted(bots, key=lambda bot: bot.name), 2))
        for changes in _combinations(options.vary):
            varied = _changed(rules, changes)
            key = [part for name in sorted(changes) for part in (name, repr(changes[name]))]
            for extra in options.seeds or (None,):
                for first, second in pairs:
                    more_key = [] if extra is None else [extra]
                    yield Matchup(
                        bots=(first, second),
                        rules=varied,
                        seed=derive(seed, "duel", first.name, second.name, *more_key, *key),
                        start=0,
                        stop=options.games // options.block,
                        games=options.block,
                        seatings=SEATINGS,
                        deal=options.deal,
                        record=record,
                    )


def _combinations(vary: Mapping[str, Sequence[Value]]) -> Iterator[dict[str, Value]]:
    for values in product(*vary.values()):
        yield dict(zip(vary, values, strict=True))


def _changed(rules: Rules, changes: Mapping[str, Any]) -> Rules:
    allowed = sorted(type(rules).model_fields)
    for name in changes:
        if name not in allowed:
            raise ConfigError(f"plan.vary.{name}: no rule option; allowed: {', '.join(allowed)}")
    try:
        return type(rules).model_validate({**rules.model_dump(), **changes}, strict=True)
    except ValidationError as error:
        detail = error.errors()[0]
        name = ".".join(str(part) for part in detail["loc"])
        raise ConfigError(f"plan.vary.{name}: {detail['input']!r}: {detail['msg']}") from None
