"""The checker: any bytes in, a verdict out (statement, sections Output and Score).

Moves are read and made one line at a time, so the first thing wrong is what the verdict names, and nothing
after it is looked at. This is the readable one; :mod:`engines.poker_run.kernel` has the fast one and asks
this one for the reason.
"""

from dataclasses import dataclass
from typing import Any

from engines.poker_run.instance import Case
from engines.poker_run.moves import Unparsable, number, parse, shown, words_of
from engines.poker_run.rules import IllegalMove, Phase, RoundEnd, Run, UnaffordableMove
from engines.poker_run.ruleset import Ruleset
from simfarm.core.model import Termination

_BLANK = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Mistake:
    """The first thing wrong with an output."""

    move: int
    """Index of the move, from 0. Where the count is wrong: of the first move that is missing or too many."""
    line: int
    """Line of the output, from 1."""
    text: str
    """The line, shortened."""
    reason: str
    state: str
    """The state that the move met."""
    termination: Termination
    """``unparsable``, ``illegal`` or ``unaffordable``."""

    def __str__(self) -> str:
        where = f"line {self.line}, move {self.move}" + (f" ({self.text})" if self.text else "")
        return f"{where}: {self.reason}; {self.state}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an output is worth."""

    total: int
    """Points of all plays; 0 for an invalid output."""
    rounds_cleared: int
    """0 for an invalid output."""
    moves: int
    """Moves made before the output ended or went wrong."""
    rounds: tuple[RoundEnd, ...]
    """The rounds begun before that."""
    mistake: Mistake | None
    """None for a valid output."""

    @property
    def valid(self) -> bool:
        """Whether every move was legal and the count right."""
        return self.mistake is None

    def to_json(self, ruleset: Ruleset) -> dict[str, Any]:
        """JSON-ready values: ``valid``, ``total``, ``rounds_cleared``, ``rounds`` and ``error``, which is
        null or has ``move`` (from 0), ``reason``, ``line``, ``text``, ``state`` and ``termination``."""
        mistake = self.mistake
        return {
            "valid": self.valid,
            "total": self.total,
            "rounds_cleared": self.rounds_cleared,
            "moves": self.moves,
            "error": mistake
            and {
                "move": mistake.move,
                "reason": mistake.reason,
                "line": mistake.line,
                "text": mistake.text,
                "state": mistake.state,
                "termination": str(mistake.termination),
            },
            "rounds": [
                {
                    "round": ended.number,
                    "points": ended.points,
                    "target": ended.target,
                    "cleared": ended.cleared,
                    "plays": ended.plays,
                    "discards": ended.discards,
                    "hands": [ruleset.hand[index].code for index in ended.types],
                    "modifiers": [ruleset.modifier[index].name for index in ended.owned],
                    "money": ended.money,
                    "earned": ended.earned,
                }
                for ended in self.rounds
            ],
        }


def state_of(run: Run) -> str:
    """The state of a run in a few words."""
    match run.phase:
        case Phase.ROUND:
            return (
                f"round {run.round + 1}, {run.points} of {run.target} points, {run.plays_left} plays and "
                f"{run.discards_left} discards left, hand {' '.join(map(str, run.hand))}"
            )
        case Phase.SHOP:
            offers = " ".join(run.ruleset.modifier[which].name for which in run.window)
            return f"shop after round {run.round + 1}, ${run.money}, offers: {offers or 'none'}"
        case Phase.OVER:
            return f"the run is over after round {run.round + 1}"


def check(case: Case, ruleset: Ruleset, output: bytes) -> Verdict:
    """Judge an output."""
    run = Run(case, ruleset)
    moves, mistake = _play(run, output)
    rounds = tuple(run.ended) if run.phase is not Phase.ROUND else (*run.ended, run.so_far())
    if mistake is not None:
        return Verdict(0, 0, moves, rounds, mistake)
    return Verdict(run.total, run.rounds_cleared, moves, rounds, None)


def _play(run: Run, output: bytes) -> tuple[int, Mistake | None]:
    """Make an output's moves: how many were made, and what then was wrong."""
    head, _, body = output.partition(b"\n")
    words = words_of(head, 1)
    count = number(words[0]) if len(words) == 1 else None
    if count is None:
        reason = "the first line must be the number of moves"
        return 0, _mistake(run, 0, 1, head, reason, Termination.UNPARSABLE)
    position, end = 0, len(body.rstrip(_BLANK))
    for index in range(count):
        if position >= end:
            reason = f"the count is {count}, {index} moves follow"
            return index, _mistake(run, index, index + 2, b"", reason, Termination.UNPARSABLE)
        stop = body.find(b"\n", position, end)
        stop = end if stop < 0 else stop
        line = body[position:stop]
        try:
            run.apply(parse(line, run.ruleset))
        except Unparsable as error:
            return index, _mistake(run, index, index + 2, line, str(error), Termination.UNPARSABLE)
        except UnaffordableMove as error:
            return index, _mistake(run, index, index + 2, line, str(error), Termination.UNAFFORDABLE)
        except IllegalMove as error:
            return index, _mistake(run, index, index + 2, line, str(error), Termination.ILLEGAL)
        position = stop + 1
    if position < end:
        stop = body.find(b"\n", position, end)
        reason = f"the count is {count}, more lines follow"
        line = body[position : end if stop < 0 else stop]
        return count, _mistake(run, count, count + 2, line, reason, Termination.UNPARSABLE)
    return count, None


def _mistake(run: Run, move: int, line: int, text: bytes, reason: str, termination: Termination) -> Mistake:
    words = b" ".join(words_of(text[:200], 8))
    return Mistake(move, line, shown(words)[1:-1] if words else "", reason, state_of(run), termination)
