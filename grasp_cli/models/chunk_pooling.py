"""Token states and token attention of a window to those of its chunks, by matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grasp_cli.models.runtime import torch_runtime

_LEAST = 1e-12


def membership(bounds: Sequence[int], tokens: int, like: Any) -> Any:
    """Which tokens are in which chunk: ones and zeros, shape (chunks, tokens).

    `bounds` holds where each chunk begins among the tokens, and where the last one ends; `like` is
    a tensor of the number format and device to use.
    """
    torch = torch_runtime()
    edges = torch.tensor(list(bounds), device=like.device)
    places = torch.arange(tokens, device=like.device)
    inside = (places >= edges[:-1, None]) & (places < edges[1:, None])
    return inside.to(like.dtype)


def pooled_states(states: Any, bounds: Sequence[int]) -> Any:
    """The mean state of each chunk, shape (tokens, d) to (chunks, d); zeros without tokens."""
    member = membership(bounds, len(states), states)
    return member @ states / member.sum(-1, keepdim=True).clamp_min(1)


def pooled_attention(attention: Any, bounds: Sequence[int]) -> Any:
    """Attention between chunks, shape (…, tokens, tokens) to (…, chunks, chunks).

    Summed over the tokens of the chunk that is looked at, averaged over those of the chunk that
    looks; tokens outside of `bounds` (special ones) are dropped, and rows sum to one again.
    """
    member = membership(bounds, attention.shape[-1], attention)
    mean = member / member.sum(-1, keepdim=True).clamp_min(1)
    summed = (mean @ attention) @ member.T
    return summed / summed.sum(-1, keepdim=True).clamp_min(_LEAST)


def head_weights(alpha: Any) -> Any:
    """softmax(alpha): one weight per layer and head, all of them sum to one; shape is kept."""
    return alpha.flatten().softmax(0).reshape(alpha.shape)


def aggregated(attention: Any, weights: Any) -> Any:
    """M = (A + Aᵀ) / 2 with A = Σ weights · attention.

    Parameters
    ----------
    attention
        Between chunks, shape (layers, heads, n, n).
    weights
        As `head_weights` gives them, shape (layers, heads).

    Returns
    -------
    tensor of shape (n, n)
        Symmetric. The diagonal is left as it is: nothing merges with itself.
    """
    mixed = (weights[..., None, None] * attention).sum((0, 1))
    return (mixed + mixed.transpose(-1, -2)) / 2
