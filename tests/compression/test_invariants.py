"""What holds for every compressed record, whatever the text (properties, on fake models)."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.compression.blocks import join_contexts
from grasp_cli.defaults import COMPRESS
from grasp_cli.pipe.engine import Tally, run_stage
from tests.compression.fakes import Words, compressor

PIECES = [
    "The menu has soup 🍜 and bread. ", "Dr. J. R. Hale of the U.S. Survey led it. ", "Ice!\r\n",
    "水库位于山谷之中。它于1958年建成。", "See [a](http://x.org/y_1.v2.png). ", "\n\n", "\t", " ",
    "- one item\n- two items\n", "```yaml\nport: 8080. # no\n```\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "no full stop", "e\u0301\u200d", "\x00", "Ende. Aus? Ja! ", "# Title\n", "…", "“Quoted.” ",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    contexts = []
    for number in range(draw(st.integers(0, 4))):
        context = {"id": f"c{number}", "text": draw(texts), "url": None}
        if draw(st.booleans()):
            context["title"] = draw(st.sampled_from(["", "A title", "橋"]))
        contexts.append(context)
    return {"z": [1], "id": "r", "question": draw(st.sampled_from(["Why?", "水库？"])),
            "contexts": contexts, "meta": {"k": None}}  # fmt: skip


options = st.fixed_dictionaries(
    {
        "coarse": st.booleans(),
        "fine": st.booleans(),
        "coarse_ratio": st.sampled_from([0.0, 0.3, 0.8, 1.0]),
        "fine_threshold": st.sampled_from([0.0, 0.5, 0.9, 1.0]),
        "on_empty": st.sampled_from(["keep-best", "passthrough", "empty"]),
        "max_tokens": st.sampled_from([None, 1, 3, 8, 30]),
        "max_tokens_per_doc": st.sampled_from([None, None, 1, 4, 12]),
        "top_k_spans": st.sampled_from([None, None, 1, 2]),
        "budget": st.sampled_from(["threshold", "threshold", "adaptive"]),
        "min_tokens": st.sampled_from([1, 10]),
        "markers": st.booleans(),
        "gap": st.sampled_from([" ", " ", " … ", "\n[…]\n"]),
        "redundancy": st.booleans(),
    }
).map(lambda chosen: replace(COMPRESS, **chosen))


def run(setting: Any, *given_records: dict[str, Any]) -> list[dict[str, Any]]:
    stage = compressor(setting)
    return [r for batch in run_stage(stage, list(given_records), Tally()) for r in batch]


@given(records(), options)
def test_evidence_is_verbatim_sorted_disjoint_and_within_bounds(record: Any, setting: Any) -> None:
    (out,) = run(setting, record)
    sources = {context["id"]: context["text"] for context in record["contexts"]}
    for item in out["evidence"]:
        assert item["text"] == sources[item["context"]][item["start"] : item["end"]]
        assert item["text"] == item["text"].strip() != ""
    for before, after in pairwise(out["evidence"]):
        if before["context"] == after["context"]:
            assert before["end"] <= after["start"]


@given(records(), options)
def test_the_context_is_the_evidence_in_document_order_under_titles(
    record: Any, setting: Any
) -> None:
    (out,) = run(setting, record)
    rest = out["context"]
    for item in out["evidence"]:
        place = rest.find(item["text"])
        assert place >= 0, "evidence must stand in the context, in order"
        rest = rest[place + len(item["text"]) :]
    added = {context.get("title") or "" for context in record["contexts"]}
    added |= {f"[{context['id']}]" for context in record["contexts"]} if setting.markers else set()
    left = out["context"]
    for item in sorted(out["evidence"], key=lambda item: -len(item["text"])):
        left = left.replace(item["text"], "", 1)
    left = re.sub("|".join(map(re.escape, sorted(added, reverse=True))), "", left)
    assert not left.replace(setting.gap.strip(), "").strip()


@given(records(), options)
def test_compression_never_lengthens_and_is_never_empty_in_silence(
    record: Any, setting: Any
) -> None:
    (out,) = run(setting, record)
    said = out["compression"]
    assert said["tokens_out"] <= said["tokens_in"] and said["chars_out"] <= said["chars_in"]
    assert said["chars_out"] == len(out["context"])
    assert 0 <= said["removed"] <= 1
    if setting.max_tokens:
        assert said["tokens_out"] <= setting.max_tokens
    if setting.top_k_spans:
        assert len({item["unit"] for item in out["evidence"]}) <= setting.top_k_spans
    if setting.max_tokens_per_doc:
        assert all(count <= setting.max_tokens_per_doc for count in block_tokens(out))
    if not out["context"]:
        assert said["fallback"] in ("no-input", "empty", "nothing-fits")
    tight = setting.max_tokens or setting.max_tokens_per_doc
    if said["sentences"] and setting.on_empty != "empty" and not tight:
        assert out["evidence"] and out["context"]


def block_tokens(out: Any) -> list[int]:
    """Tokens of each block of the context; each context is a document here."""
    counts, start = [], 0
    found = groupby(out["evidence"], key=lambda item: item["context"])
    lasts = [list(items)[-1]["text"] for _, items in found]
    for place, last in enumerate(lasts, start=1):
        end = len(out["context"])
        if place < len(lasts):
            end = out["context"].index("\n\n", out["context"].index(last, start) + len(last))
        counts.append(Words().count([out["context"][start:end]])[0])
        start = end
    return counts


@given(records(), options)
def test_keys_survive_in_place_and_the_input_is_not_changed(record: Any, setting: Any) -> None:
    before = copy.deepcopy(record)
    (out,) = run(setting, record)
    assert record == before
    assert {key: out[key] for key in before} == before
    assert list(out) == [*before, "context", "evidence", "compression"]


@given(records())
def test_both_steps_off_is_no_compression(record: Any) -> None:
    (out,) = run(replace(COMPRESS, coarse=False, fine=False), record)
    assert out["compression"]["removed"] == 0
    assert out["context"].split() == join_contexts(record["contexts"]).split()


@given(st.lists(records(), min_size=1, max_size=7), st.sampled_from([1, 3, 64]))
def test_the_window_changes_nothing(many: list[Any], window: int) -> None:
    numbered = [{**record, "id": str(number)} for number, record in enumerate(many)]
    for record in numbered:
        record["contexts"] = record["contexts"][:2]

    def outputs(size: int) -> list[Any]:
        found = run(replace(COMPRESS, window=size), *numbered)
        for record in found:
            record["compression"].pop("seconds")
        return found

    assert outputs(window) == outputs(5)
