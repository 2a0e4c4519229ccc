"""relative.py and window_mask: rotary positions, ALiBi, windows with sinks."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from samples import HALF, assert_same, randn
from torch.testing import assert_close

from attention_core import (
    MultiHeadAttention,
    alibi_attention,
    alibi_slopes,
    apply_rotary,
    causal_mask,
    record_attention,
    rotary_attention,
    scaled_dot_product_attention,
    sinusoidal_shift,
    split_heads,
    window_mask,
)

B, H, L, D_K = 2, 4, 7, 6
Q, K, V = (randn(B, H, L, n, seed=i) for i, n in enumerate((D_K, D_K, 5)))
FUNCTIONS = {"rotary": rotary_attention, "alibi": alibi_attention}
both = pytest.mark.parametrize("name", FUNCTIONS)


def turned(x, offset=0, base=10_000.0):
    """The same rotation by complex numbers: each pair times e^(i m θ)."""
    width = x.shape[-1]
    theta = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    places = torch.arange(offset, offset + x.shape[-2], dtype=torch.float64)
    factor = torch.polar(torch.ones(len(places), width // 2).double(), places[:, None] * theta)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * factor).flatten(-2)


@pytest.mark.parametrize("options", [{}, {"offset": 3}, {"base": 500.0}, {"offset": 40}])
def test_the_rotation_is_a_complex_product(options):
    assert_same(apply_rotary(Q, **options), turned(Q, **options))


def test_the_rotation_is_the_sinusoids_backwards():
    """The book's shift turns sine towards cosine, so it turns a pair the other way round."""
    rows = [Q[:, :, m] @ sinusoidal_shift(-m, D_K, dtype=torch.float64) for m in range(L)]
    assert_same(apply_rotary(Q), torch.stack(rows, dim=2))


