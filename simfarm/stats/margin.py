"""Points-share margins, their standard errors, and the rule that makes a verdict of them.

A bot's share is its points over everyone's points, and its margin is its share less the reference's, both in
percentage points (pp). Blocks are independent, games within a block are not (they may share a deal, or bots
that remember), so the error is clustered by block. With x_b the points of bot b in a block, t the points of
all bots in it and m the margin as a fraction, the delta method for a ratio gives, over n blocks,

    d = x_b - x_r - m t        var(m) = n / (n - 1) * sum d**2 / (sum t)**2

where a block in which nobody scored counts as much as any other. Blocks of all matchups are one sample: what
differs between matchups counts as error as well, which errs on the safe side. All of it follows from n, the sums
of x_b and the sums of x_a x_b: :class:`Moments`. They add up, so that a margin can be kept while parts arrive.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import polars as pl

from simfarm.core.model import Score
from simfarm.stats.rounds import FloatArray, Rounds, RoundTotals

_ROWS_AT_ONCE = 6_000_000
_BLOCKS_AT_ONCE = 1 << 16
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share or a margin in percentage points with its standard error."""

    value: float | None
    """None where no points were scored."""
    sigma: float | None
    """None where there is no value, or fewer than two blocks to estimate it from."""

    @property
    def z(self) -> float | None:
        """The value in units of sigma; None without sigma or where it is zero."""
        if self.value is None or not self.sigma:
            return None
        return self.value / self.sigma


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Sufficient statistics of the block scores of k bots."""

    bots: tuple[str, ...]
    """The bots, in the order of the arrays."""
    blocks: Mapping[str, int]
    """Blocks by matchup key, those without points included."""
    sums: FloatArray
    """Shape (k,): points of each bot."""
    products: FloatArray
    """Shape (k, k): sums over blocks of x_a x_b."""
    totals: RoundTotals | None = None
    """Points by round, where they were asked for."""

    @classmethod
    def none(cls, bots: Sequence[str]) -> "Moments":
        """The moments of no block."""
        return cls(tuple(bots), {}, np.zeros(len(bots)), np.zeros((len(bots), len(bots))))

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame | pl.LazyFrame,
        score: Score,
        bots: Sequence[str],
        clustered: bool,
        rounds: Rounds | None = None,
    ) -> "Moments":
        """The moments of rows. Those of several frames add up if no block is spread over two of them.

        Args:
            frame: rows of the score's table with ``matchup`` and ``block``, in any order.
            score: which columns name the bot and hold its points.
            bots: every bot that the rows may name.
            clustered: whether blocks may have several rows. False saves time and memory; where rows turn out
                to outnumber the blocks that they can belong to, it is taken for True.
            rounds: sum points by these rounds as well, in the same pass over the rows.

        Raises:
            ValueError: a row names a bot that is not among ``bots``.
        """
        rows = frame.lazy().select(
            "matchup",
            "block",
            pl.col(score.bot).alias("bot"),
            pl.col(score.value).cast(pl.Float64).fill_null(0.0).alias("x"),
        )
        if not clustered:
            moments = _of_single_rows(rows, tuple(bots), rounds)
            if moments is not None:
                return moments
        return _of_clusters(rows, tuple(bots), rounds)

    def __add__(self, other: "Moments") -> "Moments":
        if self.bots != other.bots:
            raise ValueError(f"moments of different bots do not add up: {self.bots} and {other.bots}")
        blocks = Counter(self.blocks)
        blocks.update(other.blocks)
        totals = self.totals + other.totals if self.totals and other.totals else None
        return Moments(self.bots, dict(blocks), self.sums + other.sums, self.products + other.products, totals)

    @property
    def n(self) -> int:
        """The number of blocks."""
        return sum(self.blocks.values())

    @property
    def total(self) -> float:
        """The points of all bots."""
        return float(self.sums.sum())

    def share(self, bot: str) -> Estimate:
        """A bot's share of all points, in percent."""
        weights = np.zeros(len(self.bots))
        weights[self.bots.index(bot)] = 1.0
        return self._ratio(weights)

    def margin(self, bot: str, reference: str) -> Estimate:
        """A bot's share less the reference's, in percentage points."""
        weights = np.zeros(len(self.bots))
        weights[self.bots.index(bot)] += 1.0
        weights[self.bots.index(reference)] -= 1.0
        return self._ratio(weights)

    def _ratio(self, weights: FloatArray) -> Estimate:
        n, total = self.n, self.total
        if total <= 0:
            return Estimate(None, None)
        value = float(weights @ self.sums) / total
        if n < 2:
            return Estimate(100 * value, None)
        # d is linear in the block's scores, so the sum of its squares is a quadratic form in the products.
        slope = weights - value
        squares = float(slope @ self.products @ slope)
        scale = float(abs(slope) @ abs(self.products) @ abs(slope))
        if squares <= _ROUNDING * scale:
            return Estimate(100 * value, 0.0)
        return Estimate(100 * value, 100 * math.sqrt(n / (n - 1) * squares) / total)


