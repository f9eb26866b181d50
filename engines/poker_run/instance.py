"""Test cases: made from a seed, read and written in the statement's form (sections Input and Generator)."""

from collections.abc import Iterator
from dataclasses import dataclass

from engines.poker_run.ruleset import DECK, Ruleset
from simfarm.core.errors import ConfigError

_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Case:
    """What changes from test to test; all else is the ruleset's."""

    orders: tuple[tuple[int, ...], ...]
    """By round: the 52 card ids in draw order."""
    queues: tuple[tuple[int, ...], ...]
    """By shop (after each round but the last): positions of modifiers in the ruleset, in the order of
    offer."""


def mulberry32(seed: int) -> Iterator[float]:
    """The generator mulberry32: endless numbers in [0, 1), multiples of 2**-32; the low 32 bits of the
    seed count."""
    state = seed & _MASK
    while True:
        state = (state + 0x6D2B79F5) & _MASK
        value = ((state ^ (state >> 15)) * (state | 1)) & _MASK
        value ^= (value + (((value ^ (value >> 7)) * (value | 61)) & _MASK)) & _MASK
        yield (value ^ (value >> 14)) / 2**32


def generate(seed: int, ruleset: Ruleset) -> Case:
    """The test case of a seed: one stream, first the rounds' draw orders, then the shops' queues."""
    stream = mulberry32(seed)

    def shuffled(count: int) -> list[int]:
        items = list(range(count))
        for last in range(count - 1, 0, -1):
            chosen = int(next(stream) * (last + 1))
            items[last], items[chosen] = items[chosen], items[last]
        return items

    params = ruleset.params
    orders = tuple(tuple(shuffled(DECK)) for _ in range(params.rounds))
    queues = tuple(tuple(shuffled(len(ruleset.modifier))[: params.queue]) for _ in range(params.rounds - 1))
    return Case(orders, queues)


def write_case(case: Case, ruleset: Ruleset) -> str:
    """A case as text."""
    params = ruleset.params
    head = (params.rounds, params.hand_size, params.plays, params.discards, params.max_modifiers, params.queue)
    lines: list[tuple[object, ...]] = [head, params.targets, *case.orders]
    lines += [tuple(ruleset.modifier[index].name for index in queue) for queue in case.queues]
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def read_case(text: str, ruleset: Ruleset, where: str = "case") -> Case:
    """The inverse of :func:`write_case`.

    Raises:
        ConfigError: it is no case, or its parameters and targets are not the ruleset's.
    """
    params = ruleset.params
    lines = [line.split() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    wanted = write_case(Case((), ()), ruleset).splitlines()
    for index, what in enumerate(("parameters", "targets")):
        found = " ".join(lines[index]) if len(lines) > index else "missing"
        if found != wanted[index]:
            raise ConfigError(
                f"{where}:{index + 1}: the {what} are {found[:80]}, the ruleset's are {wanted[index]}"
            )
    if len(lines) != 2 + params.rounds + params.rounds - 1:
        raise ConfigError(f"{where}: {len(lines)} lines, a case has {2 * params.rounds + 1}")
    identity = [str(card) for card in range(DECK)]
    for index, words in enumerate(lines[2 : 2 + params.rounds], 3):
        if sorted(words) != sorted(identity):
            raise ConfigError(f"{where}:{index}: not an order of the cards 0 to {DECK - 1}")
    names = {modifier.name: index for index, modifier in enumerate(ruleset.modifier)}
    for index, words in enumerate(lines[2 + params.rounds :], 3 + params.rounds):
        if len(words) != params.queue:
            raise ConfigError(f"{where}:{index}: {len(words)} offers, a queue has {params.queue}")
        for word in words:
            if word not in names:
                raise ConfigError(f"{where}:{index}: {word[:40]!r} is no modifier of the ruleset")
    orders = tuple(tuple(map(int, words)) for words in lines[2 : 2 + params.rounds])
    queues = tuple(tuple(names[word] for word in words) for words in lines[2 + params.rounds :])
    return Case(orders, queues)
