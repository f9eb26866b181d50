"""Run configs: TOML in, a frozen and validated :class:`RunConfig` out, or one line that says what is wrong.

A config has a few keys of simfarm's own and two tables whose keys belong to others: ``[plan]`` to the
planner, ``[rules]`` to the engine. Each is validated by its owner's model, so that a new engine brings its
own options, messages and JSON schema.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simfarm import registry
from simfarm.core.engine import Engine
from simfarm.core.errors import ConfigError
from simfarm.core.model import Bot, BotSpec, Matchup, Rules, SourceFile, matchup_key
from simfarm.core.planner import PlanOptions
from simfarm.schema import SCHEMA_VERSION

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$"
"""What a bot may be called: a name stands in file names, SQL and tables."""

Model = TypeVar("Model", bound=BaseModel)


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BotEntry(_Section):
    """One ``[[bots]]`` table: a bundled bot by its name alone, or a file, or a command."""

    name: Annotated[str, Field(json_schema_extra={"pattern": NAME_PATTERN}, description="name in reports")]
    file: Annotated[str | None, Field(description="source file, relative to the config's folder")] = None
    command: Annotated[str | None, Field(description="shell command, for engines with bot processes")] = None
    language: Annotated[str | None, Field(description="language of the file, if its name does not tell")] = None
    files: Annotated[tuple[str, ...], Field(description="further files that the bot reads")] = ()
    folder: Annotated[
        str, Field(description="folder of the bot's files and its command, relative to the config's folder")
    ] = ""
    author: Annotated[str | None, Field(description="who wrote it, for attribution")] = None


class Verdict(_Section):
    """The ``[verdict]`` table: how reports decide."""

    reference: Annotated[
        str | None, Field(description="the bot that others are compared with; default: the first")
    ] = None
    tie: Annotated[float, Field(ge=0, le=100, description="margins within this many percentage points tie")] = 0.05
    sigmas: Annotated[float, Field(ge=0.5, le=100, description="a win or a loss needs this many sigma")] = 3.0
    method: Annotated[
        Literal["fixed", "sequential"],
        Field(
            description="'fixed': one look, at the end of the plan; 'sequential': bounds that hold at every look, so "
            "that the first verdict counts, whenever it comes"
        ),
    ] = "fixed"
    tie_break: Annotated[
        Literal["none", "games_survived"],
        Field(description="what decides between equal sums for last place: nothing, or fewer games survived"),
    ] = "none"


class ConfigFile(_Section):
    """The top level of a config file."""

    engine: Annotated[str, Field(description="the game")]
    seed: Annotated[int, Field(ge=0, lt=2**63, description="everything random comes from it")] = 1
    bots: Annotated[tuple[BotEntry, ...], Field(description="the competitors")] = ()
    bots_folder: Annotated[
        str | None,
        Field(description="a folder whose bot files all take part, relative to the config's folder"),
    ] = None
    record: Annotated[tuple[str, ...], Field(description="optional tables to write as well")] = ()
    plan: Annotated[dict[str, Any], Field(description="planner and its options")] = {}
    rules: Annotated[dict[str, Any], Field(description="the engine's rule options")] = {}
    verdict: Annotated[Verdict, Field(description="how reports decide")] = Verdict()


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a run is: everything that decides its rows and its verdict, bots by content."""

    engine: str
    """Name of the engine."""
    seed: int
    """The run's seed, below 2**63."""
    bots: tuple[Bot, ...]
    """The competitors in config order, names unique."""
    planner: str
    """Name of the planner."""
    plan: PlanOptions
    """The planner's options."""
    rules: Rules
    """The engine's rule options."""
    record: tuple[str, ...] = ()
    """Names of optional tables that are written."""
    verdict: Verdict = field(default_factory=Verdict)
    """How reports decide."""

    def planned(
        self, engine_version: int | None = None, schema_version: int = SCHEMA_VERSION
    ) -> Iterator[tuple[str, Matchup]]:
        """The run's matchups with their keys (:func:`matchup_key`), in plan order, lazily.

        Args:
            engine_version: version of the rules by which keys are made; default: the installed engine's.
            schema_version: likewise of the row schema.

        Raises:
            ConfigError: the bots do not fit the planner.
        """
        engine = registry.engine(self.engine)
        planner = registry.planner(self.planner)
        for matchup in planner.matchups(self.bots, self.rules, self.plan, self.seed, self.record):
            version = engine.version if engine_version is None else engine_version
            yield matchup_key(engine.name, version, schema_version, matchup), matchup

    def to_json(self) -> dict[str, Any]:
        """The config as JSON values; files stand in it by path, hash and mode."""
        return {
            "engine": self.engine,
            "seed": self.seed,
            "bots": [
                {
                    "name": bot.name,
                    "command": bot.command,
                    "language": bot.language,
                    "files": [[file.path, file.sha256, file.executable] for file in bot.files],
                    **({"author": bot.author} if bot.author is not None else {}),
                }
                for bot in self.bots
            ],
            "planner": self.planner,
            "plan": self.plan.model_dump(mode="json"),
            "rules": self.rules.model_dump(mode="json"),
            "record": list(self.record),
            "verdict": self.verdict.model_dump(mode="json"),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], contents: Mapping[str, bytes], where: str) -> "RunConfig":
        """The inverse of :meth:`to_json`.

        Args:
            data: what :meth:`to_json` gave.
            contents: the files' bytes by SHA-256.
            where: what the data was read from, for messages.

        Raises:
            ConfigError: the installed engine or planner no longer takes these options.
        """
        bots = tuple(
            Bot(
                name=bot["name"],
                command=bot["command"],
                language=bot["language"],
                files=tuple(SourceFile(path, contents[sha], flag) for path, sha, flag in bot["files"]),
                author=bot.get("author"),
            )
            for bot in data["bots"]
        )
        return cls(
            engine=data["engine"],
            seed=data["seed"],
            bots=bots,
            planner=data["planner"],
            plan=validate(registry.planner(data["planner"]).options, data["plan"], where, "plan"),
            rules=validate(registry.engine(data["engine"]).rules, data["rules"], where, "rules"),
            record=tuple(data["record"]),
            verdict=validate(Verdict, data["verdict"], where, "verdict"),
        )


