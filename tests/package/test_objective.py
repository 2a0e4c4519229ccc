"""The training objective: shifted targets, the loss over real tokens, the schedule, learning."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from attention_core import (
    Transformer,
    TransformerConfig,
    greedy_decode,
    sequence_loss,
    shift_targets,
    warmup_rate,
)

B, L, V, PAD = 3, 5, 7, 2


def logits_and_targets(dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(B, L, V, generator=g, dtype=torch.float64).to(dtype)
    targets = (PAD + 1 + torch.randint(V - 1, (B, L), generator=g)) % V
    targets[0, -2:], targets[1, 1:] = PAD, PAD
    return logits.requires_grad_(), targets


# ----------------------------------------------------------------- the shift


def test_the_decoder_input_drops_the_last_token_and_the_labels_drop_the_first():
    BOS, a, b, EOS = 1, 5, 6, 2
    read, predict = shift_targets(torch.tensor([[BOS, a, b, EOS], [BOS, b, EOS, 0]]))
    assert read.tolist() == [[BOS, a, b], [BOS, b, EOS]]
    assert predict.tolist() == [[a, b, EOS], [b, EOS, 0]]
    read, predict = shift_targets(torch.tensor([[BOS, EOS]], dtype=torch.int32))
    assert (read.tolist(), predict.tolist()) == ([[BOS]], [[EOS]])
    assert read.dtype == predict.dtype == torch.int32


# ------------------------------------------------------------------ the loss


def test_the_mean_is_over_real_tokens_only():
    loss = sequence_loss(torch.zeros(1, 4, 5), torch.tensor([[2, 1, 0, 0]]), pad_id=0)
    assert f"{loss:.4f}" == "1.6094"  # ln 5, and not the half of it, 0.8047
    assert loss.shape == ()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_equals_torch_with_padding_ignored_in_values_and_gradients(dtype):
    results = []
    for ours in (True, False):
        logits, targets = logits_and_targets(dtype)
        if ours:
            loss = sequence_loss(logits, targets, pad_id=PAD)
        else:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)
        loss.backward()
        results.append((loss, logits.grad))
    for ours, theirs in zip(*results, strict=True):
        assert ours.dtype == dtype
        tolerance = 1e-12 if dtype == torch.float64 else 1e-5
        assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_label_smoothing_equals_that_of_torch_over_all_tokens_but_padding(share):
    # Torch has no padding class: drop its column, and renumber the others.
    logits, targets = logits_and_targets()
    with torch.no_grad():
        logits[..., PAD] = -1e9  # a model that never predicts padding
    others = torch.cat([logits[..., :PAD], logits[..., PAD + 1 :]], dim=-1)
    renumbered = torch.where(targets > PAD, targets - 1, targets)
    renumbered = renumbered.masked_fill(targets == PAD, -100)
    theirs = F.cross_entropy(others.flatten(0, 1), renumbered.flatten(), label_smoothing=share)
    ours = sequence_loss(logits, targets, pad_id=PAD, label_smoothing=share)
    assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_label_smoothing_equals_the_written_out_target_distribution(share):
    logits, targets = logits_and_targets()
    wanted = torch.full((B, L, V), share / (V - 1), dtype=torch.float64)
    wanted[..., PAD] = 0.0
    wanted += (1 - share) * F.one_hot(targets, V).double()
    real = targets != PAD
    assert_close(wanted[real].sum(dim=-1), torch.ones(int(real.sum())).double())
    expected = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)[real].mean()
    loss = sequence_loss(logits, targets, pad_id=PAD, label_smoothing=share)
    assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    # The gradient is the predicted distribution minus the target distribution.
    loss.backward()
    gradient = (logits.softmax(dim=-1) - wanted) * real[..., None] / real.sum()
    assert_close(logits.grad, gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_padding_and_batch_size_do_not_change_the_loss(share):
    logits, targets = logits_and_targets()
    options = {"pad_id": PAD, "label_smoothing": share}
    loss = sequence_loss(logits, targets, **options)
    more = torch.cat([logits, 9 * torch.ones(B, 4, V)], dim=1)
    padded = F.pad(targets, (0, 4), value=PAD)
    assert_close(sequence_loss(more, padded, **options), loss, rtol=1e-12, atol=1e-12)
    parts, counts = [], []
    for b in range(B):
        parts.append(sequence_loss(logits[b : b + 1], targets[b : b + 1], **options))
        counts.append((targets[b] != PAD).sum())
    mean = sum(n * part for n, part in zip(counts, parts, strict=True)) / sum(counts)
    assert_close(mean, loss, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_logits_at_padding_have_gradient_zero(share):
    logits, targets = logits_and_targets()
    sequence_loss(logits, targets, pad_id=PAD, label_smoothing=share).backward()
    padded = targets == PAD
    assert (logits.grad[padded] == 0.0).all()
    assert (logits.grad[~padded] != 0.0).all()


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_a_batch_of_padding_alone_has_loss_zero(share):
    logits, targets = logits_and_targets()
    nothing = torch.full_like(targets, PAD)
    loss = sequence_loss(logits, nothing, pad_id=PAD, label_smoothing=share)
    assert loss.item() == 0.0
    loss.backward()
    assert torch.equal(logits.grad, torch.zeros(B, L, V).double())


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("pad_id", [-100, V, 2**40, -(2**70), 2**64])
def test_a_pad_id_outside_the_vocabulary_marks_padding_as_one_inside_does(pad_id, share):
    """pytorch #72056: torch's own default, -100, is only compared, never looked up."""
    logits, targets = logits_and_targets()
    expected = F.cross_entropy(
        logits.flatten(0, 1),
        targets.masked_fill(targets == PAD, -100).flatten(),
        label_smoothing=share,
    )
    held = abs(pad_id) < 2**63  # an id that int64 cannot hold equals none
    real = targets != PAD
    if held:
        targets = targets.masked_fill(~real, pad_id)
    else:
        logits, targets = logits[real][None], targets[real][None]
    loss = sequence_loss(logits, targets, pad_id=pad_id, label_smoothing=share)
    assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    loss.backward()


