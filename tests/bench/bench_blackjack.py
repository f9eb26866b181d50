"""Blackjack: what a decision costs over a bare ping-pong, games a second, two matches on two cores, the figures of
the rules, and that ten thousand matches leave nothing behind."""

import gc
import os
import resource
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from engines.blackjack.engine import BlackjackEngine
from engines.blackjack.player import Entrant
from engines.blackjack.records import SEATS, Rows, add_seats
from engines.blackjack.referee import Match
from engines.blackjack.rules import BlackjackRules
from simfarm.core import native
from simfarm.core.model import Bot, SourceFile
from simfarm.core.process import BotProcess, Limits
from tests.bench.figures import Figure, at_least, at_most

DEEP = BlackjackRules(start_balance=10**9)
EXACT = {
    "basic_strategy": (-0.0644, 0.0004, 11.604),
    "dflat": (-6.474, 0.0013, 18.05),
    "drandom": (-3.135, 0.0007, 10.21),
}
"""Net per game with its own standard error, and standard deviation per game, from the rules."""

CONSTANT = rb"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* Answers without thinking: bets 10, declines insurance, stands. With an argument: the same line to anything. */
int main(int argc, char **argv)
{
    static char in[1 << 16], out[512];
    (void)argv;
    for (ssize_t n; (n = read(0, in, sizeof in - 1)) > 0;) {
        in[n] = 0;
        int length = 110;
        if (argc < 2) {
            char *from = strstr(in, "\"match_id\""), *to = strstr(from, ",\"seat\"");
            char phase = strstr(to, "\"phase\":\"")[9];
            const char *action = phase == 'b' ? "BET\",\"amount\":10" : phase == 'i' ? "NO_INSURANCE\"" : "STAND\"";
            length = sprintf(out, "{\"type\":\"action_response\",%.*s,\"action\":\"%s}\n",
                             (int)(to - from), from, action);
        } else {
            memset(out, 'x', length);
            out[length - 1] = '\n';
        }
        if (write(1, out, length) != length)
            return 1;
    }
    return 0;
}
"""


def figures() -> Iterator[Figure]:
    """See the module."""
    constant = _constant()
    engine = BlackjackEngine()
    bundled = {name: _entrant(engine, name) for name in EXACT}
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield _decision(constant)
        speed = _games_per_second(bundled["dflat"], bundled["drandom"])
        yield at_least("blackjack, games of dflat and drandom in a second of a core", speed, 10_000, digits=0)
        yield _leaks(constant)
        for name, (mean, error, deviation) in EXACT.items():
            yield _against_exact(name, bundled[name], mean, error, deviation)
    finally:
        os.sched_setaffinity(0, allowed)
    if len(allowed) > 1:
        yield _two_matches(bundled["dflat"], bundled["drandom"], sorted(allowed))


def _constant() -> Bot:
    program = native.build({"constant.c": CONSTANT}, [native.Unit("constant.c", ("-O2",))])
    return Bot(
        "constant", (SourceFile("constant", program.read_bytes(), executable=True),), command="exec ./constant"
    )


def _entrant(engine: BlackjackEngine, name: str) -> Entrant:
    from engines.blackjack import languages

    built, factor = languages.build(engine.load(engine.bundled()[name]))
    return Entrant(built, factor)


def _play(*entrants: Entrant, games: int, seed: int = 1, rules: BlackjackRules = DEEP) -> Match:
    with Match(rules, entrants, seed, games) as match:
        for _ in match.play(each_game=False):
            pass
    return match


def _decision(bot: Bot, decisions: int = 40_000) -> Figure:
    """Everything that a match does, the game itself included, over its decisions; in turn with a ping-pong of lines
    of the same lengths."""
    one = Entrant(replace(bot, name="one"))

    def match() -> tuple[float, int]:
        with Match(DEEP, [one], 1, 10**9) as table:
            games = table.play(each_game=False)
            next(games)
            (seat,) = table.table.everyone
            before, started = seat.decisions, time.perf_counter()
            while seat.decisions - before < decisions:
                next(games)
            seconds, length = time.perf_counter() - started, len(table.players["one"].last_request)
            return seconds / (seat.decisions - before), length

    def ping_pong(length: int) -> float:
        with BotProcess(replace(bot, command="exec ./constant x"), Limits()) as process:
            line = b"x" * (length - 1) + b"\n"
            for _ in range(100):
                os.write(process.stdin, line)
                os.read(process.stdout, 65536)
            started = time.perf_counter()
            for _ in range(decisions):
                os.write(process.stdin, line)
                os.read(process.stdout, 65536)
            return (time.perf_counter() - started) / decisions

    ratios = []
    for _ in range(9):
        seconds, length = match()
        ratios.append(seconds / ping_pong(max(length, 1000)))
    return at_most("blackjack, a decision over a bare ping-pong of its line", statistics.median(ratios), 1.5)


def _games_per_second(*entrants: Entrant, games: int = 100_000) -> float:
    """In CPU time of referee and bots together, so that others on the machine do not count."""

    def cpu() -> float:
        return sum(os.times()[:4])

    started = cpu()
    match = _play(*entrants, games=games)
    assert match.table.games_completed == games
    return games / (cpu() - started)


def _two_matches(first: Entrant, second: Entrant, cores: list[int]) -> Figure:
    """Each in a thread of its own, pinned to a core of its own."""
    ready = threading.Barrier(2)

    def run(core: int, both: bool) -> float:
        os.sched_setaffinity(0, {core})
        if both:
            ready.wait()
        started = time.perf_counter()
        _play(first, second, games=40_000)
        return time.perf_counter() - started

    ratios = []
    with ThreadPoolExecutor(2) as pool:
        for turn in range(5):
            alone = pool.submit(run, cores[turn % 2], False).result()
            pair = [pool.submit(run, core, True) for core in cores[:2]]
            ratios.append(max(future.result() for future in pair) / alone)
    return at_most("blackjack, time of two matches on two cores over one", statistics.median(ratios), 1.15)


def _leaks(bot: Bot, matches: int = 10_000) -> Figure:
    one, two = Entrant(replace(bot, name="one")), Entrant(replace(bot, name="two"))

    def resources() -> tuple[int, int, int]:
        gc.collect()
        children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return len(os.listdir("/proc/self/fd")), len(children), pages * resource.getpagesize()

    for seed in range(200):
        _play(one, two, games=10, seed=seed)
    before = resources()
    for seed in range(matches):
        rows = Rows(SEATS)
        add_seats(rows, 0, 0, _play(one, two, games=10, seed=seed))
    after = resources()
    leaked = after[0] - before[0] + after[1] - before[1] + max(0, (after[2] - before[2]) >> 20)
    return at_most(
        f"blackjack, descriptors, processes and MiB left behind by {matches:,} matches of 10 games",
        leaked,
        2,
        digits=0,
    )


def _against_exact(name: str, entrant: Entrant, mean: float, error: float, deviation: float) -> Figure:
    """A million games alone at the table; the standard error is that of the difference."""
    games = 1_000_000
    match = _play(entrant, games=games, seed=7)
    (seat,) = match.table.everyone
    assert seat.games == games, match.outcome(seat)
    found = (seat.balance / 2 - DEEP.start_balance) / games
    off = (found - mean) / (deviation**2 / games + error**2) ** 0.5
    return at_most(f"blackjack, {name}: net per game {found:.4f}, off {mean} in standard errors", abs(off), 4)
