"""Firefox and WebKit for the tests of this folder, and the site as they load it.

``ENGINES=all`` tries everything, as the weekly CI run does; otherwise each page is loaded in
each engine in one of two ways, and each figure is moved by some of its controls.
``REQUIRE_BROWSER=1`` makes a missing browser a failure instead of a skip.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from engine_pages import probed
from figure_checks import places
from firefox_driver import Firefox
from live_states import FIGURES
from site_browser import served
from webkit_driver import WebKit, mini_browser

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from browser_tab import BrowserTab

ENGINES: dict[str, type[BrowserTab]] = {"firefox": Firefox, "webkit": WebKit}


def _missing(engine: str) -> str:
    missing = [
        " or ".join(names)
        for names in ENGINES[engine].programs
        if not any(map(shutil.which, names))
    ]
    if engine == "webkit" and not missing and mini_browser() is None:
        missing = ["MiniBrowser"]
    return ", ".join(missing)


@pytest.fixture(scope="session")
def thorough() -> bool:
    setting = os.environ.get("ENGINES", "")
    assert setting in ("", "all"), f"ENGINES must be all or unset, got {setting!r}"
    return setting == "all"


@pytest.fixture(params=ENGINES)
def engine(request) -> str:
    if missing := _missing(request.param):
        reason = f"no {request.param}: {missing} is not installed"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return request.param


@pytest.fixture(scope="session")
def _running():
    """At most one browser of each engine; it is kept while tests want the same settings."""
    running: dict[str, tuple[dict[str, Any], BrowserTab]] = {}
    yield running
    for _, tab in running.values():
        tab.close()


@pytest.fixture
def open_tab(engine, _running) -> Callable[..., BrowserTab]:
    def start(**options: Any) -> BrowserTab:
        if engine in _running:
            old, tab = _running[engine]
            if old == options and tab.alive():
                return tab
            del _running[engine]
            tab.close()
        tab = ENGINES[engine](**options)
        _running[engine] = options, tab
        return tab

    return start


@pytest.fixture
def tab(open_tab) -> BrowserTab:
    return open_tab()


@dataclass(frozen=True)
class Site:
    """Where the site is served, its pages, its figures, and the requests that failed."""

    address: str
    names: list[str]
    #: The page of each figure, its place there, its module.
    figures: list[tuple[str, int, str]]
    failed: list[str]


@pytest.fixture(scope="session")
def pages(site: Path, tmp_path_factory) -> Site:
    failed: list[str] = []
    paths = [p.relative_to(site) for p in site.rglob("*.html")]
    names = sorted(path.as_posix() for path in paths if "_static" not in path.parts)
    figures = [(p.relative_to(site).as_posix(), number, name) for p, number, name in places(site)]
    assert {module for *_, module in figures} == set(FIGURES), "figures without a page, or unknown"
    with served(site, tmp_path_factory.mktemp("probed"), probed(failed)) as address:
        yield Site(address, names, figures, failed)
