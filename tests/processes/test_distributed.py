"""distributed: several processes give the results of one, and every process ends."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import process_functions
import pytest
import torch
from process_functions import listening
from samples import assert_same, filled, randn

from attention_core import MultiHeadAttention, scaled_dot_product_attention
from attention_core.distributed import loopback, run_processes, sharing
from attention_core.distributed.sharing import Traffic, alone, by_heads, by_sentences, main

linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads Linux' /proc")
B, L, S, D_V = 5, 3, 7, 11  # two processes get unequal shares of 5 sentences and 7 keys
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Put the folders of the processes here, so that their command lines name this test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def still_running(tmp_path):
    """The processes that name the test's folder on their command line, zombies left out."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:  # ended meanwhile
            continue
        if str(tmp_path) in command and "attention_core" in command:
            found.append(int(entry.name))
    return found


def nothing_is_left(tmp_path):
    if Path("/proc/self/fd").exists():
        assert still_running(tmp_path) == []
    assert list(tmp_path.glob("attention-core-*")) == []


# ------------------------------------------------------------------- equality


def arguments(heads):
    attend = filled(MultiHeadAttention(heads * 2, heads))
    q, k, v = (randn(2, n, d, seed=i) for i, (n, d) in enumerate([(L, 4), (S, 4), (S, D_V)]))
    allowed = torch.rand(2, L, S, generator=torch.Generator().manual_seed(3)) < 0.6
    allowed[0, 0] = False  # an empty row
    allowed[0, 1, :4] = False  # all keys of the first process
    allowed[1, 0, 0] = True
    grouped = filled(MultiHeadAttention(heads * 4, heads * 2, num_kv_heads=heads))
    wide = randn(B, L, heads * 4, seed=6)
    return attend, randn(B, L, heads * 2, seed=5), q, k, v, allowed, grouped, wide


@pytest.fixture(scope="module", params=[2, 3], ids=["two processes", "three processes"])
def ran(request, tmp_path_factory):
    given = arguments(heads=6)
    return given, run_processes(process_functions.every_way, request.param, *given)


def shares(ran, way):
    return [ways[way] for ways, _ in ran[1]]


def test_heads_on_several_processes_give_the_values_and_gradients_of_one_process(ran):
    for way, given in (("heads", ran[0][:2]), ("grouped heads", ran[0][-2:])):
        expected = alone(*given)
        for share in shares(ran, way):
            assert_same(share.output, expected.output)
            assert_same(share.gradients, expected.gradients)


def test_sentences_in_unequal_shares_give_the_values_and_gradients_of_one_process(ran):
    expected = alone(*ran[0][:2])
    of_x = expected.gradients.pop("x")
    assert of_x.shape == (B, L, 12)
    assert_same(torch.cat([s.output for s in shares(ran, "sentences")]), expected.output)
    for share in shares(ran, "sentences"):
        assert_same(share.gradients, expected.gradients)
    # The plain mean over processes gives sentences in a smaller share too much weight.
    for share in shares(ran, "unweighted"):
        wrong = (share.gradients["q_proj.weight"] - expected.gradients["q_proj.weight"]).abs()
        assert wrong.max() > 1e-4


@pytest.mark.parametrize("way", ["keys", "masked keys", "one mask for all keys"])
def test_keys_on_several_processes_give_the_values_and_gradients_of_one_process(ran, way):
    *qkv, allowed = ran[0][2:6]
    allowed = {"keys": None, "masked keys": allowed}.get(way, allowed[..., :1])
    q, k, v = (x.clone().requires_grad_() for x in qkv)
    expected = scaled_dot_product_attention(q, k, v, allowed)
    expected.square().mean().backward()
    found = shares(ran, way)
    for share in found:
        assert_same(share.output, expected.detach())
        assert_same(share.gradients["q"], q.grad)
    for name, x in (("k", k), ("v", v)):
        assert_same(torch.cat([s.gradients[name] for s in found], dim=-2), x.grad)


def test_each_way_of_sharing_keeps_and_sends_as_many_numbers_as_its_formula_says(ran):
    d, number = 12, len(ran[1])
    parameters, tokens = 4 * d * d + 4 * d, B * L * d
    for share in shares(ran, "heads"):
        assert share.sent == (tokens, 3 * tokens)
        # All matrices are cut, and the biases but for the last, which all processes keep.
        assert share.held == (parameters - d) // number + d
    for share in shares(ran, "sentences"):
        assert share.sent == (0, parameters)
    assert sum(s.held for s in shares(ran, "sentences")) == tokens
    for share in shares(ran, "keys"):
        assert share.sent == (2 * L * (D_V + 2), 2 * L * 4)
    assert sum(s.held for s in shares(ran, "keys")) == 2 * S * (4 + D_V)


