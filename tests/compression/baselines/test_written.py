"""Methods that write a text: RECOMP's summaries, CompAct's rounds, Refiner's sections."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grasp_cli.compression.baselines.compact import CompAct, Instructions, parsed
from grasp_cli.compression.baselines.recomp_abstractive import TEMPLATE, RecompAbstractive
from grasp_cli.compression.baselines.refiner import Refiner, sections
from grasp_cli.evaluation.evidence import recall
from grasp_cli.models.causal import CausalModel, Running
from grasp_cli.models.runtime import quiet_transformers, torch_runtime
from grasp_cli.models.writing import CausalWriter, Seq2SeqWriter, fitted
from grasp_cli.pipe.errors import DataError, RecordError
from tests.compression import tiny
from tests.compression.baselines import tiny_writers
from tests.compression.baselines.helpers import QUESTION, TEXTS, record, run, settings
from tests.readers.tiny import random_model

RUNNING = Running("cpu", "float32", "none", 1, True)


class Told:
    """A writer that answers what it is told to, and remembers what it was asked."""

    name = "told"
    tokenizer = SimpleNamespace(
        encode=lambda text, add_special_tokens: SimpleNamespace(
            ids=list(text), offsets=[(i, i + 1) for i in range(len(text))]
        )
    )

    def __init__(self, *answers: str, positions: int | None = None) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.positions = positions

    def load(self) -> None: ...

    def plain(self, text: str) -> list[str]:
        return list(text)

    chat = plain

    def write(self, tokens: Sequence[str], most: int) -> str:
        self.asked.append("".join(tokens))
        return self.answers.pop(0)


def compact(writer: Told, *records: Any, **options: Any) -> list[Any]:
    method = CompAct(writer, Instructions("DO.", "GO ON."))  # type: ignore[arg-type]
    return run(method, settings("compact", **options), *records)


def test_a_written_text_has_no_evidence_and_is_not_verbatim() -> None:
    gold = {"evidence_gold": [{"id": "c0"}]}
    (out,) = compact(Told("It burst in 1924. Evaluation: [COMPLETE]"), record(**gold), explain=True)
    assert out["context"] == "It burst in 1924." and out["evidence"] == []
    said = out["compression"]
    assert said["verbatim"] is False and "kept" not in said and "fallback" not in said
    assert said["tokens_out"] == 5 and said["sentences"] == 14
    assert recall(out, gold["evidence_gold"]) is None
    assert recall({**out, "compression": {}}, gold["evidence_gold"]).kept == 0  # type: ignore[union-attr]
    whys = {s["why"] for context in out["explain"] for s in context["sentences"]}
    assert whys == {"method"}


def test_it_keeps_to_budgets_and_is_never_longer_than_what_it_sums_up() -> None:
    long = "word " * 500
    (out,) = compact(Told(long), record())
    assert out["compression"]["tokens_out"] <= out["compression"]["tokens_in"]
    assert out["compression"]["truncated"] == len(long.strip()) - len(out["context"])
    (out,) = compact(Told(long), record(), max_tokens=7)
    assert out["context"] == " ".join(["word"] * 7)
    (out,) = compact(Told("a" * 90), record(), rate=0.5)
    assert out["context"] == "a" * 90


def test_an_empty_summary_falls_back() -> None:
    (out,) = compact(Told(" \n"), record())
    assert out["compression"]["fallback"] == "keep-best"
    assert out["context"] == TEXTS[0] and out["evidence"][0]["context"] == "c0"
    assert "verbatim" not in out["compression"]
    (out,) = compact(Told(""), record(), on_empty="empty")
    assert out["context"] == "" and out["compression"]["fallback"] == "empty"


def test_compact_reads_five_documents_a_round_until_it_is_complete() -> None:
    texts = [f"Text {number}." for number in range(13)]
    told = Told(
        "Summary: One.\n\nTwo. Evaluation: No date. [INCOMPLETE]",
        "Three. Evaluation: Enough. [COMPLETE]",
        "never asked",
    )
    (out,) = compact(told, record(texts))
    assert out["context"] == "Three." and len(told.asked) == 2
    documents = ["Text 0.", "A title Text 1.", "Text 2.", "A title Text 3.", "Text 4."]
    assert told.asked[0] == "\n\n".join(
        ["DO.", f"Question: {QUESTION}", "Source documents: " + "\n".join(documents), "Summary:"]
    )
    assert told.asked[1].startswith(
        f"GO ON.\n\nQuestion: {QUESTION}\n\nPrevious summary: One.\nTwo.\n\n"
        "Evaluation of previous summary: No date.\n\nSource documents: A title Text 5."
    )
    silent = Told("One.", "Two.", "Three.")
    (out,) = compact(silent, record(texts))
    assert out["context"] == "Three." and not silent.answers


def test_compact_reads_six_rounds_at_most() -> None:
    told = Told(*(f"Summary {number}." for number in range(9)))
    (out,) = compact(told, record([f"Text {number}." for number in range(45)]))
    assert out["context"] == "Summary 5." and len(told.asked) == 6


def test_documents_too_long_for_the_model_lose_their_end() -> None:
    told = Told("One.", positions=700)
    (out,) = compact(told, record(["a b c d " * 60]))
    (asked,) = told.asked
    assert len(asked) == 200 and asked.endswith("\n\nSummary:")
    around = f"DO.\n\nQuestion: {QUESTION}\n\nSource documents: \n\nSummary:"
    assert out["compression"]["context_cut_tokens"] == 479 + len(around) - 200
    (error,) = compact(Told(positions=700), record(question="why so " * 40))
    assert isinstance(error, RecordError) and error.kind == "QuestionTooLong"


def test_what_compact_writes_is_parted() -> None:
    assert parsed("Summary: A.\nEvaluation: B. [COMPLETE]") == ("A.", "B. [COMPLETE]")
    assert parsed("A.\n\nB.") == ("A.\nB.", "")
    assert parsed("Evaluation: B") == ("", "B") and parsed("") == ("", "")


def test_an_instruction_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "instruction.txt"
    file.write_text("First.\n---\nLater.\n")
    assert Instructions.of(str(file)) == ("First.", "Later.")
    file.write_text("Both.")
    assert Instructions.of(str(file)) == ("Both.", "Both.")
    assert "200 words" in Instructions.of(None).first
    file.write_text("First.\n---\n")
    with pytest.raises(DataError, match=r"instruction\.txt: an instruction is empty"):
        Instructions.of(str(file))
    with pytest.raises(DataError, match="cannot be read"):
        Instructions.of(str(tmp_path / "nowhere.txt"))


def test_refiner_asks_in_its_form_and_keeps_the_sections() -> None:
    told = Told(
        "Well:\n1. Dam at Orl\n1.1. It burst\nin 1924!\n2. Salt\n1.1. It burst in 1924!\n2."
    )
    (out,) = run(Refiner(told), settings("refiner"), record(TEXTS[:2]))  # type: ignore[arg-type]
    assert told.asked == [
        f"[INST]<<SYS>>[MONITOR]## \n{TEXTS[0]}\n---\n## A title\n{TEXTS[1]}<</SYS>>{QUESTION}"
        "[/INST] "
    ]
    assert out["context"] == "1 Dam at Orl\n1.1 It burst in 1924!\n2 Salt"
    assert out["compression"]["verbatim"] is False


def test_text_without_numbers_stays_as_it_is() -> None:
    assert sections(" It burst in 1924! \n") == "It burst in 1924!"
    assert sections("It burst in\n1924 after rain.") == "It burst in\n1924 after rain."
    assert sections("1.1 One\n2. Two") == "1.1 One\n2 Two"


def test_a_causal_writer_continues_as_generate_does(tmp_path: Path) -> None:
    torch, transformers = torch_runtime(1), quiet_transformers()
    for chat in (False, True):
        path = random_model(tmp_path / str(chat), chat=chat)
        writer = CausalWriter(CausalModel(path, RUNNING))
        tokens = writer.chat("When?")
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        text = "<begin>[user]When?<assistant>" if chat else "<begin>[INST] When? [/INST]"
        assert tokens == tokenizer(text, add_special_tokens=False).input_ids
        model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
        whole = model.generate(torch.tensor([tokens]), do_sample=False, max_new_tokens=9)
        new = whole[0, len(tokens) :].tolist()
        expected = tokenizer.decode(new, skip_special_tokens=True).strip()
        assert writer.write(tokens, 9) == expected


def naive_summary(path: Path, text: str, most: int) -> str:
    """Greedy, step by step, without a cache."""
    torch, transformers = torch_runtime(1), quiet_transformers()
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(path, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    ids = torch.tensor([[*tokenizer(text, add_special_tokens=False).input_ids, 1]])
    made = [0]
    with torch.no_grad():
        while len(made) <= most and made[-1] != 1:
            logits = model(input_ids=ids, decoder_input_ids=torch.tensor([made])).logits
            made.append(int(logits[0, -1].argmax()))
    return str(tokenizer.decode(made[1:], skip_special_tokens=True)).strip()


def test_a_seq2seq_writer_with_one_beam_is_greedy(tmp_path: Path) -> None:
    path = tiny.t5(tmp_path)
    writer = Seq2SeqWriter(path, threads=1, dtype="float32")
    text = TEMPLATE.format(QUESTION, TEXTS[0])
    found = writer.write(writer.tokens(text), most=9, beams=1, length_penalty=1.0)
    assert found == naive_summary(path, text, 9) != ""


def test_recomp_writes_a_summary_with_beams(tmp_path: Path) -> None:
    path = tiny_writers.t5(tmp_path, "Dam burst")
    method = RecompAbstractive(Seq2SeqWriter(path, threads=1, dtype="float32"))
    options = settings("recomp-abstractive")
    (out,) = run(method, options, record())
    assert out["context"] == "Dam burst" and out["compression"]["verbatim"] is False
    (long,) = run(method, options, record(["A ferry left at noon. " * 60]))
    cut = 1320 + len(TEMPLATE.format(QUESTION, "")) + 1 - 1024
    assert long["compression"]["context_cut_tokens"] == cut
    (error,) = run(method, options, record(question="why so " * 200))
    assert isinstance(error, RecordError) and error.kind == "QuestionTooLong"


def test_a_prompt_is_fitted_by_its_text_alone() -> None:
    def prompt(text: str) -> list[int]:
        return [0] * (len(text) + 10)

    assert fitted("abcdef", prompt, Told.tokenizer, 16) == ([0] * 16, 0)
    assert fitted("abcdef", prompt, Told.tokenizer, 13) == ([0] * 13, 3)
    assert fitted("abcdef", prompt, Told.tokenizer, 10) == ([0] * 10, 6)
    assert fitted("abcdef", prompt, Told.tokenizer, 9) is None
