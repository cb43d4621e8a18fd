from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grasp_cli.formats import hub, load_format
from grasp_cli.formats.detect import detect
from grasp_cli.pipe.errors import DataError, GraspError, MissingError, UsageError

ROW = {
    "id": "h1",
    "question": "Nets?",
    "answer": "yes",
    "supporting_facts": {"title": ["T"], "sent_id": [0]},
    "context": {"title": ["T"], "sentences": [["One.", " Two."]]},
}
SQUAD = {
    "id": "s1",
    "title": "Net_Museum",
    "context": "It opened in 1987.",
    "question": "When?",
    "answers": {"text": ["1987", "in 1987"], "answer_start": [13, 10]},
}


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A stand-in for `datasets` that has two datasets and notes what it was asked."""
    module: Any = ModuleType("datasets")
    module.__version__ = "4.4.1"
    module.asked = []
    rows = {("hotpot_qa", "distractor"): [ROW, {**ROW, "id": "h2"}], ("squad", None): [SQUAD]}
    splits = {"hotpot_qa": ["train", "validation"], "squad": ["train"]}

    def load_dataset(name: str, config: str | None, **options: Any) -> list[dict[str, Any]]:
        module.asked.append((name, config, options))
        if (name, config) not in rows:
            raise FileNotFoundError(f"Dataset '{name}' doesn't exist\nsecond line")
        return rows[name, config]

    module.load_dataset = load_dataset
    module.get_dataset_split_names = lambda name, config: splits[name]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module  # type: ignore[no-any-return]


def records(name: str, reference: str, split: str | None = None) -> list[dict[str, Any]]:
    return list(load_format(name, split).records(Path(reference)))


def test_rows_become_records(library: Any) -> None:
    found = records("hotpotqa", "hotpot_qa:distractor", "validation")
    assert [record["id"] for record in found] == ["h1", "h2"]
    assert found[0]["evidence_gold"] == [{"id": "T", "start": 0, "end": 4, "text": "One."}]
    assert library.asked == [("hotpot_qa", "distractor", {"split": "validation"})]
    assert detect(Path("hotpot_qa:distractor"), "validation") == "hotpotqa"


def test_the_only_split_needs_no_name(library: Any) -> None:
    assert detect(Path("hf:squad")) == "squad"
    (record,) = records("squad", "hf:squad")
    text = record["contexts"][0]["text"]
    assert record["contexts"][0]["title"] == "Net Museum"
    assert record["answers"] == ["1987", "in 1987"]
    for piece, answer in zip(record["evidence_gold"], record["answers"], strict=True):
        assert text[piece["start"] : piece["end"]] == piece["text"] == answer
    with pytest.raises(UsageError, match="choose one of the splits train, validation with --split"):
        records("hotpotqa", "hf:hotpot_qa:distractor")


def test_places_in_errors_name_the_row(library: Any) -> None:
    with pytest.raises(DataError, match=r'^hf:squad \(train\), row 1: "ctxs" must be there'):
        records("dpr", "hf:squad")


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (FileNotFoundError("gone\nmore"), DataError, "there is no such dataset: gone$"),
        (ConnectionError("no route"), MissingError, "the hub cannot be reached: no route"),
        (ValueError("Unknown split"), DataError, "hf:x: Unknown split"),
        (RuntimeError("Dataset scripts are no longer supported"), DataError, "no longer supported"),
    ],
)
def test_what_the_library_says(
    library: Any, raised: Exception, kind: type[GraspError], message: str
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise raised

    library.load_dataset = fails
    with pytest.raises(kind, match=message):
        records("dpr", "hf:x", "train")


def test_without_the_library_or_with_an_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        MissingError, match=r"package datasets: pip install 'grasp-cli\[datasets\]'"
    ):
        records("dpr", "hf:x")
    old: Any = ModuleType("datasets")
    old.__version__ = "3.6.0"
    monkeypatch.setitem(sys.modules, "datasets", old)
    with pytest.raises(MissingError, match=r"datasets 3.6.0 may run code"):
        records("dpr", "hf:x")


def test_files_are_never_taken_for_datasets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a:b").write_text("[]")
    assert not hub.is_reference(Path("a:b"))
    assert hub.is_reference(Path("a:c"))
    assert hub.is_reference(Path("hf:a:b"))
    for name in ("dev.json", "owner/name", "-", "folder/a:b/c", "a:"):
        assert not hub.is_reference(Path(name))
    with pytest.raises(UsageError, match="--split dev: a:b has no splits"):
        records("dpr", "a:b", "dev")


def test_the_real_library_reads_a_local_dataset(tmp_path: Path) -> None:
    pytest.importorskip("datasets", minversion="4")
    import json

    (tmp_path / "set").mkdir()
    for split in ("train", "test"):
        (tmp_path / "set" / f"{split}.jsonl").write_text(json.dumps({**ROW, "id": split}) + "\n")
    reference = f"hf:{tmp_path / 'set'}"
    (record,) = records("hotpotqa", reference, "test")
    assert record["id"] == "test"
    assert record["evidence_gold"][0]["text"] == "One."
    with pytest.raises(UsageError, match="choose one of the splits"):
        records("hotpotqa", reference)
