"""Published models in the modules of this package: their files, tokenizers and loaders.

The weights are not part of this package. ``requirements-real.txt`` of the book's repository
lists two packages that hold them, and `MissingWeights` has the command. What is read is plain
numbers: no code of those packages runs, nothing is unpickled, and each file is used only if its
SHA-256 is the published one.

The tables of published numbers, `load_table`, are part of this package and need no weights.

See chapters 14 and 15 of the book.
"""

from attention_core.published.byte_pairs import BytePairs
from attention_core.published.files import MissingWeights, minilm_folder, smollm2_file
from attention_core.published.gguf import read_gguf
from attention_core.published.minilm import SentenceEncoder, load_minilm, untrained_minilm
from attention_core.published.safetensors import read_safetensors
from attention_core.published.smollm2 import load_smollm2
from attention_core.published.tables import load_table, tables
from attention_core.published.word_pieces import WordPieces

__all__ = [
    "BytePairs",
    "MissingWeights",
    "SentenceEncoder",
    "WordPieces",
    "load_minilm",
    "load_smollm2",
    "load_table",
    "minilm_folder",
    "read_gguf",
    "read_safetensors",
    "smollm2_file",
    "tables",
    "untrained_minilm",
]
