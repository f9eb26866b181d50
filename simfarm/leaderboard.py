"""A leaderboard kept in a folder: one JSON file for each entry, and the sources apart.

::

    results/leaderboard-GAME/
      ALIAS.json              the entry: division, results of its rings, the bot's hash, the date
      one-shot/ALIAS.json     that a one-shot bot is being judged, or has been: it is judged once, posted or not
      sources/ALIAS/          the bot's files; folders are 0700, files 0600, and no report shows them

A new entry replaces the old one of its alias. Every file is written under another name and renamed.
"""

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from simfarm.config import validate
from simfarm.core.errors import ConfigError, StoreError
from simfarm.core.model import Bot
from simfarm.report.render import Column, Report, Table, number


class Division(StrEnum):
    """What an author may have done before judging."""

    OPEN = "open"
    """Anything: tune, simulate, be judged again and again."""
    ONE_SHOT = "one-shot"
    """Nothing: the bot was written in one attempt without a test, and is judged once."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A judged bot on the board."""

    alias: str
    division: Division
    bot: str
    """Hash of the bot (:attr:`Bot.hash`)."""
    date: str
    """When it was posted: ISO 8601, UTC."""
    level: str
    """How bots were walled in; empty where the game knows no levels."""
    rings: tuple[Mapping[str, Any], ...]
    """For each ring at least ``ring``, ``house``, ``reference``, ``games``, ``share_percent``, ``margin_pp``,
    ``sigma_pp`` and ``verdict``."""

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "alias": self.alias,
            "division": self.division.value,
            "bot": self.bot,
            "date": self.date,
            "level": self.level,
            "rings": [dict(ring) for ring in self.rings],
        }


class _RingFile(BaseModel):
    ring: str
    house: list[str]
    reference: str
    games: Annotated[int, Field(ge=0)]
    share_percent: float
    margin_pp: float | None
    sigma_pp: float | None
    verdict: str


class _EntryFile(BaseModel):
    """What a file of the board holds, which others may have had in their hands."""

    model_config = ConfigDict(extra="forbid")
    alias: str
    division: Division
    bot: str
    date: str
    level: str
    rings: Annotated[list[dict[str, Any]], Field(min_length=1)]


class _Mark(BaseModel):
    """A file of ``one-shot/``."""

    model_config = ConfigDict(extra="forbid")
    bot: str
    date: str
    done: bool
    moved: bool


def _entry(path: Path) -> Entry:
    file = validate(_EntryFile, json.loads(path.read_text(encoding="utf-8")), str(path))
    for place, ring in enumerate(file.rings):
        validate(_RingFile, ring, str(path), "rings", str(place))
    if file.alias != path.stem:
        raise ConfigError(f"{path}: alias = {file.alias!r}: the file of an entry is called after it")
    return Entry(file.alias, file.division, file.bot, file.date, file.level, tuple(file.rings))


_RING_KEYS = (
    "ring", "house", "reference", "games", "share_percent", "margin_pp", "sigma_pp", "verdict", "sentence",
)  # fmt: skip


