"""The rules of the duel, ruling by ruling, in the rows of games that small bots play and in what bots are told."""

import json
from itertools import combinations
from typing import Any

import polars as pl
import pytest

from simfarm.core.model import Deal
from tests.duel_table import CALLER, ENGINE, bot, matchup, play

CALL = bot("caller", CALLER)
WITNESS = """class Witness {
  player_name = "Witness";
  onGameStart() { printLog("onGameStart " + JSON.stringify([...arguments])) }
  onSetStart(data) { printLog("onSetStart " + JSON.stringify(data)) }
  onRoundStart(data) { printLog("onRoundStart " + JSON.stringify(data)) }
  onTurnStart(data) { printLog("onTurnStart " + JSON.stringify(data)); return ANSWER }
  onRoundEnd(result) { printLog("onRoundEnd " + JSON.stringify(result)) }
  onSetEnd(result) { printLog("onSetEnd " + JSON.stringify(result)) }
  onGameEnd(result) { printLog("onGameEnd " + JSON.stringify(result)) }
}"""


def strength(hand: tuple[int, int]) -> tuple[int, int]:
    """The statement's order, written down once more: pairs by height, then units digit, then the bigger card."""
    small, big = sorted(hand)
    return (10, big) if big - small == 10 else ((small + big) % 10, big)


def answering(answer: str, name: str = "bot") -> Any:
    return bot(name, f"class {{ onTurnStart(data) {{ return {answer} }} }}")


@pytest.fixture(scope="module")
def showdowns() -> pl.DataFrame:
    """20,000 rounds in which both call."""
    rules = {"sets": 50, "rounds": 400, "coins": 100_000}
    return play(matchup(CALL, answering("data.op_bet_coins", "other"), rules=rules, record=("rounds",)))["rounds"]


def test_the_order_of_the_190_hands_is_the_statements() -> None:
    hands = sorted(combinations(range(1, 21), 2), key=strength, reverse=True)
    assert hands[:10] == [(n, n + 10) for n in range(10, 0, -1)], "ten pairs on top, 10 and 20 highest"
    assert [sum(hand) % 10 for hand in hands[10:]] == sorted((sum(hand) % 10 for hand in hands[10:]), reverse=True)
    assert strength((3, 6)) > strength((5, 4)), "the statement's own example"


def test_every_showdown_is_won_by_the_better_hand_and_none_is_tied(showdowns: pl.DataFrame) -> None:
    hands = set()
    for a0, b0, a1, b1, winner in showdowns.select(
        "card0_seat0", "card1_seat0", "card0_seat1", "card1_seat1", "winner_seat"
    ).iter_rows():
        assert len({a0, b0, a1, b1}) == 4, "ruling 1: one deck, no card twice"
        assert strength((a0, b0)) != strength((a1, b1))
        assert winner == (0 if strength((a0, b0)) > strength((a1, b1)) else 1)
        hands |= {tuple(sorted((a0, b0))), tuple(sorted((a1, b1)))}
    assert len(hands) == 190


def test_cards_are_dealt_evenly(showdowns: pl.DataFrame) -> None:
    expected = showdowns.height / 20
    for column in ("card0_seat0", "card1_seat0", "card0_seat1", "card1_seat1"):
        counts = showdowns[column].value_counts()["count"]
        assert counts.len() == 20
        # chi-square of 19 degrees of freedom: above 50 once in 10,000
        assert (((counts - expected) ** 2) / expected).sum() < 50


def test_who_moves_first_alternates_across_sets(showdowns: pl.DataFrame) -> None:
    first = showdowns["first_seat"].to_list()
    assert first == [(first[0] + index) % 2 for index in range(len(first))], "ruling 7"


def test_who_moves_first_in_a_game_is_drawn() -> None:
    games = play(matchup(CALL, answering("-1"), games=60, rules={"sets": 1, "rounds": 1}))["games"]
    assert 15 < games["first_seat"].sum() < 45


