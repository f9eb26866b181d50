"""An executor that plays in this process: for tests of what is kept, not of who plays it."""

from collections.abc import Callable, Generator, Iterator

from simfarm.executors import GivenUp, Item, Result


class Inline:
    """See :class:`simfarm.executors.Executor`; nothing is tried again.

    Args:
        held: so many results are held back and given out last one first, as workers of unequal speed do.
    """

    workers = 1

    def __init__(self, held: int = 1) -> None:
        self._held = held

    def map(
        self, function: Callable[[Item], Result], items: Iterator[Item]
    ) -> Generator[Result | GivenUp[Item], None, None]:
        """See :class:`simfarm.executors.Executor`."""
        waiting: list[Result] = []
        for item in items:
            waiting.append(function(item))
            if len(waiting) == self._held:
                yield from reversed(waiting)
                waiting = []
        yield from reversed(waiting)
