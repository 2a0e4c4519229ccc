"""attention.py: the equality ladder up to nn.MultiheadAttention, masks, the cache."""

import math

import oracle
import pytest
import torch
import torch.nn.functional as F
from copying import torch_gradients
from hypothesis import given, settings
from hypothesis import strategies as st
from rungs import RUNGS
from samples import (
    D_K,
    D_MODEL,
    EXACT,
    MASKS,
    MASKS_FOR_TORCH,
    B,
    H,
    L,
    S,
    assert_same,
    blocked,
    filled,
    gradients,
    mask,
    randn,
)
from torch import nn

from attention_core import (
    KeyValueCache,
    MultiHeadAttention,
    causal_mask,
    from_torch,
    record_attention,
)

SHAPES = [(B, L, D_MODEL), (B, S, D_MODEL), (B, S, D_MODEL)]


def inputs(dtype=torch.float64):
    return [randn(*shape, seed=i, dtype=dtype).requires_grad_() for i, shape in enumerate(SHAPES)]


def attend(dtype=torch.float64, **options):
    return filled(MultiHeadAttention(D_MODEL, H, **options), dtype)


def run(function, module, mask, dtype=torch.float64):
    """Output, gradients of the inputs, gradients of the weights, for a fixed random loss."""
    module.zero_grad()
    x = inputs(dtype)
    output = function(*x, mask)
    (output * randn(*output.shape, seed=5, dtype=dtype)).sum().backward()
    return output, [t.grad for t in x], gradients(module)


# ------------------------------------------------------------ equality ladder


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.__name__)
def test_every_rung_of_the_equality_ladder_gives_the_same_values_and_gradients(rung, kind):
    allowed, ours = mask(kind), attend()
    full = None if allowed is None else allowed.expand(B, H, L, S)
    output = run(lambda q, k, v, _: rung(ours, q, k, v, full), ours, None)
    assert_same(run(ours, ours, allowed), output)


@pytest.mark.parametrize("kind", MASKS_FOR_TORCH)
@pytest.mark.parametrize("dtype", EXACT)
def test_the_fused_kernel_as_attention_gives_the_same_values_and_gradients(dtype, kind):
    ours, fused = attend(dtype), attend(dtype, attention=F.scaled_dot_product_attention)
    assert_same(run(ours, ours, mask(kind), dtype), run(fused, fused, mask(kind), dtype), dtype)


@pytest.mark.parametrize("kind", MASKS_FOR_TORCH)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", EXACT)
def test_equals_multihead_attention_of_torch(dtype, bias, kind):
    theirs = filled(nn.MultiheadAttention(D_MODEL, H, bias=bias, batch_first=True), dtype)
    ours = MultiHeadAttention(D_MODEL, H, bias=bias).to(dtype)
    ours.load_state_dict(from_torch(theirs).state_dict())
    output, inward, weights = run(ours, ours, mask(kind), dtype)
    expected, expected_inward, _ = run(
        lambda q, k, v, m: theirs(q, k, v, attn_mask=blocked(m), need_weights=False)[0],
        theirs,
        mask(kind),
        dtype,
    )
    assert_same(output, expected, dtype)
    assert_same(inward, expected_inward, dtype)
    assert_same(weights, torch_gradients(theirs), dtype)


@pytest.mark.parametrize("kind", ["none", "padding", "causal", "padding and causal"])
@pytest.mark.parametrize("dtype", EXACT)
def test_recorded_weights_equal_those_of_torch_head_by_head(dtype, kind):
    theirs = filled(nn.MultiheadAttention(D_MODEL, H, batch_first=True), dtype)
    ours = MultiHeadAttention(D_MODEL, H).to(dtype)
    ours.load_state_dict(from_torch(theirs).state_dict())
    q, k, v = inputs(dtype)
    with record_attention(ours) as recorded:
        ours(q, k, v, mask(kind))
    _, expected = theirs(q, k, v, attn_mask=blocked(mask(kind)), average_attn_weights=False)
    assert expected.shape == (B, H, L, S)
    assert_same(recorded[""], expected.detach(), dtype)


def test_a_padding_mask_equals_the_key_padding_mask_of_torch_inverted():
    theirs = filled(nn.MultiheadAttention(D_MODEL, H, batch_first=True))
    ours = MultiHeadAttention(D_MODEL, H).double()
    ours.load_state_dict(from_torch(theirs).state_dict())
    real = mask("padding")
    expected, _ = theirs(*inputs(), key_padding_mask=~real[:, 0, 0])
    assert_same(ours(*inputs(), real), expected)


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("bias", [True, False])
def test_equals_plain_numpy(bias, kind):
    ours, allowed = attend(bias=bias), mask(kind)
    state = {name: x.numpy() for name, x in ours.state_dict().items()}
    arrays = [x.detach().numpy() for x in inputs()]
    full = None if allowed is None else allowed.expand(B, H, L, S).numpy()
    for b, output in enumerate(ours(*inputs(), allowed)):
        own = None if full is None else full[b]
        expected = oracle.multi_head_attention(*(x[b] for x in arrays), state, H, own)
        assert_same(output.detach(), torch.from_numpy(expected))


