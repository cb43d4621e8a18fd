"""The foreign formats that records are written in, by name."""

from __future__ import annotations

from dataclasses import dataclass

from grasp_cli.defaults import ANSWER
from grasp_cli.formats.base import Writer
from grasp_cli.pipe.errors import UsageError

WRITERS = ("trec-run", "qrels", "beir-qrels", "openai-batch")


@dataclass(frozen=True)
class Writing:
    """What the command line says about a written format; None is "not given"."""

    tag: str  # the system's name in a run
    model: str | None = None  # of a batch, as are the next two
    prompt: str | None = None
    max_new_tokens: int | None = None


def make_writer(name: str | None, settings: Writing) -> Writer | None:
    """The writer called `name`, None for None; `UsageError` where settings do not go with it."""
    if name == "openai-batch":
        from grasp_cli.formats.openai_batch import BatchRequests

        if settings.model is None:
            raise UsageError("--to openai-batch needs --reader-model: the model that will answer")
        style = settings.prompt or ANSWER.prompt
        return BatchRequests(settings.model, style, settings.max_new_tokens)
    given = {
        "--reader-model": settings.model,
        "--prompt": settings.prompt,
        "--max-new-tokens": settings.max_new_tokens,
    }
    if extra := next((option for option, value in given.items() if value is not None), None):
        raise UsageError(f"{extra} is for --to openai-batch")
    if name == "trec-run":
        from grasp_cli.formats.trec_run import TrecRun

        return TrecRun(settings.tag)
    if name is None:
        return None
    from grasp_cli.formats.qrels_writer import Qrels

    return Qrels(beir=name == "beir-qrels")
