"""The museum: right code keeps the laws, and a law and tests of the package find each exhibit.

A test suite that passes with a mistake in the code is worth little. So every exhibit is planted
in the package, and the tests listed here for it must fail; without it they pass.
"""

import contextlib
import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import attention_core
from attention_core.museum import EXHIBITS, LAWS, demos, laws, laws_of, mistakes, planted, planting

ROOT = Path(__file__).parents[2]
GOOD = [law for law in LAWS if law.good]
BAD = [law for law in LAWS if not law.good]


def named(things):
    return pytest.mark.parametrize("thing", things, ids=lambda thing: thing.name)


# ------------------------------------------------------------------ the laws


@named(LAWS)
def test_the_package_keeps_every_law(thing):
    assert thing.verdict() == ""


def test_torch_keeps_the_laws_of_attention():
    found = laws_of("functional.scaled_dot_product_attention")
    assert len(found) >= 5
    for law in found:
        law(F.scaled_dot_product_attention)


def test_torch_keeps_the_laws_of_the_norm():
    found = laws_of("layers.LayerNorm")
    assert {law.name for law in found} >= {"norm_is_per_token", "norm_has_variance_one"}
    for law in found:
        law(torch.nn.LayerNorm)


def test_laws_do_not_depend_on_the_default_dtype_or_change_the_random_state():
    before, state = torch.get_default_dtype(), torch.get_rng_state()
    try:
        torch.set_default_dtype(torch.float64)
        for law in GOOD:
            assert law.verdict() == ""
    finally:
        torch.set_default_dtype(before)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_bad_laws_stand_last_behind_the_line_of_the_picture():
    assert [law.good for law in LAWS] == [True] * len(GOOD) + [False] * len(BAD)


@named(GOOD)
def test_every_good_law_finds_some_exhibit(thing):
    for exhibit in EXHIBITS:
        with planted(exhibit):
            if thing.verdict():
                return
    pytest.fail("no exhibit breaks it")


# -------------------------------------------------------------- the exhibits


@named(EXHIBITS)
def test_the_law_of_an_exhibit_reports_it_in_a_sentence(thing):
    with planted(thing):
        sentence = thing.law.verdict()  # only AssertionError is caught
    assert len(sentence.split()) >= 4
    assert thing.law.verdict() == ""


def implementation(exhibit):
    """The function or class that the exhibit's law checks, written with this mistake."""
    right = laws.find(exhibit.law.subject)
    owner, _, name = exhibit.target.rpartition(".")
    if exhibit.target == exhibit.law.subject:
        return exhibit.wrong
    if owner == exhibit.law.subject:
        return type("Wrong", (right,), {name: exhibit.wrong})

    # The law checks a whole, and the mistake is in one part: plant it during calls only.
    def during(function):
        def with_the_mistake(*args, **kwargs):
            with planted(exhibit):
                return function(*args, **kwargs)

        return with_the_mistake

    if inspect.isgeneratorfunction(inspect.unwrap(right)):  # it serves a with block

        @contextlib.contextmanager
        def in_the_block(*args):
            with planted(exhibit), right(*args) as found:
                yield found

        return in_the_block
    if inspect.isfunction(right):
        return during(right)
    assert exhibit.law.subject == laws.MODEL
    methods = {name: during(getattr(right, name)) for name in ("forward", "encode", "decode")}
    return type("Wrong", (right,), methods)


@named(EXHIBITS)
def test_a_law_fails_for_an_implementation_with_the_mistake(thing):
    wrong = implementation(thing)
    with pytest.raises(AssertionError, match=r"(\S+ ){3}"):
        thing.law(wrong)
    thing.law(laws.find(thing.law.subject))


@named(EXHIBITS)
def test_an_exhibit_has_the_signature_of_the_part_that_it_replaces(thing):
    for target, wrong in {thing.target: thing.wrong, **thing.also}.items():
        right = inspect.signature(laws.find(target)).parameters.values()
        mine = inspect.signature(wrong).parameters.values()
        assert [(p.name, p.kind, p.default) for p in mine] == [
            (p.name, p.kind, p.default) for p in right
        ]


@named(EXHIBITS)
def test_an_exhibit_keeps_the_shapes(thing):
    with planted(thing):
        assert demos.shapes_fit.verdict() == ""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@named([e for e in EXHIBITS if e.target == laws.ATTENTION])
