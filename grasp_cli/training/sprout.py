"""`grasp train sprout`: records in, a directory that `grasp index --tree-weights` takes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from grasp_cli.defaults import TrainSproutDefaults
from grasp_cli.models.evidence_weights import BASE_WEIGHTS, compressed
from grasp_cli.models.locate import find, sha256_of
from grasp_cli.models.placement import Placement
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.models.sprout_network import SproutNetwork
from grasp_cli.models.tree_weights import CONFIG, WEIGHTS, save_tree_weights
from grasp_cli.pipe.errors import DataError
from grasp_cli.training import checkpoint
from grasp_cli.training.directory import (
    WORK,
    base_of,
    check_output,
    curve,
    put_in_place,
    teller,
    today,
)
from grasp_cli.training.evidence_examples import by_source
from grasp_cli.training.parameters import parameters
from grasp_cli.training.split import read_examples
from grasp_cli.training.sprout_card import card
from grasp_cli.training.sprout_training import Held, SproutTrainer


class Trained(NamedTuple):
    """What was measured on the held-back questions, and what was written."""

    before: Held
    after: Held
    megabytes: float


def train(
    files: Sequence[Path],
    directory: Path,
    settings: TrainSproutDefaults,
    placement: Placement,
    *,
    base: str,
    command: str,
    say: Callable[[str], None],
    threads: int | None = None,
) -> Trained:
    """Train on the records of `files` and write `directory`.

    An interrupted training goes on from its last checkpoint when called again with the same
    arguments. Raises `DataError` for records without gold, with gold that is not in their texts,
    or where no two chunks of a record are gold; `UsageError` where the directory holds anything but
    an interrupted training, or the base cannot be trained on.
    """
    check_output(directory)
    base = base_of(base)
    training, held_back = read_examples(files, settings)
    work = directory / WORK
    work.mkdir(parents=True, exist_ok=True)
    torch_runtime(threads).manual_seed(settings.seed)
    path = find(base)
    network = SproutNetwork(path, device=placement.device, threads=threads)
    trainer = SproutTrainer(network, training, held_back, settings, teller(work, say, _evaluation))
    before = trainer.measure(held_back)
    if not trainer.steps or before.support is None:
        raise DataError(
            f"{len(training) + len(held_back)} records: of too few of them is it known which "
            "chunks support the answer together; give gold with offsets in two places or more of "
            "a record"
        )
    say(
        f"{len(training)} questions to train on, {len(held_back)} held back, "
        f"{trainer.steps} steps on {placement}"
    )
    say(f"untrained: {_worded(before._asdict())}")
    checkpoint.run(trainer, work, say)
    say("held-back loss " + curve(work, "held_back_loss", least=True))
    after = trainer.measure(held_back)
    made_in = work / "model"
    _save(network, base, path, made_in, settings)
    megabytes = round((made_in / WEIGHTS).stat().st_size / 1e6, 2)
    done = Trained(before, after, megabytes)
    sizes = {source: len(made) for source, made in by_source(training).items()}
    text = card(done, sizes, len(held_back), base, command, asdict(settings), today())
    put_in_place(directory, made_in, (WEIGHTS, CONFIG), text)
    return done


def _save(
    network: SproutNetwork, base: str, path: Path, directory: Path, settings: TrainSproutDefaults
) -> None:
    change: dict[str, Any] = {}
    if not settings.only_heads:
        fresh = dict(SproutNetwork(path).encoder.named_parameters())
        tuned = {
            name.removeprefix("encoder."): value
            for name, value in parameters(network).items()
            if name.startswith("encoder.")
        }
        change = compressed(fresh, tuned, settings.rank or None)
    alpha = network.head["alpha"].detach().cpu()
    checksum = sha256_of([path / BASE_WEIGHTS])
    save_tree_weights(directory, alpha, change, base, checksum, network.encoder.config)


def _evaluation(entry: dict[str, Any]) -> str:
    return f"held-back loss {entry['held_back_loss']:.4f} ({_worded(entry)})"


def _worded(found: dict[str, Any]) -> str:
    words = {
        "contrast": "InfoNCE",
        "support": "-log M of supporting pairs",
        "pairs": "AUC of such pairs",
    }
    return ", ".join(
        f"{word} {found[name]:.3f}" for name, word in words.items() if found.get(name) is not None
    )
