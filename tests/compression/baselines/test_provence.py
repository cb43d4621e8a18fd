"""Provence's layouts on tiny models, against transformers, one pair at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.compression.baselines.provence import ProvenceClassifier, normalised
from grasp_cli.compression.exit import Exit
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.token_classifier import OPEN_PROVENCE, PLAIN, PROVENCE, TokenClassifier
from grasp_cli.pipe.errors import RecordError
from grasp_cli.text import segment
from tests.compression.baselines import tiny_tokens
from tests.compression.baselines.helpers import QUESTION, TEXTS, record, run, settings

MADE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "naver": (tiny_tokens.provence, PROVENCE),
    "open": (tiny_tokens.open_provence, OPEN_PROVENCE),
    "plain": (tiny_tokens.llmlingua2, PLAIN),
}


def logits_of(path: Path, layout: str, inputs: dict[str, Any]) -> Any:
    """Token logits by transformers' own classes, weights put in place by their names."""
    from safetensors.torch import load_file

    torch, transformers = torch_runtime(1), quiet_transformers()
    weights = load_file(path / "model.safetensors")
    head = weights[f"{layout}.weight"], weights[f"{layout}.bias"]
    if layout == PLAIN:
        return transformers.AutoModelForTokenClassification.from_pretrained(path)(**inputs).logits
    if layout == PROVENCE:
        encoder = transformers.DebertaV2Model(tiny_config(path, transformers.DebertaV2Config))
        own = {k.removeprefix("deberta."): v for k, v in weights.items() if "deberta." in k}
        encoder.load_state_dict(own, strict=True)
        states = encoder.eval()(input_ids=inputs["input_ids"]).last_hidden_state
    else:
        config = tiny_config(path, transformers.ModernBertConfig)
        ranking = transformers.ModernBertForSequenceClassification(config)
        own = {k.removeprefix("ranking_model."): v for k, v in weights.items() if "ranking" in k}
        ranking.load_state_dict(own, strict=True)
        seen: list[Any] = []
        ranking.eval().model.final_norm.register_forward_pre_hook(lambda _, a: seen.append(a[0]))
        ranking(input_ids=inputs["input_ids"])
        states = seen[0]
    return torch.nn.functional.linear(states, *head)


def tiny_config(path: Path, kind: Any) -> Any:
    import json

    config = json.loads((path / "config.json").read_text())
    config = config.get("base_model_config", config)
    return kind(**{k: v for k, v in config.items() if k != "model_type"})


def sentence_means(path: Path, layout: str, title: str, text: str) -> list[float]:
    torch, transformers = torch_runtime(1), quiet_transformers()
    question = normalised(QUESTION) if layout == PROVENCE else QUESTION
    head = f"{title}\n" if title else ""
    encoded = transformers.AutoTokenizer.from_pretrained(path)(
        question,
        head + text,
        return_tensors="pt",
        return_offsets_mapping=True,
        return_token_type_ids=True,
    )
    inputs = {key: encoded[key] for key in ("input_ids", "token_type_ids")}
    with torch.no_grad():
        values = logits_of(path, layout, inputs)[0].double().softmax(-1)[:, 1]
    starts, owners = encoded["offset_mapping"][0][:, 0] - len(head), encoded.sequence_ids(0)
    return [
        float(
            torch.stack(
                [
                    value
                    for value, start, owner in zip(values, starts.tolist(), owners, strict=True)
                    if owner == 1 and sentence.start <= start < sentence.end
                ]
            ).mean()
        )
        for sentence in segment(text)
    ]


@pytest.mark.parametrize("kind", list(MADE))
def test_a_sentence_has_the_mean_of_its_tokens(kind: str, tmp_path: Path) -> None:
    make, layout = MADE[kind]
    path = make(tmp_path)
    model = TokenClassifier(path, threads=1)
    assert model.layout == layout
    expected = [
        score
        for context in record()["contexts"]
        for score in sentence_means(path, layout, context["title"], context["text"])
    ]
    assert max(expected) - min(expected) > 0.05, "they must differ for this to say anything"
    options = settings("provence", explain=True)
    assert options.fine_threshold == 0.1
    (out,) = run(Exit(ProvenceClassifier(model), options, 0.0, "provence"), options, record())
    found = [s["score"] for context in out["explain"] for s in context["sentences"]]
    assert found == pytest.approx(expected, abs=2e-4)
    kept = [s["kept"] for context in out["explain"] for s in context["sentences"]]
    assert kept == [score >= 0.1 for score in found]


def test_a_long_passage_is_read_in_windows(tmp_path: Path) -> None:
    path = tiny_tokens.provence(tmp_path, positions=64)
    options = settings("provence", explain=True)
    method = Exit(ProvenceClassifier(TokenClassifier(path, threads=1)), options, 0.0, "provence")
    long = record(["Ship Ada left the port of Orl. " * 8])
    (out,) = run(method, options, {**long, "question": "Who left?"})
    scores = [s["score"] for s in out["explain"][0]["sentences"]]
    assert len(scores) == 8 and all(0 < score < 1 for score in scores)
    (error,) = run(method, options, {**long, "question": "Who left the port of Orl, and when?" * 3})
    assert isinstance(error, RecordError) and error.kind == "QuestionTooLong"


def test_a_question_loses_case_and_punctuation() -> None:
    assert normalised("Who's  the U.S.\tPresident?") == "whos the us president"
    assert normalised(TEXTS[0][:17]) == "the dam at orl wa"
