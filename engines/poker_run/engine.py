"""Poker Run: a puzzle for one player with everything known in advance. A block is a puzzle seed."""

import shlex
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import polars as pl
import pyarrow as pa
from pydantic import Field

from engines.poker_run import players
from engines.poker_run.instance import Case, generate, write_case
from engines.poker_run.kernel import kernel, unpacked_moves
from engines.poker_run.moves import Move
from engines.poker_run.records import ROUNDS, RUNS, Result, tables_of
from engines.poker_run.ruleset import Ruleset, default_ruleset
from engines.poker_run.transcript import transcript
from simfarm.core.engine import Engine
from simfarm.core.errors import BotError, ConfigError
from simfarm.core.evidence import Evidence
from simfarm.core.figures import Curves, Histogram
from simfarm.core.model import Bot, BotSpec, Fault, Matchup, Score, Shard, SourceFile, Termination
from simfarm.core.oneshot import call
from simfarm.core.probe import Finding, probe
from simfarm.core.process import Limits, ProcessRules, check_walls


def _file_or_table(schema: dict[str, Any]) -> None:
    """In a config the ruleset is the name of a file; in a manifest, what it holds."""
    del schema["default"]
    schema["anyOf"] = [{"type": "string"}, {"$ref": schema.pop("$ref")}]


class PokerRunRules(ProcessRules):
    """The numbers of the game, and what a bot that is a command may use."""

    ruleset: Annotated[
        Ruleset,
        Field(description="a TOML file of the form of ruleset.toml", json_schema_extra=_file_or_table),
    ] = default_ruleset()
    hand_size: Annotated[int | None, Field(ge=1, le=16, description="H instead of the ruleset's")] = None
    plays: Annotated[int | None, Field(ge=1, le=16, description="P instead of the ruleset's")] = None
    discards: Annotated[int | None, Field(ge=0, le=16, description="D instead of the ruleset's")] = None
    max_modifiers: Annotated[int | None, Field(ge=0, le=16, description="M instead of the ruleset's")] = None
    seconds: Annotated[float, Field(gt=0, le=3600, description="wall time of a command per case")] = 2.0
    memory_mb: Annotated[int, Field(ge=16, le=1 << 20, description="address space of a command in MiB")] = 1024

    def played(self) -> Ruleset:
        """The ruleset with the options that replace its parameters."""
        names = ("hand_size", "plays", "discards", "max_modifiers")
        changed = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if not changed:
            return self.ruleset
        data = self.ruleset.model_dump()
        return Ruleset.model_validate({**data, "params": {**data["params"], **changed}})


_CURVE = ("line", "x", "y", "low", "high")


