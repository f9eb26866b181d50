"""A match told decision by decision."""

from collections.abc import Callable, Iterator

from engines.blackjack.records import cards_text, hands_text
from engines.blackjack.referee import Match, Watcher
from engines.blackjack.table import Answer, Failure, Legal, Seat, Table


def narrate(start: Callable[[Watcher], Match]) -> Iterator[str]:
    """Play a match and yield lines: each decision with what it was about, then each game's cards and results.

    Args:
        start: makes the match, with the given watcher.
    """
    lines: list[str] = []

    def watch(table: Table, seat: Seat, legal: Legal, answer: Answer | Failure) -> None:
        lines.append(f"  {_situation(table, seat, legal)} -> {_answer(answer)}")

    with start(watch) as match:
        seats = match.table.everyone
        balances = {seat.name: seat.balance for seat in seats}
        yield f"{match.match_id}: {', '.join(seat.name for seat in seats)}"
        for table in match.play():
            yield f"game {table.game_id}, {table.shoe.dealt} cards dealt, order {_order(table)}"
            yield from lines
            lines.clear()
            yield f"  dealer {cards_text(table.dealer)}"
            for seat in table.seats:
                change = (seat.balance - balances[seat.name]) / 2
                hands = hands_text(seat.hands) or "no hands"
                yield f"  {seat.name}: {hands}: {change:+g}, balance {seat.balance / 2:g}"
                if seat.outcome is not None:
                    yield f"  {seat.name} is terminated: {seat.outcome.termination}: {seat.outcome.detail}"
                balances[seat.name] = seat.balance
        yield from lines
        for seat in seats:
            outcome = match.outcome(seat)
            yield f"{seat.name}: {seat.balance / 2:g} after {seat.games} games, {outcome.termination}"


def _order(table: Table) -> str:
    return ", ".join(seat.name for seat in table.seats)


def _situation(table: Table, seat: Seat, legal: Legal) -> str:
    if table.phase == "bet":
        return f"{seat.name} bets, balance {seat.balance / 2:g}"
    upcard = cards_text(table.dealer[:1])
    if table.phase == "insurance":
        return f"{seat.name} with {hands_text(seat.hands)} against {upcard}: insurance up to {seat.bet // 2}"
    hand = table.hand
    assert hand is not None
    return f"{seat.name} with {hand} against {upcard}: {', '.join(legal)}"


def _answer(answer: Answer | Failure) -> str:
    if isinstance(answer, Failure):
        return f"{answer.termination}: {answer.detail}"
    return answer.action if answer.amount is None else f"{answer.action} {answer.amount}"
