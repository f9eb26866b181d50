"""What the sequential rule says of a run: margins, paired differences, who is last.

Confidence sequences (:mod:`simfarm.stats.boundary`) over the complete rounds of a run, in the order of their blocks.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simfarm.core.errors import ConfigError
from simfarm.core.model import Matchup
from simfarm.stats.boundary import FIRST_LOOK, PER_SKEWNESS, Boundary
from simfarm.stats.margin import Rule, Verdict
from simfarm.stats.rounds import FloatArray, IntArray, Rounds, RoundTotals, Span
from simfarm.stats.tally import conditions, differing
from simfarm.store import Run


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """A confidence sequence over the complete rounds of a run, for a verdict and for a chart."""

    alpha: float
    """How often, at most, the true value is ever outside."""
    blocks: IntArray
    """Shape (n,): blocks of the run up to each look."""
    games: IntArray
    """Shape (n,): games up to each look."""
    value: FloatArray
    """Shape (n,): the ratio of sums up to each look; NaN where there is none."""
    low: FloatArray
    """Shape (n,): lower end; minus infinity where nothing is known yet."""
    high: FloatArray
    """Shape (n,): upper end."""
    sigma: float | None
    """Standard error of the last value; None for fewer than two rounds."""

    @classmethod
    def of(cls, rounds: Rounds, alpha: float, y: FloatArray, t: FloatArray, unit: float = 1.0) -> "Track":
        """The track of a ratio of sums.

        Args:
            rounds: of the whole plan.
            alpha: the error rate.
            y: shape (n,): numerators of the complete rounds.
            t: shape (n,): denominators.
            unit: what values are multiplied by, 100 for percentage points.
        """
        value, low, high = Boundary.of_plan(alpha, rounds.count).sequence(y, t)
        n = len(y)
        sigma = None
        if n > 1 and t.sum() > 0:
            residuals = y - value[-1] * t
            sigma = unit * math.sqrt(n / (n - 1) * float(residuals @ residuals)) / float(t.sum())
        return cls(alpha, rounds.blocks[:n], rounds.games[:n], unit * value, unit * low, unit * high, sigma)

    def __len__(self) -> int:
        return len(self.value)

    def at(self, look: int) -> tuple[int, float, float, float]:
        """Games, value, low and high at a look."""
        return int(self.games[look]), float(self.value[look]), float(self.low[look]), float(self.high[look])

    def __iter__(self) -> Iterator[tuple[int, int, float, float, float]]:
        """Blocks, games, value, low and high at every look."""
        for blocks, games, *figures in zip(self.blocks, self.games, self.value, self.low, self.high, strict=True):
            value, low, high = map(float, figures)
            yield int(blocks), int(games), value, low, high


def decisions(
    value: FloatArray, low: FloatArray, high: FloatArray, tie: float
) -> dict[Verdict, npt.NDArray[np.bool_]]:
    """Which looks allow which verdict; the first one counts. A win or a loss needs an interval that excludes 0 and a
    value outside the tie band, a tie an interval that lies within it.

    Args:
        value: shape (..., looks).
        low: likewise.
        high: likewise.
        tie: half the width of the tie band, in their unit; 0: nothing ties.
    """
    return {
        Verdict.WIN: (low > 0) & (value > tie),
        Verdict.LOSS: (high < 0) & (value < -tie),
        Verdict.TIE: (low >= -tie) & (high <= tie) & (tie > 0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """One comparison and what the sequence says of it."""

    bot: str
    other: str
    """The bot that it is compared with: the reference, or the one that is last so far."""
    condition: Mapping[str, Any]
    """The rule options that differ within the run, where each set of them is judged apart; else empty."""
    track: Track
    """Of the bot's value less the other's."""
    verdict: Verdict
    """``undecided`` while no look has decided."""
    look: int | None
    """Position in the track of the first look that decided; later ones change nothing."""

    def sentence(self, unit: str, digits: int) -> str:
        """The verdict in words, with the interval at the look that decided, or at the last one."""
        look = -1 if self.look is None else self.look
        if not len(self.track) or not np.isfinite(self.track.low[look]):
            return "no interval yet"
        games, value, low, high = self.track.at(look)
        interval = f"{value:+,.{digits}f} {unit}, interval from {low:+,.{digits}f} to {high:+,.{digits}f}"
        if self.look is None:
            return f"open after {games:,} games: {interval}"
        word = {Verdict.WIN: "better", Verdict.LOSS: "worse", Verdict.TIE: "within the tie band"}[self.verdict]
        return f"{word} after {games:,} games: {interval}"

    def to_json(self) -> dict[str, Any]:
        """JSON values: ``bot``, ``other``, ``condition``, ``verdict``, and ``games``, ``value``, ``low``,
        ``high`` at the look that decided, or at the last one (null: there is none)."""
        figures: dict[str, Any] = dict.fromkeys(("games", "value", "low", "high"))
        look = -1 if self.look is None else self.look
        if len(self.track) and np.isfinite(self.track.low[look]):
            figures = dict(zip(figures, self.track.at(look), strict=True))
        condition = dict(self.condition)
        verdict = self.verdict.value
        return {"bot": self.bot, "other": self.other, "condition": condition, "verdict": verdict, **figures}

    @classmethod
    def of(cls, bot: str, other: str, track: Track, tie: float, condition: Mapping[str, Any]) -> "Finding":
        """Decide, see :func:`decisions`."""
        hits = decisions(track.value, track.low, track.high, tie)
        looks = {verdict: int(np.argmax(hit)) for verdict, hit in hits.items() if hit.any()}
        verdict = min(looks, key=lambda verdict: looks[verdict], default=Verdict.UNDECIDED)
        return cls(bot, other, condition, track, verdict, looks.get(verdict))


@dataclass(frozen=True, slots=True, eq=False)
class Sequential:
    """What the sequential rule says of a run so far."""

    kind: str
    """The report whose question it answers: ``significance``, ``leaderboard`` or ``elimination``."""
    alpha: float
    """How often, at most, one comparison's verdict is false; for an elimination, that the one named is not last."""
    rounds: Rounds
    """Of the whole plan."""
    complete: int
    """Rounds that are in without a gap: what later rows say plays no part."""
    findings: tuple[Finding, ...]
    """Every bot against the reference; for an elimination against the one that is last so far."""
    last: str | None
    """The bot that is last for certain; None for other reports, and while it is open."""
    look: int | None
    """Position of the look at which everything was decided; None while something is open."""

    @property
    def decided(self) -> bool:
        """Whether the verdict is in: of every bot against the reference, or who is last."""
        return self.look is not None

    def sentence(self) -> str:
        """How far it is, in words."""
        seen = f"{self.games:,} games ({self.blocks:,} blocks, in the order of their numbers)"
        if self.look is None and self.complete < FIRST_LOOK:
            return f"Not decided after {seen}; the first look is after {FIRST_LOOK} rounds of the plan."
        if self.look is None:
            return f"Not decided after {seen}."
        if self.last is not None:
            return f"{self.last} is last: decided after {seen}."
        return f"All decided after {seen}."

    def text(self, tie: float) -> str:
        """The rule in words with its error rate, for a report.

        Args:
            tie: half the width of the tie band in pp; 0 where there is none.
        """
        rate, several, count = _percent(self.alpha), "", len(self.findings)
        if self.kind != "elimination" and count > 1:
            several = f" ({_percent(min(1.0, count * self.alpha))} for any of {count})"
        equal = f"A bot equal to the reference is called better or worse in at most {rate} of runs{several}"
        what = {
            "elimination": "The first look at which every other bot's lead over one has an interval above 0 says "
            f"that it is last. A bot that is not the worst is named in at most {rate} of runs",
            "leaderboard": f"The first look whose interval of a difference excludes 0 is a verdict. {equal}",
            "significance": "The first look whose interval excludes 0 with the margin outside "
            f"±{tie:g} pp is a win or a loss, one whose interval lies within ±{tie:g} pp a tie. {equal}",
        }[self.kind]
        return (
            f"Sequential rule, anytime-valid t-test with a normal mixture: the plan's {self.rounds.count:,} rounds "
            f"are looked at in the order of their blocks, from round {FIRST_LOOK} on, and from {PER_SKEWNESS:g} g² "
            f"on where rounds have the skewness g. {what}, whenever one looks or stops. That is exact for normal "
            "rounds; simfarm calibrate counts it on real ones."
        )

    def to_json(self) -> dict[str, Any]:
        """JSON values: ``kind``, ``alpha``, ``rounds``, ``complete`` (rounds), ``decided``, ``games`` and ``blocks``
        up to the look that decided or in all complete rounds, ``last``, ``findings`` (:meth:`Finding.to_json`)."""
        return {
            "kind": self.kind,
            "alpha": self.alpha,
            "rounds": self.rounds.count,
            "complete": self.complete,
            "decided": self.decided,
            "games": self.games,
            "blocks": self.blocks,
            "last": self.last,
            "findings": [finding.to_json() for finding in self.findings],
        }

    @property
    def games(self) -> int:
        """Games up to the look that decided, or in all complete rounds."""
        rounds = self.complete if self.look is None else self.look + 1
        return int(self.rounds.games[rounds - 1]) if rounds else 0

    @property
    def blocks(self) -> int:
        """Blocks of all matchups up to there."""
        rounds = self.complete if self.look is None else self.look + 1
        return int(self.rounds.blocks[rounds - 1]) if rounds else 0


