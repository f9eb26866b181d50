"""Random Poker Run material for tests: plays in random situations, outputs of random players, damaged outputs."""

import random

import numpy as np

from engines.poker_run.hands import Situation, score
from engines.poker_run.instance import Case
from engines.poker_run.kernel import MOST_OWNED, PLAY, Array
from engines.poker_run.moves import Kind, Move
from engines.poker_run.rules import Phase, Run
from engines.poker_run.ruleset import Ruleset


def random_plays(seed: int, count: int) -> Array:
    """Plays of 1 to 5 faces, equal ones allowed, half of them drawn so that strong types are common."""
    rng = np.random.default_rng(seed)
    plays = np.zeros(count, PLAY)
    ranks = rng.integers(0, 13, (count, 5))
    near = (ranks[:, :1] + rng.permuted(np.tile(np.arange(5), (count, 1)), axis=1)) % 13
    few = np.take_along_axis(ranks[:, :2], rng.integers(0, 2, (count, 5)), axis=1)
    kind = rng.integers(0, 4, (count, 1))
    ranks = np.select([kind == 0, kind == 1], [near, few], ranks)
    suits = rng.integers(0, 4, (count, 5))
    suits = np.where(rng.integers(0, 2, (count, 1)) == 0, suits[:, :1], suits)
    plays["faces"] = suits * 13 + ranks
    plays["count"] = np.where(rng.integers(0, 3, count) == 0, rng.integers(1, 6, count), 5)
    owned = rng.permuted(np.tile(np.arange(18), (count, 1)), axis=1)
    plays["owned"][:, :] = owned[:, :MOST_OWNED]
    plays["owned_count"] = rng.integers(0, 6, count)
    plays["levels"] = rng.integers(1, 12, (count, 12))
    plays["plays_made"] = rng.integers(0, 4, count)
    plays["discards_left"] = rng.integers(0, 4, count)
    plays["money"] = rng.integers(0, 60, count)
    return plays


def scores_in_python(plays: Array, ruleset: Ruleset) -> list[tuple[int, int]]:
    """Points and hand types of plays by the readable rules."""
    found = []
    for faces, count, owned, owned_count, _, levels, made, left, money in plays.tolist():
        cards = [(face % 13, face // 13) for face in faces[:count]]
        now = Situation(levels, owned[:owned_count], made, left, money)
        scoring = score(cards, now, ruleset)
        found.append((scoring.points, scoring.type))
    return found


def random_output(rng: random.Random, case: Case, ruleset: Ruleset) -> bytes:
    """A valid output of a player that plays the best of some random hands and shops at random."""
    run = Run(case, ruleset)
    moves = []
    while run.phase is not Phase.OVER and rng.random() < 0.99:
        move = _round_move(rng, run) if run.phase is Phase.ROUND else _shop_move(rng, run)
        if move is None:
            break
        run.apply(move)
        moves.append(move)
    lines = [str(len(moves)), *(move.text(ruleset) for move in moves)]
    return ("\n".join(lines) + "\n").encode()


def _round_move(rng: random.Random, run: Run) -> Move:
    if run.points >= run.target and rng.random() < 0.7:
        return Move(Kind.END)
    if run.discards_left and rng.random() < 0.3:
        return Move(Kind.DISCARD, tuple(rng.sample(run.hand, min(len(run.hand), rng.randint(1, 5)))))
    plays_made = run.ruleset.params.plays - run.plays_left
    now = Situation(run.levels, run.owned, plays_made, run.discards_left, run.money)
    hands = [tuple(rng.sample(run.hand, min(len(run.hand), rng.choice((1, 2, 3, 4, 5, 5, 5))))) for _ in range(60)]
    best = max(hands, key=lambda cards: score([run.faces[card] for card in cards], now, run.ruleset).points)
    return Move(Kind.PLAY, best)


def _shop_move(rng: random.Random, run: Run) -> Move | None:
    legal = list(run.legal_actions())
    plain = [move for move in legal if move.kind not in (Kind.PAINT, Kind.PROMOTE, Kind.REMOVE)]
    if not plain:
        return None
    return rng.choice(legal if rng.random() < 0.3 else plain)


def damaged(rng: random.Random, output: bytes) -> bytes:
    """An output with a few bytes changed, dropped, added, or lines moved about."""
    data = bytearray(output)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data[at : at + 1] = bytes([rng.choice(b"0123456789 \n\t\r\0playx\xff")])
            case 1:
                del data[at : at + rng.randint(1, 3)]
            case 2:
                data[at:at] = bytes([rng.choice(b"0123456789 \n\r\0-+")])
            case 3:
                lines = bytes(data).split(b"\n")
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                data = bytearray(b"\n".join(lines))
            case _:
                data += rng.choice((b"\n", b" \n\n", b"end\n", b"\0", b"next"))
    return bytes(data)
