"""The leaderboard: every bot's mean score with its error, and paired comparisons with a reference bot.

It needs no game: scores, faults and further means are where the engine says
(:class:`~simfarm.core.model.Score`), and what only one game can add comes from
:meth:`Engine.leaderboard_tables`.

The unit is a bot's score in one block. Two bots are compared on the units that both have: the same block of
one matchup where they meet in it, else the same block under the same rules and seed, as in a sweep.
Differences are taken within a unit, so what a block is worth to everybody cancels. Errors are standard errors
over units.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from simfarm.core.engine import Engine
from simfarm.core.errors import ConfigError
from simfarm.core.model import Matchup
from simfarm.report.render import Column, Report, Table, number
from simfarm.stats.pairing import Gain, Seatings, of_same_blocks
from simfarm.stats.sequential import Sequential, assess_run
from simfarm.stats.tally import block_scores, conditions, faults_by_bot
from simfarm.store import Run


@dataclass(frozen=True, slots=True)
class Paired:
    """A bot against the reference on the same blocks."""

    units: int
    difference: float
    """Mean of its score less the reference's."""
    error: float | None
    """Standard error of that mean; None for fewer than two units."""
    gain: Gain | None
    """What playing the same blocks does for that error; None where it has no independent counterpart."""

    @property
    def z(self) -> float | None:
        """The difference in standard errors; None where there is no error, or it is 0."""
        return self.difference / self.error if self.error else None


@dataclass(frozen=True, slots=True)
class Standing:
    """One bot on one set of blocks under one set of rules."""

    bot: str
    units: int
    """Blocks that it played."""
    mean: float
    error: float | None
    """Standard error of the mean; None for fewer than two units."""
    best: float
    means: tuple[float | None, ...]
    """Of the engine's further columns."""
    invalid: int
    """Blocks in which it was at fault."""
    paired: Paired | None
    """None for the reference, and without blocks in common."""


@dataclass(frozen=True, slots=True)
class Board:
    """The bots on one set of blocks under one set of rules, best first."""

    rules: Mapping[str, Any]
    """The rule options that differ within the run; empty where none does."""
    public: bool
    """Whether the blocks are the public ones."""
    standings: tuple[Standing, ...]

    @property
    def title(self) -> str:
        """What it is of."""
        options = _of(self.rules)
        blocks = "public blocks" if self.public else ""
        return "; ".join(part for part in (options, blocks) if part)


def leaderboard(run: Run) -> Report:
    """The leaderboard of a run's committed rows.

    Its JSON has ``report``, ``engine``, ``unit``, ``reference``, ``boards`` (each with ``rules``, ``public``
    and ``bots``: ``name``, ``blocks``, ``mean``, ``error``, ``best``, one key per further mean, ``invalid``,
    ``paired`` with ``blocks``, ``difference``, ``error``, ``z``, ``gain`` of pairing), ``sequential`` (null, or
    :meth:`~simfarm.stats.sequential.Sequential.to_json` with ``[verdict] method = "sequential"``), ``faults`` (bot ->
    termination -> rows), ``tables`` (the game's own) and ``notes``.

    Raises:
        ConfigError: the reference takes part in no matchup.
    """
    engine, config, matchups = run.engine, run.config, run.matchups()
    playing = {bot.name for matchup in matchups.values() for bot in matchup.bots}
    names = [bot.name for bot in config.bots if bot.name in playing]
    reference = config.verdict.reference or (names[0] if names else "")
    if reference not in names:
        allowed = ", ".join(names) or "none, the run has no matchups"
        raise ConfigError(f"the reference {reference!r} takes part in no matchup; allowed: {allowed}")
    tables = {table.name: run.lazy(table.name) for table in engine.tables if not table.optional}
    units = block_scores(tables, engine, matchups)
    seatings = Seatings(tables[engine.score.table], engine.score, matchups)
    boards = tuple(
        _board(
            units.filter(pl.col("condition") == condition, public=public),
            rules,
            public,
            names,
            reference,
            engine,
            seatings,
        )
        for condition, rules in enumerate(conditions(matchups))
        for public in (False, True)
        if not units.filter(pl.col("condition") == condition, public=public).is_empty()
    )
    own = engine.leaderboard_tables(matchups, tables)
    notes = (*_notes(units, matchups, config.plan.tuned()), *_gains(boards, reference))
    sequential = assess_run(run, "leaderboard") if config.verdict.method == "sequential" else None
    return render(
        engine, reference, boards, sequential, faults_by_bot(tables[engine.fault.table], engine.fault), own, notes
    )


def _board(
    units: pl.DataFrame,
    rules: Mapping[str, Any],
    public: bool,
    names: Sequence[str],
    reference: str,
    engine: Engine,
    seatings: Seatings,
) -> Board:
    yardstick = units.filter(bot=reference).select("unit", pl.col("score").alias("other"))
    standings = []
    for name in names:
        own = units.filter(bot=name)
        if own.is_empty():
            continue
        values = own["score"].to_numpy()
        paired = None
        if name != reference:
            both = own.join(yardstick, on="unit")
            if not both.is_empty():
                gaps = (both["score"] - both["other"]).to_numpy()
                gain = _gain(both, name, reference, seatings)
                paired = Paired(len(gaps), float(gaps.mean()), _error(gaps), gain)
        standings.append(
            Standing(
                bot=name,
                units=len(values),
                mean=float(values.mean()),
                error=_error(values),
                best=float(values.max()),
                means=tuple(_mean(own[column]) for column in engine.means),
                invalid=int(own["invalid"].sum()),
                paired=paired,
            )
        )
    standings.sort(key=lambda standing: -standing.mean)
    return Board(rules, public, tuple(standings))


