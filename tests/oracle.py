"""Attention in plain NumPy loops: a second opinion that shares no code with torch."""

import math

import numpy as np


def softmax_row(scores: list[float]) -> list[float]:
    """Shares of 1 in proportion to e^score, by the school formula."""
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
