"""What an importer relies on: the names, their documentation, and a light import."""

import subprocess
import sys

import pytest

import attention_core

# What neither takes nor returns a tensor of the model's shapes.
NO_SHAPE = {
    "DecoderCache",
    "KeyValueCache",
    "TransformerConfig",
    "attention_parameters",
    "decoder_layer_parameters",
    "encoder_layer_parameters",
    "feed_forward_parameters",
    "load_checkpoint",
    "normalised_score",
    "record_attention",
    "save_checkpoint",
    "transformer_parameters",
    "warmup_rate",
}


@pytest.mark.parametrize("name", attention_core.__all__)
def test_every_public_name_is_documented_with_its_shape_and_an_example(name):
    doc = getattr(attention_core, name).__doc__
    assert ">>> " in doc
    assert ("Shape:" in doc) != (name in NO_SHAPE)


@pytest.mark.parametrize(
    "name",
    ["attention_weights", "scaled_dot_product_attention", "causal_mask", "padding_mask"],
)
def test_the_polarity_of_masks_stands_in_the_first_line(name):
    first_line = getattr(attention_core, name).__doc__.splitlines()[0]
    assert "may attend" in first_line


def test_importing_the_package_needs_torch_only():
    code = (
        "import sys, attention_core; "
        "heavy = {'matplotlib', 'seaborn', 'IPython', 'pandas'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
