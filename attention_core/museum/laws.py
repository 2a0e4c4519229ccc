"""Laws: checks that every right implementation of attention passes.

A law takes an implementation and raises AssertionError, with a sentence, if the
implementation breaks it.
It calls functions and classes as the package's own are called; the laws of attention also
accept ``torch.nn.functional.scaled_dot_product_attention``. All numbers are float64. Two
laws are bad: nearly every implementation passes them. The book's chapter 12 checks all
exhibits of `attention_core.museum` with all laws.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_core import _checks
from attention_core.reach import reach_matrix
from attention_core.transformer import TransformerConfig

__all__ = ["LAWS", "Law", "find", "law", "laws_of"]

PAD, BOS, EOS = 0, 1, 2


@dataclass(frozen=True)
class Law:
    """A check, and the part of the package that it checks.

    Args:
        subject: module and name of that part, as in ``"functional.split_heads"``
        check: raises AssertionError if what it is given breaks the law
        good: whether it tells right from wrong; False for the two bad laws
    """

    subject: str
    check: Callable[[Any], None]
    good: bool = True

    @property
    def name(self) -> str:
        return self.check.__name__

    def __call__(self, implementation: Any) -> None:
        with torch.random.fork_rng(devices=[]):  # (a new module draws numbers)
            self.check(implementation)

    def verdict(self) -> str:
        """Check the package as it is now; return a sentence on what is broken, or ""."""
        try:
            self(find(self.subject))
        except AssertionError as broken:
            return str(broken)
        return ""


LAWS: list[Law] = []


def law(subject: str, *, good: bool = True) -> Callable[[Callable[[Any], None]], Law]:
    """Turn a function into a law and add it to `LAWS`."""

    def enter(check: Callable[[Any], None]) -> Law:
        entered = Law(subject, check, good)
        LAWS.append(entered)
        LAWS.sort(key=lambda known: not known.good)  # the bad ones stand last
        return entered

    return enter


def find(subject: str) -> Any:
    """Return the part of the package that has this name now.

    >>> find("functional.split_heads").__name__
    'split_heads'
    """
    module, *names = subject.split(".")
    found: Any = sys.modules[f"attention_core.{module}"]
    for name in names:
        found = getattr(found, name)
    return found


def laws_of(subject: str) -> list[Law]:
    """Return all good laws of one part, to check an implementation of your own.

    >>> for law in laws_of("functional.scaled_dot_product_attention"):
    ...     law(F.scaled_dot_product_attention)
    """
    return [law for law in LAWS if law.good and law.subject == subject]


def _random(*shape: int, seed: int = 0) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64)


def _same(got: Tensor, wanted: Tensor, sentence: str) -> None:
    assert got.shape == wanted.shape, f"{sentence}: shape {_checks.shape(got)}"
    off = (got - wanted).abs().max().item()
    assert off < 1e-9, f"{sentence}: off by {off:.4f}"


def _qkv(*batch: int) -> tuple[Tensor, Tensor, Tensor]:
    return _random(*batch, 5, 4), _random(*batch, 5, 4, seed=1), _random(*batch, 5, 3, seed=2)


ATTENTION = "functional.scaled_dot_product_attention"
REAL = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None]  # (2, 1, 1, 5)


@law(ATTENTION)
def rows_sum_to_one(attention: Any) -> None:
    """The weights of a query add up to 1: if all values are 1, so is their weighted mean."""
    for batch, mask in (((), None), ((2,), None), ((2, 3), None), ((2, 3), REAL)):
        q, k, v = _qkv(*batch)
        ones = torch.ones_like(v)
        _same(attention(q, k, ones, mask), ones, "the weights of a query do not add up to 1")


@law(ATTENTION)
def shifted_keys_change_nothing(attention: Any) -> None:
    """A vector added to all keys adds the same to all scores of a query."""
    q, k, v = _qkv(2, 3)
    before, after = attention(q, k, v), attention(q, k + _random(4, seed=3), v)
    _same(after, before, "a shift of all keys changes the result")


@law(ATTENTION)
def blocked_keys_do_not_matter(attention: Any) -> None:
    """Other keys and values where the mask blocks leave the result as it is."""
    q, k, v = _qkv(2, 3)
    hidden = ~REAL.mT
    before = attention(q, k, v, REAL)
    after = attention(q, k + 5 * hidden, v + 5 * hidden, REAL)
    _same(after, before, "what the mask hides changes the result")


@law(ATTENTION)
def hidden_values_are_never_mixed_in(attention: Any) -> None:
    """A hidden value has weight 0: 0 times a number is 0, and 0 times ∞ is NaN, not ∞."""
    q, k, v = _qkv(2, 3)
    before = attention(q, k, v, REAL)
    after = attention(q, k, v.masked_fill(~REAL.mT, 1e300), REAL)
    _same(after, before, "a hidden value of 1e300 changes the result")
    for number in (math.inf, -math.inf, math.nan):
        after = attention(q, k, v.masked_fill(~REAL.mT, number), REAL)
        mixed = (~after.isnan() & (after != before)).sum()
        assert mixed == 0, f"a hidden value of {number} makes {mixed} other numbers"


@law(ATTENTION)
def empty_rows_give_zeros(attention: Any) -> None:
    """A query that may attend to nothing gets zeros: a convention, as in torch."""
    q, k, v = _qkv()
    mask = torch.tensor([[True]] * 4 + [[False]]).expand(5, 5)
    sentence = "a fully masked row does not give zeros"
    _same(attention(q, k, v, mask)[4], torch.zeros(3).double(), sentence)


@law(ATTENTION)
def scale_is_the_root_of_d_k(attention: Any) -> None:
    """Of two keys with raw scores 0 and 3, one gets e^(3/√d_k) times as much."""
    for heads, d_k in ((1, 4), (3, 4), (1, 9)):
        q = torch.ones(1, heads, 1, d_k).double()
        k = torch.stack([0 * q, 3 / d_k * q], dim=-2).squeeze(-3)  # (1, heads, 2, d_k)
        weights = attention(q, k, torch.eye(2).double().expand(1, heads, 2, 2))
        ratio = (weights[..., 1] / weights[..., 0]).log()
        _same(ratio, torch.full_like(ratio, 3 / math.sqrt(d_k)), "3 is not divided by the root")


@law(ATTENTION)
def equals_torch(attention: Any) -> None:
    """The results equal those of torch, which many others have checked."""
    causal = torch.ones(5, 5).tril().bool()
    for batch, mask in (((2,), None), ((2, 3), REAL), ((2, 3), causal)):
        q, k, v = _qkv(*batch)
        theirs = F.scaled_dot_product_attention(q, k, v, mask)
        _same(attention(q, k, v, mask), theirs, "torch gets something else")


@law("functional.split_heads")
def heads_keep_tokens_whole(split_heads: Any) -> None:
    """Head h holds its own columns of every token."""
    x = _random(2, 6, 4)
    for h in range(2):
        columns = x[..., 2 * h : 2 * h + 2]
        _same(split_heads(x, 2)[:, h], columns, f"head {h} has other numbers than its columns")


MODULE = "attention.MultiHeadAttention"


def _filled(module: Any, seed: int = 4) -> Any:
    """Return the module in float64 and eval mode, with fixed parameters, biases included."""
    for i, parameter in enumerate(module.double().parameters()):
        parameter.data = 0.3 * _random(*parameter.shape, seed=seed + i)
        if parameter.dim() == 1:
            parameter.data += 0.5
    return module.eval()


@law(MODULE)
def every_token_is_heard(module: Any) -> None:
    """Without a mask each output depends on each input: the reach matrix has no zero."""
    attend = _filled(module(4, 2))
    deaf = (reach_matrix(lambda x: attend(x, x, x), _random(1, 6, 4)) == 0).sum()
    assert deaf == 0, f"{deaf} of 36 entries of the reach matrix are 0"


@law(MODULE)
def module_equals_torch(module: Any) -> None:
    """Torch's module with the same weights gives the same, for three different inputs."""
    ours, theirs = _filled(module(4, 2)), nn.MultiheadAttention(4, 2, batch_first=True).double()
    rows = [getattr(ours, f"{letter}_proj") for letter in "qkv"]
    theirs.in_proj_weight.data = torch.cat([linear.weight for linear in rows])
    theirs.in_proj_bias.data = torch.cat([linear.bias for linear in rows])
    theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    query, key, value = _random(2, 3, 4), _random(2, 5, 4, seed=1), _random(2, 5, 4, seed=2)
    padding = REAL[:, 0, 0]
    wanted = theirs(query, key, value, key_padding_mask=~padding)[0]
    _same(ours(query, key, value, REAL), wanted, "torch's module gets something else")


