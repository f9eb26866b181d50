"""The rule options: the official game by default (README, section Rules)."""

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from engines.blackjack.cards import DECK, POINTS_OF_DECK
from simfarm.core.lines import LINE_BYTES
from simfarm.core.process import ProcessRules

HAND_POINTS = 31
"""Most points, aces as 1, that a player's hand can hold: a ten drawn to a hard 21 that did not stand."""
DEALER_POINTS = 26
"""Most points, aces as 1, that the dealer's hand can hold: a ten drawn to a hard 16."""

DOUBLE_TOTALS = {"any_two": range(2, 22), "9_to_11": range(9, 12), "10_to_11": range(10, 12), "none": range(0)}
"""Totals on which a hand may double, by ``double_allowed``."""


def _flag(value: Any) -> Any:
    return bool(value) if type(value) is int and value in (0, 1) else value


Flag = Annotated[bool, BeforeValidator(_flag)]
"""True and false, or 1 and 0 as requests write them."""


class BlackjackRules(ProcessRules):
    """Rules of play, of the protocol and of time. Keys up to ``max_bet`` are named as in requests."""

    decks: Annotated[int, Field(ge=1, le=64, description="decks in the shoe")] = 6
    penetration_reshuffle_fraction: Annotated[
        float, Field(gt=0, le=1, description="the shoe is shuffled before a game once this share has been dealt")
    ] = 0.75
    dealer_hits_soft_17: Annotated[Flag, Field(description="whether the dealer draws to a soft 17")] = True
    blackjack_payout: Annotated[
        float, Field(gt=0, le=10, description="what a natural wins per coin, rounded down to half coins")
    ] = 1.5
    double_allowed: Annotated[
        Literal["any_two", "9_to_11", "10_to_11", "none"],
        Field(description="first two cards on which a hand may double, by hard total"),
    ] = "any_two"
    double_after_split: Annotated[Flag, Field(description="whether a hand from a split may double")] = True
    split_max_hands: Annotated[int, Field(ge=1, le=8, description="hands of a seat at most; 1: no splits")] = 4
    resplit_aces: Annotated[Flag, Field(description="whether aces from split aces may split again")] = False
    hit_split_aces: Annotated[Flag, Field(description="whether split aces are played on")] = False
    surrender: Annotated[Literal["none"], Field(description="there is no surrender")] = "none"
    insurance_allowed: Annotated[Flag, Field(description="whether insurance is offered against an ace")] = True
    min_bet: Annotated[int, Field(ge=1, le=10**9, description="smallest bet in coins")] = 1
    max_bet: Annotated[int, Field(ge=1, le=10**9, description="largest bet in coins")] = 100
    start_balance: Annotated[int, Field(ge=1, le=10**12, description="coins of a bot at the start")] = 10_000
    split_by: Annotated[
        Literal["rank", "value"], Field(description="what makes a pair: equal rank, or also 10 with K by value")
    ] = "rank"
    natural_completes: Annotated[
        Flag, Field(description="whether a natural completes by itself, without a play request")
    ] = True
    twenty_one_completes: Annotated[
        Flag, Field(description="whether a hand at 21 by a hit or after a split completes by itself")
    ] = True
    out_of_range: Annotated[
        Literal["terminate", "clamp"], Field(description="what a bet or insurance out of range does")
    ] = "terminate"
    strict_ids: Annotated[
        Flag, Field(description="whether type, match_id, game_id and bot_id of an answer must be there and match")
    ] = True
    reply_ms: Annotated[
        int, Field(ge=1, le=600_000, description="wall time in ms for a reply, from the end of the request")
    ] = 500
    startup_ms: Annotated[
        int, Field(ge=0, le=600_000, description="time in ms that the first reply of a match may take on top")
    ] = 5000
    line_bytes: Annotated[
        int, Field(ge=4096, le=1 << 30, description="longest line that a bot may write, newline apart")
    ] = LINE_BYTES
    time_budget_ms: Annotated[int, Field(ge=1, description="what requests say about the time in ms")] = 50

    @model_validator(mode="after")
    def _bets_fit(self) -> "BlackjackRules":
        if self.max_bet < self.min_bet:
            raise ValueError(f"max_bet = {self.max_bet} is below min_bet = {self.min_bet}")
        return self

    @property
    def shoe_size(self) -> int:
        """Cards in the shoe."""
        return DECK * self.decks

    @property
    def reshuffle_at_dealt(self) -> int:
        """Cards dealt at which the shoe is shuffled before the next game."""
        return int(Fraction(str(self.penetration_reshuffle_fraction)) * self.shoe_size)

    @property
    def max_hands(self) -> int:
        """Hands that a table may hold so that its cards can never run out, whatever is dealt."""
        return (POINTS_OF_DECK * self.decks - DEALER_POINTS) // HAND_POINTS

    def payout(self, wager: int) -> int:
        """What a natural wins on a wager of so many coins, in half coins."""
        return int(Fraction(str(self.blackjack_payout)) * 2 * wager)

    def shown(self) -> dict[str, object]:
        """The object ``st.rules`` of a request: flags as 0 and 1, in the statement's order."""
        return {
            "decks": self.decks,
            "penetration_reshuffle_fraction": self.penetration_reshuffle_fraction,
            "dealer_hits_soft_17": int(self.dealer_hits_soft_17),
            "blackjack_payout": self.blackjack_payout,
            "double_allowed": self.double_allowed,
            "double_after_split": int(self.double_after_split),
            "split_max_hands": self.split_max_hands,
            "resplit_aces": int(self.resplit_aces),
            "hit_split_aces": int(self.hit_split_aces),
            "surrender": self.surrender,
            "insurance_allowed": int(self.insurance_allowed),
            "min_bet": self.min_bet,
            "max_bet": self.max_bet,
        }
