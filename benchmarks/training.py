"""Training as chapter 10 does it, against the same model made of `nn.Transformer`."""

from functools import partial

import torch
from models import VARIANTS, copy_linear, copy_stack, shake
from torch import Tensor, nn
from torch.testing import assert_close

from attention_core import Transformer, causal_mask, fit, sequence_loss, shift_targets
from attention_core.dates import DateBatches
from attention_core.train import build, learning_rate

STEPS = 5  # updates per measurement


class TorchModel(nn.Module):
    """`nn.Transformer` with embeddings, positions and projection like ours around it."""

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        c = self.config = ours.config
        self.src_embedding = nn.Embedding(c.src_vocab_size, c.d_model)
        self.tgt_embedding = nn.Embedding(c.tgt_vocab_size, c.d_model)
        self.output = nn.Linear(c.d_model, c.tgt_vocab_size, bias=False)
        self.positions = ours.positions  # nothing in it is learned
        self.theirs = nn.Transformer(
            c.d_model,
            c.num_heads,
            c.num_layers,
            c.num_layers,
            c.d_ff,
            dropout=0.0,
            batch_first=True,
            norm_first=True,
        )
        shake(self.theirs)

    def embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        return self.positions(embedding(ids) * self.config.d_model**0.5)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        padding = src == self.config.pad_id
        x = self.theirs(
            self.embed(self.src_embedding, src),
            self.embed(self.tgt_embedding, tgt),
            src_key_padding_mask=padding,
            tgt_mask=~causal_mask(tgt.shape[1]),
            tgt_key_padding_mask=tgt == self.config.pad_id,
            memory_key_padding_mask=padding,
        )
        return self.output(x)

    def hand_over(self, ours: Transformer) -> None:
        """Copy the parameters to ours."""
        for name in ("src_embedding", "tgt_embedding", "output"):
            getattr(ours, name).load_state_dict(getattr(self, name).state_dict())
        for name in ("encoder", "decoder"):
            mine, other = getattr(ours, name), getattr(self.theirs, name)
            copy_stack(mine, other)
            copy_linear(mine.norm, other.norm.weight, other.norm.bias)


def models() -> dict[str, nn.Module]:
    """Make the same model three times, with equal parameters."""
    config = build("transformer", 64).config
    ours = {name: Transformer(config, **options) for name, options in VARIANTS.items()}
    theirs = TorchModel(ours["explicit"])
    for model in ours.values():
        theirs.hand_over(model)
    return {"torch": theirs, **ours}


def check_equal(contestants: dict[str, nn.Module]) -> None:
    """Check in float64 that loss and gradients of a batch agree."""
    src, tgt = DateBatches("train", 16, seed=1)[0]
    read, predict = shift_targets(tgt)
    found = []
    for model in contestants.values():
        model.double()
        loss = sequence_loss(model(src, read), predict, pad_id=0, label_smoothing=0.1)
        tables = [getattr(model, f"{side}_embedding").weight for side in ("src", "tgt")]
        found.append([loss, *torch.autograd.grad(loss, tables)])
        model.float()
    for results in found[1:]:
        assert_close(results, found[0], rtol=1e-12, atol=1e-12)


def updates(model: nn.Module, optimizer: torch.optim.Optimizer, number: int) -> None:
    """Make some updates of a run of 2,000, with the batches and rates of those steps."""
    fit(
        model,
        [batches[i] for i in range(number * STEPS, (number + 1) * STEPS)],
        steps=STEPS,
        optimizer=optimizer,
        rate=lambda step: learning_rate(number * STEPS + step, 64, 2000),
        label_smoothing=0.1,
        clip=1.0,
        progress=False,
    )


batches = DateBatches("train", 64, seed=0)


class Run:
    """Train a model for the next `STEPS` updates at each call."""

    def __init__(self, model: nn.Module) -> None:
        adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
        self.update, self.number = partial(updates, model, adam), 0

    def __call__(self) -> None:
        self.update(self.number)
        self.number += 1


def runs() -> dict[str, Run]:
    contestants = models()
    check_equal(contestants)
    learning = {name: Run(model) for name, model in contestants.items()}
    for run in learning.values():
        run()  # warm-up
    return learning