def assess(
    kind: str,
    totals: RoundTotals,
    complete: int,
    *,
    rule: Rule,
    bots: Sequence[str],
    reference: str | None,
    public: range | None = None,
) -> Sequential:
    """Look at the complete rounds of a run.

    Args:
        kind: the report whose question is asked: ``significance``, ``leaderboard`` or ``elimination``.
        totals: scores by round.
        complete: rounds that are in without a gap.
        rule: its sigmas say the error rate: that of so many sigma in one look at a normal.
        bots: names in the order of reports; those in no matchup are left out.
        reference: the bot that others are compared with; None: the first.
        public: blocks that a leaderboard does not judge.

    Raises:
        ConfigError: there is no sequential verdict of that kind, or the reference takes part in no matchup.
    """
    matchups = totals.rounds.matchups
    playing = {bot.name for matchup in matchups.values() for bot in matchup.bots}
    names = [name for name in bots if name in playing]
    alpha = rule.alpha
    if kind == "elimination":
        return _elimination(totals, complete, alpha, names)
    if reference is None and names:
        reference = names[0]
    if reference not in names:
        allowed = ", ".join(names) or "none, the run has no matchups"
        raise ConfigError(f"the reference {reference!r} takes part in no matchup; allowed: {allowed}")
    if kind == "significance":
        findings = _margins(totals, complete, alpha, rule.tie, names, reference)
    elif kind == "leaderboard":
        findings = _differences(totals, complete, alpha, names, reference, public)
    else:
        raise ConfigError(
            f"there is no sequential verdict for the report {kind!r}; those that have one: "
            "significance, leaderboard, elimination"
        )
    looks = [finding.look for finding in findings if finding.look is not None]
    look = max(looks) if findings and len(looks) == len(findings) else None
    return Sequential(kind, alpha, totals.rounds, complete, tuple(findings), None, look)


