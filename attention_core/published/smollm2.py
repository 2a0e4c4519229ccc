"""SmolLM2-135M-Instruct, a language model of 2024, in the modules of this package."""

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_core.functional import AttentionFunction, scaled_dot_product_attention
from attention_core.language_model import LanguageModel
from attention_core.modern import RMSNorm, SwiGLU
from attention_core.published.byte_pairs import BytePairs
from attention_core.published.files import check_digest, smollm2_file
from attention_core.published.gguf import read_gguf
from attention_core.relative import rotary_attention
from attention_core.transformer import TransformerConfig

__all__ = ["load_smollm2"]

# Part of a layer here -> its name in the published file.
PARTS = {
    "self_attention.q_proj": "attn_q",
    "self_attention.k_proj": "attn_k",
    "self_attention.v_proj": "attn_v",
    "self_attention.out_proj": "attn_output",
    "self_attention_norm": "attn_norm",
    "feed_forward.gate": "ffn_gate",
    "feed_forward.inner": "ffn_up",
    "feed_forward.outer": "ffn_down",
    "feed_forward_norm": "ffn_norm",
}


def load_smollm2(
    file: str | PathLike[str] | None = None,
    *,
    dtype: torch.dtype = torch.float64,
    attention: AttentionFunction = scaled_dot_product_attention,
) -> tuple[LanguageModel, BytePairs]:
    """Load SmolLM2-135M-Instruct and its tokenizer, ready to use and without gradients.

    The model is decoder-only and pre-norm, with `RMSNorm`, `SwiGLU` and no biases. Its
    `attention_core.relative.rotary_attention` has 9 heads of queries and 3 of keys and values.
    All sizes are read from the file, whose numbers have 4 bits (8 bits in the embedding).
    Every tensor of the file is used. ``<|endoftext|>`` counts as padding.

    Args:
        file: the file; `smollm2_file` unless given
        dtype: of the parameters; float64 needs 1.4 GB of memory, float32 0.9 GB
        attention: what `rotary_attention` calls with the turned queries and keys

    Raises:
        MissingWeights: no package with the weights is installed
        ValueError: the file is not the published one
        TypeError: dtype is not a floating-point dtype

    Source: Allal et al. 2025, SmolLM2 (Apache-2.0); the layers, Touvron et al. 2023, section
        2.2. The book's chapter 15.

    >>> net, words = load_smollm2(dtype=torch.float32)
    >>> words.text(net(words("The capital of France is"))[0, -1:].argmax(-1))
    ' Paris'
    """
    if not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point dtype, got {dtype}")
    path = smollm2_file() if file is None else check_digest(Path(file))
    metadata, theirs = read_gguf(path, dtype=dtype)
    sizes = {name.partition(".")[2]: x for name, x in metadata.items() if name[:6] == "llama."}
    words = BytePairs(metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.merges"])
    with torch.device("meta"):
        net = LanguageModel(
            _config(sizes, len(words.pieces)),
            attention=partial(rotary_attention, base=sizes["rope.freq_base"], attention=attention),
            norm=partial(RMSNorm, eps=sizes["attention.layer_norm_rms_epsilon"]),
            feed_forward=SwiGLU,
            positions=False,
        )
    net.load_state_dict(_our_names(theirs, sizes["block_count"]), assign=True)
    net.output.weight = net.embedding.weight  # assigning the state unties them
    return net.eval().requires_grad_(False), words


def _config(sizes: dict[str, Any], vocabulary: int) -> TransformerConfig:
    """Return the sizes that the file gives."""
    return TransformerConfig(
        src_vocab_size=vocabulary,
        tgt_vocab_size=vocabulary,
        d_model=sizes["embedding_length"],
        num_heads=sizes["attention.head_count"],
        num_kv_heads=sizes["attention.head_count_kv"],
        num_layers=sizes["block_count"],
        d_ff=sizes["feed_forward_length"],
        dropout=0.0,
        max_len=sizes["context_length"],
        norm_first=True,
        tie_embeddings=True,
        attention_bias=False,
    )


def _our_names(theirs: dict[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """Give the published tensors the names of `LanguageModel`."""
    embedding = theirs["token_embd.weight"]
    state = {
        "embedding.weight": embedding,
        "output.weight": embedding,
        "encoder.norm.weight": theirs["output_norm.weight"],
    }
    for i in range(num_layers):
        for ours, name in PARTS.items():
            state[f"encoder.layers.{i}.{ours}.weight"] = theirs[f"blk.{i}.{name}.weight"]
    return state
