"""blockwise.py: blocks of keys, in any order, give the result of all keys at once."""

import itertools
from functools import partial, reduce

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import D_MODEL, TOLERANCE, B, H, L, S, assert_same, filled, mask, randn
from torch.testing import assert_close

from attention_core import MultiHeadAttention, scaled_dot_product_attention
from attention_core.blockwise import blockwise_attention, merge, mixture, summarize

D_K, D_V = 11, 13
MASKS = ["none", "padding", "causal", "padding and causal", "random"]
BROADCAST = {
    "one row for all queries": lambda: mask("random")[:, :, :1],
    "one column for all keys": lambda: mask("random")[..., :1],
}
SIZES = [1, 2, 3, S - 1, S, S + 4]  # 2 and 3 do not divide 7


def qkv(dtype=torch.float64):
    shapes = (B, H, L, D_K), (B, H, S, D_K), (B, H, S, D_V)
    return [randn(*s, seed=i, dtype=dtype).requires_grad_() for i, s in enumerate(shapes)]


def with_gradients(function, tensors):
    output = function(*tensors)
    return output, *torch.autograd.grad(
        output, tensors, randn(*output.shape, seed=9).to(output.dtype)
    )


def merged(q, k, v, mask, cuts):
    """By the pure functions, one block after another, with autograd through all of them."""
    blocks = [slice(a, b) for a, b in itertools.pairwise(cuts)]
    parts = [
        summarize(q, k[..., i, :], v[..., i, :], None if mask is None else mask[..., i])
        for i in blocks
    ]
    return mixture(reduce(merge, parts))


@pytest.mark.parametrize("block_size", SIZES)
@pytest.mark.parametrize("kind", [*MASKS, *BROADCAST])
def test_equals_explicit_attention_in_values_and_gradients(kind, block_size):
    allowed = BROADCAST[kind]() if kind in BROADCAST else mask(kind)
    expected = with_gradients(lambda *x: scaled_dot_product_attention(*x, allowed), qkv())
    ours = with_gradients(lambda *x: blockwise_attention(*x, allowed, block_size=block_size), qkv())
    assert_same(ours, expected)


@given(
    seed=st.integers(0, 2**31 - 1),
    lengths=st.tuples(st.integers(1, 6), st.integers(0, 12)),
    block_size=st.integers(1, 14),
    share=st.sampled_from([0.0, 0.2, 0.7, 1.0]),
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
)
@settings(max_examples=60, deadline=None)
def test_equals_explicit_attention_for_any_sizes_and_masks(seed, lengths, block_size, share, scale):
    g = torch.Generator().manual_seed(seed)
    n, m = lengths
    tensors = [
        (torch.randn(*s, generator=g, dtype=torch.float64) * scale).requires_grad_()
        for s in [(n, 4), (m, 4), (m, 3)]
    ]
    allowed = torch.rand(n, m, generator=g) < share  # at 0.0 all rows are empty
    expected = with_gradients(lambda *x: scaled_dot_product_attention(*x, allowed), tensors)
    ours = with_gradients(
        lambda *x: blockwise_attention(*x, allowed, block_size=block_size), tensors
    )
    assert_close(ours, expected, rtol=1e-9, atol=1e-12 * max(1.0, scale**2))


@given(seed=st.integers(0, 2**31 - 1), data=st.data())
@settings(max_examples=40, deadline=None)
def test_blocks_may_come_in_any_order_and_be_merged_in_any_pairs(seed, data):
    g = torch.Generator().manual_seed(seed)
    q, k, v = (3 * torch.randn(*s, generator=g).double() for s in [(3, 4), (12, 4), (12, 5)])
    allowed = torch.rand(3, 12, generator=g) < 0.4
    order = data.draw(st.permutations(range(12)))
    cuts = sorted(data.draw(st.sets(st.integers(1, 11), max_size=6)))
    parts = [order[a:b] for a, b in itertools.pairwise([0, *cuts, 12])]
    summaries = [summarize(q, k[i], v[i], allowed[:, i]) for i in parts]
    while len(summaries) > 1:  # merge any two neighbours
        i = data.draw(st.integers(0, len(summaries) - 2))
        summaries[i : i + 2] = [merge(*summaries[i : i + 2])]
    assert_same(mixture(summaries[0]), scaled_dot_product_attention(q, k, v, allowed))


def test_merging_is_commutative_and_associative_and_no_keys_are_its_identity():
    q, k, v = (x.detach() for x in qkv())
    a, b, c = (
        summarize(q, k[..., i, :], v[..., i, :], mask("random")[..., i])
        for i in (slice(0, 2), slice(2, 5), slice(5, 7))
    )
    for ours, theirs in zip(merge(a, b), merge(b, a), strict=True):
        assert torch.equal(ours, theirs)
    assert_close(merge(merge(a, b), c), merge(a, merge(b, c)), rtol=1e-12, atol=1e-12)
    nothing = summarize(q, k[..., :0, :], v[..., :0, :])
    for ours, theirs in zip(merge(nothing, a), a, strict=True):
        assert torch.equal(ours, theirs)


