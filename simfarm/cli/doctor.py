"""``simfarm doctor``: what this machine offers."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from simfarm import doctor as probes
from simfarm.cli.options import RESULTS, Format, FormatOption
from simfarm.core.probe import Finding, Status
from simfarm.report.render import Column, Report, Table


def doctor(
    ray: Annotated[
        bool, typer.Option("--ray", help="Start Ray here for a moment as well; takes seconds.")
    ] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Try what this machine offers to simfarm and to each game: packages, disk, compilers, walls, languages.

    `lacks` means that a thing is not there, `broken` that it is there and does not work; of either is said what that
    costs and what to do about it. Exit code 1 if something lacks that the defaults need.

    Example: simfarm doctor --format json | jq '.findings[] | select(.status != "ok")'
    """
    found = list(probes.findings(RESULTS, ray))
    report = _report(found)
    if format is Format.JSON:
        print(report.json())
    elif format is Format.MARKDOWN:
        print(report.markdown())
    else:
        report.text(Console())
    if not report.data["ok"]:
        raise typer.Exit(1)


def _report(found: list[tuple[str, Finding]]) -> Report:
    wrong = [finding for _, finding in found if finding.status is not Status.OK]
    needed = [finding.what for finding in wrong if finding.needed]
    verdict = "everything that the defaults need is here"
    if needed:
        verdict = f"the defaults need and do not have: {', '.join(needed)}"
    others = len(wrong) - len(needed)
    return Report(
        title="simfarm doctor",
        paragraphs=(
            f"{verdict}; {others} other thing{'' if others == 1 else 's'} to know about",
            *map(_advice, wrong),
        ),
        tables=(
            Table(
                "",
                tuple(map(Column, ("area", "what", "status", "found"))),
                tuple((area, finding.what, _state(finding), finding.found) for area, finding in found),
            ),
        ),
        data={"ok": not needed, "findings": [{"area": area, **asdict(finding)} for area, finding in found]},
    )


def _state(finding: Finding) -> str:
    return f"{finding.status}, needed" if finding.needed and finding.status is not Status.OK else finding.status


def _advice(finding: Finding) -> str:
    without = f"Without it {finding.costs}. What to do: {finding.remedy}."
    return f"{finding.what} {_state(finding)}: {finding.found}. {without}"
