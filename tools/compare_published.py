"""Compare the published models in this package with the libraries that others use.

    python tools/compare_published.py

It needs the weights (requirements-real.txt) and ``transformers``, ``tokenizers``,
``safetensors``, ``gguf`` and ``accelerate``, which the book does not install. It prints the largest
differences; ``reference/published.md`` has those of the last run, with the versions.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers is imported

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_core import record_attention
from attention_core.generation import generate
from attention_core.masks import padding_mask
from attention_core.published import (
    SentenceEncoder,
    load_minilm,
    load_smollm2,
    minilm_folder,
    read_gguf,
    read_safetensors,
    smollm2_file,
)

BOOK = Path(__file__).parents[1]
LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "gguf")

SENTENCES = [
    "I saw a saw.",
    "I saw a saw",
    "The bank of the river was muddy.",
    "She put her money in the bank.",
    "Your journey starts with one step.",
    "Attention is all you need.",
    "The quick brown fox jumps over the lazy dog, while naïve café-goers watch!",
    "antidisestablishmentarianism",
    "东京 is a city",
    "x",
    "Don't panic: e=mc^2 & so on… ½ 😀",
    "attention " * 200,
]
TEXTS = [
    "The capital of France is",
    "I saw a saw, and the saw saw me.",
    "Once upon a time, there was a little girl named",
    "Attention is all you need. It was published in 2017, don't you know?",
    "def add(a, b):\n    return a + b\n\n",
]


def lines_of_the_book() -> Iterator[str]:
    """Yield each line of the book's pages, notebooks and programs."""
    for kind in ("*.md", "*.ipynb", "*.py", "*.js"):
        for path in sorted(BOOK.rglob(kind)):
            folders = path.relative_to(BOOK).parts[:-1]
            if not any(name[0] in "._" or name == "node_modules" for name in folders):
                yield from filter(str.strip, path.read_text(encoding="utf-8").splitlines())


def compare_files() -> dict[str, Any]:
    """Count the tensors that differ from those of the libraries' own readers."""
    import gguf
    from safetensors.torch import load_file

    ours, theirs = (
        read(minilm_folder() / "model.safetensors") for read in (read_safetensors, load_file)
    )
    assert ours.keys() == theirs.keys()
    _, numbers = read_gguf(smollm2_file())
    blocks = gguf.GGUFReader(str(smollm2_file())).tensors
    assert {block.name for block in blocks} == numbers.keys()
    return {
        "safetensors: tensors": len(ours),
        "safetensors: differ": sum(not torch.equal(ours[name], theirs[name]) for name in ours),
        "gguf: tensors": len(numbers),
        "gguf: differ": sum(
            not torch.equal(
                torch.tensor(gguf.dequantize(block.data, block.tensor_type)),
                numbers[block.name],
            )
            for block in blocks
        ),
    }


def compare_tokenizers(lines: Iterable[str]) -> dict[str, Any]:
    """Count the lines that are cut otherwise than by ``tokenizers``.

    Lines with a special token are left out, since here these have no meaning. The byte pairs
    are compared with the rule that the file names, "smollm": each digit alone, then GPT-2's
    words. (The tokenizer that ``transformers`` makes from the file forgets the digits.)
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    pieces = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
    pieces.no_truncation()
    pieces.no_padding()
    _, words = load_minilm()
    metadata, _ = read_gguf(smollm2_file())
    _, pairs = load_smollm2(dtype=torch.float32)
    assert metadata["tokenizer.ggml.pre"] == "smollm"
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    theirs = Tokenizer(models.BPE(vocab=pairs.number, merges=merges))
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    lines = list(lines)
    plain = [s for s in lines if not any(f"[{t}]" in s for t in ("CLS", "SEP", "PAD", "UNK"))]
    whole = [s for s in lines if "<|" not in s]
    return {
        "word pieces: lines": len(plain),
        "word pieces: differ": sum(pieces.encode(s).tokens != words.tokens(s) for s in plain),
        "byte pairs: lines": len(whole),
        "byte pairs: differ": sum(theirs.encode(s).ids != pairs(s)[0].tolist() for s in whole),
    }


def compare_minilm(dtype: torch.dtype) -> dict[str, Any]:
    """Return the largest differences from ``transformers.BertModel``, for real tokens."""
    from transformers import BertModel

    net, words = load_minilm(dtype=dtype)
    ids = words(SENTENCES)
    real = ids != 0
    theirs = BertModel.from_pretrained(minilm_folder(), attn_implementation="eager", dtype=dtype)
    with torch.no_grad():
        found = theirs.eval()(
            input_ids=ids,
            attention_mask=real.long(),
            output_hidden_states=True,
            output_attentions=True,
        )
    states = [net.embed(ids)]
    for layer in net.encoder.layers:
        states.append(layer(states[-1], padding_mask(ids, 0)))
    with record_attention(net) as maps:
        net(ids)
    mean = (found.last_hidden_state * real[..., None]).sum(1) / real.sum(1, keepdim=True)
    mean = F.normalize(mean, dim=-1)
    vectors = net.sentence(ids)
    name = f"MiniLM {str(dtype)[6:]}: "
    return {
        f"{name}hidden states": _worst(states[-1], found.last_hidden_state, real),
        f"{name}states of all layers": max(
            _worst(a, b, real) for a, b in zip(states, found.hidden_states, strict=True)
        ),
        f"{name}attention maps": max(
            _worst(a.transpose(1, 2), b.transpose(1, 2), real)
            for a, b in zip(maps.values(), found.attentions, strict=True)
        ),
        f"{name}sentence vectors": _worst(vectors, mean),
        f"{name}cosines": _worst(vectors @ vectors.T, mean @ mean.T),
        f"{name}torch.nn.TransformerEncoder": _worst(torch_states(net, ids), states[-1], real),
    }


def torch_states(net: SentenceEncoder, ids: Tensor) -> Tensor:
    """Compute the last hidden states with torch's own encoder on the same weights."""
    config = net.config
    layer = nn.TransformerEncoderLayer(
        config.d_model, config.num_heads, config.d_ff, dropout=0.0, activation="gelu",
        layer_norm_eps=1e-12, batch_first=True,
    )  # fmt: skip
    encoder = nn.TransformerEncoder(layer, config.num_layers, enable_nested_tensor=False)
    encoder = encoder.to(net.embedding.weight.dtype).eval()
    for theirs, ours in zip(encoder.layers, net.encoder.layers, strict=True):
        attention: Any = ours.self_attention
        projections = [attention.q_proj, attention.k_proj, attention.v_proj]
        theirs.load_state_dict(
            {
                "self_attn.in_proj_weight": torch.cat([p.weight for p in projections]),
                "self_attn.in_proj_bias": torch.cat([p.bias for p in projections]),
            }
            | _named("self_attn.out_proj", attention.out_proj)
            | _named("linear1", ours.feed_forward.inner)
            | _named("linear2", ours.feed_forward.outer)
            | _named("norm1", ours.self_attention_norm)
            | _named("norm2", ours.feed_forward_norm)
        )
    with torch.no_grad():
        out: Tensor = encoder(net.embed(ids), src_key_padding_mask=ids == 0)
    return out


