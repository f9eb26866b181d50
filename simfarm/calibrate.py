"""Whether verdicts err as often as they say, counted on rows of real games (:mod:`simfarm.stats.calibration`)."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from simfarm import registry
from simfarm import run as runs
from simfarm.config import build_config
from simfarm.core.errors import ConfigError
from simfarm.executors import Executor
from simfarm.report.render import Column, Report, Table, number
from simfarm.stats.calibration import Check, Population, checks
from simfarm.stats.tally import block_scores
from simfarm.store import Run


def games() -> list[str]:
    """The engines that can be calibrated."""
    return [name for name in registry.engine_names() if registry.engine(name).calibration is not None]


def populations(game: str, seed: int, executor: Executor) -> tuple[Population, Population]:
    """Play a game's calibration run, in a folder that is thrown away: blocks of two equal bots, and of two unequal.

    Raises:
        ConfigError: the game has nothing to calibrate.
        SimfarmError: it cannot be played here.
    """
    engine = registry.engine(game)
    chosen = engine.calibration
    if chosen is None:
        allowed = ", ".join(games())
        raise ConfigError(
            f"calibrate: two copies of a bot of {game} do the same in every block; allowed: {allowed}"
        )
    bundled = engine.bundled()
    first, other = chosen.bots[:2]
    twin = f"{first}_twin"
    specs = [bundled[first], replace(bundled[first], name=twin), *(bundled[name] for name in chosen.bots[1:])]
    config = build_config(game, specs, seed=seed, plan=chosen.plan, rules=chosen.rules, where="calibrate")
    runs.check(config)
    with tempfile.TemporaryDirectory(prefix="simfarm-calibrate-") as folder:
        run = Run.create(Path(folder) / game, config)
        runs.play(run, executor, lambda progress: None)
        run = Run(run.path)
        tables = {table.name: run.lazy(table.name) for table in engine.tables if not table.optional}
        scores = block_scores(tables, engine, run.matchups())
    is_share = engine.default_report == "significance"
    return _population(game, scores, first, twin, is_share), _population(game, scores, first, other, is_share)


def _population(game: str, scores: pl.DataFrame, bot: str, other: str, is_share: bool) -> Population:
    own = scores.filter(bot=bot).select("unit", "block", pl.col("score").alias("x"))
    theirs = scores.filter(bot=other).select("unit", pl.col("score").alias("other"))
    totals = scores.group_by("unit").agg((pl.col("score").sum() if is_share else pl.lit(1.0)).alias("t"))
    both = own.join(theirs, on="unit").join(totals, on="unit").sort("block", "unit")
    y = (both["x"] - both["other"]).cast(pl.Float64).to_numpy()
    return Population(game, y, both["t"].cast(pl.Float64).to_numpy(), equal=other == f"{bot}_twin")


def calibrate(chosen: Sequence[str], tournaments: int, seed: int, executor: Executor) -> Report:
    """Check every rate on every game.

    Its JSON has ``report``, ``seed``, ``holds`` (all of them) and ``checks``: a list of ``game``, ``what``,
    ``stated``, ``rate``, ``low`` and ``high`` (the exact binomial 95 % interval of the rate), ``tournaments``,
    ``holds``.

    Args:
        chosen: engines; empty: all that can be calibrated.
        tournaments: drawn for each check.
        seed: of games and drawing.
        executor: plays the games.

    Raises:
        ConfigError: a game has nothing to calibrate.
        SimfarmError: a game cannot be played here.
    """
    found: list[Check] = []
    for game in chosen or games():
        for population in populations(game, seed, executor):
            found += checks(population, tournaments, seed)
    bad = [check for check in found if not check.holds]
    verdict = (
        f"{len(bad)} of {len(found)} rates do not hold: what is amiss is more than chance explains in 1 of 10,000."
        if bad
        else f"All {len(found)} rates hold, as far as these tournaments tell."
    )
    return Report(
        title=f"Calibration, seed {seed}",
        paragraphs=(
            verdict,
            "Tournaments are drawn from the blocks of real games that were played for this. Rates of false verdicts "
            "and of missed intervals are the most allowed; those as predicted are to be met. From and to are the "
            "exact binomial interval of 95 %.",
        ),
        tables=(
            Table(
                "",
                (
                    Column("game"),
                    Column("what"),
                    *(Column(head, right=True) for head in ("stated %", "counted %", "from", "to", "of", "holds")),
                ),
                tuple(_row(check) for check in found),
            ),
        ),
        data={
            "report": "calibration",
            "seed": seed,
            "holds": not bad,
            "checks": [
                {
                    "game": check.game,
                    "what": check.what,
                    "stated": check.stated,
                    "rate": check.rate,
                    "low": check.interval()[0],
                    "high": check.interval()[1],
                    "tournaments": check.tournaments,
                    "holds": check.holds,
                }
                for check in found
            ],
        },
    )


def _row(check: Check) -> tuple[str, ...]:
    low, high = check.interval()
    figures = (number(100 * rate, 3) for rate in (check.stated, check.rate, low, high))
    return (check.game, check.what, *figures, number(check.tournaments), "yes" if check.holds else "NO")
