"""The live figure of chapter 9: its counts and shapes are those of a model that is built."""

from __future__ import annotations

import random
import re

import pytest
import torch
import traitlets
from live_states import STATES
from torch.utils.flop_counter import FlopCounterMode

from attention_core import MultiHeadAttention, Transformer, record_attention
from attention_core.alternatives import layer_operations
from attention_core.dates import SOURCE, TARGET
from attention_core.layers import FeedForward
from attention_core.training import load_trained
from attention_core.widgets import Shapes
from attention_core.widgets.figure import HERE

DATES = {"src_vocab_size": len(SOURCE), "tgt_vocab_size": len(TARGET), "tie_embeddings": False}
DATES |= {"d_model": 64, "num_heads": 4, "num_layers": 2, "d_ff": 128}
BASE = {"src_vocab_size": 37_000, "tgt_vocab_size": 37_000, "tie_embeddings": True}
BASE |= {"d_model": 512, "num_heads": 8, "num_layers": 6, "d_ff": 2048}
DRAW = random.Random(5)
DRAWN = [STATES["shapes"](DRAW) | {"batch_size": 3, "num_layers": 2} for _ in range(3)]
CASES = [{}, DATES, BASE | {"src_length": 7}, *DRAWN]


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.fixture(scope="module", params=CASES, ids=[f"case {n}" for n in range(len(CASES))])
def figure(request):
    return Shapes(**request.param)


@pytest.fixture(scope="module")
def built(figure):
    with torch.device("meta"):
        return Transformer(figure.config).eval()


def test_parameter_counts_are_those_of_the_built_model(figure, built):
    numbers = figure.numbers()
    parts = {name: part["learned"] for name, part in numbers["parts"].items()}
    encoder, decoder = built.encoder.layers, built.decoder.layers
    expected = {
        "encoder_self_attention": [(m.self_attention, m.self_attention_norm) for m in encoder],
        "encoder_feed_forward": [(m.feed_forward, m.feed_forward_norm) for m in encoder],
        "decoder_self_attention": [(m.self_attention, m.self_attention_norm) for m in decoder],
        "cross_attention": [(m.cross_attention, m.cross_attention_norm) for m in decoder],
        "decoder_feed_forward": [(m.feed_forward, m.feed_forward_norm) for m in decoder],
        "output": [(built.output,)],
        "memory": [],
    }
    for name, modules in expected.items():
        assert parts[name] == sum(count(m) for pair in modules for m in pair), name
    tied = figure.tie_embeddings
    assert parts["src_embedding"] == (0 if tied else count(built.src_embedding))
    assert parts["tgt_embedding"] == (0 if tied else count(built.tgt_embedding))
    assert numbers["whole"]["learned"] == sum(parts.values()) == count(built)


def test_the_kinds_of_parameters_have_the_shares_of_the_built_model(figure, built):
    kinds = figure.numbers()["kinds"]
    assert sum(kinds.values()) == pytest.approx(100)
    for kind, module in (
        ("attention", MultiHeadAttention),
        ("feed_forward", FeedForward),
        ("norms", type(built.encoder.layers[0].feed_forward_norm)),
    ):
        found = sum(count(m) for m in built.modules() if isinstance(m, module))
        assert kinds[kind] == pytest.approx(100 * found / count(built)), kind


def test_shapes_are_those_of_the_outputs_of_the_built_model(figure, built):
    seen, handles = {}, []

    def watch(name, module):
        def note(_, args, out):
            seen[name] = tuple(out.shape)

        handles.append(module.register_forward_hook(note))

    for name, module in (
        ("src_embedding", built.src_embedding),
        ("tgt_embedding", built.tgt_embedding),
        ("encoder_self_attention", built.encoder.layers[0].self_attention),
        ("encoder_feed_forward", built.encoder.layers[0].feed_forward),
        ("memory", built.encoder),
        ("decoder_self_attention", built.decoder.layers[0].self_attention),
        ("cross_attention", built.decoder.layers[0].cross_attention),
        ("decoder_feed_forward", built.decoder.layers[0].feed_forward),
        ("output", built.output),
    ):
        watch(name, module)
    inner = built.decoder.layers[0].feed_forward.inner
    watch("inner", inner)
    with record_attention(built) as weights:
        built(*_ids(figure))
    for handle in handles:
        handle.remove()
    shapes = figure.shapes
    assert {name: shape["out"] for name, shape in shapes.items()} == {
        name: shape for name, shape in seen.items() if name != "inner"
    }
    assert shapes["decoder_feed_forward"]["inner"] == seen["inner"]
    for name, place in (
        ("encoder_self_attention", "encoder.layers.0.self_attention"),
        ("decoder_self_attention", "decoder.layers.0.self_attention"),
        ("cross_attention", "decoder.layers.0.cross_attention"),
    ):
        assert shapes[name]["weights"] == tuple(weights[place].shape)
    for name, table in (("src_embedding", built.src_embedding), ("output", built.output)):
        assert shapes[name]["table"] == tuple(table.weight.shape)


