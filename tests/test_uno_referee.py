"""The rules of UNO as the referee plays them: traces held against a second reading, figures."""

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from engines.uno import program, wasm
from engines.uno.program import Level, Variant
from simfarm.core import native
from simfarm.core.model import Deal
from simfarm.core.seeds import derive, mix
from tests.uno_bots import ENGINE, ODD, make, play, ring

CARD = r"(?:wild \+4|wild|(?:red|green|blue|yellow) (?:\d|skip|reverse|\+2))"
COLOURS = ("red", "green", "blue", "yellow")
DECK = Counter(
    [f"{colour} {face}" for colour in COLOURS for face in [*range(10), *range(1, 10)]]
    + [f"{colour} {face}" for colour in COLOURS for face in ("skip", "reverse", "+2")] * 2
    + ["wild", "wild +4"] * 4
)


def value(card: str) -> int:
    """A card's points."""
    face = card.split()[-1]
    return 50 if card.startswith("wild") else int(face) if face.isdigit() else 20


@dataclass
class Reading:
    """Follows a trace line by line and asserts that each follows from the ones before by the rules."""

    lines: list[str]
    names: list[str] = field(default_factory=list)
    hands: list[list[str] | None] = field(default_factory=lambda: [None] * 4)
    unseen: list[list[str]] = field(default_factory=lambda: [[], [], [], []])
    counts: list[int] = field(default_factory=lambda: [7] * 4)
    seen: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    reshuffles: int = 0
    left: int = 108 - 28
    discards: int = 0
    turn: int = 0
    points: int | None = None

    def read(self) -> "Reading":
        """Read to the end."""
        lines = iter(self.lines)
        self.names = re.findall(r"seat \d (\w+)", next(lines).split(":", 1)[1])
        begin = re.fullmatch(rf"seat (\d) begins, direction (left|right); first card:((?: {CARD})+)", next(lines))
        assert begin
        seat, step = int(begin[1]), 1 if begin[2] == "right" else 3
        first = re.findall(CARD, begin[3])
        assert all(card.startswith("wild") for card in first[:-1])
        assert not first[-1].startswith("wild")
        self.discards, self.left = len(first), self.left - len(first)
        top, colour = first[-1], first[-1].split()[0]
        rest = list(lines)
        while rest:
            line = rest.pop(0)
            if end := re.fullmatch(r"(\w+) wins with (\d+) points", line):
                assert end[1] == self.names[seat]
                assert self.counts[seat] == 0
                self.points = int(end[2])
                break
            if line.startswith("nobody wins within"):
                break
            self.turn += 1
            head = re.fullmatch(
                rf" *{self.turn}  seat {seat} {self.names[seat]} \[(.*)\] on ({CARD})(?: \((\w+)\))? (.*)", line
            )
            assert head, line
            hand = re.findall(CARD, head[1])
            self._see_hand(seat, hand)
            assert head[2] == top
            assert head[3] == (colour if top.startswith("wild") else None)
            playable = [card for card in hand if goes_on(card, top, colour)]
            if played := re.fullmatch(rf"plays ({CARD})(?: and calls (\w+))?", head[4]):
                card = played[1]
                assert card in playable
                assert (played[2] is not None) == card.startswith("wild")
                top, colour = card, played[2] or card.split()[0]
                self._played(seat, card, hand, rest)
                if self.counts[seat] == 0:
                    continue
                face = card.split()[-1]
                if face == "reverse":
                    step = 4 - step
                    assert rest.pop(0) == f"    direction is now {'right' if step == 1 else 'left'}"
                if face in ("+2", "+4", "skip"):
                    seat = (seat + step) % 4
                    if face != "skip":
                        self._draw(seat, int(face), rest)
                    assert rest.pop(0) == f"    {self.names[seat]} misses a turn"
            elif penalty := re.fullmatch(r"answers (-?\d+): penalty, (.*)", head[4]):
                self._penalty(int(penalty[1]), penalty[2], hand, playable)
                self._draw(seat, 2, rest)
            else:
                assert head[4] == "cannot play"
                assert not playable
                self._draw(seat, 1, rest)
            seat = (seat + step) % 4
        assert not rest
        return self

    def _see_hand(self, seat: int, hand: list[str]) -> None:
        known = self.hands[seat]
        if known is None:
            assert hand[7:] == self.unseen[seat]
        else:
            assert hand == known
        assert len(hand) == self.counts[seat]
        self.hands[seat] = hand

    def _played(self, seat: int, card: str, hand: list[str], rest: list[str]) -> None:
        remaining = list(hand)
        if rest and remaining.count(card) > 1:
            # Twins: either may have been meant; the next look at this hand says which.
            following = next((line for line in rest if f"  seat {seat} {self.names[seat]} [" in line), "")
            shown = re.findall(CARD, following.split("[", 1)[1].split("]", 1)[0]) if following else []
            for place in [place for place, held in enumerate(remaining) if held == card]:
                candidate = remaining[:place] + remaining[place + 1 :]
                if shown[: len(candidate)] == candidate:
                    remaining = candidate
                    break
            else:
                assert not following
                remaining.remove(card)
        else:
            remaining.remove(card)
        self.hands[seat] = remaining
        self.counts[seat] -= 1
        self.discards += 1

    def _draw(self, seat: int, count: int, rest: list[str]) -> None:
        if count > self.left:
            if self.discards > 1:
                assert (
                    rest.pop(0)
                    == f"    the deck is empty: {self.discards - 1} discards are shuffled into a new one"
                )
                self.left += self.discards - 1
                self.discards = 1
                self.reshuffles += 1
            count = min(count, self.left)
        line = rest.pop(0)
        assert line.startswith(f"    {self.names[seat]} draws")
        drawn = re.findall(CARD, line.split(" draws", 1)[1])
        assert len(drawn) == count
        self.left -= count
        self.counts[seat] += count
        hand = self.hands[seat]
        if hand is None:
            self.unseen[seat] += drawn
        else:
            hand.extend(drawn)

    def _penalty(self, answer: int, reason: str, hand: list[str], playable: list[str]) -> None:
        colour, index = (answer // 10000, answer % 10000) if 10000 <= answer < 50000 else (0, answer)
        if answer == -1:
            expected = "a card can be played" if playable else None
        elif not 0 <= index < len(hand):
            expected = "no such card"
        elif colour:
            expected = None if hand[index].startswith("wild") else "a colour with a card that is not wild"
        elif hand[index].startswith("wild"):
            expected = "a wild needs a colour"
        else:
            expected = None if hand[index] in playable else "the card does not match"
        assert reason == expected
        self.reasons[reason] += 1

    def losers_points(self, winner: int) -> int | None:
        """Points in the other three hands, None if one of them has not been seen whole."""
        others = [hand for seat, hand in enumerate(self.hands) if seat != winner]
        return None if None in others else sum(value(card) for hand in others if hand for card in hand)


def goes_on(card: str, top: str, colour: str) -> bool:
    """Whether a card may be played."""
    return card.startswith("wild") or card.split()[0] == colour or card.split()[1] == top.split()[-1]


@pytest.mark.parametrize("deal", [Deal.FRESH, Deal.SHARED])
def test_traces_follow_the_rules_and_agree_with_the_rows(deal: Deal) -> None:
    matchup = ring(make("odd", ODD), make("eager"), make("strange", ODD), stop=40, max_turns=600, deal=deal)
    per_block = matchup.games
    rows = play(matchup).to_dicts()
    reasons: Counter[str] = Counter()
    reshuffles = 0
    for block in range(0, 40, 10 if deal is Deal.SHARED else 1):
        lines = list(ENGINE.replay(matchup, block))
        starts = [number for number, line in enumerate(lines) if line.startswith("block ")] + [len(lines)]
        assert len(starts) == per_block + 1
        for game in range(per_block):
            reading = Reading(lines[starts[game] : starts[game + 1]]).read()
            row = rows[block * per_block + game]
            assert row["turns"] == reading.turn
            assert row["reshuffles"] == reading.reshuffles
            assert row["points"] == (reading.points or 0)
            assert row["termination"] == ("completed" if reading.points is not None else "length_limit")
            assert sum(row[f"penalties_seat{seat}"] for seat in range(4)) == reading.reasons.total()
            if reading.points is not None:
                assert row["winner_bot"] == reading.names[row["winner_seat"]]
                assert reading.losers_points(row["winner_seat"]) in (None, reading.points)
            reasons += reading.reasons
            reshuffles += reading.reshuffles
    assert set(reasons) == {
        "a card can be played",
        "no such card",
        "a colour with a card that is not wild",
        "a wild needs a colour",
        "the card does not match",
    }
    assert reshuffles > 10


def test_golden_trace() -> None:
    matchup = ring(make("odd", ODD), stop=4000, seed=2013)
    trace = "\n".join(ENGINE.replay(matchup, 2500)) + "\n"
    assert trace == (Path(__file__).parent / "golden" / "uno_trace.txt").read_text()


def test_every_card_is_there_at_every_turn() -> None:
    matchup = ring(make("odd", ODD), make("eager"), make("strange", ODD), stop=5000, max_turns=3000)
    checked = ENGINE._run(matchup, 0, 5000, Variant.CHECK)
    assert checked == ENGINE._run(matchup, 0, 5000, Variant.FAST)


def test_figures_of_four_first_playable_bots() -> None:
    games = 500_000
    rows = play(ring(stop=games))
    offset = (pl.col("winner_seat").cast(pl.Int8) - pl.col("first_seat").cast(pl.Int8)) % 4
    wins = dict(rows.group_by(offset.alias("offset")).len().iter_rows())
    root = games**0.5
    assert rows["turns"].cast(pl.Float64).mean() == pytest.approx(61.199, abs=4 * 33.20 / root)
    assert rows["points"].cast(pl.Float64).mean() == pytest.approx(115.036, abs=4 * 48.19 / root)
    assert rows["turns"].cast(pl.Float64).std() == pytest.approx(33.20, rel=0.01)
    assert rows["points"].cast(pl.Float64).std() == pytest.approx(48.19, rel=0.01)
    assert rows["reshuffles"].cast(pl.Float64).mean() == pytest.approx(0.0251, abs=4 * 0.16 / root)
    for place, share in enumerate((0.26686, 0.24520, 0.24273, 0.24521)):
        assert abs(wins[place] / games - share) < 4 * (share * (1 - share)) ** 0.5 / root
    assert sum(rows[f"penalties_seat{seat}"].sum() for seat in range(4)) == 0
    assert rows["termination"].unique().to_list() == ["completed"]


def test_cards_run_out() -> None:
    matchup = ring(*(make(f"never{seat}", "choice = -2;") for seat in range(4)), stop=2, max_turns=60)
    for row in play(matchup).to_dicts():
        assert row["termination"] == "length_limit"
        assert (row["turns"], row["points"], row["winner_bot"], row["fault_bot"]) == (60, 0, None, None)
        assert [row[f"penalties_seat{seat}"] for seat in range(4)] == [15] * 4
    trace = list(ENGINE.replay(matchup, 0))
    assert trace[-2].endswith("draws nothing: no card is left")
    assert trace[-1] == "nobody wins within 60 turns"
    held = [len(re.findall(CARD, line.split("[")[1].split("]")[0])) for line in trace if "answers" in line][-4:]
    assert sum(held) == 107


def test_a_draw_two_as_last_card_makes_nobody_draw() -> None:
    matchup = ring(stop=400)
    ends = [list(ENGINE.replay(matchup, block))[-2:] for block in range(0, 400, 5)]
    last = [turn for turn, _ in ends]
    assert any(turn.endswith("+2") for turn in last)
    assert all(" plays " in turn for turn in last)


def below(state: int, n: int) -> tuple[int, int]:
    """seeds_below of seeds.h: the next state of a stream, and a number."""
    state = (state + 0x9E3779B97F4A7C15) % 2**64
    return state, mix(state) * n >> 64


def test_first_seat_and_direction_come_from_the_seed() -> None:
    matchup = ring(stop=50, seed=2**64 - 3)
    for block, row in enumerate(play(matchup).to_dicts()):
        state, right = below(derive(2**64 - 3, block), 2)
        _, first = below(state, 4)
        assert (row["first_seat"], row["direction"]) == (first, "right" if right else "left")


def test_rand_is_a_stream_of_game_and_seat() -> None:
    matchup = ring(make("dice", "srand(time(NULL)); choice = rand();"), stop=40, max_turns=40)
    line = next(line for line in ENGINE.replay(matchup, 31) if " dice [" in line)
    seat = int(re.search(r"seat (\d) dice", line)[1])  # type: ignore[index]
    state = (derive(7, 31, seat) + 0x9E3779B97F4A7C15) % 2**64
    assert f"answers {mix(state) >> 33}: penalty" in line
    assert play(matchup).equals(play(matchup))


def test_a_bot_may_write_to_its_state() -> None:
    decide = "if (choice >= RED) choice += 10000 * (rand() % 4); else if (rand() % 8 == 0) choice = rand() % 20;"
    scribble = """
        state->yourCards[0].type = rand() % 2; state->discardPile[0].colour = 5;
        if (rand() % 2) { int *at = (int *)state; int k; for (k = 0; k < sizeof *state / 4; k++) at[k] = k; }
    """
    same = "rand(); if (rand() % 2) { int k; for (k = 0; k < 3; k++) ; }"
    others = make("odd", ODD), make("eager")
    writing = ring(make("bot", scribble + decide), make("twin", scribble + decide), *others, stop=3000)
    reading = ring(make("bot", same + decide), make("twin", same + decide), *others, stop=3000)
    assert play(writing).equals(play(reading))
    assert list(ENGINE.replay(writing, 2999)) == list(ENGINE.replay(reading, 2999))


@pytest.mark.parametrize("variant", Variant)
@pytest.mark.parametrize("level", [Level.NATIVE, Level.WASM])
def test_the_referee_is_plain_c_of_the_bots_standard(variant: Variant, level: Level, tmp_path: Path) -> None:
    """One command of the author's pack compiles both, so that the referee keeps to gnu89 without a warning."""
    if level is Level.WASM and (variant is Variant.OPEN or not wasm.available()):
        pytest.skip("a variant that is not built")
    flags = wasm.HEADERS_FLAGS if level is Level.WASM else ()
    if level is Level.WASM:
        (tmp_path / "wasm-rt.h").write_bytes(wasm.header())
    referee = Path(program.__file__).parent / "referee"
    seeds_folder = Path(native.__file__).with_suffix("")
    standard = ("-O2", "-std=gnu89", "-Wall", "-Wextra", "-Werror", f"-I{seeds_folder}", f"-I{tmp_path}")
    files = ("-c", str(referee / "referee.c"), "-o", str(tmp_path / "referee.o"))
    done = subprocess.run(
        [*native.find_compiler().command, *standard, *flags, *variant.value.split(), *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
