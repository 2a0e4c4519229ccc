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
    RecurrentConfig,
    RecurrentTranslator,
    Transformer,
    TransformerConfig,
    evaluate,
    greedy_decode,
)
from attention_core import train as command
from attention_core.dates import SOURCE, TARGET, DateBatches, collate, write
from attention_core.training import load_trained, save_trained

OWN = Path(attention_core.__file__).parent / "data" / "dates.pt"
SIZES = {"src_vocab_size": 7, "tgt_vocab_size": 11, "d_model": 8}
MODELS = {
    "Transformer": Transformer(TransformerConfig(**SIZES, num_heads=2, num_layers=1, d_ff=6)),
    "plain": RecurrentTranslator(RecurrentConfig(**SIZES, attention=False)),
    "attentive": RecurrentTranslator(RecurrentConfig(**SIZES, attention=True, num_layers=2)),
}


@pytest.fixture(scope="module")
def model():
    return load_trained()


def test_the_packaged_model_translates_days_that_it_was_not_trained_on(model):
    """It got all 1000 right when it was trained; the test allows four mistakes."""
    batches = DateBatches("test", 100, seed=5)
    accuracy = evaluate(
        model, [batches[n] for n in range(10)], bos_id=TARGET.BOS, eos_id=TARGET.EOS
    )
    assert accuracy.exact > 0.995
    assert accuracy.tokens > 0.999


def test_the_packaged_model_has_the_sizes_of_its_recorded_command(model):
    made = torch.load(OWN, weights_only=True)["extras"]["command"]
    words = shlex.split(made)
    assert words[:3] == ["python", "-m", "attention_core.train"]
    options = command.arguments().parse_args(words[3:])
    assert options.save == Path("attention_core/data/dates.pt")
    built = command.build(options.model, options.d_model, options.dropout)
    assert built.config == model.config
    assert {n: x.shape for n, x in built.state_dict().items()} == {
        n: x.shape for n, x in model.state_dict().items()
    }


def test_the_packaged_model_is_smaller_than_400_kb():
    assert OWN.stat().st_size < 400_000


def test_the_packaged_model_fits_the_current_vocabularies(model):
    assert model.config.src_vocab_size == len(SOURCE)
    assert model.config.tgt_vocab_size == len(TARGET)
    example = write([datetime.date(2026, 11, 29)], "day first")
    src, _ = collate([example])
    out = greedy_decode(model, src, bos_id=TARGET.BOS, eos_id=TARGET.EOS, max_len=40)
    assert TARGET.decode(out[0]) == example.target == "二〇二六年十一月二十九日"


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
        text = f"model must be a Transformer or a RecurrentTranslator, got {name}"
        with pytest.raises(TypeError, match=text):
            save_trained(tmp_path / "model.pt", model)
    path = tmp_path / "plain.pt"
    with pytest.raises(TypeError, match="note must be a tensor or plain data"):
        save_trained(path, MODELS["plain"], note=dataclasses)
    assert not path.exists()


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
