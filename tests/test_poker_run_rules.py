"""Poker Run, the readable rules: the statement's numbers, hands, money, the shop, and what is refused."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from engines.poker_run.hands import Situation, classify, score
from engines.poker_run.instance import Case, generate, mulberry32, read_case, write_case
from engines.poker_run.moves import Kind, Move, parse
from engines.poker_run.rules import IllegalMove, Phase, Run, UnaffordableMove
from engines.poker_run.ruleset import Ruleset, default_ruleset, read_ruleset
from simfarm.core.errors import ConfigError

ROOT = Path(__file__).parents[1]
RULES = default_ruleset()


def faces(text: str) -> list[tuple[int, int]]:
    """Cards written as rank and suit: ``10S KH``."""
    return [(RULES.cards.ranks.index(word[:-1]), RULES.cards.suits.index(word[-1])) for word in text.split()]


def situation(
    *owned: str, levels: dict[str, int] | None = None, made: int = 0, left: int = 3, money: int = 0
) -> Situation:
    by_type = [(levels or {}).get(hand.code, 1) for hand in RULES.hand]
    names = [modifier.name for modifier in RULES.modifier]
    return Situation(by_type, [names.index(name) for name in owned], made, left, money)


def do(run: Run, *lines: str) -> None:
    for line in lines:
        run.apply(parse(line.encode(), RULES))


def rich(*queue: str, money: int = 100) -> Run:
    """A run in its first shop, with money, and these modifiers first in the queue."""
    case = generate(7, RULES)
    names = [modifier.name for modifier in RULES.modifier]
    first = [names.index(name) for name in queue]
    rest = [index for index in case.queues[0] if index not in first]
    run = Run(Case(case.orders, ((*first, *rest)[:12], *case.queues[1:])), RULES)
    do(run, "discard 26 16 17 45", "play 33 8 9 23 50", "end")
    run.money = money
    return run


def test_the_statements_example() -> None:
    case = generate(7, RULES)
    assert case.orders[0][:12] == (23, 9, 50, 17, 45, 8, 26, 16, 40, 33, 47, 29)
    run = Run(case, RULES)
    best = max(
        score([run.faces[card] for card in move.cards], situation(), RULES).points
        for move in run.legal_actions()
        if move.kind is Kind.PLAY
    )
    assert best == 15
    do(run, "discard 26 16 17 45", "play 33 8 9 23 50")
    assert (run.points, run.plays_left, run.discards_left) == (316, 3, 2)
    do(run, "end")
    # 4 for clearing, 3 unused plays, no interest on 4
    assert (run.phase, run.money) == (Phase.SHOP, 4 + 4 + 3)


def test_the_statements_parameters() -> None:
    lines = write_case(generate(1, RULES), RULES).splitlines()
    assert lines[:2] == ["8 8 4 3 5 12", "300 600 1200 2400 4800 9600 19200 38400"]
    assert len(lines) == 2 + 8 + 7
    assert all(sorted(map(int, line.split())) == list(range(52)) for line in lines[2:10])
    assert all(len(set(line.split())) == 12 for line in lines[10:])


def test_mulberry32_by_hand() -> None:
    """The first numbers of the public generator for seed 1, known from its JavaScript form."""
    stream = mulberry32(1)
    assert [next(stream) for _ in range(2)] == [0.6270739405881613, 0.002735721180215478]
    assert generate(2**32 + 5, RULES) == generate(5, RULES)


def test_a_case_survives_its_text() -> None:
    case = generate(123, RULES)
    assert read_case(write_case(case, RULES), RULES) == case
    text = write_case(case, RULES)
    for old, new, message in (
        ("8 8 4", "8 8 5", "case:1: the parameters are 8 8 5"),
        ("300 600", "300 601", "case:2: the targets"),
        ("momentum", "momentun", "'momentun' is no modifier"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_case(text.replace(old, new, 1), RULES)
    with pytest.raises(ConfigError, match=r"case:3: not an order of the cards"):
        read_case(text.replace(text.splitlines()[2], text.splitlines()[2][:-2], 1), RULES)
    with pytest.raises(ConfigError, match="16 lines"):
        read_case("\n".join(text.splitlines()[:-1]), RULES)


@pytest.mark.parametrize(
    ("cards", "code", "scored"),
    [
        ("2S 9H KD 4C 7S", "HC", [2]),
        ("AS", "HC", [0]),
        ("9S 9H KD 4C 7S", "PR", [0, 1]),
        ("9S 4H 9D 4C 7S", "TP", [0, 1, 2, 3]),
        ("9S 9H 9D", "TK", [0, 1, 2]),
        ("AS 2H 3D 4C 5S", "ST", [0, 1, 2, 3, 4]),
        ("10S JH QD KC AS", "ST", [0, 1, 2, 3, 4]),
        ("QS KH AD 2C 3S", "HC", [2]),
        ("2S 3H 4D 5C", "HC", [3]),
        ("2S 9S KS 4S 7S", "FL", [0, 1, 2, 3, 4]),
        ("2S 9S KS 4S", "HC", [2]),
        ("9S 9H 9D 4C 4S", "FH", [0, 1, 2, 3, 4]),
        ("AS AH AD AC KS", "FK", [0, 1, 2, 3]),
        ("3H 4H 5H 6H 7H", "SF", [0, 1, 2, 3, 4]),
        ("9S 9H 9D 9C 9S", "FV", [0, 1, 2, 3, 4]),
        ("9S 9S 9S 4S 4S", "HF", [0, 1, 2, 3, 4]),
        ("9S 9S 9S 9S 9S", "F5", [0, 1, 2, 3, 4]),
        ("9S 9S 9S 9S 4S", "FK", [0, 1, 2, 3]),
    ],
)
def test_types_and_scored_cards(cards: str, code: str, scored: Sequence[int]) -> None:
    index, found = classify(faces(cards), RULES)
    assert (RULES.hand[index].code, found) == (code, scored)


@pytest.mark.parametrize(
    ("cards", "now", "base", "mult", "factor"),
    [
        ("KC", situation(), 5 + 10, 1, 1),
        ("9S 9H 4C", situation(levels={"PR": 3}), 10 + 30 + 18, 2 + 2, 1),
        ("9S 9H 4C", situation("twins", "trio", "crowd"), 10 + 18 + 20, 2 + 5, 1),
        ("9S 9H 4C", situation("trim"), 28, 2 + 10, 1),
        ("9S 9H 4C 3C", situation("trim"), 28, 2, 1),
        ("2S 3S 4S 5S 6S", situation("ladder", "tide", "spades", "hearts"), 120, 8 + 15, 6),
        ("2S 3H 4S 6H 5D", situation("evens", "odds"), 30 + 20 + 30, 4 + 6, 1),
        ("AS AH", situation("finale", made=2), 32, 2, 1),
        ("AS AH", situation("finale", made=3), 32, 2, 3),
        ("AS AH", situation("momentum", made=2), 32, 2 + 8, 1),
        ("AS AH", situation("patience", left=2), 32 + 40, 2, 1),
        ("AS AH", situation("hoard", money=7), 32, 2 + 3, 1),
        ("KS KH", situation("court", "anchor"), 10 + 20 + 40, 2 + 3, 1),
    ],
)
def test_points(cards: str, now: Situation, base: int, mult: int, factor: int) -> None:
    scoring = score(faces(cards), now, RULES)
    assert (scoring.base, scoring.mult, scoring.factor) == (base, mult, factor)
    assert scoring.points == base * mult * factor


def test_interest_is_of_the_money_before_pay_and_has_a_cap() -> None:
    for held, interest in ((4, 0), (5, 1), (24, 4), (25, 5), (90, 5)):
        run = Run(generate(7, RULES), RULES)
        run.money = held
        do(run, "discard 26 16 17 45", "play 33 8 9 23 50", "end")
        assert run.money == held + 4 + 3 + interest


def test_a_missed_target_ends_the_run() -> None:
    run = Run(generate(7, RULES), RULES)
    do(run, *(f"play {run.hand[0]}" for _ in range(1)))
    for _ in range(3):
        do(run, f"play {run.hand[0]}")
    assert (run.phase, run.rounds_cleared, len(run.ended)) == (Phase.OVER, 0, 1)
    assert list(run.legal_actions()) == []
    with pytest.raises(IllegalMove, match="after the run is over"):
        do(run, "next")


def test_the_last_play_ends_the_round_before_any_draw() -> None:
    run = Run(generate(7, RULES), RULES)
    do(run, "discard 26 16 17 45", "play 33 8 9 23 50")
    for _ in range(3):
        do(run, f"play {run.hand[0]}")
    assert run.phase is Phase.SHOP
    assert run.ended[0].plays == 4
    assert run.ended[0].earned == 4


def test_an_emptied_hand_ends_the_round() -> None:
    """With few cards left in the deck a discard can end a round."""
    run = rich(money=1000)
    keep = set(run.case.orders[1][:3])
    do(run, *(f"remove {card}" for card in range(52) if card not in keep), "next")
    assert sorted(run.hand) == sorted(keep)
    do(run, "discard " + " ".join(map(str, run.hand)))
    assert (run.phase, run.ended[1].points, run.ended[1].cleared) == (Phase.OVER, 0, False)


def test_a_round_without_cards_ends_at_once() -> None:
    run = rich(money=1000)
    do(run, *(f"remove {card}" for card in range(52)), "next")
    assert (run.phase, run.ended[1].points) == (Phase.OVER, 0)


def test_the_window() -> None:
    run = rich("anchor", "twins", "trio", "ladder", "tide", "spades")
    names = [RULES.modifier[which].name for which in run.window]
    assert names == ["anchor", "twins", "trio"]
    do(run, "buy twins")
    assert [RULES.modifier[which].name for which in run.window] == ["anchor", "trio"]
    do(run, "reroll")
    assert [RULES.modifier[which].name for which in run.window] == ["ladder", "tide", "spades"]
    assert run.money == 100 - 5 - 1
    do(run, "reroll", "reroll")
    with pytest.raises(IllegalMove, match="reroll at the end of the queue"):
        do(run, "reroll")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("buy ladder", "ladder is not offered; offers: anchor, twins, trio"),
        ("buy twins", "twins is owned already"),
        ("play 1", "play in the shop"),
        ("end", "end in the shop"),
        ("remove 3", "card 3 was removed"),
        ("paint 3 S", "card 3 was removed"),
        ("promote 12", "card 12 is an ace"),
    ],
)
def test_refused_in_the_shop(line: str, message: str) -> None:
    run = rich("anchor", "twins", "trio")
    twins = next(index for index, modifier in enumerate(RULES.modifier) if modifier.name == "twins")
    run.owned.append(twins)
    do(run, "remove 3")
    with pytest.raises(IllegalMove, match=message):
        do(run, line)


@pytest.mark.parametrize("line", ["buy ladder", "level F5", "paint 1 S", "promote 1", "remove 1"])
def test_money_never_goes_below_zero(line: str) -> None:
    run = rich("ladder", money=1)
    with pytest.raises(UnaffordableMove, match=r"\$1 is held"):
        do(run, line)
    do(run, "reroll")
    assert run.money == 0
    with pytest.raises(UnaffordableMove):
        do(run, "reroll")


def test_five_modifiers_are_all() -> None:
    run = rich("anchor", "twins", "trio", "ladder", "tide", "spades")
    do(run, "buy anchor", "buy twins", "buy trio", "reroll", "buy ladder", "buy tide")
    with pytest.raises(IllegalMove, match="5 modifiers are owned"):
        do(run, "buy spades")


def test_edits_last() -> None:
    run = rich()
    do(run, "paint 0 H", "promote 0", "promote 0", "level PR", "level PR", "next")
    assert run.faces[0] == (2, 1)
    assert run.levels[1] == 3
    with pytest.raises(IllegalMove, match="paint in a round"):
        do(run, "paint 0 S")
    with pytest.raises(IllegalMove, match="end at 0 points, the target is 600"):
        do(run, "end")


def test_legal_actions_are_the_legal_ones() -> None:
    run = rich("anchor", "twins", "trio", money=4)
    listed = set(run.legal_actions())
    everything = [
        *(Move(Kind.BUY, (), which) for which in range(18)),
        *(Move(Kind.LEVEL, (), which) for which in range(12)),
        *(Move(Kind.PAINT, (card,), suit) for card in range(52) for suit in range(4)),
        *(Move(kind, (card,)) for kind in (Kind.PROMOTE, Kind.REMOVE) for card in range(52)),
        *(Move(kind) for kind in (Kind.REROLL, Kind.NEXT, Kind.END)),
    ]
    for move in everything:
        try:
            run.verify(move)
        except IllegalMove:
            assert move not in listed
        else:
            assert move in listed


def test_a_ruleset_with_a_mistake_is_one_line(tmp_path: Path) -> None:
    text = (ROOT / "engines" / "poker_run" / "ruleset.toml").read_text()
    for old, new, message in (
        ("hand_size = 8", "hand_size = 80", "params.hand_size: "),
        ('suits = ["S"]', 'suits = ["X"]', "modifier spades: suits: 'X' is not one of S H D C"),
        ('name = "twins"', 'name = "anchor"', "names must differ"),
        ('code = "HC"', 'code = "PR"', "the codes must be"),
        ("amount = 3", "amount = 1000\ncolour = 1", "colour"),
        ("hand_size = 8", "hand_size = ", "not TOML"),
    ):
        path = tmp_path / "r.toml"
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(ConfigError, match=message) as caught:
            read_ruleset(path)
        assert "\n" not in str(caught.value)


def test_points_fit_in_64_bits() -> None:
    data = RULES.model_dump()
    for modifier in data["modifier"]:
        if modifier["per"] == "play":
            modifier |= {"effect": "times", "amount": 100}
    for hand in data["hand"]:
        hand["base"] = hand["mult"] = hand["base_per_level"] = hand["mult_per_level"] = 10_000
    with pytest.raises(ValueError, match="64 bits"):
        Ruleset.model_validate(data)
