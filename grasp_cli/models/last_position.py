"""The attention of a causal model's last position, without the attention of all the others.

All tokens but the last go through the model's fused attention into the cache; only the last one
is run eagerly, so that one row of weights per layer and head is formed.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import ProcessingError


def last_position(network: Any, tokens: Sequence[int]) -> npt.NDArray[np.float64]:
    """What the last of `tokens` attends to in the last layer, mean over the heads.

    Parameters
    ----------
    network
        A causal model of transformers.
    tokens
        At least two token ids.

    Returns
    -------
    numpy.ndarray
        Weights, shape (tokens,), that sum to one; 0 for what a sliding window does not reach.
    """
    torch = torch_runtime()
    from transformers import DynamicCache

    known = inspect.signature(network.forward).parameters
    held = {"cache" if "cache" in known else "past_key_values": DynamicCache(config=network.config)}
    ids = torch.tensor([list(tokens)], device=network.device)
    fused = network.config._attn_implementation
    with torch.inference_mode():
        network(input_ids=ids[:, :-1], use_cache=True, logits_to_keep=1, **held)
        try:
            network.set_attn_implementation("eager")
            output = network(
                input_ids=ids[:, -1:],
                use_cache=True,
                output_attentions=True,
                logits_to_keep=1,
                **held,
            )
        finally:
            network.set_attn_implementation(fused)
    if not output.attentions or output.attentions[-1] is None:
        raise ProcessingError(
            f"{network.config.model_type}: the model returns no attention weights, also when they "
            "are computed eagerly; choose another --classifier for --method attention"
        )
    row = output.attentions[-1][0, :, -1].double().mean(dim=0).cpu().numpy()
    return np.pad(row, (len(tokens) - len(row), 0))
