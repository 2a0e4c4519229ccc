"""Settings for every test: nbval's gaps closed, torch known to the doctests, weights asked for."""

import os

import pytest

# Two threads gain little on tensors this small, and where cores are taken they wait for each
# other: a chapter took five times as long. Kernels and other processes inherit this, which is
# read when torch is loaded; `make digits` runs the chapters on two threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

# Named here and not in pyproject, whose pythonpath is not yet in force when -p is read.
pytest_plugins = ["real_weights", "notebook_plugin"]  # the second imports the first

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def names_in_doctests(doctest_namespace):
    doctest_namespace["torch"] = torch