def assess_run(
    run: Run, kind: str, totals: RoundTotals | None = None, committed: Iterable[Span] | None = None
) -> Sequential:
    """Look at a run's committed rows.

    Args:
        run: the run.
        kind: as for :func:`assess`.
        totals: its scores by round, where they are known already.
        committed: key, first block and one past the last block of its committed shards, likewise.

    Raises:
        ConfigError: as :func:`assess`.
    """
    engine, config = run.engine, run.config
    if totals is None:
        totals = RoundTotals.of(run.lazy(engine.score.table), engine.score, Rounds.of(run.matchups()))
    if committed is None:
        committed = ((receipt.key, receipt.start, receipt.stop) for receipt in run.receipts())
    return assess(
        kind,
        totals,
        totals.rounds.complete(committed),
        rule=Rule(config.verdict.tie, config.verdict.sigmas),
        bots=[bot.name for bot in config.bots],
        reference=config.verdict.reference,
        public=engine.public_blocks,
    )


def _margins(
    totals: RoundTotals, complete: int, alpha: float, tie: float, bots: Sequence[str], reference: str
) -> list[Finding]:
    points = totals.by_bot(bots)[:complete].T
    everyone = points.sum(axis=0)
    own = points[bots.index(reference)]
    return [
        Finding.of(name, reference, Track.of(totals.rounds, alpha, x - own, everyone, 100.0), tie, {})
        for name, x in zip(bots, points, strict=True)
        if name != reference
    ]


