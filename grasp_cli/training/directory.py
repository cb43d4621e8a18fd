"""Where a training writes its model, and what it tells on the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import orjson

from grasp_cli.models.evidence_weights import BASE_WEIGHTS, CONFIG, is_evidence
from grasp_cli.models.locate import find, holds_model
from grasp_cli.pipe.errors import UsageError
from grasp_cli.training.checkpoint import LOG, log

WORK = "training.part"  # below the model's directory until it is finished, then removed
CARD = "README.md"
_BARS = "▁▂▃▄▅▆▇█"


def check_output(directory: Path) -> None:
    """Refuse what is not a new or empty directory, or that of a training to go on with."""
    if not directory.exists() or (directory / WORK).is_dir():
        return
    if not directory.is_dir():
        raise UsageError(f"{directory} is a file: give a directory as -o")
    if any(directory.iterdir()):
        what = "already holds a model" if (directory / CONFIG).exists() else "is not empty"
        raise UsageError(f"{directory} {what}: give another -o, or remove it")


def base_of(name: str) -> str:
    """The base as the model's config names it: a path from the root, or a known name."""
    path = find(name)
    if is_evidence(path):
        raise UsageError(f"--base {name} is an evidence model itself: give an encoder")
    if not (path / BASE_WEIGHTS).is_file():
        raise UsageError(f"--base {name} has no {BASE_WEIGHTS}: save the encoder in that format")
    return str(path) if holds_model(Path(name).expanduser()) else name


def put_in_place(directory: Path, made: Path, files: Iterable[str], card: str) -> None:
    """Move a finished model out of its work directory, the last of `files` last, and its log."""
    (directory / CARD).write_text(card, encoding="utf-8")
    (directory / WORK / LOG).replace(directory / LOG)
    for name in files:
        (made / name).replace(directory / name)
    shutil.rmtree(directory / WORK)


def teller(
    work: Path, say: Callable[[str], None], evaluation: Callable[[dict[str, Any]], str]
) -> Callable[[dict[str, Any]], None]:
    """Writes what happens to the log, and says it; `evaluation` words an entry of one."""

    def tell(entry: dict[str, Any]) -> None:
        log(entry, work)
        if "tokens_per_second" in entry:
            left = entry["steps"] - entry["step"]
            minutes = left * entry["seconds_per_step"] / 60
            say(
                f"step {entry['step']}/{entry['steps']}, loss {entry['loss']:.3f}, "
                f"{entry['tokens_per_second']} tokens/s, {minutes:.0f} min left"
            )
        elif "stopped" in entry:
            say(f"step {entry['step']}: stopped early, {entry['stopped']}")
        else:
            say(f"step {entry['step']}/{entry['steps']}: {evaluation(entry)}")

    return tell


def curve(work: Path, key: str, *, least: bool = False) -> str:
    """The values of `key` in the log over the training, as one line; `least`: the least is best."""
    path = work / LOG
    entries = map(orjson.loads, path.read_bytes().splitlines() if path.exists() else [])
    by_step = {entry["step"]: entry[key] for entry in entries if key in entry}
    values = [by_step[step] for step in sorted(by_step)]
    if not values:
        return "-"
    low, high = min(values), max(values)
    scale = (len(_BARS) - 1) / max(high - low, 1e-9)
    bars = "".join(_BARS[round((value - low) * scale)] for value in values)
    return f"{bars} {values[0]:.3f} to {values[-1]:.3f}, best {low if least else high:.3f}"


def today() -> str:
    """For the card."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%d")
