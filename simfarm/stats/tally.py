"""Totals by seating, seat and bot, faults, and scores by block: one query each, then small numbers only."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from simfarm.core.engine import Engine
from simfarm.core.model import Fault, Matchup, Score, Termination


@dataclass(frozen=True, slots=True)
class SeatTally:
    """What was scored at one seat, by whoever sat there or by one bot."""

    seat: int
    bot: str | None
    """None for whoever sat there."""
    games: int
    wins: int | None
    """Rows in which the seat scored; None where games are not one row each."""
    points: float
    share: float | None
    """Percent of all points of those games; None where nobody scored."""


@dataclass(frozen=True, slots=True)
class SeatingTally:
    """What was scored in one seating; matchups with the same bots at the same seats are taken together."""

    bots: tuple[str, ...]
    """The bots by seat."""
    games: int
    points: float
    shares: tuple[float | None, ...]
    """Percent of the seating's points, by seat."""


@dataclass(slots=True)
class _Seating:
    games: float = 0.0
    points: float = 0.0
    by_bot: dict[str, float] = field(default_factory=lambda: defaultdict(float))


class Tally:
    """Counts over rows of a score's table."""

    games: int
    """Games in the rows."""
    bot_games: Mapping[str, int]
    """Games of the matchups that a bot takes part in."""
    penalties: Mapping[str, int]
    """Rule breaches by bot; 0 for bots without."""

    def __init__(
        self, rows: pl.LazyFrame, score: Score, matchups: Mapping[str, Matchup], blocks: Mapping[str, int]
    ) -> None:
        """Count.

        Args:
            rows: rows with ``matchup`` and ``block``.
            score: what the columns mean.
            matchups: at least every matchup that rows name, by key.
            blocks: the number of blocks in the rows by matchup key.

        Raises:
            ValueError: the score counts penalties by seat but does not tell who sat there.
        """
        self._matchups = matchups
        # Without the column a row's seating is known where there is only one.
        self._seated = score.seating is not None or all(len(m.seatings) < 2 for m in matchups.values())
        self._tells_seat = score.seat is not None
        if score.penalties and not self._seated:
            raise ValueError("penalties by seat belong to no bot without the seating: Score.seating is missing")
        penalties = [f"penalties {seat}" for seat in range(len(score.penalties))]
        self._groups = (
            rows.group_by(
                pl.col("matchup").alias("key"),
                (pl.col(score.seating) if score.seating else pl.lit(0)).alias("seating"),
                (pl.col(score.seat) if score.seat else pl.lit(None, pl.UInt8)).alias("seat"),
                pl.col(score.bot).alias("bot"),
            )
            .agg(
                pl.len().alias("rows"),
                pl.col(score.value).cast(pl.Float64).sum().alias("points"),
                *(
                    pl.col(column).cast(pl.Int64).sum().alias(name)
                    for column, name in zip(score.penalties, penalties, strict=True)
                ),
            )
            .collect(engine="streaming")
            .with_columns(pl.col("key", "bot").cast(pl.String))
        )
        total_rows = Counter[str]()
        for key, count in self._groups.select("key", "rows").iter_rows():
            total_rows[key] += count
        games = {key: count * matchups[key].games for key, count in blocks.items()}
        self._games_per_row = {key: count / total_rows[key] for key, count in games.items()}
        self.games = sum(games.values())
        self._row_is_game = self.games == total_rows.total()
        self._seat_games = Counter[int]()
        bot_games = Counter[str]()
        for key, count in games.items():
            self._seat_games.update(dict.fromkeys(range(len(matchups[key].bots)), count))
            bot_games.update({bot.name: count for bot in matchups[key].bots})
        self.bot_games = bot_games
        found = Counter[str]()
        for key, seating, *counts in self._groups.select("key", "seating", *penalties).iter_rows():
            found.update(dict(zip(self._bots(key, seating), counts, strict=False)))
        self.penalties = found

    def _bots(self, key: str, seating: int) -> tuple[str, ...]:
        """The bots of a seating by seat."""
        matchup = self._matchups[key]
        order = matchup.seatings[seating] if matchup.seatings else range(len(matchup.bots))
        return tuple(matchup.bots[position].name for position in order)

    def wins(self, bot: str) -> int | None:
        """Rows that name the bot; None where games are not one row each."""
        return self._wins(int(self._groups.filter(pl.col("bot") == bot)["rows"].sum()))

    def _wins(self, rows: int) -> int | None:
        return rows if self._row_is_game else None

    def seats(self) -> Iterator[SeatTally]:
        """Every seat, in order; none where rows do not tell the seat."""
        if not self._tells_seat:
            return
        total = float(self._groups["points"].sum())
        groups = self._groups.group_by("seat").agg(pl.col("rows", "points").sum())
        found = {seat: (count, points) for seat, count, points in groups.iter_rows()}
        for seat, games in sorted(self._seat_games.items()):
            count, points = found.get(seat, (0, 0.0))
            yield SeatTally(seat, None, games, self._wins(count), points, _percent(points, total))

    def bot_seats(self) -> Iterator[SeatTally]:
        """Every bot at every seat that it had, by name; none where rows do not tell seat and seating."""
        if not (self._tells_seat and self._seated):
            return
        games, totals = Counter[tuple[str, int]](), defaultdict[tuple[str, int], float](float)
        for bots, seating in self._by_seating().items():
            for seat, bot in enumerate(bots):
                games[bot, seat] += round(seating.games)
                totals[bot, seat] += seating.points
        groups = self._groups.group_by("bot", "seat").agg(pl.col("rows", "points").sum())
        found = {(bot, seat): (count, points) for bot, seat, count, points in groups.iter_rows()}
        for (bot, seat), played in sorted(games.items()):
            count, points = found.get((bot, seat), (0, 0.0))
            share = _percent(points, totals[bot, seat])
            yield SeatTally(seat, bot, played, self._wins(count), points, share)

    def seatings(self) -> Iterator[SeatingTally]:
        """Every seating that was played, in plan order; none where rows do not tell it."""
        if not self._seated:
            return
        for bots, seating in self._by_seating().items():
            shares = tuple(_percent(seating.by_bot[bot], seating.points) for bot in bots)
            yield SeatingTally(bots, round(seating.games), seating.points, shares)

    def _by_seating(self) -> dict[tuple[str, ...], _Seating]:
        ranks = {key: rank for rank, key in enumerate(self._matchups)}
        groups = sorted(
            self._groups.select("key", "seating", "bot", "rows", "points").iter_rows(),
            key=lambda group: (ranks[group[0]], group[1]),
        )
        merged: dict[tuple[str, ...], _Seating] = {}
        for key, number, bot, count, points in groups:
            seating = merged.setdefault(self._bots(key, number), _Seating())
            seating.games += count * self._games_per_row[key]
            seating.points += points
            if bot is not None:
                seating.by_bot[bot] += points
        return merged


