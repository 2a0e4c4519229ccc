"""positional.py: worked numbers, the rotation, learned vectors, precision, error texts."""

import copy
import math

import oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import B, H, L, assert_same, randn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from attention_core import (
    EncoderLayer,
    LearnedPositions,
    SinusoidalPositions,
    sinusoidal_encoding,
    sinusoidal_shift,
)

MODULES = [SinusoidalPositions, LearnedPositions]
ROWS, D = 11, 13


def table(max_len, d_model, **options):
    return sinusoidal_encoding(max_len, d_model, dtype=torch.float64, **options)


# -------------------------------------------------------------- the sinusoids


@pytest.mark.parametrize(
    ("d_model", "row"),
    [
        (1, ["0.8415"]),
        (3, ["0.8415", "0.5403", "0.0022"]),
        (4, ["0.8415", "0.5403", "0.0100", "1.0000"]),
        (5, ["0.8415", "0.5403", "0.0251", "0.9997", "0.0006"]),
    ],
)
def test_position_1_has_the_numbers_worked_out_by_hand(d_model, row):
    assert [f"{x:.4f}" for x in table(2, d_model)[1]] == row
    # Position 0 is sin 0, cos 0, ...
    assert table(2, d_model)[0].tolist() == [float(i % 2) for i in range(d_model)]


@pytest.mark.parametrize("base", [10_000.0, 100.0, 2, 0.5])
@pytest.mark.parametrize("d_model", [1, 2, 3, 4, 5, 8, D])
def test_every_number_equals_the_formula_of_the_paper(d_model, base):
    expected = [[oracle.position(p, i, d_model, base) for i in range(d_model)] for p in range(ROWS)]
    assert_same(table(ROWS, d_model, base=base), torch.tensor(expected, dtype=torch.float64))


def test_an_odd_width_is_a_wider_even_table_of_the_same_frequencies_without_its_last_cosine():
    odd = table(ROWS, 5)
    even = table(ROWS, 6, base=10_000.0 ** (6 / 5))
    assert_same(odd, even[:, :5])


@given(
    offset=st.integers(-300, 300),
    half=st.integers(1, 9),
    start=st.integers(0, 300),
    base=st.sampled_from([10_000.0, 50.0]),
)
@settings(max_examples=60, deadline=None)
def test_a_fixed_distance_is_one_rotation_wherever_it_starts(offset, half, start, base):
    d_model, start = 2 * half, start + max(0, -offset)
    rows = table(start + max(offset, 0) + 1, d_model, base=base)
    shift = sinusoidal_shift(offset, d_model, base=base, dtype=torch.float64)
    assert_close(rows[start] @ shift, rows[start + offset], rtol=0, atol=1e-10)
    identity = torch.eye(d_model, dtype=torch.float64)
    assert_same(shift @ shift.T, identity)
    assert_same(torch.linalg.det(shift), torch.tensor(1.0).double())
    # Going back undoes it, and two steps are one longer step.
    back = sinusoidal_shift(-offset, d_model, base=base, dtype=torch.float64)
    assert_same(shift @ back, identity)
    twice = sinusoidal_shift(2 * offset, d_model, base=base, dtype=torch.float64)
    assert_close(shift @ shift, twice, rtol=0, atol=1e-10)


@pytest.mark.parametrize("offset", [-7, -1, 0, 1, 5])
def test_the_same_rotation_moves_all_rows_at_once(offset):
    rows, shift = table(30, 10), sinusoidal_shift(offset, 10, dtype=torch.float64)
    assert_same(rows[10:20] @ shift, rows[10 + offset : 20 + offset])
    assert torch.equal(shift, torch.eye(10).double()) is (offset == 0)


def test_the_dot_product_of_two_positions_depends_on_their_distance_only():
    products = table(ROWS, 8) @ table(ROWS, 8).T
    for distance in range(ROWS):
        above, below = products.diagonal(distance), products.diagonal(-distance)
        assert_same(above, below)
        assert_same(above, above[0].expand(ROWS - distance))
    # A sum of cosines of the distance, largest (d / 2) at 0.
    expected = [sum(math.cos(k * 10_000 ** (-2 * i / 8)) for i in range(4)) for k in range(ROWS)]
    assert_same(products[0], torch.tensor(expected, dtype=torch.float64))
    assert products.argmax(dim=1).tolist() == list(range(ROWS))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_low_precision_rounds_the_numbers_not_the_positions(dtype):
    # bfloat16 cannot count past 256, float16 not past 2048.
    previous = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        rows, shift = sinusoidal_encoding(2051, 8), sinusoidal_shift(257, 8)
        module = SinusoidalPositions(8, max_len=2051)
    finally:
        torch.set_default_dtype(previous)
    assert rows.dtype == shift.dtype == module.table.dtype == dtype
    assert torch.equal(rows, table(2051, 8).to(dtype))
    assert torch.equal(module.table, rows)
    for a, b in [*zip(range(255, 259), range(256, 260), strict=True), (2047, 2048), (2048, 2049)]:
        assert not torch.equal(rows[a], rows[b])


