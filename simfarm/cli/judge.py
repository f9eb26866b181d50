"""``simfarm judge`` and ``simfarm leaderboard``: the official rings, and the board of those who played them."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from simfarm import judge as judges
from simfarm import leaderboard as boards
from simfarm import registry
from simfarm import run as runs
from simfarm.cli.bots import entry_of, read_source
from simfarm.cli.options import (
    RESULTS,
    ExecutorName,
    ExecutorOption,
    Format,
    FormatOption,
    Quiet,
    RayAddress,
    Workers,
    make_executor,
)
from simfarm.cli.progress import play
from simfarm.cli.report import show
from simfarm.core.engine import Engine
from simfarm.core.errors import ConfigError, ToolError
from simfarm.core.model import Violation
from simfarm.executors import Executor
from simfarm.judge import RingResult
from simfarm.leaderboard import Division, Leaderboard
from simfarm.report.render import Column, Report, Table, number
from simfarm.store import Run

FolderOption = Annotated[
    Path | None, typer.Option("--folder", help="The leaderboard's folder; default: results/leaderboard-ENGINE.")
]


def judge(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="The game.")],
    bot: Annotated[Path, typer.Argument(metavar="FILE", help="The bot's source.")],
    division: Annotated[
        Division, typer.Option(help="one-shot: written in one attempt, never tested, judged once.")
    ] = Division.OPEN,
    games: Annotated[int | None, typer.Option("--games", "-n", min=1, help="Games of each ring.")] = None,
    post: Annotated[bool, typer.Option("--post", help="Put the result on the leaderboard.")] = False,
    move_to_open: Annotated[
        bool, typer.Option("--move-to-open", help="Judge a one-shot alias again, in the open division.")
    ] = False,
    house: Annotated[Path | None, typer.Option("--house", help="Another house file than the game's own.")] = None,
    level: Annotated[
        str | None, typer.Option("--level", help="How bots are walled in, instead of what the house file says.")
    ] = None,
    folder: FolderOption = None,
    executor: ExecutorOption = ExecutorName.LOCAL,
    ray_address: RayAddress = None,
    workers: Workers = None,
    quiet: Quiet = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Judge a bot: its code rules, then the official rings against the house, then the verdict.

    Exit code 1 if it is not legal or not eligible. What was played stays in results/judge, and the same command
    goes on from there after Ctrl-C.

    Example: simfarm judge uno mybot.c --post
    """
    game = registry.engine(engine)
    house_path = house or game.house
    if house_path is None:
        raise ConfigError(f"judge: {engine} has no official house; name a house file with --house")
    source = read_source(bot)
    violations = game.violations(source)
    if violations:
        show(_illegal(bot, violations), format)
        raise typer.Exit(1)
    chosen = judges.load_house(house_path)
    rules = {} if level is None else {"level": level}
    entry, configs = judges.rings(game, chosen, house_path, bot, games=games, rules=rules)
    house_names = {name for ring in chosen.rings for name in ring.house}
    if post and entry.name in house_names:
        raise ConfigError(f"{bot}: the alias {entry.name!r} is that of a bot of the house, it cannot be posted")
    used = str(getattr(configs[0][1].rules, "level", ""))
    try:
        for _, config in configs:
            runs.check(config)
    except ToolError as error:
        hint = f" (judging here takes level {used}; --level names another)" if used and level is None else ""
        raise ToolError(f"{error}{hint}") from None
    board = _board(engine, folder)
    division = board.admit(entry, division, move_to_open=move_to_open)
    if not quiet:
        walls = f", level {used}" if used else ""
        print(f"simfarm: {entry.name} is legal; {len(configs)} rings{walls}", file=sys.stderr)
    parent = judges.private_folder(RESULTS / "judge")
    results = []
    for ring, config in configs:
        target = Run.create(judges.run_folder(parent, entry, ring, config), config)
        results.append(_play(target, ring, make_executor(executor, ray_address, workers), quiet=quiet))
        if not results[-1].eligible:
            break
    eligible = all(result.eligible for result in results)
    board.judged(entry, division)
    posted = post and eligible
    if posted:
        board.post(entry, division, used, tuple(result.to_json() for result in results))
    show(_report(game, entry.name, division, used, results, post, board), format)
    if not eligible:
        raise typer.Exit(1)


