"""The progress of a run on a terminal: games, speed, time left and the running margin with its sigma."""

import sys
import time
from collections.abc import Callable
from functools import cached_property

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from simfarm import run as runs
from simfarm.executors import Executor
from simfarm.stats.margin import Moments
from simfarm.store import Run

PLAIN_SECONDS = 10.0
"""Without a terminal a line of progress is printed this often."""


def play(
    run: Run,
    executor: Executor,
    *,
    quiet: bool,
    bot: str | None = None,
    listen: Callable[[runs.Progress], None] = lambda progress: None,
    until: runs.Until | None = None,
) -> runs.Progress:
    """Play all that is missing of a run, with its progress on stderr; Ctrl-C gets a word on what stays.

    Args:
        run: the run.
        executor: where shards are played.
        quiet: show nothing.
        bot: whose margin is shown; default: the strongest rival's of the reference.
        listen: is told every progress as well, after it is shown; what it raises ends the run.
        until: as for :func:`simfarm.run.play`.

    Raises:
        SimfarmError: as :func:`simfarm.run.play`.
        KeyboardInterrupt: likewise.
    """
    try:
        with ProgressLine(run, quiet=quiet, bot=bot) as line:

            def tell(progress: runs.Progress) -> None:
                line.update(progress)
                listen(progress)

            return runs.play(run, executor, tell, until)
    except KeyboardInterrupt:
        print("simfarm: stopped; what is committed stays, the same command goes on from there", file=sys.stderr)
        raise


class ProgressLine:
    """Shows a run's progress on stderr; a context manager.

    Args:
        run: the run.
        quiet: show nothing.
        bot: whose margin is shown; default: the strongest rival's of the reference.
    """

    def __init__(self, run: Run, *, quiet: bool, bot: str | None = None) -> None:
        self._bot = bot
        self._run = run
        self._quiet = quiet
        self._console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[margin]}", markup=False),
            console=self._console,
        )
        self._live = not quiet and self._console.is_terminal
        self._task = self._bar.add_task(run.place.name, total=None, speed="", margin="")
        self._moments: Moments | None = None
        self._printed = time.monotonic()

    def __enter__(self) -> "ProgressLine":
        if self._live:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live:
            self._bar.stop()

    def update(self, progress: runs.Progress) -> None:
        """Show a progress."""
        if self._quiet:
            return
        margin = self._margin(progress)
        speed = f"{progress.games_per_second:,.0f} games/s" if progress.played else ""
        if self._live:
            self._bar.update(
                self._task, completed=progress.games, total=progress.total, speed=speed, margin=margin
            )
        elif progress.played and (
            time.monotonic() - self._printed >= PLAIN_SECONDS or progress.games == progress.total
        ):
            self._printed = time.monotonic()
            parts = (f"{progress.games:,} of {progress.total:,} games", speed, margin)
            self._console.print(", ".join(part for part in parts if part))

    @cached_property
    def _clustered(self) -> bool:
        return any(matchup.games > 1 for _, matchup in self._run.config.planned())

    def _margin(self, progress: runs.Progress) -> str:
        """The running margin of the strongest rival against the reference bot, from committed rows."""
        run, score = self._run, self._run.engine.score
        names = [bot.name for bot in run.config.bots]
        reference = run.config.verdict.reference or names[0]
        if len(names) < 2 or self._run.engine.default_report != "significance":
            return ""  # shares of points decide nothing in this game
        rows = run.lazy(score.table) if progress.receipt is None else run.scan(progress.receipt, score.table)
        moments = Moments.of(rows, score, names, self._clustered)
        self._moments = moments if self._moments is None else self._moments + moments
        rivals = {name: self._moments.margin(name, reference) for name in names if name != reference}
        if self._bot in rivals:
            rivals = {self._bot: rivals[self._bot]}
        known = {name: margin for name, margin in rivals.items() if margin.value is not None}
        if not known:
            return ""
        best = max(known, key=lambda name: known[name].value or 0.0)
        value, sigma = known[best].value, known[best].sigma
        spread = f" ± {sigma:.3f}" if sigma is not None else ""
        return f"{best} {value:+.3f}{spread} pp against {reference}"