@law(MODULE)
def eval_repeats_itself(module: Any) -> None:
    """In eval mode there is no dropout: two runs give the same."""
    attend, x = _filled(module(4, 2, dropout=0.5)), _random(2, 6, 4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        _same(attend(x, x, x), attend(x, x, x), "two runs in eval mode differ")


@law(MODULE)
def every_parameter_learns(module: Any) -> None:
    """Each parameter gets a gradient; one without is not used."""
    attend, x = _filled(module(4, 2)), _random(2, 6, 4)
    attend(x, x, x).square().sum().backward()
    for name, parameter in attend.named_parameters():
        assert parameter.grad is not None, f"{name} gets no gradient"


@law("layers.LayerNorm")
def norm_is_per_token(norm: Any) -> None:
    """No token's norm depends on another token."""
    reach = reach_matrix(norm(4).double(), _random(1, 5, 4))
    strangers = (reach - reach.diag().diag() > 0).sum()
    assert strangers == 0, f"{strangers} of 20 pairs of other tokens meet in the norm"


@law("layers.LayerNorm")
def norm_has_variance_one(norm: Any) -> None:
    """Mean 0, and mean of the squares 1, up to eps."""
    for x in ([1.0, 0, 0, 0], [0, 0, 3.0, 5.0]):
        y = norm(4).double()(torch.tensor([x, [9.0, 1, 2, 3]]).double())
        square = y[0].square().mean().item()
        assert abs(square - 1) < 1e-3, f"the variance is {square:.4f}, not 1"


def small_model(model: Any) -> Any:
    """Return a small model in float64 and eval mode, with fixed parameters."""
    sizes: dict[str, Any] = dict(
        d_model=16, num_heads=2, num_layers=2, d_ff=16, dropout=0.0, max_len=16
    )
    return _filled(model(TransformerConfig(src_vocab_size=12, tgt_vocab_size=12, **sizes)))


SRC, TGT = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[BOS, 8, 7, 6]])
MODEL = "transformer.Transformer"