class PokerRunEngine(Engine):
    """See README.md beside this file for the rules as played and for how a bot is written."""

    name = "poker_run"
    version = 2
    rules = PokerRunRules
    tables = (RUNS, ROUNDS)
    score = Score("runs", "bot", "points", "points")
    fault = Fault("runs", "fault_bot")
    histograms = (
        Histogram("Points of a run", "runs", (("points", "bot"),), "points"),
        Histogram("Rounds cleared in a run", "runs", (("rounds_cleared", "bot"),), "rounds"),
        Histogram("Time of a run", "runs", (("seconds", "bot"),), "s", time=True),
    )
    default_planner = "sweep"
    default_report = "leaderboard"
    quick_games = 1
    commands = True
    bots = Path(__file__).parent / "bots"
    suffixes = (".toml",)
    public_blocks = range(1, 11)
    means: ClassVar[Mapping[str, str]] = {"rounds_cleared": "cleared"}

    def read_rules(self, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """``ruleset`` may name a TOML file; what counts is what it holds."""
        read = dict(options)
        if isinstance(name := read.get("ruleset"), str):
            path = folder / name
            try:
                read["ruleset"] = tomllib.loads(path.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"ruleset = {name!r}: {path} cannot be read: {error}") from None
            except tomllib.TOMLDecodeError as error:
                raise ConfigError(f"ruleset = {name!r}: {path} is not TOML: {error}") from None
        return read

    def load(self, spec: BotSpec) -> Bot:
        """A bot is a command that reads a case and prints moves, or a small TOML file that names a built-in
        player.

        Words of a command that are files in the bot's folder, and the files that it lists, travel with it.

        Raises:
            BotError: a file is missing or describes no player.
        """
        if spec.language is not None:
            raise BotError(f"bot {spec.name!r}: a Poker Run bot has no 'language'")
        if spec.command is not None:
            return Bot(spec.name, tuple(_files(spec, spec.command)), command=spec.command)
        if spec.file is None or spec.files or Path(spec.file).suffix not in self.suffixes:
            raise BotError(f"bot {spec.name!r}: give a command, or a .toml file that names a built-in player")
        return players.load(spec.name, spec.file, _read(spec.name, Path(spec.file)))

    def check(self, matchup: Matchup) -> None:
        """Check the shape of the matchup, and build what is compiled.

        Raises:
            ConfigError: not one bot.
            ToolError: there is no C compiler, or the walls cannot be had.
        """
        if len(matchup.bots) != 1 or matchup.seatings or matchup.games != 1:
            names = ", ".join(bot.name for bot in matchup.bots)
            raise ConfigError(f"Poker Run is played by one bot at a time, one game a seed: {names}")
        ruleset = _ruleset(matchup)
        games = kernel(ruleset).generate([])
        if matchup.bots[0].command is None:
            players.play(matchup.bots[0], games, ruleset)
        else:
            check_walls(_rules(matchup).walls)

    def play(self, shard: Shard) -> dict[str, pa.Table]:
        """See :meth:`Engine.play`. The time column apart, rows of a built-in player depend on the cell
        alone; rows of a command do if the command is deterministic and not near its time limit."""
        bot, ruleset = shard.matchup.bots[0], _ruleset(shard.matchup)
        seeds = range(shard.start, shard.stop)
        if bot.command is None:
            results = _built_in(bot, seeds, ruleset)
        else:
            rules = _rules(shard.matchup)
            results = [_outside(bot, seed, ruleset, rules)[0] for seed in seeds]
        return tables_of(bot.name, results, ruleset)

    def replay(self, matchup: Matchup, block: int) -> Iterator[str]:
        """The run of a seed, move by move; a command is run again."""
        bot, ruleset = matchup.bots[0], _ruleset(matchup)
        case = generate(block, ruleset)
        if bot.command is None:
            moves, _ = players.play(bot, kernel(ruleset).generate([block]), ruleset)
            output = output_of(unpacked_moves(moves), ruleset)
            problem = None
        else:
            result, output = _outside(bot, block, ruleset, _rules(matchup))
            problem = result.detail
        yield f"seed {block}, {bot.name}"
        yield from transcript(case, ruleset, output)
        if problem is not None:
            yield f"0 points, invalid: {problem}"

    def needs(self) -> Iterator[Finding]:
        """The kernel in C."""
        yield probe("kernel", _kernel_tried, "no Poker Run can be played", "see the C compiler above", needed=True)

    def quick_plan(self, bots: int, games: int, seed: int) -> dict[str, Any]:
        """``simfarm play --seed S --games N`` plays the puzzle seeds S to S + N - 1."""
        return {"seeds": [f"{seed}-{seed + games - 1}"]}

    def leaderboard_tables(
        self, matchups: Mapping[str, Matchup], tables: Mapping[str, pl.LazyFrame]
    ) -> Mapping[str, pl.DataFrame]:
        """How many runs cleared how many rounds, over all seeds and rule options of a bot."""
        runs = tables["runs"].select(pl.col("bot").cast(pl.String), "rounds_cleared").collect()
        most = max((_ruleset(matchup).params.rounds for matchup in matchups.values()), default=0)
        counts = [(pl.col("rounds_cleared") == cleared).sum().alias(str(cleared)) for cleared in range(most + 1)]
        return {"Runs by rounds cleared": runs.group_by("bot", maintain_order=True).agg(counts)}

    def curves(self, matchups: Mapping[str, Matchup], tables: Mapping[str, pl.LazyFrame]) -> Sequence[Curves]:
        """Points made in each round against its target."""
        rounds = tables["rounds"].with_columns(pl.col("bot").cast(pl.String), points=pl.col("points").clip(1))
        made = rounds.group_by(line="bot", x="round").agg(
            y=pl.col("points").median(), low=pl.col("points").quantile(0.1), high=pl.col("points").quantile(0.9)
        )
        targets = rounds.group_by(x="round").agg(y=pl.col("target").median())
        lines = [
            targets.with_columns(line=pl.lit("target"), low=None, high=None).select(_CURVE),
            made.select(_CURVE),
        ]
        frame = pl.concat(lines, how="vertical_relaxed").sort("line", "x").collect()
        text = (
            "Median of the points made in a round, by those that reached it; the band holds 80 % of them. A round is "
            "cleared at or above its target."
        )
        return [Curves("Points per round against the target", text, "round", "points", frame, log=True)]

    def summarize(
        self, matchups: Sequence[Matchup], tables: Mapping[str, pl.DataFrame], seconds: float
    ) -> dict[str, Any]:
        """Per bot: mean points, mean rounds cleared, invalid outputs, seconds a case; the first fault, if any."""
        runs = tables["runs"].with_columns(pl.col("bot").cast(pl.String))
        by_bot = runs.group_by("bot", maintain_order=True).agg(
            pl.col("points").mean(),
            pl.col("rounds_cleared").mean(),
            (~pl.col("valid")).sum().alias("invalid"),
            pl.col("seconds").mean(),
            pl.col("termination").cast(pl.String).filter(~pl.col("valid")).first().alias("reason"),
            pl.col("detail").drop_nulls().first(),
        )
        bots = [{"name": row.pop("bot"), **row} for row in by_bot.iter_rows(named=True)]
        if all(bot["reason"] is None for bot in bots):
            for bot in bots:
                del bot["reason"], bot["detail"]
        return {"games": runs.height, "bots": bots}


def output_of(moves: Sequence[Move], ruleset: Ruleset) -> bytes:
    """Moves in the form of the statement."""
    lines = [str(len(moves)), *(move.text(ruleset) for move in moves)]
    return ("\n".join(lines) + "\n").encode()


def _rules(matchup: Matchup) -> PokerRunRules:
    assert isinstance(matchup.rules, PokerRunRules)
    return matchup.rules


def _ruleset(matchup: Matchup) -> Ruleset:
    return _rules(matchup).played()


def _built_in(bot: Bot, seeds: range, ruleset: Ruleset) -> list[Result]:
    referee = kernel(ruleset)
    games = referee.generate(seeds)
    started = time.monotonic()
    moves, starts = players.play(bot, games, ruleset)
    seconds = (time.monotonic() - started) / len(seeds)
    verdicts = referee.verdicts(referee.replay(games, moves, starts))
    return [Result.of(seed, verdict, seconds) for seed, verdict in zip(seeds, verdicts, strict=True)]


def _outside(bot: Bot, seed: int, ruleset: Ruleset, rules: PokerRunRules) -> tuple[Result, bytes]:
    case: Case = generate(seed, ruleset)
    limits = Limits(memory=rules.memory_mb << 20, processes=rules.processes, walls=rules.walls)
    request = write_case(case, ruleset).encode()
    answer = call(bot, request, rules.seconds, limits)
    evidence = Evidence.of(request, answer.output or None, answer.stderr)
    if answer.termination is Termination.COMPLETED:
        verdict = kernel(ruleset).check(case, answer.output)
        return Result.of(seed, verdict, answer.seconds, evidence), answer.output
    failed = Result(seed, (), 0, 0, 0, answer.termination, answer.seconds, detail=answer.detail, evidence=evidence)
    return failed, answer.output


def _files(spec: BotSpec, command: str) -> Iterator[SourceFile]:
    folder = Path(spec.folder)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BotError(f"bot {spec.name!r}: command {command!r}: {error}") from None
    paths: dict[str, Path] = {}
    for word in words:
        if not Path(word).is_absolute() and ".." not in Path(word).parts and (folder / word).is_file():
            paths[Path(word).as_posix()] = folder / word
    for file in spec.files:
        path = Path(file)
        inside = path.is_relative_to(folder)
        paths[path.relative_to(folder).as_posix() if inside else path.name] = path
    for name, path in sorted(paths.items()):
        yield SourceFile(name, _read(spec.name, path), executable=bool(path.stat().st_mode & 0o100))


def _read(bot: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BotError(f"bot {bot!r}: cannot read {path}: {error.strerror}") from None


def _kernel_tried() -> str:
    return f"{len(kernel(default_ruleset()).generate(range(10)))} cases generated"
