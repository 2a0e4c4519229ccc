"""Settings for every test: nbval's gaps closed, torch known to the doctests."""

import pytest
import torch

# Named here and not in pyproject, whose pythonpath is not yet in force when -p is read.
pytest_plugins = ["notebook_plugin"]

# Two threads gain little on tensors this small, and wait for each other where cores are taken.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def names_in_doctests(doctest_namespace):
    doctest_namespace["torch"] = torch
