"""Two small tasks that a mistake can pass, and two laws that nearly every mistake passes.

Both tasks train the package as it is when they are called: inside a block of
`attention_core.museum.planted`, they train the package with the mistake.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import decoding, training, transformer
from attention_core.museum import laws
from attention_core.museum.laws import BOS, EOS, PAD, law

__all__ = ["Learned", "learn_to_classify", "learn_to_reverse"]

Adam = torch.optim.Adam


@dataclass(frozen=True)
class Learned:
    """Hold how well the small translator learned.

    Args:
        losses: the loss of each update
        with_teacher: accuracy per token under teacher forcing, where the right tokens before
            it are given
        alone: share of rows that greedy decoding reverses correctly; None if decoding
            raises an error
        padded: the same after four more columns of padding are added to the source
    """

    losses: list[float]
    with_teacher: float = 0.0
    alone: float | None = None
    padded: float | None = None


def _model(seed: int) -> transformer.Transformer:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        sizes: dict[str, Any] = dict(src_vocab_size=11, tgt_vocab_size=11, d_model=32, num_heads=4)
        rest: dict[str, Any] = dict(num_layers=1, d_ff=64, dropout=0.0, max_len=12)
        return transformer.Transformer(transformer.TransformerConfig(**sizes, **rest)).float()


def _rate(step: int, steps: int) -> float:
    return 0.01 * min(1.0, step / 50) * (1 - step / (steps + 1))


def _rows(number: int, g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make sources, 3 to 7 letters and EOS, and targets, BOS, the letters reversed and EOS.

    Shape: src (B, 8), tgt (B, 9), both padded
    """
    letters = torch.randint(3, 11, (number, 8), generator=g)
    n, place = torch.randint(3, 8, (number, 1), generator=g), torch.arange(8)
    src = torch.where(place < n, letters, PAD).masked_fill(place == n, EOS)
    tgt = letters.gather(1, (n - 1 - place).clamp(min=0))
    tgt = torch.where(place < n, tgt, PAD).masked_fill(place == n, EOS)
    return src, F.pad(tgt, (1, 0), value=BOS)


def learn_to_reverse(steps: int, *, seed: int = 0, examine: int = 400) -> Learned:
    """Train a small translator to reverse rows of 3 to 7 letters, and evaluate it on new rows.

    Args:
        steps: number of updates
        seed: of the parameters and the rows
        examine: number of new rows for the evaluation; 0 skips it
    """
    model, g = _model(seed), torch.Generator().manual_seed(seed)
    losses = training.fit(
        model,
        [_rows(32, g) for _ in range(steps)],
        steps=steps,
        optimizer=Adam(model.parameters(), betas=(0.9, 0.98)),
        rate=lambda step: _rate(step, steps),
        progress=False,
    )
    if not examine:
        return Learned(losses)
    src, tgt = _rows(examine, g)
    model.eval()
    with torch.no_grad():
        read, predict = training.shift_targets(tgt)
        hits = (model(src, read).argmax(dim=-1) == predict)[predict != PAD]
    wanted = tgt[:, 1:].masked_fill(tgt[:, 1:] == EOS, PAD)

    def written_right(src: Tensor) -> float | None:
        try:
            got = decoding.greedy_decode(model, src, bos_id=BOS, eos_id=EOS, max_len=8)
        except ValueError:
            return None
        got = F.pad(got, (0, 8 - got.shape[1]), value=PAD)
        return (got == wanted).all(dim=1).double().mean().item()

    alone, padded = written_right(src), written_right(F.pad(src, (0, 4), value=PAD))
    return Learned(losses, hits.double().mean().item(), alone, padded)


def learn_to_classify(steps: int, *, seed: int = 0) -> float:
    """Train an encoder to name the letter that occurs twice in a row; return its accuracy.

    A row has 4 to 8 letters and is padded. The outputs of the encoder at real tokens are
    averaged, and one matrix turns the average into a score for each letter. The accuracy is
    measured on 400 new rows.
    """
    model, g = _model(seed), torch.Generator().manual_seed(seed)

    def examples(number: int) -> tuple[Tensor, Tensor]:
        order = torch.rand(number, 8, generator=g).argsort(dim=1) + 3
        n, place = torch.randint(4, 9, (number, 1), generator=g), torch.arange(8)
        twice = torch.rand(number, 8, generator=g).masked_fill(place >= n, -1).argsort(dim=1)
        first, second = twice[:, -1:], twice[:, -2:-1]
        answer = order.gather(1, first)
        return order.scatter(1, second, answer).masked_fill(place >= n, PAD), answer[:, 0]

    def scores(src: Tensor) -> Tensor:
        real = (src != PAD)[:, :, None]
        averages = (model.encode(src) * real).sum(dim=1) / real.sum(dim=1)
        return F.linear(averages, model.output.weight)

    adam = Adam(model.parameters(), betas=(0.9, 0.98))
    for step in range(1, steps + 1):
        adam.param_groups[0]["lr"] = _rate(step, steps)
        src, answer = examples(32)
        adam.zero_grad()
        loss = F.cross_entropy(scores(src), answer)
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    with torch.no_grad():
        src, answer = examples(400)
        return (scores(src).argmax(dim=-1) == answer).double().mean().item()


@law(laws.MODEL, good=False)
def shapes_fit(model: Any) -> None:
    """The logits have the right shape."""
    logits = laws.small_model(model)(laws.SRC, laws.TGT)
    assert logits.shape == (1, 4, 12), f"logits of shape {tuple(logits.shape)}"


@law(laws.MODEL, good=False)
def the_loss_goes_down(model: Any) -> None:
    """Training makes the loss smaller."""
    losses = learn_to_reverse(20, examine=0).losses
    assert losses[-1] < losses[0], f"the loss went from {losses[0]:.2f} to {losses[-1]:.2f}"
