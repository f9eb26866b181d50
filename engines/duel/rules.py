"""The duel's rule options: the statement's numbers, and what its rulings leave open."""

from typing import Annotated

from pydantic import Field

from simfarm.core.model import Rules


class DuelRules(Rules):
    """The official game if nothing is said."""

    sets: Annotated[int, Field(ge=1, le=9_999, description="sets of a game")] = 99
    rounds: Annotated[int, Field(ge=1, le=100_000, description="rounds of a set, at most")] = 200
    coins: Annotated[int, Field(ge=1, le=100_000, description="coins of each player when a set starts")] = 1000
    ante: Annotated[
        int, Field(ge=1, le=100_000, description="coins that both bet before a round; less if one owns less")
    ] = 10
    cap_bets: Annotated[
        bool, Field(description="a bet above the opponent's coins counts as a bet of all of them")
    ] = False
    time_limit_s: Annotated[
        float, Field(gt=0, le=86_400, description="seconds of real time after which a game ends with its set")
    ] = 20.0
    turn_limit_ms: Annotated[
        int,
        Field(ge=50, le=600_000, description="CPU time in ms after which a callback is taken never to return"),
    ] = 2000