# ------------------------------------------------------------- worked numbers


def test_scores_are_divided_by_the_width_of_a_head_not_of_the_model():
    attend = MultiHeadAttention(16, 4, bias=False)
    for projection in (attend.q_proj, attend.k_proj, attend.v_proj, attend.out_proj):
        projection.weight.data = torch.eye(16)
    q, k = torch.zeros(1, 1, 16), torch.zeros(1, 2, 16)
    q[0, 0, 0], k[0, 1, 0] = 2.0, 4.0  # raw scores 0 and 8 in head 0
    with record_attention(attend) as weights:
        output = attend(q, k, k)
    share = 1 / (1 + math.exp(-4))
    assert_same(weights[""][0, 0], torch.tensor([[1 - share, share]]), torch.float32)
    assert [f"{w:.4f}" for w in weights[""][0, 0, 0]] == ["0.0180", "0.9820"]
    # Recorded weights are recomputed, so the output is checked too.
    assert_same(output[0, 0, 0], torch.tensor(4 * share), torch.float32)


def test_each_head_sees_whole_tokens_on_its_own_slice_of_the_width():
    # With identity projections head 0 mixes the first half of the width, head 1 the second.
    attend = MultiHeadAttention(4, 2, bias=False)
    for projection in (attend.v_proj, attend.out_proj):
        projection.weight.data = torch.eye(4)
    x = torch.arange(8.0).view(1, 2, 4)
    first_only = torch.tensor([[True, False]])
    assert torch.equal(attend(x, x, x, first_only)[0], torch.tensor([[0.0, 1, 2, 3]] * 2))
    per_head = torch.tensor([[[[True, False]], [[False, True]]]])  # (1, H, 1, S)
    assert torch.equal(attend(x, x, x, per_head)[0], torch.tensor([[0.0, 1, 6, 7]] * 2))


# ----------------------------------------------------------------------- masks


@pytest.mark.parametrize("options", [{}, {"attention": F.scaled_dot_product_attention}])
@pytest.mark.parametrize("heads", [1, B, 3])  # (with as many heads as sentences, too)
def test_a_mask_of_3_axes_is_one_for_each_sentence_and_the_same_for_all_heads(heads, options):
    ours = filled(MultiHeadAttention(6 * heads, heads, **options))
    query, key = randn(B, L, 6 * heads), randn(B, S, 6 * heads, seed=1)
    allowed = mask("random")[:, 0]  # (B, L, S)
    each = [ours(query[b : b + 1], key[b : b + 1], key[b : b + 1], allowed[b]) for b in range(B)]
    assert_same(ours(query, key, key, allowed), torch.cat(each))
    for_all = allowed[:1]  # (1, L, S)
    assert_same(ours(query, key, key, for_all), ours(query, key, key, for_all[0]))


@pytest.mark.parametrize("options", [{}, {"attention": F.scaled_dot_product_attention}])
def test_one_query_for_all_sentences_takes_a_mask_for_each(options):
    ours, (query, key, value) = attend(**options), inputs()
    expected = ours(query[:1].expand(B, L, D_MODEL), key, value, mask("random"))
    assert_same(ours(query[:1], key, value, mask("random")), expected)
    same = [ours(query[:1], key, value, m) for m in (mask("padding"), mask("padding")[:, 0])]
    assert_same(*same)


# -------------------------------------------------------------------- dropout


@pytest.mark.parametrize("attention", [None, F.scaled_dot_product_attention])
def test_dropout_stops_in_eval_and_changes_results_in_training(attention):
    options = {} if attention is None else {"attention": attention}
    ours, x = attend(dropout=0.5, **options), inputs()
    ours.eval()
    with torch.inference_mode():
        quiet = ours(*x)
    assert torch.equal(ours(*x), quiet)
    assert_same(quiet, attend()(*x))
    ours.train()
    assert not torch.equal(ours(*x), ours(*x))


def test_dropout_of_0_changes_nothing_and_of_1_leaves_the_output_bias():
    assert torch.equal(attend(dropout=0.0)(*inputs()), attend().eval()(*inputs()))
    ours = attend(dropout=1.0)
    assert torch.equal(ours(*inputs()), ours.out_proj.bias.expand(B, L, D_MODEL))


