"""A stand-in for a Transformer whose next token is a rule that a test can read."""

import random
from types import SimpleNamespace

import torch

PAD, BOS, EOS = 0, 1, 2


class Tokens:
    """A cache that remembers the tokens themselves."""

    def __init__(self):
        self.seen = None

    def extend(self, new):
        self.seen = new if self.seen is None else torch.cat([self.seen, new], dim=1)
        return self.seen

    def reorder(self, rows):
        self.seen = self.seen.index_select(0, rows)


class ScriptedModel:
    """Answers with ``rule(first source token, target tokens after BOS)``: V logits.

    Only the newest row of logits is filled; the others are NaN and must not be read.
    ``calls`` keeps what each call of `decode` was given.
    """

    def __init__(self, rule, *, max_len=50, pad_id=PAD, dtype=torch.float32):
        self.rule, self.dtype = rule, dtype
        self.config = SimpleNamespace(pad_id=pad_id, max_len=max_len)
        self.calls = []

    def encode(self, src):
        assert not torch.is_grad_enabled()
        return src.to(self.dtype)[:, :, None]

    def new_cache(self):
        return Tokens()

    def decode(self, tgt, memory, memory_mask=None, *, cache=None):
        assert not torch.is_grad_enabled()
        self.calls.append(SimpleNamespace(tgt=tgt, memory_mask=memory_mask, cache=cache))
        seen = tgt if cache is None else cache.extend(tgt)
        assert seen.shape[1] <= self.config.max_len
        assert (seen[:, 0] == BOS).all()
        assert len(seen) == len(memory) == len(memory_mask)
        newest = [
            self.rule(int(source), tuple(tokens[1:]))
            for source, tokens in zip(memory[:, 0, 0].tolist(), seen.tolist(), strict=True)
        ]
        logits = torch.tensor(newest, dtype=self.dtype)[:, None, :]
        return torch.nn.functional.pad(logits, (0, 0, tgt.shape[1] - 1, 0), value=float("nan"))


def scripted(*scripts, V=11):
    """Sentence number i emits scripts[i], whatever was said before; then token 3."""

    def rule(source, tokens):
        script = scripts[source - 1]
        token = script[len(tokens)] if len(tokens) < len(script) else 3
        return [5.0 if choice == token else 0.0 for choice in range(V)]

    return rule


def random_rule(seed, V, spread=1.5):
    """Logits drawn anew for every beginning, the same each time it is asked for."""
    known = {}

    def rule(source, tokens):
        if (source, tokens) not in known:
            numbers = random.Random(f"{seed} {source} {tokens}")
            known[source, tokens] = [numbers.gauss(0, spread) for _ in range(V)]
        return known[source, tokens]

    return rule


def table_rule(table, V):
    """Logits from probabilities: {tokens so far: {next token: probability}}; others 0."""

    def rule(source, tokens):
        shares = table.get(tokens, {EOS: 1.0})
        logs = torch.tensor([shares.get(choice, 0.0) for choice in range(V)]).double().log()
        return logs.tolist()

    return rule