def load_config(path: Path) -> RunConfig:
    """Read a config file and the bots it names.

    Raises:
        ConfigError: the file is missing, is no TOML, or says something that is not allowed.
        BotError: a bot's file is missing or cannot be a bot.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such config file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    raw = validate(ConfigFile, data, str(path))
    entries = [_spec(entry, path.parent) for entry in raw.bots]
    if raw.bots_folder is not None:
        folder = path.parent / raw.bots_folder
        if not folder.is_dir():
            raise ConfigError(f"{path}: bots_folder = {raw.bots_folder!r}: no such folder")
        files = _engine(raw.engine, path).bot_files(folder)
        entries += [BotSpec(file.stem, file=str(file)) for file in files]
    return build_config(
        raw.engine,
        entries,
        seed=raw.seed,
        plan=raw.plan,
        rules=raw.rules,
        record=raw.record,
        verdict=raw.verdict,
        where=str(path),
        folder=path.parent,
    )


def build_config(
    engine_name: str,
    specs: Sequence[BotSpec],
    *,
    seed: int = 1,
    plan: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
    record: Sequence[str] = (),
    verdict: Verdict | None = None,
    where: str,
    folder: Path = Path(),
) -> RunConfig:
    """Put a config together from its parts and load its bots; ``where`` stands in front of messages, and
    paths among the rule options are relative to ``folder``.

    Raises:
        ConfigError: a part says something that is not allowed.
        BotError: a bot's file is missing or cannot be a bot.
    """
    engine = _engine(engine_name, where)
    options = dict(plan or {})
    planner_name = options.pop("planner", engine.default_planner)
    try:
        planner = registry.planner(planner_name)
    except ConfigError as error:
        raise ConfigError(f"{where}: plan.planner: {error}") from None
    optional = [table.name for table in engine.tables if table.optional]
    for name in record:
        if name not in optional:
            known = ", ".join(optional) or f"{engine_name} has no optional tables"
            raise ConfigError(f"{where}: record: unknown table {name!r}; allowed: {known}")
    if not 0 <= seed < 2**63:
        raise ConfigError(f"{where}: seed = {seed}: must be from 0 to 2**63 - 1")
    names = Counter(spec.name for spec in specs)
    for name, count in names.items():
        if not re.match(NAME_PATTERN, name):
            raise ConfigError(
                f"{where}: bots: the name {name!r}: must be up to 64 letters, digits and . _ + -, "
                "the first a letter or a digit"
            )
        if count > 1:
            raise ConfigError(f"{where}: bots: the name {name!r} is given to {count} bots; names must differ")
    chosen = verdict or Verdict()
    if chosen.reference is not None and chosen.reference not in names:
        near = registry.nearest(chosen.reference, names)
        raise ConfigError(
            f"{where}: verdict.reference = {chosen.reference!r} is no bot of this run{near}; "
            f"allowed: {', '.join(names)}"
        )
    if chosen.tie_break == "games_survived" and engine.score.survived is None:
        raise ConfigError(
            f"{where}: verdict.tie_break = 'games_survived': rows of {engine_name} do not tell it; allowed: 'none'"
        )
    try:
        rule_options = engine.read_rules(rules or {}, folder)
    except ConfigError as error:
        raise ConfigError(f"{where}: rules: {error}") from None
    config = RunConfig(
        engine=engine_name,
        seed=seed,
        bots=tuple(
            replace(engine.load(_complete(spec, engine_name, where)), author=spec.author) for spec in specs
        ),
        planner=planner_name,
        plan=validate(planner.options, options, where, "plan"),
        rules=validate(engine.rules, rule_options, where, "rules"),
        record=tuple(sorted(set(record))),
        verdict=chosen,
    )
    try:
        first = next(config.planned(), None)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    if first is None:
        raise ConfigError(f"{where}: {len(specs)} bots make no matchup with the planner {planner_name!r}")
    return config


def parse_assignments(texts: Sequence[str], option: str) -> dict[str, Any]:
    """``KEY=VALUE`` texts of a command line as a config's table; values as in TOML, bare words are strings.

    Raises:
        ConfigError: a text is no assignment.
    """
    table: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{option} {text!r}: write KEY=VALUE")
        try:
            table[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            table[key] = value
    return table


def validate(model: type[Model], data: Mapping[str, Any], where: str, *prefix: str) -> Model:
    """Validate JSON-like data strictly; a mistake becomes one line with file, key, value and what is allowed.

    Raises:
        ConfigError: always on a mistake; further mistakes are counted.
    """
    try:
        text = json.dumps(data)
    except TypeError:
        raise ConfigError(f"{where}: dates and times are not allowed in a config") from None
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        details = error.errors()
        more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
        raise ConfigError(f"{where}: {_explain(details[0], model, prefix)}{more}") from None


def _explain(detail: Any, model: type[BaseModel], prefix: tuple[str, ...]) -> str:
    location = tuple(str(part) for part in detail["loc"])
    key = ".".join((*prefix, *location))
    if detail["type"] == "extra_forbidden":
        allowed = sorted([*_fields_at(model, location[:-1]), *(["planner"] if key.startswith("plan.") else [])])
        return f"{key}: unknown key{registry.nearest(location[-1], allowed)}; allowed: {', '.join(allowed)}"
    if detail["type"] == "missing":
        return f"{key}: this key is required"
    message = detail["msg"].removeprefix("Value error, ")
    return f"{key} = {json.dumps(detail['input'])}: {message[:1].lower()}{message[1:]}"


def _fields_at(model: type[BaseModel], location: tuple[str, ...]) -> list[str]:
    schema = model.model_json_schema()
    node = schema
    for part in location:
        node = node["items"] if part.isdigit() else node["properties"][part]
        while reference := _reference(node):
            node = schema["$defs"][reference.rsplit("/", 1)[1]]
    return list(node.get("properties", {}))


def _reference(node: Mapping[str, Any]) -> str | None:
    """What a schema's node refers to, itself or as one of several."""
    nodes = [node, *node.get("allOf", ()), *node.get("anyOf", ())]
    return next((one["$ref"] for one in nodes if "$ref" in one), None)