def _differences(
    totals: RoundTotals, complete: int, alpha: float, bots: Sequence[str], reference: str, public: range | None
) -> list[Finding]:
    """Mean differences in score per block, on the blocks that both play and that are not public."""
    matchups = totals.rounds.matchups
    judged = {key: m for key, m in matchups.items() if public is None or set(range(m.start, m.stop)) - set(public)}
    findings = []
    for condition in conditions(matchups):
        keys = [key for key in judged if differing(judged[key], matchups) == condition]
        for name in bots:
            y, t = np.zeros(complete), np.zeros(complete)
            for own, theirs in _meetings(judged, keys, name, reference):
                y += totals.of_bot(own, name)[:complete] - totals.of_bot(theirs, reference)[:complete]
                t += np.diff(totals.rounds.stops(own), prepend=judged[own].start)[:complete]
            if name != reference and t.any():
                findings.append(Finding.of(name, reference, Track.of(totals.rounds, alpha, y, t), 0.0, condition))
    return findings


def _meetings(
    matchups: Mapping[str, Matchup], keys: Iterable[str], bot: str, reference: str
) -> Iterator[tuple[str, str]]:
    """The matchups in which two bots play the same blocks: one where they meet, or two where each plays alone."""
    players = {key: [member.name for member in matchups[key].bots] for key in keys}
    alone = {
        (matchups[key].seed, matchups[key].start, matchups[key].stop): key
        for key, names in players.items()
        if names == [reference]
    }
    for key, names in players.items():
        place = (matchups[key].seed, matchups[key].start, matchups[key].stop)
        if bot in names and reference in names:
            yield key, key
        elif names == [bot] and place in alone:
            yield key, alone[place]


def _elimination(totals: RoundTotals, complete: int, alpha: float, bots: Sequence[str]) -> Sequential:
    """Somebody is last where its lead over every other is below 0. A false name needs a false lead over the bot that
    is really last, by one of the others: each comparison has its part of alpha."""
    rounds, part = totals.rounds, alpha / max(1, len(bots) - 1)
    balances = totals.by_bot(bots)[:complete].T
    blocks = np.diff(rounds.blocks, prepend=0)[:complete].astype(np.float64)
    boundary = Boundary.of_plan(part, rounds.count)
    looks = {}
    for position, name in enumerate(bots):
        others = np.delete(balances, position, axis=0) - balances[position]
        below = (boundary.sequence(others, blocks)[1] > 0).all(axis=0)
        if len(bots) > 1 and below.any():
            looks[name] = int(np.argmax(below))
    last = min(looks, key=lambda name: looks[name], default=None)
    lowest = bots.index(last) if last else int(np.argmin(balances.sum(axis=1)))
    findings = tuple(
        Finding.of(name, bots[lowest], Track.of(rounds, part, balance - balances[lowest], blocks), 0.0, {})
        for name, balance in zip(bots, balances, strict=True)
        if name != bots[lowest]
    )
    return Sequential(
        "elimination", alpha, rounds, complete, findings, last, None if last is None else looks[last]
    )


def _percent(rate: float) -> str:
    return f"{100 * rate:.2g} %"
