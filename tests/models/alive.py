"""How many bytes of tensors are alive at once while a model works."""

from __future__ import annotations

import weakref
from typing import Any

from grasp_cli.models.runtime import torch_runtime


def alive() -> Any:
    """A context that counts the storages made in it: `now` and, at their most, `peak` bytes.

    What an operation needs inside itself is not seen, only what it returns.
    """
    torch = torch_runtime()
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Alive(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.now = self.peak = 0
            self._known: dict[int, Any] = {}

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            output = function(*args, **(kwargs or {}))
            for leaf in tree_leaves(output):
                if isinstance(leaf, torch.Tensor):
                    self._count(leaf.untyped_storage())
            return output

        def _count(self, storage: Any) -> None:
            key, size = storage._cdata, storage.nbytes()
            if key not in self._known:
                self._known[key] = weakref.ref(storage, lambda _: self._drop(key, size))
                self.now += size
                self.peak = max(self.peak, self.now)

        def _drop(self, key: int, size: int) -> None:
            del self._known[key]
            self.now -= size

    return Alive()