def test_the_books_balance() -> None:
    rules = {"sets": 20, "ante": 30}
    tables = play(matchup(bot("sample", ""), bot("odds", ""), games=2, rules=rules, record=("rounds",)))
    rounds, sets, games = tables["rounds"], tables["sets"], tables["games"]
    for (game, number), part in rounds.group_by("game", "set", maintain_order=True):
        coins = [1000, 1000]
        for row in part.iter_rows(named=True):
            assert [row["coins_seat0"], row["coins_seat1"]] == coins
            bets = [row["bet_seat0"], row["bet_seat1"]]
            ante = min(30, *coins)
            assert all(ante <= bet <= own for bet, own in zip(bets, coins, strict=True))
            if row["folded_seat"] is None:
                assert bets[0] == bets[1]
            else:
                assert row["folded_seat"] == 1 - row["winner_seat"]
            moved = bets[1 - row["winner_seat"]]
            coins[row["winner_seat"]] += moved
            coins[1 - row["winner_seat"]] -= moved
        assert part.height == 200 or 0 in coins
        told = sets.row(by_predicate=(pl.col("game") == game) & (pl.col("set") == number), named=True)
        assert [told["coins_seat0"], told["coins_seat1"]] == coins
        assert told["winner_seat"] == (0 if coins[0] > coins[1] else 1 if coins[1] > coins[0] else None)
        assert told["rounds"] == part.height == told["rounds_seat0"] + told["rounds_seat1"]
        assert told["turns"] == part["turns"].sum()
        for seat in range(2):
            assert told[f"folds_seat{seat}"] == (part["folded_seat"] == seat).sum()
    by_game = sets.group_by("game", maintain_order=True).agg(pl.col("rounds", "turns", "coins_seat0").sum())
    for column in ("rounds", "turns", "coins_seat0"):
        assert games[column].to_list() == by_game[column].to_list()
    for seat in range(2):
        won = [(part["winner_seat"] == seat).sum() for _, part in sets.group_by("game", maintain_order=True)]
        assert games[f"sets_seat{seat}"].to_list() == won


def calls(answer: str, rules: dict[str, Any], seed: int = 1) -> tuple[list[tuple[str, Any]], pl.DataFrame]:
    """What the witness at seat 0 was told, callback by callback, and the game's rounds."""
    table = matchup(
        bot("w", WITNESS.replace("ANSWER", answer)), bot("sample", ""), rules=rules, seed=seed, record=("rounds",)
    )
    told = []
    for line in ENGINE.replay(table, 0):
        if "[w] " in line:
            name, _, data = line.partition("[w] ")[2].partition(" ")
            told.append((name, json.loads(data)))
    return told, play(table)["rounds"]


def test_a_bot_is_told_what_the_statement_says() -> None:
    rules = {"sets": 3, "rounds": 7, "coins": 500, "ante": 20}
    told, rounds = calls("Math.random() < 0.7 ? data.op_bet_coins : data.op_bet_coins + 30", rules)
    assert told[0] == ("onGameStart", [])
    assert [name for name, _ in told].count("onSetStart") == 3
    assert told[1] == ("onSetStart", {"my_coins": 500})
    assert [name for name, _ in told][-2:] == ["onSetEnd", "onGameEnd"]
    starts = [data for name, data in told if name == "onRoundStart"]
    ends = [data for name, data in told if name == "onRoundEnd"]
    assert len(starts) == len(ends) == rounds.height
    for row, start, end in zip(rounds.iter_rows(named=True), starts, ends, strict=True):
        assert start == {
            "my_coins": row["coins_seat0"],
            "op_coins": row["coins_seat1"],
            "my_cards": [row["card0_seat0"], row["card1_seat0"]],
            "op_card": row["card0_seat1"],
            "first_turn": row["first_seat"] == 0,
            "remain_round_count": 6 - row["round"],
        }
        moved = row["bet_seat1"] if row["winner_seat"] == 0 else -row["bet_seat0"]
        assert end == {
            "win": 1 if row["winner_seat"] == 0 else -1,
            "my_coins": row["coins_seat0"] + moved,
            "op_coins": row["coins_seat1"] - moved,
            "op_cards": [row["card0_seat1"], row["card1_seat1"] if row["folded_seat"] is None else 0],
        }
    assert rounds["folded_seat"].drop_nulls().len() > 0
    assert rounds["folded_seat"].null_count() > 0
    names = [name for name, _ in told]
    for index, (name, data) in enumerate(told):
        if name != "onTurnStart":
            continue
        start = next(told[before][1] for before in range(index, 0, -1) if names[before] == "onRoundStart")
        assert (data["my_coins"], data["op_coins"]) == (start["my_coins"], start["op_coins"]), "ruling 4"
        if names[index - 1] == "onRoundStart" and start["first_turn"]:
            ante = min(20, start["my_coins"], start["op_coins"])
            assert data["my_bet_coins"] == data["op_bet_coins"] == ante
        else:
            assert data["my_bet_coins"] < data["op_bet_coins"] <= data["op_coins"]


