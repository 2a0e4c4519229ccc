"""Trained models: the one that comes with the package, and those that a caller saves."""

import copy
import dataclasses
import datetime
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import attention_core
from attention_core import (
    LanguageModel,
    RecurrentConfig,
    RecurrentTranslator,
    Transformer,
    TransformerConfig,
    evaluate,
    generate,
    greedy_decode,
    padding_mask,
)
from attention_core import train as command
from attention_core.cache import LayerCache
from attention_core.continuation import Continuation
from attention_core.dates import BOTH, SOURCE, TARGET, DateBatches, collate, write
from attention_core.relative import rotary_attention
from attention_core.training import load_continuation, load_trained, save_trained

DATA = Path(attention_core.__file__).parent / "data"
SIZES = {"src_vocab_size": 7, "tgt_vocab_size": 11, "d_model": 8}
FILES = {"dates.pt": load_trained, "continuation.pt": load_continuation}
ONE = TransformerConfig(
    src_vocab_size=11, tgt_vocab_size=11, d_model=8, num_heads=2, num_layers=1, d_ff=6
)
MODELS = {
    "LanguageModel": LanguageModel(ONE),
    "Transformer": Transformer(TransformerConfig(**SIZES, num_heads=2, num_layers=1, d_ff=6)),
    "plain": RecurrentTranslator(RecurrentConfig(**SIZES, attention=False)),
    "attentive": RecurrentTranslator(RecurrentConfig(**SIZES, attention=True, num_layers=2)),
}


@pytest.fixture(scope="module")
def model():
    return load_trained()


@pytest.mark.parametrize("name", FILES)
def test_the_packaged_model_translates_days_that_it_was_not_trained_on(name):
    """It got all 1000 right when it was trained; the test allows four mistakes."""
    model, target = FILES[name](), TARGET
    if isinstance(model, LanguageModel):
        model, target = Continuation(model), BOTH
    batches = DateBatches("test", 100, seed=5, target=target)
    accuracy = evaluate(
        model, [batches[n] for n in range(10)], bos_id=TARGET.BOS, eos_id=TARGET.EOS
    )
    assert accuracy.exact > 0.995
    assert accuracy.tokens > 0.999


@pytest.mark.parametrize("name", FILES)
def test_the_packaged_model_has_the_sizes_of_its_recorded_command(name):
    model = FILES[name]()
    made = torch.load(DATA / name, weights_only=True)["extras"]["command"]
    words = shlex.split(made)
    assert words[:3] == ["python", "-m", "attention_core.train"]
    options = command.arguments().parse_args(words[3:])
    assert options.save == Path("attention_core/data") / name
    built = command.build(options.model, options.d_model, options.dropout)
    built = getattr(built, "model", built)  # of a Continuation, its language model
    assert built.config == model.config
    assert {n: x.shape for n, x in built.state_dict().items()} == {
        n: x.shape for n, x in model.state_dict().items()
    }


@pytest.mark.parametrize("name", FILES)
def test_the_packaged_model_is_smaller_than_400_kb(name):
    assert (DATA / name).stat().st_size < 400_000


def test_the_packaged_model_fits_the_current_vocabularies(model):
    assert model.config.src_vocab_size == len(SOURCE)
    assert model.config.tgt_vocab_size == len(TARGET)
    example = write([datetime.date(2026, 11, 29)], "day first")
    src, _ = collate([example])
    out = greedy_decode(model, src, bos_id=TARGET.BOS, eos_id=TARGET.EOS, max_len=40)
    assert TARGET.decode(out[0]) == example.target == "二〇二六年十一月二十九日"


def test_the_packaged_language_model_continues_a_date():
    """Cached and uncached logits agree, and both are those of the right translation."""
    model = load_continuation().double()
    example = write([datetime.date(2026, 11, 29)], "day first")
    src, tgt = collate([example], target=BOTH)
    prompt = torch.cat([src, tgt[:, :1]], dim=1)
    new = generate(model, prompt, max_len=40, eos_id=BOTH.EOS)
    assert BOTH.decode(new[0]) == example.target == "二〇二六年十一月二十九日"
    whole = model(torch.cat([src, tgt[:, :-1]], dim=1))
    assert torch.equal(whole[:, src.shape[1] :].argmax(dim=-1), tgt[:, 1:])
    cache = model.new_cache()
    parts = [model(prompt, cache=cache)]
    parts += [model(tgt[:, n : n + 1], cache=cache) for n in range(1, tgt.shape[1] - 1)]
    assert_close(torch.cat(parts, dim=1), whole, rtol=0, atol=1e-12)


def numbers_in(cache):
    """How many numbers the keys and values of a cache are."""
    pairs = [
        part.pair
        for layer in cache.layers
        for part in (
            (layer.self_attention, layer.cross_attention)
            if isinstance(layer, LayerCache)
            else (layer,)
        )
    ]
    return sum(x.numel() for pair in pairs for x in pair)


