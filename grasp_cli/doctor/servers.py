"""The servers that the configuration names, and no other."""

from __future__ import annotations

import os
from collections.abc import Iterator

from grasp_cli.defaults import DOCTOR
from grasp_cli.doctor.finding import Finding
from grasp_cli.pipe.masking import masked
from grasp_cli.readers.reader import address

_KEY = "OPENAI_API_KEY"


def servers(reader: str, model: str, url: str | None) -> Iterator[Finding]:
    """Whether the server of `reader` answers, and has `model`.

    A server is asked for its list of models and waited for `DOCTOR.server_seconds`. Where the
    reader runs in this process, an Ollama server that $OLLAMA_HOST names is worth a note.
    """
    ask = {"openai": _openai, "ollama": _ollama}.get(reader)
    if ask is not None:
        yield ask(model, str(address(reader, url)))
    elif host := os.environ.get("OLLAMA_HOST"):
        found = _ollama("", host)
        yield Finding("server", "ollama", "ok" if found.state == "ok" else "note", found.text)
    else:
        yield Finding("server", "none", "ok", f"the reader ({reader}) needs no server")


def _ollama(model: str, url: str) -> Finding:
    from grasp_cli.readers.ollama import models_on

    held, shown = models_on(url, DOCTOR.server_seconds), masked(url)
    if held is None:
        line = f"no server answers at {shown}: start it with `ollama serve`"
        return Finding("server", "ollama", "bad", line)
    if model and not {model, f"{model}:latest"} & held:
        line = f"{shown} has no model {model}: ollama pull {model}"
        return Finding("server", "ollama", "bad", line)
    return Finding("server", "ollama", "ok", f"{shown} answers, {len(held)} models")


def _openai(model: str, url: str) -> Finding:
    import httpx

    shown = masked(url)
    key = os.environ.get(_KEY)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        reply = httpx.get(f"{url}/models", headers=headers, timeout=DOCTOR.server_seconds)
        held = {str(one["id"]) for one in reply.json()["data"]} if reply.is_success else set()
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError):
        return Finding("server", "openai", "bad", f"no server answers at {shown}: start it")
    except (ValueError, KeyError, TypeError):
        held = set()
    if reply.status_code in (401, 403):
        return Finding("server", "openai", "bad", f"{shown} refused the key: set {_KEY}")
    if held and model and model not in held:
        line = f"{shown} does not list {model}; it has {', '.join(sorted(held)[:5])}"
        return Finding("server", "openai", "bad", line)
    listed = f"{len(held)} models" if held else "its models are not known"
    return Finding("server", "openai", "ok", f"{shown} answers, {listed}")
