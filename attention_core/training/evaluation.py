"""Evaluate a trained model: the share of sentences and of tokens that it gets right."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from attention_core import _options
from attention_core.decoding import Translator, greedy_decode
from attention_core.masks import has_id
from attention_core.training.loop import check_pair
from attention_core.training.objective import shift_targets


@dataclass(frozen=True)
class Accuracy:
    """Hold the share of sentences and of tokens that are right, each between 0 and 1.

    See chapter 10 of the book.

    Args:
        exact: share of the sentences that greedy decoding writes without a mistake: all
            tokens and then EOS, neither too early nor too late
        tokens: share of the tokens, EOS counted, that the decoder predicts correctly under
            teacher forcing, when it reads the right tokens before them

    >>> Accuracy(exact=0.5, tokens=0.75)
    Accuracy(exact=0.5, tokens=0.75)
    """

    exact: float
    tokens: float


@torch.no_grad()
def evaluate(
    model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]], *, bos_id: int, eos_id: int
) -> Accuracy:
    """Compute the accuracy of the model's translations against the right ones.

    The evaluation runs in eval mode; afterwards each submodule has its former mode again. The
    result does not depend on how sentences are batched and padded.

    Args:
        model: as in `greedy_decode`, and called as ``model(src, tgt)``
        batches: a list, or another finite iterable, of pairs ``src, tgt``

    Shape:
        src: ids (B, S)    tgt: ids (B, L + 1): BOS, tokens, EOS, padding

    Raises:
        ValueError: there is no sentence in batches, a target does not begin with BOS and end
            with EOS, or logits are NaN; and as `shift_targets`
        TypeError: batches cannot be iterated, a batch is not a pair of integer tensors; and as
            `greedy_decode`

    >>> from attention_core import Transformer, TransformerConfig
    >>> sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16}
    >>> _ = torch.manual_seed(0)
    >>> model = Transformer(TransformerConfig(src_vocab_size=7, tgt_vocab_size=7, **sizes))
    >>> pair = torch.tensor([[5, 6]]), torch.tensor([[1, 6, 5, 2]])
    >>> evaluate(model, [pair], bos_id=1, eos_id=2).exact
    0.0
    """
    if not hasattr(batches, "__iter__"):
        # Python would iterate by index from 0, without end if there is no IndexError.
        raise TypeError(
            "batches must be a list or another finite iterable of pairs src, tgt, got "
            f"{type(batches).__name__}; take some of them: [batches[i] for i in range(8)]"
        )
    device, pad_id = next(model.parameters()).device, cast(Any, model.config).pad_id
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    exact = sentences = right = tokens = 0
    try:
        for batch in batches:
            src, tgt = (ids.to(device) for ids in check_pair("a batch", batch))
            read, predict = shift_targets(tgt)
            real = ~has_id(predict, pad_id)
            is_end = _check_targets(tgt, real, bos_id, eos_id)
            values, choice = model(src, read).max(dim=-1)
            if values[real].isnan().any():
                raise ValueError("the model's logits must be numbers, got NaN")
            right += int(((choice == predict) & real).sum())
            tokens += int(real.sum())
            # One step more than the longest translation has tokens: EOS must follow in time.
            written = greedy_decode(
                cast(Translator, model),
                src,
                bos_id=bos_id,
                eos_id=eos_id,
                max_len=predict.shape[1],
            )
            room = predict.shape[1] - written.shape[1]
            written = nn.functional.pad(written, (0, room), value=pad_id)
            same = written == predict.masked_fill(is_end, pad_id)
            # After EOS decoding pads; a model that predicts PAD in place of EOS has not ended.
            ended = ~(is_end & has_id(choice, pad_id))
            exact += int((same & ended).all(dim=1).sum())
            sentences += src.shape[0]
    finally:
        for part, training in modes:
            part.training = training
    if sentences == 0:
        raise ValueError("batches must hold at least one sentence, got none")
    return Accuracy(exact / sentences, right / tokens)


def _check_targets(tgt: Tensor, real: Tensor, bos_id: int, eos_id: int) -> Tensor:
    """Check that every target is BOS, tokens, EOS, padding; return where EOS is the label."""
    _options.check_int("bos_id", bos_id)
    _options.check_int("eos_id", eos_id)
    is_end = has_id(tgt[:, 1:], eos_id)
    until_end = is_end.cumsum(dim=1) - is_end.int() == 0
    good = has_id(tgt[:, 0], bos_id) & (is_end.sum(dim=1) == 1)
    good &= (real == until_end).all(dim=1)
    if not good.all():
        row = tgt[int((~good).nonzero()[0])].tolist()
        raise ValueError(
            f"tgt must hold BOS = {bos_id}, tokens, EOS = {eos_id}, then padding, got the row {row}"
        )
    return is_end