def compare_smollm2() -> dict[str, Any]:
    """Return the largest differences of logits from ``transformers.LlamaForCausalLM``.

    In float64, ``transformers`` still computes the angles of RoPE and RMSNorm in float32. So
    it is asked twice: as it is, and with these two in float64.
    """
    from transformers import AutoModelForCausalLM

    found: dict[str, Any] = {}
    path = smollm2_file()
    for dtype in (torch.float32, torch.float64):
        net, words = load_smollm2(dtype=dtype)
        theirs = AutoModelForCausalLM.from_pretrained(
            str(path.parent), gguf_file=path.name, dtype=torch.float32
        )
        theirs = theirs.eval().requires_grad_(False).to(dtype)
        name = f"SmolLM2 {str(dtype)[6:]}: "
        found |= _compare_logits(name, net, theirs, words)
    _use_float64(theirs)
    found |= _compare_logits(name + "RoPE and norm in float64: ", net, theirs, words)
    for text in TEXTS[:3]:
        ids = words(text)
        both = theirs.generate(ids, max_new_tokens=20, do_sample=False, pad_token_id=0)
        ours = generate(net, ids, max_len=20)
        equal = ours[0].tolist() == both[0, ids.shape[1] :].tolist()
        found[f"20 greedy tokens equal after {text!r}"] = equal
    return found


def _compare_logits(name: str, net: nn.Module, theirs: Any, words: Any) -> dict[str, Any]:
    pairs = [(net(words(text)), theirs(words(text)).logits) for text in TEXTS]
    return {
        f"{name}logits": max(_worst(a, b) for a, b in pairs),
        f"{name}largest logit": max(a.abs().max().item() for a, _ in pairs),
        f"{name}likeliest token differs": sum(
            int((a.argmax(-1) != b.argmax(-1)).sum()) for a, b in pairs
        ),
    }


def _use_float64(model: Any) -> None:
    """Let a Llama of ``transformers`` compute its angles and its norms in float64."""

    class Angles(nn.Module):
        def forward(self, x: Tensor, position_ids: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
            turns = 1e5 ** (-torch.arange(0, 64, 2, dtype=torch.float64) / 64)
            angles = (position_ids[..., None].double() * turns).repeat(1, 1, 2)
            return angles.cos(), angles.sin()

    class Norm(nn.Module):
        def __init__(self, theirs: Any) -> None:
            super().__init__()
            self.weight, self.eps = theirs.weight, theirs.variance_epsilon

        def forward(self, x: Tensor) -> Tensor:
            return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)

    model.model.rotary_emb = Angles()
    model.model.norm = Norm(model.model.norm)
    for layer in model.model.layers:
        layer.input_layernorm = Norm(layer.input_layernorm)
        layer.post_attention_layernorm = Norm(layer.post_attention_layernorm)


def _worst(a: Tensor, b: Tensor, real: Tensor | None = None) -> float:
    difference = (a - b).abs()
    return (difference if real is None else difference[real]).max().item()


def _named(name: str, module: Any) -> dict[str, Tensor]:
    return {f"{name}.weight": module.weight, f"{name}.bias": module.bias}


def main() -> None:
    print(", ".join(f"{name} {version(name)}" for name in LIBRARIES))
    parts: list[Callable[[], dict[str, Any]]] = [
        compare_files,
        lambda: compare_tokenizers([*lines_of_the_book(), *SENTENCES, *TEXTS]),
        lambda: compare_minilm(torch.float32),
        lambda: compare_minilm(torch.float64),
        compare_smollm2,
    ]
    for part in parts:
        for name, value in part().items():
            text = f"{value:.1e}" if type(value) is float else value
            print(f"{name}: {text}", flush=True)


if __name__ == "__main__":
    main()
