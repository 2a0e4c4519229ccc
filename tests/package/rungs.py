"""Multi-head attention written in ever shorter ways, from loops to one call.

Every rung takes one of our modules for its weights, query (B, L, d_model), key and value
(B, S, d_model), and a mask (B, H, L, S) or None; it returns (B, L, d_model).
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import merge_heads, scaled_dot_product_attention, split_heads


def _allowed(mask: Tensor | None, b: int, h: int, i: int, length: int) -> list[int]:
    return [j for j in range(length) if mask is None or mask[b, h, i, j]]


def loops(m, query, key, value, mask):
    """One query and one key at a time; softmax by its definition."""
    q, k, v = m.q_proj(query), m.k_proj(key), m.v_proj(value)
    d_k = m.d_model // m.num_heads
    sentences = []
    for b in range(len(query)):
        rows = []
        for i in range(query.shape[1]):
            heads = []
            for h in range(m.num_heads):
                own = slice(h * d_k, (h + 1) * d_k)
                allowed = _allowed(mask, b, h, i, key.shape[1])
                exps = [
                    torch.exp((q[b, i, own] * k[b, j, own]).sum() / math.sqrt(d_k)) for j in allowed
                ]
                head = torch.zeros_like(v[b, 0, own])
                for j, e in zip(allowed, exps, strict=True):
                    head = head + e / sum(exps) * v[b, j, own]
                heads.append(head)
            rows.append(m.out_proj(torch.cat(heads)))
        sentences.append(torch.stack(rows))
    return torch.stack(sentences)


def _one_head(q, k, v, mask):
    """The matrix form: softmax(q kᵀ / √d_k) v, for any number of leading axes."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return torch.softmax(scores, dim=-1) @ v
    exps = torch.exp(scores - scores.detach().amax(dim=-1, keepdim=True)) * mask
    total = exps.sum(dim=-1, keepdim=True)
    return exps / torch.where(total == 0, 1, total) @ v


def matrices(m, query, key, value, mask):
    """One sentence at a time: a list of heads, each with its own slices of the matrices."""
    return torch.stack(
        [
            list_of_heads(
                m, *(x[b : b + 1] for x in (query, key, value)), None if mask is None else mask[b]
            )[0]
            for b in range(len(query))
        ]
    )


def list_of_heads(m, query, key, value, mask):
    """All sentences at once: each head projects for itself, the results are concatenated."""

    def project(linear, x, own):
        return F.linear(x, linear.weight[own], None if linear.bias is None else linear.bias[own])

    d_k = m.d_model // m.num_heads
    heads = []
    for h in range(m.num_heads):
        own = slice(h * d_k, (h + 1) * d_k)
        q, k, v = (
            project(linear, x, own)
            for linear, x in [(m.q_proj, query), (m.k_proj, key), (m.v_proj, value)]
        )
        heads.append(_one_head(q, k, v, None if mask is None else mask[..., h, :, :]))
    return m.out_proj(torch.cat(heads, dim=-1))


def heads_as_an_axis(m, query, key, value, mask):
    """Project once, split the width into heads, attend, merge."""
    q, k, v = (
        split_heads(linear(x), m.num_heads)
        for linear, x in [(m.q_proj, query), (m.k_proj, key), (m.v_proj, value)]
    )
    return m.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask)))


RUNGS = [loops, matrices, list_of_heads, heads_as_an_axis]
