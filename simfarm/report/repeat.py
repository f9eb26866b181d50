"""What was run, and how anyone repeats it."""

from pathlib import Path
from typing import Any

import tomli_w

from simfarm.core.model import Bot
from simfarm.report.page import Section
from simfarm.report.render import Column, Table, number
from simfarm.store import Run


def repeat(run: Run) -> Section:
    """The section on a run's config, versions, bots and commands."""
    manifest, config = run.manifest, run.config
    name = Path(run.place.address).name
    made = Table(
        "Versions",
        (Column("what"), Column("version")),
        (
            ("simfarm", str(manifest.get("simfarm", "-"))),
            (f"rules of {config.engine}", str(manifest["engine_version"])),
            ("row schema", str(manifest["schema"])),
            ("run made", str(manifest.get("created", "-"))),
            ("run identity", run.identity),
        ),
    )
    bots = Table(
        "Bots",
        (Column("bot"), Column("author"), Column("source"), Column("SHA-256 of its content")),
        tuple((bot.name, bot.author or "-", _source(bot), bot.hash) for bot in config.bots),
    )
    rows = sum(part.rows for receipt in run.receipts() for part in receipt.parts.values())
    return Section(
        "repeat",
        "What was run, and how to repeat it",
        paragraphs=(
            f"{number(rows)} rows of {len(run.matchups()):,} matchups, seed {config.seed}. A result depends on the "
            "config, the bots' content and the versions below, and on nothing else: not on the machine, the number "
            "of workers or the order of play; columns that record time are the exception.",
        ),
        tables=(made, bots),
        code=(
            (
                f"The config, as carried out: save it as {name}.toml beside the bots' files.",
                config_text(run),
            ),
            ("Play it again:", f"simfarm run {name}.toml --out results/{name}-again"),
            (
                "Check a sample of the rows against fresh play, where the run folder is:",
                f"simfarm audit {run.place}",
            ),
        ),
    )


def config_text(run: Run) -> str:
    """A run's config as TOML; options that have their default value are left out."""
    config = run.config
    verdict = config.verdict.model_dump(mode="json", exclude_defaults=True)
    rules = config.rules.model_dump(mode="json", exclude_defaults=True)
    plan = config.plan.model_dump(mode="json", exclude_defaults=True)
    table: dict[str, Any] = {
        "engine": config.engine,
        "seed": config.seed,
        **({"record": list(config.record)} if config.record else {}),
        "plan": {"planner": config.planner, **plan},
        **({"rules": rules} if rules else {}),
        **({"verdict": verdict} if verdict else {}),
    }
    bots = [f"[[bots]]  # {bot.hash[:16]}\n{tomli_w.dumps(_entry(bot, run))}" for bot in config.bots]
    return "\n".join([tomli_w.dumps(_plain(table)), *bots])


def _entry(bot: Bot, run: Run) -> dict[str, Any]:
    bundled = run.engine.bundled().get(bot.name)
    if bundled is not None and run.engine.load(bundled).hash == bot.hash:
        return {"name": bot.name}
    paths = [file.path for file in bot.files]
    source, others = (paths[0], paths[1:]) if bot.command is None and paths else (None, paths)
    values = {
        "name": bot.name,
        "author": bot.author,
        "file": source,
        "command": bot.command,
        "language": bot.language if source is not None else None,
        "files": others or None,
    }
    return {key: value for key, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    """Without nulls, which TOML has not."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value


def _source(bot: Bot) -> str:
    names = ", ".join(Path(file.path).name for file in bot.files)
    return bot.command if bot.command is not None else names
