"""The sweep: every bot alone on every seed, under every combination of rule options.

For games of one player, whose blocks *are* puzzle seeds: a matchup is one bot, one set of rule options and
one range of seeds. A matchup's own seed comes from the run's seed and the first seed of its range, so that
all bots meet the same luck under all rules, a longer range keeps the cells of a shorter one, and a new bot
adds cells and changes none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, Matchup, Rules
from simfarm.core.planner import Planner, PlanOptions
from simfarm.core.seeds import derive

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MOST = 2**32

Seeds = Annotated[
    tuple[int | str, ...],
    Field(min_length=1, description='seeds and ranges of them: [7, "1001-1100"], ends included'),
]


class SweepOptions(PlanOptions):
    """Options of the planner ``sweep``."""

    seeds: Seeds = ("1-1000",)
    tuning_seeds: Annotated[
        tuple[int | str, ...],
        Field(description="seeds that bots may have been tuned on; reports warn where they are judged on them"),
    ] = ()
    vary: Annotated[
        dict[str, tuple[Any, ...]],
        Field(description="values by rule option: every combination is played; other options stay as in [rules]"),
    ] = {}  # noqa: RUF012 - pydantic copies it

    @field_validator("seeds", "tuning_seeds")
    @classmethod
    def _ranges(cls, value: tuple[int | str, ...]) -> tuple[int | str, ...]:
        parts = sorted((part.start, part.stop) for part in ranges(value))
        for (_, stop), (start, _) in pairwise(parts):
            if start < stop:
                raise ValueError(f"seed {start} is named twice")
        return value

    @field_validator("vary")
    @classmethod
    def _values(cls, value: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        for name, values in value.items():
            if not values or any(values.count(one) > 1 for one in values):
                raise ValueError(f"{name} needs a list of different values")
        return value

    def tuned(self) -> tuple[range, ...]:
        """See :meth:`PlanOptions.tuned`."""
        return ranges(self.tuning_seeds)


def ranges(seeds: Sequence[int | str]) -> tuple[range, ...]:
    """Seeds as ranges, in the order given.

    Raises:
        ValueError: one is no seed and no range of seeds.
    """
    found = []
    for part in seeds:
        match = _RANGE.fullmatch(str(part))
        first = int(match.group(1)) if match else 0
        last = int(match.group(2) or first) if match else -1
        if not first <= last < _MOST:
            raise ValueError(f'{part!r} is no seed: write a number below 2**32, or a range like "1-1000"')
        found.append(range(first, last + 1))
    return tuple(found)


class SweepPlanner(Planner):
    """Bots x rule options x ranges of seeds."""

    name = "sweep"
    options = SweepOptions

    def matchups(
        self, bots: Sequence[Bot], rules: Rules, options: PlanOptions, seed: int, record: tuple[str, ...]
    ) -> Iterator[Matchup]:
        """See :meth:`Planner.matchups`."""
        assert isinstance(options, SweepOptions)
        if not bots:
            raise ConfigError("a sweep needs at least one bot")
        for varied in variants(rules, options.vary):
            for bot in bots:
                for part in ranges(options.seeds):
                    yield Matchup((bot,), varied, derive(seed, part.start), part.start, part.stop, record=record)


def variants(rules: Rules, vary: Mapping[str, Sequence[Any]]) -> Iterator[Rules]:
    """The rules with every combination of values, the last option fastest.

    Raises:
        ConfigError: an option is unknown or a value is not allowed.
    """
    for name in vary:
        if name not in type(rules).model_fields:
            known = ", ".join(type(rules).model_fields)
            raise ConfigError(f"plan.vary.{name}: no rule option of this game; allowed: {known}")
    for values in product(*vary.values()):
        chosen = dict(zip(vary, values, strict=True))
        try:
            yield type(rules).model_validate({**rules.model_dump(), **chosen})
        except ValidationError as error:
            detail = error.errors()[0]
            key = ".".join(str(part) for part in detail["loc"])
            message = detail["msg"].removeprefix("Value error, ")
            raise ConfigError(
                f"plan.vary.{key} = {detail['input']!r}: {message[:1].lower()}{message[1:]}"
            ) from None
