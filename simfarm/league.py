"""King of the hill: rounds of all pairings, the last of each round goes, until one is king.

::

    DIR/
      league.toml     a run config; its bots stand in bots/
      bots/NAME/      a bot's files; between rounds its author may replace them
      rounds/01/      round 1, a run folder
      rounds/01.1/    round 1 played again, because all that took part in it tied for last; then 01.2 and 01.3
      published/      archives of rounds (:mod:`simfarm.publish`)
      lock            held by the one process that plays

Nothing is kept beside the rounds' rows and manifests: who is out, who remains and who is king is worked out from them
each time (:meth:`League.status`). A round that was cut short goes on where it was; a bot that was changed meanwhile
has another hash, so that its matches, and no others, are played again.

Rules: blackjack's statement, section Organisation. If all that remain tie for last, the round is played again with a
new seed, :data:`REPLAYS` times at most; then they are joint kings.
"""

import fcntl
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import tomli_w

from simfarm import run as runs
from simfarm.config import RunConfig, load_config
from simfarm.core.errors import ConfigError, StoreError
from simfarm.core.model import Bot
from simfarm.core.seeds import derive
from simfarm.report.league import Entrant, Round, Status
from simfarm.stats.elimination import Standing
from simfarm.store import Run

REPLAYS = 3
"""How often a round in which all tie for last is played again."""

_CONFIG = "league.toml"
_ROUND = re.compile(r"(\d{2,})(?:\.([1-9]))?")
_HEAD = """\
# A league of simfarm. Between rounds a bot's files may be replaced, and its entry here changed;
# the next round is played by what stands here then.

"""


class League:
    """A league's folder."""

    def __init__(self, path: Path) -> None:
        """Open an existing league.

        Raises:
            StoreError: there is none at the path.
        """
        if not self.is_at(path):
            raise StoreError(f"{path}: no league here (no {_CONFIG}); make one with simfarm league new")
        self.path = path

    @classmethod
    def new(cls, path: Path, config_path: Path) -> "League":
        """Make a league's folder from a run config, with its bots' files.

        Raises:
            ConfigError: the config cannot be a league's.
            BotError: a bot is missing or cannot be built.
            StoreError: something is at the path, or it cannot be written.
        """
        config = load_config(config_path)
        names = tuple(bot.name for bot in config.bots)
        _check_round(config, str(config_path))
        try:
            _check_round(_for_round(config, names[:2], 1, 0), str(config_path))
        except ConfigError as error:
            raise ConfigError(f"{error} (with two bots, as in a league's last round)") from None
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise StoreError(f"{path} is in the way: a league needs a new folder")
        try:
            for bot in config.bots:
                _write_bot(path / "bots" / bot.name, bot)
            # last, since it is what makes the folder a league
            temporary = path / f"{_CONFIG}.tmp"
            temporary.write_text(_config_text(config), encoding="utf-8")
            temporary.replace(path / _CONFIG)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror}") from None
        return cls(path)

    @staticmethod
    def is_at(path: Path) -> bool:
        """Whether there is a league at a path."""
        return (path / _CONFIG).is_file()

    @contextmanager
    def playing(self) -> Iterator[None]:
        """The right to play rounds, for one process at a time.

        Raises:
            StoreError: another process has it.
        """
        try:
            lock = open(self.path / "lock", "ab")  # noqa: SIM115
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written: {error.strerror}") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreError(f"{self.path}: another simfarm is playing this league") from None
            yield

    def status(self) -> Status:
        """How the league stands, by its rounds' rows and manifests.

        Raises:
            ConfigError: ``league.toml`` says something that is not allowed.
            BotError: a bot's file is missing.
            StoreError: a round cannot be read, or rounds do not follow from each other.
        """
        config = self._config()
        folders = self._folders()
        remaining = tuple(bot.name for bot in config.bots)
        rounds: list[Round] = []
        kings: tuple[str, ...] = ()
        place: tuple[int, int] | None = (1, 0)
        while place in folders:
            played = _read_round(*place, folders.pop(place))
            rounds.append(played)
            if not played.complete:
                break
            if len(rounds) == 1:
                remaining = played.names
            elif set(played.names) != set(remaining):
                raise StoreError(
                    f"{played.folder}: was played by {', '.join(played.names)}; by the rounds before it remain "
                    f"{', '.join(remaining)}"
                )
            if not played.all_tie:
                remaining = tuple(name for name in remaining if name not in played.last)
                place = (played.number + 1, 0)
            elif played.replay < REPLAYS:
                place = (played.number, played.replay + 1)
            else:
                place, kings = None, remaining
            if len(remaining) == 1:
                place, kings = None, remaining
        if folders:
            state = f"{rounds[-1].folder.name} has {rounds[-1].outcome()}" if rounds else "there is no 01"
            raise StoreError(f"{min(folders.values())}: does not follow from the rounds before it: {state}")
        latest = {entrant.name: entrant.hash for entrant in rounds[-1].entrants} if rounds else {}
        changed = [
            bot.name for bot in config.bots if bot.name in remaining and latest.get(bot.name, bot.hash) != bot.hash
        ]
        return Status(config.engine, config.seed, tuple(rounds), remaining, kings, place, tuple(changed))

    def open_next(self) -> Run | None:
        """The run of the round to play or to go on with, with the bots as they are now; None when the league is over.

        Raises:
            ConfigError: a bot that remains is gone from ``league.toml``, or one is there that is new.
            SimfarmError: as :meth:`status`, or a bot cannot be built.
        """
        status = self.status()
        if status.next is None:
            return None
        config = self._config()
        names = {bot.name for bot in config.bots}
        for name in status.remaining:
            if name not in names:
                raise ConfigError(f"{self.path / _CONFIG}: bot {name!r} is missing; it has not been eliminated")
        if status.rounds and status.rounds[0].complete:
            for name in sorted(names.difference(status.rounds[0].names)):
                raise ConfigError(f"{self.path / _CONFIG}: bot {name!r} was not in round 1; it is too late for it")
        number, replay = status.next
        chosen = _for_round(config, status.remaining, number, replay)
        _check_round(chosen, str(self.path / _CONFIG))
        return Run.create(self.path / "rounds" / _folder_name(number, replay), chosen, update=True)

    def _config(self) -> RunConfig:
        return load_config(self.path / _CONFIG)

    def _folders(self) -> dict[tuple[int, int], Path]:
        """Folders of rounds that have been begun, by number and replay."""
        found = {}
        for manifest in (self.path / "rounds").glob("*/manifest.json"):
            match = _ROUND.fullmatch(manifest.parent.name)
            if match:
                found[int(match[1]), int(match[2] or 0)] = manifest.parent
        return found