def test_at_equal_size_the_decoder_only_model_keeps_two_and_a_half_times_the_numbers(model):
    """A decoder layer keeps keys and values of source and target, as does each of five layers."""
    example = write([datetime.date(2026, 11, 29)], "day first")
    src, tgt = collate([example])
    read = tgt[:, :-1]
    two = model.new_cache()
    model.decode(read, model.encode(src), padding_mask(src, 0), cache=two)
    alone = load_continuation()
    one = alone.new_cache()
    joined, both = collate([example], target=BOTH)
    alone(torch.cat([joined, both[:, :-1]], dim=1), cache=one)
    tokens = src.shape[1] + read.shape[1]
    assert (src.shape[1], read.shape[1]) == (16, 13)
    assert numbers_in(two) == 2 * 2 * 64 * tokens == 7424
    assert numbers_in(one) == 5 * 2 * 64 * tokens == 18_560


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_in_eval_mode_rounded_to_half(tmp_path, name):
    model, path = MODELS[name].train(), tmp_path / "model.pt"
    before = {key: x.clone() for key, x in model.state_dict().items()}
    save_trained(path, model, command="by hand", step=3)
    assert_close(dict(model.state_dict()), before, rtol=0, atol=0)
    assert model.training
    loaded = load_trained(path)
    assert (type(loaded), loaded.config, loaded.training) == (type(model), model.config, False)
    for key, x in loaded.state_dict().items():
        assert x.dtype == torch.float32
        assert_close(x, before[key].half().float(), rtol=0, atol=0)
    extras = torch.load(path, weights_only=True)["extras"]
    assert (extras["command"], extras["step"]) == ("by hand", 3)


def test_the_packaged_model_is_loaded_in_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        loaded = load_trained()
    finally:
        torch.set_default_dtype(torch.float32)
    assert {x.dtype for x in loaded.state_dict().values()} == {torch.float64}


def test_a_saved_model_is_loaded_with_the_explicit_functions(tmp_path):
    model = command.build("transformer", 8)
    save_trained(tmp_path / "model.pt", model)
    loaded = load_trained(tmp_path / "model.pt")
    assert type(loaded.encoder.layers[0].feed_forward_norm).__name__ == "LayerNorm"
    assert "attention_core" in type(loaded.encoder.layers[0].feed_forward_norm).__module__
    src, tgt = DateBatches("test", 3, seed=0)[0]
    same = command.build("transformer", 8)
    same.load_state_dict(loaded.state_dict())
    assert_close(loaded(src, tgt), same.eval()(src, tgt), rtol=1e-5, atol=1e-5)


def test_other_models_and_files_are_refused(tmp_path):
    class Other(Transformer):
        pass

    linear = torch.nn.Linear(2, 3)
    for model, name in ((linear, "Linear"), (Other(MODELS["Transformer"].config), "Other")):
        text = f"a Transformer or a RecurrentTranslator or a LanguageModel, got {name}"
        with pytest.raises(TypeError, match=text):
            save_trained(tmp_path / "model.pt", model)
    path = tmp_path / "plain.pt"
    with pytest.raises(TypeError, match="note must be a tensor or plain data"):
        save_trained(path, MODELS["plain"], note=dataclasses)
    assert not path.exists()


def test_a_language_model_whose_positions_are_in_its_attention_is_refused(tmp_path):
    model = LanguageModel(ONE, positions=False, attention=rotary_attention)
    with pytest.raises(ValueError, match="made with positions=True, got positions=False"):
        save_trained(tmp_path / "model.pt", model)


@pytest.mark.parametrize("value", [1e5, -65520.0, torch.inf, torch.nan])
def test_a_weight_that_float16_cannot_hold_is_refused(tmp_path, value):
    model = copy.deepcopy(MODELS["Transformer"])
    with torch.no_grad():
        model.output.weight[3, 5] = value
    save_trained(tmp_path / "model.pt", MODELS["Transformer"])
    good = (tmp_path / "model.pt").read_bytes()
    text = f"at most 65504 in size, because .* got {value} in output.weight"
    with pytest.raises(ValueError, match=text):
        save_trained(tmp_path / "model.pt", model)
    assert (tmp_path / "model.pt").read_bytes() == good


@pytest.mark.parametrize("name", ["kind", "config"])
def test_an_extra_named_kind_or_config_is_refused(tmp_path, name):
    text = f"must not be named kind or config, which save_trained writes itself, got {name}=3"
    with pytest.raises(ValueError, match=text):
        save_trained(tmp_path / "model.pt", MODELS["plain"], **{name: 3})


def test_sizes_from_numpy_come_back_as_plain_numbers(tmp_path):
    sizes = {name: np.int64(size) for name, size in SIZES.items()}
    rest = {"num_heads": 2, "num_layers": np.int8(1), "d_ff": 6, "dropout": np.float64(0.5)}
    model = Transformer(TransformerConfig(**sizes, **rest))
    save_trained(tmp_path / "model.pt", model)
    assert load_trained(tmp_path / "model.pt").config == model.config


def test_saving_a_model_leaves_the_random_state_unchanged(tmp_path):
    before = torch.get_rng_state()
    save_trained(tmp_path / "model.pt", MODELS["Transformer"])
    assert torch.equal(torch.get_rng_state(), before)
