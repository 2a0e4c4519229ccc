"""Plant exhibits of the museum in the package and run tests against them.

    python tests/processes/mutants.py JOBS

JOBS is JSON, ``{exhibit: [tests]}``; an empty name means the package without a mistake. The
output is JSON, ``{exhibit: {test: outcome}}``. Torch is imported once, and each exhibit gets
its own fork of this process. The fork imports the test files after planting, so that the names
that they import from the package are the wrong parts too.
"""

import io
import json
import os
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path

import hypothesis.strategies  # noqa: F401  (slow to import, so once before all forks)
import numpy  # noqa: F401  (the same)
import pytest

from attention_core.museum import EXHIBITS, planted

ROOT = Path(__file__).parents[2]
# No plugins and no conftest: these tests need none, and some take seconds to import.
OPTIONS = ["--noconftest", "-p", "no:cacheprovider", "-o", "addopts=--strict-markers"]


class Outcomes(dict):
    """A plugin of pytest that stores the outcome of each test; a failed set-up is an "error".

    A test that has failed once is not run with further parameters.
    """

    def pytest_runtest_protocol(self, item):
        name = item.nodeid.split("[")[0]
        failed = any(k.split("[")[0] == name and v == "failed" for k, v in self.items())
        return True if failed else None

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self[report.nodeid] = report.outcome
        elif report.failed:
            self[report.nodeid] = "error"


def run(name, tests):
    """The outcomes of these tests with this exhibit, in this process."""
    outcomes = Outcomes()
    with ExitStack() as stack:
        stack.enter_context(planted(*[e for e in EXHIBITS if e.name == name]))
        stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(redirect_stderr(io.StringIO()))
        status = pytest.main([*OPTIONS, *tests], plugins=[outcomes])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        outcomes[""] = f"pytest ends with {status!r}"
    return outcomes


def in_a_fork(name, tests):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        with os.fdopen(writing, "w", encoding="utf-8") as out:
            json.dump(run(name, tests), out)
            out.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as incoming:
        text = incoming.read()
    os.waitpid(child, 0)
    return json.loads(text or '{"": "the process has died"}')


if __name__ == "__main__":
    os.chdir(ROOT)
    print(json.dumps({name: in_a_fork(name, t) for name, t in json.loads(sys.argv[1]).items()}))
