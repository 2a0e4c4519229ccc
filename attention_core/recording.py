"""Seeing the weights of a run without changing what any function returns."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from attention_core.attention import AdditiveAttention, MultiHeadAttention
from attention_core.functional import AttentionFunction, attention_weights


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the weights of every attention in ``model`` while the block runs.

    The weights are those before dropout, so that each row sums to 1 (or to 0 if nothing
    may be attended); they are the same for the explicit and the fused function. A module
    that runs several times keeps the weights of its last run.

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
                undo.callback(setattr, module, "attention", module.attention)
                module.attention = _recording(module.attention, recorded, name)
            elif isinstance(module, AdditiveAttention):
                undo.callback(_restore_weights, module, vars(module).get("weights"))
                module.weights = _recording_weights(  # type: ignore[method-assign]
                    module.weights, recorded, name
                )
        yield recorded


def _recording(
    attention: AttentionFunction, recorded: dict[str, Tensor], name: str
) -> AttentionFunction:
    def wrapped(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, /, *, dropout_p: float
    ) -> Tensor:
        recorded[name] = attention_weights(q.detach(), k.detach(), mask)
        return attention(q, k, v, mask, dropout_p=dropout_p)

    return wrapped


def _restore_weights(module: AdditiveAttention, before: Any) -> None:
    """Back to the method of the class, or to the recording of an outer block."""
    del module.weights
    if before is not None:
        module.weights = before  # type: ignore[method-assign]


def _recording_weights(weights: Any, recorded: dict[str, Tensor], name: str) -> Any:
    def wrapped(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
        result: Tensor = weights(query, key, mask)
        recorded[name] = result.detach().unsqueeze(1)  # (B, 1, L, S)
        return result

    return wrapped
