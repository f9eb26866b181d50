"""Bots and rings for the tests of UNO."""

from itertools import permutations
from pathlib import Path

import polars as pl

from engines.uno.engine import UnoEngine, UnoRules
from simfarm.core.model import Bot, Deal, Matchup, Shard, SourceFile

ENGINE = UnoEngine()
ALL_SEATINGS = tuple(permutations(range(4)))
PLAIN = (Path(__file__).parent / "plain.c").read_text()

ODD = """
{
    int kind = rand() % 16, n = state->yourNumberOfCards;
    int odd[8] = {-1, -2, n, rand() % n, RED + rand() % n, NONE + rand() % n, YELLOW + n, -2147483647 - 1};
    if (kind < 8)
        choice = odd[kind];
    else if (choice >= RED)
        choice += 10000 * (rand() % 4);
}
"""
"""Body of a bot that answers at random, half of the time something that is mostly not allowed."""


def make(name: str, body: str = "", alias: str = "plain", file: str = "") -> Bot:
    """A bot that plays like plain.c, with some C between the choice and its return."""
    source = PLAIN.replace("/* BODY */", body).replace("plain_", f"{alias}_")
    return Bot(name, (SourceFile(file or f"{name}.c", source.encode()),), language="c")


def ring(
    *bots: Bot,
    stop: int = 1000,
    start: int = 0,
    seed: int = 7,
    seatings: tuple[tuple[int, ...], ...] = ALL_SEATINGS,
    deal: Deal = Deal.FRESH,
    **rules: int,
) -> Matchup:
    """A matchup; bots that are missing play like plain.c."""
    four = (*bots, *(make(f"plain{seat}") for seat in range(len(bots), 4)))
    games = len(seatings) if deal is Deal.SHARED else 1
    return Matchup(four, UnoRules(**rules), seed, start, stop, games, seatings, deal)


def play(matchup: Matchup, start: int | None = None, stop: int | None = None) -> pl.DataFrame:
    """The rows of the table ``games``, of the matchup or a part of it."""
    first = matchup.start if start is None else start
    last = matchup.stop if stop is None else stop
    frame = pl.from_arrow(ENGINE.play(Shard(matchup, "0" * 16, first, last))["games"])
    assert isinstance(frame, pl.DataFrame)
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
