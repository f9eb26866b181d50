"""How a run stands, seen from outside: by its receipts and its lock, whoever plays it and wherever."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from socket import gethostname

import polars as pl

from simfarm.core.errors import StoreError
from simfarm.plan import size_of
from simfarm.stats.tally import faults_by_bot
from simfarm.store import Coverage, Driver, Failure, Receipt, Run
from simfarm.store.place import reason

SPEED_SECONDS = 300.0
"""The speed is that of the last so many seconds, or of the sitting if that is younger."""
LOG_LINES = 5
"""Last lines of the log that are shown of a run that ended early."""
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Status:
    """How a run stands."""

    running: bool
    """Whether a driver holds the run's lock."""
    driver: Driver | None
    """The process that plays it or played it last, if that is known."""
    matchups: int
    games: int
    """Games planned."""
    games_done: int
    """Games of them that are committed and sound."""
    games_per_second: float | None
    """Speed over all workers lately; None while nothing is played."""
    seconds_left: float | None
    """Wall time still to go at that speed."""
    given_up: tuple[Failure, ...]
    """Shards that no worker could play: simfarm's or the machine's fault, never a bot's."""
    faults: Mapping[str, Mapping[str, int]]
    """Rows that name a bot at fault, by bot and termination."""
    log: tuple[str, ...]
    """Last lines of the driver's log, if it ended early and its log lies here."""

    @property
    def complete(self) -> bool:
        """Whether everything planned is committed."""
        return self.games_done == self.games


class Observer:
    """Looks at a run again and again; each committed part is read once.

    Args:
        run: the run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._problems: dict[tuple[str, int, int, float | None], str] = {}
        self._counted: set[tuple[str, int, int]] = set()
        self._faults: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def look(self) -> Status:
        """How the run stands now.

        Raises:
            StoreError: it cannot be read.
        """
        run = self._run
        try:
            # the lock first: what is committed between the two looks is then no "ended early"
            driver, running = run.place.driver()
            receipts = run.receipts(self._problem)
            self._count_faults(receipts)
        except OSError as error:
            raise StoreError(f"{run.place}: cannot be read: {reason(error)}") from None
        committed = Coverage.of(receipts)
        size = size_of(run.config, committed)
        speed = self._speed(receipts, driver) if running and driver is not None else None
        complete = size.games_to_play == 0
        return Status(
            running=running,
            driver=driver,
            matchups=size.matchups,
            games=size.games,
            games_done=size.games - size.games_to_play,
            games_per_second=speed,
            seconds_left=size.games_to_play / speed if speed else None,
            given_up=tuple(run.given_up(committed)),
            faults={bot: dict(counts) for bot, counts in self._faults.items()},
            log=_last_lines(driver) if driver is not None and not running and not complete else (),
        )

    def _problem(self, receipt: Receipt) -> str:
        cell = (receipt.key, receipt.start, receipt.stop, receipt.at)
        if cell not in self._problems:
            self._problems[cell] = self._run.problem(receipt)
        return self._problems[cell]

    def _count_faults(self, receipts: list[Receipt]) -> None:
        fault = self._run.engine.fault
        new = [one for one in receipts if (one.key, one.start, one.stop) not in self._counted]
        for first in range(0, len(new), _BATCH):
            batch = new[first : first + _BATCH]
            rows = pl.concat([self._run.scan(receipt, fault.table) for receipt in batch])
            for bot, counts in faults_by_bot(rows, fault).items():
                self._faults[bot].update(counts)
            self._counted.update((one.key, one.start, one.stop) for one in batch)

    def _speed(self, receipts: list[Receipt], driver: Driver) -> float | None:
        now = time.time()
        since = max(datetime.fromisoformat(driver.started).timestamp(), now - SPEED_SECONDS)
        matchups = self._run.matchups()
        games = sum(
            (one.stop - one.start) * matchups[one.key].games for one in receipts if (one.at or 0.0) >= since
        )
        # a clock that was set back since leaves no time that could be told
        return games / (now - since) if games and now > since else None


def _last_lines(driver: Driver) -> tuple[str, ...]:
    if driver.log is None or driver.host != gethostname():
        return ()
    try:
        text = Path(driver.log).read_text(errors="replace")
    except OSError:
        return ()  # it was moved or removed: there is nothing to show
    return tuple(text.splitlines()[-LOG_LINES:])
