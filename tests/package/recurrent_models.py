"""A recurrent translator to test, and what it computes, written out word by word."""

import pytest
import torch
from copying_transformer import SIZES, fill

from attention_core.recurrent import RecurrentConfig, RecurrentTranslator

# The width must be even: the two directions of the encoder share it.
V_SRC, V_TGT, D_MODEL = SIZES["src_vocab_size"], SIZES["tgt_vocab_size"], 22

both = pytest.mark.parametrize("attention", [False, True], ids=["plain", "attention"])
both_depths = pytest.mark.parametrize("num_layers", [1, 2])


def config(**changes):
    shared = {name: SIZES[name] for name in ("dropout", "max_len", "pad_id")}
    sizes = dict(src_vocab_size=V_SRC, tgt_vocab_size=V_TGT, d_model=D_MODEL)
    return RecurrentConfig(**{**shared, **sizes, **changes})


def build(dtype=torch.float64, seed=0, **changes):
    """A model in eval mode with random parameters."""
    model = RecurrentTranslator(config(**changes))
    fill(model, seed)
    return model.to(dtype).eval()


def gru_step(gru, layer, x, h):
    """One GRU step (Cho et al. 2014) in torch's form: gates r and z, candidate state n."""
    w_x, w_h, b_x, b_h = (
        getattr(gru, f"{kind}_l{layer}")
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    (r_x, z_x, n_x), (r_h, z_h, n_h) = (w_x @ x + b_x).chunk(3), (w_h @ h + b_h).chunk(3)
    r, z = torch.sigmoid(r_x + r_h), torch.sigmoid(z_x + z_h)
    return (1 - z) * torch.tanh(n_x + r * n_h) + z * h


def read(gru, layer, rows):
    h, states = rows[0].new_zeros(gru.hidden_size), []
    for x in rows:
        h = gru_step(gru, layer, x, h)
        states.append(h)
    return states


def written_out(model, src, tgt):
    """One sentence without padding, word by word: memory, weights, logits."""
    rows = list(model.src_embedding.weight[src])
    for layer in range(model.config.num_layers):
        onward = read(model.encoder, layer, rows)
        if model.config.attention:
            back = read(model.encoder, f"{layer}_reverse", rows[::-1])[::-1]
            onward = [torch.cat(pair) for pair in zip(onward, back, strict=True)]
        rows = onward
    memory = rows if model.config.attention else rows[-1:]
    h = list(model.start(memory[0]).tanh().chunk(model.config.num_layers))
    weights, logits = [], []
    for token in tgt:
        shares = torch.ones(1).to(memory[0])
        if model.config.attention:
            w_q, w_k, v = model.attention.parameters()
            shares = torch.stack([v[0] @ torch.tanh(w_q @ h[-1] + w_k @ m) for m in memory])
            shares = shares.exp() / shares.exp().sum()
        weights.append(shares)
        context = sum(share * m for share, m in zip(shares, memory, strict=True))
        y = model.tgt_embedding.weight[token]
        x = torch.cat([y, context])
        for layer in range(model.config.num_layers):
            x = h[layer] = gru_step(model.decoder, layer, x, h[layer])
        mixed = model.readout.weight @ torch.cat([x, y, context]) + model.readout.bias
        logits.append(model.output.weight @ mixed.tanh())
    return [torch.stack(x) for x in (memory, weights, logits)]
