"""What the tests of pictures share."""

import pytest


@pytest.fixture
def book_style():
    """Draw in the book's style, and close every figure after the test."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    from attention_core import plotting

    with mpl.rc_context():
        plotting.use_book_style()
        yield
        plt.close("all")
