"""BERT's tokenizer: words, then the longest pieces of a vocabulary."""

import unicodedata
from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["WordPieces"]

# Chinese characters stand alone, as BERT's tokenizer separates them.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip
_LONGEST_WORD = 100


class WordPieces:
    """Cut texts into pieces of words, and map them to the ids of a vocabulary.

    A text is brought to lower case without accents and cut at spaces and punctuation. Of each
    word, the longest piece that the vocabulary has comes first, then the longest of the rest,
    written with ``##``. A word without such pieces is ``[UNK]``. ``[CLS]`` begins and
    ``[SEP]`` ends each text. Text such as ``"[SEP]"`` has no special meaning: it is cut like
    any other.

    Args:
        pieces: the vocabulary; the id of a piece is its place, and ``[PAD]`` must be first

    Raises:
        ValueError: pieces has no ``[UNK]``, ``[CLS]`` or ``[SEP]``, or does not begin with
            ``[PAD]``
        TypeError: pieces is a str

    Source: Wu et al. 2016, section 4.1; Devlin et al. 2019. The book's chapter 14.

    >>> words = WordPieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "saw", "##s", "."])
    >>> words.tokens("Saws.")
    ['[CLS]', 'saw', '##s', '.', '[SEP]']
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        if isinstance(pieces, str):
            raise TypeError("pieces must be a sequence of pieces, got a str")
        self.pieces = list(pieces)
        self.number = {piece: i for i, piece in enumerate(self.pieces)}
        if self.pieces[:1] != ["[PAD]"]:
            raise ValueError(f"pieces must begin with '[PAD]', got {self.pieces[:1]}")
        missing = [piece for piece in ("[UNK]", "[CLS]", "[SEP]") if piece not in self.number]
        if missing:
            raise ValueError(f"pieces must contain [UNK], [CLS] and [SEP], got none of {missing}")

    def tokens(self, text: str) -> list[str]:
        """Return the pieces of a text between ``[CLS]`` and ``[SEP]``.

        Raises:
            TypeError: text is not a str
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, got {type(text).__name__}")
        inner = [piece for word in self._words(text) for piece in self._cut(word)]
        return ["[CLS]", *inner, "[SEP]"]

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Return ids, one row a text, padded on the right with 0.

        Shape:
            returns: (B, L), L = the longest row

        Raises:
            ValueError: texts is empty
            TypeError: texts is a str and not a list of them, or holds something else
        """
        if isinstance(texts, str):
            raise TypeError("texts must be a list of str, got a str; put it in a list")
        if not len(texts):
            raise ValueError("texts must hold at least one text, got none")
        rows = [torch.tensor([self.number[t] for t in self.tokens(text)]) for text in texts]
        ids: Tensor = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return ids

    def _words(self, text: str) -> list[str]:
        """Cut at spaces, punctuation and Chinese characters; lower case, no accents."""
        cleaned = ""
        for character in text:
            kind = unicodedata.category(character)
            if character in "\t\n\r" or kind == "Zs":
                cleaned += " "
            elif kind not in ("Cc", "Cf", "Co") and character != "\ufffd":
                cleaned += f" {character} " if _is_ideograph(character) else character
        separated = ""
        for character in unicodedata.normalize("NFD", cleaned):
            if unicodedata.category(character) == "Mn":
                continue
            # One at a time: a Greek word would else end in another small sigma.
            for small in character.lower():
                separated += f" {small} " if _is_punctuation(small) else small
        return separated.split()

    def _cut(self, word: str) -> list[str]:
        """Take the longest piece from the left, again and again."""
        if len(word) > _LONGEST_WORD:
            return ["[UNK]"]
        cuts: list[str] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.number:
                    break
            else:
                return ["[UNK]"]
            cuts.append(piece)
            start = end
        return cuts


def _is_ideograph(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _IDEOGRAPHS)


def _is_punctuation(character: str) -> bool:
    ascii_sign = character.isascii() and not character.isalnum() and not character.isspace()
    return ascii_sign or unicodedata.category(character)[0] == "P"
