"""A live figure on its chapter's page, opened as a file, and what its sentence says."""

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
    """What the figure says once it stands at this state."""
    root.evaluate("(root, state) => root.figure.put(state)", state)
    return root.locator(".live-reading").inner_text()
