"""What the rows of duels say about their bots."""

from collections.abc import Iterable
from typing import Any

import polars as pl


def totals(names: Iterable[str], games: pl.DataFrame) -> list[dict[str, Any]]:
    """What each bot did over all games, one flat object per bot.

    Args:
        names: the bots, in the order wanted; repeats are dropped.
        games: rows of the table ``games``.
    """
    sides = pl.concat(_side(games, seat) for seat in range(2))
    sums = sides.group_by("name").sum()
    found = {row["name"]: row for row in sums.iter_rows(named=True)}
    empty = dict.fromkeys(sums.columns, 0)
    return [{**found.get(name, empty), "name": name} for name in dict.fromkeys(names)]


def _side(games: pl.DataFrame, seat: int) -> pl.DataFrame:
    name = pl.col(f"bot_seat{seat}").cast(pl.String)
    won = (pl.col("winner_seat") == seat).fill_null(False)
    return games.select(
        name.alias("name"),
        pl.lit(1, pl.Int64).alias("games"),
        won.cast(pl.Int64).alias("game_wins"),
        *(
            pl.col(f"{column}_seat{seat}").cast(pl.Int64).alias(alias)
            for column, alias in (("sets", "set_wins"), ("rounds", "round_wins"), ("folds", "folds"), ("illegal", "illegal"))
        ),
        pl.col(f"coins_seat{seat}").cast(pl.Int64).alias("coins"),
        (pl.col("fault_bot").cast(pl.String) == name).fill_null(False).cast(pl.Int64).alias("faults"),
        pl.col(f"seconds_seat{seat}").cast(pl.Float64).alias("seconds"),
    )
