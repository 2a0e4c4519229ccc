"""All-MiniLM-L6-v2, an encoder for sentences, in the modules of this package."""

from functools import partial
from os import PathLike
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_core import _checks, _options
from attention_core._embedding import embed, to_int64
from attention_core.functional import AttentionFunction, scaled_dot_product_attention
from attention_core.layers import FeedForward, LayerNorm
from attention_core.masks import padding_mask
from attention_core.positional import LearnedPositions
from attention_core.published.files import check_minilm, minilm_folder
from attention_core.published.safetensors import read_safetensors
from attention_core.published.word_pieces import WordPieces
from attention_core.transformer import Encoder, TransformerConfig

__all__ = ["SentenceEncoder", "load_minilm", "untrained_minilm"]

MINILM = TransformerConfig(
    src_vocab_size=30_522,
    tgt_vocab_size=30_522,
    d_model=384,
    num_heads=12,
    num_layers=6,
    d_ff=1536,
    dropout=0.0,
    max_len=512,
)

# Part of a layer here -> its name in the published file.
PARTS = {
    "self_attention.q_proj": "attention.self.query",
    "self_attention.k_proj": "attention.self.key",
    "self_attention.v_proj": "attention.self.value",
    "self_attention.out_proj": "attention.output.dense",
    "self_attention_norm": "attention.output.LayerNorm",
    "feed_forward.inner": "intermediate.dense",
    "feed_forward.outer": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}


class SentenceEncoder(nn.Module):
    """Encode sentences as BERT does: embedding plus position, norm, then the `Encoder`.

    It differs from the paper's encoder in four points: positions are learned, a norm follows
    the sum of embedding and position, embeddings are not multiplied by √d_model, and the
    feed-forward has GELU in place of ReLU.

    Args:
        config: the sizes; ``src_vocab_size`` counts
        attention: as in `MultiHeadAttention`

    Shape:
        ids: (B, L) of any integer dtype; ``config.pad_id`` is padding, on the right
        returns: (B, L, d_model)

    Raises:
        ValueError: ids do not have two axes, a text is longer than max_len, or an id is not in
            the vocabulary
        TypeError: ids are not integers

    Source: Devlin et al. 2019, section 3. The book's chapter 14.

    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=11, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> SentenceEncoder(config).sentence(torch.tensor([[1, 5, 2], [1, 2, 0]])).shape
    torch.Size([2, 8])
    """

    def __init__(
        self,
        config: TransformerConfig = MINILM,
        *,
        attention: AttentionFunction = scaled_dot_product_attention,
    ) -> None:
        super().__init__()
        _options.check_kind("config", config, TransformerConfig)
        norm = partial(LayerNorm, eps=1e-12)
        self.config = config
        self.embedding = nn.Embedding(config.src_vocab_size, config.d_model)
        self.positions = LearnedPositions(
            config.d_model, max_len=config.max_len, dropout=config.dropout
        )
        self.norm = norm(config.d_model)
        self.encoder = Encoder(
            config,
            attention=attention,
            norm=norm,
            feed_forward=partial(FeedForward, activation=F.gelu),
        )

    def embed(self, ids: Tensor) -> Tensor:
        """Return what enters the first layer. Shape: ids (B, L) -> (B, L, d_model)."""
        ids = to_int64("ids", ids)
        x: Tensor = self.norm(self.positions(embed("ids", ids, self.embedding)))
        return x

    def forward(self, ids: Tensor) -> Tensor:
        ids = to_int64("ids", ids)
        x: Tensor = self.encoder(self.embed(ids), padding_mask(ids, self.config.pad_id))
        return x

    def sentence(self, ids: Tensor) -> Tensor:
        """Return the mean over the tokens of each sentence, scaled to length 1.

        Shape:
            ids: (B, L)
            returns: (B, d_model)

        Raises:
            ValueError: a sentence has no token
        """
        ids = to_int64("ids", ids)
        real = (ids != self.config.pad_id)[..., None]
        if not real.any(dim=1).all():
            raise ValueError(
                f"each sentence must have a token, got only padding in ids {_checks.shape(ids)}"
            )
        mean = (self(ids) * real).sum(dim=1) / real.sum(dim=1)
        scaled: Tensor = mean / mean.norm(dim=-1, keepdim=True)
        return scaled


