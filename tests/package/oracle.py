"""Attention and the layers around it in plain NumPy: a reference without torch."""

import math

import numpy as np


def softmax_row(scores: list[float]) -> list[float]:
    """Softmax of one row of scores, by its definition."""
    largest = max(scores)
    exponentials = [math.exp(s - largest) for s in scores]
    total = sum(exponentials)
    return [e / total for e in exponentials]


def attention(q, k, v, mask=None):
    """One sequence, one head. Shape: (L, d_k), (S, d_k), (S, d_v), bool (L, S) -> two arrays.

    Returns the weights (L, S) and the output (L, d_v), with zeros for an empty row.
    """
    L, d_k = q.shape
    S, d_v = v.shape
    weights, output = np.zeros((L, S)), np.zeros((L, d_v))
    for i in range(L):
        allowed = [j for j in range(S) if mask is None or mask[i, j]]
        if not allowed:
            continue
        scores = [
            sum(float(q[i, c]) * float(k[j, c]) for c in range(d_k)) / math.sqrt(d_k)
            for j in allowed
        ]
        for j, weight in zip(allowed, softmax_row(scores), strict=True):
            weights[i, j] = weight
            for c in range(d_v):
                output[i, c] += weight * float(v[j, c])
    return weights, output


def part(state, prefix):
    """The arrays of one submodule: names that begin with ``prefix``, without it."""
    return {
        name.removeprefix(f"{prefix}."): x
        for name, x in state.items()
        if name.startswith(f"{prefix}.")
    }


def linear(x, state):
    """x Wᵀ + b, or without b if the state has none."""
    return x @ state["weight"].T + state.get("bias", 0.0)


def multi_head_attention(query, key, value, state, num_heads, mask=None):
    """One sequence. Shape: (L, d_model), two (S, d_model), bool (H, L, S) -> (L, d_model)."""
    q, k, v = (
        linear(x, part(state, f"{letter}_proj"))
        for letter, x in zip("qkv", (query, key, value), strict=True)
    )
    d_k = q.shape[1] // num_heads
    heads = []
    for h in range(num_heads):
        own = slice(h * d_k, (h + 1) * d_k)
        allowed = None if mask is None else mask[h]
        heads.append(attention(q[:, own], k[:, own], v[:, own], allowed)[1])
    return linear(np.concatenate(heads, axis=1), part(state, "out_proj"))


def additive_attention(query, key, value, state, mask=None):
    """One sequence, scores vᵀ tanh(W_q q + W_k k). Returns the weights and the output."""
    q, k = linear(query, part(state, "q_proj")), linear(key, part(state, "k_proj"))
    weights = np.zeros((len(q), len(k)))
    for i in range(len(q)):
        allowed = [j for j in range(len(k)) if mask is None or mask[i, j]]
        if not allowed:
            continue
        scores = [float(np.tanh(q[i] + k[j]) @ state["score.weight"][0]) for j in allowed]
        weights[i, allowed] = softmax_row(scores)
    return weights, weights @ value


def layer_norm(x, state, eps=1e-5):
    """Each row alone, by the definition. Shape: (L, d_model) -> (L, d_model)."""
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        variance = sum((number - mean) ** 2 for number in row) / len(row)
        rows.append([(number - mean) / math.sqrt(variance + eps) for number in row])
    return np.array(rows) * state["weight"] + state["bias"]


def feed_forward(x, state):
    """max(0, x W₁ + b₁) W₂ + b₂."""
    return linear(np.maximum(linear(x, part(state, "inner")), 0.0), part(state, "outer"))


def residual(x, sublayer, norm_state, norm_first):
    """norm(x + f(x)), or x + f(norm(x))."""
    if norm_first:
        return x + sublayer(layer_norm(x, norm_state))
    return layer_norm(x + sublayer(x), norm_state)


def encoder_layer(x, state, num_heads, mask=None, *, norm_first=False):
    """One sequence. Shape: (S, d_model), bool (H, S, S) -> (S, d_model)."""

    def attend(y):
        return multi_head_attention(y, y, y, part(state, "self_attention"), num_heads, mask)

    x = residual(x, attend, part(state, "self_attention_norm"), norm_first)
    return residual(
        x,
        lambda y: feed_forward(y, part(state, "feed_forward")),
        part(state, "feed_forward_norm"),
        norm_first,
    )


def decoder_layer(x, memory, state, num_heads, tgt_mask, memory_mask, *, norm_first=False):
    """One sequence: the encoder layer with cross-attention between its two halves."""

    def attend(y):
        return multi_head_attention(y, y, y, part(state, "self_attention"), num_heads, tgt_mask)

    def look_up(y):
        return multi_head_attention(
            y, memory, memory, part(state, "cross_attention"), num_heads, memory_mask
        )

    x = residual(x, attend, part(state, "self_attention_norm"), norm_first)
    x = residual(x, look_up, part(state, "cross_attention_norm"), norm_first)
    return residual(
        x,
        lambda y: feed_forward(y, part(state, "feed_forward")),
        part(state, "feed_forward_norm"),
        norm_first,
    )


def position(pos, i, d_model, base=10_000.0):
    """Number ``i`` of the vector of position ``pos``."""
    angle = pos / base ** ((i - i % 2) / d_model)
    return math.cos(angle) if i % 2 else math.sin(angle)
