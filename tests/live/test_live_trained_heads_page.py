"""The figure of trained heads on a page of its own: what it loads, its moves and its sentences."""

from __future__ import annotations

import pytest
from booksite.live import bundler, model_script
from figure_checks import check
from site_browser import PHONE, WIDE, served

from attention_core.widgets import TrainedHeads
from attention_core.widgets.figure import HERE

FETCHED = ("heads_trained.js", "heads_untrained.js")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A page as the book's build makes it, with the scripts beside it."""
    made = tmp_path_factory.mktemp("page")
    script = bundler(HERE).page_script([HERE / "trained_heads.js"], HERE / "host.js")
    (made / "figure.js").write_text(script, encoding="utf-8")
    for name in FETCHED:
        (made / name).write_text(model_script(name.removesuffix(".js")), encoding="utf-8")
    (made / "live.css").write_text((HERE / "live.css").read_text("utf-8"), encoding="utf-8")
    head = "<!doctype html><html lang=en><meta charset=utf-8><title>t</title>"
    view = "<meta name=viewport content='width=device-width'><link rel=stylesheet href=live.css>"
    main = f"<main style='max-width:42rem;margin:0 auto'>{TrainedHeads().static_html()}</main>"
    page = f"{head}{view}<body style='margin:16px'>{main}<script src=figure.js></script>"
    (made / "page.html").write_text(page, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    with served(folder, tmp_path_factory.mktemp("served")) as address:
        yield address


@pytest.fixture
def open_page(folder, browser):
    contexts, problems = [], []

    def opened(address=None, width=WIDE, **options):
        view = {"width": width, "height": 844}
        contexts.append(browser.new_context(viewport=view, reduced_motion="reduce", **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: problems.append(str(error)))
        files: list[str] = []
        tab.on("request", lambda request: files.append(request.url.split("/")[-1]))
        tab.goto(f"{address}page.html" if address else (folder / "page.html").as_uri())
        return tab, tab.locator(".live-figure"), files

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def state_of(root):
    return root.evaluate("e => { const {opening, ...rest} = e.figure.state(); return rest; }")


def wait_until_idle(root):
    root.locator("[aria-busy]").wait_for(state="detached")


def pick(root, control, number):
    """Pick a radio button as a key does, since its label covers it."""
    root.locator(f"[data-control={control}]").nth(number).focus()
    root.page.keyboard.press("Space")


def maps_fetched(files):
    return [name for name in files if name in FETCHED]


@pytest.mark.parametrize("as_file", [True, False])
def test_maps_are_fetched_when_asked_for_and_only_those(open_page, server, as_file):
    _, root, files = open_page(None if as_file else server)
    pick(root, "word", 6)
    pick(root, "trained", 1)
    assert check(root, "trained_heads")[1] == []
    assert maps_fetched(files) == []  # the first map is in the page, with its control
    pick(root, "trained", 0)
    pick(root, "head", 15)
    wait_until_idle(root)
    assert check(root, "trained_heads")[1] == []
    assert maps_fetched(files) == ["heads_trained.js"]
    root.locator("select").select_option("8")
    pick(root, "head", 71)
    assert maps_fetched(files) == ["heads_trained.js"]
    pick(root, "trained", 1)
    wait_until_idle(root)
    pick(root, "head", 3)
    assert check(root, "trained_heads")[1] == []
    assert maps_fetched(files) == list(FETCHED)


def test_maps_that_do_not_come_are_reported_and_asked_for_again(open_page, server):
    tab, root, files = open_page(server)
    tab.route("**/heads_trained.js", lambda route: route.abort())
    pick(root, "head", 40)
    root.locator(".live-hint").get_by_text("did not come").wait_for()
    assert maps_fetched(files) == ["heads_trained.js"]  # no loop of requests
    tab.wait_for_timeout(900)
    assert "did not come" in root.get_by_role("status").text_content()
    assert root.locator("[data-key='row.0']").inner_text() == "–"
    pick(root, "head", 37)  # the map of the page
    assert check(root, "trained_heads")[1] == []
    tab.unroute("**/heads_trained.js")
    pick(root, "head", 40)
    wait_until_idle(root)
    assert state_of(root)["head"] == 4
    assert check(root, "trained_heads")[1] == []
    assert maps_fetched(files) == ["heads_trained.js"] * 2


def test_a_change_while_maps_are_on_their_way_is_not_lost(open_page, server):
    tab, root, files = open_page(server)
    held = []
    tab.route("**/heads_trained.js", lambda route: held.append(route))
    root.evaluate("e => { e.figure.set('sentence', 3); e.figure.set('trained', false); }")
    tab.wait_for_timeout(200)
    assert len(held) == 1
    assert maps_fetched(files) == ["heads_trained.js"]  # one model after the other
    held[0].continue_()
    wait_until_idle(root)
    assert sorted(maps_fetched(files)) == list(FETCHED)
    assert check(root, "trained_heads")[1] == []


def test_the_first_moves_are_suggested_one_after_another(open_page):
    _, root, _ = open_page()
    hint, reading = root.locator(".live-hint"), root.locator(".live-reading")
    assert hint.inner_text() == "Guess first: does “step” look back at “one”? Then tap “step”."
    assert reading.inner_text() == (
        "“one” looks most at “step”: 0.81, about 7 times the even share of 0.11."
    )
    root.locator(".query-side label").nth(6).click()
    assert hint.inner_text().startswith("It gives “one” only 0.01. Now compare")
    assert reading.inner_text().endswith("Among the words it looks most at “journey”: 0.13.")
    assert reading.inner_text().startswith("“step” looks most at [CLS]: 0.71, about 6 times")
    root.get_by_label("untrained").click()
    assert hint.inner_text().startswith("Untrained, no weight reaches twice the even share.")
    assert reading.inner_text().startswith("Untrained: “step” looks most at “your”: 0.16, less")
    root.locator(".query-side label").nth(5).click()
    assert reading.inner_text() == (
        "Untrained: “one” looks nearly evenly at all tokens: the largest weight is 0.13, "
        "at “starts”; an even share would be 0.11."
    )
    root.get_by_label("trained", exact=True).click()
    root.locator(".live-thumb").nth(2).click()
    wait_until_idle(root)
    assert hint.inner_text() == "Tap a word on the left, another head or another sentence."


def test_a_word_that_occurs_twice_is_counted_and_a_look_at_itself_is_named(open_page):
    _, root, _ = open_page()
    pick(root, "head", 33)  # layer 2, head 9
    wait_until_idle(root)
    for sentence, query, text in (
        (2, 5, "The first “ring” looks most at the second “ring”: 0.82, "),
        (2, 10, "The second “ring” looks most at the first “ring”: 0.83, "),
        (1, 4, "The second “saw” looks most at itself: 0.45, "),
    ):
        root.evaluate("(e, state) => e.figure.put(state)", {"sentence": sentence, "query": query})
        assert root.locator(".live-reading").inner_text().startswith(text)


def test_a_sentence_begins_with_a_word_of_its_own(open_page):
    _, root, _ = open_page()
    for number, word in ((2, "she"), (8, "he"), (11, "bark")):
        root.locator("select").select_option(str(number))
        wait_until_idle(root)
        assert root.locator(".query-side .picked").inner_text() == word
        assert check(root, "trained_heads")[1] == []


def test_a_word_on_the_right_can_be_picked_as_well(open_page):
    _, root, files = open_page()
    root.locator(".key-side .live-token").nth(6).click()
    assert state_of(root)["query"] == 6
    assert root.locator(".query-side .picked").inner_text() == "step"
    assert maps_fetched(files) == []


def test_a_head_without_its_map_shows_its_number_in_a_dotted_frame(open_page):
    _, root, files = open_page()
    note, empty = root.locator(".live-heads-note"), root.locator(".live-thumb.empty")
    assert note.inner_text() == "Dotted: not loaded yet. Tap any head."
    assert empty.count() == 71
    shown = [text for text in root.locator(".live-heads-grid").all_inner_texts()[0].split() if text]
    numbers = [str(n) for n in range(12)]
    rows = [[str(layer), *numbers] for layer in range(6)]
    rows[3].pop(2)  # layer 3, head 1 has its map
    assert shown == numbers + [text for row in rows for text in row]
    assert empty.first.evaluate("e => getComputedStyle(e).borderStyle") == "dotted"
    assert root.locator(".live-thumb:not(.empty) path").count() > 0
    assert maps_fetched(files) == []
    empty.nth(20).click()
    wait_until_idle(root)
    assert empty.count() == 0
    assert root.locator(".live-absent:visible").count() == 0
    assert note.inner_text() == "all-MiniLM-L6-v2, weights to within 0.0025"


def test_arrow_keys_move_between_layers_and_heads(open_page):
    _, root, _ = open_page()
    root.locator(".live-heads input:checked").focus()
    moves = {"ArrowDown": (4, 1), "ArrowRight": (4, 2), "ArrowUp": (3, 2), "ArrowLeft": (3, 1)}
    for key, place in moves.items():
        root.page.keyboard.press(key)
        wait_until_idle(root)
        assert (state_of(root)["layer"], state_of(root)["head"]) == place
    for key in ["ArrowUp"] * 9 + ["ArrowLeft"] * 9:  # it stops at the edges
        root.page.keyboard.press(key)
    assert (state_of(root)["layer"], state_of(root)["head"]) == (0, 0)
    focused = root.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert focused == "layer 0, head 0"


def test_control_and_answer_fit_one_screen_of_a_phone(open_page):
    _, root, _ = open_page(width=PHONE, has_touch=True)
    assert root.bounding_box()["height"] <= 700
    for control in root.locator("[data-control]:visible").all():
        size = control.evaluate(
            "e => { const box = (e.closest('label') || e).getBoundingClientRect();"
            " return [box.width, box.height]; }"
        )
        assert min(size) >= 24, (control.get_attribute("aria-label"), size)
    root.locator("select").select_option("2")  # the longest sentence
    wait_until_idle(root)
    grid = root.locator(".live-heads-grid").bounding_box()
    answer = root.locator(".live-reading").bounding_box()
    assert answer["y"] + answer["height"] - grid["y"] <= 700


def test_a_screen_reader_hears_one_sentence_after_a_change(open_page):
    tab, root, _ = open_page()
    region = root.get_by_role("status")
    assert region.text_content() == root.locator(".live-reading").text_content()
    root.locator("select").select_option("5")
    wait_until_idle(root)
    pick(root, "head", 15)
    tab.wait_for_timeout(900)
    assert region.text_content() == root.locator(".live-reading").text_content()
    assert region.text_content().startswith("“she” looks most at “queen”: 0.58")
    names = [group.get_attribute("aria-label") for group in root.get_by_role("radio").all()]
    assert "layer 5, head 11" in names
    assert root.get_by_role("combobox", name="sentence").count() == 1
    assert root.get_by_role("group", name="looks at").count() == 1
