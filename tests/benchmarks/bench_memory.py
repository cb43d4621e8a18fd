"""What method `exit` takes beside the weights on a document of 30,000 tokens and 400 sentences.

Gemma 3 270M in bfloat16, in a process of its own each time: once with the whole document as context
of every sentence, once with inputs of at most 8,192 tokens. The figure is the greatest resident
size while compressing, less that after loading.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grasp_cli.compression.causal_classifier import CausalClassifier
from grasp_cli.compression.exit import Exit
from grasp_cli.compression.stage import Compress, Setting
from grasp_cli.defaults import COMPRESS, TEXT
from grasp_cli.models.causal import CausalModel, Running
from grasp_cli.models.locate import find
from grasp_cli.pipe.errors import MissingError
from grasp_cli.text.tokens import TokenCounter
from tests.benchmarks.bench_shared_prefix import Entry, entry

TOKENS = 30_000
SENTENCES = 400
LIMITS = (None, 8192)  # --max-input-tokens
TARGET_MIB = 2048
STATUS = Path("/proc/self/status")


def benchmarks() -> list[Entry]:
    """Nothing where the model is not there, or no kernel that says how much was resident."""
    try:
        find("gemma-3-270m")
    except MissingError:
        return []
    return [one for limit in LIMITS for one in _measured(limit)] if STATUS.exists() else []


def _measured(limit: int | None) -> Iterator[Entry]:
    command = [sys.executable, "-m", "tests.benchmarks.bench_memory", str(limit or "")]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    found = json.loads(output)
    label = f"exit, long document, {f'inputs of {limit:,}' if limit else 'no limit'}"
    yield entry(f"{label}: tokens of it", found["tokens"], "tokens")
    yield entry(f"{label}: sentences", found["sentences"], "")
    yield entry(f"{label}: context_cut_tokens", found["cut"], "tokens")
    yield entry(f"{label}: time", found["seconds"], "s")
    yield entry(f"{label}: weights and libraries", found["loaded"], "MiB")
    extra = found["peak"] - found["loaded"]
    yield entry(f"{label}: peak beside them", extra, "MiB", TARGET_MIB, least=False)


def _compressed(limit: int | None) -> dict[str, Any]:
    """Compress the document in this process; sizes in MiB."""
    directory = find("gemma-3-270m")
    model = CausalModel(directory, Running(device="cpu", dtype="bfloat16", quiet=True))
    method = Exit(CausalClassifier(model, max_input_tokens=limit), COMPRESS, 0.0)
    counter = TokenCounter(directory, "gemma")
    stage = Compress(method, None, counter, COMPRESS, Setting("paper", "bfloat16", TEXT.splitter))
    list(stage.process([_record("Warm. Up.")]))
    text = _text(counter)
    loaded = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far was that of loading
    started = time.perf_counter()
    (record,) = stage.process([_record(text)])
    seconds = time.perf_counter() - started
    assert isinstance(record, dict), record
    return {
        "tokens": counter.count([text])[0],
        "sentences": record["compression"]["sentences"],
        "cut": record["compression"].get("context_cut_tokens", 0),
        "seconds": seconds,
        "loaded": loaded,
        "peak": _resident("VmHWM"),
    }


def _record(text: str) -> dict[str, Any]:
    contexts = [{"id": "long", "title": "A long one", "text": text}]
    return {"id": "1", "question": "Which word stands in the old harbour?", "contexts": contexts}


def _text(counter: TokenCounter) -> str:
    """Sentences of seeded syllables, each of its share of the tokens."""
    source = random.Random(0)
    share = TOKENS // SENTENCES
    sentences = []
    for number in range(SENTENCES):
        sentence = f"Sentence {number} of them"
        while counter.count([sentence])[0] < share - 1:
            sentence += " " + "".join(source.choice(_SYLLABLES) for _ in range(2))
        sentences.append(f"{sentence}.")
    return " ".join(sentences)


_SYLLABLES = [f"{a}{b}" for a in "bdfgklmnprst" for b in "aeiou"]


def _resident(key: str) -> float:
    """A line of /proc/self/status, in MiB."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[key].split()[0]) / 1024


if __name__ == "__main__":
    asked = sys.argv[1]
    json.dump(_compressed(int(asked) if asked else None), sys.stdout)
