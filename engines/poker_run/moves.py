"""Moves and their text, one per line (statement, section Output)."""

import re
from dataclasses import dataclass
from enum import StrEnum

from engines.poker_run.ruleset import DECK, Ruleset

MOST_CARDS = 5
"""Cards that a play or a discard may name."""
_WORD = re.compile(rb"[^ \t\r]+")
_NUMBER = re.compile(rb"0|[1-9][0-9]*")


class Kind(StrEnum):
    """The words that moves begin with; their order is the C kernel's numbering."""

    PLAY = "play"
    DISCARD = "discard"
    END = "end"
    BUY = "buy"
    LEVEL = "level"
    PAINT = "paint"
    PROMOTE = "promote"
    REMOVE = "remove"
    REROLL = "reroll"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class Move:
    """One move."""

    kind: Kind
    cards: tuple[int, ...] = ()
    """Card ids: of a play or a discard, or the one that paint, promote and remove name."""
    which: int | None = None
    """buy: position of the modifier; level: of the hand type; paint: of the suit; all in the ruleset."""

    def text(self, ruleset: Ruleset) -> str:
        """The move as a line of output."""
        words: list[object] = [self.kind, *self.cards]
        if self.which is not None:
            match self.kind:
                case Kind.BUY:
                    words.append(ruleset.modifier[self.which].name)
                case Kind.LEVEL:
                    words.append(ruleset.hand[self.which].code)
                case _:
                    words.append(ruleset.cards.suits[self.which])
        return " ".join(map(str, words))


class Unparsable(ValueError):
    """A line that is no move. ``str()`` says why."""


def words_of(line: bytes, most: int) -> list[bytes]:
    """The words of a line, at most ``most`` of them and one more if there is more; no more of it is looked
    at."""
    found = []
    for match in _WORD.finditer(line):
        found.append(match.group())
        if len(found) > most:
            break
    return found


def number(word: bytes) -> int | None:
    """A plain decimal without sign and leading zeros, or None. Of a long one only its being large is kept."""
    if not _NUMBER.fullmatch(word):
        return None
    return int(word) if len(word) <= 9 else 10**9


def parse(line: bytes, ruleset: Ruleset) -> Move:
    """Read one line.

    Raises:
        Unparsable: it is no move.
    """
    words = words_of(line, 1 + MOST_CARDS)
    if not words:
        raise Unparsable("an empty line among the moves")
    try:
        kind = Kind(words[0].decode("ascii"))
    except ValueError:
        raise Unparsable(f"no move begins with {shown(words[0])}") from None
    rest = words[1:]
    match kind:
        case Kind.PLAY | Kind.DISCARD:
            if not 1 <= len(rest) <= MOST_CARDS:
                raise Unparsable(f"{kind} takes 1 to {MOST_CARDS} cards")
            return Move(kind, tuple(_card(word) for word in rest))
        case Kind.PROMOTE | Kind.REMOVE:
            _expect(kind, rest, "a card")
            return Move(kind, (_card(rest[0]),))
        case Kind.PAINT:
            _expect(kind, rest, "a card", "a suit")
            return Move(kind, (_card(rest[0]),), _which(rest[1], ruleset.cards.suits, "suit"))
        case Kind.BUY:
            _expect(kind, rest, "a modifier")
            return Move(kind, (), _which(rest[0], tuple(m.name for m in ruleset.modifier), "modifier"))
        case Kind.LEVEL:
            _expect(kind, rest, "a hand type")
            return Move(kind, (), _which(rest[0], tuple(hand.code for hand in ruleset.hand), "hand type"))
        case _:
            _expect(kind, rest)
            return Move(kind)


def shown(word: bytes) -> str:
    """A word as a message shows it: short and printable."""
    text = word[:40].decode("ascii", "backslashreplace")
    return repr(text + "..." if len(word) > 40 else text)


def _expect(kind: Kind, words: list[bytes], *what: str) -> None:
    if len(words) != len(what):
        raise Unparsable(f"{kind} takes {' and '.join(what) or 'nothing'}")


def _card(word: bytes) -> int:
    value = number(word)
    if value is None or value >= DECK:
        raise Unparsable(f"{shown(word)} is no card: write 0 to {DECK - 1}")
    return value


def _which(word: bytes, names: tuple[str, ...], what: str) -> int:
    text = word[:64].decode("latin-1")
    if text not in names:
        raise Unparsable(f"{shown(word)} is no {what}")
    return names.index(text)
