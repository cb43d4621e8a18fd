"""Method `attention` against a model that returns all of its attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.compression.last_attention import LastAttention
from grasp_cli.compression.tasks import Passage, Task
from grasp_cli.models.causal import CausalModel, Running
from grasp_cli.models.last_position import last_position
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.text import segment
from tests.models import tiny_causal

CPU = Running(device="cpu", dtype="float32", threads=1, quiet=True)
TEXT = "The dam was built in 1911. It burst! All were safe, says Hale. " * 2


def task(text: str = TEXT) -> Task:
    return Task("When did it burst?", [Passage(0, "A title", text, segment(text))])


def naive(path: Path, tokens: list[int]) -> np.ndarray:
    torch, transformers = torch_runtime(1), quiet_transformers()
    model = transformers.AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager")
    with torch.inference_mode():
        found = model(input_ids=torch.tensor([tokens]), output_attentions=True).attentions
    return found[-1][0, :, -1].mean(0).numpy()


@pytest.mark.parametrize("family", tiny_causal.FAMILIES)
def test_the_last_row_equals_that_of_the_whole_matrix(tmp_path: Path, family: str) -> None:
    path = tiny_causal.saved(tmp_path, family)
    model = CausalModel(path, CPU)
    usual = model.network.config._attn_implementation
    tokens = [2, *(5 + (7 * i) % 200 for i in range(60))]
    for _ in range(2):  # the second time on a model that was switched back
        found = last_position(model.network, tokens)
        np.testing.assert_allclose(found, naive(path, tokens), atol=1e-5)
        assert found.sum() == pytest.approx(1, abs=1e-5)
        assert model.network.config._attn_implementation == usual


def test_a_sliding_last_layer_gives_nothing_beyond_its_window(tmp_path: Path) -> None:
    kinds: Any = ["full_attention"] * 3 + ["sliding_attention"]
    path = tiny_causal.saved(tmp_path, "gemma3")
    network = CausalModel(path, CPU).network
    network.config.layer_types = kinds
    network.config.save_pretrained(path)
    model = CausalModel(path, CPU)
    tokens = [2, *(5 + (7 * i) % 200 for i in range(60))]
    found = last_position(model.network, tokens)
    np.testing.assert_allclose(found, naive(path, tokens), atol=1e-5)
    assert (found[: -tiny_causal.WINDOW] == 0).all() and found[-tiny_causal.WINDOW :].all()


def test_sentences_have_the_greatest_attention_of_their_tokens(tmp_path: Path) -> None:
    path = tiny_causal.saved(tmp_path, "gemma")
    model, one = CausalModel(path, CPU), task()
    (passage,) = one.passages
    asked = "\n\nQuestion: When did it burst?\nAnswer:"
    encode = model.tokenizer.encode
    before = [2, *encode(TEXT, add_special_tokens=False).ids]
    tokens = [*before, *encode(asked, add_special_tokens=False).ids]
    row = naive(path, tokens)[1:] * len(tokens)
    assert len(before) == 1 + len(TEXT), "a token per byte"
    expected = [max(row[s.start : s.end]) for s in passage.sentences]
    ((found,),) = LastAttention(model).scores([one])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_long_document_is_read_in_windows(tmp_path: Path) -> None:
    model = CausalModel(tiny_causal.saved(tmp_path, "llama"), CPU)
    text = TEXT * 4
    ((scores,),) = LastAttention(model, max_input_tokens=128).scores([task(text)])
    assert len(scores) == len(segment(text)) and (scores > 0).all()


def test_a_model_without_attention_weights_is_refused(tmp_path: Path) -> None:
    network = CausalModel(tiny_causal.saved(tmp_path, "llama"), CPU).network

    class Silent:
        config, device = network.config, network.device
        set_attn_implementation = network.set_attn_implementation

        def forward(self, cache: Any = None) -> None: ...

        def __call__(self, output_attentions: bool = False, **inputs: Any) -> Any:
            return network(**inputs)

    with pytest.raises(ProcessingError, match="returns no attention weights"):
        last_position(Silent(), [2, 7, 8])