def test_autocast_does_not_touch_the_table():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(sinusoidal_encoding(300, 8), table(300, 8).float())
        x = randn(B, L, 8, dtype=torch.float32)
        output = SinusoidalPositions(8, max_len=L)(x)
    assert torch.equal(output, x + table(L, 8).float())


def test_tables_are_made_on_the_device_asked_for():
    assert sinusoidal_encoding(3, 4, device="meta").device.type == "meta"
    assert sinusoidal_shift(3, 4, device="meta").device.type == "meta"
    with torch.device("meta"):
        assert sinusoidal_encoding(3, 4).device.type == "meta"
        assert sinusoidal_shift(3, 4).device.type == "meta"
        assert SinusoidalPositions(4, max_len=3).table.device.type == "meta"
        rows = sinusoidal_encoding(3, 4, device="cpu")
    assert torch.equal(rows, table(3, 4).float())
    assert sinusoidal_encoding(0, 4).shape == (0, 4)


class NoFloat64(TorchDispatchMode):
    """Refuses float64 anywhere but on the CPU, as Apple's MPS does."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple) else [result]:
            if isinstance(x, torch.Tensor) and x.dtype == torch.float64:
                assert x.device.type == "cpu", f"{func} made float64 on {x.device}"
        return result


def test_a_device_without_float64_is_handed_no_float64():
    with NoFloat64():
        for dtype in (None, torch.float16):
            sinusoidal_encoding(5, 4, device="meta", dtype=dtype)
            sinusoidal_shift(5, 4, device="meta", dtype=dtype)
        SinusoidalPositions(4, max_len=5).to("meta")
        with torch.device("meta"):
            SinusoidalPositions(4, max_len=5)
        with pytest.raises(AssertionError, match="float64 on meta"):  # the check works
            table(5, 4, device="meta")


# ---------------------------------------------------------------- the modules


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("batch", [(), (B,), (B, H)])
def test_rows_from_offset_on_are_added_to_every_sentence(kind, batch):
    positions, x = kind(D, max_len=ROWS).double(), randn(*batch, L, D)
    for offset in (0, 1, ROWS - L):
        added = positions(x, offset) - x
        assert_same(added, positions.table[offset : offset + L].detach().expand(*batch, L, D))
    assert_same(positions(x), positions(x, 0))
    assert not torch.equal(positions(x), positions(x, 1))
    # One token at a time, as in decoding with a cache.
    steps = [positions(x[..., i : i + 1, :], i) for i in range(L)]
    assert torch.equal(torch.cat(steps, dim=-2), positions(x))


def test_the_sinusoidal_module_adds_the_table():
    positions = SinusoidalPositions(D, max_len=ROWS)
    assert torch.equal(positions.table, sinusoidal_encoding(ROWS, D))
    assert torch.equal(positions(torch.zeros(1, ROWS, D))[0], sinusoidal_encoding(ROWS, D))


def test_only_used_rows_of_learned_positions_get_a_gradient():
    positions = LearnedPositions(D, max_len=ROWS)
    positions(torch.zeros(B, 3, D), offset=2).sum().backward()
    expected = torch.zeros(ROWS, D)
    expected[2:5] = B  # each sentence adds 1
    assert torch.equal(positions.table.grad, expected)


def test_learned_positions_begin_small_and_different():
    positions = LearnedPositions(64, max_len=500).table.detach()
    assert 0.0195 < positions.std().item() < 0.0205
    assert len(positions.unique(dim=0)) == 500


def test_the_state_dict_holds_learned_tables_and_no_sinusoidal_ones():
    assert not SinusoidalPositions(D, max_len=ROWS).state_dict()
    assert not list(SinusoidalPositions(D, max_len=ROWS).parameters())
    learned, other = (LearnedPositions(D, max_len=ROWS) for _ in range(2))
    assert list(learned.state_dict()) == ["table"]
    other.load_state_dict(learned.state_dict())
    assert torch.equal(other.table, learned.table)


@pytest.mark.parametrize("kind", MODULES)
def test_a_sequence_may_fill_the_table_and_not_exceed_it(kind):
    positions = kind(4, max_len=8)
    assert positions(torch.zeros(1, 8, 4)).shape == (1, 8, 4)
    assert positions(torch.zeros(1, 1, 4), offset=7).shape == (1, 1, 4)
    assert positions(torch.zeros(1, 0, 4), offset=8).shape == (1, 0, 4)
    for length, offset in [(9, 0), (1, 8), (4, 5), (1, -1)]:
        text = rf"between 0 and max_len=8, got length {length} from position {offset} \(x \(1, "
        with pytest.raises(ValueError, match=text):
            positions(torch.zeros(1, length, 4), offset)


@pytest.mark.parametrize("kind", MODULES)
def test_dropout_is_applied_to_the_sum_and_only_in_training(kind):
    positions, x = kind(D, max_len=ROWS, dropout=0.5), torch.full((B, L, D), 5.0)
    summed = positions.eval()(x)
    assert torch.equal(summed, positions(x))
    dropped = positions.train()(x)
    assert torch.equal(dropped[dropped != 0], (2 * summed)[dropped != 0])
    assert 0 < (dropped == 0).sum() < dropped.numel()


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_the_result_has_the_dtype_of_the_tokens(kind, dtype):
    positions = kind(D, max_len=ROWS)
    assert positions(torch.zeros(1, 2, D, dtype=dtype)).dtype == dtype
    assert positions.to(dtype).table.dtype == dtype
    assert kind(D, max_len=ROWS).to("meta").table.device.type == "meta"


# ------------------------------------ moved to devices and dtypes, emptied, reloaded

ROUND_TRIPS = {
    "bfloat16": lambda m: m.bfloat16().float(),
    "half": lambda m: m.half().float(),
    "to": lambda m: m.to(torch.float16).to(dtype=torch.float32),
    "double": lambda m: m.double().float(),
    "three dtypes": lambda m: m.half().bfloat16().double().float(),
    "to_empty": lambda m: m.to_empty(device="cpu"),
    "meta and back": lambda m: m.to("meta").to_empty(device="cpu"),
    "half on meta": lambda m: m.half().to("meta").to_empty(device="cpu").float(),
    "copies": lambda m: copy.deepcopy(copy.deepcopy(m).half()).float(),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_the_table_is_unchanged_after_a_round_trip_through_dtypes_and_devices(name):
    module = ROUND_TRIPS[name](SinusoidalPositions(D, max_len=ROWS))
    assert torch.equal(module.table, sinusoidal_encoding(ROWS, D))
    # The same as a part of a larger module.
    whole = ROUND_TRIPS[name](torch.nn.Sequential(SinusoidalPositions(D, max_len=ROWS)))
    assert torch.equal(whole[0].table, sinusoidal_encoding(ROWS, D))


def test_double_precision_has_the_sines_of_double_precision():
    assert torch.equal(SinusoidalPositions(D, max_len=ROWS).double().table, table(ROWS, D))


def test_a_conversion_that_changes_nothing_keeps_the_table_itself():
    module = SinusoidalPositions(D, max_len=ROWS)
    before = module.table
    module.float().to("cpu").requires_grad_(False).eval()
    assert module.table is before


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_module_made_on_meta_has_its_table_once_the_weights_are_loaded(assign, compiled):
    def make():
        return torch.nn.Sequential(torch.nn.Linear(D, D), SinusoidalPositions(D, max_len=ROWS))

    with torch.random.fork_rng():
        torch.manual_seed(0)
        right = make()
    with torch.device("meta"):
        module = make()
    if not assign:
        module.to_empty(device="cpu")
    module.load_state_dict(right.state_dict(), assign=assign)
    run = torch.compile(module, fullgraph=True, backend="eager") if compiled else module
    x = randn(B, L, D, dtype=torch.float32)
    assert torch.equal(run(x), right(x))


def test_a_table_that_the_caller_set_is_converted_and_not_replaced():
    module, own = SinusoidalPositions(D, max_len=ROWS), randn(7, D)
    module.table = own
    assert torch.equal(module.half().table, own.half())


# ----------------------------------------------------------------- "I saw a saw"

IDS = torch.tensor([[0, 1, 2, 1]])


def saw(positions):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        embedded = torch.nn.Embedding(3, 6).double()(IDS)
        layer = EncoderLayer(6, 2, 5).double()
    first, second = layer(embedded if positions is None else positions(embedded))[0, [1, 3]]
    return first, second


def test_attention_cannot_tell_two_equal_words_apart_until_positions_are_added():
    first, second = saw(None)
    assert torch.equal(first, second)
    for kind in MODULES:
        first, second = saw(kind(6, max_len=4).double())
        assert (first - second).abs().max() > 1e-3


# ----------------------------------------------------------------- error texts

ERRORS = [
    (lambda: sinusoidal_encoding(-1, 4), ValueError, "max_len must be at least 0, got -1"),
    (lambda: sinusoidal_encoding(2.0, 4), TypeError, r"max_len must be an int, got float 2\.0"),
    (lambda: sinusoidal_encoding(2, 0), ValueError, "d_model must be at least 1, got 0"),
    (lambda: sinusoidal_encoding(2, True), TypeError, "d_model must be an int, got bool True"),
    (
        lambda: sinusoidal_encoding(2, 4, base=0),
        ValueError,
        "base must be positive and finite, got 0",
    ),
    (
        lambda: sinusoidal_encoding(2, 4, base=-1.0),
        ValueError,
        r"base must be positive and finite, got -1\.0",
    ),
    (
        lambda: sinusoidal_encoding(2, 4, base=math.nan),
        ValueError,
        "base must be positive and finite, got nan",
    ),
    (
        lambda: sinusoidal_shift(1, 4, base=0.0),
        ValueError,
        r"base must be positive and finite, got 0\.0",
    ),
    (
        lambda: sinusoidal_encoding(2, 4, base=math.inf),
        ValueError,
        "base must be positive and finite, got inf",
    ),
    (
        lambda: sinusoidal_shift(2, 4, base=math.inf),
        ValueError,
        "base must be positive and finite, got inf",
    ),
    (lambda: sinusoidal_encoding(2, 4, base="9"), TypeError, "base must be a number, got str '9'"),
    (lambda: sinusoidal_shift(2, 4, base=True), TypeError, "base must be a number, got bool True"),
    (
        lambda: sinusoidal_encoding(2, 4, dtype=torch.int64),
        TypeError,
        r"dtype must be a floating-point dtype, got torch\.int64",
    ),
    (
        lambda: sinusoidal_shift(2, 4, dtype=torch.bool),
        TypeError,
        r"dtype must be a floating-point dtype, got torch\.bool",
    ),
    (lambda: sinusoidal_shift(1, 5), ValueError, "d_model must be even for a rotation, got 5"),
    (lambda: sinusoidal_shift(1, 0), ValueError, "d_model must be at least 2, got 0"),
    (lambda: sinusoidal_shift(1, 4.0), TypeError, r"d_model must be an int, got float 4\.0"),
    (lambda: sinusoidal_shift(1.0, 4), TypeError, r"offset must be an int, got float 1\.0"),
    (lambda: sinusoidal_shift(True, 4), TypeError, "offset must be an int, got bool True"),
]
MODULE_ERRORS = [
    (lambda kind: kind(0), ValueError, "d_model must be at least 1, got 0"),
    (lambda kind: kind("4"), TypeError, "d_model must be an int, got str '4'"),
    (lambda kind: kind(4, max_len=0), ValueError, "max_len must be at least 1, got 0"),
    (lambda kind: kind(4, max_len=None), TypeError, "max_len must be an int, got NoneType None"),
    (
        lambda kind: kind(4, dropout=1.5),
        ValueError,
        r"dropout must lie between 0 and 1, got 1\.5",
    ),
    (
        lambda kind: kind(4, max_len=8)(torch.zeros(2, 3, 5)),
        ValueError,
        r"x must have width 4 on its last axis, got \(2, 3, 5\)",
    ),
    (
        lambda kind: kind(4, max_len=8)(torch.zeros(4)),
        ValueError,
        r"x must have at least 2 axes, got shape \(4,\)",
    ),
    (
        lambda kind: kind(4, max_len=8)(torch.zeros(3, 4).long()),
        TypeError,
        r"x must be a floating-point tensor, got dtype torch\.int64",
    ),
    (lambda kind: kind(4, max_len=8)([[0.0] * 4]), TypeError, r"x must be a torch\.Tensor, got"),
    (
        lambda kind: kind(4, max_len=8)(torch.zeros(2, 3, 4), 1.0),
        TypeError,
        r"offset must be an int, got float 1\.0",
    ),
    (
        lambda kind: kind(4, max_len=8)(torch.zeros(2, 3, 4), offset=True),
        TypeError,
        "offset must be an int, got bool True",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize(("call", "error", "text"), MODULE_ERRORS)
def test_bad_input_of_both_modules_is_named(call, error, text, kind):
    with pytest.raises(error, match=text):
        call(kind)
