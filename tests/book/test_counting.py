"""The page that counts parameters: its code runs, and each of its numbers is computed there."""

import doctest
import re
from decimal import Decimal
from pathlib import Path

import pytest
from prose_numbers import Sources, check_equations, numbers_in, numbers_in_code, unsupported

PAGE = Path(__file__).parents[2] / "reference" / "counting.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
TEST = doctest.DocTestParser().get_doctest("\n".join(BLOCKS), {}, PAGE.name, str(PAGE), 0)


def sources() -> Sources:
    found = Sources(exact={Decimal(65)})  # million, as the paper says
    for example in TEST.examples:
        found.printed |= numbers_in(example.want)
        found.exact |= numbers_in_code(example.source)
    return found


def test_the_code_prints_what_the_page_shows():
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(TEST)
    assert (runner.tries, runner.failures) == (len(TEST.examples), 0)
    assert runner.tries > 20


def test_equations_hold_and_numbers_are_computed():
    known = sources()
    assert check_equations(TEXT, known) == []
    prose = re.sub(r"^```python.*?^```$", "", TEXT, flags=re.DOTALL | re.MULTILINE)
    assert unsupported(prose, known) == []


@pytest.mark.parametrize("number", ["1196", "63,082,496", "109,482,240", "124,439,808"])
def test_whole_models_are_built_and_counted(number):
    assert any(number in example.want for example in TEST.examples)


def test_a_wrong_count_would_be_found():
    assert check_equations(TEXT.replace("=109482240", "=109482241"), sources())
