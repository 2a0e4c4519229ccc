"""attention.py: additive attention equals loops and NumPy."""

import math

import oracle
import pytest
import torch
from samples import EXACT, MASKS, B, L, S, assert_same, filled, gradients, mask, randn

from attention_core import AdditiveAttention

D_QUERY, D_KEY, D_HIDDEN, D_V = 3, 11, 13, 17


def test_additive_weights_and_output_worked_out_by_hand():
    attend = AdditiveAttention(1, 1, 1)
    for p, value in zip(attend.parameters(), (1.0, 1.0, 2.0), strict=True):
        p.data.fill_(value)
    query, key = torch.tensor([[[0.5]]]), torch.tensor([[[-0.5], [0.5]]])
    e = math.exp(2 * math.tanh(1.0))  # scores 2 tanh(0) and 2 tanh(1)
    expected = torch.tensor([[[1 / (1 + e), e / (1 + e)]]])
    assert_same(attend.weights(query, key), expected, torch.float32)
    output = attend(query, key, torch.tensor([[[0.0], [1.0]]]))
    assert_same(output, expected[..., 1:], torch.float32)


def additive(dtype=torch.float64):
    shapes = [(B, L, D_QUERY), (B, S, D_KEY), (B, S, D_V)]
    x = [randn(*shape, seed=i, dtype=dtype).requires_grad_() for i, shape in enumerate(shapes)]
    return filled(AdditiveAttention(D_QUERY, D_KEY, D_HIDDEN), dtype), x


def additive_mask(kind):
    """Without the head axis: (B, 1, S), (L, S) or (B, L, S)."""
    allowed = mask(kind)
    return allowed if allowed is None or allowed.dim() == 2 else allowed[:, 0]


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("dtype", EXACT)
def test_additive_attention_equals_loops_in_values_and_gradients(dtype, kind):
    allowed = additive_mask(kind)
    full = None if allowed is None else allowed.expand(B, L, S)
    results = []
    for looped in (False, True):
        ours, x = additive(dtype)
        output = _additive_loops(ours, *x, full) if looped else ours(*x, allowed)
        (output * randn(*output.shape, seed=5, dtype=dtype)).sum().backward()
        results.append((output, [t.grad for t in x], gradients(ours)))
    assert_same(*results, dtype)


@pytest.mark.parametrize("kind", MASKS)
def test_masks_of_multi_head_attention_fit_if_they_are_the_same_for_all_heads(kind):
    ours, x = additive()
    allowed = additive_mask(kind)
    with_heads = allowed if allowed is None or allowed.dim() == 2 else allowed.unsqueeze(1)
    assert_same(ours(*x, with_heads), ours(*x, allowed))


def _additive_loops(m, query, key, value, allowed):
    output = torch.zeros(B, L, D_V, dtype=query.dtype)
    for b in range(B):
        for i in range(L):
            keys = [j for j in range(S) if allowed is None or allowed[b, i, j]]
            summed = [m.q_proj.weight @ query[b, i] + m.k_proj.weight @ key[b, j] for j in keys]
            exps = [torch.exp(m.score.weight[0] @ torch.tanh(s)) for s in summed]
            for j, e in zip(keys, exps, strict=True):
                output[b, i] += e / sum(exps) * value[b, j]
    return output


@pytest.mark.parametrize("kind", MASKS)
def test_additive_attention_equals_plain_numpy(kind):
    ours, x = additive()
    allowed = additive_mask(kind)
    state = {name: t.numpy() for name, t in ours.state_dict().items()}
    full = None if allowed is None else allowed.expand(B, L, S).numpy()
    weights, output = ours.weights(*x[:2], allowed), ours(*x, allowed)
    for b in range(B):
        arrays = [t[b].detach().numpy() for t in x]
        expected = oracle.additive_attention(*arrays, state, None if full is None else full[b])
        for ours_b, theirs_b in zip((weights[b], output[b]), expected, strict=True):
            assert_same(ours_b.detach(), torch.from_numpy(theirs_b))