def _of_single_rows(rows: pl.LazyFrame, bots: tuple[str, ...], rounds: Rounds | None) -> Moments | None:
    """With one row per block no two bots score in the same block: the products are diagonal."""
    fine = (
        rows.group_by("matchup", "bot", *_round_of(rounds))
        .agg(
            pl.len(),
            pl.col("x").sum(),
            (pl.col("x") ** 2).sum().alias("xx"),
            pl.col("block").min().alias("first"),
            pl.col("block").max().alias("last"),
        )
        .collect(engine="streaming")
    )
    groups = fine.group_by("matchup", "bot").agg(
        pl.col("len", "x", "xx").sum(), pl.col("first").min(), pl.col("last").max()
    )
    spans = groups.group_by("matchup").agg(
        pl.col("len").sum(), pl.col("last").max().cast(pl.Int64) - pl.col("first").min().cast(pl.Int64) + 1
    )
    if not spans.filter(pl.col("len") > pl.col("last")).is_empty():
        return None
    by_bot = groups.filter(pl.col("bot").is_not_null()).group_by("bot").agg(pl.col("x", "xx").sum())
    moments = Moments.none(bots)
    for bot, x, xx in by_bot.iter_rows():
        index = _position(bot, bots)
        moments.sums[index] = x
        moments.products[index, index] = xx
    blocks = dict(spans.select(pl.col("matchup").cast(pl.String), "len").iter_rows())
    totals = RoundTotals.of_groups(fine, rounds) if rounds is not None else None
    return Moments(bots, blocks, moments.sums, moments.products, totals)


def _round_of(rounds: Rounds | None) -> tuple[pl.Expr, ...]:
    return () if rounds is None or not rounds.count else (rounds.number().alias("round"),)


def _of_clusters(rows: pl.LazyFrame, bots: tuple[str, ...], rounds: Rounds | None) -> Moments:
    blocks: Counter[str] = Counter()
    totals = None
    moments = Moments.none(bots)
    for chunk in _chunks(rows):
        scores = chunk.group_by("matchup", "block", "bot").agg(pl.col("x").sum()).collect(engine="streaming")
        if rounds is not None:
            groups = scores.group_by("matchup", "bot", *_round_of(rounds)).agg(pl.col("x").sum())
            part_totals = RoundTotals.of_groups(groups, rounds)
            totals = part_totals if totals is None else totals + part_totals
        scores = scores.with_columns(pl.col("matchup").cast(pl.Categorical), pl.col("bot").cast(pl.Categorical))
        names = {code: _position(name, bots) for code, name in _codes(scores["bot"]) if name is not None}
        keys = dict(_codes(scores["matchup"]))
        bot = scores["bot"].to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        matchup = scores["matchup"].to_physical().cast(pl.Int64).to_numpy()
        block = scores["block"].cast(pl.Int64).to_numpy()
        lookup = np.full(max(names, default=-1) + 2, -1)
        for code, index in names.items():
            lookup[code] = index
        cluster = matchup << 32 | block
        order = np.argsort(cluster)
        cluster, column, x = cluster[order], lookup[bot[order]], scores["x"].to_numpy()[order]
        starts = np.flatnonzero(np.diff(cluster, prepend=-1))
        for code, count in zip(*np.unique(cluster[starts] >> 32, return_counts=True), strict=True):
            blocks[keys[int(code)]] += int(count)
        bounds = np.append(starts, len(cluster))
        for first in range(0, len(starts), _BLOCKS_AT_ONCE):
            part = bounds[first : first + _BLOCKS_AT_ONCE + 1]
            cut = slice(part[0], part[-1])
            line = np.repeat(np.arange(len(part) - 1), np.diff(part))
            named = column[cut] >= 0
            # Blocks are sorted by matchup, so that few of many bots stand in one part.
            seen, place = np.unique(column[cut][named], return_inverse=True)
            matrix = np.zeros((len(part) - 1, len(seen)))
            matrix[line[named], place] = x[cut][named]
            moments.sums[seen] += matrix.sum(axis=0)
            moments.products[np.ix_(seen, seen)] += matrix.T @ matrix
    return Moments(bots, dict(blocks), moments.sums, moments.products, totals)