def _gain(both: pl.DataFrame, bot: str, reference: str, seatings: Seatings) -> Gain | None:
    if both["meets"].any():
        return seatings.difference(bot, reference) if seatings else None
    return of_same_blocks(both["score"].to_numpy(), both["other"].to_numpy())


def _gains(boards: Sequence[Board], reference: str) -> Iterator[str]:
    for board in boards:
        for standing in board.standings:
            if standing.paired and standing.paired.gain:
                of = f" ({board.title})" if board.title else ""
                what = f"{standing.bot}'s difference from {reference}{of}"
                yield from standing.paired.gain.sentences(what, "the same blocks")


def _mean(column: pl.Series) -> float | None:
    mean = column.mean()
    return float(mean) if isinstance(mean, int | float) else None


def _error(values: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def _notes(units: pl.DataFrame, matchups: Mapping[str, Matchup], tuned: Sequence[range]) -> list[str]:
    notes = []
    planned = sum((matchup.stop - matchup.start) * len(matchup.bots) for matchup in matchups.values())
    if units.height < planned:
        notes.append(f"The run is not finished: {units.height:,} of {planned:,} scores are in.")
    judged = units["block"].unique()
    seen = sum(judged.is_between(part.start, part.stop - 1).sum() for part in tuned)
    if seen:
        notes.append(
            f"Warning: {seen:,} of the {len(judged):,} blocks judged are among the tuning seeds; "
            "a bot that was tuned on them looks better here than it is."
        )
    return notes


def render(
    engine: Engine,
    reference: str,
    boards: Sequence[Board],
    sequential: Sequential | None,
    faults: Mapping[str, Mapping[str, int]],
    own: Mapping[str, pl.DataFrame],
    notes: Sequence[str],
) -> Report:
    """Lay the figures out."""
    unit = engine.score.unit
    tables = []
    for board in boards:
        of = f"; {board.title}" if board.title else ""
        heads = ("blocks", "mean", "error", "best", *engine.means.values(), "invalid")
        rows = tuple(_row(standing) for standing in board.standings)
        tables.append(Table(f"{unit.capitalize()} per block{of}", _columns(*heads), rows))
        heads = ("blocks", "difference", "error", "z")
        rows = tuple(_paired_row(s.bot, s.paired) for s in board.standings if s.paired is not None)
        tables.append(
            Table(f"{unit.capitalize()} less {reference}'s on the same blocks{of}", _columns(*heads), rows)
        )
    if sequential is not None:
        rows = tuple((f.bot, f.verdict.value, _of(f.condition), f.sentence(unit, 2)) for f in sequential.findings)
        columns = tuple(Column(head) for head in ("bot", "verdict", "rules", "in words"))
        tables.append(Table(f"Sequential verdicts against {reference}", columns, rows))
    tables.append(
        Table(
            "Faults",
            (Column("bot"), Column("termination"), Column("times", right=True)),
            tuple((bot, name, number(count)) for bot, counts in faults.items() for name, count in counts.items()),
        )
    )
    for title, frame in own.items():
        columns = tuple(Column(name, right=kind.is_numeric()) for name, kind in frame.schema.items())
        tables.append(Table(title, columns, tuple(tuple(map(_cell, row)) for row in frame.iter_rows())))
    return Report(
        title=f"Leaderboard: {engine.name}, reference {reference}",
        paragraphs=(*([sequential.text(0.0), sequential.sentence()] if sequential else []), *notes),
        tables=tuple(table for table in tables if table.rows),
        data={
            "report": "leaderboard",
            "engine": engine.name,
            "unit": unit,
            "reference": reference,
            "boards": [_board_json(board, tuple(engine.means)) for board in boards],
            "sequential": sequential.to_json() if sequential else None,
            "faults": faults,
            "tables": {title: frame.to_dicts() for title, frame in own.items()},
            "notes": list(notes),
        },
    )


def _columns(*heads: str) -> tuple[Column, ...]:
    return (Column("bot"), *(Column(head, right=True) for head in heads))


def _row(standing: Standing) -> tuple[str, ...]:
    return (
        standing.bot,
        number(standing.units),
        number(standing.mean, 1),
        number(standing.error, 1),
        number(standing.best),
        *(number(mean, 2) for mean in standing.means),
        number(standing.invalid),
    )


def _paired_row(bot: str, paired: Paired) -> tuple[str, ...]:
    figures = (
        number(paired.difference, 1, signed=True),
        number(paired.error, 1),
        number(paired.z, 2, signed=True),
    )
    return (bot, number(paired.units), *figures)


def _board_json(board: Board, means: Sequence[str]) -> dict[str, Any]:
    return {
        "rules": dict(board.rules),
        "public": board.public,
        "bots": [
            {
                "name": standing.bot,
                "blocks": standing.units,
                "mean": standing.mean,
                "error": standing.error,
                "best": standing.best,
                **dict(zip(means, standing.means, strict=True)),
                "invalid": standing.invalid,
                "paired": standing.paired
                and {
                    "blocks": standing.paired.units,
                    "difference": standing.paired.difference,
                    "error": standing.paired.error,
                    "z": standing.paired.z,
                    "gain": standing.paired.gain.ratio if standing.paired.gain else None,
                },
            }
            for standing in board.standings
        ],
    }


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value, 0 if isinstance(value, int) else 2)
    return str(value)


def _of(rules: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_short(value)}" for name, value in rules.items())


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
