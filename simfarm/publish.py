"""A round of a league as an archive for everyone: sources with attribution, results, report, and the run itself.

::

    NAME-round-02.zip
      02/report.md, 02/report.json    the elimination report
      02/ATTRIBUTION.md               who wrote which bot, and its hash
      02/bots/NAME/                   every bot's files as they were played
      02/results.csv                  the rows that the verdict comes from
      02/run/                         the run folder: simfarm reports on it, queries it and replays it
      02.1/...                        the same for each time that the round was played again
"""

import io
import os
import zipfile
from pathlib import Path

import polars as pl

from simfarm import query
from simfarm.core.errors import ConfigError, StoreError
from simfarm.league import League
from simfarm.report.elimination import elimination
from simfarm.report.league import Round
from simfarm.report.render import Column, Report, Table
from simfarm.store import Run

_EPOCH = (1980, 1, 1, 0, 0, 0)


def publish(league: League, number: int, out: Path | None = None) -> Path:
    """Write the archive of a round that has been decided.

    Args:
        league: the league.
        number: the round's number, from 1.
        out: the archive; default: ``published/`` in the league's folder.

    Returns:
        Path of the archive.

    Raises:
        ConfigError: there is no such round, or it is not decided yet.
        StoreError: a round cannot be read, or the archive cannot be written.
    """
    status = league.status()
    played = [attempt for attempt in status.rounds if attempt.number == number]
    if not played:
        known = sorted({attempt.number for attempt in status.rounds})
        raise ConfigError(
            f"publish: there is no round {number}; rounds: {', '.join(map(str, known)) or 'none yet'}"
        )
    if status.next is not None and status.next[0] == number:
        raise ConfigError(f"publish: round {number} is not decided yet: {played[-1].outcome()}")
    name = league.path.resolve().name
    path = out if out is not None else league.path / "published" / f"{name}-round-{number:02}.zip"
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
                for attempt in played:
                    _add_round(archive, attempt)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def _add_round(archive: zipfile.ZipFile, attempt: Round) -> None:
    run, top = Run(attempt.folder), attempt.folder.name
    report = elimination(run)
    _add(archive, f"{top}/report.md", report.markdown().encode() + b"\n")
    _add(archive, f"{top}/report.json", report.json().encode() + b"\n")
    _add(archive, f"{top}/ATTRIBUTION.md", _attribution(run, attempt).markdown().encode() + b"\n")
    for bot in run.config.bots:
        for file in bot.files:
            _add(archive, f"{top}/bots/{bot.name}/{file.path}", file.data, executable=file.executable)
    _add(archive, f"{top}/results.csv", _results(run))
    _add(archive, f"{top}/run/manifest.json", (run.path / "manifest.json").read_bytes())
    for file in {file.sha256: file for bot in run.config.bots for file in bot.files}.values():
        _add(archive, f"{top}/run/bots/{file.sha256}", file.data)
    receipts = list(run.committed(run.matchups()))  # whole, as their parts are
    _add(
        archive,
        f"{top}/run/receipts.jsonl",
        b"".join(receipt.to_line() for receipt in receipts),
    )
    for receipt in receipts:
        for part in receipt.parts.values():
            _add(archive, f"{top}/run/{part.path}", (run.path / part.path).read_bytes())


def _add(archive: zipfile.ZipFile, name: str, data: bytes, *, executable: bool = False) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o755 if executable else 0o644) << 16
    archive.writestr(info, data)


def _attribution(run: Run, attempt: Round) -> Report:
    rows = tuple(
        (bot.name, bot.author or "unknown", bot.language or bot.command or "-", bot.hash)
        for bot in run.config.bots
    )
    columns = (Column("bot"), Column("author"), Column("language or command"), Column("SHA-256 of all that it is"))
    return Report(f"Bots of {attempt.title}", (), (Table("", columns, rows),), {})


def _results(run: Run) -> bytes:
    """The rows of the score's table as CSV, matchups by their bots' names as well."""
    names = query.matchups(run).select("matchup", pl.col("bots").str.replace_all(", ", " "))
    rows = run.lazy(run.engine.score.table).with_columns(pl.col("matchup").cast(pl.String)).collect()
    joined = names.join(rows, on="matchup", how="inner", maintain_order="left_right")
    buffer = io.BytesIO()
    joined.sort("matchup", "block", maintain_order=True).write_csv(buffer)
    return buffer.getvalue()
