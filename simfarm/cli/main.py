"""The ``simfarm`` command: its sub-commands, and what becomes of errors.

Exit codes: 0 done, 1 a check found something, 2 a mistake that the user can mend (one line on stderr), 130 ended
by Ctrl-C with everything committed kept. Any other error is a defect and keeps its traceback.
"""

import sys

import typer

from simfarm.cli import audit, bots, calibrate, inspect, judge, league, pack, play, power, report, run
from simfarm.core.errors import SimfarmError

app = typer.Typer(
    help="Play very many bot-against-bot matches, keep every game as a row, and get verdicts that hold up.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("plan")(run.plan)
app.command("play")(play.play)
app.command("query")(inspect.query)
app.command("replay")(inspect.replay)
app.command("schema")(inspect.schema)
app.command("audit")(audit.audit)
app.command("judge")(judge.judge)
app.command("leaderboard")(judge.leaderboard)
app.command("pack")(pack.pack)
app.command("power")(power.power)
app.command("calibrate")(calibrate.calibrate)
app.add_typer(bots.app, name="bots")
app.add_typer(report.app, name="report")
app.add_typer(league.app, name="league")


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except SimfarmError as error:
        print(f"simfarm: {error}", file=sys.stderr)
        sys.exit(2)