def test_an_exhibit_keeps_the_shape_and_the_dtype_of_attention(thing, dtype):
    q, k, v = (torch.randn(2, 3, 5, 4, dtype=dtype) for _ in range(3))
    output = thing.wrong(q, k, v, laws.REAL)
    assert (output.dtype, output.shape) == (dtype, v.shape)
    assert output.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@named([e for e in EXHIBITS if e.target == "layers.LayerNorm.forward"])
def test_an_exhibit_keeps_the_shape_and_the_dtype_of_a_norm(thing, dtype):
    x = torch.randn(2, 3, 4, dtype=dtype)
    output = thing.wrong(attention_core.LayerNorm(4).to(dtype), x)
    assert (output.dtype, output.shape) == (dtype, x.shape)
    assert output.isfinite().all()


def test_names_are_unique_and_every_mistake_has_an_exhibit():
    names = [exhibit.name for exhibit in EXHIBITS]
    assert len(set(names)) == len(names) >= 20
    shown = {wrong for e in EXHIBITS for wrong in (e.wrong, *e.also.values())}
    ours = {
        x
        for name, x in vars(mistakes).items()
        if getattr(x, "__module__", "") == mistakes.__name__ and not name.startswith("_")
    }
    assert shown == ours


def test_planted_restores_everything_even_after_an_error():
    def everything():
        holders = {f"module {x.__name__}": x for x in planting._modules()}
        for module in planting._modules():
            holders |= {str(x): x for x in vars(module).values() if inspect.isclass(x)}
        return {
            (holder, name, id(x), str(getattr(x, "__kwdefaults__", None)))
            for holder, inside in holders.items()
            for name, x in vars(inside).items()
            if not name.startswith("__") or name == "__init__"
        }

    before = everything()
    for exhibit in EXHIBITS:
        seen = before
        with contextlib.suppress(KeyError), planted(exhibit):
            seen = everything()
            raise KeyError
        assert seen != before
        assert everything() == before


def test_a_module_imported_while_a_mistake_is_planted_gets_the_right_part_back():
    (exhibit,) = [e for e in EXHIBITS if e.name == "never_scaled"]
    name = "attention_core.widgets.query_key_value"
    package = sys.modules["attention_core.widgets"] if name in sys.modules else None
    before = sys.modules.pop(name, None)
    try:
        with planted(exhibit):
            late = importlib.import_module(name)
            assert late.scaled_dot_product_attention is mistakes.never_scaled
        assert late.scaled_dot_product_attention is attention_core.scaled_dot_product_attention
    finally:
        if before is not None:
            sys.modules[name] = package.query_key_value = before


def test_planting_twice_leaves_no_trace():
    right = attention_core.scaled_dot_product_attention
    (exhibit,) = [e for e in EXHIBITS if e.name == "never_scaled"]
    with planted(exhibit):
        with planted(exhibit):
            assert attention_core.scaled_dot_product_attention is exhibit.wrong
        assert attention_core.scaled_dot_product_attention is exhibit.wrong
    assert attention_core.scaled_dot_product_attention is right


def test_a_planted_attention_is_the_default_of_new_modules():
    (exhibit,) = [e for e in EXHIBITS if e.name == "never_scaled"]
    with planted(exhibit):
        model = attention_core.EncoderLayer(4, 2, 8)
        assert model.self_attention.attention is mistakes.never_scaled
        assert attention_core.scaled_dot_product_attention is mistakes.never_scaled


# ------------------------------------- tests of the package find each exhibit


