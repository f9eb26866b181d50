"""The official judging of one bot: code rules, rings against the house, a verdict, and the first offence if any.

The house file says who the house is (TOML; an engine brings its official one, :attr:`Engine.house`)::

    seed = 2013
    games = 20_000_000            # of each ring
    reference = "veteran"         # the bot that an entry has to beat; in every ring
    [rules]                       # rule options of the engine
    [[rings]]                     # the entry plays each ring
    name = "A"
    house = ["veteran", ...]      # bundled, or with a file in [[bots]] (name, file)

A ring is an ordinary run, so that it resumes, and can be audited and replayed like any other. A bot with a penalty
or a fault is ineligible whatever its points, so its ring ends there.
"""

import hashlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from simfarm.config import RunConfig, Verdict, build_config, validate
from simfarm.core.engine import Engine
from simfarm.core.errors import ConfigError, StoreError
from simfarm.core.model import Bot, BotSpec, Matchup, canonical_json
from simfarm.report.significance import BotResult, SignificanceReport, analyse_run
from simfarm.run import Progress
from simfarm.store import Run


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ring(_Section):
    """One ``[[rings]]`` table."""

    name: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9]+$", max_length=16, description="name in reports and folders")
    ]
    house: Annotated[tuple[str, ...], Field(min_length=1, description="the bots that an entry plays with")]


class HouseBot(_Section):
    """One ``[[bots]]`` table."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", max_length=64, description="its name")]
    file: Annotated[str, Field(description="source file, relative to the house file's folder")]


class House(_Section):
    """A house file."""

    seed: Annotated[int, Field(ge=0, lt=2**63, description="everything random comes from it")] = 1
    games: Annotated[int, Field(gt=0, le=2**32, description="games of each ring")]
    reference: Annotated[str, Field(description="the bot that an entry has to beat")]
    rings: Annotated[tuple[Ring, ...], Field(min_length=1, description="what an entry plays")]
    bots: Annotated[tuple[HouseBot, ...], Field(description="bots of the house that are not bundled")] = ()
    rules: Annotated[dict[str, Any], Field(description="the engine's rule options")] = {}
    verdict: Annotated[Verdict, Field(description="how the verdict falls")] = Verdict()


@dataclass(frozen=True, slots=True)
class Offence:
    """The first block, of those that were played, in which an entry had a penalty or was at fault."""

    block: int
    what: str
    """``penalty``, or the termination."""
    lines: tuple[str, ...]
    """The replay up to there (:meth:`Engine.offence`)."""


@dataclass(frozen=True, slots=True)
class RingResult:
    """What came out of a ring."""

    ring: Ring
    folder: Path
    """The run folder."""
    report: SignificanceReport
    entry: BotResult
    """The entry's part of the report."""
    offence: Offence | None

    @property
    def eligible(self) -> bool:
        """Whether the entry did nothing wrong."""
        return self.offence is None

    @property
    def verdict(self) -> str:
        """As :attr:`BotResult.verdict`, or ``ineligible``."""
        return self.entry.verdict if self.offence is None else "ineligible"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.offence is None:
            return self.entry.sentence
        return f"ineligible: {self.offence.what} in block {self.offence.block}"

    def to_json(self) -> dict[str, Any]:
        """JSON values; margins in percentage points, shares in percent."""
        entry, margin = self.entry, self.entry.margin
        return {
            "ring": self.ring.name,
            "house": list(self.ring.house),
            "reference": self.report.reference,
            "games": self.report.games,
            "planned_games": self.report.planned,
            "share_percent": entry.share.value,
            "margin_pp": margin.value if margin else None,
            "sigma_pp": margin.sigma if margin else None,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "penalties": entry.penalties or 0,
            "faults": dict(entry.faults),
            "eligible": self.eligible,
            "offence": (
                None
                if self.offence is None
                else {"block": self.offence.block, "what": self.offence.what, "replay": list(self.offence.lines)}
            ),
            "run": str(self.folder),
        }


class Offended(Exception):
    """A ring ends: its entry is ineligible whatever follows."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where an offence is."""

    matchup: Matchup
    block: int
    what: str


Rows = Callable[[str], pl.LazyFrame]


