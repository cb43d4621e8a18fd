"""Fetch the models of a profile; the only place in grasp that downloads."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from grasp_cli.models.locate import find, locate
from grasp_cli.models.profiles import (
    EMBEDDED_EXTRA,
    Hub,
    Model,
    Ollama,
    Packaged,
    models_of,
)
from grasp_cli.pipe.errors import MissingError

# No pickles (.bin, .pt): they can run code. A repository that has nothing else is the exception.
_WANTED = ("*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja")
_PICKLE = "pytorch_model.bin"
_TOKENS = "https://huggingface.co/settings/tokens"


class _Unreachable(MissingError):
    """No other model can be had either."""


def get(profile: str, say: Callable[[str], None]) -> None:
    """Bring every model of `profile` onto this machine; `say` takes a line per model.

    What can be had is fetched before `MissingError` names what cannot, and what to do about it.
    """
    problems = []
    for model in unique(profile):
        try:
            say(f"{model.name}: {_get(model, say)}")
        except MissingError as error:
            problems.append(str(error))
            if isinstance(error, _Unreachable):
                break
    if problems:
        raise MissingError("\n".join(dict.fromkeys(problems)))


def unique(profile: str) -> list[Model]:
    """The models of a profile, each once."""
    return list({model.name: model for _, model in models_of(profile)}.values())


def _get(model: Model, say: Callable[[str], None]) -> str:
    """Where the model is, after fetching or converting it where that was needed."""
    source = model.sources[0]
    if isinstance(source, Hub):
        return _download(source.repository, say)
    if isinstance(source, Ollama):
        return f"held by Ollama; get it with: ollama pull {source.name}"
    if locate(source) is None:
        other = model.sources[-1]
        if isinstance(other, Hub) and locate(other):
            return str(find(model.name))
        raise MissingError(f"the packages of the embedded models are missing: {EMBEDDED_EXTRA}")
    where = "in its package" if isinstance(source, Packaged) else "in the cache"
    return f"{find(model.name)} ({where})"


def _download(repository: str, say: Callable[[str], None]) -> str:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    try:
        about = HfApi().model_info(repository)
        files = [file.rfilename for file in about.siblings or []]
        say(f"{repository}: downloading")
        return str(snapshot_download(repository, allow_patterns=_patterns(files, say)))
    except GatedRepoError:
        raise MissingError(
            f"{repository} is gated: accept its licence at https://huggingface.co/{repository}, "
            f"then set HF_TOKEN to a token of that account ({_TOKENS}) and try again"
        ) from None
    except RepositoryNotFoundError:
        raise MissingError(
            f"{repository}: the hub does not show this model (HTTP 401 or 404); if it is private, "
            "set HF_TOKEN to a token that may read it"
        ) from None
    except OfflineModeIsEnabled:
        raise _Unreachable(
            f"{repository}: HF_HUB_OFFLINE forbids the download; unset it and try again"
        ) from None
    except (OSError, _http_error(HfHubHTTPError)) as error:
        raise _Unreachable(
            f"{repository}: the hub cannot be reached ({type(error).__name__}); check the network "
            "and try again, or copy the model here and name its directory"
        ) from None


def _patterns(files: list[str], say: Callable[[str], None]) -> list[str]:
    if any(file.endswith(".safetensors") for file in files) or _PICKLE not in files:
        return list(_WANTED)
    say(f"only {_PICKLE} is there, a pickle; it is read with weights_only, which runs no code")
    return [*_WANTED, _PICKLE]


def _http_error(error: Any) -> type[Exception]:
    """The base class of what the hub's HTTP library raises; which library depends on the release.

    `HfHubHTTPError` derives from it first.
    """
    base: type[Exception] = error.__bases__[0]
    return base
