"""``simfarm play``: a quick look at some bots without a config."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Annotated, Any

import polars as pl
import pyarrow as pa
import typer
from rich.console import Console

from simfarm import registry
from simfarm import run as runs
from simfarm.cli.options import Format, FormatOption
from simfarm.config import RunConfig, build_config, parse_assignments
from simfarm.core.cores import own_core
from simfarm.core.engine import Engine
from simfarm.core.errors import ConfigError
from simfarm.core.model import BotSpec, Fault, Termination
from simfarm.plan import Pace, cut, gaps
from simfarm.report.render import Column, Report, Table
from simfarm.schema import arrow_schema, complete
from simfarm.stats.tally import faults_by_bot
from simfarm.store import Coverage


def play(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="The game.")],
    bot: Annotated[
        list[str],
        typer.Option("--bot", "-b", help="NAME:FILE, NAME:COMMAND, or a bundled bot: NAME or NEW:NAME; repeat."),
    ],
    games: Annotated[int | None, typer.Option("--games", "-n", help="Games; default: a second's worth.")] = None,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Everything random comes from it.")] = 1,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="KEY=VALUE, a rule option as in a config; repeat.")
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Show every move instead of the summary.")] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Play some bots against each other and show how they did; nothing is kept.

    Example: simfarm play uno -b veteran -b starter -b first_legal -b mine:mybot.c --games 100000
    """
    game = registry.engine(engine)
    count = games if games is not None else 1 if log else game.quick_games
    config = build_config(
        engine,
        [_spec(game, text) for text in bot],
        seed=seed,
        plan=game.quick_plan(len(bot), count, seed),
        rules=parse_assignments(rule or [], "--rule"),
        where=f"play {engine}",
    )
    runs.check(config)
    if log:
        for _, matchup in config.planned():
            for block in range(matchup.start, matchup.stop):
                for line in game.replay(matchup, block):
                    print(line)
        return
    started = time.monotonic()
    tables = _play(game, config)
    matchups = [matchup for _, matchup in config.planned()]
    summary = game.summarize(matchups, tables, time.monotonic() - started)
    summary["faults"] = faults_by_bot(tables[game.fault.table].lazy(), game.fault)
    summary["stderr"] = _last_words(tables[game.fault.table], game.fault)
    if format is Format.JSON:
        print(json.dumps(summary))
    elif format is Format.MARKDOWN:
        print(_report(engine, summary).markdown())
    else:
        _report(engine, summary).text(Console())


def _spec(engine: Engine, text: str) -> BotSpec:
    name, colon, source = text.partition(":")
    if not colon:
        if PurePath(text).suffix in engine.suffixes:
            return BotSpec(PurePath(text).stem, file=text)
        return BotSpec(text)
    if not name or not source:
        raise ConfigError(f"--bot {text!r}: write NAME:FILE, or the NAME of a bundled bot")
    bundled = engine.bundled()
    if source in bundled and not Path(source).exists():
        return replace(bundled[source], name=name)
    is_command = " " in source and not Path(source).is_file()
    if engine.commands and (is_command or PurePath(source).suffix not in engine.suffixes):
        return BotSpec(name, command=source)
    return BotSpec(name, file=source)


def _play(engine: Engine, config: RunConfig) -> dict[str, pl.DataFrame]:
    rows: dict[str, list[pa.Table]] = {}
    for gap in gaps(config, Coverage()):
        pace = Pace(1, gap.stop - gap.start)
        for shard in cut(engine, [gap], pace):
            started = time.monotonic()
            with own_core():
                played = engine.play(shard)
            for name, part in played.items():
                table = next(table for table in engine.tables if table.name == name)
                schema = arrow_schema(table, engine.name, engine.version)
                rows.setdefault(name, []).append(complete(part, schema, shard.key))
            pace.note(shard.blocks, time.monotonic() - started)
            if (
                Termination.FORFEITED
                in rows[engine.fault.table][-1][engine.fault.termination].unique().to_pylist()
            ):
                break  # a quick look need not wait for the same fault again and again
    frames = {}
    for name, parts in rows.items():
        frame = pl.from_arrow(pa.concat_tables(parts).unify_dictionaries())
        assert isinstance(frame, pl.DataFrame)
        frames[name] = frame
    return frames


def _report(engine: str, summary: dict[str, Any]) -> Report:
    figures = {name: value for name, value in summary.items() if not isinstance(value, list | dict)}
    shown = [f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in figures.items() if name != "games"]
    bots = summary["bots"]
    return Report(
        title=f"{engine}: {summary['games']:,} games",
        paragraphs=(*(["; ".join(shown)] if shown else []), *_fault_lines(summary), *summary.get("notes", ())),
        tables=(
            Table(
                title="",
                columns=tuple(Column(name.replace("_", " "), right=name != "name") for name in bots[0]),
                rows=tuple(tuple(_shown(value) for value in row.values()) for row in bots),
            ),
        ),
        data=summary,
    )


def _fault_lines(summary: dict[str, Any]) -> Iterator[str]:
    for name, terminations in summary["faults"].items():
        times = ", ".join(f"{termination} {count:,}" for termination, count in terminations.items())
        words = summary["stderr"].get(name, "")
        yield f"{name} is at fault: {times}" + (
            f"; its standard error ends: {words.splitlines()[-1]}" if words else ""
        )


def _last_words(rows: pl.DataFrame, fault: Fault) -> dict[str, str]:
    """By bot: the end of standard error at the first of its faults that has any."""
    if "stderr" not in rows.columns:  # a game without the columns of evidence
        return {}
    said = rows.select(pl.col(fault.bot).cast(pl.String), pl.col("stderr").cast(pl.String).str.strip_chars())
    said = said.drop_nulls().filter(pl.col("stderr") != "").unique(fault.bot, keep="first", maintain_order=True)
    return dict(said.iter_rows())


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
