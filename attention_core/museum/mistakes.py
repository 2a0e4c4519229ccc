"""Wrong versions of the package's parts, for the book's chapter 12. Do not use them.

Each mistake was published in an article or a program and found late. Here it is written as
short as possible, without checks of its arguments, and with the signature of the right part,
which its entry in `attention_core.museum.exhibits` names.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import _conversion, attention, functional, layers, positional
from attention_core.cache import KeyValueCache, LayerCache

Mask = Tensor | None

# The right parts, called by exhibits that change one thing about them.
_attend = functional.scaled_dot_product_attention
_module = attention.MultiHeadAttention.forward
_layer = layers.DecoderLayer.forward
_place = positional.SinusoidalPositions.forward
_convert = _conversion.attention


def _mix(scores: Tensor, v: Tensor, mask: Mask) -> Tensor:
    return functional.masked_softmax(scores, mask) @ v


# The room of wrong axes


def softmax_over_axis_1(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, dropout_p: float = 0.0
) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=1) @ v


def heads_by_reshape(x: Tensor, num_heads: int) -> Tensor:
    *batch, L, d_model = x.shape
    return x.reshape(*batch, num_heads, L, d_model // num_heads)


def back_by_reshape(x: Tensor) -> Tensor:
    *batch, H, L, d_k = x.shape
    return x.reshape(*batch, L, H * d_k)


def padding_hides_queries(ids: Tensor, pad_id: int) -> Tensor:
    return (ids != pad_id)[:, None, :, None]


def norm_over_the_sentence(self: layers.LayerNorm, x: Tensor) -> Tensor:
    x = x - x.mean(dim=(-2, -1), keepdim=True)
    variance = x.square().mean(dim=(-2, -1), keepdim=True)
    return x * torch.rsqrt(variance + self.eps) * self.weight + self.bias


# The room of wrong scales


def scaled_after_softmax(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, dropout_p: float = 0.0
) -> Tensor:
    return _mix(q @ k.mT, v, mask) / math.sqrt(q.shape[-1])


def never_scaled(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, dropout_p: float = 0.0
) -> Tensor:
    return _mix(q @ k.mT, v, mask)


def scaled_by_d_model(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, dropout_p: float = 0.0
) -> Tensor:
    num_heads = q.shape[1] if q.dim() == 4 else 1
    d_model = num_heads * q.shape[-1]
    return _mix(q @ k.mT / math.sqrt(d_model), v, mask)


def sample_deviation(self: layers.LayerNorm, x: Tensor) -> Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    deviation = x.std(dim=-1, keepdim=True)  # divides by d - 1
    return self.weight * centred / (deviation + self.eps) + self.bias


# The room of wrong masks


def true_blocks(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, dropout_p: float = 0.0
) -> Tensor:
    return _attend(q, k, v, None if mask is None else ~mask)


def mask_added(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, dropout_p: float = 0.0
) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + mask.to(scores.dtype)  # 1 or 0
    return torch.softmax(scores, dim=-1) @ v


def finite_fill(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, dropout_p: float = 0.0
) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -(2**32) + 1)
    return torch.softmax(scores, dim=-1) @ v


def queries_blanked(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, dropout_p: float = 0.0
) -> Tensor:
    mixed = _attend(q, k, v, mask)
    if mask is not None and mask.shape[-2:] == (1, q.shape[-2]):  # padding
        mixed = mixed * mask.mT
    return mixed


def mask_from_vectors(self: Any, src: Tensor, mask: Tensor) -> Tensor:
    x = self._embed(self.src_embedding, src)  # positions are in it
    real = x.abs().sum(dim=-1) > 0
    memory: Tensor = self.encoder(x, real[:, None, None, :])
    return memory


def inverted_integers(ids: Tensor, pad_id: int) -> Tensor:
    padding = (ids == pad_id).int()
    return (~padding).bool()[:, None, None, :]


def sees_the_next(length: int, *, device: torch.device | str | None = None) -> Tensor:
    return torch.ones(length, length, device=device).bool().tril(1)


def blind_to_itself(length: int, *, device: torch.device | str | None = None) -> Tensor:
    return torch.ones(length, length, device=device).bool().tril(-1)


def target_mask_for_source(
    self: layers.DecoderLayer,
    x: Tensor,
    memory: Tensor,
    *,
    tgt_mask: Mask = None,
    memory_mask: Mask = None,
    cache: LayerCache | None = None,
) -> Tensor:
    return _layer(self, x, memory, tgt_mask=tgt_mask, memory_mask=tgt_mask, cache=cache)


# The room of wrong wires


def _heads(
    self: attention.MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cache: KeyValueCache | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Project query, key and value and split them into heads. Shape: (B, H, L or S, d_k)."""

    def cut(linear: Any, x: Tensor) -> Tensor:
        return functional.split_heads(linear(x), self.num_heads)

    def project() -> tuple[Tensor, Tensor]:
        return cut(self.k_proj, key), cut(self.v_proj, value)

    return cut(self.q_proj, query), *(project() if cache is None else cache.update(project))


