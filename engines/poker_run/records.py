"""The rows: one per bot and seed in ``runs``, one per round begun in ``rounds``."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from engines.poker_run.checker import Mistake, Verdict
from engines.poker_run.rules import RoundEnd
from engines.poker_run.ruleset import Ruleset
from simfarm.core.evidence import EVIDENCE, NO_EVIDENCE, Evidence
from simfarm.core.model import NAME, Column, Table, Termination

RUNS = Table(
    "runs",
    "one row per bot and seed; the block is the seed",
    (
        Column("bot", NAME, "the bot"),
        Column("points", pa.int64(), "points of all plays; 0 for an invalid output or none"),
        Column("rounds_cleared", pa.uint8(), "rounds ended at or above their target; 0 for an invalid output"),
        Column("valid", pa.bool_(), "whether there was an output and every move of it was legal"),
        Column("moves", pa.int32(), "moves made before the output ended or went wrong"),
        Column("invalid_move", pa.int32(), "index of the first move that is wrong, from 0; null if none is"),
        Column("termination", NAME, "why the run ended"),
        Column("fault_bot", NAME, "the bot, where it is at fault; else null"),
        Column(
            "detail", pa.string(), "what was wrong, with the state it met, or how the bot ended; null if nothing"
        ),
        *EVIDENCE,
        Column(
            "seconds",
            pa.float32(),
            "wall time of the bot; of a built-in player the mean over its shard",
            time=True,
        ),
    ),
)
ROUNDS = Table(
    "rounds",
    "one row per round begun before the output ended or went wrong",
    (
        Column("bot", NAME, "the bot"),
        Column("round", pa.uint8(), "from 1"),
        Column("target", pa.int64(), "points needed"),
        Column("points", pa.int64(), "points made"),
        Column("cleared", pa.bool_(), "ended at or above the target"),
        Column("plays", pa.uint8(), "plays made"),
        Column("discards", pa.uint8(), "discards made"),
        Column("hands", pa.string(), "hand types played, in order"),
        Column("modifiers", pa.string(), "modifiers owned, in order of purchase"),
        Column("levels", pa.string(), "hand types above level 1, as CODE:LEVEL"),
        Column("money", pa.int32(), "dollars held during the round"),
        Column("earned", pa.int32(), "dollars that clearing it paid"),
    ),
)


@dataclass(frozen=True, slots=True)
class Result:
    """How one bot did on one seed."""

    seed: int
    rounds: tuple[RoundEnd, ...]
    points: int
    rounds_cleared: int
    moves: int
    termination: Termination
    seconds: float
    mistake: Mistake | None = None
    detail: str | None = None
    """What was wrong; None if nothing."""
    evidence: Evidence = NO_EVIDENCE
    """What is kept of a fault."""

    @classmethod
    def of(cls, seed: int, verdict: Verdict, seconds: float, evidence: Evidence = NO_EVIDENCE) -> "Result":
        """The result of an output; the evidence is kept if the output is wrong."""
        mistake = verdict.mistake
        return cls(
            seed=seed,
            rounds=verdict.rounds,
            points=verdict.total,
            rounds_cleared=verdict.rounds_cleared,
            moves=verdict.moves,
            termination=Termination.COMPLETED if mistake is None else mistake.termination,
            seconds=seconds,
            mistake=mistake,
            detail=None if mistake is None else str(mistake),
            evidence=evidence if mistake else NO_EVIDENCE,
        )


def tables_of(bot: str, results: Sequence[Result], ruleset: Ruleset) -> dict[str, pa.Table]:
    """Rows of both tables, ``block`` in front."""
    runs = pa.table(
        {
            "block": pa.array([result.seed for result in results], pa.uint32()),
            "bot": _name([bot] * len(results)),
            "points": pa.array([result.points for result in results], pa.int64()),
            "rounds_cleared": pa.array([result.rounds_cleared for result in results], pa.uint8()),
            "valid": pa.array([result.termination is Termination.COMPLETED for result in results], pa.bool_()),
            "moves": pa.array([result.moves for result in results], pa.int32()),
            "invalid_move": pa.array([result.mistake and result.mistake.move for result in results], pa.int32()),
            "termination": _name([str(result.termination) for result in results]),
            "fault_bot": _name([bot if result.termination.is_bot_fault else None for result in results]),
            "detail": pa.array([result.detail for result in results], pa.string()),
            **{
                column.name: pa.array([getattr(result.evidence, column.name) for result in results], column.type)
                for column in EVIDENCE
            },
            "seconds": pa.array([result.seconds for result in results], pa.float32()),
        }
    )
    ends = [(result.seed, end) for result in results for end in result.rounds]
    rounds = pa.table(
        {
            "block": pa.array([seed for seed, _ in ends], pa.uint32()),
            "bot": _name([bot] * len(ends)),
            "round": pa.array([end.number for _, end in ends], pa.uint8()),
            "target": pa.array([end.target for _, end in ends], pa.int64()),
            "points": pa.array([end.points for _, end in ends], pa.int64()),
            "cleared": pa.array([end.cleared for _, end in ends], pa.bool_()),
            "plays": pa.array([end.plays for _, end in ends], pa.uint8()),
            "discards": pa.array([end.discards for _, end in ends], pa.uint8()),
            "hands": pa.array([_hands(end, ruleset) for _, end in ends], pa.string()),
            "modifiers": pa.array([_modifiers(end, ruleset) for _, end in ends], pa.string()),
            "levels": pa.array([_levels(end, ruleset) for _, end in ends], pa.string()),
            "money": pa.array([end.money for _, end in ends], pa.int32()),
            "earned": pa.array([end.earned for _, end in ends], pa.int32()),
        }
    )
    return {"runs": runs, "rounds": rounds}


def _name(values: Sequence[str | None]) -> pa.Array:
    return pa.array(values, pa.string()).cast(NAME)


def _hands(end: RoundEnd, ruleset: Ruleset) -> str:
    return " ".join(ruleset.hand[index].code for index in end.types)


def _modifiers(end: RoundEnd, ruleset: Ruleset) -> str:
    return " ".join(ruleset.modifier[index].name for index in end.owned)


def _levels(end: RoundEnd, ruleset: Ruleset) -> str:
    levels = zip(ruleset.hand, end.levels, strict=True)
    return " ".join(f"{hand.code}:{level}" for hand, level in levels if level > 1)
