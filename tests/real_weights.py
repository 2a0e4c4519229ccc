"""Tests, doctests and chapters that need published weights: skipped where these are absent.

``REQUIRE_WEIGHTS=1`` makes absent weights a failure instead of a skip.
"""

from __future__ import annotations

import functools
import os
import re

import pytest

# A chapter or doctest needs the weights if it calls one of these.
LOADERS = re.compile(r"\b(load_minilm|load_smollm2|minilm_folder|smollm2_file)\(")


@functools.cache
def missing() -> str:
    """Return the message about absent weights, or nothing if all are there."""
    from attention_core.published import MissingWeights, minilm_folder, smollm2_file

    try:
        minilm_folder()
        smollm2_file()
    except MissingWeights as error:
        return str(error)
    return ""


def require_weights() -> None:
    """Skip the test if weights are absent; let it fail if they must be there."""
    if reason := missing():
        if os.environ.get("REQUIRE_WEIGHTS") == "1":
            pytest.fail(f"no weights, but REQUIRE_WEIGHTS=1. {reason}", pytrace=False)
        pytest.skip(f"no weights. {reason}")


def require_weights_for(*code: str) -> None:
    """Do the same if one of these pieces of code calls a loader."""
    if any(map(LOADERS.search, code)):
        require_weights()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if isinstance(item, pytest.DoctestItem):
        require_weights_for(*(example.source for example in item.dtest.examples))
