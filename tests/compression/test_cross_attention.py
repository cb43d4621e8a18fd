"""QUITO-X on a T5 against its plain definition: one window at a time, all attentions returned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from grasp_cli.compression import quitox
from grasp_cli.compression.cross_attention import ROOM, CrossAttention, windows
from grasp_cli.compression.tasks import Passage, Task
from grasp_cli.defaults import COMPRESS
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.seq2seq import Seq2Seq
from grasp_cli.pipe.errors import ProcessingError
from grasp_cli.text import segment
from tests.compression import tiny

WORDS = ["harbour", "bridge", "salt", "tide", "herring", "ferry"]
WORDS += ["lamp", "ledger", "reef", "gauge", "brick", "cinder"]


def task(question: str, *lengths: int) -> Task:
    """Passages of so many sentences, each of different words."""
    passages = []
    for number, length in enumerate(lengths):
        sentences = [
            f"The {WORDS[(i * 5 + number) % 12]} {i} meets the {WORDS[(i * 7 + 3) % 12]}{'!' * i}"
            for i in range(length)
        ]
        text = " ".join(f"{sentence}." for sentence in sentences)
        passages.append(Passage(number, "A title", text, segment(text)))
    return Task(question, passages)


# One window; several with a short last one; exactly full ones; a document without a sentence.
TASKS = [
    task("Which bridge met the tide?", 3, 30, 0),
    task("Why?", 15, 16, 17),
    task("Where is the salt, and who " + "wrote " * 40 + "the ledger?", 1, 12, 22),
]


@pytest.fixture(scope="module", params=[True, False], ids=["gated", "relu"])
def path(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.t5(tmp_path_factory.mktemp("t5"), gated=request.param)


def naive(path: Path, question: str, passage: Passage, sigma: float) -> np.ndarray:
    torch, transformers = torch_runtime(1), quiet_transformers()
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(path, attn_implementation="eager")
    encode = transformers.AutoTokenizer.from_pretrained(path).encode
    parts = [encode(passage.sentence(i), add_special_tokens=False) for i in range(len(passage.sentences))]  # noqa: E501 # fmt: skip
    flat = [token for part in parts for token in part]
    asked = encode(question, add_special_tokens=False)
    scores: list[float] = []
    while len(scores) < len(flat):
        window = flat[len(scores) : len(scores) + 510 - len(asked)]
        ids = torch.tensor([[*window, *asked, 1]])
        out = model(input_ids=ids, decoder_input_ids=torch.tensor([[0]]), output_attentions=True)
        row = out.cross_attentions[-1][0, :, 0].mean(0)
        scores += (row[: len(window)] * ids.shape[1]).tolist()
    smooth = gaussian_filter1d(scores, sigma) if scores else scores
    ends = np.cumsum([len(part) for part in parts]).astype(int)
    return np.asarray(
        [max(smooth[end - len(part) : end]) for end, part in zip(ends, parts, strict=True)]
    )


def coarse(path: Path, **options: Any) -> CrossAttention:
    return CrossAttention(Seq2Seq(path, threads=1, **options), COMPRESS)


def test_scores_equal_the_plain_definition_and_so_do_the_decisions(path: Path) -> None:
    found = coarse(path).scores(TASKS)
    several = 0
    for one, scores in zip(TASKS, found, strict=True):
        for passage, own in zip(one.passages, scores, strict=True):
            plain = naive(path, one.question, passage, COMPRESS.gaussian_sigma)
            # 1e-5 of attention, as scores are: some 500 times as much, and rounded
            np.testing.assert_allclose(own, plain, rtol=1e-4, atol=1e-4)
            assert quitox.kept(own, 0.5, 2) == quitox.kept(plain.round(4), 0.5, 2)
            several += len(passage.text) > ROOM
    assert several >= 4, "long documents must be among them"


def test_weights_equal_those_of_transformers(path: Path) -> None:
    torch, transformers = torch_runtime(1), quiet_transformers()
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(path, attn_implementation="eager")
    inputs = [[*range(3, 3 + size), 1] for size in (1, 4, 7, 8, 90, 91, 200)]
    inputs += [[3 + i % 200 for i in range(300)] + [1]] * 2
    for number, weights in Seq2Seq(path, threads=1).attention(inputs):
        out = plain(
            input_ids=torch.tensor([inputs[number]]),
            decoder_input_ids=torch.tensor([[0]]),
            output_attentions=True,
        )
        row = out.cross_attentions[-1][0, :, 0].mean(0).detach().numpy()
        np.testing.assert_allclose(weights, row, atol=1e-5)
        assert weights.sum() == pytest.approx(1, abs=1e-5)


def test_the_batch_changes_nothing_not_even_a_bit(path: Path) -> None:
    inputs = [[3 + (7 * i * n) % 200 for i in range(size)] + [1]
              for n, size in enumerate([5, 6, 7, 20, 21, 90, 300, 300, 511] * 4)]  # fmt: skip
    together = dict(Seq2Seq(path, threads=1).attention(inputs))
    for size in (1, 600):
        apart = dict(Seq2Seq(path, threads=1, batch_tokens=size).attention(inputs))
        assert all((together[n] == apart[n]).all() for n in together)
    assert sorted(together) == list(range(len(inputs)))


@pytest.mark.parametrize("size", [1, 3])
def test_scores_do_not_depend_on_the_window_of_records(path: Path, size: int) -> None:
    model = coarse(path)
    together = model.scores(TASKS)
    apart = [
        own for start in range(0, 3, size) for own in model.scores(TASKS[start : start + size])
    ]
    for one, other in zip(together, apart, strict=True):
        assert [x.tolist() for x in one] == [y.tolist() for y in other]


def test_uniform_attention_is_one_everywhere_also_in_a_short_last_window(tmp_path: Path) -> None:
    filter = coarse(tiny.t5(tmp_path, spread=0.0))
    long = task("Which bridge?", 40)
    inside = len(long.passages[0].text) % (ROOM - len("Which bridge?"))
    assert 0 < inside < ROOM
    assert set(filter.scores([long])[0][0].tolist()) == {1.0}


def test_a_question_that_leaves_no_window_is_refused_with_the_limit(path: Path) -> None:
    model = coarse(path)
    assert model.refusal(task("?" * (ROOM - 1), 2)) is None
    assert len(model.scores([task("?" * (ROOM - 1), 2)])[0][0]) == 2
    refused = model.refusal(task("?" * ROOM, 2))
    assert refused is not None and "510 tokens" in str(refused) and "509" in str(refused)


def test_what_is_not_finite_is_computed_again_in_float32(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grasp_cli.models import seq2seq

    used, plain = [], seq2seq.first_step

    def overflowing(model: Any, ids: Any, mask: Any) -> Any:
        used.append(str(model.dtype))
        found = plain(model, ids, mask)
        return found * float("nan") if len(used) == 1 or broken else found

    broken = False
    monkeypatch.setattr(seq2seq, "first_step", overflowing)
    ((_, weights),) = Seq2Seq(path, threads=1, dtype="bfloat16").attention([[5, 6, 7, 1]])
    assert used == ["torch.bfloat16", "torch.float32"]
    ((_, exact),) = Seq2Seq(path, threads=1).attention([[5, 6, 7, 1]])
    assert weights.tolist() == exact.tolist()
    broken = True
    with pytest.raises(ProcessingError, match="not finite"):
        list(Seq2Seq(path, threads=1).attention([[5, 1]]))


def test_another_kind_of_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bart", "is_encoder_decoder": true}')
    with pytest.raises(ProcessingError, match=r"this one is a bart; name a T5"):
        Seq2Seq(tmp_path).load()


def test_windows_are_consecutive() -> None:
    assert list(windows(7, 3)) == [(0, 3), (3, 6), (6, 7)]
    assert list(windows(6, 3)) == [(0, 3), (3, 6)] and list(windows(0, 3)) == []
