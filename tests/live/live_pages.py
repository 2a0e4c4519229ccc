"""Open a chapter as a file, and read the sentence of its live figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Locator


def figure_on(browser: Browser, site: Path, name: str) -> Locator:
    tab = browser.new_page()
    tab.goto((site / "chapters" / f"{name}.html").as_uri())
    return tab.locator("div[data-live] > .live-figure").first


def reading(root: Locator, state: dict[str, Any]) -> str:
    """Set the state of the figure, and return its sentence."""
    root.evaluate("(root, state) => root.figure.put(state)", state)
    return root.locator(".live-reading").inner_text()