def test_dropout_drops_the_same_weights_as_torch_for_the_same_seed():
    theirs = filled(nn.MultiheadAttention(D_MODEL, H, dropout=0.5, batch_first=True))
    ours = MultiHeadAttention(D_MODEL, H, dropout=0.5).double()
    ours.load_state_dict(from_torch(theirs).state_dict())
    with torch.random.fork_rng():
        torch.manual_seed(3)
        expected, _ = theirs(*inputs(), need_weights=False)
        torch.manual_seed(3)
        assert_same(ours(*inputs()), expected)


def test_printing_a_module_shows_its_sizes():
    shown = repr(MultiHeadAttention(12, 3, dropout=0.1))
    assert shown.startswith("MultiHeadAttention(\n  d_model=12, num_heads=3, dropout=0.1")


# ---------------------------------------------------------------------- cache


@pytest.mark.parametrize("chunk", [1, 3, S])
def test_a_growing_cache_gives_what_one_call_gives(chunk):
    ours, (_, x, _) = attend(), inputs()
    cache, outputs = KeyValueCache(grows=True), []
    for start in range(0, S, chunk):
        new = x[:, start : start + chunk]
        end = start + new.shape[1]
        outputs.append(ours(new, new, new, causal_mask(end)[start:], cache=cache))
        assert cache.pair[0].shape == cache.pair[1].shape == (B, H, end, D_K)
    assert_same(torch.cat(outputs, dim=1), ours(x, x, x, causal_mask(S)))


def test_a_static_cache_projects_the_memory_once():
    ours, (query, memory, _) = attend(), inputs()
    calls = []
    for projection in (ours.k_proj, ours.v_proj):
        projection.register_forward_hook(lambda module, *_: calls.append(module))
    expected = ours(query, memory, memory, mask("padding"))
    calls.clear()
    cache, outputs = KeyValueCache(grows=False), []
    for i in range(L):
        new = query[:, i : i + 1]
        outputs.append(ours(new, memory, memory, mask("padding"), cache=cache))
    assert calls == [ours.k_proj, ours.v_proj]
    assert_same(torch.cat(outputs, dim=1), expected)


def test_a_mask_with_a_cache_must_span_all_keys_so_far():
    ours, (_, x, _) = attend(), inputs()
    cache = KeyValueCache(grows=True)
    ours(x, x, x, cache=cache)
    with pytest.raises(ValueError, match=rf"= \({B}, {H}, 2, {S + 2}\), got mask \(2, 2\)"):
        ours(x[:, :2], x[:, :2], x[:, :2], causal_mask(2), cache=cache)


def test_a_cache_reorders_and_repeats_the_rows_of_a_batch():
    ours, (_, x, _) = attend(), inputs()
    cache, rows = KeyValueCache(grows=True), torch.tensor([1, 1, 0])
    cache.reorder(rows)  # nothing stored yet, nothing to do
    ours(x[:, :4], x[:, :4], x[:, :4], cache=cache)
    cache.reorder(rows)
    new = x[rows, 4:]
    assert_same(ours(new, new, new, cache=cache), ours(new, x[rows], x[rows]))


# ----------------------------------------------------------------- properties


@given(seed=st.integers(0, 2**31 - 1), lengths=st.tuples(st.integers(1, 6), st.integers(1, 6)))
@settings(max_examples=25, deadline=None)
def test_order_of_keys_and_other_sentences_of_the_batch_do_not_change_an_output(seed, lengths):
    (n, m), g = lengths, torch.Generator().manual_seed(seed)
    ours = filled(MultiHeadAttention(6, 2), seed=seed)
    q, k, v = (torch.randn(2, s, 6, generator=g, dtype=torch.float64) for s in (n, m, m))
    output = ours(q, k, v)
    # The order of the keys does not matter; shuffled queries give shuffled outputs.
    keys, queries = torch.randperm(m, generator=g), torch.randperm(n, generator=g)
    assert_same(ours(q, k[:, keys], v[:, keys]), output)
    assert_same(ours(q[:, queries], k, v), output[:, queries])
    # The other sentences of the batch do not matter.
    assert_same(ours(q[:1], k[:1], v[:1]), output[:1])
    # The other queries do not matter.
    assert_same(ours(q[:, :1], k, v), output[:, :1])


def test_no_information_flows_from_a_blocked_key():
    ours, (q, k, v), allowed = attend(), inputs(), mask("random")
    output = ours(q, k, v, allowed)
    blocked_for_all = ~allowed.any(dim=1)  # (B, L, S): in no head
    assert blocked_for_all.any()
    for b, i in [(0, 0), (0, 1), (1, 3)]:
        k.grad = v.grad = None
        output[b, i].sum().backward(retain_graph=True)
        for x in (k.grad, v.grad):
            assert torch.equal((x[b] == 0).all(dim=-1), blocked_for_all[b, i])
            assert (x[1 - b] == 0).all()