def test_a_pad_id_of_minus_100_is_ignored():
    targets = torch.tensor([[2, 1, -100, -100]])
    loss = sequence_loss(torch.zeros(1, 4, 5), targets, pad_id=-100)
    assert f"{loss:.4f}" == "1.6094"


@pytest.mark.parametrize(
    ("dtype", "pad_id"), [(torch.uint8, 256), (torch.int8, 200), (torch.int32, 2**32)]
)
def test_a_pad_id_that_the_dtype_cannot_hold_marks_no_padding(dtype, pad_id):
    targets = torch.tensor([[0, 4]], dtype=dtype)  # 256 and 2**32 would wrap around to 0
    logits = torch.zeros(1, 2, 5)
    logits[0, 0, 0] = 1.0
    expected = F.cross_entropy(logits[0], targets[0].long())
    assert_close(sequence_loss(logits, targets, pad_id=pad_id), expected)


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_long_batch_in_half_precision_has_a_finite_loss(dtype, share):
    """The sum over tokens, 14 * 8192, is more than float16 can hold; the mean is not."""
    logits = torch.zeros(2, 4096, 3, dtype=dtype)
    logits[..., 0] = 14.0
    logits.requires_grad_()
    targets = torch.ones(2, 4096, dtype=torch.long)
    loss = sequence_loss(logits, targets, pad_id=2, label_smoothing=share)
    assert loss.dtype == torch.float32
    exact = sequence_loss(logits.double(), targets, pad_id=2, label_smoothing=share)
    assert_close(loss.double(), exact, rtol=1e-6, atol=0)
    loss.backward()
    assert logits.grad.isfinite().all()


def test_the_loss_works_under_vmap_and_compiles_without_a_graph_break():
    logits, targets = logits_and_targets()

    def loss(logits, targets):
        return sequence_loss(logits, targets, pad_id=PAD, label_smoothing=0.1)

    each = torch.stack([loss(logits[b : b + 1], targets[b : b + 1]) for b in range(B)])
    mapped = torch.func.vmap(loss)(logits[:, None], targets[:, None])
    assert_close(mapped, each)
    whole = torch.compile(loss, fullgraph=True, backend="eager")
    assert_close(whole(logits, targets), loss(logits, targets))
    assert loss(logits.to("meta"), targets.to("meta")).shape == ()


def test_a_logit_of_nan_makes_the_loss_nan():
    logits, targets = logits_and_targets()
    with torch.no_grad():
        logits[2, 0, 0] = torch.nan
    assert sequence_loss(logits, targets, pad_id=PAD).isnan()


# -------------------------------------------------------------- the schedule


def test_the_learning_rate_rises_linearly_and_falls_with_the_inverse_square_root():
    for step, expected in [(1, "1.7469e-07"), (4000, "6.9877e-04"), (16_000, "3.4939e-04")]:
        assert f"{warmup_rate(step, 512, 4000):.4e}" == expected
    rates = [warmup_rate(step, 7, 5) for step in range(1, 12)]
    assert rates[:5] == sorted(rates[:5])
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert rates[4] == pytest.approx(1 / 35**0.5)
    assert rates[1] == pytest.approx(2 * rates[0])
    assert warmup_rate(1, 1, 1) == 1.0
    assert warmup_rate(np.int64(3), np.int32(7), np.int8(5)) == warmup_rate(3, 7, 5)


def test_warmup_rate_works_with_lambda_lr_which_counts_from_zero():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    with pytest.raises(ValueError, match=r"got 0; .*LambdaLR.*step \+ 1"):
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: warmup_rate(step, 7, 5))
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: warmup_rate(step + 1, 7, 5)
    )
    for step in range(1, 12):
        assert optimizer.param_groups[0]["lr"] == warmup_rate(step, 7, 5)
        optimizer.step()
        scheduler.step()


# ------------------------------------------------------------------- learning