def test_a_process_alone_sends_nothing():
    with Traffic() as traffic:
        share = alone(*arguments(heads=2)[:2])
    assert (traffic.numbers, share.sent) == (0, (0, 0))


@linux
def test_processes_listen_on_loopback_only(ran):
    for _, addresses in ran[1]:
        assert addresses  # otherwise the check below would be empty
        assert {loopback_only(address) for address in addresses} == {True}


def loopback_only(address):
    """127.x.x.x or ::1, in the byte order of /proc/net/tcp and tcp6."""
    return address.endswith("7F") if len(address) == 8 else address == "0" * 24 + "01000000"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("0100007F", True),
        ("00000000000000000000000001000000", True),
        ("00000000", False),  # every interface
        ("00000000000000000000000000000000", False),
        ("0200A8C0", False),
    ],
)
def test_the_check_of_addresses_knows_loopback(address, expected):
    assert loopback_only(address) == expected


# ------------------------------------------------------------------ processes


def test_results_come_in_the_order_of_ranks_and_prints_are_not_shown(tmp_path, capfd):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        results = run_processes(process_functions.told, 2, "noise")
    finally:
        torch.set_default_dtype(before)
    # Name the interface: on some machines gloo would choose another one.
    assert results == [(rank, torch.float64, 1, loopback()) for rank in (0, 1)]
    assert capfd.readouterr() == ("", "")
    nothing_is_left(tmp_path)


def test_a_failing_process_stops_the_others_and_its_traceback_is_raised(tmp_path):
    with pytest.raises(RuntimeError) as caught:
        run_processes(process_functions.fail_in_one, 2, 1)
    text = str(caught.value)
    assert text.startswith("process 1 of 2 failed, the others were stopped: Traceback")
    assert "process_functions.py" in text
    assert text.endswith("ValueError: the keys are lost")
    nothing_is_left(tmp_path)


def test_a_file_of_the_caller_does_not_shadow_the_standard_library(tmp_path):
    (tmp_path / "enum.py").write_text("raise SystemExit('mine')\n", encoding="utf-8")
    code = (
        "import sys, os, torch; sys.path.insert(0, os.getcwd())\n"  # as in a notebook's folder
        "from attention_core.distributed.sharing import by_keys\n"
        "from attention_core.distributed import run_processes\n"
        "q = torch.ones(1, 3, 2)\n"
        "print(len(run_processes(by_keys, 2, q, q, q)))\n"
    )
    script = tmp_path.parent / "script.py"
    script.write_text(code, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert (run.stdout, run.returncode) == ("2\n", 0), run.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_killed_process_is_named_with_its_last_output(tmp_path):
    with pytest.raises(RuntimeError, match=r"process 1 of 2 failed.*exit code -9[^$]*last words"):
        run_processes(process_functions.die_in_one, 2, 1)
    nothing_is_left(tmp_path)


def test_processes_that_take_too_long_are_stopped(tmp_path):
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"given 1\.5 seconds; still running: 0, 1"):
        run_processes(process_functions.wait_forever, 2, str(tmp_path), timeout=1.5)
    assert time.monotonic() - start < 10
    nothing_is_left(tmp_path)


@linux
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_when_their_caller_is_killed_or_interrupted(tmp_path, signum):
    code = (
        "import signal, sys, process_functions as f;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # ignored in the background
        "from attention_core.distributed import run_processes;"
        "run_processes(f.wait_forever, 2, sys.argv[1])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path],
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": f"{HERE}:{HERE.parents[1]}"},
        stderr=subprocess.PIPE,
    ) as caller:
        wait_until(lambda: len(list(tmp_path.glob("ready-*"))) == 2)
        assert len(still_running(tmp_path)) >= 2
        caller.send_signal(signum)
        _, error = caller.communicate(timeout=20)
    assert (b"KeyboardInterrupt" in error) == (signum == signal.SIGINT)
    wait_until(lambda: not still_running(tmp_path))
    wait_until(lambda: not list(tmp_path.glob("attention-core-*")))


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def nested():
    def inner():
        pass

    return inner


