"""``simfarm league``: a king-of-the-hill, from its first round to its king."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from simfarm import publish as publishing
from simfarm.cli.options import (
    ConfigPath,
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
from simfarm.league import League

app = typer.Typer(help="King of the hill: rounds of all pairings; the last goes.", no_args_is_help=True)

LeaguePath = Annotated[Path, typer.Argument(metavar="DIR", help="The league's folder.")]


@app.command()
def new(folder: LeaguePath, config: ConfigPath) -> None:
    """Make a league's folder from a run config: DIR/league.toml, and every bot's files in DIR/bots."""
    League.new(folder, config)
    _say(f"{folder} is ready; next: simfarm league round {folder}")


@app.command("round")
def play_round(
    folder: LeaguePath,
    executor: ExecutorOption = ExecutorName.LOCAL,
    ray_address: RayAddress = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Play the next round to its decision, or go on with one that was cut short.

    Before it, authors may change their bots: files in DIR/bots. If all that take part tie for last, the round is
    played again with a new seed, three times at most; then they are joint kings.
    """
    _play(folder, False, executor, ray_address, workers, quiet)


@app.command()
def run(
    folder: LeaguePath,
    executor: ExecutorOption = ExecutorName.LOCAL,
    ray_address: RayAddress = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Play round after round until there is a king; after Ctrl-C or a crash the same command goes on."""
    _play(folder, True, executor, ray_address, workers, quiet)


@app.command()
def status(folder: LeaguePath, format: FormatOption = Format.TEXT) -> None:
    """How the league stands, worked out from its rounds' rows: who went when, who remains, who is king."""
    show(League(folder).status().report(), format)


@app.command()
def publish(
    folder: LeaguePath,
    number: Annotated[int, typer.Argument(metavar="ROUND", help="Number of a round that is decided.")],
    out: Annotated[Path | None, typer.Option("--out", help="The archive; default: in DIR/published.")] = None,
) -> None:
    """Write a round as a zip: sources with attribution, results, the report, and the run folder itself."""
    print(publishing.publish(League(folder), number, out))


def _play(
    folder: Path,
    to_the_end: bool,
    executor: ExecutorName,
    ray_address: str | None,
    workers: int | None,
    quiet: bool,
) -> None:
    league = League(folder)
    with league.playing():
        state = league.status()
        first = state.next
        while state.next is not None and first is not None and (to_the_end or state.next[0] == first[0]):
            target = league.open_next()
            assert target is not None
            play(target, make_executor(executor, ray_address, workers), quiet=quiet)
            state = league.status()
            _say(f"{state.rounds[-1].title}: {state.rounds[-1].outcome()}")
    _say(state.verdict())


def _say(line: str) -> None:
    Console(highlight=False, soft_wrap=True).print(line, markup=False)