def load_house(path: Path) -> House:
    """Read a house file.

    Raises:
        ConfigError: it is missing, is no TOML, or says something that is not allowed.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the house file cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    house = validate(House, data, str(path))
    unused = {bot.name for bot in house.bots} - {name for ring in house.rings for name in ring.house}
    if unused:
        raise ConfigError(f"{path}: bots: in no ring's house: {', '.join(sorted(unused))}")
    for ring in house.rings:
        if house.reference not in ring.house:
            raise ConfigError(
                f"{path}: ring {ring.name}: the reference {house.reference!r} is not in its house; "
                f"it is: {', '.join(ring.house)}"
            )
    if len({ring.name for ring in house.rings}) < len(house.rings):
        raise ConfigError(f"{path}: rings: names must differ")
    return house


def rings(
    engine: Engine,
    house: House,
    house_path: Path,
    entry: Path,
    *,
    games: int | None = None,
    rules: Mapping[str, Any] | None = None,
) -> tuple[Bot, list[tuple[Ring, RunConfig]]]:
    """The entry as loaded, under its alias, and the run of each ring.

    Args:
        engine: the game.
        house: who plays against the entry.
        house_path: where the house was read from.
        entry: the entry's file.
        games: of each ring instead of the house's number.
        rules: rule options that go before the house's.

    Raises:
        ConfigError: the house does not fit the game.
        BotError: a bot is missing or cannot be one.
    """
    bot = engine.load(BotSpec(entry.stem, file=str(entry)))
    bot = replace(bot, name=engine.alias(bot))
    files = {spec.name: str(house_path.parent / spec.file) for spec in house.bots}
    configs = []
    for ring in house.rings:
        # A bot of the house may be judged as well; in rows the two copies are told apart.
        name = bot.name if bot.name not in ring.house else f"{bot.name}.entry"
        specs = [BotSpec(name, file=str(entry)), *(BotSpec(one, file=files.get(one)) for one in ring.house)]
        config = build_config(
            engine.name,
            specs,
            seed=house.seed,
            plan={"games": house.games if games is None else games},
            rules={**house.rules, **(rules or {})},
            verdict=house.verdict.model_copy(update={"reference": house.reference}),
            where=f"{house_path}: ring {ring.name}",
        )
        configs.append((ring, config))
    return bot, configs


def private_folder(path: Path) -> Path:
    """Make a folder that only its owner can look into: runs keep the sources of their bots.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise StoreError(f"{path}: cannot be made: {error.strerror}") from error
    return path


def run_folder(parent: Path, bot: Bot, ring: Ring, config: RunConfig) -> Path:
    """Where a ring is played: one folder for each entry, house and way to play, so that the same judging resumes."""
    digest = hashlib.sha256(canonical_json(config.to_json())).hexdigest()[:12]
    return parent / f"{bot.name}-{ring.name}-{digest}"


def result(run: Run, ring: Ring) -> RingResult:
    """What the committed rows of a ring say of its entry, the first of its bots."""
    engine = run.engine
    report = analyse_run(run)
    entry = report.bots[0]
    offence = None
    found = first_offence(engine, run.matchups(), run.lazy, entry.name)
    if found is not None:
        lines = tuple(engine.offence(found.matchup, found.block, entry.name))
        offence = Offence(found.block, found.what, lines)
    return RingResult(ring, run.path, report, entry, offence)


def stop_at_offence(run: Run) -> Callable[[Progress], None]:
    """A listener to a run's progress that ends it once the entry has done something wrong.

    Raises:
        Offended: that is how.
    """
    matchups, name = run.matchups(), run.config.bots[0].name

    def listen(progress: Progress) -> None:
        receipt = progress.receipt
        rows = run.lazy if receipt is None else partial(run.scan, receipt)
        if first_offence(run.engine, matchups, rows, name) is not None:
            raise Offended

    return listen


def first_offence(engine: Engine, matchups: Mapping[str, Matchup], rows: Rows, name: str) -> Found | None:
    """The first block in which a bot had a penalty or was at fault, and what it was.

    Args:
        engine: the game.
        matchups: every matchup of the run by key, in plan order.
        rows: rows of a table of the engine by its name.
        name: the bot.
    """
    for key, matchup in matchups.items():
        found: list[Found] = []
        mine = pl.col("matchup").cast(pl.String) == key
        if engine.score.penalties:
            penalty = _has_penalty(engine, matchup, name)
            block = rows(engine.score.table).filter(mine & penalty).select(pl.col("block").min()).collect().item()
            found += [Found(matchup, block, "penalty")] if block is not None else []
        fault = engine.fault
        at_fault = rows(fault.table).filter(mine & (pl.col(fault.bot).cast(pl.String) == name))
        for block, termination in (
            at_fault.select("block", fault.termination).sort("block").head(1).collect().rows()
        ):
            found.append(Found(matchup, block, str(termination)))
        if found:
            return min(found, key=lambda one: one.block)
    return None


def _has_penalty(engine: Engine, matchup: Matchup, name: str) -> pl.Expr:
    """Whether a row counts a penalty at the seat of the bot of that name."""
    place = next(number for number, bot in enumerate(matchup.bots) if bot.name == name)
    if engine.score.seating is None or not matchup.seatings:
        return pl.col(engine.score.penalties[place]) > 0
    seats = [seating.index(place) for seating in matchup.seatings]
    return pl.any_horizontal(
        pl.col(engine.score.seating).is_in([number for number, at in enumerate(seats) if at == seat])
        & (pl.col(column) > 0)
        for seat, column in enumerate(engine.score.penalties)
    )
