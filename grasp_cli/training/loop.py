"""The loop of a training: steps that follow from the seed, evaluations, checkpoints, early stop."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from grasp_cli.defaults import TrainDefaults
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.training.evidence_examples import Example, Negatives
from grasp_cli.training.parameters import (
    Parameters,
    average,
    load_parameters,
    parameters,
    trained,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_NEGATIVE_DEPTH = 30  # BM25 ranks that negatives are drawn from


@dataclass
class Progress:
    """How far a training is."""

    step: int = 0
    best: float = -1.0  # value of the best evaluation
    best_step: int = 0
    stale: int = 0  # evaluations since the best


class Network(Protocol):
    """What is trained: an encoder, and a head that begins with random or zero weights."""

    encoder: Any
    head: Any
    device: str


class Loop(ABC):
    """Trains a network on examples; every random choice follows from the seed and the step.

    Parameters
    ----------
    training, held_back : what is trained and evaluated on
    say : takes what happens, as the training's log has it
    """

    told = 20  # after how many steps it says how far it is
    averaged = False  # whether an evaluation is of the mean of the parameters now and before

    def __init__(
        self,
        network: Network,
        training: Sequence[Example],
        held_back: Sequence[Example],
        settings: TrainDefaults,
        say: Callable[[dict[str, Any]], None],
    ) -> None:
        self.network = network
        self.training = list(training)
        self.held_back = list(held_back)
        self.settings = settings
        self.say = say
        self.progress = Progress()
        self.previous: Parameters = {}  # at the evaluation before
        self._torch = torch_runtime()
        self._negatives = (
            # nothing held back is drawn
            Negatives([*training, *held_back], _NEGATIVE_DEPTH, training)
            if settings.negatives
            else None
        )
        self._prepare()
        self._plan = self._planned()
        self._optimiser, self._schedule = self._optimisation()

    # -- what a training defines ------------------------------------------------------------

    @abstractmethod
    def _prepare(self) -> None:
        """Once, before the plan is made."""

    @abstractmethod
    def _planned(self) -> list[list[Example]]:
        """The examples of every step of all epochs."""

    @abstractmethod
    def _loss(self, batch: list[Example], rng: random.Random) -> Any:
        """The loss of a part of a step."""

    @abstractmethod
    def _validated(self) -> tuple[float, dict[str, Any]]:
        """How good the network is now, the higher the better, and what the log says of it."""

    @abstractmethod
    def _tokens(self, made: Example) -> int:
        """The tokens that an example costs."""

    def with_negatives(self, made: Example, rng: random.Random) -> Example:
        """The example with passages of other records, where it has too few of its own."""
        if self._negatives is None:
            return made
        missing = self.settings.negatives + 1 - len(made.passages)
        return self._negatives.add(made, missing, rng) if missing > 0 else made

    def _trains(self, name: str) -> bool:
        """Whether a parameter of the encoder is trained."""
        return trained(name)

    def _parts(self, batch: list[Example]) -> Iterator[list[Example]]:
        """Parts of a step that go through the network one after the other."""
        yield batch

    # -- optimisation -----------------------------------------------------------------------
    def _optimisation(self) -> tuple[Any, Any]:
        torch, settings = self._torch, self.settings
        for name, parameter in self.network.encoder.named_parameters():
            parameter.requires_grad_(self._trains(name))
        encoder = [p for p in self.network.encoder.parameters() if p.requires_grad]
        groups = [
            {"params": encoder, "lr": settings.encoder_rate},
            {"params": list(self.network.head.parameters()), "lr": settings.head_rate},
        ]
        optimiser = torch.optim.AdamW(groups, weight_decay=settings.weight_decay)
        steps = max(1, len(self._plan))
        warm = max(1, round(settings.warm_up * steps))

        def rate(step: int) -> float:
            return min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))

        return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, rate)

    @property
    def steps(self) -> int:
        """Of the whole training."""
        return len(self._plan)

    def run(self, checkpoint: Callable[[Self], None], keep: Callable[[Self], None]) -> None:
        """Train to the end; `keep` is called at each best evaluation."""
        torch, settings = self._torch, self.settings
        every = max(1, len(self._plan) // max(1, settings.epochs * settings.evaluations))
        started, seen, done = time.monotonic(), 0, 0
        running: list[float] = []
        while self.progress.step < len(self._plan) and not self._stale:
            step = self.progress.step
            torch.manual_seed(settings.seed * 1_000_003 + step)
            running.append(self._step(self._plan[step], random.Random(f"{settings.seed} {step}")))
            seen += sum(map(self._tokens, self._plan[step]))
            self.progress.step += 1
            done += 1
            if self.progress.step % self.told == 0:
                self.say(
                    {
                        "step": self.progress.step,
                        "steps": len(self._plan),
                        "loss": round(float(np.mean(running[-20:])), 4),
                        "tokens_per_second": round(seen / (time.monotonic() - started)),
                        "seconds_per_step": round((time.monotonic() - started) / done, 3),
                    }
                )
            if self.progress.step % every == 0 or self.progress.step == len(self._plan):
                self._evaluate(keep)
                checkpoint(self)
                if self._stale:
                    self.say({"step": self.progress.step, "stopped": "no better"})
            elif self.progress.step % settings.checkpoint_steps == 0:
                checkpoint(self)

    @property
    def _stale(self) -> bool:
        """Whether it stops early; also true of a training that is resumed after it has."""
        return bool(self.settings.patience) and self.progress.stale >= self.settings.patience

    def _evaluate(self, keep: Callable[[Self], None]) -> None:
        """Measure; where `averaged`, the mean of the parameters and those of the evaluation before.

        The mean of two points of one training ranks better than either, most of all while the
        learning rate is still high (stochastic weight averaging, Izmailov et al. 2018).
        """
        if not self.averaged:
            self._measured(keep)
            return
        now = parameters(self.network)
        if self.previous:
            load_parameters(self.network, average(now, self.previous))
        self._measured(keep)
        load_parameters(self.network, now)
        self.previous = now

    def _measured(self, keep: Callable[[Self], None]) -> None:
        reached, found = self._validated()
        steps = {"step": self.progress.step, "steps": len(self._plan)}
        self.say({**steps, **found})
        if reached > self.progress.best:
            self.progress.best, self.progress.best_step = reached, self.progress.step
            self.progress.stale = 0
            keep(self)
        else:
            self.progress.stale += 1

    def _autocast(self) -> Any:
        torch = self._torch
        half = self.settings.dtype == "bfloat16"
        return torch.autocast(
            self.network.device.partition(":")[0], dtype=torch.bfloat16, enabled=half
        )

    def _step(self, batch: list[Example], rng: random.Random) -> float:
        torch = self._torch
        self.network.encoder.train()
        self._optimiser.zero_grad(set_to_none=True)
        total = 0.0
        for part in self._parts(batch):
            with self._autocast():
                loss = self._loss(part, rng) * (len(part) / len(batch))
            loss.backward()
            total += float(loss.detach())
        parameters = [p for group in self._optimiser.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        self._optimiser.step()
        self._schedule.step()
        return total