def json_schema() -> dict[str, Any]:
    """The JSON schema of config files, with the options of every installed engine and planner."""
    schema = ConfigFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "simfarm run config"
    definitions = schema.setdefault("$defs", {})
    rules, plans = [], []
    for name in registry.engine_names():
        engine = registry.engine(name)
        definitions[f"rules-{name}"] = _inline(engine.rules, definitions)
        condition = {"properties": {"engine": {"const": name}}}
        rules.append({"if": condition, "then": {"properties": {"rules": {"$ref": f"#/$defs/rules-{name}"}}}})
    for name in registry.planner_names():
        options = _inline(registry.planner(name).options, definitions)
        options["properties"] = {"planner": {"const": name}, **options.get("properties", {})}
        plans.append(options)
    schema["allOf"] = rules
    schema["properties"]["engine"]["enum"] = registry.engine_names()
    schema["properties"]["plan"] = {"description": "planner and its options", "anyOf": plans}
    return schema


def _inline(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    schema = model.model_json_schema()
    definitions.update(schema.pop("$defs", {}))
    return schema


def _engine(name: str, where: object) -> Engine:
    try:
        return registry.engine(name)
    except ConfigError as error:
        raise ConfigError(f"{where}: engine: {error}") from None


def _spec(entry: BotEntry, config_folder: Path) -> BotSpec:
    folder = config_folder / entry.folder
    return BotSpec(
        name=entry.name,
        file=str(folder / entry.file) if entry.file is not None else None,
        command=entry.command,
        language=entry.language,
        files=tuple(str(folder / file) for file in entry.files),
        folder=str(folder),
        author=entry.author,
    )


def _complete(spec: BotSpec, engine_name: str, where: str) -> BotSpec:
    if spec.file is not None and spec.command is not None:
        raise ConfigError(f"{where}: bot {spec.name!r}: give a file or a command, not both")
    if spec.file is not None or spec.command is not None:
        return spec
    bundled = registry.engine(engine_name).bundled()
    if spec.name not in bundled:
        near = registry.nearest(spec.name, bundled)
        raise ConfigError(
            f"{where}: bot {spec.name!r} has no file and is not bundled with {engine_name}{near}; "
            f"bundled: {', '.join(sorted(bundled)) or 'none'}"
        )
    return bundled[spec.name]