def of_a_notebook():
    pass


of_a_notebook.__module__ = "__main__"


@pytest.mark.parametrize(
    ("function", "number", "options", "error", "message"),
    [
        (lambda: 1, 2, {}, ValueError, r"defined by a module.*got <lambda> of test_distributed"),
        (nested(), 2, {}, ValueError, r"got nested.<locals>.inner of test_distributed"),
        (of_a_notebook, 2, {}, ValueError, r"not in a notebook.*got of_a_notebook of __main__"),
        (3, 2, {}, ValueError, r"function must be defined by a module.*got 3"),
        (wait_until, 0, {}, ValueError, "number must be at least 1, got 0"),
        (wait_until, 2.0, {}, TypeError, "number must be an int, got float 2.0"),
        (wait_until, 2, {"timeout": 0}, ValueError, "timeout must be above 0 seconds, got 0"),
        (wait_until, 2, {"timeout": float("nan")}, ValueError, "timeout must be above 0"),
    ],
)
def test_bad_arguments_start_no_process(tmp_path, function, number, options, error, message):
    with pytest.raises(error, match=message):
        run_processes(function, number, **options)
    nothing_is_left(tmp_path)


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (by_heads, "num_heads must be divisible by .* got num_heads=2 and 7 processes"),
        (by_sentences, r"a sentence for each of the 7 processes, got \(5, 3, 4\)"),
    ],
)
def test_work_that_cannot_be_divided_among_the_processes_is_refused(monkeypatch, way, message):
    monkeypatch.setattr(sharing, "processes", lambda: (0, 7))
    with pytest.raises(ValueError, match=message):
        way(*arguments(heads=2)[:2])


def test_key_heads_that_cannot_be_divided_are_refused(monkeypatch):
    monkeypatch.setattr(sharing, "processes", lambda: (0, 4))
    grouped, wide = arguments(heads=2)[-2:]
    with pytest.raises(ValueError, match=r"num_kv_heads must be .* got num_kv_heads=2 and 4"):
        by_heads(grouped, wide)


# ------------------------------------------------------------------- commands

REPORT = """\
by_heads     equal to one process, numbers sent: 240 forward, 720 backward
by_sentences equal to one process, numbers sent: 0 forward, 624 backward
by_keys      equal to one process, numbers sent: 50 forward, 30 backward
"""


def test_the_command_starts_its_own_processes(monkeypatch, capsys):
    calls = []

    def instead(function, number):
        calls.append((function, number))
        return ["first", "second"]

    monkeypatch.setattr(sharing, "run_processes", instead)
    main(["--processes", "2"])
    assert calls == [(sharing.report, 2)]
    assert capsys.readouterr().out == "first\n"


@pytest.mark.parametrize(
    ("number", "text"), [("0", "must be at least 1, got 0"), ("x", "must be an integer, got 'x'")]
)
def test_an_impossible_number_of_processes_is_a_usage_error(capsys, number, text):
    with pytest.raises(SystemExit, match="2"):
        main(["--processes", number])
    assert f"argument --processes: {text}" in capsys.readouterr().err


@linux
def test_processes_of_torchrun_listen_on_loopback_only(tmp_path):
    """The command of the module's docstring, watched while it runs."""
    start = "from torch.distributed.run import main; main()"
    options = f"--nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint {tmp_path}/a"
    options += f" --rdzv-conf store_type=file -m attention_core.distributed --store {tmp_path}/b"
    path = str(HERE.parents[1])
    seen = set()
    with subprocess.Popen(
        [sys.executable, "-c", start, *options.split()],
        env=os.environ | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as launcher:
        while launcher.poll() is None:
            for pid in still_running(tmp_path):
                try:
                    seen |= {(pid, address) for address in listening(pid)}
                except OSError:  # ended meanwhile
                    continue
            time.sleep(0.05)
        output, errors = launcher.communicate()
    assert (launcher.returncode, output) == (0, REPORT), errors
    assert len({pid for pid, _ in seen}) == 2  # the two workers, and not the launcher
    assert all(loopback_only(address) for _, address in seen)


def test_under_torchrun_the_command_needs_a_store(monkeypatch, capsys):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    with pytest.raises(SystemExit):
        main([])
    assert "--store must name a new file" in capsys.readouterr().err