def _ids(figure):
    sizes = ((figure.batch_size, n) for n in (figure.src_length, figure.tgt_length))
    return [torch.ones(size, dtype=torch.long, device="meta") for size in sizes]


def test_shapes_of_q_k_and_v_are_those_that_attention_gets(figure):
    seen = []

    def look(q, k, v, mask=None, **options):
        seen.append([tuple(x.shape) for x in (q, k, v)])
        return q

    with torch.device("meta"):
        built = Transformer(figure.config, attention=look).eval()
    built(*_ids(figure))
    layers = figure.num_layers
    own, cross = figure.shapes["decoder_self_attention"], figure.shapes["cross_attention"]
    for shape, found in (
        (figure.shapes["encoder_self_attention"], seen[0]),
        (own, seen[layers]),
        (cross, seen[layers + 1]),
    ):
        assert [shape["q"], shape["k"], shape["v"]] == found


def test_multiplications_are_those_that_torch_counts(figure, built):
    with FlopCounterMode(display=False) as counter:
        built(*_ids(figure))
    assert 2 * figure.numbers()["whole"]["multiplications"] == counter.get_total_flops()


def test_self_attention_multiplies_as_often_as_the_package_says():
    figure = Shapes(batch_size=1, src_length=9, d_model=12, num_heads=3, num_layers=1)
    found = figure.numbers()["parts"]["encoder_self_attention"]["multiplications"]
    assert found == layer_operations("self-attention", 9, 12)


@pytest.mark.parametrize(("sizes", "learned"), [({}, 1196), (BASE, 63_082_496), (DATES, 173_184)])
def test_preset_models_have_the_parameter_counts_of_the_book(sizes, learned):
    assert Shapes(**sizes).numbers()["whole"]["learned"] == learned


def test_heads_and_lengths_change_no_parameter_count():
    one = Shapes(**BASE).numbers()
    for change in ({"num_heads": 1}, {"src_length": 500}, {"tgt_length": 64}, {"batch_size": 9}):
        other = Shapes(**(BASE | change)).numbers()
        assert {n: p["learned"] for n, p in one["parts"].items()} == {
            n: p["learned"] for n, p in other["parts"].items()
        }
    more = Shapes(**BASE, src_length=50, tgt_length=40).numbers()["parts"]["cross_attention"]
    assert more["weights_count"] == 100 * one["parts"]["cross_attention"]["weights_count"]


def test_weights_outnumber_the_outputs_from_65_tokens_on():
    for length, more in ((64, False), (65, True)):
        part = Shapes(**BASE, src_length=length).numbers()["parts"]["cross_attention"]
        out = part["out"][0] * part["out"][1] * part["out"][2]
        assert (part["weights_count"] > out) == more


def test_preset_sizes_of_the_page_are_those_of_the_book():
    text = (HERE / "shapes.js").read_text(encoding="utf-8")
    presets = text[text.index("const PRESETS") : text.index("const SIZES")].split("},")[:-1]
    toy = {name: getattr(Shapes(), name) for name in BASE}
    for sizes, preset in zip((toy, DATES, BASE), presets, strict=True):
        for name, value in sizes.items():
            assert re.search(rf"\b{name}: {str(value).lower()}\b", preset), name
    trained = load_trained().config
    assert {name: getattr(trained, name) for name in DATES} == DATES
    assert Transformer(Shapes().config).config.d_model == 4


BAD = [
    (lambda: Shapes(d_model=6, num_heads=4), "num_heads=1 or 2 or 3 or 6 would work"),
    (lambda: Shapes(num_heads=3), "d_model must be divisible by num_heads, got d_model=4"),
    (lambda: Shapes(src_vocab_size=7), "tie_embeddings needs one vocabulary for both"),
    (lambda: Shapes(d_ff=0), "d_ff"),
    (lambda: Shapes(batch_size=0), "batch_size"),
    (lambda: Shapes(src_length=5001), "src_length"),
    (lambda: Shapes(part="norm"), "part"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


def test_a_kernel_may_change_one_size_and_gets_an_error_for_a_bad_one():
    figure = Shapes()
    figure.num_heads = 4
    with pytest.raises(traitlets.TraitError, match="num_heads=3"):
        figure.num_heads = 3
    assert figure.num_heads == 4