def test_the_ante_is_at_most_the_smaller_stack() -> None:
    rounds = play(matchup(CALL, answering("data.op_bet_coins", "other"), rules={"ante": 300}, record=("rounds",)))[
        "rounds"
    ]
    least = rounds.filter(pl.min_horizontal("coins_seat0", "coins_seat1") < 300)
    assert least.height > 10
    assert (least["bet_seat0"] == least.select(pl.min_horizontal("coins_seat0", "coins_seat1")).to_series()).all()


def test_a_call_of_the_ante_ends_the_round_at_once(showdowns: pl.DataFrame) -> None:
    assert showdowns["turns"].unique().to_list() == [1], "ruling 6"


@pytest.mark.parametrize(
    ("answer", "folds"),
    [
        ("data.my_coins", False),
        ("data.op_bet_coins", False),
        ("-1", True),
        ("0", True),
        ("9.99", True),
        ("11.5", True),
    ],
)
def test_what_gives_up_a_round(answer: str, folds: bool) -> None:
    games = play(matchup(answering(answer, "asked"), CALL, rules={"sets": 1, "rounds": 40}))["games"]
    assert (games["folds_seat0"][0] > 0) == folds
    assert (games["illegal_seat0"][0] > 0) == (folds and answer != "-1")


def over(cap: bool) -> pl.DataFrame:
    """Bets everything it owns against one who calls if it can."""
    rules = {"sets": 30, "rounds": 30, "cap_bets": cap}
    tables = play(matchup(answering("data.my_coins - 1", "rich"), CALL, rules=rules, record=("rounds",)))
    return tables["rounds"].filter(
        (pl.col("coins_seat0") - 1 > pl.col("coins_seat1")) & (pl.col("first_seat") == 0)
    )


def test_a_bet_above_the_opponents_coins_leaves_it_only_to_give_up() -> None:
    rounds = over(cap=False)
    assert rounds.height > 3
    assert rounds["folded_seat"].unique().to_list() == [1], "ruling 5"


def test_such_a_bet_can_be_capped() -> None:
    rounds = over(cap=True)
    assert rounds.height > 3
    assert rounds["folded_seat"].null_count() == rounds.height
    assert (rounds["bet_seat0"] == rounds["coins_seat1"]).all()


def test_equal_coins_tie_a_set_and_equal_sets_tie_a_game() -> None:
    tables = play(matchup(answering("-1"), answering("-1", "other"), rules={"rounds": 2, "sets": 4}))
    assert tables["sets"]["winner_bot"].null_count() == 4, "each gives up the round that it opens"
    assert tables["games"].select("winner_bot", "won", "sets_seat0").row(0) == (None, 0, 0)
    told, _ = calls("-1", {"rounds": 2, "sets": 1})
    assert {data["win"] for name, data in told if name == "onRoundEnd"} <= {-1, 1}


def test_a_game_that_time_cuts_off_goes_to_the_winner_of_more_rounds() -> None:
    sample = (ENGINE.bots / "sample.js").read_text()
    slow = bot("slow", sample.replace("const luck", "for (let i = 0; i < 1e6; i++);\n    const luck"))
    games = play(matchup(slow, bot("sample", ""), games=20, rules={"time_limit_s": 0.05}))["games"]
    assert games["termination"].unique().to_list() == ["time_limit"]
    assert games["sets"].max() < 99
    disagree = 0
    for winner, *won in games.select(
        "winner_seat", "rounds_seat0", "rounds_seat1", "sets_seat0", "sets_seat1"
    ).iter_rows():
        assert winner == (0 if won[0] > won[1] else 1 if won[1] > won[0] else None)
        disagree += (won[0] > won[1]) != (won[2] > won[3])
    assert disagree > 0, "sets would have told otherwise"


