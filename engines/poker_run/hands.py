"""Hands in readable Python: which type some cards make, which of them score, and what a play is worth.

``native/score.h`` does the same in C; tests hold the two together.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from engines.poker_run.ruleset import RANKS, Effect, Modifier, Per, Ruleset, Scored

Face = tuple[int, int]
"""A card as it is now: rank 0 (deuce) to 12 (ace), suit 0 to 3 in the ruleset's order."""


def types_made(counts: Sequence[int], straight: bool, flush: bool) -> set[str]:
    """Codes of all types that some cards make.

    Args:
        counts: how often each rank occurs among them, in falling order.
        straight: whether five ranks follow each other.
        flush: whether five cards are of one suit.
    """
    house = tuple(counts) == (3, 2)
    five = counts[0] == 5
    made = {
        "HC": True,
        "PR": counts[0] >= 2,
        "TP": len(counts) > 1 and counts[1] >= 2,
        "TK": counts[0] >= 3,
        "ST": straight,
        "FL": flush,
        "FH": house,
        "FK": counts[0] >= 4,
        "SF": straight and flush,
        "FV": five,
        "HF": house and flush,
        "F5": five and flush,
    }
    return {code for code, holds in made.items() if holds}


def strongest(counts: Sequence[int], straight: bool, flush: bool, ruleset: Ruleset) -> int:
    """Position in the ruleset of the strongest type that some cards make; arguments as :func:`types_made`."""
    made = types_made(counts, straight, flush)
    return max(index for index, hand in enumerate(ruleset.hand) if hand.code in made)


def is_straight(ranks: Collection[int]) -> bool:
    """Whether the ranks are five in a row; the ace also stands below the deuce, and nowhere in between."""
    distinct = sorted(set(ranks))
    if len(distinct) != 5:
        return False
    return distinct[4] - distinct[0] == 4 or distinct == [0, 1, 2, 3, RANKS - 1]


def classify(faces: Sequence[Face], ruleset: Ruleset) -> tuple[int, list[int]]:
    """The strongest type over all cards played, and the positions in ``faces`` of the cards that score."""
    ranks = [rank for rank, _ in faces]
    count = Counter(ranks)
    flush = len(faces) == 5 and len({suit for _, suit in faces}) == 1
    index = strongest(sorted(count.values(), reverse=True), is_straight(ranks), flush, ruleset)
    match ruleset.hand[index].scored:
        case Scored.ALL:
            return index, list(range(len(faces)))
        case Scored.REPEATED:
            return index, [position for position, rank in enumerate(ranks) if count[rank] >= 2]
        case Scored.HIGHEST:
            return index, [ranks.index(max(ranks))]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a play's points depend on besides its cards."""

    levels: Sequence[int]
    """By hand type."""
    owned: Sequence[int]
    """Modifiers owned, by position in the ruleset."""
    plays_made: int
    """Plays made earlier in the round."""
    discards_left: int
    money: int


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a play's points come about: ``points = base * mult * factor``."""

    type: int
    scored: tuple[int, ...]
    """Positions among the cards played."""
    base: int
    mult: int
    factor: int

    @property
    def points(self) -> int:
        """The points."""
        return self.base * self.mult * self.factor


def score(faces: Sequence[Face], situation: Situation, ruleset: Ruleset) -> Scoring:
    """Score a play (statement, sections Scoring a play and Modifiers)."""
    index, scored = classify(faces, ruleset)
    hand, above = ruleset.hand[index], situation.levels[index] - 1
    base = hand.base + above * hand.base_per_level
    base += sum(ruleset.cards.chips[faces[position][0]] for position in scored)
    mult = hand.mult + above * hand.mult_per_level
    factor = 1
    for owned in situation.owned:
        modifier = ruleset.modifier[owned]
        if not _applies(modifier, hand.code, len(faces), situation, ruleset):
            continue
        match modifier.effect:
            case Effect.ADD_BASE:
                base += modifier.amount * _count(modifier, faces, scored, situation, ruleset)
            case Effect.ADD_MULT:
                mult += modifier.amount * _count(modifier, faces, scored, situation, ruleset)
            case Effect.TIMES:
                factor *= modifier.amount
    return Scoring(index, tuple(scored), base, mult, factor)


def _applies(modifier: Modifier, code: str, cards: int, situation: Situation, ruleset: Ruleset) -> bool:
    if modifier.hands is not None and code not in modifier.hands:
        return False
    if modifier.max_cards is not None and cards > modifier.max_cards:
        return False
    return not modifier.last_play or situation.plays_made == ruleset.params.plays - 1


def _count(
    modifier: Modifier, faces: Sequence[Face], scored: Sequence[int], situation: Situation, ruleset: Ruleset
) -> int:
    counts: Mapping[Per, int] = {
        Per.PLAY: 1,
        Per.SCORED: sum(_names(modifier, faces[position], ruleset) for position in scored),
        Per.KICKER: len(faces) - len(scored),
        Per.PLAY_MADE: situation.plays_made,
        Per.DISCARD_LEFT: situation.discards_left,
        Per.MONEY: situation.money // (modifier.step or 1),
    }
    return counts[modifier.per]


def _names(modifier: Modifier, face: Face, ruleset: Ruleset) -> bool:
    rank, suit = ruleset.cards.ranks[face[0]], ruleset.cards.suits[face[1]]
    return (modifier.suits is None or suit in modifier.suits) and (
        modifier.ranks is None or rank in modifier.ranks
    )