def test_halves_agree_once_the_columns_are_reordered():
    """Published weights often pair number i with number i + d/2."""
    order = torch.cat([torch.arange(0, D_K, 2), torch.arange(1, D_K, 2)])
    theta = 10_000.0 ** (-torch.arange(0, D_K, 2).double() / D_K)
    angles = torch.cat([torch.arange(L)[:, None] * theta] * 2, dim=-1)

    def halves(x):
        half = torch.cat([-x[..., D_K // 2 :], x[..., : D_K // 2]], dim=-1)
        return x * angles.cos() + half * angles.sin()

    assert_same(halves(Q[..., order]), apply_rotary(Q)[..., order])
    assert not torch.allclose(halves(Q) @ halves(K).mT, apply_rotary(Q) @ apply_rotary(K).mT)


def test_a_rotated_score_depends_on_the_distance_only():
    scores = apply_rotary(Q) @ apply_rotary(K).mT
    assert_same(apply_rotary(Q, offset=100) @ apply_rotary(K, offset=100).mT, scores)
    moved = apply_rotary(Q, offset=1) @ apply_rotary(K).mT
    assert not torch.allclose(moved, scores, atol=1e-2)


def test_lengths_do_not_change_and_position_0_is_not_turned():
    assert_same(apply_rotary(Q).norm(dim=-1), Q.norm(dim=-1))
    assert torch.equal(apply_rotary(Q)[:, :, 0], Q[:, :, 0])


def test_rotary_attention_is_torchs_attention_of_turned_queries_and_keys():
    mask = causal_mask(L)
    expected = F.scaled_dot_product_attention(turned(Q), turned(K), V, mask)
    assert_same(rotary_attention(Q, K, V, mask), expected)
    fused = rotary_attention(Q, K, V, mask, attention=F.scaled_dot_product_attention)
    assert_same(fused, expected)
    slow = F.scaled_dot_product_attention(turned(Q, base=9.0), turned(K, base=9.0), V, mask)
    assert_same(rotary_attention(Q, K, V, mask, base=9.0), slow)


@pytest.mark.parametrize("dtype", HALF)
def test_a_turned_half_precision_number_is_rounded_once(dtype):
    x = Q.to(dtype)
    exact = turned(x.double())
    rounded = (exact.to(dtype).double() - exact).abs().max()
    assert (apply_rotary(x).double() - exact).abs().max() <= 1.001 * rounded


def test_alibi_is_torchs_attention_with_a_float_mask():
    distance = torch.arange(L)[:, None] - torch.arange(L)
    bias = -alibi_slopes(H)[:, None, None] * distance
    bias = bias.masked_fill(~causal_mask(L), float("-inf"))
    leaves = [x.clone().requires_grad_() for x in (Q, K, V)]
    weight = randn(B, H, L, 5, seed=8)
    ours, theirs = (
        alibi_attention(*leaves, causal_mask(L)),
        F.scaled_dot_product_attention(*leaves, bias),
    )
    assert_same(ours, theirs)
    for a, b in zip(
        torch.autograd.grad((ours * weight).sum(), leaves),
        torch.autograd.grad((theirs * weight).sum(), leaves),
        strict=True,
    ):
        assert_same(a, b)


@pytest.mark.parametrize(
    ("num_heads", "expected"),
    [
        (1, [2**-8]),
        (8, [2.0**-n for n in range(1, 9)]),
        # With 12 heads: the 8 of above, then every second of the 16 of 2^(-1/2), 2^(-1), …
        (12, [*(2.0**-n for n in range(1, 9)), 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_the_slopes_are_those_of_the_paper(num_heads, expected):
    assert_same(alibi_slopes(num_heads), torch.tensor(expected, dtype=torch.float64))


@both
def test_the_last_queries_of_a_longer_text(name):
    """With a cache, one new query meets all keys: the row that the whole text has."""
    attend = FUNCTIONS[name]
    whole = attend(Q, K, V, causal_mask(L))
    assert_same(attend(Q[:, :, -2:], K, V, causal_mask(L)[-2:]), whole[:, :, -2:])


@both
@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_is_as_near_as_its_inputs_allow(name, dtype):
    """At position 1,500 the angle itself would be lost in half precision."""
    length = 1500
    q, k, v = (randn(1, H, length, D_K, seed=i).to(dtype) for i in range(3))
    mask = causal_mask(length)[-3:]
    attend = FUNCTIONS[name]
    ours = attend(q[:, :, -3:], k, v, mask)
    exact = attend(*(x.double() for x in (q[:, :, -3:], k, v)), mask)
    assert ours.dtype == dtype
    assert_close(ours.double(), exact, rtol=0.02, atol=0.02)
    if name == "alibi":  # computed in float32, so only the result is rounded
        rounded = (exact.to(dtype).double() - exact).abs().max()
        assert (ours.double() - exact).abs().max() <= 1.01 * rounded


@both
def test_under_autocast_places_are_not_rounded(name):
    length = 1500
    q, k, v = (randn(1, H, length, D_K, seed=i).float() for i in range(3))
    mask = causal_mask(length)[-3:]
    attend = FUNCTIONS[name]
    with torch.autocast("cpu", torch.bfloat16):
        ours = attend(q[:, :, -3:], k, v, mask)
    exact = attend(*(x.double() for x in (q[:, :, -3:], k, v)), mask)
    assert ours.dtype == torch.bfloat16
    assert_close(ours.double(), exact, rtol=0.02, atol=0.02)


@both
def test_recorded_weights_are_those_that_mixed_the_values(name):
    module = MultiHeadAttention(12, 3, attention=FUNCTIONS[name]).double()
    x = randn(B, L, 12)
    if name == "alibi":
        module = MultiHeadAttention(12, 2, attention=FUNCTIONS[name]).double()
    with record_attention(module) as recorded:
        output = module(x, x, x, causal_mask(L))
    v = split_heads(module.v_proj(x), module.num_heads)
    assert_same((recorded[""] @ v).transpose(1, 2).flatten(2), module_mixture(module, output))
    unturned = MultiHeadAttention(12, module.num_heads).double()
    unturned.load_state_dict(module.state_dict())
    with record_attention(unturned) as plain:
        unturned(x, x, x, causal_mask(L))
    assert (plain[""] - recorded[""]).abs().max() > 0.02


def module_mixture(module, output):
    """The mixed values before the output projection."""
    return torch.linalg.solve(module.out_proj.weight, (output - module.out_proj.bias).mT).mT


@both
def test_recording_shows_a_row_of_a_known_function(name):
    """Against torch's softmax of the scores written out."""
    module = MultiHeadAttention(H * D_K, H, attention=FUNCTIONS[name]).double()
    x = randn(B, L, H * D_K)
    with record_attention(module) as recorded:
        module(x, x, x, causal_mask(L))
    q, k = (split_heads(p(x), H) for p in (module.q_proj, module.k_proj))
    if name == "rotary":
        scores = turned(q) @ turned(k).mT / D_K**0.5
    else:
        distance = torch.arange(L)[:, None] - torch.arange(L)
        scores = q @ k.mT / D_K**0.5 - alibi_slopes(H)[:, None, None] * distance
    expected = scores.masked_fill(~causal_mask(L), float("-inf")).softmax(dim=-1)
    assert_same(recorded[""], expected.detach())


@both
def test_it_compiles_without_a_break_and_maps_over_a_batch(name):
    attend = FUNCTIONS[name]
    expected = attend(Q, K, V, causal_mask(L))
    compiled = torch.compile(attend, fullgraph=True, backend="eager")
    assert_same(compiled(Q, K, V, causal_mask(L)), expected)
    mapped = torch.func.vmap(partial(attend, mask=causal_mask(L)))(Q, K, V)
    assert_same(mapped, expected)


@pytest.mark.parametrize("sinks", [0, 1, 3])
@pytest.mark.parametrize("window", [1, 2, 5, 9])
def test_the_window_mask_entry_by_entry(window, sinks):
    made = window_mask(L, window, sinks=sinks)
    for i in range(L):
        for j in range(L):
            assert made[i, j] == (j <= i and (i - j < window or j < sinks))


def test_windowed_attention_is_that_of_torch():
    mask = window_mask(L, 3)
    assert_same(
        scaled_dot_product_attention(Q, K, V, mask), F.scaled_dot_product_attention(Q, K, V, mask)
    )


ERRORS = [
    (lambda: apply_rotary(Q[..., :5]), ValueError, r"x must have an even width d_k .* got shape"),
    (lambda: apply_rotary(Q[..., :0]), ValueError, "x must have an even width d_k"),
    (lambda: apply_rotary(Q, offset=-1), ValueError, "offset must be at least 0, got -1"),
    (lambda: apply_rotary(Q, offset=1.0), TypeError, "offset must be an int, got float"),
    (lambda: apply_rotary(Q, base=0), ValueError, "base must be positive and finite, got 0"),
    (lambda: apply_rotary(Q, base="10"), TypeError, "base must be a number, got str"),
    (lambda: apply_rotary(Q.long()), TypeError, "x must be a floating-point tensor"),
    (
        lambda: rotary_attention(Q, K[:, :, :3], V[:, :, :3]),
        ValueError,
        r"q must not be longer than k, .* got q \(2, 4, 7, 6\) and k \(2, 4, 3, 6\)",
    ),
    (
        lambda: alibi_attention(Q, K[:, :, :3], V[:, :, :3]),
        ValueError,
        "q must not be longer than k",
    ),
    (
        lambda: rotary_attention(Q, K, V[:, :, :3]),
        ValueError,
        "k and v must have the same length S",
    ),
    (
        lambda: alibi_attention(Q[0, 0], K[0, 0], V[0, 0]),
        ValueError,
        r"k must have at least 3 axes, got shape \(7, 6\)",
    ),
    (lambda: rotary_attention(Q, K, V, causal_mask(L).int()), TypeError, "mask must be bool"),
    (lambda: alibi_slopes(0), ValueError, "num_heads must be at least 1, got 0"),
    (lambda: alibi_slopes(2.0), TypeError, "num_heads must be an int, got float"),
    (lambda: window_mask(-1, 2), ValueError, "length must be at least 0, got -1"),
    (lambda: window_mask(3, 0), ValueError, "window must be at least 1, got 0"),
    (lambda: window_mask(3, 1, sinks=-1), ValueError, "sinks must be at least 0, got -1"),
    (lambda: window_mask(3, 1.5), TypeError, "window must be an int, got float"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_a_bad_argument_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
