"""Modules with learned projections: multi-head attention, and additive attention.

The modules only pass a mask on: `MultiHeadAttention` to its attention function,
`AdditiveAttention` to `masked_softmax`.
"""

from torch import Tensor, nn

from attention_core import _checks, _options
from attention_core.cache import KeyValueCache
from attention_core.functional import (
    AttentionFunction,
    masked_softmax,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)


class MultiHeadAttention(nn.Module):
    """Attend in several heads, each on its slice of the width, and mix their results.

    Args:
        d_model: width of queries, keys, values and output
        num_heads: number of heads; must divide d_model
        dropout: probability of dropping a weight while training, as in torch
        bias: whether the four projections add a bias
        num_kv_heads: number of key and value heads; must divide num_heads. Each serves
            num_heads / num_kv_heads query heads: grouped-query attention, or multi-query
            attention with 1. There are as many as query heads unless given.
        attention: the function that mixes the values. The default is the explicit
            formula; ``torch.nn.functional.scaled_dot_product_attention`` gives the same
            results from a fused kernel.

    Shape:
        query: (B, L, d_model)    key, value: (B, S, d_model)
        mask: bool, True = may attend; broadcastable to (B, H, L, S). A mask of 3 axes is
            (B, L, S), one for each sentence and the same for all heads, also where B = H;
            one for each head has 4 axes, (1, H, L, S).
        returns: (B, L, d_model)

    Raises:
        ValueError: num_heads does not divide d_model, num_kv_heads does not divide
            num_heads, an input is not (B, length, d_model), key and value differ in
            length, or the mask does not broadcast
        TypeError: the mask is not bool, an input is not floating-point or not of the
            parameters' dtype (under ``torch.autocast`` it may differ), or an option has
            the wrong type

    Source: Vaswani et al. 2017, section 3.2.2; fewer key heads, Shazeer 2019 and Ainslie
    et al. 2023. `record_attention` shows the weights.

    >>> x = torch.zeros(2, 5, 12)
    >>> MultiHeadAttention(12, num_heads=3)(x, x, x).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        dropout: float = 0.0,
        bias: bool = True,
        attention: AttentionFunction = scaled_dot_product_attention,
        num_kv_heads: int | None = None,
    ) -> None:
        super().__init__()
        d_model = _options.check_count("d_model", d_model, minimum=1)
        _options.check_flag("bias", bias)
        _options.check_callable("attention", attention)
        self.d_model = d_model
        self.num_heads = _options.check_heads("d_model", d_model, num_heads)
        self.num_kv_heads = _options.check_kv_heads(self.num_heads, num_kv_heads)
        d_kv = d_model // self.num_heads * self.num_kv_heads
        self.dropout = _options.check_probability("dropout", dropout)
        self.attention = attention
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_kv, bias=bias)
        self.v_proj = nn.Linear(d_model, d_kv, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        for projection in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
            nn.init.xavier_uniform_(projection.weight)
            if bias:
                nn.init.zeros_(projection.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Attend from ``query`` to ``key``, mix ``value``.

        With a ``cache``, keys and values of earlier calls are attended to as well, and
        ``mask`` spans all of them.
        """
        for name, x in (("query", query), ("key", key), ("value", value)):
            _checks.check_sequence(name, x, self.d_model)
        _checks.check_module_dtype(self.q_proj.weight, query=query, key=key, value=value)
        _checks.check_key_value(query, key, value)

        def project() -> tuple[Tensor, Tensor]:
            return (
                split_heads(self.k_proj(key), self.num_kv_heads),  # (B, H_kv, S, d_k)
                split_heads(self.v_proj(value), self.num_kv_heads),
            )

        q = split_heads(self.q_proj(query), self.num_heads)  # (B, H, L, d_k)
        k, v = project() if cache is None else cache.update(project)
        if self.num_kv_heads != self.num_heads:
            # Only now, behind the cache, which keeps each key head once.
            share = self.num_heads // self.num_kv_heads
            k, v = (x.repeat_interleave(share, dim=-3) for x in (k, v))  # (B, H, S, d_k)
        if mask is not None:
            batch = k.shape[0] if q.shape[0] == 1 else q.shape[0]
            mask = _checks.mask_with_heads(mask, (batch, *q.shape[1:-1], k.shape[-2]))
        dropout_p = self.dropout if self.training else 0.0
        mixed = self.attention(q, k, v, mask, dropout_p=dropout_p)
        output: Tensor = self.out_proj(merge_heads(mixed))  # (B, L, d_model)
        return output

    def extra_repr(self) -> str:
        heads = f"num_heads={self.num_heads}"
        if self.num_kv_heads != self.num_heads:
            heads += f", num_kv_heads={self.num_kv_heads}"
        return f"d_model={self.d_model}, {heads}, dropout={self.dropout}"


class AdditiveAttention(nn.Module):
    """Attend with the scores vᵀ tanh(W_q q + W_k k) of the first attention for translation.

    Args:
        d_query: width of a query
        d_key: width of a key
        d_hidden: width in which query and key are added

    Shape:
        query: (B, L, d_query)    key: (B, S, d_key)    value: (B, S, d_v)
        mask: bool, True = may attend; broadcastable to (B, L, S), or to (B, 1, L, S) as the
            masks of `MultiHeadAttention` and of `padding_mask` are
        returns: (B, L, d_v)

    Raises:
        ValueError: a width or a length does not fit, or the mask does not broadcast
        TypeError: the mask is not bool, or an input is not floating-point or not of the
            parameters' dtype (under ``torch.autocast`` it may differ)

    Source: Bahdanau et al. 2015, appendix A.1.2. The book's chapter 3.

    >>> attend = AdditiveAttention(3, 5, 7)
    >>> attend(torch.zeros(2, 4, 3), torch.zeros(2, 6, 5), torch.zeros(2, 6, 8)).shape
    torch.Size([2, 4, 8])
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.d_query = d_query = _options.check_count("d_query", d_query, minimum=1)
        self.d_key = d_key = _options.check_count("d_key", d_key, minimum=1)
        d_hidden = _options.check_count("d_hidden", d_hidden, minimum=1)
        self.q_proj = nn.Linear(d_query, d_hidden, bias=False)
        self.k_proj = nn.Linear(d_key, d_hidden, bias=False)
        self.score = nn.Linear(d_hidden, 1, bias=False)

    def weights(self, query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
        """Compute the weights alone: (B, L, d_query), (B, S, d_key) -> (B, L, S)."""
        _checks.check_sequence("query", query, self.d_query)
        _checks.check_sequence("key", key, self.d_key)
        _checks.check_module_dtype(self.q_proj.weight, query=query, key=key)
        _checks.check_broadcast("query", query, "key", key)
        summed = self.q_proj(query).unsqueeze(-2) + self.k_proj(key).unsqueeze(-3)
        scores = self.score(summed.tanh()).squeeze(-1)  # (B, L, S)
        if isinstance(mask, Tensor) and mask.dim() == 4:
            _checks.check_mask(mask, (scores.shape[0], 1, *scores.shape[1:]))
            mask = mask.squeeze(1)
        return masked_softmax(scores, mask)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        weights = self.weights(query, key, mask)
        _checks.check_floating("value", value, min_dim=3)
        _checks.check_module_dtype(self.q_proj.weight, value=value)
        _checks.check_key_value(query, key, value)
        return weights @ value
