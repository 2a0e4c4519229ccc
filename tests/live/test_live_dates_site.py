"""The two figures of chapter 10 in a real browser, and the translator as in Jupyter."""

from __future__ import annotations

import base64
import json
import time

import pytest
import torch
from figure_checks import check, places
from live_states import DATA, differences
from site_browser import PHONE, WIDE

from attention_core import record_attention
from attention_core.dates import SOURCE, TARGET
from attention_core.widgets import Translator
from attention_core.widgets.dates_model import dates_model
from attention_core.widgets.figure import script_of

SLOWEST = 50  # milliseconds for a token, where the tests run


@pytest.fixture(scope="module")
def found(site):
    """The page of each figure, and its place there."""
    pages = {name: (path, number) for path, number, name in places(site)}
    if not {"translator", "attention_map"} <= pages.keys():
        pytest.skip("no page shows these figures")
    return pages


@pytest.fixture
def open_page(found, browser, site, address):
    """Return a function that opens a figure's page: the tab, the figure, the requested files."""
    contexts = []

    def opened(name, *, as_file=False, width=WIDE, **options):
        path, number = found[name]
        options.setdefault("reduced_motion", "reduce")
        view = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=view, **options))
        tab = contexts[-1].new_page()
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url.split("/")[-1]))
        tab.goto(path.as_uri() if as_file else address + path.relative_to(site).as_posix())
        root = tab.locator("div[data-live] > .live-figure").nth(number)
        return tab, root, asked

    yield opened
    for context in contexts:
        context.close()


def wait_until_idle(root):
    root.locator("[aria-busy]").wait_for(state="detached")


def written(root):
    """Return the characters written in the lines of the figure, without the end token."""
    return root.evaluate(
        "e => [...e.querySelectorAll('.line:not(.later) .written:not(.next)')]"
        ".map(s => s.textContent).join('')"
    )


@pytest.mark.parametrize("as_file", [False, True])
def test_the_model_is_fetched_for_the_first_typed_text_and_not_before(open_page, as_file):
    tab, root, asked = open_page("translator", as_file=as_file)
    root.scroll_into_view_if_needed()
    root.locator("input[type=range]").press("ArrowLeft")
    for name in ("layer", "head"):
        root.locator(f"input[data-control={name}]").first.click()
    root.hover()
    tab.wait_for_timeout(300)
    assert "dates.js" not in asked
    assert check(root, "translator")[1] == []
    field = root.locator("input[type=text]")
    field.focus()
    tab.wait_for_timeout(100)
    assert "dates.js" not in asked
    field.fill("5 May 2026")
    wait_until_idle(root)
    assert written(root) == "二〇二六年五月五日"
    field.fill("6 May 2026")
    wait_until_idle(root)
    assert written(root) == "二〇二六年五月六日"
    assert asked.count("dates.js") == 1
    assert check(root, "translator")[1] == []


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_a_date_typed_by_keyboard_is_translated(open_page, width):
    tab, root, _ = open_page("translator", width=width)
    field = root.locator("input[type=text]")
    field.focus()
    tab.keyboard.press("ControlOrMeta+A")
    tab.keyboard.type("the 1st of August 2020")
    wait_until_idle(root)
    target = "二〇二〇年八月一日"
    assert written(root) == target
    for _ in range(4):  # to the slider, past the buttons
        tab.keyboard.press("Tab")
    numbers = root.evaluate("e => e.figure.numbers()")
    src = torch.tensor([SOURCE.encode("the 1st of August 2020")])
    with record_attention(dates_model()) as recorded:
        dates_model()(src, torch.tensor([[TARGET.BOS, *TARGET.encode(target)]]))
    state = root.evaluate("e => e.figure.state()")
    expected = recorded[f"decoder.layers.{state['layer']}.cross_attention"][0, state["head"]]
    found = torch.tensor(numbers["weights"], dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-12)
    assert not differences("translator", state, numbers)


def test_unknown_characters_are_answered_by_a_sentence(open_page):
    _, root, asked = open_page("translator")
    field, note = root.locator("input[type=text]"), root.locator(".live-note")
    field.fill("3 \u039cay 2026")
    assert "never seen “Μ” (U+039C)" in note.inner_text()
    assert not root.locator(".live-result").is_visible()
    assert "dates.js" not in asked
    field.fill("")
    assert note.inner_text() == "There is nothing to translate yet."
    field.fill("3 May 2026")
    wait_until_idle(root)
    assert note.inner_text() == ""
    assert written(root) == "二〇二六年五月三日"
    assert check(root, "translator")[1] == []


