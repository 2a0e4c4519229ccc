"""The tokenizer of SmolLM2, which is that of GPT-2 with every digit alone: byte pairs."""

import itertools
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from attention_core import _checks, _options

__all__ = ["BytePairs"]

# A word takes the space in front of it along. Of several spaces, the last goes to the word.
# Python alone counts U+001C to U+001F as spaces.
_WORDS = re.compile(
    r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?(?:[^\s\w]|[_\x1c-\x1f])+"
    r"|[^\S\x1c-\x1f]+(?![\S\x1c-\x1f])|[^\S\x1c-\x1f]+"
)


def _letters() -> dict[int, str]:
    """Return a visible letter for each byte: itself, or one from 256 on for invisible ones."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in visible]
    return {b: chr(b) for b in visible} | {b: chr(256 + i) for i, b in enumerate(others)}


class BytePairs:
    """Cut texts into pieces by merging pairs of bytes, and map them to ids and back.

    A text is cut into words, signs and single digits, and each of these into its bytes in
    UTF-8. Then the pair of neighbours that comes first in ``merges`` becomes one piece, again
    and again, until no neighbours are in the list. So no text is unknown. A byte is written
    as a visible letter: a space is ``Ġ``. Text such as ``"<|im_end|>"`` has no special
    meaning: it is cut like any other.

    Args:
        pieces: the vocabulary; the id of a piece is its place
        merges: pairs of pieces, written with a space between them, in the order in which
            they were learned

    Raises:
        ValueError: a merge is not two pieces with a space between them
        TypeError: pieces or merges is a str

    Source: Sennrich, Haddow and Birch 2016; on bytes, Radford et al. 2019, section 2.2. The
        book's chapter 15.

    >>> pairs = BytePairs(["s", "a", "w", "Ġ", "aw", "saw"], ["a w", "s aw"])
    >>> pairs.cut("saw saw"), pairs("saw").tolist(), pairs.text([5, 3, 5])
    (['saw', 'Ġ', 'saw'], [[5]], 'saw saw')
    """

    def __init__(self, pieces: Sequence[str], merges: Sequence[str]) -> None:
        for name, given in (("pieces", pieces), ("merges", merges)):
            if isinstance(given, str):
                raise TypeError(f"{name} must be a sequence of str, got a str")
        self.pieces = list(pieces)
        self.number = {piece: i for i, piece in enumerate(self.pieces)}
        self.rank: dict[tuple[str, str], int] = {}
        for i, merge in enumerate(merges):
            first, _, second = merge.partition(" ")
            if not first or not second or " " in second:
                raise ValueError(
                    f"a merge must be two pieces with a space between them, got {merge!r}"
                )
            self.rank[first, second] = i
        self._letter = _letters()
        self._byte = {letter: byte for byte, letter in self._letter.items()}

    def cut(self, text: str) -> list[str]:
        """Return the pieces of a text.

        Raises:
            TypeError: text is not a str
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, got {type(text).__name__}")
        return [piece for word in _words(text) for piece in self._merged(word)]

    def __call__(self, text: str) -> Tensor:
        """Return the ids of one text.

        Shape:
            returns: (1, L)

        Raises:
            ValueError: a piece of the text is not in the vocabulary
            TypeError: text is not a str
        """
        cut = self.cut(text)
        unknown = [piece for piece in cut if piece not in self.number]
        if unknown:
            raise ValueError(f"the pieces of text must be in the vocabulary, got {unknown[0]!r}")
        return torch.tensor([[self.number[piece] for piece in cut]], dtype=torch.int64)

    def text(self, ids: Sequence[int] | Tensor) -> str:
        """Return the text of ids; bytes that are no UTF-8 become the sign U+FFFD.

        Shape:
            ids: (L,)

        Raises:
            ValueError: ids has several axes, or an id is not in the vocabulary
            TypeError: ids is not a sequence of ints
        """
        if isinstance(ids, Tensor):
            if ids.dim() != 1:
                raise ValueError(f"ids must have shape (L,), got {_checks.shape(ids)}")
            ids = ids.tolist()
        if not isinstance(ids, Iterable):
            raise TypeError(f"ids must be a list of ids, got {type(ids).__name__} {ids!r}")
        raw = bytearray()
        for n in ids:
            n = _options.check_count("an id", n, minimum=0)
            if n >= len(self.pieces):
                raise ValueError(f"an id must be below {len(self.pieces)}, got {n}")
            raw += bytes(self._byte[letter] for letter in self.pieces[n])
        return raw.decode("utf-8", errors="replace")

    def _merged(self, word: str) -> list[str]:
        """Merge the pair that was learned first, again and again."""
        parts = [self._letter[byte] for byte in word.encode("utf-8")]
        while len(parts) > 1:
            pairs = itertools.pairwise(parts)
            rank, i = min((self.rank.get(pair, math.inf), i) for i, pair in enumerate(pairs))
            if rank == math.inf:
                break
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        return parts


def _words(text: str) -> list[str]:
    """Cut out each digit, then words, signs and spaces of what lies between."""
    words: list[str] = []
    between = ""
    for character in text:
        if unicodedata.category(character)[0] == "N":
            words += [*_WORDS.findall(between), character]
            between = ""
        else:
            between += character
    return words + _WORDS.findall(between)
