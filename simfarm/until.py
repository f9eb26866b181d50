"""Play until the verdict is in: in which order blocks are played then, and when it is enough.

Rounds are played from the first, all matchups of a round before the next, so that the rounds that are in without a
gap (:meth:`~simfarm.stats.rounds.Rounds.complete`) grow evenly. What is decided follows from those alone: shards that
were played ahead count for nothing until the rounds before them are in, and a run that is stopped, resumed or played
elsewhere reaches the same verdict at the same round.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from simfarm.core.errors import ConfigError
from simfarm.plan import Gap
from simfarm.stats.boundary import FIRST_LOOK
from simfarm.stats.rounds import Rounds, RoundTotals
from simfarm.stats.sequential import assess_run
from simfarm.store import Receipt, Run

GROWTH = 1.1
"""The rounds that are played between two breaks in the order grow like this: it is about what is played too much."""


class UntilDecided:
    """Orders what is missing of a run, and tells from its committed rows when the verdict is in."""

    def __init__(self, run: Run, max_games: int | None = None) -> None:
        """Prepare.

        Args:
            run: the run; its game's usual report says what is to be decided.
            max_games: do not begin rounds that end beyond so many games; None: the whole plan.

        Raises:
            ConfigError: the game has no sequential verdict, the reference takes part in no matchup, or the plan or
                ``max_games`` allows too few rounds for a first look.
        """
        self._run, self._kind = run, run.engine.default_report
        self._rounds = rounds = Rounds.of(run.matchups())
        games = rounds.games
        self.limit = rounds.count if max_games is None else int(np.searchsorted(games, max_games, side="right"))
        if rounds.count < FIRST_LOOK:
            raise ConfigError(
                f"--until-decided: the plan has {rounds.count} rounds (blocks of its longest matchup); the first "
                f"look is after {FIRST_LOOK}: give the plan more blocks, or play it whole"
            )
        if self.limit < FIRST_LOOK:
            raise ConfigError(
                f"--max-games {max_games}: the first look is after {FIRST_LOOK} of {rounds.count:,} rounds, so at "
                f"least {games[FIRST_LOOK - 1]:,}"
            )
        score = run.engine.score
        self._totals = RoundTotals.of(run.lazy(score.table), score, rounds)
        self._committed = [(receipt.key, receipt.start, receipt.stop) for receipt in run.receipts()]
        self.state = assess_run(self._run, self._kind, self._totals, self._committed)

    def order(self, missing: Iterable[Gap]) -> Iterator[Gap]:
        """What is missing up to the limit, by rounds. Breaks lie between segments, so that no shard starts within
        one."""
        found = list(missing)
        starts = {gap.key: gap.matchup.start for gap in found}
        for rounds in self._breaks():
            ends = {gap.key: self._end(gap, rounds) for gap in found}
            for gap in found:
                start, stop = max(gap.start, starts[gap.key]), min(gap.stop, ends[gap.key])
                if start < stop:
                    yield Gap(gap.matchup, gap.key, start, stop)
            starts = ends

    def _breaks(self) -> Iterator[int]:
        rounds = FIRST_LOOK
        while rounds < self.limit:
            yield rounds
            rounds = max(rounds + 1, int(rounds * GROWTH))
        yield self.limit

    def _end(self, gap: Gap, rounds: int) -> int:
        segment = self._run.engine.segment(gap.matchup)
        stop = int(self._rounds.stops(gap.key)[rounds - 1])
        return min(-(-stop // segment) * segment, gap.matchup.stop)

    def reached(self, receipt: Receipt | None) -> bool:
        """Whether the verdict is in or the limit is reached.

        Args:
            receipt: a shard that has just been committed; None: nothing has.
        """
        if receipt is not None:
            score = self._run.engine.score
            self._totals += RoundTotals.of(self._run.scan(receipt, score.table), score, self._rounds)
            self._committed.append((receipt.key, receipt.start, receipt.stop))
            if self._rounds.complete(self._committed) > self.state.complete:
                self.state = assess_run(self._run, self._kind, self._totals, self._committed)
        return self.state.decided or self.state.complete >= self.limit
