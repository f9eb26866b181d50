"""How many games a verdict needs, from a run's own variance."""

from collections.abc import Sequence

from simfarm.core.errors import ConfigError
from simfarm.report.render import Column, Report, Table, number
from simfarm.stats.margin import Rule
from simfarm.stats.power import Need, need
from simfarm.stats.sequential import assess_run
from simfarm.store import Run

METHODS = ("fixed", "sequential")


def power(
    run: Run,
    margins: Sequence[float],
    *,
    methods: Sequence[str] = METHODS,
    power: float = 0.9,
    planned: int | None = None,
    bot: str | None = None,
    runs: int = 1000,
    seed: int = 1,
) -> Report:
    """What true margins take in a run like this one. The margin is that of the run's usual report: pp of the points
    share, or score per block.

    Its JSON has ``report``, ``bot``, ``other``, ``unit``, ``sd`` (standard error of a margin times the root of its
    games), ``games`` (that it was measured on), ``planned_games``, ``power``, ``alpha``, ``tie``, ``runs``, ``seed``
    and ``margins``: a list of ``margin``, ``fixed_games``, ``mean_games``, ``mean_games_error``, ``enough_games``,
    ``right``, ``wrong`` and ``tie`` (fractions of simulated runs), as in :class:`simfarm.stats.power.Need`.

    Args:
        run: where the variance comes from.
        margins: the true ones.
        methods: ``fixed``, ``sequential`` or both.
        power: how often a run should find the margin.
        planned: games of the sequential rule's plan; None: as many as the run's.
        bot: whose difference is meant; None: the one that varies most.
        runs: simulated runs for each margin.
        seed: of the simulation.

    Raises:
        ConfigError: the run is too short to show a variance, or no such bot is compared.
    """
    engine, config = run.engine, run.config
    kind = engine.default_report
    state = assess_run(run, kind)
    known = {finding.bot: finding for finding in state.findings if finding.track.sigma}
    if not known:
        raise ConfigError(f"power: {run.path} shows no variance yet: it needs two rounds of games that differ")
    if bot is not None and bot not in known:
        raise ConfigError(f"power: {bot!r} is compared with nobody; allowed: {', '.join(known)}")
    finding = known[bot] if bot else max(known.values(), key=lambda finding: finding.track.sigma or 0.0)
    games = int(finding.track.games[-1])
    assert finding.track.sigma is not None
    sd = finding.track.sigma * games**0.5
    is_share = kind == "significance"
    unit = "pp" if is_share else f"{engine.score.unit} a block"
    rule = Rule(config.verdict.tie if is_share else 0.0, config.verdict.sigmas)
    plan = planned or int(state.rounds.games[-1])
    needs = [need(margin, sd, rule, finding.track.alpha, plan, power, runs, seed) for margin in margins]
    return Report(
        title=f"Power: {engine.name}, {finding.bot} against {finding.other}",
        paragraphs=tuple(_words(games, sd, unit, plan, power, rule, runs, methods, needs)),
        tables=(_table(needs, unit, power, methods),),
        data={
            "report": "power",
            "bot": finding.bot,
            "other": finding.other,
            "unit": unit,
            "sd": sd,
            "games": games,
            "planned_games": plan,
            "power": power,
            "alpha": finding.track.alpha,
            "tie": rule.tie,
            "runs": runs,
            "seed": seed,
            "margins": [
                {
                    "margin": n.margin,
                    "fixed_games": n.fixed,
                    "mean_games": n.mean,
                    "mean_games_error": n.mean_error,
                    "enough_games": n.enough,
                    "right": n.right,
                    "wrong": n.wrong,
                    "tie": n.tie,
                }
                for n in needs
            ],
        },
    )


def _words(
    games: int,
    sd: float,
    unit: str,
    plan: int,
    power: float,
    rule: Rule,
    runs: int,
    methods: Sequence[str],
    needs: Sequence[Need],
) -> list[str]:
    words = [f"Sigma is {sd / plan**0.5:.4g} {unit} after {plan:,} games, measured on {games:,}."]
    if "fixed" in methods:
        words.append(
            f"Fixed: a plan of that size finds the margin at {rule.sigmas:g} sigma in {power:.0%} of runs."
        )
    if "sequential" in methods:
        words.append(
            f"Sequential: a plan of {plan:,} games, stopped at its verdict; {runs:,} simulated runs for each margin."
        )
    if rule.tie and any(0 < abs(n.margin) <= rule.tie for n in needs):
        words.append(
            f"Margins up to {rule.tie:g} {unit} are ties by the run's rule, so most such runs end as one or stay "
            "open; the fixed games are those that tell the margin from 0."
        )
    return words


def _table(needs: Sequence[Need], unit: str, power: float, methods: Sequence[str]) -> Table:
    heads = [f"true margin {unit}"]
    rows = [[f"{n.margin:g}"] for n in needs]
    if "fixed" in methods:
        heads.append("fixed: games")
        for row, n in zip(rows, needs, strict=True):
            row.append(number(n.fixed))
    if "sequential" in methods:
        heads += ["sequential: mean games", "± sigma", f"{power:.0%} by", "right %", "false %", "tie %"]
        for row, n in zip(rows, needs, strict=True):
            parts = (number(100 * part, 2) for part in (n.right, n.wrong, n.tie))
            row += [number(n.mean), number(n.mean_error), number(n.enough), *parts]
    return Table("Games in all", tuple(Column(head, right=True) for head in heads), tuple(map(tuple, rows)))
