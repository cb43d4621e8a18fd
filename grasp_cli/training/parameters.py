"""The parameters of an encoder and its head that training changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grasp_cli.models.runtime import torch_runtime

if TYPE_CHECKING:
    from grasp_cli.training.loop import Network

Parameters = dict[str, Any]  # tensors by name, float32, on the CPU


def trained(name: str) -> bool:
    """Whether a parameter of the encoder is trained: all but the embeddings of words, positions."""
    return not name.startswith(
        ("embeddings.word_embeddings", "embeddings.position_embeddings", "pooler")
    )


def parameters(network: Network) -> Parameters:
    """A copy of them."""
    encoder = {
        f"encoder.{name}": value
        for name, value in network.encoder.named_parameters()
        if trained(name)
    }
    head = {f"head.{name}": value for name, value in network.head.named_parameters()}
    return {
        name: value.detach().float().cpu().clone().contiguous()
        for name, value in (encoder | head).items()
    }


def load_parameters(network: Network, values: Parameters) -> None:
    """Put them into a network."""
    torch = torch_runtime()
    own = {f"encoder.{name}": value for name, value in network.encoder.named_parameters()}
    own |= {f"head.{name}": value for name, value in network.head.named_parameters()}
    with torch.no_grad():
        for name, value in values.items():
            own[name].copy_(value)


def average(one: Parameters, other: Parameters) -> Parameters:
    """The mean of two networks' parameters."""
    return {name: (value + other[name]) / 2 for name, value in one.items()}
