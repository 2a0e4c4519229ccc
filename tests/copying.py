"""Gradients of torch's modules under the names of ours, for comparison."""

import copy

from torch import Tensor, nn

from attention_core import from_torch


def torch_gradients(theirs: nn.Module) -> dict[str, Tensor]:
    """The gradients of ``theirs``, by the names that its parameters have after `from_torch`."""
    numbers = copy.deepcopy(theirs)
    for parameter, source in zip(numbers.parameters(), theirs.parameters(), strict=True):
        assert source.grad is not None
        parameter.data = source.grad
    return from_torch(numbers).state_dict()
