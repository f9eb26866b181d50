"""Rulesets: every number of the game, read from TOML, checked, frozen.

``ruleset.toml`` beside this file is the one that ships; its comments say which numbers the statement fixes.
A ruleset travels by content: as part of an engine's rule options it is part of every cell.
"""

import tomllib
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from simfarm.core.errors import ConfigError

RANKS = 13
SUITS = 4
DECK = RANKS * SUITS
TYPES = ("HC", "PR", "TP", "TK", "ST", "FL", "FH", "FK", "SF", "FV", "HF", "F5")
"""Codes of the hand types; a ruleset lists them weakest first, in an order of its own."""

Amount = Annotated[int, Field(ge=0, le=10_000)]
Price = Annotated[int, Field(ge=0, le=1_000)]
Word = Annotated[str, Field(pattern=r"^[!-~]{1,32}$")]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Params(_Section):
    """Sizes of a run (statement, section Input)."""

    rounds: Annotated[int, Field(ge=1, le=16)]
    hand_size: Annotated[int, Field(ge=1, le=16)]
    plays: Annotated[int, Field(ge=1, le=16)]
    discards: Annotated[int, Field(ge=0, le=16)]
    max_modifiers: Annotated[int, Field(ge=0, le=16)]
    queue: Annotated[int, Field(ge=0, le=32)]
    targets: tuple[Annotated[int, Field(ge=0, le=10**9)], ...]


class Cards(_Section):
    """The names of ranks and suits, low to high, and a card's chips by rank."""

    ranks: Annotated[tuple[Word, ...], Field(min_length=RANKS, max_length=RANKS)]
    suits: Annotated[tuple[Word, ...], Field(min_length=SUITS, max_length=SUITS)]
    chips: Annotated[tuple[Amount, ...], Field(min_length=RANKS, max_length=RANKS)]


class Money(_Section):
    """What a run starts with and what a cleared round pays, in dollars."""

    start: Price
    clear: Price
    unused_play: Price
    interest_step: Annotated[int, Field(ge=1, le=1_000)]
    interest_max: Price


class Scored(StrEnum):
    """Which of the cards played make the hand."""

    HIGHEST = "highest"
    REPEATED = "repeated"
    ALL = "all"


class Hand(_Section):
    """One hand type."""

    code: Word
    name: str
    base: Amount
    mult: Amount
    base_per_level: Amount
    mult_per_level: Amount
    scored: Scored


class Effect(StrEnum):
    """What a modifier changes."""

    ADD_BASE = "add_base"
    ADD_MULT = "add_mult"
    TIMES = "times"


class Per(StrEnum):
    """What a modifier counts."""

    PLAY = "play"
    SCORED = "scored"
    KICKER = "kicker"
    PLAY_MADE = "play_made"
    DISCARD_LEFT = "discard_left"
    MONEY = "money"


class Modifier(_Section):
    """One modifier; the comment in ``ruleset.toml`` says how its value is computed."""

    name: Word
    price: Price
    effect: Effect
    amount: Annotated[int, Field(ge=0, le=1_000)]
    per: Per
    hands: tuple[str, ...] | None = None
    max_cards: Annotated[int, Field(ge=1, le=5)] | None = None
    last_play: bool = False
    suits: tuple[str, ...] | None = None
    ranks: tuple[str, ...] | None = None
    step: Annotated[int, Field(ge=1, le=1_000)] | None = None
    text: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.effect is Effect.TIMES and (self.per is not Per.PLAY or self.amount > 100):
            raise ValueError(
                f"modifier {self.name}: 'times' goes with per = \"play\" and an amount of at most 100"
            )
        if self.per is not Per.SCORED and (self.suits is not None or self.ranks is not None):
            raise ValueError(f'modifier {self.name}: suits and ranks go with per = "scored"')
        if (self.per is Per.MONEY) != (self.step is not None):
            raise ValueError(f'modifier {self.name}: step goes with per = "money", and only with it')
        return self


class Shop(_Section):
    """The shop's window and its prices in dollars."""

    window: Annotated[int, Field(ge=1, le=32)]
    level: Annotated[int, Field(ge=1, le=1_000)]
    paint: Price
    promote: Price
    remove: Price
    reroll: Price
    next: Price


class Ruleset(_Section):
    """All numbers of the game."""

    format: Annotated[int, Field(ge=1, le=1)]
    params: Params
    cards: Cards
    money: Money
    hand: Annotated[tuple[Hand, ...], Field(min_length=len(TYPES), max_length=len(TYPES))]
    modifier: Annotated[tuple[Modifier, ...], Field(max_length=32)]
    shop: Shop

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.params.targets) != self.params.rounds:
            raise ValueError(f"params.targets: one for each of the {self.params.rounds} rounds is needed")
        codes = [hand.code for hand in self.hand]
        if sorted(codes) != sorted(TYPES):
            raise ValueError(f"hand: the codes must be {' '.join(TYPES)}, in the order of strength")
        names = [modifier.name for modifier in self.modifier]
        if len(set(names)) != len(names):
            raise ValueError("modifier: names must differ")
        if self.params.queue > len(names):
            raise ValueError(f"params.queue: there are only {len(names)} modifiers")
        for modifier in self.modifier:
            for what, words, known in (
                ("hands", modifier.hands, codes),
                ("suits", modifier.suits, self.cards.suits),
                ("ranks", modifier.ranks, self.cards.ranks),
            ):
                for word in words or ():
                    if word not in known:
                        raise ValueError(
                            f"modifier {modifier.name}: {what}: {word!r} is not one of {' '.join(known)}"
                        )
        if self._largest_points() >= 2**62:
            raise ValueError(
                "a play could score more than fits in 64 bits: lower amounts or raise the price of a level"
            )
        return self

    def _largest_points(self) -> int:
        """More than any play can score."""
        money, params = self.money, self.params
        earned = money.clear + params.plays * money.unused_play + money.interest_max
        wealth = money.start + params.rounds * earned
        levels = wealth // self.shop.level
        base = max(hand.base + levels * hand.base_per_level for hand in self.hand) + 5 * max(self.cards.chips)
        mult = max(hand.mult + levels * hand.mult_per_level for hand in self.hand)
        factor = 1
        for modifier in self.modifier:
            count = 16 if modifier.step is None else max(5, wealth // modifier.step)
            if modifier.effect is Effect.ADD_BASE:
                base += modifier.amount * count
            elif modifier.effect is Effect.ADD_MULT:
                mult += modifier.amount * count
        times = sorted((m.amount for m in self.modifier if m.effect is Effect.TIMES), reverse=True)
        for amount in times[: params.max_modifiers]:
            factor *= max(1, amount)
        return base * mult * factor * params.plays * params.rounds

    def type_of(self, code: str) -> int | None:
        """The position of a hand type's code, or None."""
        return next((index for index, hand in enumerate(self.hand) if hand.code == code), None)

    def modifier_of(self, name: str) -> int | None:
        """The position of a modifier's name, or None."""
        return next((index for index, modifier in enumerate(self.modifier) if modifier.name == name), None)


def read_ruleset(path: Path) -> Ruleset:
    """The ruleset in a TOML file.

    Raises:
        ConfigError: it cannot be read, or is no ruleset; the message names the key.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return Ruleset.model_validate(data)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(str(part) for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{path}: {where + ': ' if where else ''}{message}") from None


@cache
def default_ruleset() -> Ruleset:
    """The ruleset that ships."""
    return read_ruleset(Path(__file__).with_name("ruleset.toml"))
