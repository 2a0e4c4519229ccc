"""The model in JavaScript gives the numbers and texts of the package, and is sent on request."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import math
import re
import struct
from pathlib import Path

import pytest
import torch
import traitlets
from booksite import live
from live_states import DATA, as_numbers, differences
from node_runs import NODE_SCRIPT, run_script
from torch.testing import assert_close

from attention_core import greedy_decode, record_attention
from attention_core.dates import SOURCE, TARGET, examples
from attention_core.widgets import Translator
from attention_core.widgets.dates_model import MOST, dates_model, packed, run_of
from attention_core.widgets.figure import HERE, script_of

MODEL_SCRIPT = Path(__file__).with_name("live_model.mjs")
SLOWEST, HEAVIEST = 50, 400_000  # milliseconds for a token; compressed bytes

BAD = [
    (lambda: Translator(source=""), "source: text must hold at least one character"),
    (lambda: Translator(source="3 \u039cay"), r"source: .* got 'Μ' \(U\+039C\)"),
    (lambda: Translator(source="1" * 41), "source must have at most 40 characters, got 41"),
    (lambda: Translator(source=3), "source"),
    (lambda: Translator(layer=2), "layer"),
    (lambda: Translator(head=4), "head"),
    (lambda: Translator(head=-1), "head"),
    (lambda: Translator(written=-1), "written"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


# --- the figure in Python -----------------------------------------------------------------------


def test_translations_and_probabilities_are_those_of_the_chapter():
    assert Translator(source="24 November 2026").translation == "二〇二六年十一月二十四日"
    figure = Translator(source="2021-03-16")
    assert figure.translation == "二〇二一年三月十六日"
    # "whole text: 0.3341"; before its end, each character has about 0.905.
    assert figure.numbers()["whole"] == pytest.approx(0.3341, abs=5e-5)
    figure.written = 3
    n = figure.numbers()
    assert n["whole"] == pytest.approx(n["said"][0] * n["said"][1] * n["said"][2])
    assert n["ids"] == TARGET.encode("二〇二")
    assert n["count"] == 3
    assert n["next"][0] == TARGET.encode("一")[0]
    assert Translator(source="31 February 2026").translation == "二〇二六年二月三十一日"
    assert Translator(source="1789-07-14").translation == "一九八九年七月十四日"


def test_weights_are_those_that_record_attention_finds():
    figure = Translator(source="24 Nov 2026", layer=0, head=2, written=5)
    model = dates_model()
    src = torch.tensor([SOURCE.encode("24 Nov 2026")])
    read = torch.tensor([[TARGET.BOS, *TARGET.encode("二〇二六年")]])
    with record_attention(model) as recorded:
        logits = model(src, read)
    cross = recorded["decoder.layers.0.cross_attention"][0]
    assert_close(figure.weights, cross[2])
    assert_close(figure.chances, logits[0, -1].softmax(dim=-1))
    figure.head = None
    assert_close(figure.weights, cross.mean(dim=0))
    assert_close(figure.weights.sum(dim=-1), torch.ones(6, dtype=torch.float64))


def test_the_source_is_brought_to_unicode_normal_form():
    assert Translator(source="3 May 2026").source == "3 May 2026"
    assert Translator(source="3\u20137 May 2026").translation == "二〇二六年五月三日至七日"
    # The letter e and its accent become one character, which the model does not know.
    with pytest.raises(traitlets.TraitError, match=r"source: .* got 'é' \(U\+00E9\)"):
        Translator(source="3 Me\u0301i")


def test_written_beyond_the_end_shows_the_whole_translation():
    all_of_it, more = Translator(written=9), Translator(written=40)
    assert all_of_it.numbers() == more.numbers()
    assert more.numbers()["next"][0] == TARGET.EOS
    assert len(more.weights) == 10


# --- the model in JavaScript -------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Random test dates, what Node makes of them, and how long a token took."""
    sample = examples("test", 220, generator=torch.Generator().manual_seed(11))
    texts = [SOURCE.encode(example.source) for example in sample]
    return texts, translations(tmp_path_factory.mktemp("model"), DATA["translator"]()[0], texts)


def translations(folder: Path, data: dict, texts: list[list[int]]) -> dict:
    """What the model in JavaScript makes of lists of ids, in Node."""
    file = folder / "model.mjs"
    file.write_text(script_of("transformer"), encoding="utf-8")
    return run_script(MODEL_SCRIPT, {"module": file.as_uri(), "data": data, "texts": texts})


def test_javascript_writes_what_greedy_decoding_writes(ran):
    texts, found = ran
    assert len(texts) >= 200
    longest = max(map(len, texts))
    src = torch.tensor([ids + [0] * (longest - len(ids)) for ids in texts])
    ends = {"bos_id": TARGET.BOS, "eos_id": TARGET.EOS, "max_len": MOST}
    expected = greedy_decode(dates_model(), src, **ends)
    for row, run in zip(expected, found["runs"], strict=True):
        assert TARGET.decode(run["ids"]) == TARGET.decode(row)


def test_logits_in_javascript_are_those_of_the_package(ran):
    texts, found = ran
    for ids, run in list(zip(texts, found["runs"], strict=True))[:20]:
        expected = run_of(SOURCE.decode(ids))
        logits = torch.tensor(run["logits"], dtype=torch.float64)
        assert_close(logits, expected.logits, rtol=1e-6, atol=0)
        cross = torch.tensor(run["cross"], dtype=torch.float64).permute(1, 2, 0, 3)
        assert_close(cross, expected.cross, rtol=1e-6, atol=1e-12)


