"""The bundled blackjack bots: what they answer to requests in the statement's form, and whole matches."""

import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from engines.blackjack.languages import LANGUAGES, build
from simfarm.core.model import Bot, SourceFile
from simfarm.core.process import BotProcess, Limits
from tests import blackjack_expectation as expectation

FOLDER = Path(__file__).parents[1] / "engines" / "blackjack" / "bots"
BOTS = sorted(path.name for path in FOLDER.iterdir() if path.is_file())
RANKS = ["A", *map(str, range(2, 11)), "J", "Q", "K"]
Request = dict[str, Any]


def load(file: str) -> ModuleType:
    """A Python bot as a module; it plays only when it is run."""
    spec = importlib.util.spec_from_file_location(f"bot_{Path(file).stem}", FOLDER / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def request(
    phase: str,
    cards: Sequence[str] = (),
    upcard: str | None = None,
    legal: Sequence[str] = (),
    *,
    hands: Sequence[Sequence[str]] = (),
    later: Sequence[Sequence[str]] = (),
    others: Sequence[str] = (),
    discards: dict[str, int] | None = None,
    remaining: int = 312,
    balance: float = 9990.0,
    game: int = 12,
) -> Request:
    """A request as the statement shows it, key by key, to the bot ``me`` in seat 1 of 2.

    Args:
        phase: bet, insurance or play.
        cards: the hand that is to be played, between those in ``hands`` and in ``later``.
        upcard: the dealer's.
        legal: the legal actions.
        hands: hands of the same seat that come before.
        later: hands of the same seat that come behind.
        others: the hand of the other seat.
        discards: discarded cards by rank.
        remaining: cards left in the shoe.
        balance: of the bot.
        game: the game's number.
    """

    def hand(seat: int, index: int, ranks: Sequence[str]) -> Request:
        shown = [{"rank": rank, "suit": "SHDC"[index % 4]} for rank in ranks]
        state = {"wager": 10.0, "is_split_hand": 0, "is_completed": 0, "cards": shown}
        return {"hand_id": f"{game}-{seat}-{index}", **state}

    mine = [hand(1, index, ranks) for index, ranks in enumerate([*hands, cards, *later])] if cards else []
    card = {"rank": upcard, "suit": "H"} if upcard else None
    limits = {"min_bet": 1, "max_bet": 100}
    state = {
        "rules": {
            **{"decks": 6, "penetration_reshuffle_fraction": 0.75, "dealer_hits_soft_17": 1},
            **{"blackjack_payout": 1.5, "double_allowed": "any_two", "double_after_split": 1},
            **{"split_max_hands": 4, "resplit_aces": 0, "hit_split_aces": 0, "surrender": "none"},
            **{"insurance_allowed": 1, **limits},
        },
        "table": {
            "num_seats": 2,
            "seat_order": [{"seat": 0, "bot_id": "other"}, {"seat": 1, "bot_id": "me"}],
            "balances": {"other": 10005.5, "me": balance},
            "active_bots": ["other", "me"],
            "terminated_bots": [],
            "current_bets": {"other": 5.0, "me": 10.0},
            "hands": [
                {"seat": 0, "hands": [hand(0, 0, others)] if others else []},
                {"seat": 1, "hands": mine},
            ],
        },
        "shoe": {
            "cards_dealt_in_shoe": 312 - remaining,
            "cards_remaining_in_shoe": remaining,
            "reshuffle_at_dealt": 234,
            "discard_rank_counts": {rank: (discards or {}).get(rank, 0) for rank in RANKS},
        },
        "history": {"games_completed": game - 1, "recent_games": []},
        "you": {"bot_id": "me", "seat": 1, "balance": balance, "current_bet_total": 10.0, "current_hands": mine},
        "dealer": {
            "upcard": card,
            "hole_card_known": 0,
            "cards_revealed": [card] if card else [],
            "peek_checked": int(phase == "play"),
            "has_blackjack": 0,
        },
        "decision": {
            "phase": phase,
            **({"hand_id": f"{game}-1-{len(hands)}"} if phase == "play" else {}),
            "legal_actions": list(legal),
        },
        **({"max_insurance": 5} if phase == "insurance" else {}),
    }
    return {
        **{"type": "action_request", "match_id": "a-match.1", "game_id": game, "bot_id": "me", "seat": 1},
        **{"phase": phase, "st": state, "legal_actions": list(legal)},
        **(limits if phase == "bet" else {}),
        **({"max_insurance": 5} if phase == "insurance" else {}),
        "time_budget_ms": 50,
    }


def bet_request(**state: Any) -> Request:
    return request("bet", legal=["BET"], **state)


def insurance_request(cards: Sequence[str], **state: Any) -> Request:
    return request("insurance", cards, "A", ["INSURANCE", "NO_INSURANCE"], **state)


def play_request(cards: Sequence[str], upcard: str, *more: str, **state: Any) -> Request:
    return request("play", cards, upcard, ["HIT", "STAND", *more], **state)


@contextmanager
def seated(file: str, seed: int = 1) -> Iterator[Any]:
    """A running bot, as a function from a request to its answer; odd requests are written with blanks."""
    path = FOLDER / file
    language = next(name for name, entry in LANGUAGES.items() if path.suffix in entry.suffixes)
    if language in ("JavaScript", "Perl") and not shutil.which({"JavaScript": "node", "Perl": "perl"}[language]):
        pytest.skip(f"no {language} here")
    bot, _ = build(Bot("me", (SourceFile(path.name, path.read_bytes()),)))
    asked = 0
    with (
        BotProcess(bot, Limits(memory=LANGUAGES[language].memory), {"SIMFARM_SEED": str(seed)}) as process,
        os.fdopen(os.dup(process.stdout), "rb") as stdout,
    ):

        def ask(what: Request) -> Request:
            nonlocal asked
            asked += 1
            text = json.dumps(what, separators=(", ", ": ") if asked % 2 else (",", ":"))
            os.write(process.stdin, text.encode() + b"\n")
            answer = json.loads(stdout.readline())
            assert answer["type"] == "action_response"
            assert [answer[key] for key in ("match_id", "game_id", "bot_id")] == [
                "a-match.1",
                what["game_id"],
                "me",
            ]
            assert answer["action"] in what["legal_actions"]
            if answer["action"] == "BET":
                assert type(answer["amount"]) is int
                assert what["min_bet"] <= answer["amount"] <= what["max_bet"]
            assert isinstance(answer, dict)
            return answer

        yield ask


@pytest.mark.parametrize("file", BOTS)
def test_a_bot_answers_anything_legally(file: str) -> None:
    """Random states, hands and balances; ids are echoed (see ``seated``), bets are affordable."""
    draw = random.Random(3)
    flat = file in ("dflat.c", "drandom.c")  # as the statement has them: they do not look at their balance
    with seated(file) as ask:
        for game in range(1, 150):
            balance = draw.choice([10, 50.5, 9990]) if flat else draw.choice([1, 4.5, 10, 9990.5])
            others = draw.choices(RANKS, k=draw.randint(2, 5))
            discards = {rank: draw.randint(0, 18) for rank in RANKS}
            state: Any = {
                "balance": balance,
                "game": game,
                "discards": discards,
                "remaining": draw.randint(78, 312),
            }
            answer = ask(bet_request(**state))
            assert answer["amount"] <= balance
            cards = draw.choices(RANKS, k=2)
            answer = ask(insurance_request(cards, others=others, **state))
            assert answer.get("amount", 0) <= min(5, balance)
            more = [action for action in ("DOUBLE", "SPLIT") if draw.random() < 0.5]
            earlier = [draw.choices(RANKS, k=3) for _ in range(draw.randint(0, 3))]
            more = more if cards[0] == cards[1] else [action for action in more if action != "SPLIT"]
            ask(
                play_request(
                    cards, draw.choice(RANKS), *more, hands=earlier, later=earlier[:1], others=others, **state
                )
            )


def test_dflat() -> None:
    with seated("dflat.c") as ask:
        assert ask(bet_request())["amount"] == 10
        assert ask(insurance_request(["A", "K"]))["action"] == "NO_INSURANCE"
        assert ask(play_request(["10", "9"], "6", "DOUBLE"))["action"] == "DOUBLE"
        assert ask(play_request(["10", "5", "5"], "6"))["action"] == "HIT"
        assert ask(request("play", ["A", "5"], "6", ["STAND"]))["action"] == "STAND"
        actions = Counter(ask(play_request(["8", "8"], "6", "DOUBLE", "SPLIT"))["action"] for _ in range(2000))
        assert actions.keys() == {"SPLIT", "DOUBLE"}
        # 400 expected, four standard deviations are 72.
        assert 328 <= actions["SPLIT"] <= 472
        short = Counter(ask(play_request(["8", "8"], "6", "SPLIT"))["action"] for _ in range(200))
        assert short.keys() == {"SPLIT", "HIT"}


def test_drandom() -> None:
    with seated("drandom.c") as ask:
        assert ask(insurance_request(["A", "K"]))["action"] == "NO_INSURANCE"
        bets = Counter(ask(bet_request())["amount"] for _ in range(3000))
        assert bets.keys() == {5, 6, 7, 8, 9, 10}
        assert all(500 - 82 <= count <= 500 + 82 for count in bets.values()), bets
        for more in ([], ["DOUBLE"], ["DOUBLE", "SPLIT"]):
            legal = ["HIT", "STAND", *more]
            actions = Counter(ask(play_request(["8", "8"], "6", *more))["action"] for _ in range(2000))
            assert actions.keys() == set(legal)
            sigma = (2000 * (1 / len(legal)) * (1 - 1 / len(legal))) ** 0.5
            assert all(abs(count - 2000 / len(legal)) < 4 * sigma for count in actions.values()), actions


@pytest.mark.parametrize("file", ["dflat.c", "drandom.c"])
def test_a_random_bot_follows_its_seed(file: str) -> None:
    def walk(seed: int) -> list[str]:
        with seated(file, seed) as ask:
            return [ask(play_request(["8", "8"], "6", "DOUBLE", "SPLIT"))["action"] for _ in range(60)]

    first = walk(2**63 + 5)
    assert walk(2**63 + 5) == first
    assert walk(2**63 + 6) != first


def code(card: int) -> bytes:
    return b"A" if card == 1 else b"%d" % card


ACTIONS = (b"STAND", b"HIT", b"DOUBLE")


def test_basic_strategy_takes_the_best_action_everywhere() -> None:
    """Against expectations from the rules: each pair by itself, other hands by total, as the strategy is meant."""
    decide = load("basic_strategy.py").decide
    wrong: list[str] = []
    cells = 0
    for upcard in expectation.CARDS:
        totals: dict[tuple[int, bool], dict[bytes, float]] = {}
        hands: dict[tuple[int, bool], list[bytes]] = {}
        for first in expectation.CARDS:
            for second in range(first, 11):
                total, soft = expectation.total_of(first, second)
                if total == 21:
                    continue
                draw = expectation.chances(first, second, upcard)
                chance = expectation.chances(upcard)[first] * expectation.chances(upcard, first)[second]
                worths = [
                    expectation.stand(total, upcard, draw),
                    expectation.hit(total, soft, upcard, draw),
                    expectation.double(total, soft, upcard, draw),
                ]
                if first == second:
                    cells += 1
                    chosen = decide([code(first)] * 2, code(upcard), True, True)
                    splits = expectation.split(first, upcard, draw) > max(worths)
                    if splits != (chosen == b"SPLIT"):
                        wrong.append(f"pair of {first} against {upcard}: {chosen.decode()}")
                worth = totals.setdefault((total, soft), dict.fromkeys(ACTIONS, 0.0))
                for action, value in zip(ACTIONS, worths, strict=True):
                    worth[action] += (1 if first == second else 2) * chance * value
                hands[total, soft] = [code(first), code(second)]
        for (total, soft), worth in totals.items():
            for actions in (ACTIONS, ACTIONS[:2]):
                cells += 1
                chosen = decide(hands[total, soft], code(upcard), len(actions) == 3, False)
                if chosen != max(actions, key=lambda action: worth[action]):
                    wrong.append(f"{'soft' if soft else 'hard'} {total} against {upcard}: {chosen.decode()}")
    assert wrong == []
    assert cells == 100 + 10 * 2 * (17 + 9)


def test_basic_strategy_reads_requests() -> None:
    with seated("basic_strategy.py") as ask:
        assert [ask(bet_request(balance=balance))["amount"] for balance in (9990.5, 10, 7.5, 1)] == [10, 10, 7, 1]
        assert ask(insurance_request(["10", "10"]))["action"] == "NO_INSURANCE"
        play = [
            (play_request(["10", "6"], "7", later=[["10", "3"]]), "HIT"),
            (play_request(["K", "6"], "6", others=["A", "A"]), "STAND"),
            (play_request(["8", "8"], "A", "DOUBLE", "SPLIT"), "SPLIT"),
            (play_request(["8", "8"], "A", "DOUBLE"), "HIT"),
            (play_request(["A", "7"], "6", "DOUBLE"), "DOUBLE"),
            (play_request(["A", "7"], "6"), "STAND"),
            (play_request(["A", "A"], "6", hands=[["A", "5"]]), "HIT"),
            (play_request(["2", "3", "A", "A", "Q"], "10", hands=[["5", "6"], ["5", "5"], ["9", "9"]]), "STAND"),
            (play_request(["6", "5"], "A", "DOUBLE", hands=[["6", "10"]]), "DOUBLE"),
            (play_request(["10", "K"], "6", "DOUBLE"), "STAND"),
        ]
        assert [ask(what)["action"] for what, _ in play] == [action for _, action in play]


def test_counter_counts() -> None:
    counter = load("counter.py")
    count = counter.Count()

    def true_count(what: Request) -> float:
        value = count.true_count(json.dumps(what).encode())
        assert isinstance(value, float)
        return value

    assert true_count(bet_request()) == 0
    # 10 low cards and 4 tens and aces are gone, two decks are left.
    assert true_count(bet_request(discards={"2": 4, "6": 6, "7": 9, "10": 1, "K": 2, "A": 1}, remaining=104)) == 3
    # On the table: low 5 4 3 2, high A K, upcard 6; the hole card is unseen as well.
    table = play_request(["5", "4"], "6", hands=[["A", "3"]], others=["K", "2"], remaining=103, game=13)
    assert true_count(table) == pytest.approx(3 / 2)
    # A seat whose hands have gone from the table is still remembered, until the next game.
    assert true_count(play_request(["5", "4"], "6", hands=[["A", "3"]], remaining=103, game=13)) == pytest.approx(
        3 / 2
    )
    assert true_count(play_request(["5", "4"], "6", hands=[["A", "3"]], remaining=103, game=14)) == pytest.approx(
        3 / 2
    )
    assert true_count(bet_request(game=15)) == 0


def test_counter_bets_and_insures_by_the_count() -> None:
    rich = {"discards": {"2": 16, "3": 12}, "remaining": 260}  # 28 points over 5 decks
    poor = {"discards": {"A": 16, "K": 12}, "remaining": 260}
    warm = {"discards": {"2": 10}, "remaining": 260}
    with seated("counter.py") as ask:
        assert [ask(bet_request(**state))["amount"] for state in (poor, {}, warm, rich)] == [1, 1, 40, 100]
        assert ask(bet_request(balance=30.5, **rich))["amount"] == 30
        assert ask(insurance_request(["9", "9"], **rich)).items() >= {"action": "INSURANCE", "amount": 5}.items()
        assert ask(insurance_request(["9", "9"], balance=3.5, **rich))["amount"] == 3
        assert ask(insurance_request(["9", "9"]))["action"] == "NO_INSURANCE"
        assert ask(play_request(["10", "6"], "10", **rich))["action"] == "STAND"
        assert ask(play_request(["10", "6"], "10", **poor))["action"] == "HIT"


def test_counter_plays_basic_strategy_apart_from_its_departures() -> None:
    """At a true count of nought, and at any where no departure is known."""
    counter, basic = load("counter.py"), load("basic_strategy.py")
    departures = 0
    for upcard in expectation.CARDS:
        for first in expectation.CARDS:
            for second in expectation.CARDS:
                hand = [code(first), code(second)]
                options = (True, first == second)
                expected = basic.decide(hand, code(upcard), *options)
                for count in (-9, 0, 9):
                    found = counter.decide(hand, code(upcard), *options, count)
                    if found != expected:
                        departures += 1
                        total, soft = expectation.total_of(first, second)
                        assert not soft
                        assert (total, 11 if upcard == 1 else upcard) in counter.DEPARTURES
                        assert (total, upcard) == (16, 10) or count != 0
    assert departures > 20


@pytest.mark.parametrize(
    ("file", "bet", "soft_17", "hard_12"),
    [("mimic.js", 5, "HIT", "HIT"), ("never_bust.pl", 5, "HIT", "STAND"), ("stand_one.bf", 1, "STAND", "STAND")],
)
def test_simple_bots(file: str, bet: int, soft_17: str, hard_12: str) -> None:
    with seated(file) as ask:
        assert ask(bet_request())["amount"] == bet
        assert ask(insurance_request(["A", "K"]))["action"] == "NO_INSURANCE"
        assert (
            ask(play_request(["A", "6"], "6", "DOUBLE", hands=[["K", "K"]], later=[["K", "3"]]))["action"]
            == soft_17
        )
        assert ask(play_request(["A", "6", "5"], "6"))["action"] == hard_12
        assert ask(play_request(["A", "7"], "6", "DOUBLE"))["action"] == "STAND"
        assert ask(play_request(["10", "7"], "6", "DOUBLE"))["action"] == "STAND"


def whole_match(games: int, *files: str, **rules: int) -> dict[str, Request]:
    """What ``simfarm play`` says about each bot, all at one table."""
    command = [str(Path(sys.executable).with_name("simfarm")), "play", "blackjack", "--format", "json"]
    command += ["--games", str(games), *(f"--bot={Path(file).stem}:{FOLDER / file}" for file in files)]
    command += [f"--rule={key}={value}" for key, value in {"reply_ms": 5000, **rules}.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    return {bot["name"]: bot for bot in json.loads(done.stdout)["bots"]}


PLAYABLE = [file for file in BOTS if shutil.which({".js": "node", ".pl": "perl"}.get(Path(file).suffix, "sh"))]


def test_all_bots_play_a_match_to_its_end() -> None:
    bots = whole_match(300, *PLAYABLE)
    assert len(bots) == len(PLAYABLE) >= 5
    assert {name: (bot["games"], bot["reason"]) for name, bot in bots.items()} == dict.fromkeys(
        bots, (300, "completed")
    )


def test_bots_that_look_at_their_balance_are_never_terminated() -> None:
    """With 30 coins most go broke; the last coins are bet as whole numbers."""
    careful = [file for file in PLAYABLE if file not in ("dflat.c", "drandom.c")]
    bots = whole_match(1500, *careful, start_balance=30)
    assert not any(bot["terminated"] for bot in bots.values()), bots
    assert any(bot["reason"] == "broke" for bot in bots.values())