def test_the_translation_appears_character_by_character(open_page):
    _, root, _ = open_page("translator", reduced_motion="no-preference")
    root.locator("input[type=text]").fill("31 February 2026")
    seen = set()
    end = time.monotonic() + 20
    while time.monotonic() < end and "二〇二六年二月三十一日" not in seen:
        seen.add(written(root))
    wait_until_idle(root)
    assert check(root, "translator")[1] == []
    assert len(seen) >= 4  # the characters came one by one
    seen.discard("二〇二六年五月三日")  # the text of the first state
    assert all("二〇二六年二月三十一日".startswith(text) for text in seen)
    root.locator(".live-replay").click()
    assert root.locator("[aria-busy]").count() == 1
    root.locator("input[type=range]").press("Home")  # moving the slider ends the replay
    assert root.locator("[aria-busy]").count() == 0
    assert written(root) == ""


def test_a_click_on_a_line_goes_back_to_its_decoding_step(open_page):
    _, root, _ = open_page("translator")
    root.locator(".line").nth(3).click()
    assert written(root) == "二〇二"
    assert root.evaluate("e => e.figure.state().written") == 3
    assert check(root, "translator")[1] == []


def test_a_failed_download_of_the_model_is_reported_and_tried_again(open_page):
    tab, root, asked = open_page("translator")
    tab.route("**/dates.js", lambda route: route.abort())
    field, note = root.locator("input[type=text]"), root.locator(".live-note")
    field.fill("4 May 2026")
    note.get_by_text("did not come").wait_for()
    assert check(root, "translator")[1] == []
    assert written(root) == "二〇二六年五月三日"  # the text of the first state
    tab.unroute("**/dates.js")
    field.fill("6 May 2026")
    wait_until_idle(root)
    assert written(root) == "二〇二六年五月六日"
    assert asked.count("dates.js") == 2


def test_translation_in_the_browser_stays_within_the_time_limit(open_page):
    _, root, _ = open_page("translator")
    root.locator("input[type=text]").fill("2 May 2026")
    wait_until_idle(root)
    texts = ["24 November 2026", "from 28 November to 30 December 2026", "Sunday, 3 May 2026"]
    times = root.evaluate(
        """(root, texts) => texts.map(text => {
          const start = performance.now();
          root.figure.set('source', text);
          return (performance.now() - start) / (root.figure.numbers().count + 1);
        })""",
        texts,
    )
    assert max(times) < SLOWEST, times


# --- as anywidget runs it ----------------------------------------------------------------------

_NOTEBOOK = """<!doctype html><html><body><div id="here"></div></body></html>"""
_START = """async ({code, state, data}) => {
  const address = URL.createObjectURL(new Blob([code], {type: 'text/javascript'}));
  const widget = (await import(address)).default;
  const listeners = {};
  const emit = (event, ...what) => (listeners[event] || []).forEach(listen => listen(...what));
  window.sent = [];
  window.saved = 0;
  window.change = (key, value) => { state[key] = value; emit(`change:${key}`); };  // the kernel
  window.model = {
    get: key => state[key],
    set: (key, value) => { state[key] = value; emit(`change:${key}`); },
    save_changes: () => { window.saved += 1; },
    on: (event, listen) => (listeners[event] ||= []).push(listen),
    off: (event, listen) => {
      listeners[event] = (listeners[event] || []).filter(one => one !== listen);
    },
    send: message => {
      window.sent.push(message);
      const bytes = Uint8Array.from(atob(data.base64), c => c.charCodeAt(0));
      const padded = new Uint8Array(bytes.length + 8);  // a view with an offset, as Jupyter sends
      padded.set(bytes, 8);
      const view = new DataView(padded.buffer, 8, bytes.length);
      const {base64, ...manifest} = data;
      setTimeout(() => emit('msg:custom', {data: 'dates', ...manifest}, [view]), 30);
    },
  };
  window.leave = widget.render({model: window.model, el: document.getElementById('here')});
}"""