KILLED_BY = {
    "softmax_over_axis_1": ["test_functional.py::test_equals_torch_in_values"],
    "heads_by_reshape": [
        "test_functional.py::test_split_heads_cuts_the_width_and_keeps_each_token_whole",
        "test_attention.py::test_each_head_sees_whole_tokens_on_its_own_slice_of_the_width",
    ],
    "padding_hides_queries": [
        "test_functional.py::test_padding_blocks_the_columns_of_keys_not_the_rows_of_queries"
    ],
    "norm_over_the_sentence": [
        "test_layers.py::test_layer_norm_equals_torch_in_values_and_gradients"
    ],
    "scaled_after_softmax": ["test_functional.py::test_equals_torch_in_values"],
    "never_scaled": ["test_functional.py::test_equals_torch_in_values"],
    "scaled_by_d_model": [
        "test_attention.py::test_scores_are_divided_by_the_width_of_a_head_not_of_the_model"
    ],
    "sample_deviation": [
        "test_layers.py::test_layer_norm_divides_by_the_width_and_adds_eps_under_the_root",
        "test_layers.py::test_a_constant_token_becomes_zero_with_a_finite_gradient",
    ],
    "true_blocks": ["test_functional.py::test_keys_and_values_at_padding_do_not_change_the_output"],
    "mask_added": ["test_functional.py::test_keys_and_values_at_padding_do_not_change_the_output"],
    "finite_fill": ["test_functional.py::test_a_query_that_may_attend_to_nothing_gets_zeros"],
    "queries_blanked": [
        "test_layers.py::test_encoder_layer_equals_torch_in_values_and_gradients",
        "test_transformer.py::test_the_encoder_stack_equals_nn_transformer_encoder",
    ],
    "mask_from_vectors": [
        "test_transformer.py::test_cross_attention_hides_the_padding_of_the_source"
    ],
    "inverted_integers": ["test_masks.py::test_padding_mask_is_true_on_real_tokens"],
    "sees_the_next": [
        "test_masks.py::test_causal_mask_lets_a_token_see_itself_and_nothing_later",
        "test_functional.py::test_later_keys_do_not_change_earlier_outputs_under_a_causal_mask",
    ],
    "blind_to_itself": [
        "test_masks.py::test_causal_mask_lets_a_token_see_itself_and_nothing_later"
    ],
    "target_mask_for_source": [
        "test_layers.py::test_decoder_layer_equals_torch_in_values_and_gradients"
    ],
    "no_output_matrix": ["test_attention.py::test_equals_multihead_attention_of_torch"],
    "values_from_keys": ["test_attention.py::test_equals_multihead_attention_of_torch"],
    "dropout_in_eval": [
        "test_attention.py::test_dropout_stops_in_eval_and_changes_results_in_training"
    ],
    "not_shifted": [
        "test_objective.py::test_the_decoder_input_drops_the_last_token_and_the_labels_drop_the_first"
    ],
    "loss_over_padding": ["test_objective.py::test_the_mean_is_over_real_tokens_only"],
    "cached_at_position_0": [
        "test_cache.py::test_gradients_through_the_cache_equal_full_recomputation"
    ],
    "cached_from_top_left": [
        "test_cache.py::test_new_tokens_attend_to_all_cached_ones_and_not_to_padding"
    ],
    "end_not_counted": ["test_beam.py::test_each_hypothesis_is_scored_at_its_own_length"],
    "warm_up_from_0": [
        "test_objective.py::test_the_learning_rate_rises_linearly_and_falls_with_the_inverse_square_root"
    ],
    "halves_for_neighbours": [
        "test_relative.py::test_the_rotation_is_a_complex_product",
        "test_relative.py::test_the_rotation_is_the_sinusoids_backwards",
    ],
    "recorded_unrotated": [
        "test_relative.py::test_recorded_weights_are_those_that_mixed_the_values"
    ],
    "biases_left_behind": [
        "test_conversion.py::test_a_converted_module_gives_torchs_output_and_converts_back",
        "test_conversion.py::test_a_converted_module_trains_like_the_original",
    ],
}


@pytest.fixture(scope="module")
def outcomes():
    if not hasattr(os, "fork"):
        pytest.skip("needs os.fork, which Windows lacks")
    every = sorted({test for tests in KILLED_BY.values() for test in tests})
    jobs = {
        name: [f"tests/package/{test}" for test in tests]
        for name, tests in {"": every, **KILLED_BY}.items()
    }
    run = subprocess.run(
        [sys.executable, "tests/processes/mutants.py", json.dumps(jobs)],
        cwd=ROOT, capture_output=True, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_every_exhibit_has_a_list_of_tests_that_must_fail():
    assert [exhibit.name for exhibit in EXHIBITS] == list(KILLED_BY)


def test_the_listed_tests_pass_for_the_right_package(outcomes):
    assert len(outcomes[""]) >= len({test for tests in KILLED_BY.values() for test in tests})
    assert set(outcomes[""].values()) == {"passed"}


@named(EXHIBITS)
def test_the_listed_tests_fail_for_the_exhibit(thing, outcomes):
    for test in KILLED_BY[thing.name]:
        found = {k: v for k, v in outcomes[thing.name].items() if k.split("[")[0].endswith(test)}
        assert "failed" in found.values(), f"{test} does not notice: {outcomes[thing.name]}"
