"""``simfarm status`` and ``simfarm stop``: a run that is played elsewhere, or in the background."""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from simfarm import background
from simfarm.cli.options import PlainFormat, RunPath, open_run
from simfarm.executors import ATTEMPTS
from simfarm.status import Observer, Status

GIVEN_UP_SHOWN = 8
_WATCH_SECONDS = 2.0


def status(
    run: RunPath,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again and again until nothing plays the run.")
    ] = False,
    format: Annotated[PlainFormat, typer.Option("--format", "-f", help="How to write it.")] = PlainFormat.TEXT,
) -> None:
    """How a run stands: played, speed, time left, who plays it, shards that were given up, bots at fault.

    Whether it is being played is told by its lock. On an object store a driver that ended without a word counts as
    playing for another minute.

    Example: simfarm run configs/uno-main-event.toml --detach && simfarm status uno-main-event --watch
    """
    opened = open_run(run)
    observer = Observer(opened)
    console = Console(highlight=False, soft_wrap=True)
    found = observer.look()
    if format is PlainFormat.JSON or not console.is_terminal or not watch:
        _print(console, str(opened.place), found, format)
        while watch and found.running:
            time.sleep(_WATCH_SECONDS)
            found = observer.look()
            _print(console, str(opened.place), found, format)
        return
    with Live(_text(str(opened.place), found), console=console, auto_refresh=False) as live:
        while found.running:
            time.sleep(_WATCH_SECONDS)
            found = observer.look()
            live.update(_text(str(opened.place), found), refresh=True)


def stop(run: RunPath) -> None:
    """End the process that plays a run on this machine; what is committed stays.

    Only a process that provably holds the run's lock is told to end. `simfarm run` goes on from there.
    """
    opened = open_run(run)
    pid = background.stop(opened)
    print(f"process {pid} has ended; what is committed in {opened.place} stays")


def _print(console: Console, where: str, found: Status, format: PlainFormat) -> None:
    if format is PlainFormat.JSON:
        print(json.dumps({"run": where, "complete": found.complete, **asdict(found)}), flush=True)
    else:
        console.print(_text(where, found))


def _text(where: str, found: Status) -> Text:
    return Text("\n".join(_lines(where, found)))


def _lines(where: str, found: Status) -> Iterator[str]:
    driver = found.driver
    who = f" by process {driver.pid} on {driver.host} since {driver.started}" if driver is not None else ""
    state = f"played{who}" if found.running else "complete" if found.complete else "not being played, not complete"
    yield f"{where}: {state}"
    share = 100 * found.games_done / found.games
    yield f"games       {found.games_done:,} of {found.games:,} ({share:.1f} %), matchups {found.matchups:,}"
    if found.games_per_second is not None:
        yield f"speed       {found.games_per_second:,.0f} games/s"
    if found.seconds_left is not None:
        yield f"time left   about {timedelta(seconds=round(found.seconds_left))}"
    for failure in found.given_up[:GIVEN_UP_SHOWN]:
        last = failure.detail.strip().splitlines()[-1:] or [""]
        yield (
            f"given up    blocks {failure.start} to {failure.stop} of matchup {failure.key} after {ATTEMPTS} tries: "
            f"{failure.reason}: {last[0]}"
        )
    if len(found.given_up) > GIVEN_UP_SHOWN:
        yield f"            and {len(found.given_up) - GIVEN_UP_SHOWN:,} more; all with --format json"
    for bot, counts in found.faults.items():
        times = ", ".join(f"{termination} {count:,}" for termination, count in counts.items())
        yield f"bot fault   {bot}: {times}"
    for line in found.log:
        yield f"log         {line}"