@pytest.mark.parametrize("tie_embeddings", [True, False])
def test_the_loss_of_an_untrained_model_is_near_that_of_a_uniform_guess(tie_embeddings):
    torch.manual_seed(0)
    sizes = {"src_vocab_size": 1000, "tgt_vocab_size": 1000, "num_layers": 2, "max_len": 37}
    model = Transformer(TransformerConfig(**sizes, tie_embeddings=tie_embeddings)).eval()
    for part in (model.src_embedding, model.tgt_embedding, model.output):
        assert part.weight.std().item() == pytest.approx(512**-0.5, rel=0.02)
    g = torch.Generator().manual_seed(1)
    src, tgt, targets = (torch.randint(1, 1000, (5, n), generator=g) for n in (31, 37, 37))
    hidden = torch.randn(5, 37, 512, generator=g)
    # ln 1000 = 6.91 and half the logits' variance above it; about 70 for weights of N(0, 1).
    with torch.no_grad():
        assert 7.2 < sequence_loss(model.output(hidden), targets, pad_id=0) < 7.6
        assert 6.9 < sequence_loss(model(src, tgt), targets, pad_id=0) < 8.5


@pytest.fixture
def one_thread():
    """Tiny products are faster on one thread, and their sums have one order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_a_tiny_model_learns_to_reverse_six_tokens(one_thread):
    torch.manual_seed(0)
    sizes = {"src_vocab_size": 11, "tgt_vocab_size": 11, "d_model": 32, "num_heads": 4}
    rest = {"num_layers": 2, "d_ff": 64, "dropout": 0.0, "max_len": 13, "norm_first": True}
    model = Transformer(TransformerConfig(**sizes, **rest))
    optimizer = torch.optim.Adam(model.parameters())
    g = torch.Generator().manual_seed(0)
    losses = []
    for step in range(200):
        src = torch.randint(3, 11, (32, 6), generator=g)
        tgt = F.pad(F.pad(src.flip(1), (1, 0), value=1), (0, 1), value=2)
        read, predict = shift_targets(tgt)
        loss = sequence_loss(model(src, read), predict, pad_id=0)
        optimizer.param_groups[0]["lr"] = 5e-3 * (1 - step / 200)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # Near ln 11 = 2.4 at first, not near 0 as for a model that sees what it must predict.
    assert 2.0 < losses[0] < 4.0
    assert sum(losses[-20:]) / 20 < 0.2
    src = torch.randint(3, 11, (100, 6), generator=g)
    output = greedy_decode(model.eval(), src, bos_id=1, eos_id=2, max_len=9)
    assert (output[:, :6] == src.flip(1)).all(dim=1).sum() >= 80


# ---------------------------------------------------------------- error texts

X, T = torch.zeros(2, 3, 5), torch.ones(2, 3, dtype=torch.long)
ERRORS = [
    (
        lambda: shift_targets(T[:, :1]),
        ValueError,
        r"tgt must hold at least BOS and EOS, got shape \(2, 1\)",
    ),
    (lambda: shift_targets(T[0]), ValueError, r"tgt must have shape \(B, length\), got"),
    (lambda: shift_targets(T.float()), TypeError, "tgt must be an integer tensor, got dtype"),
    (
        lambda: sequence_loss(X, T[:, :2], pad_id=0),
        ValueError,
        r"logits .* \(B, L, V\) and targets \(B, L\), got logits \(2, 3, 5\) and targets \(2, 2\)",
    ),
    (lambda: sequence_loss(X[0], T, pad_id=0), ValueError, "logits must have at least 3 axes"),
    (lambda: sequence_loss(X, T[0], pad_id=0), ValueError, r"targets must have shape \(B, len"),
    (lambda: sequence_loss(X.long(), T, pad_id=0), TypeError, "logits must be a floating-point"),
    (lambda: sequence_loss(X, X[..., 0], pad_id=0), TypeError, "targets must be an integer"),
    (
        lambda: sequence_loss(X, T, pad_id=0, label_smoothing=1.1),
        ValueError,
        r"label_smoothing must lie between 0 and 1, got 1\.1",
    ),
    (
        lambda: sequence_loss(X, T * 5, pad_id=0),
        ValueError,
        r"targets must be at least 0 and below V = 5, or equal pad_id=0, got 5 and logits \(2",
    ),
    (
        lambda: sequence_loss(X, T * -100, pad_id=0),
        ValueError,
        "targets must be at least 0 and below V = 5, or equal pad_id=0, got -100",
    ),
    (lambda: sequence_loss(X, T, pad_id=None), TypeError, "pad_id must be an int, got NoneType"),
    (lambda: sequence_loss(X, T, pad_id=True), TypeError, "pad_id must be an int, got bool True"),
    (lambda: sequence_loss(X, T, pad_id=1.0), TypeError, r"pad_id must be an int, got float 1\.0"),
    (lambda: warmup_rate(0, 512, 4000), ValueError, "step must be at least 1, got 0"),
    (lambda: warmup_rate(1, 512, 0), ValueError, "warmup must be at least 1, got 0"),
    (lambda: warmup_rate(1, 0, 4000), ValueError, "d_model must be at least 1, got 0"),
    (lambda: warmup_rate(1.0, 512, 4000), TypeError, r"step must be an int, got float 1\.0"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
