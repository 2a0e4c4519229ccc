"""Record the weights of a run without changing what any function returns."""

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attention_core.attention import AdditiveAttention, MultiHeadAttention


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the weights of every attention in ``model`` while the block runs.

    The weights are those before dropout, so that each row sums to 1 (or to 0 if nothing
    may be attended). They are what the module's attention function gives for the unit
    vectors as values, so they are right for every function that is linear in the values:
    explicit, fused, rotary, with ALiBi. (A function that adds a key of its own shows rows
    that sum to less than 1.) A module that runs several times
    keeps the weights of its last run. A module with
    several names in the model is recorded under the first.

    Blocks may be nested or overlap. A copy or a pickle of the model that is made inside a
    block equals one made before it, and records nothing.

    Yields:
        name of the module -> weights (B, H, L, S), without gradient; H = 1 for
        `AdditiveAttention`. The model itself, if it is one attention, has the name "".

    >>> attend, x = MultiHeadAttention(12, 3), torch.zeros(2, 5, 12)
    >>> with record_attention(attend) as weights:
    ...     _ = attend(x, x, x)
    >>> weights[""].shape
    torch.Size([2, 3, 5, 5])
    """
    recorded: dict[str, Tensor] = {}
    with ExitStack() as undo:
        for name, module in model.named_modules():
            if isinstance(module, MultiHeadAttention):
                undo.callback(_listen(module, "attention", _recompute, recorded, name))
            elif isinstance(module, AdditiveAttention):
                undo.callback(_listen(module, "weights", _as_returned, recorded, name))
        yield recorded


def _recompute(
    function: Any, result: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Any = None
) -> Tensor:
    """Compute the weights of a function that returns only the mixed values.

    With the unit vectors as values, the mixture of a query is its row of weights, whatever
    the function does to queries and keys first. A softmax of q kᵀ / √d_k would ignore that.
    """
    units = torch.eye(v.shape[-2], dtype=v.dtype, device=v.device)
    units = units.expand(*v.shape[:-1], -1)  # (B, H, S, S)
    weights: Tensor = function(q.detach(), k.detach(), units, mask, dropout_p=0.0)
    return weights


def _as_returned(function: Any, result: Tensor, *_: Any, **__: Any) -> Tensor:
    """Return the weights of additive attention: the recorded method's own result."""
    return result.detach().unsqueeze(1)  # (B, 1, L, S)


class _Recorder:
    """Stand in for a module's function and pass on the weights of each call.

    It serves one module while a block runs. A copy or a pickle of the module therefore
    holds the function itself.
    """

    def __init__(self, function: Any, weights: Callable[..., Tensor]) -> None:
        self.function, self.weights = function, weights
        self.listeners: list[Callable[[Tensor], None]] = []
        self.found: dict[str, Any] = {}  # the attribute that it replaces, if any

    def __call__(self, *arguments: Any, **options: Any) -> Tensor:
        result: Tensor = self.function(*arguments, **options)
        if self.listeners:
            options.pop("dropout_p", None)
            weights = self.weights(self.function, result, *arguments, **options)
            for listener in self.listeners:
                listener(weights)
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.function, memo)

    def __reduce__(self) -> Any:
        return _itself, (self.function,)


def _itself(function: Any) -> Any:
    return function


def _listen(
    module: nn.Module,
    attribute: str,
    weights: Callable[..., Tensor],
    recorded: dict[str, Tensor],
    name: str,
) -> Callable[[], None]:
    """Record the calls of ``module.attribute``; returns a function that undoes this.

    The recorder is put into the module's ``__dict__``, where it hides a method of the class
    or a submodule of that name. Blocks that overlap share it, and the last one to end
    leaves the ``__dict__`` as the first one found it.
    """
    own = vars(module)
    recorder = own.get(attribute)
    if not isinstance(recorder, _Recorder):
        recorder = _Recorder(getattr(module, attribute), weights)
        recorder.found = {attribute: own[attribute]} if attribute in own else {}
        own[attribute] = recorder
    listener = partial(recorded.__setitem__, name)
    recorder.listeners.append(listener)

    def undo() -> None:
        recorder.listeners.remove(listener)
        if not recorder.listeners:
            own.pop(attribute, None)
            own.update(recorder.found)

    return undo
