"""What a compiled bot could remember from one call to the next: at level ``native`` nothing wipes it, so rows would
depend on how a run is cut into shards, and such a bot is refused."""

from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_WRITE = 1
_STATEFUL = {
    "drand48",
    "erand48",
    "initstate",
    "lrand48",
    "mrand48",
    "nrand48",
    "random",
    "setstate",
    "srand48",
    "srandom",
    "strtok",
}
"""Functions of the C library that keep something between calls."""


def kept_state(path: Path) -> Iterator[str]:
    """What an object file keeps, in words, one text for each variable or function."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        writable = {
            index
            for index, section in enumerate(elf.iter_sections())
            if section["sh_flags"] & _WRITE and section["sh_size"]
        }
        named = set()
        for table in elf.iter_sections():
            if not isinstance(table, SymbolTableSection):
                continue
            for symbol in table.iter_symbols():
                place = symbol.entry["st_shndx"]
                if place == "SHN_UNDEF" and symbol.name in _STATEFUL:
                    yield f"{symbol.name}() keeps its state in the C library; use rand()"
                elif place == "SHN_COMMON" or (place in writable and symbol.name):
                    named.add(place)
                    yield f"'{symbol.name}' keeps a value from call to call; use locals"
        if writable - named:
            yield "there is data that can be written; use locals"