def _folder_name(number: int, replay: int) -> str:
    return f"{number:02}" + (f".{replay}" if replay else "")


def _for_round(config: RunConfig, names: tuple[str, ...], number: int, replay: int) -> RunConfig:
    """The config of a round among some of the bots."""
    seed = derive(config.seed, "round", number, replay) >> 1
    bots = tuple(bot for bot in config.bots if bot.name in names)
    verdict = config.verdict
    if verdict.reference not in names:
        verdict = verdict.model_copy(update={"reference": None})
    return replace(config, seed=seed, bots=bots, verdict=verdict)


def _check_round(config: RunConfig, where: str) -> None:
    """Make sure that a round can be played and compares its bots.

    Raises:
        SimfarmError: it does not.
    """
    blocks = Counter(dict.fromkeys((bot.name for bot in config.bots), 0))
    for _, matchup in config.planned():
        for bot in matchup.bots:
            blocks[bot.name] += matchup.stop - matchup.start
    (most, high), *_, (least, low) = blocks.most_common()
    if low < high:
        raise ConfigError(
            f"{where}: plan: {most} would play {high} matches and {least} {low}; in a league all play equally many"
        )
    runs.check(config)


def _read_round(number: int, replay: int, folder: Path) -> Round:
    run = Run(folder)
    standing = Standing.of_run(run)
    matchups = run.matchups().values()
    balances = dict(zip(standing.bots, standing.balances, strict=True))
    survived = dict(zip(standing.bots, standing.survived, strict=True))
    tells_survived = run.engine.score.survived is not None
    return Round(
        number=number,
        replay=replay,
        folder=folder,
        unit=run.engine.score.unit,
        matches=sum(receipt.stop - receipt.start for receipt in run.receipts()),
        planned=sum(matchup.stop - matchup.start for matchup in matchups),
        entrants=tuple(
            Entrant(
                bot.name,
                bot.author,
                bot.hash,
                standing.points(int(balances.get(bot.name, 0))),
                int(survived.get(bot.name, 0)) if tells_survived else None,
            )
            for bot in run.config.bots
        ),
        last=standing.last(),
    )


def _config_text(config: RunConfig) -> str:
    """A config as TOML: what its author has set, and bots in folders of their own."""
    verdict = config.verdict.model_dump(mode="json", exclude_unset=True)
    table = {
        "engine": config.engine,
        "seed": config.seed,
        **({"record": list(config.record)} if config.record else {}),
        "plan": {"planner": config.planner, **config.plan.model_dump(mode="json", exclude_unset=True)},
        "rules": config.rules.model_dump(mode="json", exclude_unset=True),
        **({"verdict": verdict} if verdict else {}),
    }
    # one by one: the library would write short ones in one line, to which nobody can add a [[bots]]
    bots = [f"[[bots]]\n{tomli_w.dumps(_bot_table(bot))}" for bot in config.bots]
    return "\n".join([_HEAD + tomli_w.dumps(table), *bots])


def _bot_table(bot: Bot) -> dict[str, Any]:
    paths = [file.path for file in bot.files]
    source, others = (paths[0], paths[1:]) if bot.command is None else (None, paths)
    values = {
        "name": bot.name,
        "author": bot.author,
        "folder": f"bots/{bot.name}",
        "file": source,
        "command": bot.command,
        "language": bot.language,
        "files": others or None,
    }
    return {key: value for key, value in values.items() if value is not None}


def _write_bot(folder: Path, bot: Bot) -> None:
    folder.mkdir(parents=True)
    for file in bot.files:
        place = PurePosixPath(file.path)
        if place.is_absolute() or ".." in place.parts:
            raise ConfigError(f"bot {bot.name!r}: its file {file.path} lies outside of its folder")
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(0o755 if file.executable else 0o644)
