"""The Planner contract: from a config's bots to matchups.

A planner is pure: the same arguments give the same matchups in the same order, lazily, and what identifies a
matchup never depends on how many others there are, so that a new bot adds cells and changes none.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from simfarm.core.model import Bot, Matchup, Rules


class PlanOptions(BaseModel):
    """Base of a planner's options: the ``[plan]`` table of a config without its ``planner`` key."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def tuned(self) -> tuple[range, ...]:
        """Blocks that bots may have been tuned on; a leaderboard warns where it judges bots on them."""
        return ()


class Planner(ABC):
    """Decides who meets whom, how often and in which seats."""

    name: ClassVar[str]
    """The name in ``[plan] planner = ...``."""
    options: ClassVar[type[PlanOptions]]
    """Validated, frozen options."""

    @abstractmethod
    def matchups(
        self,
        bots: Sequence[Bot],
        rules: Rules,
        options: PlanOptions,
        seed: int,
        record: tuple[str, ...],
    ) -> Iterator[Matchup]:
        """Yield the run's matchups, lazily, always in the same order.

        Args:
            bots: the run's bots in config order, names unique.
            rules: the engine's rule options; a sweep yields changed copies.
            options: an instance of :attr:`options`.
            seed: the run's seed; a matchup's own comes from it and from what identifies the matchup.
            record: names of optional tables wanted, for :attr:`Matchup.record`.

        Raises:
            ConfigError: the bots or the options do not fit this planner.
        """