@pytest.fixture
def notebook(browser):
    tab = browser.new_context(reduced_motion="reduce").new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.set_content(_NOTEBOOK)

    def started(figure):
        asked = {
            "code": script_of("translator"),
            "state": figure.state(),
            "data": DATA["translator"]()[0],
        }
        tab.evaluate(_START, asked)
        return tab, tab.locator(".live-figure")

    yield started
    tab.context.close()
    assert not errors


def test_in_jupyter_the_model_comes_as_a_message(notebook):
    tab, root = notebook(Translator())
    assert written(root) == "二〇二六年五月三日"
    assert tab.evaluate("window.sent") == []
    root.locator("input[type=text]").fill("7 May 2026")
    wait_until_idle(root)
    assert tab.evaluate("window.sent") == [{"wants": "dates"}]
    assert written(root) == "二〇二六年五月七日"
    assert tab.evaluate("window.saved") > 0
    assert check(root, "translator")[1] == []


def test_the_kernel_may_set_the_text_before_the_page_has_the_model(notebook):
    tab, root = notebook(Translator())
    tab.evaluate("window.change('source', '8 May 2026')")
    wait_until_idle(root)
    assert written(root) == "二〇二六年五月八日"
    assert root.locator("input[type=text]").input_value() == "8 May 2026"
    assert tab.evaluate("window.sent") == [{"wants": "dates"}]
    assert check(root, "translator")[1] == []
    tab.evaluate("window.leave()")
    tab.evaluate("window.change('source', '9 May 2026')")
    assert written(root) == "二〇二六年五月八日"  # it no longer listens


def test_the_packed_model_is_the_same_after_json():
    data = DATA["translator"]()[0]
    again = json.loads(json.dumps(data))
    assert again == data
    assert len(base64.b64decode(data["base64"])) == 346_880


# --- the map -----------------------------------------------------------------------------------


def state_of(root):
    return root.evaluate(
        "e => { const {kind, layer, head, side, query, key} = e.figure.state();"
        " return {kind, layer, head, side, query, key}; }"
    )


def test_hovering_picks_a_token_until_the_mouse_leaves(open_page):
    _, root, _ = open_page("attention_map")
    before = state_of(root)
    root.locator(".key-side label").nth(7).hover()
    assert state_of(root) == {**before, "side": "key", "key": 7}
    assert root.locator(".key-side label").nth(7).get_attribute("class").count("picked") == 1
    root.locator(".query-side label").nth(2).hover()
    assert (state_of(root)["side"], state_of(root)["query"]) == ("query", 2)
    root.locator(".live-lead").hover()
    # The picked side is shown again; the hovered key is only kept.
    assert state_of(root) == {**before, "key": 7}
    root.locator(".key-side label").nth(4).click()
    root.locator(".query-side label").nth(1).hover()
    root.locator(".live-lead").hover()
    assert (state_of(root)["side"], state_of(root)["key"]) == ("key", 4)
    assert check(root, "attention_map")[1] == []


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_tokens_do_not_move_when_the_sentence_changes(open_page, width):
    """If they moved, a mouse at rest would pick one token after another."""
    _, root, _ = open_page("attention_map", width=width)
    for kind in range(3):
        root.locator("input[data-control=kind]").nth(kind).click()
        tops = set()
        for number in range(root.locator(".live-token input").count()):
            root.locator(".live-token input").nth(number).focus()
            root.page.keyboard.press("Space")
            tops.add(root.evaluate("e => e.querySelector('.live-pairs').offsetTop"))
        assert len(tops) == 1


def test_the_arrow_keys_walk_through_heads_and_tokens(open_page):
    _, root, _ = open_page("attention_map")
    root.locator(".live-thumb input:checked").focus()
    root.page.keyboard.press("ArrowRight")
    assert (state_of(root)["layer"], state_of(root)["head"]) == (1, 2)
    root.locator(".live-token input:checked").focus()
    root.page.keyboard.press("ArrowDown")
    assert state_of(root)["query"] == 6
    assert "“一”" in root.locator(".live-reading").inner_text()
    assert check(root, "attention_map")[1] == []


def test_touch_targets_are_at_least_24_pixels_wide_and_high(open_page):
    for name in ("attention_map", "translator"):
        _, root, _ = open_page(name, width=PHONE, has_touch=True)
        for control in root.locator("[data-control]:visible").all():
            size = control.evaluate(
                "e => { const box = (e.closest('label') || e).getBoundingClientRect();"
                " return [box.width, box.height]; }"
            )
            assert min(size) >= 24, (control.get_attribute("data-control"), size)
