"""LoRA adapters on causal models, through peft."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grasp_cli.pipe.errors import DataError


def with_adapter(network: Any, directory: Path, *, merge: bool) -> Any:
    """`network` with the adapter in `directory`, its weights merged into the model's or beside.

    Quantised weights cannot take it in without a loss, so there it stays beside. Raises
    `DataError` where not every weight of the adapter found its place: such a model answers as
    the untrained base would.
    """
    import peft

    adapted = peft.PeftModel.from_pretrained(network, str(directory), is_trainable=False)
    _check(peft, adapted, directory)
    if merge:
        return adapted.merge_and_unload(safe_merge=True)
    return adapted.get_base_model()


def _check(peft: Any, adapted: Any, directory: Path) -> None:
    given = peft.utils.load_peft_weights(str(directory), device="cpu")
    loaded = peft.get_peft_model_state_dict(adapted)
    if not given:
        raise DataError(f"{directory}: the adapter holds no weights")
    astray = sorted(set(given) ^ set(loaded)) or [
        name for name, weights in given.items() if not _same(weights, loaded[name])
    ]
    if astray:
        raise DataError(
            f"{directory}: {len(astray)} weights of the adapter do not fit its base model, "
            f"{astray[0]} for one; get both again"
        )
    if not any(bool(weights.any()) for name, weights in given.items() if "lora_B" in name):
        raise DataError(f"{directory}: the adapter is untrained (its lora_B weights are all zero)")


def _same(given: Any, loaded: Any) -> bool:
    other = loaded.to("cpu", given.dtype)
    return bool(given.shape == other.shape and given.allclose(other, rtol=1e-2, atol=1e-4))
