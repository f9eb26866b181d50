"""Bots that are commands: every file that a command names travels with it, by content."""

import shlex
import shutil
from pathlib import Path, PurePosixPath

from simfarm.core.errors import BotError
from simfarm.core.model import Bot, BotSpec, SourceFile

_OUTSIDE = "files"
"""Folder, within the bot's own, for files from outside of the folder of its config."""


def load_command(spec: BotSpec) -> Bot:
    """A bot from a shell command.

    Each word of the command that is a file, seen from ``spec.folder``, becomes a file of the bot under the same
    relative path. A path that leads out of that folder is taken along too, and the command is changed to where the
    file then lies; programs on the machine's own search path stay where they are. ``spec.files`` come along.

    Raises:
        BotError: the command cannot be split into words, or a file cannot be read.
    """
    assert spec.command is not None
    command = spec.command
    if not command.strip() or "\0" in command:
        raise BotError(f"bot {spec.name!r}: its command is empty or holds a zero byte")
    folder = Path(spec.folder)
    files: dict[str, SourceFile] = {}
    for word in dict.fromkeys(_words(spec)):
        path = folder / word
        if not path.is_file() or _is_machines(word):
            continue
        place = _place(path, folder)
        if place is None:
            place = f"{_OUTSIDE}/{len(files)}/{path.name}"
            command = command.replace(word, f"./{place}")
        files[place] = _read(spec, path, place)
    for name in spec.files:
        place = _place(Path(name), folder) or Path(name).name
        files[place] = _read(spec, Path(name), place)
    return Bot(spec.name, tuple(files[place] for place in sorted(files)), command=command)


def load_source(spec: BotSpec, language: str | None) -> Bot:
    """A bot from a source file, which comes first, and ``spec.files``, by their paths seen from the source's folder
    or by name.

    Raises:
        BotError: a file cannot be read.
    """
    assert spec.file is not None
    source = Path(spec.file)
    files = {source.name: _read(spec, source, source.name)}
    for name in spec.files:
        place = _place(Path(name), source.parent) or Path(name).name
        files.setdefault(place, _read(spec, Path(name), place))
    return Bot(spec.name, tuple(files.values()), language=language)


def _words(spec: BotSpec) -> list[str]:
    assert spec.command is not None
    splitter = shlex.shlex(spec.command, posix=True, punctuation_chars=True)
    splitter.whitespace_split = True
    try:
        return list(splitter)
    except ValueError as error:
        raise BotError(f"bot {spec.name!r}: command {spec.command!r}: {str(error).lower()}") from None


def _is_machines(word: str) -> bool:
    """Whether the word is a program of the machine, by its absolute path."""
    found = shutil.which(PurePosixPath(word).name)
    return word.startswith("/") and found is not None and Path(found).resolve() == Path(word).resolve()


def _place(path: Path, folder: Path) -> str | None:
    """The path seen from the folder, None if it is not in there."""
    try:
        relative = path.absolute().relative_to(folder.absolute())
    except ValueError:
        return None
    place = PurePosixPath(*relative.parts)
    return None if ".." in place.parts else str(place)


def _read(spec: BotSpec, path: Path, place: str) -> SourceFile:
    try:
        return SourceFile(place, path.read_bytes(), executable=bool(path.stat().st_mode & 0o111))
    except OSError as error:
        raise BotError(f"bot {spec.name!r}: {path}: {error.strerror}") from None
