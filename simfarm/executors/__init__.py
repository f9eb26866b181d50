"""Executors: where shards are played. Each runs the same function on the same shards."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from simfarm.core.model import Termination

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3
"""How often an item is tried before it is given up."""


@dataclass(frozen=True, slots=True)
class GivenUp(Generic[Item]):
    """An item that failed :data:`ATTEMPTS` times, through no fault of a bot."""

    item: Item
    reason: Termination
    """How it failed the last time: a system fault."""
    detail: str
    """What was seen then, for people: an exit code or a traceback."""


class Executor(Protocol):
    """Runs a function over items on workers, few items in flight.

    Items are pulled from their iterator only when a worker is free, so an endless or a lazily cut plan costs no
    memory, and results come in order of completion. An item whose worker dies, or whose function raises anything
    but a :class:`~simfarm.core.errors.SimfarmError`, is tried again elsewhere; at the third failure it is given
    up, and the rest goes on. A ``SimfarmError`` ends the map at once.
    """

    @property
    def workers(self) -> int:
        """How many items are played at once."""

    def map(
        self, function: Callable[[Item], Result], items: Iterator[Item]
    ) -> Generator[Result | GivenUp[Item], None, None]:
        """Yield the function's results, and what was given up. Closing the iterator ends the workers."""
