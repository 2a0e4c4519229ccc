"""recording.py: the recorded weights are those used, and recording changes nothing."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from samples import D_FF, D_MODEL, B, H, L, S, assert_same, filled, gradients, mask, randn
from torch import nn

from attention_core import (
    AdditiveAttention,
    DecoderLayer,
    EncoderLayer,
    KeyValueCache,
    MultiHeadAttention,
    attention_weights,
    causal_mask,
    padding_mask,
    record_attention,
    scaled_dot_product_attention,
    split_heads,
)

FUSED = {"attention": F.scaled_dot_product_attention}
X, MEMORY = randn(B, L, D_MODEL), randn(B, S, D_MODEL, seed=1)


def attend(**options):
    return filled(MultiHeadAttention(D_MODEL, H, **options))


def additive():
    return filled(AdditiveAttention(D_MODEL, D_MODEL, 13))


@pytest.mark.parametrize("kind", ["none", "padding", "random"])
@pytest.mark.parametrize("options", [{}, FUSED])
def test_the_weights_are_those_of_the_heads(options, kind):
    module = attend(**options)
    with record_attention(module) as weights:
        module(X, MEMORY, MEMORY, mask(kind))
    q, k = split_heads(module.q_proj(X), H), split_heads(module.k_proj(MEMORY), H)
    assert list(weights) == [""]
    assert weights[""].shape == (B, H, L, S)
    assert not weights[""].requires_grad
    assert_same(weights[""], attention_weights(q, k, mask(kind)).detach())


def test_additive_weights_have_one_head():
    module, allowed = additive(), mask("random")[:, 0]
    with record_attention(module) as weights:
        output = module(X, MEMORY, MEMORY, allowed)
    assert weights[""].shape == (B, 1, L, S)
    assert not weights[""].requires_grad
    assert_same(weights[""][:, 0] @ MEMORY, output.detach())
    assert (weights[""][:, 0][~allowed] == 0).all()


def test_every_attention_of_a_model_has_its_name():
    model = nn.ModuleDict(
        {
            "encoder": nn.ModuleList(EncoderLayer(D_MODEL, H, D_FF) for _ in range(2)),
            "decoder": DecoderLayer(D_MODEL, H, D_FF),
            "pointer": AdditiveAttention(D_MODEL, D_MODEL, 13),
            "unused": MultiHeadAttention(D_MODEL, H),
        }
    ).double()
    with record_attention(model) as weights:
        memory = model["encoder"][1](model["encoder"][0](MEMORY))
        output = model["decoder"](X, memory)
        model["pointer"](output, memory, memory)
    assert {name: tuple(w.shape) for name, w in weights.items()} == {
        "encoder.0.self_attention": (B, H, S, S),
        "encoder.1.self_attention": (B, H, S, S),
        "decoder.self_attention": (B, H, L, L),
        "decoder.cross_attention": (B, H, L, S),
        "pointer": (B, 1, L, S),
    }
    for w in weights.values():
        assert_same(w.sum(dim=-1), torch.ones(w.shape[:-1]).double())


@pytest.mark.parametrize("options", [{}, FUSED])
def test_weights_in_training_are_those_before_dropout(options):
    module = attend(dropout=0.5, **options)
    with record_attention(module) as weights:
        output = module(X, MEMORY, MEMORY)
    assert_same(weights[""].sum(dim=-1), torch.ones(B, H, L).double())
    assert (weights[""] > 0).all()
    # Dropout itself still happened.
    assert not torch.allclose(output, module.eval()(X, MEMORY, MEMORY))


def test_rows_sum_to_1_or_to_0_where_nothing_may_be_attended():
    module, allowed = attend(), mask("random")
    with record_attention(module) as weights:
        module(X, MEMORY, MEMORY, allowed)
    assert_same(weights[""].sum(dim=-1), allowed.any(dim=-1).double())


@pytest.mark.parametrize("make", [attend, additive])
def test_recording_changes_neither_results_nor_gradients(make):
    results = []
    for look in (False, True):
        module, x = make(), X.clone().requires_grad_()
        if look:
            with record_attention(module):
                output = module(x, MEMORY, MEMORY)
        else:
            output = module(x, MEMORY, MEMORY)
        output.square().sum().backward()
        results.append((output, x.grad, gradients(module)))
    for plain, looked in zip(*results, strict=True):
        assert_same(plain, looked)
    assert torch.equal(results[0][0], results[1][0])


@pytest.mark.parametrize("make", [attend, additive])
def test_after_the_block_the_module_is_as_before(make):
    module = make()
    before, names = vars(module).copy(), list(module.state_dict())
    with record_attention(module) as weights:
        assert list(module.state_dict()) == names
    assert vars(module) == before
    with pytest.raises(ValueError, match="memory"), record_attention(module):
        raise ValueError("memory")
    assert vars(module) == before
    module(X, MEMORY, MEMORY)
    assert not weights
    copy.deepcopy(module)


def both():
    """A model with each kind of attention, one of them under two names."""
    twice = attend()
    return nn.ModuleDict({"one": twice, "two": additive(), "three": twice})


def run(model):
    output = model["one"](X, MEMORY, MEMORY)
    return model["two"](output, MEMORY, MEMORY)


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy of a pickle": lambda model: copy.deepcopy(pickle.loads(pickle.dumps(model))),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_made_inside_the_block_records_nothing_and_has_its_own_parameters(name):
    model = both()
    with record_attention(model) as weights:
        twin = COPIES[name](model)
        run(twin)
        assert not weights
    run(twin)
    assert not weights
    assert twin["one"].attention is model["one"].attention is scaled_dot_product_attention
    assert twin["three"] is twin["one"]
    # The copy computes with its own numbers, and can be looked at like any model.
    for parameter in twin.parameters():
        parameter.data *= 2
    with record_attention(twin) as own, record_attention(model) as weights:
        assert not torch.equal(run(twin), run(model))
    q, k = (linear(x) for linear, x in [(twin["one"].q_proj, X), (twin["one"].k_proj, MEMORY)])
    assert_same(own["one"], attention_weights(split_heads(q, H), split_heads(k, H)).detach())
    assert_same(
        own["two"][:, 0], twin["two"].weights(twin["one"](X, MEMORY, MEMORY), MEMORY).detach()
    )


def test_a_module_that_stands_in_a_model_twice_is_recorded_once_and_restored():
    model = both()
    before = [vars(module).copy() for module in model.modules()]
    with record_attention(model) as weights:
        run(model)
    assert list(weights) == ["one", "two"]
    assert [vars(module) for module in model.modules()] == before


@pytest.mark.parametrize("make", [attend, additive])
def test_recordings_may_overlap(make):
    module = make()
    before = vars(module).copy()
    first, second = record_attention(module), record_attention(module)
    early, late = first.__enter__(), second.__enter__()
    first.__exit__(None, None, None)
    module(X, MEMORY, MEMORY)
    assert not early
    assert late[""].shape[-2:] == (L, S)
    second.__exit__(None, None, None)
    assert vars(module) == before


@pytest.mark.parametrize("make", [attend, additive])
def test_an_error_inside_the_attention_leaves_the_module_as_it_was(make):
    module = make()
    before = vars(module).copy()
    with pytest.raises(ValueError, match="same length S"), record_attention(module):
        module(X, MEMORY, X)
    assert vars(module) == before


def test_an_attention_function_that_is_a_module_is_recorded_and_restored():
    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(()).double())

        def forward(self, q, k, v, mask=None, *, dropout_p):
            return self.gain * scaled_dot_product_attention(q, k, v, mask, dropout_p=dropout_p)

    module = attend(attention=Mixer())
    names, before = list(module.state_dict()), vars(module).copy()
    with record_attention(module) as weights:
        module(X, MEMORY, MEMORY)
        assert list(module.state_dict()) == names
    assert weights[""].shape == (B, H, L, S)
    assert vars(module) == before
    assert isinstance(module.attention, Mixer)


@pytest.mark.parametrize("make", [attend, additive])
def test_recordings_may_be_nested(make):
    module = make()
    with record_attention(module) as outer:
        with record_attention(module) as inner:
            module(X, MEMORY, MEMORY)
        assert torch.equal(inner[""], outer[""])
        module(MEMORY, X, X)
    assert inner[""].shape[-2:] == (L, S)
    assert outer[""].shape[-2:] == (S, L)


def test_the_last_run_of_a_module_is_kept():
    module = attend()
    with record_attention(module) as weights:
        module(X, MEMORY, MEMORY)
        module(X, X, X, causal_mask(L))
    assert weights[""].shape == (B, H, L, L)
    assert (weights[""].triu(diagonal=1) == 0).all()


def test_with_a_cache_the_weights_reach_back_over_all_keys():
    module, cache = attend(), KeyValueCache(grows=True)
    with record_attention(module) as weights:
        module(X, X, X, cache=cache)
        module(X[:, :1], X[:, :1], X[:, :1], cache=cache)
    assert weights[""].shape == (B, H, 1, L + 1)


@pytest.mark.parametrize(("source", "target"), [(3, 5), (5, 3)])
def test_cross_attention_follows_the_padding_of_the_source(source, target):
    layer = filled(DecoderLayer(D_MODEL, H, D_FF))
    x, memory = randn(1, target, D_MODEL), randn(1, source, D_MODEL, seed=1)
    ids = torch.ones(1, source).long()
    ids[0, -1] = 0
    masks = {"tgt_mask": causal_mask(target), "memory_mask": padding_mask(ids, 0)}
    with record_attention(layer) as weights:
        output = layer(x, memory, **masks)
    cross = weights["cross_attention"]
    assert cross.shape == (1, H, target, source)
    assert (cross[..., -1] == 0).all()
    assert (cross[..., :-1] > 0).all()
    assert_same(cross.sum(dim=-1), torch.ones(1, H, target).double())
    assert (weights["self_attention"].triu(diagonal=1) == 0).all()
    memory[:, -1] = 1e3
    assert torch.equal(layer(x, memory, **masks), output)