def _chunks(rows: pl.LazyFrame) -> Iterator[pl.LazyFrame]:
    """Cut rows by ranges of blocks, so that memory stays bounded whatever the number of blocks."""
    size = rows.select(pl.len(), pl.col("block").min().alias("first"), pl.col("block").max().alias("last"))
    count, first, last = size.collect(engine="streaming").row(0)
    pieces = -(-count // _ROWS_AT_ONCE)
    if pieces <= 1:
        yield rows
        return
    width = -(-(last + 1 - first) // pieces)
    for start in range(first, last + 1, width):
        yield rows.filter(pl.col("block").is_between(start, start + width - 1))


def _codes(column: pl.Series) -> list[tuple[Any, Any]]:
    unique = column.unique()
    return list(zip(unique.to_physical().to_list(), unique.cast(pl.String).to_list(), strict=True))


def _position(bot: str, bots: tuple[str, ...]) -> int:
    if bot not in bots:
        raise ValueError(f"rows name the bot {bot!r}, which is none of {', '.join(bots)}")
    return bots.index(bot)


class Verdict(StrEnum):
    """What a margin says about a bot against the reference."""

    WIN = "win"
    LOSS = "loss"
    TIE = "tie"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and what it takes to get one."""

    verdict: Verdict
    sentence: str
    """The verdict in words, with its figures."""
    games_to_decide: int | None
    """Where the verdict is open, the games in all that would bring sigma down far enough at the present margin;
    None where it is not open or no number can be given."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The decision rule: at least ``sigmas`` sigma and outside the tie band is a win or a loss, within the band
    is a tie, anything else is undecided."""

    tie: float = 0.05
    """Half the width of the tie band, in percentage points."""
    sigmas: float = 3.0
    """Standard errors that a win or a loss needs."""

    @property
    def alpha(self) -> float:
        """The error rate that many sigma stand for: the two-sided tail of a normal."""
        return math.erfc(self.sigmas / math.sqrt(2))

    def error_rate(self, blocks: int) -> float:
        """How often two equal bots differ by ``sigmas`` sigma when the number of blocks is fixed in advance.

        It is the two-sided normal tail, 0.27 % for 3 sigma. Few blocks estimate sigma badly and err more often;
        then it is the tail of Student's t with half a degree of freedom per block: where one of four bots takes
        all, as in UNO, every other block says nothing about a given two. The tie band can only lower it.
        """
        freedom = max(1.0, (blocks - 1) / 2)
        if freedom > 10_000:
            return self.alpha
        constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
        # With t = sqrt(freedom) tan(angle) the density becomes a power of the cosine on a bounded interval.
        angle = np.linspace(math.atan(self.sigmas / math.sqrt(freedom)), math.pi / 2, 20_001)
        tail = np.trapezoid(np.cos(angle) ** (freedom - 1), angle)
        return float(2 * constant / math.sqrt(math.pi) * tail)

    def text(self, blocks: int, comparisons: int) -> str:
        """The rule in words with its error rate, for a report."""
        rate = self.error_rate(blocks)
        several = (
            f" ({_percent(min(1.0, comparisons * rate))} for any of {comparisons} bots)" if comparisons > 1 else ""
        )
        return (
            f"A margin of at least {self.sigmas:g} sigma and outside ±{self.tie:g} pp is a win or a loss, one "
            f"within ±{self.tie:g} pp is a tie, any other is undecided. A bot that equals the reference is called "
            f"better or worse in about {_percent(rate)} of runs at most{several}. That holds for a number of games "
            f"fixed in advance: whoever looks early and stops at a verdict errs more often."
        )

    def judge(self, margin: Estimate, blocks: int, games: int) -> Judgement:
        """Apply the rule to a margin.

        Args:
            margin: in percentage points, from the bot's point of view.
            blocks: the number of blocks that it comes from.
            games: the number of games in them.
        """
        value, sigma = margin.value, margin.sigma
        if value is None:
            return Judgement(Verdict.UNDECIDED, "no points were scored, so there are no shares", None)
        if sigma is None:
            return Judgement(Verdict.UNDECIDED, f"{blocks} block gives no error for {value:+.3f} pp", None)
        if abs(value) <= self.tie:
            return self._tie(value, sigma, games)
        if sigma == 0:
            sentence = f"{value:+.3f} pp in every block alike: nothing varies, so nothing can be said of its error"
            return Judgement(Verdict.UNDECIDED, sentence, None)
        figures = f"{abs(value):.3f} pp, {abs(value) / sigma:.1f} sigma"
        if abs(value) / sigma >= self.sigmas:
            verdict = Verdict.WIN if value > 0 else Verdict.LOSS
            return Judgement(verdict, f"{'better' if value > 0 else 'worse'} by {figures}", None)
        needed = _round_up(games * (self.sigmas * sigma / abs(value)) ** 2)
        side = "ahead" if value > 0 else "behind"
        sentence = f"{side} by {figures} of {self.sigmas:g}; about {needed:,} games in all decide it if it stays"
        return Judgement(Verdict.UNDECIDED, sentence, needed)

    def _tie(self, value: float, sigma: float, games: int) -> Judgement:
        if sigma == 0:
            return Judgement(Verdict.TIE, f"{value:+.3f} pp in every block alike", None)
        low, high = value - self.sigmas * sigma, value + self.sigmas * sigma
        sentence = f"{value:+.3f} pp; {self.sigmas:g} sigma reach from {low:+.3f} to {high:+.3f} pp"
        if sigma <= self.tie or self.tie == 0:
            return Judgement(Verdict.TIE, sentence, None)
        # By the rule this is a tie, but chance alone puts unequal bots here: it must not pass for a finding.
        needed = _round_up(games * (self.sigmas * sigma / self.tie) ** 2)
        sentence += f", so it says little yet; about {needed:,} games in all narrow that to the tie band"
        return Judgement(Verdict.TIE, sentence, needed)


def _round_up(games: float) -> int:
    """Round up to two significant digits: the estimate behind it is no better."""
    step: int = 10 ** max(0, math.floor(math.log10(games)) - 1)
    return math.ceil(games / step) * step


def _percent(rate: float) -> str:
    return f"{100 * rate:.2g} %"
