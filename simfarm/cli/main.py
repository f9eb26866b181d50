"""The sub-commands of ``simfarm``."""

import typer

from simfarm.cli import (
    audit,
    bots,
    calibrate,
    doctor,
    inspect,
    judge,
    league,
    pack,
    play,
    power,
    report,
    run,
    status,
    verify,
)

app = typer.Typer(
    help="Play very many bot-against-bot matches, keep every game as a row, and get verdicts that hold up.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("plan")(run.plan)
app.command("status")(status.status)
app.command("stop")(status.stop)
app.command("play")(play.play)
app.command("query")(inspect.query)
app.command("replay")(inspect.replay)
app.command("schema")(inspect.schema)
app.command("audit")(audit.audit)
app.command("verify")(verify.verify)
app.command("judge")(judge.judge)
app.command("leaderboard")(judge.leaderboard)
app.command("pack")(pack.pack)
app.command("power")(power.power)
app.command("calibrate")(calibrate.calibrate)
app.command("doctor")(doctor.doctor)
app.add_typer(bots.app, name="bots")
app.add_typer(report.app, name="report")
app.add_typer(league.app, name="league")
