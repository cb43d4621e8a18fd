"""FILE.manifest.json: how a FILE was made, and how its last run went.

The recipe is everything that decides what a stage writes for a record; --resume refuses to
continue with another one. The rest is the story of the last run. Neither holds a secret
(`pipe.masking`).
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from grasp_cli import __version__
from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.pipe.masking import masked

FORMAT, VERSION = "grasp manifest", 1
PACKAGES = (
    "torch",
    "transformers",
    "tokenizers",
    "sentence-transformers",
    "numpy",
    "faiss-cpu",
    "bm25s",
    "orjson",
    "nltk",
    "httpx",
    "ollama",
)
_SECRET = re.compile(r"(^|_)(key|secret|password)$")


@dataclass(frozen=True)
class Recipe:
    """What decides what a stage writes for a record.

    `models` are name and SHA-256 (None: not known) by role; `index` is the hash of its content.
    Options in `free` change how a run goes and not what it writes: they are recorded only.
    """

    stage: str
    options: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    index: str | None = None
    shard: str | None = None
    free: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, Any]:
        """As the manifest has it."""
        options = {name: _plain(value) for name, value in sorted(self.options.items())}
        return {
            "stage": self.stage,
            "options": {name: v for name, v in options.items() if not _SECRET.search(name)},
            "models": {role: dict(model) for role, model in self.models.items()},
            "index": self.index,
            "shard": self.shard,
            "free": sorted(self.free),
        }

    def differences(self, then: Mapping[str, Any]) -> list[str]:
        """What differs from the recipe `then` of a manifest, each as "name THEN, now NOW"."""
        return list(differences(self.as_json(), then))


def differences(now: Mapping[str, Any], then: Mapping[str, Any]) -> Iterator[str]:
    """What differs between two recipes as manifests have them."""
    if then["stage"] != now["stage"]:
        yield f"stage {then['stage']}, now {now['stage']}"
        return
    for name in sorted({*then["options"], *now["options"]} - {*now["free"]}):
        old, new = then["options"].get(name), now["options"].get(name)
        if old != new:
            yield f"{name} {_shown(old)}, now {_shown(new)}"
    for role in sorted({*then["models"], *now["models"]}):
        old, new = then["models"].get(role), now["models"].get(role)
        if _weights(old) != _weights(new):
            yield f"{role} model {_named(old)}, now {_named(new)}"
    if then["index"] != now["index"]:
        yield f"index {_short(then['index'])}, now {_short(now['index'])}"
    if then["shard"] != now["shard"]:
        yield f"shard {then['shard']}, now {now['shard']}"


@dataclass(frozen=True)
class Manifest:
    """A recipe as JSON, whether FILE is of it (`complete`), and the last run as JSON.

    While a run goes on over a finished FILE of the same recipe, `complete` stays true.
    """

    recipe: Mapping[str, Any]
    complete: bool
    failed_before: int = 0  # records that failed when FILE was finished and is continued
    run: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write the manifest of the output `path`, whole or not at all."""
        head = {"format": FORMAT, "version": VERSION, "complete": self.complete}
        before = {"failed_before": self.failed_before}
        value = {**head, **self.recipe, "packages": packages(), **before, **self.run}
        place = place_of(path)
        part = place.with_name(f"{place.name}.part")
        try:
            part.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")
            os.replace(part, place)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise ProcessingError(f"{place}: cannot be written: {error.strerror}") from None

    @classmethod
    def read(cls, path: Path) -> Manifest | None:
        """The manifest of the output `path`, None where there is none."""
        place = place_of(path)
        try:
            value = orjson.loads(place.read_bytes())
            if value["format"] != FORMAT or value["version"] != VERSION:
                raise KeyError("version")
            recipe = {name: value[name] for name in Recipe("").as_json()}
            run = {name: value[name] for name in value if name not in (*recipe, *_HEAD)}
            return cls(recipe, bool(value["complete"]), int(value["failed_before"]), run)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            raise ProcessingError(
                f"{place}: not a manifest that this grasp reads: remove it, and add --force to "
                "--resume to go on without it"
            ) from None


_HEAD = ("format", "version", "complete", "packages", "failed_before")


def place_of(path: Path) -> Path:
    """Where the manifest of the output `path` is."""
    return path.with_name(f"{path.name}.manifest.json")


def packages() -> dict[str, str]:
    """Versions of what the output may depend on, without importing any of it."""
    found = {"python": platform.python_version(), "grasp-cli": __version__}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _weights(model: Mapping[str, str | None] | None) -> Any:
    """What tells models apart: the weights, where they are known, whatever they are called."""
    return model and (model.get("sha256") or model.get("name"))


def _named(model: Mapping[str, str | None] | None) -> str:
    return f"{model.get('name')} ({_short(model.get('sha256'))})" if model else "none"


def _short(digest: str | None) -> str:
    return f"{digest[:12]}…" if digest else "none"


def _shown(value: Any) -> str:
    return str(orjson.dumps(value).decode())