def load_minilm(
    folder: str | PathLike[str] | None = None,
    *,
    dtype: torch.dtype = torch.float64,
    attention: AttentionFunction = scaled_dot_product_attention,
) -> tuple[SentenceEncoder, WordPieces]:
    """Load all-MiniLM-L6-v2 and its tokenizer, ready to use and without gradients.

    Every published number is used but those of the pooler and of the second segment. The
    vector of the first segment is the same for all tokens, so it is added to each position.

    Args:
        folder: where ``model.safetensors`` and ``vocab.txt`` lie; `minilm_folder` unless given
        dtype: of the parameters; they are published in float32
        attention: as in `MultiHeadAttention`

    Raises:
        MissingWeights: no package with the weights is installed
        ValueError: a file is not the published one
        TypeError: dtype is not a floating-point dtype

    Source: the model card of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0); Wang et al.
        2020, MiniLM. The book's chapter 14.

    >>> net, words = load_minilm()
    >>> net(words(["I saw a saw."])).shape
    torch.Size([1, 7, 384])
    """
    if not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point dtype, got {dtype}")
    where = minilm_folder() if folder is None else check_minilm(Path(folder))
    words = WordPieces((where / "vocab.txt").read_text(encoding="utf-8").splitlines())
    theirs = read_safetensors(where / "model.safetensors")
    # Convert first: the sum of position and segment would else be rounded to float32.
    theirs = {name: x.to(dtype) for name, x in theirs.items()}
    with torch.device("meta"):
        net = SentenceEncoder(attention=attention)
    net.load_state_dict(_our_names(theirs, net.config.num_layers), assign=True)
    return net.eval().requires_grad_(False), words


def untrained_minilm(
    seed: int = 0,
    *,
    dtype: torch.dtype = torch.float64,
    attention: AttentionFunction = scaled_dot_product_attention,
) -> SentenceEncoder:
    """Make the same machine as `load_minilm`, with random weights: the control.

    Matrices and embeddings are normal with mean 0 and standard deviation 0.02, as BERT's are
    before training; biases are 0 and gains 1. No file is needed.

    Args:
        seed: another seed gives another machine
        dtype, attention: as in `load_minilm`

    Raises:
        TypeError: seed is not an int, or dtype is not a floating-point dtype

    Source: Devlin et al. 2019, appendix A.2. The book's chapter 14.

    >>> untrained_minilm().embedding.weight.shape
    torch.Size([30522, 384])
    """
    seed = _options.check_int("seed", seed)
    if not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point dtype, got {dtype}")
    with torch.device("meta"):
        net = SentenceEncoder(attention=attention)
    # In float64 on the CPU: there, the draw does not depend on the kind of processor.
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for name, x in net.state_dict().items():
        if x.dim() == 2:
            drawn = torch.empty(x.shape, dtype=torch.float64).normal_(0, 0.02, generator=generator)
        else:
            drawn = torch.full(x.shape, float(name.endswith("norm.weight")), dtype=torch.float64)
        state[name] = drawn.to(dtype)
    net.load_state_dict(state, assign=True)
    return net.eval().requires_grad_(False)


def _our_names(theirs: dict[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """Give the published tensors the names of `SentenceEncoder`."""
    e = "embeddings."
    segment = theirs[e + "token_type_embeddings.weight"][0]
    state = {
        "embedding.weight": theirs[e + "word_embeddings.weight"],
        "positions.table": theirs[e + "position_embeddings.weight"] + segment,
    }
    for kind in ("weight", "bias"):
        state[f"norm.{kind}"] = theirs[f"{e}LayerNorm.{kind}"]
        for i in range(num_layers):
            for ours, name in PARTS.items():
                x = theirs[f"encoder.layer.{i}.{name}.{kind}"]
                state[f"encoder.layers.{i}.{ours}.{kind}"] = x
    return state
