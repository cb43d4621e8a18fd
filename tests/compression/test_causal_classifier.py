"""EP-EXIT's classifier on causal models: its input, its scores, its limits."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grasp_cli.compression import causal_classifier
from grasp_cli.compression.causal_classifier import CausalClassifier
from grasp_cli.compression.exit_prompt import nearest, prompt, windows
from grasp_cli.compression.tasks import Task, Unit
from grasp_cli.models.causal import CausalModel, Head, Running, is_causal
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.pipe.errors import DataError, MissingError, ProcessingError
from tests.conftest import Run, lines
from tests.models.tiny_causal import FAMILIES, kept, saved, tokenizer

BRIDGE = {
    "id": "b",
    "title": "Marston bridge",
    "text": "The bridge was designed by Ada Kerr. It crosses the Tove. It is red, and has three "
    "arches of brick. Ships of up to nine metres pass below it.",
}
KERR = {"id": "k", "title": "Ada Kerr", "text": "Ada Kerr was born in Leith. She died in 1950."}
BARE = {"id": "n", "text": "One sentence without a title."}
RECORDS = [
    {"id": "1", "question": "Who designed the bridge?", "contexts": [BRIDGE, KERR, BARE]},
    {"id": "2", "question": "Where was Ada Kerr born?", "contexts": [KERR, BRIDGE]},
    {"id": "3", "question": "Why?", "contexts": []},
]
WIDE = {"hidden_size": 128, "intermediate_size": 256, "head_dim": 32}  # bitsandbytes' blocks
FLOAT32 = Running(device="cpu", dtype="float32", quiet=True)


def tasks() -> list[Task]:
    return [Task.of(record, "rule") for record in RECORDS]


def units(given: Sequence[Task]) -> list[list[Unit]]:
    """Every sentence, and one unit that skips a sentence."""
    found = [
        [Unit(p.number, (i,)) for p in task.passages for i in range(len(p.sentences))]
        for task in given
    ]
    found[0].append(Unit(0, (0, 2)))
    return found


def classifier(directory: Path, **options: Any) -> CausalClassifier:
    return CausalClassifier(CausalModel(directory, FLOAT32), **options)


def naive(model: Any, task: Task, unit: Unit) -> float:
    """One full prompt, all logits at all positions, softmax over two of the last."""
    torch = torch_runtime()
    passage = task.passages[unit.passage]
    document = f"{passage.title}\n{passage.text}" if passage.title else passage.text
    text = (
        f"<start_of_turn>user\nQuery:\n{task.question}\nFull context:\n{document}\nSentence:\n"
        f"{unit.text(passage)}\nIs this sentence useful in answering the query? Answer only "
        '"Yes" or "No".<end_of_turn>\n<start_of_turn>model\n'
    )
    words = tokenizer()
    ids = [words.bos_token_id, *words(text, add_special_tokens=False).input_ids]
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
    yes, no = words.convert_tokens_to_ids(["Yes", "No"])
    return float(torch.softmax(logits[[yes, no]].double(), 0)[0])


@pytest.mark.parametrize("family", FAMILIES)
def test_equals_one_by_one(family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal_classifier, "SCORE_DECIMALS", 12)
    asked = tasks()
    found = classifier(saved(tmp_path, family)).score(asked, units(asked))
    expected = [
        [naive(kept(family), task, unit) for unit in members]
        for task, members in zip(asked, units(asked), strict=True)
    ]
    assert [len(scores) for scores in found] == [8, 6, 0]
    flat, alone = np.concatenate(found), np.concatenate([np.asarray(row) for row in expected])
    assert np.abs(flat - alone).max() <= 1e-5
    assert ((flat >= 0.5) == (alone >= 0.5)).all()
    assert flat.std() > 0.001  # the models do tell the units apart


def test_the_input_is_as_trained() -> None:
    assert prompt("Who?", "T\nA. B.", "B.") == (
        "<start_of_turn>user\nQuery:\nWho?\nFull context:\nT\nA. B.\nSentence:\nB.\n"
        'Is this sentence useful in answering the query? Answer only "Yes" or "No".'
        "<end_of_turn>\n<start_of_turn>model\n"
    )


def test_one_bos_and_braces_stay(tmp_path: Path) -> None:
    made = classifier(saved(tmp_path, "gemma"))
    (tokens,) = made._tokens([prompt("{unit}?", "{query}", "{0}")])
    assert tokens[0] == 2
    assert tokens.count(2) == 1
    assert "{unit}?\nFull context:\n{query}\nSentence:\n{0}\n" in tokenizer().decode(tokens)


def test_windows_of_records_do_not_matter(tmp_path: Path) -> None:
    made = classifier(saved(tmp_path, "gemma3"))
    many = [task for _ in range(5) for task in tasks()[:2]]
    asked = units(many)
    together = made.score(many, asked)
    for size in (1, 3):
        parts = [
            scores
            for start in range(0, len(many), size)
            for scores in made.score(many[start : start + size], asked[start : start + size])
        ]
        assert all(
            one.tobytes() == other.tobytes() for one, other in zip(together, parts, strict=True)
        )


def test_all_documents_as_context(tmp_path: Path) -> None:
    made = classifier(saved(tmp_path, "llama"), scope="all")
    asked = tasks()[:1]
    seen: list[str] = []
    tokens = made._tokens
    made._tokens = lambda texts: seen.extend(texts) or tokens(texts)  # type: ignore
    made.score(asked, units(asked))
    everything = "\n\n".join(
        [f"{BRIDGE['title']}\n{BRIDGE['text']}", f"{KERR['title']}\n{KERR['text']}", BARE["text"]]
    )
    assert len(seen) == 8
    assert all(f"Full context:\n{everything}\nSentence:" in text for text in seen)


def long_task() -> tuple[Task, list[Unit]]:
    text = " ".join(f"Sentence number {i} is about the {i * 37 % 101}." for i in range(60))
    task = Task.of(
        {"question": "Which one?", "contexts": [{"id": "l", "title": "Long", "text": text}]},
        "rule",
    )
    return task, [Unit(0, (i,)) for i in range(len(task.passages[0].sentences))]


@pytest.mark.parametrize("limit", [260, 400, 900])
def test_only_the_context_is_cut(limit: int, tmp_path: Path) -> None:
    made = classifier(saved(tmp_path, "gemma3"), max_input_tokens=limit)
    task, members = long_task()
    (context, asked) = next(made._parts(task, members))
    groups = list(made._groups(task, context, asked))
    assert sorted(place for group in groups for place in group.places) == list(range(60))
    for group in groups:
        for place, tokens in zip(group.places, group.prompts, strict=True):
            text = tokenizer().decode(tokens, skip_special_tokens=False)
            unit = members[place].text(task.passages[0])
            assert len(tokens) <= limit
            assert text == f"<bos>{prompt('Which one?', shown(text), unit)}"
            assert shown(text) in context.text
            assert limit < 400 or unit in shown(text)  # windows hold the unit's surroundings
    made.score([task], [members])
    total = len(made._ends(context.text)) * len(members)
    assert 0 < made.cut_tokens[0] < total


def test_a_long_document_is_not_tokenised_whole_for_each_unit(tmp_path: Path) -> None:
    made = classifier(saved(tmp_path, "llama"), max_input_tokens=400)
    task, members = long_task()
    seen: list[str] = []
    tokens = made._tokens
    made._tokens = lambda texts: seen.extend(texts) or tokens(texts)  # type: ignore
    made.score([task], [members])
    assert sum(map(len, seen)) <= 4 * 400 * len(members) < len(members) * len(task.passages[0].text)
    whole = len(made._ends(f"Long\n{task.passages[0].text}")) * len(members)
    pieces = sum(len(shown(text)) for text in seen[-len(members) :])
    assert made.cut_tokens == [whole - pieces]  # a token is a byte here


def shown(text: str) -> str:
    return text.partition("Full context:\n")[2].rpartition("\nSentence:\n")[0]


def test_windowed_scores_equal_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal_classifier, "SCORE_DECIMALS", 12)
    made = classifier(saved(tmp_path, "gemma3"), max_input_tokens=500)
    task, members = long_task()
    context, asked = next(made._parts(task, members))
    (scores,) = made.score([task], [members])
    for group in made._groups(task, context, asked):
        for place, tokens in zip(group.places, group.prompts, strict=True):
            alone = float(made._ratio(made._head.plain(tokens))[0])
            assert abs(scores[place] - alone) <= 1e-5


def test_a_unit_too_long_by_itself_is_cut_and_the_question_stays(tmp_path: Path) -> None:
    made = classifier(saved(tmp_path, "llama"), max_input_tokens=300)
    record = {"question": "Why?", "contexts": [{"id": "w", "text": "word " * 200}]}
    task = Task.of(record, "rule")
    context, asked = next(made._parts(task, [Unit(0, (0,))]))
    ((tokens,),) = [group.prompts for group in made._groups(task, context, asked)]
    text = tokenizer().decode(tokens, skip_special_tokens=False)
    assert len(tokens) <= 300
    assert "Sentence:\nword word" in text
    assert text.endswith('"Yes" or "No".<end_of_turn>\n<start_of_turn>model\n')
    (scores,) = made.score([task], [[Unit(0, (0,))]])
    assert 0 < scores[0] < 1
    given, kept_part = task.passages[0].text, text.partition("Sentence:\n")[2].partition("\n")[0]
    unit = task.passages[0].sentence(0)  # a token is a byte here
    assert unit.startswith(kept_part)
    assert made.cut_tokens == [len(given) + len(unit) - len(kept_part)]


def test_a_question_without_room_is_refused(tmp_path: Path) -> None:
    made = classifier(saved(tmp_path, "llama", max_position_embeddings=512))
    long = Task("why " * 200, [])
    why = made.refusal(long)
    assert why is not None and why.kind == "QuestionTooLong"
    assert made.refusal(Task("why", [])) is None


def test_verified_by_a_second_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = classifier(saved(tmp_path, "gemma2"), verify=100)
    asked = tasks()
    made.score(asked, units(asked))
    plain = Head.plain
    monkeypatch.setattr(Head, "plain", lambda self, tokens: plain(self, tokens) * 0.9)
    with pytest.raises(ProcessingError, match="--verify-prefix"):
        made.score(asked, units(asked))


def test_answers_must_be_single_tokens(tmp_path: Path) -> None:
    saved(tmp_path, "llama")
    file = tmp_path / "tokenizer.json"
    given = json.loads(file.read_text())
    given["model"]["merges"] = []
    file.write_text(json.dumps(given))
    with pytest.raises(DataError, match="3 tokens of 'Yes'"):
        classifier(tmp_path).load()


def test_a_head_that_does_more_is_refused(tmp_path: Path) -> None:
    made = classifier(saved(tmp_path, "gemma2"))
    made.model.network.config.final_logit_softcapping = None  # as the head sees it
    forward = type(made.model.network).forward

    def capped(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.config.final_logit_softcapping = 0.3
        try:
            return forward(self, *args, **kwargs)
        finally:
            self.config.final_logit_softcapping = None

    made.model.network.forward = capped.__get__(made.model.network)
    with pytest.raises(DataError, match="more to its logits"):
        made.load()


def test_windows_cover_the_text() -> None:
    ends = list(range(3, 303, 3))  # a hundred tokens of three characters
    found = windows(ends, 20)
    assert found[0][0] == 0
    assert found[-1][1] == 300
    assert all(end - start <= 60 for start, end in found)
    for place in range(0, 300):
        start, end = found[nearest(found, place)]
        assert start == 0 or place - start >= 14
        assert end == 300 or end - place >= 14
    assert windows(ends, 1000) == [(0, 300)]


def adapter(directory: Path, base: Path, *, trained: bool = True) -> Path:
    """A LoRA adapter of random weights; untrained ones change nothing."""
    peft = pytest.importorskip("peft")
    torch = torch_runtime()
    model = quiet_transformers().AutoModelForCausalLM.from_pretrained(base)
    settings = peft.LoraConfig(
        r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", lora_alpha=16
    )
    adapted = peft.get_peft_model(model, settings)
    torch.manual_seed(5)
    for name, weights in adapted.named_parameters():
        if "lora_B" in name and trained:
            torch.nn.init.normal_(weights, std=0.3)
    adapted.save_pretrained(directory)
    file = directory / "adapter_config.json"
    file.write_text(
        json.dumps({**json.loads(file.read_text()), "base_model_name_or_path": str(base)})
    )
    return directory


def test_an_adapter_is_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peft = pytest.importorskip("peft")
    monkeypatch.setattr(causal_classifier, "SCORE_DECIMALS", 12)
    base = saved(tmp_path / "base", "gemma")
    directory = adapter(tmp_path / "adapter", base)
    made, asked = classifier(directory), tasks()[:1]
    assert is_causal(directory)
    (found,) = made.score(asked, units(asked))
    unmerged = peft.PeftModel.from_pretrained(
        quiet_transformers().AutoModelForCausalLM.from_pretrained(base), directory
    ).eval()
    expected = [naive(unmerged, asked[0], unit) for unit in units(asked)[0]]
    plain = [naive(kept("gemma"), asked[0], unit) for unit in units(asked)[0]]
    assert np.abs(found - expected).max() <= 1e-5
    assert np.abs(found - plain).max() > 0.01


def test_an_adapter_without_effect_or_place_is_refused(tmp_path: Path) -> None:
    base = saved(tmp_path / "base", "gemma")
    with pytest.raises(DataError, match="untrained"):
        classifier(adapter(tmp_path / "zero", base, trained=False)).load()
    directory = adapter(tmp_path / "astray", base)
    file = directory / "adapter_config.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "target_modules": ["q_proj"]}))
    with pytest.raises(DataError, match="do not fit its base"):
        classifier(directory).load()


def test_an_adapter_without_its_base_names_it(tmp_path: Path) -> None:
    settings = {"base_model_name_or_path": "google/gemma-2b-it", "task_type": "CAUSAL_LM"}
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    with pytest.raises(MissingError, match=r"google/gemma-2b-it.*grasp models --get paper"):
        classifier(tmp_path).load()


@pytest.mark.parametrize(("quantize", "tolerance"), [("nf4", 1e-3), ("int8", 0.05)])
def test_quantised_weights(quantize: str, tolerance: float, tmp_path: Path) -> None:
    """As the same network one by one; int8 rounds activations too, by what is in the batch."""
    pytest.importorskip("bitsandbytes")
    running = Running(device="cpu", dtype="float32", quantize=quantize, quiet=True)
    made = CausalClassifier(CausalModel(saved(tmp_path, "gemma", **WIDE), running))
    kinds = {type(module).__name__ for module in made.model.network.modules()}
    assert ("Linear4bit" if quantize == "nf4" else "Linear8bitLt") in kinds
    asked = tasks()[:1]
    (found,) = made.score(asked, units(asked))
    expected = [naive(made.model.network, asked[0], unit) for unit in units(asked)[0]]
    assert np.abs(found - expected).max() <= tolerance


def test_quantising_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "bitsandbytes" else find_spec(name, *more),
    )
    running = Running(device="cpu", quantize="nf4", quiet=True)
    with pytest.raises(MissingError, match=r"bitsandbytes: pip install 'grasp-cli\[gpu\]'"):
        CausalClassifier(CausalModel(saved(tmp_path, "llama"), running)).load()


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    running = Running(device="cuda:77", quiet=True)
    with pytest.raises(MissingError, match="cuda:77"):
        CausalClassifier(CausalModel(saved(tmp_path, "llama"), running)).load()


def test_exit_as_a_command(grasp: Run, tmp_path: Path) -> None:
    directory = saved(tmp_path / "model", "gemma")
    given = "".join(json.dumps(record) + "\n" for record in RECORDS)
    command = ["compress", "--method", "exit", "--classifier", str(directory)]
    command += ["--dtype", "float32", "--device", "cpu", "--verify-prefix", "2"]
    done = grasp(*command, stdin=given)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("grasp compress: model on cpu, float32 (") == 1
    first, second, third = lines(done.stdout)
    assert first["compression"]["method"] == "exit"
    assert first["compression"]["units"] == first["compression"]["sentences"] == 7
    assert "context_cut_tokens" not in first["compression"]
    assert third["compression"]["fallback"] == "no-input"
    alone = grasp(*command, "--quiet", stdin=json.dumps(RECORDS[1]))
    assert alone.stderr == ""
    assert lines(alone.stdout)[0]["evidence"] == second["evidence"]
    cut = grasp(*command, "--max-input-tokens", "300", stdin=given)
    assert lines(cut.stdout)[0]["compression"]["context_cut_tokens"] > 0
