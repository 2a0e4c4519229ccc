"""Attention and the Transformer in small functions, each equal to PyTorch's.

Dimension key, used in every docstring and in the book:

=============  ==============================================================
``B``          batch size: how many sequences are computed together
``L``          query (target) length
``S``          key and value (source) length; in self-attention ``S = L``
``H``          number of heads, ``num_heads``
``V``          vocabulary size
``d_model``    width of a token's vector outside attention
``d_k``        width of one query and of one key
``d_v``        width of one value
``d_ff``       inner width of the feed-forward layer
=============  ==============================================================

Rows are tokens. ``query, key, value`` are tensors before projection, ``q, k, v``
after it; ``scores`` stand before softmax, ``weights`` after it.

Masks are bool, and **True means "may attend"**, as in
``torch.nn.functional.scaled_dot_product_attention`` and opposite to
``torch.nn.MultiheadAttention``. Combine them with ``&``.
"""

from attention_core.functional import (
    attention_scores,
    attention_weights,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from attention_core.masks import causal_mask, padding_mask

__all__ = [
    "attention_scores",
    "attention_weights",
    "causal_mask",
    "merge_heads",
    "padding_mask",
    "scaled_dot_product_attention",
    "split_heads",
]