def _percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole > 0 else None


def faults_by_bot(rows: pl.LazyFrame, fault: Fault) -> Mapping[str, dict[str, int]]:
    """Rows that name a bot at fault, counted by bot and termination."""
    return _count(rows, fault.bot, fault.termination)


def terminations(engine: Engine, rows: pl.LazyFrame) -> Mapping[str, dict[str, int]]:
    """How matches ended by bot: for every match where the faults' table has a row for it, else faults only."""
    score, fault = engine.score, engine.fault
    own_rows = score.survived is not None and score.table == fault.table
    return _count(rows, score.bot if own_rows else fault.bot, fault.termination)


def _count(rows: pl.LazyFrame, bot: str, termination: str) -> Mapping[str, dict[str, int]]:
    named = rows.filter(pl.col(bot).is_not_null()).group_by(pl.col(bot, termination).cast(pl.String)).len()
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for name, end, count in sorted(named.collect(engine="streaming").iter_rows()):
        found[name][end] = count
    return found


def block_scores(
    tables: Mapping[str, pl.LazyFrame], engine: Engine, matchups: Mapping[str, Matchup]
) -> pl.DataFrame:
    """One row per bot and block: ``bot``, ``block``, ``unit`` (equal where bots are compared), ``condition``
    (position in the rules that occur), ``meets`` (not alone), ``public``, ``score``, ``invalid`` and the engine's
    further means.

    A bot of a matchup that no row of a block names scored 0 there.
    """
    score = engine.score
    text = [pl.col("matchup").cast(pl.String), pl.col("block")]
    rows = (
        tables[score.table]
        .group_by(*text, pl.col(score.bot).cast(pl.String).alias("bot"))
        .agg(
            pl.col(score.value).cast(pl.Float64).sum().alias("score"),
            *(pl.col(name).mean() for name in engine.means),
        )
        .collect()
    )
    blocks = rows.select("matchup", "block").unique()
    rules = list(conditions(matchups))
    described = pl.DataFrame(
        [
            (
                key,
                bot.name,
                rules.index(differing(matchup, matchups)),
                f"{matchup.seed}" if len(matchup.bots) == 1 else key,
                len(matchup.bots) > 1,
            )
            for key, matchup in matchups.items()
            for bot in matchup.bots
        ],
        schema={
            "matchup": pl.String,
            "bot": pl.String,
            "condition": pl.Int64,
            "place": pl.String,
            "meets": pl.Boolean,
        },
        orient="row",
    ).unique(maintain_order=True)
    faults = (
        tables[engine.fault.table]
        .filter(pl.col(engine.fault.bot).is_not_null())
        .filter(
            pl.col(engine.fault.termination)
            .cast(pl.String)
            .is_in([t.value for t in Termination if t.is_bot_fault])
        )
        .select(*text, pl.col(engine.fault.bot).cast(pl.String).alias("bot"), pl.lit(1).alias("invalid"))
        .unique()
        .collect()
    )
    public = engine.public_blocks
    return (
        blocks.join(described, on="matchup")
        .join(rows, on=["matchup", "block", "bot"], how="left")
        .join(faults, on=["matchup", "block", "bot"], how="left")
        .with_columns(
            pl.col("score", "invalid").fill_null(0),
            pl.format("{}/{}/{}", "condition", "place", "block").alias("unit"),
            pl.col("block").is_in(list(public) if public is not None else []).alias("public"),
        )
        .sort("condition", "place", "block", "bot")
    )


def differing(matchup: Matchup, matchups: Mapping[str, Matchup]) -> dict[str, Any]:
    """The matchup's rule options that are not the same in all matchups."""
    dumps = [other.rules.model_dump(mode="json") for other in matchups.values()]
    own = matchup.rules.model_dump(mode="json")
    return {name: value for name, value in own.items() if any(dump[name] != value for dump in dumps)}


def conditions(matchups: Mapping[str, Matchup]) -> list[dict[str, Any]]:
    """The differing rule options of all matchups, each once, in plan order."""
    found: list[dict[str, Any]] = []
    for matchup in matchups.values():
        rules = differing(matchup, matchups)
        if rules not in found:
            found.append(rules)
    return found