def test_translation_in_node_stays_within_the_time_limit(ran):
    assert ran[1]["token"] < SLOWEST
    assert ran[1]["unpacking"] < 2000


def test_the_comparison_finds_attention_without_its_scaling(tmp_path):
    """The comparison can fail: without the division by √d_k it does."""
    text = script_of("translator")
    wrong = text.replace(" / Math.sqrt(query.length)", "")
    assert wrong != text
    state = Translator(source="3 June 2026").state()
    shown = []
    for name, code in (("right", text), ("wrong", wrong)):
        file = tmp_path / f"{name}.mjs"
        file.write_text(code, encoding="utf-8")
        asked = {"module": file.as_uri(), "states": [state], "data": DATA["translator"]()}
        shown += run_script(NODE_SCRIPT, asked)
    assert not differences("translator", state, as_numbers(shown[0]))
    assert differences("translator", state, as_numbers(shown[1]))


def test_the_first_translation_is_shown_before_the_model_is_fetched(tmp_path):
    file = tmp_path / "translator.mjs"
    file.write_text(script_of("translator"), encoding="utf-8")
    figure = Translator(source="from 28 May to 3 June 2026", written=3)
    states = [figure.state(), {**figure.state(), "head": None, "written": 40, "layer": 0}]
    other = {**figure.state(), "source": "3 May 2026"}
    *shown, nothing = run_script(NODE_SCRIPT, {"module": file.as_uri(), "states": [*states, other]})
    for state, numbers in zip(states, shown, strict=True):
        assert not differences("translator", state, as_numbers(numbers))
    assert nothing["weights"] == []
    assert nothing["chances"] == ["NaN"] * 3


def test_characters_are_those_of_the_vocabularies():
    text = (HERE / "translator.js").read_text("utf-8")
    assert re.search(r'^const SOURCE = "(.*)";$', text, re.M)[1] == SOURCE.characters
    assert re.search(r'^const TARGET = "(.*)";$', text, re.M)[1] == TARGET.characters
    assert f"const [PAD, BOS, EOS] = [{TARGET.PAD}, {TARGET.BOS}, {TARGET.EOS}];" in text
    assert f"const MOST = {MOST};" in text


# --- the file of the model ----------------------------------------------------------------------


def test_the_packed_parameters_are_those_of_the_model():
    manifest, data = packed()
    state = dates_model().state_dict()
    assert [name for name, _ in manifest["shapes"]] == list(state)
    flat = torch.cat([x.flatten() for x in state.values()])
    read = torch.frombuffer(bytearray(data), dtype=torch.float16).double()
    assert torch.equal(read, flat)
    assert len(flat) == 173_440  # as the figure says


def test_the_model_script_is_small_and_cannot_close_its_element():
    script = live.model_script("dates")
    assert script.isascii()
    assert "</" not in script
    assert len(gzip.compress(script.encode(), 6)) <= HEAVIEST
    found = re.fullmatch(r"\(globalThis\.liveData \|\|= \{\}\)\.dates = (.*);\n", script)
    assert json.loads(found[1]) == DATA["translator"]()[0]


# --- in Jupyter, the kernel's part -------------------------------------------------------------


def asked(figure, content):
    sent = []
    figure.send = lambda content, buffers=None: sent.append((content, buffers))
    figure._handle_custom_msg(content, [])  # what ipywidgets does with a message of the page
    return sent


def test_the_kernel_sends_the_model_when_the_page_asks_for_it():
    ((content, buffers),) = asked(Translator(), {"wants": "dates"})
    manifest, data = packed()
    assert content == {"data": "dates", **manifest}
    assert buffers == [data]


@pytest.mark.parametrize("content", [{}, {"wants": "all"}, "dates", None])
def test_the_kernel_answers_no_other_message(content):
    assert asked(Translator(), content) == []


def test_the_page_never_writes_pad_or_bos(tmp_path):
    """As `greedy_decode`, also of a model for which both are likelier than the right start."""
    source, (two,) = SOURCE.encode("24 November 2026"), TARGET.encode("二")
    data, changed = DATA["translator"]()[0], copy.deepcopy(dates_model())
    names = [name for name, _ in data["shapes"]]
    before = sum(math.prod(shape) for _, shape in data["shapes"][: names.index("output.weight")])
    numbers = bytearray(base64.b64decode(data["base64"]))
    rows = changed.output.weight.data
    for token in (TARGET.PAD, TARGET.BOS):
        rows[token] = 2 * rows[two]
        place = 2 * (before + token * rows.shape[1])
        struct.pack_into(f"<{rows.shape[1]}e", numbers, place, *rows[token].tolist())
    data["base64"] = base64.b64encode(numbers).decode("ascii")
    (run,) = translations(tmp_path, data, [source])["runs"]
    first = run["logits"][0]
    assert min(first[TARGET.PAD], first[TARGET.BOS]) > first[two] == max(first[3:])
    options = {"bos_id": TARGET.BOS, "eos_id": TARGET.EOS, "max_len": MOST}
    assert run["ids"] == greedy_decode(changed, torch.tensor([source]), **options)[0].tolist()
    assert TARGET.decode(run["ids"]) == "二〇二六年十一月二十四日"
