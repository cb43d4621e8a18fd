"""How surprised a causal model is by each token: negative log-likelihoods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grasp_cli.models.causal import CausalModel
from grasp_cli.models.runtime import torch_runtime
from grasp_cli.pipe.errors import ProcessingError

Floats = npt.NDArray[np.float64]


def last_losses(model: CausalModel, tokens: Sequence[int], count: int) -> Floats:
    """−log P of each of the last `count` tokens given all before it, in nats, shape (count,).

    A token without any before it costs 0. Logits are computed for those positions alone.
    """
    torch = torch_runtime()
    scored = min(count, len(tokens) - 1)
    if scored < 1:
        return np.zeros(count)
    with torch.inference_mode():
        ids = torch.tensor([list(tokens)], device=model.network.device)
        logits = model.network(input_ids=ids, use_cache=False, logits_to_keep=scored + 1).logits
        rows = logits[0, -scored - 1 : -1].float()
        found = rows.logsumexp(-1) - rows.gather(-1, ids[0, -scored:, None])[:, 0]
    losses: Floats = found.double().cpu().numpy()
    if not np.isfinite(losses).all():
        raise ProcessingError(f"{model.name}: the model gave values that are not finite")
    return np.concatenate([np.zeros(count - scored), losses])
