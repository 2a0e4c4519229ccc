"""alternatives.py: operations equal torch's count, path lengths equal measured ones."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from attention_core import MultiHeadAttention, reach_matrix, scaled_dot_product_attention
from attention_core.alternatives import KINDS, layer_operations, local_attention, path_length


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def band(n, radius):
    places = torch.arange(n)
    return (places[:, None] - places).abs() <= radius


@pytest.mark.parametrize("radius", [0, 1, 3, 12, 13, 40])
def test_local_attention_equals_attention_with_a_band_mask(radius):
    g = torch.Generator().manual_seed(radius)
    q, k = (torch.randn(2, 3, 13, 5, generator=g, requires_grad=True) for _ in "qk")
    v = torch.randn(2, 3, 13, 7, generator=g, requires_grad=True)
    ours = local_attention(q, k, v, radius)
    full = scaled_dot_product_attention(q, k, v, band(13, radius))
    assert_close(ours, full, rtol=1e-12, atol=1e-12)
    weight = torch.randn(ours.shape, generator=g)
    for a, b in zip(
        torch.autograd.grad((ours * weight).sum(), (q, k, v)),
        torch.autograd.grad((full * weight).sum(), (q, k, v)),
        strict=True,
    ):
        assert_close(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("radius", [0, 2])
def test_local_attention_of_no_tokens_is_empty_with_empty_gradients(radius):
    x = torch.zeros(2, 0, 5, requires_grad=True)
    output = local_attention(x, x, torch.zeros(2, 0, 7), radius)
    assert output.shape == (2, 0, 7)
    assert torch.autograd.grad(output.sum(), x)[0].shape == x.shape


@pytest.mark.parametrize("shapes", [((), (2, 3), (3,)), ((2, 1), (3,), ()), ((), (), (4,))])
def test_leading_axes_of_local_attention_are_broadcast(shapes):
    g = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(*s, 13, d, generator=g) for s, d in zip(shapes, (5, 5, 7), strict=True))
    full = scaled_dot_product_attention(q, k, v, band(13, 2))
    assert_close(local_attention(q, k, v, 2), full, rtol=1e-12, atol=1e-12)


def test_numpy_integers_are_accepted_and_give_python_ints():
    n, d, three = np.int64(7), np.int32(11), np.uint8(3)
    for kind in KINDS:
        counted = layer_operations(kind, n, d, kernel=three, radius=three)
        assert counted == layer_operations(kind, 7, 11, kernel=3, radius=3)
        steps = path_length(kind, n, kernel=three, radius=three)
        assert steps == path_length(kind, 7, kernel=3, radius=3)
        assert type(counted) is type(steps) is int
    x = torch.randn(5, 4)
    assert torch.equal(local_attention(x, x, x, np.int64(2)), local_attention(x, x, x, 2))


class Attention(nn.Module):
    def __init__(self, d, radius=None):
        super().__init__()
        self.attend = MultiHeadAttention(d, 1)
        if radius is not None:
            self.attend.attention = lambda q, k, v, mask=None, /, *, dropout_p: local_attention(
                q, k, v, radius
            )

    def forward(self, x):
        return self.attend(x, x, x)


class Recurrent(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gru = nn.GRU(d, d, batch_first=True)

    def forward(self, x):
        return self.gru(x)[0]


class Convolutional(nn.Module):
    def __init__(self, d, kernel, dilation=1):
        super().__init__()
        half = dilation * (kernel // 2)
        self.conv = nn.Conv1d(d, d, kernel, padding=half, dilation=dilation)

    def forward(self, x):
        return self.conv(x.mT).mT


def layer(kind, d, kernel=3, radius=8, dilation=1):
    if kind == "recurrent":
        return Recurrent(d)
    if kind == "convolutional":
        return Convolutional(d, kernel, dilation)
    return Attention(d, radius if kind == "restricted" else None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d", "kernel", "radius"), [(7, 11, 3, 2), (29, 4, 5, 8)])
def test_layer_operations_equal_the_flop_counter_of_torch(kind, n, d, kernel, radius):
    module = layer(kind, d, kernel, radius)
    with FlopCounterMode(display=False) as counter:
        module(torch.randn(1, n, d))
    expected = 2 * layer_operations(kind, n, d, kernel=kernel, radius=radius)
    assert counter.get_total_flops() == expected


@pytest.mark.parametrize("d", [3, 64, 512])
def test_attention_and_gru_cost_the_same_where_n_is_d(d):
    for n, sign in ((d - 1, -1), (d, 0), (d + 1, 1)):
        difference = layer_operations("self-attention", n, d) - layer_operations("recurrent", n, d)
        assert (difference > 0) - (difference < 0) == sign


def layers_needed(make, n, room=0, d=4):
    """How many layers until token n depends on the first, found by changing it."""
    x = torch.randn(n + 2 * room, d, generator=torch.Generator().manual_seed(n))
    stack = []
    while True:
        stack.append(make(len(stack)).requires_grad_(False))
        module = nn.Sequential(*stack)
        if reach_matrix(lambda x, m=module: m(x[None])[0], x)[room + n - 1, room] > 0:
            return len(stack)


@pytest.mark.parametrize("n", [2, 3, 10, 14, 15, 28])
@pytest.mark.parametrize(("kernel", "radius"), [(3, 2), (5, 3)])
def test_the_path_length_is_the_number_of_layers_that_a_signal_needs(n, kernel, radius):
    torch.manual_seed(0)
    sizes = {"kernel": kernel, "radius": radius}
    for kind in ("self-attention", "convolutional", "restricted"):
        found = layers_needed(lambda _, kind=kind: layer(kind, 4, kernel, radius), n)
        assert found == path_length(kind, n, **sizes), kind
    # Leave room at both ends: the shortest path may overshoot and come back.
    found = layers_needed(
        lambda i: layer("convolutional", 4, kernel, dilation=kernel**i), n, room=2 * n
    )
    assert found == path_length("convolutional", n, dilated=True, **sizes)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_the_recurrent_path_length_is_one_state_update_for_each_token(n):
    torch.manual_seed(0)
    cell, updates = nn.GRUCell(3, 3), []
    cell.register_forward_hook(lambda *_: updates.append(1))
    x = torch.randn(n, 3, requires_grad=True)
    state = torch.zeros(3)
    for token in x:
        state = cell(token, state)
    state.sum().backward()
    assert (x.grad != 0).any(dim=1).all()
    assert path_length("recurrent", n) == len(updates)


def test_the_path_length_of_a_single_token_is_one():
    for kind in KINDS:
        assert path_length(kind, 1) == 1
    assert path_length("convolutional", 1, dilated=True) == 1


q = torch.zeros(2, 5, 3)
ERRORS = [
    (lambda: local_attention(q, q[:, :4], q, 1), ValueError, r"q \(2, 5, 3\), k \(2, 4, 3\)"),
    (lambda: local_attention(q, q, q[:, :4], 1), ValueError, r"and v \(2, 4, 3\)"),
    (lambda: local_attention(q, q[..., :2], q, 1), ValueError, "q and k the same width"),
    (lambda: local_attention(q, q, q, -1), ValueError, "radius must be at least 0, got -1"),
    (lambda: local_attention(q, q, q, 1.0), TypeError, "radius must be an int"),
    (lambda: local_attention(q, q.long(), q, 1), TypeError, "k must be a floating-point"),
    (lambda: local_attention(q.double(), q, q, 1), TypeError, "q and k must have the same dtype"),
    (
        lambda: local_attention(q, q, q.half(), 1),
        TypeError,
        "got q torch.float32, k torch.float32, v",
    ),
    (lambda: local_attention(q[..., :0], q[..., :0], q, 1), ValueError, "the same width d_k >= 1"),
    (
        lambda: local_attention(q, q.new_zeros(3, 5, 3), q, 1),
        ValueError,
        r"leading axes of q and k must be equal or 1, got q \(2, 5, 3\) and k \(3, 5, 3\)",
    ),
    (lambda: local_attention(q, q, q.new_zeros(3, 5, 3), 1), ValueError, "axes of scores and v"),
    (lambda: local_attention(q, q, q, "1"), TypeError, "radius must be an int, got str '1'"),
    (lambda: path_length("convolutional", 3, dilated="no"), TypeError, "dilated must be True or F"),
    (lambda: local_attention(q[0, 0], q, q, 1), ValueError, "q must have at least 2 axes"),
    (lambda: layer_operations("lstm", 3, 4), ValueError, "kind must be one of self-attention, re"),
    (lambda: layer_operations("recurrent", 0, 4), ValueError, "n must be at least 1, got 0"),
    (lambda: layer_operations("recurrent", 3, 0), ValueError, "d must be at least 1, got 0"),
    (lambda: path_length("lstm", 3), ValueError, "got 'lstm'"),
    (lambda: path_length("recurrent", 3.0), TypeError, "n must be an int"),
    (lambda: path_length("convolutional", 3, kernel=4), ValueError, "kernel must be odd and at"),
    (lambda: path_length("convolutional", 3, kernel=1), ValueError, "kernel must be odd and at"),
    (lambda: path_length("restricted", 3, radius=0), ValueError, "radius must be at least 1"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_bad_input_is_named(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