def leaderboard(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="The game.")],
    folder: FolderOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show the leaderboard of a game: the entries that `simfarm judge --post` put there.

    Example: simfarm leaderboard uno --format markdown
    """
    name = registry.engine(engine).name
    show(boards.report(name, _board(name, folder).entries()), format)


def _board(engine: str, folder: Path | None) -> Leaderboard:
    return Leaderboard(folder if folder is not None else RESULTS / f"leaderboard-{engine}")


def _play(run: Run, ring: judges.Ring, executor: Executor, *, quiet: bool) -> RingResult:
    try:
        play(run, executor, quiet=quiet, bot=run.config.bots[0].name, listen=judges.stop_at_offence(run))
    except judges.Offended:
        print(f"simfarm: ring {ring.name} ends early: the entry is ineligible", file=sys.stderr)
    return judges.result(Run(run.path), ring)


def _illegal(bot: Path, violations: list[Violation]) -> Report:
    rows = tuple((str(broken.line), broken.rule, broken.message) for broken in violations)
    return Report(
        title=f"{bot}: not legal",
        paragraphs=(),
        tables=(Table("", (Column("line", right=True), Column("rule"), Column("message")), rows),),
        data={"legal": False, "violations": [entry_of(bot, broken) for broken in violations]},
    )


def _report(
    game: Engine,
    alias: str,
    division: Division,
    level: str,
    results: list[RingResult],
    post: bool,
    board: Leaderboard,
) -> Report:
    eligible = all(result.eligible for result in results)
    told = [f"Division {division.value}" + (f", level {level}." if level else ".")]
    told.append(results[0].report.rule.text(results[0].report.blocks, 1))
    for result in results:
        told.append(f"Ring {result.ring.name}: {result.sentence}.")
        told += [f"Ring {result.ring.name}: {note}" for note in result.report.notes()]
    tables = [
        Table(
            "",
            tuple(
                Column(head, right=head not in ("ring", "house", "verdict"))
                for head in (
                    "ring", "house", "games", "share %", "margin pp", "sigma pp", "verdict", "penalties", "faults",
                )
            ),
            tuple(_row(result) for result in results),
        )
    ]  # fmt: skip
    for result in results:
        if result.offence is not None:
            title = (
                f"First offence in ring {result.ring.name}: {result.offence.what} in block {result.offence.block}"
            )
            tables.append(Table(title, (Column("replay"),), tuple((line,) for line in result.offence.lines)))
    if not eligible:
        told.append(f"{alias} is ineligible: a bot that keeps the rules has no penalties and no faults.")
    if post:
        told.append(f"Posted to {board.folder}." if eligible else "Not posted.")
    data: dict[str, Any] = {
        "engine": game.name,
        "alias": alias,
        "division": division.value,
        "legal": True,
        "violations": [],
        "eligible": eligible,
        "level": level,
        "rule": results[0].report.to_json()["rule"]["text"],
        "rings": [result.to_json() for result in results],
        "posted": post and eligible,
    }
    return Report(f"Judged: {alias}", tuple(told), tuple(tables), data)


def _row(result: RingResult) -> tuple[str, ...]:
    entry = result.entry
    margin = entry.margin
    return (
        result.ring.name,
        " ".join(result.ring.house),
        number(result.report.games),
        number(entry.share.value, 3),
        number(margin.value if margin else None, 3, signed=True),
        number(margin.sigma if margin else None, 4),
        result.verdict,
        number(entry.penalties),
        number(sum(entry.faults.values())),
    )