def test_a_summary_is_the_largest_score_and_two_sums_worked_out_by_hand():
    # Scores ln 2, 0, ln 4 with d_k = 1: numerators 1/2, 1/4, 1 under the maximum ln 4.
    k = torch.tensor([2.0, 1.0, 4.0]).log()[:, None]
    summary = summarize(torch.ones(1, 1), k, torch.tensor([[8.0], [4.0], [3.0]]))
    expected = torch.tensor([[4.0]]).log(), torch.tensor([[1.75]]), torch.tensor([[8.0]])
    assert_close(tuple(summary), expected)
    assert_close(mixture(summary), torch.tensor([[32 / 7]]))


@pytest.mark.parametrize("cuts", [(0, S), (0, 2, 3, S), tuple(range(S + 1))])
@pytest.mark.parametrize("kind", MASKS)
def test_the_pure_functions_are_differentiable(kind, cuts):
    expected = with_gradients(lambda *x: scaled_dot_product_attention(*x, mask(kind)), qkv())
    ours = with_gradients(lambda *x: merged(*x, mask(kind), cuts), qkv())
    assert_same(ours, expected)


def test_gradients_agree_with_finite_differences():
    function = partial(blockwise_attention, mask=mask("random"), block_size=3)
    assert torch.autograd.gradcheck(lambda q, k, v: function(q, k, v), qkv())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["none", "random"])
