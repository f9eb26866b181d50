"""counter: counts cards (hi-lo), bets by the count, insures and departs from basic strategy where the count says so.

Low cards (2 to 6) that are gone count +1, tens and aces -1. The count divided by the decks that are left, the true
count, tells how good the next hand is: every point is worth about half a per cent of the bet, and the game is even
near one point. What has been dealt in this shoe comes from `discard_rank_counts` and from the cards that this game
has shown; the most that was seen of a rank in the game is kept, since hands vanish when a seat is terminated.
"""

import os
import re
import sys

BET_STEP = 40
"""Coins to bet for every point of the true count above one."""
INSURE_AT = 3.0
# One row for each hand, one column for each upcard 2 3 4 5 6 7 8 9 10 A.
# H hit, S stand, D double or else hit, E double or else stand, P split.
HARD = {
    **dict.fromkeys(range(4, 9), "HHHHHHHHHH"),
    9: "HDDDDHHHHH",
    10: "DDDDDDDDHH",
    11: "DDDDDDDDDD",
    12: "HHSSSHHHHH",
    **dict.fromkeys(range(13, 17), "SSSSSHHHHH"),
    **dict.fromkeys(range(17, 22), "SSSSSSSSSS"),
}
SOFT = {
    12: "HHHHDHHHHH",
    13: "HHHDDHHHHH",
    14: "HHHDDHHHHH",
    15: "HHDDDHHHHH",
    16: "HHDDDHHHHH",
    17: "HDDDDHHHHH",
    18: "EEEEESSHHH",
    19: "SSSSESSSSS",
    20: "SSSSSSSSSS",
    21: "SSSSSSSSSS",
}
PAIRS = {
    2: "PPPPPP----",
    3: "PPPPPP----",
    4: "---PP-----",
    5: "----------",
    6: "PPPPP-----",
    7: "PPPPPP----",
    8: "PPPPPPPPPP",
    9: "PPPPP-PP--",
    10: "----------",
    11: "PPPPPPPPPP",
}
# Hard total and upcard: from this true count on the first code holds, below it the second.
DEPARTURES = {
    (16, 10): (0, "S", "H"),
    (15, 10): (4, "S", "H"),
    (16, 9): (5, "S", "H"),
    (12, 2): (3, "S", "H"),
    (12, 3): (2, "S", "H"),
    (12, 4): (0, "S", "H"),
    (12, 5): (-2, "S", "H"),
    (12, 6): (-3, "S", "H"),
    (13, 2): (-1, "S", "H"),
    (13, 3): (-2, "S", "H"),
    (9, 2): (1, "D", "H"),
    (9, 7): (3, "D", "H"),
    (10, 10): (4, "D", "H"),
    (10, 11): (3, "D", "H"),
}
VALUES = {b"A": 11, b"K": 10, b"Q": 10, b"J": 10, **{b"%d" % n: n for n in range(2, 11)}}
TAGS = {rank: 1 if value <= 6 else -1 if value >= 10 else 0 for rank, value in VALUES.items()}

RANK = re.compile(rb'"rank"\s*:\s*"(\w+)"')
RANK_COUNT = re.compile(rb'"(\w+)"\s*:\s*(\d+)')
HAND_ID = re.compile(rb'"hand_id"\s*:\s*("[^"]*")')
GAME_ID = re.compile(rb'"game_id"\s*:\s*(\d+)')
BALANCE = re.compile(rb'"balance"\s*:\s*(\d+)')
MIN_BET = re.compile(rb'"min_bet"\s*:\s*(\d+)')
MAX_BET = re.compile(rb'"max_bet"\s*:\s*(\d+)')
MAX_INSURANCE = re.compile(rb'"max_insurance"\s*:\s*(\d+)')
REMAINING = re.compile(rb'"cards_remaining_in_shoe"\s*:\s*(\d+)')


def find(pattern: re.Pattern[bytes], text: bytes, start: int = 0) -> bytes:
    """What the pattern's group holds where it first occurs."""
    found = pattern.search(text, start)
    assert found is not None, pattern
    return found[1]