class Leaderboard:
    """The board in a folder; the folder is made when something is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def entries(self) -> list[Entry]:
        """All entries, the largest margin in the first ring first.

        Raises:
            ConfigError: a file of the board does not hold what an entry holds.
            StoreError: a file of the board cannot be read.
        """
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                found.append(_entry(path))
            except (OSError, ValueError) as error:
                raise StoreError(f"{path}: not an entry of a leaderboard: {error}") from None
        return sorted(found, key=lambda entry: (-_first_margin(entry), entry.alias))

    def admit(self, bot: Bot, division: Division, *, move_to_open: bool = False) -> Division:
        """Let a bot in to be judged, and note a one-shot bot so that it is not judged twice. A judging that was cut
        short may go on with the same bot.

        Args:
            bot: the bot, named by its alias.
            division: that it is to be judged in.
            move_to_open: a one-shot alias goes to the open division, with its entry, and is judged there.

        Returns:
            The division it is judged in.

        Raises:
            ConfigError: a one-shot bot of that alias has been judged before, or there is none to move.
            StoreError: the folder cannot be read or written.
        """
        mark = self._one_shot(bot.name)
        if move_to_open:
            if mark is None:
                raise ConfigError(f"{bot.name}: no one-shot bot of this alias was judged, there is none to move")
            self._move_to_open(bot, mark)
            return Division.OPEN
        if mark is not None:
            again = not mark["done"] and not mark["moved"] and mark["bot"] == bot.hash
            if (division is Division.ONE_SHOT and not again) or (division is Division.OPEN and not mark["moved"]):
                raise ConfigError(
                    f"{bot.name}: a one-shot entry is judged once, and this alias was on {mark['date'][:10]}"
                    + ("" if mark["moved"] else "; with --move-to-open it moves to the open division")
                )
        elif division is Division.ONE_SHOT:
            self._note(bot.name, {"bot": bot.hash, "date": _today(), "done": False, "moved": False})
        return division

    def judged(self, bot: Bot, division: Division) -> None:
        """Note that the judging of a bot that was let in is complete.

        Raises:
            StoreError: the folder cannot be written.
        """
        mark = self._one_shot(bot.name)
        if division is Division.ONE_SHOT and mark is not None:
            self._note(bot.name, {**mark, "done": True})

    def _move_to_open(self, bot: Bot, mark: Mapping[str, Any]) -> None:
        self._note(bot.name, {**mark, "moved": True})
        for entry in self.entries():
            if entry.alias == bot.name:
                self._write(self.folder / f"{bot.name}.json", replace(entry, division=Division.OPEN).to_json())

    def post(self, bot: Bot, division: Division, level: str, rings: tuple[Mapping[str, Any], ...]) -> Entry:
        """Put an entry on the board in place of an older one of its alias, and keep its sources.

        Raises:
            StoreError: the folder cannot be written.
        """
        public = tuple({key: ring[key] for key in _RING_KEYS} for ring in rings)
        entry = Entry(bot.name, division, bot.hash, _today(), level, public)
        try:
            self._keep_sources(bot)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written: {error.strerror}") from error
        self._write(self.folder / f"{bot.name}.json", entry.to_json())
        return entry

    def _keep_sources(self, bot: Bot) -> None:
        sources = self.folder / "sources"
        sources.mkdir(mode=0o700, parents=True, exist_ok=True)
        sources.chmod(0o700)
        fresh = sources / f".{bot.name}.{secrets.token_hex(4)}"
        fresh.mkdir(mode=0o700)
        for file in bot.files:
            path = fresh / file.path
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(file.data)
        place = sources / bot.name
        if place.exists():
            shutil.rmtree(place)
        fresh.rename(place)

    def _one_shot(self, alias: str) -> dict[str, Any] | None:
        path = self.folder / "one-shot" / f"{alias}.json"
        try:
            mark = validate(_Mark, json.loads(path.read_text(encoding="utf-8")), str(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StoreError(f"{path}: cannot be read: {error}") from None
        return mark.model_dump()

    def _note(self, alias: str, mark: Mapping[str, Any]) -> None:
        self._write(self.folder / "one-shot" / f"{alias}.json", mark)

    def _write(self, path: Path, data: Mapping[str, Any]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            temporary.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


def _today() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _first_margin(entry: Entry) -> float:
    margin = entry.rings[0]["margin_pp"] if entry.rings else None
    return float("-inf") if margin is None else float(margin)


def report(engine: str, entries: list[Entry]) -> Report:
    """The board as a report."""
    names = list(dict.fromkeys(str(ring["ring"]) for entry in entries for ring in entry.rings))
    columns = [Column("no.", right=True), Column("alias"), Column("division")]
    for name in names:
        columns += [Column(f"{name}: margin pp", right=True), Column("sigma pp", right=True), Column("verdict")]
    columns += [Column("games", right=True), Column("level"), Column("date"), Column("bot")]
    rows = []
    for place, entry in enumerate(entries, 1):
        cells = [str(place), entry.alias, entry.division.value]
        by_name = {str(ring["ring"]): ring for ring in entry.rings}
        for name in names:
            ring = by_name.get(name)
            if ring is None:
                cells += ["-", "-", "-"]
            else:
                cells += [number(ring["margin_pp"], 3, signed=True), number(ring["sigma_pp"], 4), ring["verdict"]]
        games = sum(ring["games"] for ring in entry.rings)
        rows.append((*cells, number(games), entry.level or "-", entry.date[:10], entry.bot[:12]))
    references = sorted({f"ring {ring['ring']}: {ring['reference']}" for entry in entries for ring in entry.rings})
    told = (
        f"Margins are shares of points less the reference's ({', '.join(references)})." if rows else "No entries."
    )
    return Report(
        title=f"Leaderboard: {engine}",
        paragraphs=(told,),
        tables=(Table("", tuple(columns), tuple(rows)),) if rows else (),
        data={"leaderboard": engine, "entries": [entry.to_json() for entry in entries]},
    )
