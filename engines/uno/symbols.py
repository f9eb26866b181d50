"""The names by which compiled files find each other when they are linked."""

from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection


def defined_and_wanted(path: Path) -> tuple[set[str], set[str]]:
    """The global names that an object file defines, and those that it leaves to others."""
    defined: set[str] = set()
    wanted: set[str] = set()
    with path.open("rb") as file:
        for table in ELFFile(file).iter_sections():
            if not isinstance(table, SymbolTableSection):
                continue
            for symbol in table.iter_symbols():
                if symbol.name and symbol.entry["st_info"]["bind"] != "STB_LOCAL":
                    (wanted if symbol.entry["st_shndx"] == "SHN_UNDEF" else defined).add(symbol.name)
    return defined, wanted