def no_output_matrix(
    self: attention.MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask = None,
    *,
    cache: KeyValueCache | None = None,
) -> Tensor:
    q, k, v = _heads(self, query, key, value, cache)
    dropout_p = self.dropout if self.training else 0.0
    return functional.merge_heads(self.attention(q, k, v, mask, dropout_p=dropout_p))


def values_from_keys(
    self: attention.MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask = None,
    *,
    cache: KeyValueCache | None = None,
) -> Tensor:
    return _module(self, query, key, key, mask, cache=cache)


def dropout_in_eval(
    self: attention.MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask = None,
    *,
    cache: KeyValueCache | None = None,
) -> Tensor:
    q, k, v = _heads(self, query, key, value, cache)
    mixed = self.attention(q, k, v, mask, dropout_p=self.dropout)
    output: Tensor = self.out_proj(functional.merge_heads(mixed))
    return output


# The room of wrong books


def not_shifted(tgt: Tensor) -> tuple[Tensor, Tensor]:
    return tgt[:, :-1], tgt[:, :-1]


def loss_over_padding(
    logits: Tensor, targets: Tensor, *, pad_id: int, label_smoothing: float = 0.0
) -> Tensor:
    each = F.cross_entropy(logits.mT, targets, reduction="none", label_smoothing=label_smoothing)
    return (each * (targets != pad_id)).mean()


def cached_at_position_0(self: Any, x: Tensor, offset: int = 0) -> Tensor:
    return _place(self, x, 0)


def cached_from_top_left(
    self: attention.MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask = None,
    *,
    cache: KeyValueCache | None = None,
) -> Tensor:
    if cache is not None and cache.grows and mask is not None:
        L, S = query.shape[-2], mask.shape[-1]
        mask = mask & torch.ones(L, S, device=mask.device).bool().tril()
    return _module(self, query, key, value, mask, cache=cache)


def end_not_counted(log_probability: float, length: int, alpha: float) -> float:
    return log_probability / float(((5 + length - 1) / 6) ** alpha)


def warm_up_from_0(step: int, d_model: int, warmup: int) -> float:
    step = step - 1
    return float(d_model**-0.5 * min(max(step, 1) ** -0.5, step * warmup**-1.5))


# The room of mistakes with published weights


def halves_for_neighbours(x: Tensor, *, offset: int = 0, base: float = 10_000.0) -> Tensor:
    L, d_k = x.shape[-2:]
    rates = base ** (-torch.arange(0, d_k, 2).to(x) / d_k)
    angles = torch.outer(torch.arange(offset, offset + L).to(x), rates).repeat(1, 2)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()


def recorded_unrotated(
    function: Any, result: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Any = None
) -> Tensor:
    return functional.attention_weights(q.detach(), k.detach(), mask)


def biases_left_behind(theirs: Any, options: dict[str, Any]) -> attention.MultiHeadAttention:
    ours = _convert(theirs, options)
    for linear in (ours.q_proj, ours.k_proj, ours.v_proj):
        linear.bias = None  # type: ignore[assignment]
    return ours
