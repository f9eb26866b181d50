"""``python -m engines.poker_run gen | check | baseline | planner``: cases, verdicts and players at the
command line."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from engines.poker_run import players
from engines.poker_run.checker import Verdict
from engines.poker_run.engine import PokerRunEngine, output_of
from engines.poker_run.instance import generate, read_case, write_case
from engines.poker_run.kernel import kernel, packed_case, unpacked_moves
from engines.poker_run.ruleset import Ruleset, default_ruleset, read_ruleset
from simfarm.core.errors import ConfigError, SimfarmError

app = typer.Typer(help="Poker Run: make cases, judge outputs, run the built-in players.", no_args_is_help=True)

Seed = Annotated[int, typer.Option("--seed", "-s", min=0, max=2**32 - 1, help="Seed of the case.")]
CaseFile = Annotated[Path | None, typer.Option("--case", help="A case file instead of a seed.")]
RulesetFile = Annotated[
    Path | None, typer.Option("--ruleset", help="A ruleset file; default: the one that ships.")
]


def _ruleset(path: Path | None) -> Ruleset:
    return default_ruleset() if path is None else read_ruleset(path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


@app.command()
def gen(seed: Seed, ruleset: RulesetFile = None) -> None:
    """Write the case of a seed."""
    rules = _ruleset(ruleset)
    sys.stdout.write(write_case(generate(seed, rules), rules))


@app.command()
def check(
    case: Annotated[Path, typer.Argument(help="Case file.")],
    output: Annotated[Path, typer.Argument(help="Output of a program, any bytes.")],
    format: Annotated[str, typer.Option("--format", "-f", help="text or json.")] = "text",
    ruleset: RulesetFile = None,
) -> None:
    """Judge an output: points per round, total and rounds cleared, or the first illegal move and why.

    Exit code 0 for a valid output, 1 for an invalid one, 2 if a file cannot be used.
    """
    rules = _ruleset(ruleset)
    if format not in ("text", "json"):
        raise ConfigError(f"--format {format!r}: allowed: text, json")
    known = read_case(_read(case).decode("utf-8", "replace"), rules, str(case))
    verdict = kernel(rules).check(known, _read(output))
    print(json.dumps(verdict.to_json(rules)) if format == "json" else _text(verdict, rules))
    raise typer.Exit(0 if verdict.valid else 1)


def _text(verdict: Verdict, ruleset: Ruleset) -> str:
    lines = []
    for end in verdict.rounds:
        hands = " ".join(ruleset.hand[index].code for index in end.types) or "no plays"
        how = "cleared" if end.cleared else "not cleared"
        lines.append(f"round {end.number}: {end.points:>8} of {end.target:>6}  {how}  ({hands})")
    if verdict.mistake is not None:
        lines.append(f"invalid, 0 points: {verdict.mistake}")
    else:
        lines.append(f"total {verdict.total}, rounds cleared {verdict.rounds_cleared}")
    return "\n".join(lines)


@app.command()
def baseline(seed: Seed = 1, case: CaseFile = None, ruleset: RulesetFile = None) -> None:
    """Write the baseline's moves for a case."""
    _play("baseline", seed, case, ruleset)


@app.command()
def planner(seed: Seed = 1, case: CaseFile = None, ruleset: RulesetFile = None) -> None:
    """Write the planner's moves for a case."""
    _play("planner", seed, case, ruleset)


def _play(name: str, seed: int, case: Path | None, ruleset: Path | None) -> None:
    rules, engine = _ruleset(ruleset), PokerRunEngine()
    if case is None:
        known = generate(seed, rules)
    else:
        known = read_case(_read(case).decode("utf-8", "replace"), rules, str(case))
    moves, _ = players.play(engine.load(engine.bundled()[name]), packed_case(known), rules)
    sys.stdout.write(output_of(unpacked_moves(moves), rules).decode())


def main() -> None:
    """Run a command; a mistake that a user can mend is one line and exit code 2."""
    try:
        app(prog_name="python -m engines.poker_run")
    except SimfarmError as error:
        print(f"poker_run: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
