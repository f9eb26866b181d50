"""What a run is: its manifest, and its bots' files."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from simfarm.config import RunConfig, validate
from simfarm.core.errors import ConfigError, StoreError
from simfarm.schema import SCHEMA_VERSION
from simfarm.store.bucket import Bucket
from simfarm.store.folder import Folder
from simfarm.store.place import Place, lock, reason

MANIFEST_FORMAT = 1
UNFINISHED = {"bots", "lock", "tmp"}
"""What a folder holds at most when a run was killed while it was made."""


class _BotShape(BaseModel):
    name: str
    command: str | None
    language: str | None
    files: list[tuple[str, Annotated[str, Field(pattern="^[0-9a-f]{64}$")], bool]]
    author: str | None = None


class _ConfigShape(BaseModel):
    engine: str
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    bots: list[_BotShape]
    planner: str
    plan: dict[str, Any]
    rules: dict[str, Any]
    record: list[str]
    verdict: dict[str, Any]


class _Shape(BaseModel):
    """What a manifest holds at least; the options in its config are for their owners to judge."""

    schema_version: Annotated[int, Field(alias="schema")]
    engine_version: int
    identity: str
    config: _ConfigShape


def place_at(where: str | Path) -> Place:
    """The place at a path, or at a URI: a text with ``://`` in it.

    Raises:
        StoreError: nothing here opens such a URI.
    """
    return Bucket(where) if isinstance(where, str) and "://" in where else Folder(Path(where))


def exists(where: str | Path) -> bool:
    """Whether a run lies at a path or a URI.

    Raises:
        StoreError: the place cannot be read.
    """
    place = place_at(where)
    try:
        place.read("manifest.json")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(f"{place}: cannot be read: {reason(error)}") from None
    return True


def read_manifest(place: Place) -> dict[str, Any]:
    """The manifest of the run at a place.

    Raises:
        StoreError: there is no run, or it is not readable by this version.
    """
    try:
        manifest: dict[str, Any] = json.loads(place.read("manifest.json"))
    except FileNotFoundError:
        raise StoreError(f"{place}: no run here (no manifest.json)") from None
    except OSError as error:
        raise StoreError(f"{place}/manifest.json: cannot be read: {reason(error)}") from None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{place}/manifest.json: cannot be read: {error}") from None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise StoreError(f"{place}/manifest.json: damaged: not a run's manifest")
    if manifest["format"] != MANIFEST_FORMAT:
        raise StoreError(
            f"{place}: its manifest has format {manifest['format']!r}, this simfarm reads {MANIFEST_FORMAT}"
        )
    try:
        validate(_Shape, manifest, f"{place}/manifest.json")
    except ConfigError as error:
        raise StoreError(f"{error}; the file is damaged") from None
    layout = manifest.get("layout", Folder.layout)
    if layout != place.layout:
        hint = f"file://{place.address}" if isinstance(place, Folder) else "a plain path"
        raise StoreError(f"{place}: this run was made as {layout}, not as {place.layout}; open it by {hint}")
    if manifest["schema"] not in range(1, SCHEMA_VERSION + 1):
        raise StoreError(
            f"{place}: its rows have schema {manifest['schema']!r}, this simfarm reads 1 to {SCHEMA_VERSION}; "
            "a newer simfarm made it"
        )
    return manifest


def write_manifest(
    place: Place, present: Mapping[str, Any] | None, manifest: Mapping[str, Any], config: RunConfig
) -> None:
    """Put a manifest and its bots' files in place of the one that was read before, or of none.

    Raises:
        StoreError: the run is being played or was changed meanwhile, or the place cannot be written.
    """
    with closing(lock(place)):  # a run that is being played keeps its config
        if (read_manifest(place) if exists(place.address) else None) != present:
            raise StoreError(f"{place}: another simfarm made or changed this run just now; run the command again")
        write_bots(place, config)
        try:
            place.put("manifest.json", json.dumps(manifest, indent=1).encode() + b"\n")
        except OSError as error:
            raise StoreError(f"{place}: cannot be written: {reason(error)}") from None


def bot_problem(place: Place, sha: str) -> str:
    """What is wrong with a bot's file in a run, in words; empty if nothing is."""
    try:
        data = place.read(f"bots/{sha}")
    except OSError as error:
        return f"bots/{sha}: cannot be read: {reason(error)}"
    return "" if hashlib.sha256(data).hexdigest() == sha else f"bots/{sha}: damaged: its content has another hash"


def write_bots(place: Place, config: RunConfig) -> None:
    files = {file.sha256: file.data for bot in config.bots for file in bot.files}
    try:
        for sha, data in files.items():
            if bot_problem(place, sha):
                place.put(f"bots/{sha}", data)
    except OSError as error:
        raise StoreError(f"{place}: cannot be written: {reason(error)}") from None


def is_free(place: Place) -> bool:
    """Whether a run may be made at a place: it is empty, or has what a run left that was killed while it was made."""
    try:
        return {name.partition("/")[0] for name in place.sizes()} <= UNFINISHED
    except NotADirectoryError:
        return False
    except OSError as error:
        raise StoreError(f"{place}: cannot be read: {reason(error)}") from None


def known_config(place: Place, manifest: Mapping[str, Any]) -> Any:
    """The config of a manifest, read and written again: options that are newer than it have their defaults."""
    config = manifest["config"]
    known = RunConfig.from_json({**config, "bots": []}, {}, f"{place}/manifest.json")
    return {**plain(known), "bots": config["bots"]}


def read_config(place: Place, manifest: Mapping[str, Any]) -> RunConfig:
    contents = {}
    for bot in manifest["config"]["bots"]:
        for _, sha, _ in bot["files"]:
            if problem := bot_problem(place, sha):
                raise StoreError(f"{place}/{problem}; simfarm run with the run's config writes it again")
            contents[sha] = place.read(f"bots/{sha}")
    return RunConfig.from_json(manifest["config"], contents, f"{place}/manifest.json")


def plain(config: RunConfig) -> Any:
    return json.loads(json.dumps(config.to_json()))


def difference(present: Any, wanted: Any, key: str = "") -> str:
    """The first difference of two JSON values, in words."""
    if isinstance(present, dict) and isinstance(wanted, dict):
        for name in {**present, **wanted}:
            if present.get(name) != wanted.get(name):
                return difference(present.get(name), wanted.get(name), f"{key}.{name}" if key else name)
    if key == "bots":
        before = {bot["name"]: bot for bot in present}
        after = {bot["name"]: bot for bot in wanted}
        changes = [f"without {name}" for name in before if name not in after]
        changes += [f"with {name} added" for name in after if name not in before]
        changes += [f"{name} changed" for name in after if name in before and before[name] != after[name]]
        return f"bots: {', '.join(changes) or 'in another order'}"
    return f"{key} is {json.dumps(present)} there and {json.dumps(wanted)} here"
