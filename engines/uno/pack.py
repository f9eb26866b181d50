"""The author's pack: the referee's sources, a program around it, bots to spar with, and a README that says it all."""

from pathlib import Path

from engines.uno.coderules.rules import RULES
from simfarm.core import seeds

SPARRING = ("sparring_points", "sparring_tempo", "sparring_colour")
"""The bots that come with the pack."""
STARTER = "starter"
"""The legal bot to begin from."""
FLAGS = (
    *("-O2", "-std=gnu89", "-Wall", "-Wextra", "-fsigned-char", "-Ulinux", "-Uunix", "-D_GNU_SOURCE="),
    *("-U_FORTIFY_SOURCE", "-ffp-contract=off", "-fstack-clash-protection"),
    *("-fsanitize=bounds,integer-divide-by-zero", "-fsanitize-undefined-trap-on-error"),
    *("-I.", "-Ireferee", "-include", "proj2.h"),
)
"""How referee and bots are compiled at once: as far as one command can, what simfarm compiles each of them with.
Every compiler since GCC 8 takes these; what only newer ones take is left to the README."""

_AUTHOR = Path(__file__).parent / "author"
_REFEREE = Path(__file__).parent / "referee"
_OF_WASM = {"library.c"}


def write_pack(folder: Path, bots: Path) -> str:
    """Fill an empty folder.

    Args:
        folder: where to.
        bots: folder of the bundled bots.

    Returns:
        The command that builds the program ``uno`` there.
    """
    (folder / "referee").mkdir()
    header = (_REFEREE / "proj2.h").read_text(encoding="utf-8")
    (folder / "proj2.h").write_text(header, encoding="utf-8")
    for path in sorted(_REFEREE.glob("*.[ch]")):
        if path.name not in _OF_WASM | {"proj2.h"}:
            (folder / "referee" / path.name).write_bytes(path.read_bytes())
    seeds_header = Path(seeds.__file__).parent / "native" / "seeds.h"
    (folder / "referee" / "seeds.h").write_bytes(seeds_header.read_bytes())
    (folder / "uno.c").write_bytes((_AUTHOR / "uno.c").read_bytes())
    for name in (STARTER, *SPARRING):
        (folder / f"{name}.c").write_bytes((bots / f"{name}.c").read_bytes())
    command = build_command((STARTER, *SPARRING))
    text = (_AUTHOR / "README.md").read_text(encoding="utf-8")
    parts = {
        "BUILD": command,
        "BUILD MINE": build_command(("mybot", *SPARRING)),
        "BUILD LOG": build_command(("mybot", *SPARRING), "uno-log", ("-DUNO_TRACE",)),
        "HEADER": header.rstrip(),
        "CODE RULES": "\n".join(f"| `{name}` | {demand} |" for name, demand in RULES.items()),
    }
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    (folder / "README.md").write_text(text, encoding="utf-8")
    return command


def build_command(ring: tuple[str, ...], output: str = "uno", flags: tuple[str, ...] = ()) -> str:
    """The one command that builds a program for a ring.

    Args:
        ring: aliases of four bots; the file of each is named after it.
        output: name of the program.
        flags: further ones.
    """
    files = [f"{alias}.c" for alias in dict.fromkeys(ring)]
    return " ".join(["gcc", *FLAGS, *flags, f"-DRING={','.join(ring)}", "uno.c", *files, "-o", output, "-lm"])
