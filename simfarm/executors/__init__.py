"""Executors: where shards are played. Each runs the same function on the same shards."""

from collections.abc import Callable, Generator, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs a function over items on workers, few items in flight.

    Items are pulled from their iterator only when a worker is free, so an endless or a lazily cut plan costs no
    memory, and results come in order of completion. An item whose worker dies, or whose function raises anything
    but a :class:`~simfarm.core.errors.SimfarmError`, is tried again elsewhere; at the third failure the whole
    map ends with an :class:`~simfarm.core.errors.ExecutorError`. A ``SimfarmError`` ends it at once.
    """

    @property
    def workers(self) -> int:
        """How many items are played at once."""

    def map(self, function: Callable[[Item], Result], items: Iterator[Item]) -> Generator[Result, None, None]:
        """Yield the function's results. Closing the iterator ends the workers."""


ATTEMPTS = 3
"""How often an item is tried before the map gives up."""
