"""A run told move by move, for people."""

from collections.abc import Iterator, Sequence

from engines.poker_run.checker import check
from engines.poker_run.instance import Case
from engines.poker_run.moves import Kind, Move, parse
from engines.poker_run.rules import Event, Phase, Run
from engines.poker_run.ruleset import Ruleset


def transcript(case: Case, ruleset: Ruleset, output: bytes) -> Iterator[str]:
    """The moves of an output up to its first mistake, what each did, and the verdict."""
    verdict = check(case, ruleset, output)
    run = Run(case, ruleset)
    yield _round_line(run)
    for line in output.split(b"\n")[1 : 1 + verdict.moves]:
        move = parse(line, ruleset)
        cards = named(run, move.cards)
        phase = run.phase
        event = run.apply(move)
        yield f"  {move.text(ruleset)}{_effect(run, event, cards)}"
        if event.ended is not None:
            end = event.ended
            how = f"cleared, ${end.earned} earned, ${run.money} held" if end.cleared else "missed"
            yield f"  {end.points} of {end.target} points: {how}"
        if phase is Phase.SHOP and run.phase is Phase.ROUND:
            yield _round_line(run)
    if verdict.mistake is not None:
        yield f"invalid: {verdict.mistake}"
    yield f"{verdict.total} points, {verdict.rounds_cleared} rounds cleared"


def named(run: Run, cards: Sequence[int]) -> str:
    """Cards as rank and suit, as they are now."""
    names = run.ruleset.cards
    faces = (run.faces[card] for card in cards)
    return " ".join(f"{names.ranks[rank]}{names.suits[suit]}" for rank, suit in faces)


def _round_line(run: Run) -> str:
    owned = ", ".join(run.ruleset.modifier[which].name for which in run.owned) or "no modifiers"
    return f"round {run.round + 1}, target {run.target}, ${run.money}, {owned}: {named(run, run.hand)}"


def _effect(run: Run, event: Event, cards: str) -> str:
    move: Move = event.move
    if event.scoring is not None:
        how, name = event.scoring, run.ruleset.hand[event.scoring.type].name
        return f"  [{cards}] {name}: {how.base} x {how.mult} x {how.factor} = {how.points}"
    if move.kind in (Kind.END, Kind.NEXT):
        return ""
    return f"  [{cards}]" if move.kind is Kind.DISCARD else f"  ${run.money} left"