def test_each_bots_own_time_is_recorded() -> None:
    slow = bot("slow", "class { onTurnStart(data) { for (let i = 0; i < 1e6; i++); return data.op_bet_coins } }")
    games = play(matchup(slow, CALL, games=2, rules={"sets": 2, "rounds": 50}))["games"]
    assert games["seconds_seat0"].sum() > 3 * games["seconds_seat1"].sum()


def test_names_that_are_left_as_they_are_get_replaced() -> None:
    named = 'class { player_name = "_will be replaced_"; onTurnStart(data) { return data.op_bet_coins } }'
    table = matchup(bot("a", named), bot("w", WITNESS.replace("ANSWER", "-1")), rules={"sets": 1, "rounds": 1})
    assert "seat 0 a (Player1), seat 1 w (Witness)" in next(iter(ENGINE.replay(table, 0)))


def test_callbacks_may_be_missing_or_throw() -> None:
    throws = f"class {{ onSetStart() {{ null.x }} onRoundEnd() {{ throw new Error('oh') }} {CALLER[15:]}"
    games = play(matchup(bot("throws", throws), CALL, rules={"sets": 2, "rounds": 10}))["games"]
    assert games["termination"][0] == "completed"
    assert games.select("exceptions_seat0", "exceptions_seat1").row(0) == (22, 0), "ruling 14"
    assert games["detail"][0].startswith("throws: onSetStart: TypeError: Cannot read properties of null")
    assert "onSetStart (throws.js:1)" in games["detail"][0]


def test_shared_deals_give_both_seatings_the_same_cards() -> None:
    table = matchup(
        bot("odds", ""),
        bot("sample", ""),
        games=6,
        rules={"sets": 3},
        deal=Deal.SHARED,
        seatings=((0, 1), (1, 0)),
        record=("rounds",),
    )
    tables = play(table)
    games, rounds = tables["games"], tables["rounds"]
    assert games["seating"].to_list() == [0, 1] * 3
    assert games["bot_seat0"].to_list() == ["odds", "sample"] * 3
    cards = ["set", "round", "first_seat", "card0_seat0", "card1_seat0", "card0_seat1", "card1_seat1"]
    for game in (0, 2, 4):
        both = [rounds.filter(pl.col("game") == number).select(cards) for number in (game, game + 1)]
        common = min(part.filter(pl.col("set") == 0).height for part in both)
        assert both[0].head(common).equals(both[1].head(common))
    assert (
        not rounds.filter(pl.col("game") == 0)
        .select(cards)
        .head(5)
        .equals(rounds.filter(pl.col("game") == 2).select(cards).head(5))
    )


def test_two_copies_of_a_bot_come_out_equal_on_shared_deals() -> None:
    twin = (ENGINE.bots / "sample.js").read_text()
    table = matchup(
        bot("one", twin), bot("two", twin), games=10, blocks=3, deal=Deal.SHARED, seatings=((0, 1), (1, 0))
    )
    games = play(table)["games"]
    assert (games["winner_bot"] == "one").sum() == (games["winner_bot"] == "two").sum()
    assert games["sets_seat0"].to_list()[::2] == games["sets_seat0"].to_list()[1::2]


def test_fresh_blocks_alternate_between_the_seatings() -> None:
    table = matchup(CALL, answering("-1"), blocks=4, seatings=((0, 1), (1, 0)), rules={"sets": 1})
    assert play(table)["games"]["bot_seat0"].to_list() == ["caller", "bot"] * 2


def test_two_sample_bots_play_as_long_as_the_rulings_say() -> None:
    games = play(
        matchup(bot("sample", ""), bot("other", (ENGINE.bots / "sample.js").read_text()), games=20, blocks=10)
    )["games"]
    assert games["sets"].sum() == 19_800
    rounds = int(games["rounds"].sum())
    assert abs(rounds / 19_800 - 12.26) < 0.2, "12.26 rounds a set"
    assert abs(int(games["turns"].sum()) / rounds - 1.652) < 0.01, "1.652 turns a round"


def test_odds_beat_luck_in_every_game() -> None:
    games = play(matchup(bot("odds", ""), bot("sample", ""), games=20, blocks=5))["games"]
    assert games["winner_bot"].unique().to_list() == ["odds"]
