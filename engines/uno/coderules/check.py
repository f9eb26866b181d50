"""The three layers one after the other: the verdict on a source."""

from engines.uno.coderules.object import object_violations
from engines.uno.coderules.text import expanded, written
from engines.uno.coderules.tree import tree_violations
from engines.uno.program import alias_of
from simfarm.core.errors import BotError
from simfarm.core.model import Bot, SourceFile, Violation


def check_source(data: bytes) -> list[Violation]:
    """Every broken code rule of a bot's source, by line.

    What the text or the tree already shows is not shown again by the layers after them: a tree that cannot be made
    counts only where the text is clean, and an object file is made only of a source without any broken rule.
    """
    text, found = written(data)
    if not text:
        return _in_order(found or [Violation("entry", 1, "the file is empty")])
    own, types, more = expanded(text)
    if own or not found:
        found += more
    if own:
        judged = [Violation(*broken) for broken in tree_violations(own, types)]
        found += [one for one in judged if not found or one.rule != "unreadable"]
    elif not found:
        found.append(Violation("entry", 1, "there is no function 'int alias_Play(GameState *)'; define one"))
    if not found:
        try:
            # the alias by which the arena will call it: it is read off the text as written
            alias = alias_of(Bot("bot", (SourceFile("the file", data),)))
        except BotError as error:
            return [Violation("entry", 1, str(error).removeprefix("bot 'bot': "))]
        found = object_violations(text, alias)
    return _in_order(found)


def _in_order(found: list[Violation]) -> list[Violation]:
    return sorted(set(found), key=lambda one: (one.line, one.rule, one.message))
