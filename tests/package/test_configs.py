"""Settings of the models: numbers of NumPy become those of Python, and flags are bools."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from attention_core import RecurrentConfig, RecurrentTranslator, Transformer, TransformerConfig

SIZES = {"src_vocab_size": 11, "tgt_vocab_size": 13, "d_model": 8, "num_layers": 1, "pad_id": 2}
NUMPY = {name: np.int8(size) for name, size in SIZES.items()} | {"dropout": np.float64(0.25)}


@pytest.mark.parametrize(
    ("config_of", "model_of", "options"),
    [
        (TransformerConfig, Transformer, {"num_heads": np.int16(2), "d_ff": np.uint8(17)}),
        (RecurrentConfig, RecurrentTranslator, {"attention": True}),
    ],
)
def test_numbers_of_numpy_become_those_of_python(config_of, model_of, options):
    config = config_of(**NUMPY, **options)
    assert {type(value) for value in asdict(config).values()} <= {int, float, bool, type(None)}
    assert json.loads(json.dumps(asdict(config))) == asdict(config)
    assert asdict(config).items() >= {**SIZES, "dropout": 0.25}.items()
    assert model_of(config).config == config


@pytest.mark.parametrize("name", ["norm_first", "tie_embeddings"])
def test_a_flag_that_is_no_bool_is_named(name):
    with pytest.raises(TypeError, match=f"{name} must be True or False, got str 'no'"):
        TransformerConfig(src_vocab_size=11, tgt_vocab_size=11, **{name: "no"})
