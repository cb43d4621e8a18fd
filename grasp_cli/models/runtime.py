"""PyTorch, imported once and set up: threads, no network, no chatter on stderr."""

from __future__ import annotations

import os
from typing import Any

_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",  # nothing is fetched but by `grasp models --get`
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "true",
}
# Threads that wait for each other sleep instead of spinning. In a pipe the stages share the cores,
# and spinning then makes each of them three times slower or worse (measured on two cores).
_WAIT = ("OMP_WAIT_POLICY", "PASSIVE")


def torch_runtime(threads: int | None = None) -> Any:
    """Import and return torch; `threads` sets its CPU threads (None leaves them as they are).

    Must run before transformers is imported, which reads the environment only then.
    """
    os.environ.update(_ENVIRONMENT)
    os.environ.setdefault(*_WAIT)
    import torch

    if threads is not None and torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    return torch


def quiet_transformers() -> Any:
    """Import and return transformers without progress bars and load reports."""
    torch_runtime()
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers
