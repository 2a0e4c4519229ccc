"""Vocabularies, which map characters to ids and back."""

import unicodedata
from collections.abc import Iterable, Sequence

from torch import Tensor

from attention_core import _checks, _options


class Vocabulary:
    """Map the characters of a text to ids, in the order of their code points.

    Three ids stand for no character: PAD is padding, BOS begins and EOS ends a sentence. Texts
    are first brought to Unicode's normal form NFC, so that an accented letter is one character,
    however it was typed.

    See chapter 10 of the book.

    Raises:
        ValueError: text is empty
        TypeError: text is not a str

    >>> vocabulary = Vocabulary("May")
    >>> vocabulary.encode("May"), vocabulary.decode([1, 3, 5, 2, 0]), len(vocabulary)
    ([3, 4, 5], 'My', 6)
    """

    PAD, BOS, EOS = 0, 1, 2

    def __init__(self, text: str) -> None:
        self.characters = "".join(sorted(set(_normal(text))))
        self._ids = {character: n for n, character in enumerate(self.characters, start=3)}

    def __len__(self) -> int:
        return 3 + len(self.characters)

    def encode(self, text: str) -> list[int]:
        """Return one id for each character, without BOS and EOS; none is ever dropped.

        Raises:
            ValueError: text is empty, or a character is not in the vocabulary
            TypeError: text is not a str

        >>> Vocabulary("one step").encode("no")
        [5, 6]
        """
        text = _normal(text)
        try:
            return [self._ids[character] for character in text]
        except KeyError as error:
            (character,) = error.args
            raise ValueError(
                f"text must consist of the vocabulary's characters, got {character!r} "
                f"(U+{ord(character):04X}) in {text!r}"
            ) from None

    def decode(self, ids: Sequence[int] | Tensor) -> str:
        """Return the text up to EOS; PAD and BOS stand for no character.

        Shape:
            ids: (length,)

        Raises:
            ValueError: ids has several axes, or an id is not in the vocabulary
            TypeError: ids is not a sequence, or an id is not an int

        >>> Vocabulary("早上好").decode([1, 4, 3, 2, 5])
        '好上'
        """
        if isinstance(ids, Tensor):
            if ids.dim() != 1:
                raise ValueError(f"ids must have shape (length,), got {_checks.shape(ids)}")
            ids = ids.tolist()
        if not isinstance(ids, Iterable):
            raise TypeError(f"ids must be a list of ids, got {type(ids).__name__} {ids!r}")
        text = ""
        for n in ids:
            _options.check_count("an id", n, minimum=0)
            if n >= len(self):
                raise ValueError(f"an id must be below {len(self)}, got {n}")
            if n == self.EOS:
                break
            if n not in (self.PAD, self.BOS):
                text += self.characters[n - 3]
        return text


def _normal(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {type(text).__name__}")
    if not text:
        raise ValueError("text must hold at least one character, got ''")
    return unicodedata.normalize("NFC", text)