class Count:
    """The count of the shoe, kept from request to request."""

    def __init__(self) -> None:
        self.game = b""
        self.seen: dict[bytes, int] = {}

    def true_count(self, request: bytes) -> float:
        """The true count that a request shows."""
        game = find(GAME_ID, request)
        if game != self.game:
            self.game = game
            self.seen = {}
        shoe = request.index(b'"shoe"')
        discards = request.index(b'"discard_rank_counts"', shoe)
        ranks = RANK.findall(request, request.index(b'"hands"'), shoe)
        ranks += RANK.findall(request, request.index(b'"dealer"', shoe), request.index(b'"cards_revealed"', shoe))
        for rank in set(ranks):
            self.seen[rank] = max(self.seen.get(rank, 0), ranks.count(rank))
        running = sum(TAGS[rank] * count for rank, count in self.seen.items())
        for rank, count in RANK_COUNT.findall(request, discards + 21, request.index(b"}", discards)):
            running += TAGS[rank] * int(count)
        # The hole card is dealt, but unseen like those in the shoe.
        unseen = int(find(REMAINING, request, shoe)) + (1 if self.seen else 0)
        return 52 * running / unseen


def decide(ranks: list[bytes], upcard: bytes, may_double: bool, may_split: bool, true_count: float) -> bytes:
    """The action for a hand of these ranks against this upcard; ranks as in requests, as bytes."""
    column = VALUES[upcard] - 2
    if may_split and PAIRS[VALUES[ranks[0]]][column] == "P":
        return b"SPLIT"
    total = sum(VALUES[rank] for rank in ranks)
    aces = ranks.count(b"A")
    while total > 21 and aces:
        total -= 10
        aces -= 1
    code = (SOFT if aces else HARD)[total][column]
    departure = DEPARTURES.get((total, VALUES[upcard])) if not aces else None
    if departure is not None:
        code = departure[1] if true_count >= departure[0] else departure[2]
    if code in "DE" and may_double:
        return b"DOUBLE"
    return b"HIT" if code in "HD" else b"STAND"


def play(request: bytes, true_count: float) -> bytes:
    """The action that a play request asks for."""
    decision = request.rindex(b'"decision"')
    you = request.rindex(b'"you"', 0, decision)
    hand = request.index(find(HAND_ID, request, decision), you)
    ranks = RANK.findall(request, hand, request.index(b"]", hand))
    upcard = find(RANK, request, request.index(b'"upcard"', hand))
    return decide(ranks, upcard, b'"DOUBLE"' in request[decision:], b'"SPLIT"' in request[decision:], true_count)


def bet(request: bytes, true_count: float) -> int:
    """The bet for a count: the least that is allowed while the house has the edge."""
    you = request.rindex(b'"you"')
    low, high = int(find(MIN_BET, request, you)), int(find(MAX_BET, request, you))
    return max(low, min(int(BET_STEP * (true_count - 1)), high, int(find(BALANCE, request, you))))


def insure(request: bytes, true_count: float) -> bytes:
    """Insurance pays when more than a third of the unseen cards are tens, which is at about three points."""
    you = request.rindex(b'"you"')
    stake = min(int(find(MAX_INSURANCE, request, you)), int(find(BALANCE, request, you)))
    return b'INSURANCE","amount":%d' % stake if true_count >= INSURE_AT and stake > 0 else b'NO_INSURANCE"'


def main() -> None:
    count = Count()
    for request in sys.stdin.buffer:
        # match_id, game_id and bot_id stand between the first comma and the field seat: they go back as they came.
        identity = request[request.index(b",") : request.index(b'"seat"')]
        phase = request.index(b'"', request.index(b'"phase"') + 7) + 1
        true_count = count.true_count(request)
        if request.startswith(b"bet", phase):
            action = b'BET","amount":%d' % bet(request, true_count)
        elif request.startswith(b"insurance", phase):
            action = insure(request, true_count)
        else:
            action = play(request, true_count) + b'"'
        os.write(1, b'{"type":"action_response"%s"action":"%s}\n' % (identity, action))


if __name__ == "__main__":
    main()
