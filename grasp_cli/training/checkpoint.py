"""What a training keeps on disk: safetensors and JSON, written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from grasp_cli.pipe.errors import DataError
from grasp_cli.training.loop import Loop, Network, Progress
from grasp_cli.training.parameters import load_parameters, parameters

_PREVIOUS = "previous."  # parameters at the evaluation before
CHECKPOINT, BEST, LOG = "checkpoint.safetensors", "best.safetensors", "log.jsonl"


def fingerprint(trainer: Loop) -> str:
    """A hash of the settings and the data, which a checkpoint belongs to."""
    digest = hashlib.sha256(orjson.dumps(asdict(trainer.settings), option=orjson.OPT_SORT_KEYS))
    for examples in (trainer.training, trainer.held_back):
        for made in examples:
            digest.update(
                orjson.dumps([*made.key, made.question, *(p.text for p in made.passages)])
            )
            for labels in made.labels:
                digest.update(labels.tobytes())
    return digest.hexdigest()


def save(trainer: Loop, directory: Path) -> None:
    """Write the checkpoint: weights, optimiser and progress."""
    values = parameters(trainer.network)
    values |= {f"{_PREVIOUS}{name}": value for name, value in trainer.previous.items()}
    for number, (_, state) in enumerate(_states(trainer)):
        values |= {f"optimiser.{number}.{key}": value.contiguous() for key, value in state.items()}
    progress = orjson.dumps(asdict(trainer.progress)).decode()
    _write(values, directory / CHECKPOINT, {"progress": progress, "of": fingerprint(trainer)})


def keep_best(trainer: Loop, directory: Path) -> None:
    """Write the weights of the best evaluation so far."""
    step = str(trainer.progress.step)
    _write(parameters(trainer.network), directory / BEST, {"step": step})


def resume(trainer: Loop, directory: Path) -> bool:
    """Go back to the checkpoint in `directory`, if there is one.

    Raises `DataError` where it belongs to other settings or data.
    """
    from safetensors import safe_open

    path = directory / CHECKPOINT
    if not path.exists():
        return False
    with safe_open(str(path), "pt") as file:
        metadata = file.metadata()
        if metadata["of"] != fingerprint(trainer):
            raise DataError(
                f"{path} belongs to a training with other options or data: "
                "give another output directory, or remove that one"
            )
        values = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    own = {k: v for k, v in values.items() if not k.startswith(("optimiser.", _PREVIOUS))}
    load_parameters(trainer.network, own)
    trainer.previous = {
        name.removeprefix(_PREVIOUS): value
        for name, value in values.items()
        if name.startswith(_PREVIOUS)
    }
    trainer.progress = Progress(**orjson.loads(metadata["progress"]))
    for number, (parameter, _) in enumerate(_states(trainer)):
        found = {
            key.split(".", 2)[2]: value.clone()
            for key, value in values.items()
            if key.startswith(f"optimiser.{number}.")
        }
        if found:
            trainer._optimiser.state[parameter] = found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the optimiser has not stepped in here
        for _ in range(trainer.progress.step):
            trainer._schedule.step()
    return True


def load_best(network: Network, directory: Path) -> None:
    """Put the best weights into a network."""
    from safetensors.torch import load_file

    load_parameters(network, load_file(str(directory / BEST)))


def run(trainer: Loop, directory: Path, say: Callable[[str], None]) -> None:
    """Train to the end, from the checkpoint where there is one; the network then has the best."""
    if resume(trainer, directory):
        say(f"going on from step {trainer.progress.step}")
    trainer.run(lambda state: save(state, directory), lambda state: keep_best(state, directory))
    load_best(trainer.network, directory)


def log(entry: dict[str, Any], directory: Path) -> None:
    """Add a line to the training's log."""
    with open(directory / LOG, "ab") as stream:
        stream.write(orjson.dumps(entry) + b"\n")


def _states(trainer: Loop) -> Sequence[tuple[Any, dict[str, Any]]]:
    parameters = [p for group in trainer._optimiser.param_groups for p in group["params"]]
    return [(parameter, trainer._optimiser.state.get(parameter, {})) for parameter in parameters]


def _write(values: dict[str, Any], path: Path, metadata: dict[str, str]) -> None:
    from safetensors.torch import save_file

    part = path.with_name(path.name + ".part")
    save_file(values, str(part), metadata)
    os.replace(part, path)
