"""Poker Run: the checker against a plain one, the players' speed and points, C and Python on a million plays."""

import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from engines.poker_run import players
from engines.poker_run.engine import PokerRunEngine
from engines.poker_run.instance import generate
from engines.poker_run.kernel import Kernel, kernel, unpacked_moves
from engines.poker_run.ruleset import default_ruleset
from simfarm.core.model import Bot
from tests.bench.figures import Figure, at_least, at_most, ratio
from tests.bench.plain_poker import judge
from tests.poker_random import random_plays, scores_in_python

RULES = default_ruleset()
PLAIN_GREEDY = 8_111
"""Mean points of a plain greedy player on seeds 1001 to 1100."""


def figures() -> Iterator[Figure]:
    """See the module."""
    referee = kernel(RULES)
    yield _against_the_plain_checker(referee)
    yield _million_plays(referee)
    yield from _players(referee)


def _against_the_plain_checker(referee: Kernel, runs: int = 300) -> Figure:
    """The same runs of the baseline, moves in memory, one core each, taken in turn; totals have to be equal."""
    games = referee.generate(range(1, runs + 1))
    moves, starts = players.play(_bot("baseline"), games, RULES)
    cases = [generate(seed, RULES) for seed in range(1, runs + 1)]
    lists = [unpacked_moves(moves[a:b]) for a, b in pairwise(starts)]
    few = runs // 10
    plain = [judge(case, RULES, made) for case, made in zip(cases, lists, strict=True)]
    verdicts = referee.replay(games, moves, starts)
    assert plain == list(zip(verdicts["total"].tolist(), verdicts["cleared"].tolist(), strict=True))
    value = ratio(
        lambda: [judge(case, RULES, made) for case, made in zip(cases[:few], lists[:few], strict=True)],
        lambda: referee.replay(games, moves, starts),
    )
    share = float(starts[-1] / starts[few])
    return at_least(
        "Poker Run, one core, moves/s of the checker over those of a plain Python one",
        value * share,
        100,
        digits=0,
    )


def _million_plays(referee: Kernel, count: int = 1_000_000) -> Figure:
    wrong = 0
    for seed in range(10):
        plays = random_plays(seed, count // 10)
        points, types = referee.score(plays)
        expected = np.array(scores_in_python(plays, RULES))
        wrong += int(((expected[:, 0] != points) | (expected[:, 1] != types)).sum())
    return at_most(
        f"Poker Run, of {count:,} random plays, those that C and Python score differently", wrong, 0, digits=0
    )


def _players(referee: Kernel) -> Iterator[Figure]:
    many = referee.generate(range(5000))
    started = time.perf_counter()
    players.play(_bot("baseline"), many, RULES)
    yield at_least(
        "Poker Run, one core, runs/s of the baseline", 5000 / (time.perf_counter() - started), 1000, digits=0
    )
    games = referee.generate(range(1001, 1101))
    verdicts, seconds = {}, {}
    for name in ("baseline", "planner"):
        players.play(_bot(name), games[:1], RULES)
        started = time.process_time()
        verdicts[name] = referee.replay(games, *players.play(_bot(name), games, RULES))
        seconds[name] = (time.process_time() - started) / len(games)
    means = {name: float(found["total"].mean()) for name, found in verdicts.items()}
    yield at_most("Poker Run, seconds of one core that the planner takes a case", seconds["planner"], 2)
    share = means["planner"] / max(means["baseline"], PLAIN_GREEDY)
    yield at_least("Poker Run, seeds 1001-1100, mean of the planner over the baseline's", share, 8, digits=1)
    yield at_least("Poker Run, seeds 1001-1100, mean points of the planner", means["planner"], 104_229, digits=0)
    cleared = verdicts["planner"]["cleared"]
    yield at_least("Poker Run, seeds 1001-1100, rounds that the planner clears", float(cleared.mean()), 7.2)
    yield at_least(
        "Poker Run, seeds 1001-1100, runs in which it clears all 8", int((cleared == 8).sum()), 1, digits=0
    )


def _bot(name: str) -> Bot:
    engine = PokerRunEngine()
    return engine.load(engine.bundled()[name])
