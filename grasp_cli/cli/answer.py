"""`grasp answer`."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from grasp_cli.cli.job import job
from grasp_cli.cli.options import (
    DEFAULT_PROFILE,
    Check,
    Dtype,
    Latency,
    Profile,
    ProfileOption,
    Stream,
    Threads,
    fair_threads,
    run,
)
from grasp_cli.defaults import ANSWER
from grasp_cli.models.profiles import model_for
from grasp_cli.pipe.engine import EachStage, Stage
from grasp_cli.pipe.errors import UsageError
from grasp_cli.pipe.manifest import Recipe
from grasp_cli.pipe.sinks import is_file


class ReaderName(str, Enum):
    """Where the language model runs."""

    transformers = "transformers"
    ollama = "ollama"
    openai = "openai"


class PromptStyle(str, Enum):
    """How long an answer should be."""

    strict = "strict"
    natural = "natural"


READER_OF_PROFILE = {Profile.embedded: ReaderName.transformers, Profile.paper: ReaderName.ollama}
_PROFILE_OF_READER = {ReaderName.transformers: "embedded", ReaderName.ollama: "paper"}
_LONGEST = {
    PromptStyle.strict: ANSWER.max_new_tokens,
    PromptStyle.natural: ANSWER.natural_max_new_tokens,
}
_STYLE = PromptStyle(ANSWER.prompt)


# The profile only chooses a reader; a URL may move, the model's name tells what answers there.
_FREE = (
    "threads",
    "concurrency",
    "url",
    "profile",
    "reader_model",
    "cache",
    "connect_timeout",
    "read_timeout",
    "retries",
    "max_wait",
    "give_up_after",
)


@job(free=_FREE)
def answer(
    stream: Stream,
    reader: Annotated[
        ReaderName | None,
        typer.Option(
            help=(
                "Where the language model runs: in this process, on an Ollama server, or on any "
                "server that speaks OpenAI's protocol (key from $OPENAI_API_KEY). Default: "
                "transformers; ollama in the paper profile."
            ),
            show_default=False,
        ),
    ] = None,
    reader_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            help="The model; for transformers a directory, .gguf file or hub name on this machine.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=(
                f"The server (ollama: $OLLAMA_HOST, else {ANSWER.ollama_url}; "
                f"openai: {ANSWER.openai_url})."
            ),
            show_default=False,
        ),
    ] = None,
    prompt: Annotated[
        PromptStyle, typer.Option(help="Ask for the shortest answer, or for a sentence.")
    ] = _STYLE,
    compare: Annotated[
        bool, typer.Option("--compare", help="Ask about the full contexts too, and what was saved.")
    ] = False,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Questions that a server gets at once.")
    ] = ANSWER.concurrency,
    max_new_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=(
                f"Longest answer (default: {ANSWER.max_new_tokens}, natural: "
                f"{ANSWER.natural_max_new_tokens})."
            ),
            show_default=False,
        ),
    ] = None,
    connect_timeout: Annotated[
        float, typer.Option(min=0.001, help="Seconds to reach a server.")
    ] = ANSWER.connect_timeout,
    read_timeout: Annotated[
        float, typer.Option(min=0.001, help="Seconds that a server may take to answer.")
    ] = ANSWER.read_timeout,
    retries: Annotated[
        int,
        typer.Option(
            min=0,
            help=(
                "Tries after the first where a server does not answer, is busy (HTTP 429) or "
                "fails (5xx), after waits that double from half a second."
            ),
        ),
    ] = ANSWER.retries,
    max_wait: Annotated[
        float,
        typer.Option(
            min=0, help="Longest wait before a retry in seconds, also where a server asks for more."
        ),
    ] = ANSWER.max_wait,
    give_up_after: Annotated[
        int,
        typer.Option(
            min=1,
            help=(
                "Failed questions in a row (at least --concurrency) after which a server is asked "
                "no more: with -o FILE the run stops, else the rest passes on with an error."
            ),
        ),
    ] = ANSWER.give_up_after,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep answers there, and take those that are there: a rerun costs nothing.",
            show_default=False,
        ),
    ] = None,
    dtype: Annotated[
        Dtype,
        typer.Option(help="Number format; auto is bfloat16 where the processor computes in it."),
    ] = Dtype.auto,
    profile: ProfileOption = DEFAULT_PROFILE,
    latency: Latency = False,
    threads: Threads = None,
) -> None:
    """Answer each question from its compressed context (or its contexts) with a language model.

    grasp compress retrieved.jsonl | grasp answer --compare -o answered.jsonl

    grasp answer --reader ollama --reader-model qwen2.5:3b compressed.jsonl
    """
    if latency and cache:
        raise UsageError("--latency measures answers, and --cache gives old ones: leave one out")
    stage = stage_of(
        reader and reader.value,
        reader_model,
        prompt.value,
        compare,
        stream.say,
        profile=profile.value,
        url=url,
        max_new_tokens=max_new_tokens,
        concurrency=concurrency,
        cache=cache,
        stop=is_file(stream.output),
        connect_timeout=connect_timeout,
        read_timeout=read_timeout,
        retries=retries,
        max_wait=max_wait,
        give_up_after=give_up_after,
        dtype=dtype.value,
        threads=fair_threads(threads),
    )

    def recipe(check: Check) -> Recipe:
        from grasp_cli.readers.reader import address

        name, model = _resolved(reader and reader.value, reader_model, profile.value)
        local = name is ReaderName.transformers
        resolved = {
            "reader": name,
            "max_new_tokens": max_new_tokens or _LONGEST[prompt],
            "reader_model": model,
            "url": address(name.value, url),
        }
        weights = check(model) if local else {"name": model, "sha256": None}
        return stream.recipe(resolved, {"reader": weights})

    run(stage, stream, recipe=recipe)


def stage_of(
    reader: str | None,
    model: str | None,
    prompt: str,
    compare: bool,
    say: Callable[[str], None],
    *,
    profile: str,
    max_new_tokens: int | None,
    concurrency: int,
    cache: Path | str | None = None,
    stop: bool = False,
    **settings: Any,
) -> Stage | EachStage:
    """The stage of a reader; what is None is the default, `settings` as in `ReaderSettings`.

    `stop`: the run ends once the server is gone.
    """
    from grasp_cli.readers.cache import AnswerCache, CachedReader
    from grasp_cli.readers.reader import Reader, ReaderSettings, make_reader
    from grasp_cli.readers.retrying import RetryingReader
    from grasp_cli.readers.stage import AnswerAtOnce, Answering, AnswerInOrder

    name, model = _resolved(reader, model, profile)
    asked = ReaderSettings(
        model=model,
        max_new_tokens=max_new_tokens or _LONGEST[PromptStyle(prompt)],
        concurrency=concurrency,
        **settings,
    )
    made: Reader = make_reader(name.value, asked)
    local = name is ReaderName.transformers
    if not local:
        made = RetryingReader(made, asked, say)
    if cache:
        made = CachedReader(made, AnswerCache(Path(cache), say))
    answering = Answering(made, prompt, compare, say)
    return AnswerInOrder(answering) if local else AnswerAtOnce(answering, concurrency, stop=stop)


def _resolved(reader: str | None, model: str | None, profile: str) -> tuple[ReaderName, str]:
    """The reader and its model, where they were given or not."""
    name = ReaderName(reader) if reader else READER_OF_PROFILE[Profile(profile)]
    return name, model or _default_model(name)


def _default_model(reader: ReaderName) -> str:
    """The model of the profile that this kind of reader belongs to."""
    if reader not in _PROFILE_OF_READER:
        raise UsageError(f"--reader {reader.value} needs --reader-model: the name of a model there")
    return model_for(_PROFILE_OF_READER[reader], "reader")
