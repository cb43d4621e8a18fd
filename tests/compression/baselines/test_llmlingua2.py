"""LLMLingua-2 on a tiny token classifier, against transformers and a slow way to choose words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.compression.baselines.llmlingua2 import LLMLingua2, Word, best_words
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.token_classifier import PLAIN, TokenClassifier
from grasp_cli.pipe.errors import DataError
from tests.compression import tiny
from tests.compression.baselines import tiny_tokens
from tests.compression.baselines.helpers import TEXTS, record, run, settings


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_tokens.llmlingua2(tmp_path_factory.mktemp("llmlingua2"))


def keep_probabilities(path: Path, text: str) -> list[tuple[str, float]]:
    """Tokens and P(keep) by transformers alone, special tokens left out."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    model = transformers.AutoModelForTokenClassification.from_pretrained(path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    encoded = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        logits = model(input_ids=encoded["input_ids"]).logits[0].double()
    tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0].tolist())
    return list(zip(tokens, logits.softmax(-1)[:, 1].tolist(), strict=True))[1:-1]


def kept_words(path: Path, text: str, rate: float) -> list[str]:
    """What the paper keeps of a text that fits one window: WordPiece by its ## marks."""
    words: list[tuple[str, list[float]]] = []
    for token, value in keep_probabilities(path, text):
        if token.startswith("##"):
            words[-1] = (words[-1][0] + token[2:], [*words[-1][1], value])
        else:
            words.append((token, [value]))
    means = [sum(values) / len(values) for _, values in words]
    each = sorted(m for m, (_, values) in zip(means, words, strict=True) for _ in values)
    place = int(100 * (1 - rate) + 1) / 100 * (len(each) - 1)
    low, high = each[int(place)], each[min(int(place) + 1, len(each) - 1)]
    bar = low + (high - low) * (place - int(place))
    return [word for (word, _), mean in zip(words, means, strict=True) if mean > bar]


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8])
def test_the_words_of_each_passage_are_those_of_the_paper(path: Path, rate: float) -> None:
    texts = [text.replace("🍜", "") for text in TEXTS]
    expected = [word for text in texts for word in kept_words(path, text, rate)]
    assert 0 < len(expected) < len(re.findall(r"\w+|[^\w\s]", " ".join(texts)))
    options = settings("llmlingua2", rate=rate)
    (out,) = run(LLMLingua2(TokenClassifier(path, threads=1), options), options, record(texts))
    found = [re.findall(r"\w+|[^\w\s]", item["text"]) for item in out["evidence"]]
    assert [word for words in found for word in words] == expected
    sources = {context["id"]: context["text"] for context in record(texts)["contexts"]}
    for item in out["evidence"]:
        assert item["text"] == sources[item["context"]][item["start"] : item["end"]]


def test_a_rate_of_one_keeps_everything_and_of_none_the_best_word(path: Path) -> None:
    model = TokenClassifier(path, threads=1)
    everything, least = settings("llmlingua2", rate=1.0), settings("llmlingua2", rate=0.0)
    (out,) = run(LLMLingua2(model, everything), everything, record())
    assert out["compression"]["removed"] == 0
    (out,) = run(LLMLingua2(model, least), least, record(TEXTS[:1]))
    assert len(out["evidence"]) == 1 == len(out["context"].split())


def test_a_token_budget_sets_the_rate(path: Path) -> None:
    model, options = TokenClassifier(path, threads=1), settings("llmlingua2", max_tokens=20)
    assert options.rate is None
    (out,) = run(LLMLingua2(model, options), options, record())
    assert 0 < out["compression"]["tokens_out"] <= 20
    words = [len(re.findall(r"\w+", item["text"])) for item in out["evidence"]]
    assert max(words) < 6, "words of all passages, not one passage whole"


def test_long_passages_are_read_in_windows_that_end_with_a_sentence(tmp_path: Path) -> None:
    short = tiny_tokens.llmlingua2(tmp_path, positions=64)
    sentences = [f"Ship {name} left the port of Orl." for name in ("Ada", "Bo", "Cy", "Di", "Ed")]
    expected = []
    for pair in (sentences[:2], sentences[2:4], sentences[4:]):  # 28 or 27 tokens each
        expected += kept_words(short, " ".join(pair), 0.4)
    options = settings("llmlingua2", rate=0.4)
    method = LLMLingua2(TokenClassifier(short, threads=1), options)
    (out,) = run(method, options, record([" ".join(sentences)]))
    found = [re.findall(r"\w+|[^\w\s]", item["text"]) for item in out["evidence"]]
    assert [word for words in found for word in words] == expected


def test_of_equal_words_the_first_stays() -> None:
    words = [Word(place, place + 1, 0.5, 1) for place in range(5)]
    assert [(piece.start, piece.end) for piece in best_words(words, 0.2)] == [(0, 1)]
    assert best_words([], 0.2) == []


def test_other_weights_are_refused(path: Path, tmp_path: Path) -> None:
    assert TokenClassifier(path).layout == PLAIN
    with pytest.raises(DataError, match="no token classifier of two classes"):
        TokenClassifier(tiny.bert(tmp_path / "bert")).load()
    wrong = tiny_tokens.llmlingua2(tmp_path / "wrong")
    config = (wrong / "config.json").read_text()
    (wrong / "config.json").write_text(config.replace('"bert"', '"electra"'))
    with pytest.raises(DataError, match="not those of the electra"):
        TokenClassifier(wrong).load()


def test_the_package_keeps_the_same_words(path: Path) -> None:
    """llmlingua itself, where it is installed; its GPT tokens replaced by the model's own."""
    package: Any = pytest.importorskip("llmlingua.prompt_compressor")
    transformers = quiet_transformers()
    theirs = object.__new__(package.PromptCompressor)
    theirs.model_name, theirs.device = "bert-base-multilingual-cased", "cpu"
    theirs.tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    theirs.model = transformers.AutoModelForTokenClassification.from_pretrained(path)
    theirs.oai_tokenizer = _Own(theirs.tokenizer)
    theirs.init_llmlingua2()
    texts = [text.replace("🍜", "") for text in TEXTS]
    told = theirs.compress_prompt_llmlingua2(texts, rate=0.3, use_context_level_filter=False)
    expected = re.findall(r"\w+|[^\w\s]", " ".join(told["compressed_prompt_list"]))
    options = settings("llmlingua2", rate=0.3)
    (out,) = run(LLMLingua2(TokenClassifier(path, threads=1), options), options, record(texts))
    found = [re.findall(r"\w+|[^\w\s]", item["text"]) for item in out["evidence"]]
    assert [word for words in found for word in words] == expected
    assert np.isfinite(len(expected)) and expected


class _Own:
    """A tokenizer in the place of tiktoken's."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])
