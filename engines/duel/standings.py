"""What the rows of duels say about their bots: totals, ratings, head to head."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from simfarm.core.model import Matchup
from simfarm.core.rating import Rating, rate


def totals(names: Iterable[str], games: pl.DataFrame) -> list[dict[str, Any]]:
    """What each bot did over all games, one flat object per bot, by the names given (repeats are dropped).

    Args:
        names: the bots.
        games: rows of the table ``games``.
    """
    sums = _sides(games.lazy()).group_by("name").agg(pl.all().sum()).drop("coins", "sets").collect()
    found = {row["name"]: row for row in sums.iter_rows(named=True)}
    empty = dict.fromkeys(sums.columns, 0)
    return [{**found.get(name, empty), "name": name} for name in dict.fromkeys(names)]


def leaderboard_tables(matchups: Mapping[str, Matchup], games: pl.LazyFrame) -> dict[str, pl.DataFrame]:
    """Standings and head to head, for each set of rule options that was played.

    Args:
        matchups: by key.
        games: rows of the table ``games``.
    """
    tables = {}
    for title, keys in _conditions(matchups).items():
        rows = games.filter(pl.col("matchup").cast(pl.String).is_in(keys))
        names = list(dict.fromkeys(bot.name for key in keys for bot in matchups[key].bots))
        tables[f"Standings{title}"] = _standings(names, rows)
        tables[f"Head to head{title}: games won, ties half, of games played"] = _head_to_head(names, rows)
    return tables


def _conditions(matchups: Mapping[str, Matchup]) -> dict[str, list[str]]:
    """Keys of matchups by what is different in their rules, as a title's end."""
    dumps = {key: matchup.rules.model_dump(mode="json") for key, matchup in matchups.items()}
    varied = [
        name for name in next(iter(dumps.values()), {}) if len({repr(dump[name]) for dump in dumps.values()}) > 1
    ]
    found: dict[str, list[str]] = {}
    for key, dump in dumps.items():
        title = ", ".join(f"{name} = {dump[name]}" for name in varied)
        found.setdefault(f", {title}" if title else "", []).append(key)
    return found


def _standings(names: Sequence[str], games: pl.LazyFrame) -> pl.DataFrame:
    sides = _sides(games).group_by("name").agg(pl.all().sum()).collect()
    rows = {row["name"]: row for row in sides.iter_rows(named=True)}
    by_games = _ratings(names, games, "won")
    by_sets = _ratings(names, games, "sets")
    lines = []
    for name in names:
        row = rows.get(name)
        if row is None:
            continue
        game, sets = by_games[name], by_sets[name]
        lines.append(
            {
                "bot": name,
                "games": row["games"],
                "won": row["game_wins"],
                "sets": row["sets"],
                "sets won": row["set_wins"],
                "coins a set": row["coins"] / row["sets"] if row["sets"] else None,
                "rating": game.value,
                "error": game.error,
                "set rating": sets.value,
                "set error": sets.error,
                "faults": row["faults"],
                "note": game.note or sets.note,
            }
        )
    frame = pl.DataFrame(lines, schema_overrides=_NUMBERS)
    return frame if frame.is_empty() else frame.sort("won", "sets won", descending=True, maintain_order=True)


_NUMBERS = dict.fromkeys(("coins a set", "rating", "error", "set rating", "set error"), pl.Float64)


def _ratings(names: Sequence[str], games: pl.LazyFrame, what: str) -> dict[str, Rating]:
    """Ratings by games won (a tie is half a win to each) or by sets won."""
    if what == "won":
        score = pl.when(pl.col("winner_seat").is_null()).then(0.5).otherwise(pl.col("winner_seat") == 0)
        count = pl.lit(1.0)
    else:
        # Equal coins leave a set to nobody: half to each.
        count = pl.col("sets").cast(pl.Float64)
        score = (count + pl.col("sets_seat0").cast(pl.Float64) - pl.col("sets_seat1").cast(pl.Float64)) / 2
    first, second = pl.col("bot_seat0").cast(pl.String), pl.col("bot_seat1").cast(pl.String)
    swapped = first > second
    met = games.select(
        "matchup",
        "block",
        pl.when(swapped).then(second).otherwise(first).alias("i"),
        pl.when(swapped).then(first).otherwise(second).alias("j"),
        pl.when(swapped).then(count - score).otherwise(score).alias("score"),
        count.alias("count"),
    )
    blocks = (
        met.group_by("matchup", "block", "i", "j").agg(pl.col("score", "count").sum()).sort("i", "j").collect()
    )
    blocks = blocks.filter(pl.col("count") > 0)
    position = {name: index for index, name in enumerate(names)}
    pairs = np.array([[position[i], position[j]] for i, j in blocks.select("i", "j").iter_rows()], dtype=np.intp)
    found = rate(names, pairs.reshape(-1, 2), blocks["score"].to_numpy(), blocks["count"].to_numpy())
    return dict(zip(names, found, strict=True))


def _head_to_head(names: Sequence[str], games: pl.LazyFrame) -> pl.DataFrame:
    first, second = pl.col("bot_seat0").cast(pl.String), pl.col("bot_seat1").cast(pl.String)
    met = games.group_by(first.alias("a"), second.alias("b"), "winner_seat").agg(pl.len().alias("games")).collect()
    won: dict[tuple[str, str], float] = {}
    for a, b, seat, count in met.iter_rows():
        for name, other, own in ((a, b, 0), (b, a, 1)):
            share = 0.5 if seat is None else float(seat == own)
            won[name, other] = won.get((name, other), 0.0) + share * count
    played = {(a, b): won[a, b] + won[b, a] for a, b in won}
    rows = [
        {
            "bot": name,
            **{
                other: f"{won[name, other]:g}/{played[name, other]:g}" if (name, other) in won else "-"
                for other in names
            },
        }
        for name in names
    ]
    return pl.DataFrame(rows)


def _sides(games: pl.LazyFrame) -> pl.LazyFrame:
    return pl.concat([_side(games, seat) for seat in range(2)])


def _side(games: pl.LazyFrame, seat: int) -> pl.LazyFrame:
    name = pl.col(f"bot_seat{seat}").cast(pl.String)

    def count(column: str, alias: str) -> pl.Expr:
        return pl.col(column).cast(pl.Int64).alias(alias)

    return games.select(
        name.alias("name"),
        pl.lit(1, pl.Int64).alias("games"),
        (pl.col("winner_seat") == seat).fill_null(False).cast(pl.Int64).alias("game_wins"),
        count(f"sets_seat{seat}", "set_wins"),
        count(f"rounds_seat{seat}", "round_wins"),
        count(f"folds_seat{seat}", "folds"),
        count(f"illegal_seat{seat}", "illegal"),
        (pl.col("fault_bot").cast(pl.String) == name).fill_null(False).cast(pl.Int64).alias("faults"),
        count(f"coins_seat{seat}", "coins"),
        count("sets", "sets"),
    )
