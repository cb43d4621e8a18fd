"""Records, and a baseline run through the stage behind `grasp compress`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.compression.tasks import Method
from grasp_cli.defaults import CompressDefaults, compress_settings
from tests.compression.fakes import Words

TEXTS = [
    "The dam at Orl was built in 1911. It burst in 1924! Nobody was hurt. The lake is gone now.",
    "Dr. Hale of the U.S. Survey led it.\r\nShe wrote 3 books, e.g. on salt. Who paid? The town.",
    "A ferry left at noon. It came back empty. The captain slept, and the cook sang old songs.",
    "Salt was dear. Bread was not, 🍜 nor was soup. A pound of it cost a day's pay in Orl.",
]
QUESTION = "When did the dam at Orl burst?"


def record(texts: Sequence[str] = TEXTS, **more: Any) -> dict[str, Any]:
    contexts = [
        {"id": f"c{place}", "title": "A title" if place % 2 else "", "text": text}
        for place, text in enumerate(texts)
    ]
    return {"id": "r", "question": QUESTION, "contexts": contexts, **more}


def run(
    method: Method, options: CompressDefaults, *records: dict[str, Any], embedder: Any = None
) -> list[Any]:
    """The compressed records, timings left out; a failed one is its `RecordError`."""
    setting = Setting("embedded", "float32", "rule")
    stage = Compress(method, embedder, Words(), options, setting)  # type: ignore[arg-type]
    found = list(stage.process(list(records)))
    for out in found:
        if isinstance(out, dict):
            out["compression"].pop("seconds")
    return found


def settings(method: str, **given: Any) -> CompressDefaults:
    return compress_settings(method, **given)