def test_equals_explicit_attention_in_every_precision(kind, dtype):
    expected = with_gradients(lambda *x: scaled_dot_product_attention(*x, mask(kind)), qkv())
    ours = with_gradients(lambda *x: blockwise_attention(*x, mask(kind), block_size=3), qkv(dtype))
    assert all(x.dtype == dtype for x in ours)
    tolerance = 4 * TOLERANCE[dtype]
    for a, b in zip(ours, expected, strict=True):
        assert_close(a.double(), b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_sums_in_float32(dtype):
    # 2,048 equal weights: in bfloat16 the running sum would stop growing at 256.
    v = torch.ones(2048, 1, dtype=dtype)
    zeros = torch.zeros(2048, 2, dtype=dtype)
    summary = summarize(zeros[:1], zeros, v)
    assert summary.total.dtype == torch.float32
    assert summary.total.item() == 2048
    assert blockwise_attention(zeros[:1], zeros, v, block_size=1).item() == 1.0


@pytest.mark.parametrize("size", [1e3, 1e150])
def test_huge_scores_do_not_overflow(size):
    q, k, v = (x.detach() for x in qkv())
    expected = scaled_dot_product_attention(q * size, k, v)
    assert_same(blockwise_attention(q * size, k, v, block_size=2), expected)
    assert expected.isfinite().all()


def test_a_block_with_far_larger_scores_outweighs_all_others():
    # The larger score takes all the weight, whether it comes second or first.
    k = torch.tensor([[0.0], [5000.0]], dtype=torch.float64)
    v = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    one = torch.ones(1, 1, dtype=torch.float64)
    for order in ([0, 1], [1, 0]):
        assert blockwise_attention(one, k[order], v[order], block_size=1).item() == 2.0


def test_fully_masked_rows_and_blocks_give_zeros_and_finite_gradients():
    allowed = mask("random").clone()
    allowed[..., :3] = False  # the whole first block is blocked for all queries
    for function in (
        lambda *x: blockwise_attention(*x, allowed, block_size=3),
        lambda *x: merged(*x, allowed, (0, 3, 6, S)),
    ):
        tensors = qkv()
        # Anomaly detection also sees a NaN that a later step would hide.
        with (
            pytest.warns(UserWarning, match="Anomaly Detection"),
            torch.autograd.detect_anomaly(check_nan=True),
        ):
            (output := function(*tensors)).square().sum().backward()
        empty = ~allowed.any(dim=-1)
        assert empty.any()
        assert (output[empty] == 0).all()
        assert (tensors[0].grad[empty] == 0).all()
        assert (tensors[1].grad[..., :3, :] == 0).all()
        assert tensors[0].grad[~empty].ne(0).any()


def test_no_keys_at_all_give_zeros():
    q, k, v = qkv()
    output = blockwise_attention(q, k[..., :0, :], v[..., :0, :], block_size=3)
    assert torch.equal(output, torch.zeros(B, H, L, D_V, dtype=torch.float64))
    assert (torch.autograd.grad(output.sum(), q)[0] == 0).all()


@pytest.mark.parametrize(
    "shapes", [((L,), (B, H, S), (H, S)), ((B, 1, L), (H, S), (S,)), ((L,), (S,), (B, S))]
)
def test_leading_axes_are_broadcast(shapes):
    widths = D_K, D_K, D_V
    tensors = [
        randn(*s, d, seed=i).requires_grad_()
        for i, (s, d) in enumerate(zip(shapes, widths, strict=True))
    ]
    expected = with_gradients(scaled_dot_product_attention, tensors)
    assert_same(with_gradients(partial(blockwise_attention, block_size=3), tensors), expected)


def test_memory_kept_for_the_backward_pass_is_linear_in_n():
    def kept(n, attention):
        seen = {}
        q, k, v = (torch.zeros(n, 4, requires_grad=True) for _ in range(3))

        def pack(x):
            seen[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes() // x.element_size()
            return x

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            attention(q, k, v)
        return sum(seen.values())

    blockwise = partial(blockwise_attention, block_size=5)
    assert [kept(n, blockwise) for n in (10, 20, 40)] == [(4 * 4 + 1) * n for n in (10, 20, 40)]
    explicit = [kept(n, scaled_dot_product_attention) for n in (10, 20, 40)]
    assert explicit == [n * n + 3 * 4 * n for n in (10, 20, 40)]


def test_no_tensor_is_larger_than_the_scores_of_one_block():
    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        numel = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor) and not func.is_view:
                self.numel = max(self.numel, result.numel())
            return result

    q, k, v = (randn(53, 2, seed=i).requires_grad_() for i in range(3))
    with Largest() as largest:
        blockwise_attention(q, k, v, block_size=7).square().sum().backward()
    assert largest.numel == 53 * 7


def test_works_inside_multi_head_attention():
    module, x = filled(MultiHeadAttention(D_MODEL, H)), randn(B, L, D_MODEL)
    allowed = mask("random", L, L)
    expected = module(x, x, x, allowed)
    module.attention = partial(blockwise_attention, block_size=2)
    assert_same(module(x, x, x, allowed), expected)


# Torch itself makes an instance of the Function while it traces, and warns of that.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_compiles_without_a_graph_break():
    compiled = torch.compile(
        partial(blockwise_attention, block_size=3), fullgraph=True, backend="aot_eager"
    )
    expected = with_gradients(lambda *x: scaled_dot_product_attention(*x, mask("random")), qkv())
    assert_same(with_gradients(lambda *x: compiled(*x, mask("random")), qkv()), expected)


def test_runs_on_the_device_of_its_input():
    q, k, v = (x.detach().to("meta") for x in qkv())
    output = blockwise_attention(q, k, v, mask("random").to("meta"), block_size=3)
    assert (output.device.type, output.shape) == ("meta", (B, H, L, D_V))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda q, k, v, m: (q.int(), k, v, m),
        lambda q, k, v, m: (q, k.float(), v, m),
        lambda q, k, v, m: (q, k, v.float(), m),
        lambda q, k, v, m: (q, k[..., :-1], v, m),
        lambda q, k, v, m: (q, k, v[..., :-1, :], m),
        lambda q, k, v, m: (q[:, :2], k, v, None),
        lambda q, k, v, m: (q, k, v[:, :2], None),
        lambda q, k, v, m: (q, k, v, m.float()),
        lambda q, k, v, m: (q, k, v, m[..., :-1]),
        lambda q, k, v, m: (q[0, 0, 0], k, v, m),
        lambda q, k, v, m: ([1.0], k, v, m),
    ],
)
def test_bad_input_gives_the_error_of_the_explicit_formula(spoil):
    arguments = spoil(*(x.detach() for x in qkv()), mask("random"))
    with pytest.raises((ValueError, TypeError)) as expected:
        scaled_dot_product_attention(*arguments)
    for function in (partial(blockwise_attention, block_size=2), summarize):
        with pytest.raises(type(expected.value)) as ours:
            function(*arguments)
        assert str(ours.value) == str(expected.value)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"block_size": 0}, ValueError, "block_size must be at least 1, got 0"),
        ({"block_size": 2.0}, TypeError, "block_size must be an int, got float 2.0"),
        ({"block_size": 2, "dropout_p": "0"}, TypeError, "dropout_p must be a number, got str '0'"),
        ({"block_size": 2, "dropout_p": float("nan")}, ValueError, "between 0 and 1, got nan"),
        (
            {"block_size": 2, "dropout_p": 0.1},
            ValueError,
            "dropout_p must be 0, since .*got 0.1",
        ),
    ],
)
def test_bad_block_sizes_and_dropout_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        blockwise_attention(*qkv(), **options)


def test_second_derivatives_are_refused():
    q, k, v = qkv()
    output = blockwise_attention(q, k, v, block_size=3)
    (first,) = torch.autograd.grad(output.square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()
