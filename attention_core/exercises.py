"""Patience for the checking cells of the book's exercises."""

from collections.abc import Callable
from functools import wraps
from typing import Any


def checker(check: Callable[[Any], str]) -> Callable[[Any], str]:
    """Let a checking function speak in sentences only.

    An answer that is still the dots of the exercise means "not yet". An answer of a form
    that the check did not expect, two numbers for three, say, becomes a sentence too,
    instead of a traceback.

    >>> @checker
    ... def check(answer):
    ...     return "Right." if sum(answer) == 1 else "They do not add up to 1."
    >>> check(...)
    'Your turn: replace the dots.'
    >>> check([0.5, 0.5])
    'Right.'
    >>> check(None)
    "This answer cannot be checked: 'NoneType' object is not iterable"
    """

    @wraps(check)
    def patient(answer: Any) -> str:
        if answer is ...:
            return "Your turn: replace the dots."
        try:
            return check(answer)
        except Exception as error:
            return f"This answer cannot be checked: {str(error) or type(error).__name__}"

    return patient