@law(MODEL)
def the_future_does_not_matter(model: Any) -> None:
    """Later target tokens do not change earlier logits."""
    whole, other = small_model(model), TGT.clone()
    other[:, 2:] = 9
    before, after = whole(SRC, TGT)[:, :2], whole(SRC, other)[:, :2]
    _same(after, before, "later words change earlier logits")


@law(MODEL)
def padding_and_mates_do_not_matter(model: Any) -> None:
    """A sentence has the same logits alone and padded in a batch with a longer one."""
    whole = small_model(model)
    src, tgt = (F.pad(x, (0, 2)).repeat(2, 1) for x in (SRC, TGT))
    src[1], tgt[1] = 9, 10
    tgt[0, 4:] = 9  # (the words after the fourth are not compared)
    alone, among = whole(SRC, TGT), whole(src, tgt)[:1, :4]
    _same(among, alone, "padding or batch mates change the logits")


@law(MODEL)
def all_of_the_memory_is_heard(model: Any) -> None:
    """Each target token, the first included, depends on each token of the memory."""
    whole = small_model(model)
    reach = reach_matrix(lambda memory: whole.decode(TGT, memory, None), _random(1, 4, 16))
    deaf = (reach == 0).sum()
    assert deaf == 0, f"{deaf} of 16 pairs of a written and a read word are cut"


@law(MODEL)
def the_cache_changes_nothing(model: Any) -> None:
    """Token by token with a cache, the logits are those of one call."""
    whole = small_model(model)
    memory, cache = whole.encode(SRC), whole.new_cache()
    steps = [whole.decode(TGT[:, i : i + 1], memory, None, cache=cache) for i in range(4)]
    _same(
        torch.cat(steps, dim=1), whole.decode(TGT, memory, None), "with a cache the logits differ"
    )


@law("masks.causal_mask")
def the_first_word_sees_itself_only(causal_mask: Any) -> None:
    """Position i sees i + 1 positions, its own included."""
    counts = causal_mask(4).sum(dim=-1).tolist()
    assert counts == [1, 2, 3, 4], f"the positions see {counts} words, not 1, 2, 3, 4"


@law("training.sequence_loss")
def padding_costs_nothing(loss: Any) -> None:
    """The loss is the mean over real tokens, however much padding there is."""
    logits, targets = _random(2, 3, 5), torch.tensor([[1, 2, 3], [4, 3, PAD]])
    longer, wider = F.pad(logits, (0, 0, 0, 4)), F.pad(targets, (0, 4))
    before, after = loss(logits, targets, pad_id=PAD), loss(longer, wider, pad_id=PAD)
    _same(after, before, "four columns of padding change the loss")


@law("training.shift_targets")
def the_answer_is_one_ahead(shift: Any) -> None:
    """The labels are the next tokens of the input."""
    read, predict = shift(torch.tensor([[BOS, 5, 6, EOS]]))
    assert torch.equal(read[:, 1:], predict[:, :-1]), "the answers are not the next words"
    assert predict[0, -1] == EOS, "the end is never predicted"


@law("training.warmup_rate")
def the_first_update_counts(rate: Any) -> None:
    """The first update has a rate above 0, and the peak is at step ``warmup``."""
    rates = [rate(step, 64, 10) for step in range(1, 30)]
    assert rates[0] > 0, "the first update has rate 0"
    assert max(rates) == rates[9], f"the peak is at step {rates.index(max(rates)) + 1}, not 10"


@law("decoding.normalised_score")
def one_token_is_free(score: Any) -> None:
    """(5 + 1) / 6 = 1: the penalty begins with the second token."""
    got = score(-3.0, 1, 0.6)
    assert abs(got + 3) < 1e-9, f"a single token's -3 becomes {got:.4f}"
