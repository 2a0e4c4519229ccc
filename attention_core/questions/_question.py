"""How a question is stored, shown and answered, whatever its kind."""

import hashlib
import html
import re
import textwrap
from typing import Any

from attention_core._html import script_json
from attention_core.questions import _texts
from attention_core.questions._verdicts import State, verdict
from attention_core.questions._words import WORDS

_WIDTH = 76


class Question:
    """A question in the page, as `number`, `choice` and `cells` make it.

    At the end of a cell it shows itself. A page of the book makes its fields and checks answers
    without a kernel; Jupyter does where anywidget is installed. Elsewhere the question stands
    there with its answer folded.
    """

    def __init__(
        self, text: str, state: State, *, answer: str, right: str, body: str = "", plain: str = ""
    ) -> None:
        # body and plain: what stands between question and answer, in HTML and as plain text.
        self._text, self._body, self._plain = text, body, plain
        self._answer, self._reason = answer, _reason(right)
        names = {name: WORDS[name] for name in ("label", "check", "show", "again")}
        self._state = {**state, "words": names}
        digest = hashlib.sha256(f"{state['kind']} {text} {plain}".encode()).hexdigest()
        self._id = digest[:8]
        self._widget: Any = None

    def check(self, answer: Any) -> str:
        """Return the reply of the page to an answer; it begins with "Right" if that is right.

        ``...`` stands for an answer that is not yet given, so this is also the check of an
        exercise: ``check_1 = question.check``.
        """
        if answer is ...:
            return WORDS["dots"]
        given = self._given(answer)
        if given is None:
            return WORDS["shape"]
        return _texts.from_html(verdict(self._state, given).reply)

    def _given(self, answer: Any) -> list[str] | None:
        """Return an answer given in Python as the texts of the fields; None if it has none."""
        raise NotImplementedError

    def static_html(self) -> str:
        """Return the HTML that is stored: question, folded answer, and the state for the script."""
        reason = f"<p>{_texts.to_html(self._reason)}</p>" if self._reason else ""
        return (
            f'<div class="question" data-question="{self._id}">'
            f'<script type="application/json">{script_json(self._state)}</script>'
            f'<p class="question-name">{html.escape(WORDS["question"])}</p>'
            f'<p class="question-text" id="question-{self._id}">{_texts.to_html(self._text)}</p>'
            f"{self._body}"
            f"<details><summary>{html.escape(WORDS['answer'])}</summary>"
            f"<p><strong>{_texts.to_html(self._answer)}</strong></p>"
            f"{reason}</details></div>"
        )

    def __repr__(self) -> str:
        parts = [
            *_wrapped(f"{WORDS['question']}: {_texts.to_plain(self._text)}"),
            *self._plain.splitlines(),
            *_wrapped(f"{WORDS['answer']}: {_texts.to_plain(self._answer)}"),
        ]
        return "\n".join(parts)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        data: dict[str, Any] = {}
        metadata: dict[str, Any] = {}
        try:
            from attention_core.questions._widget import QuestionWidget
        except ImportError:  # anywidget is not installed
            pass
        else:
            self._widget = self._widget or QuestionWidget(html=self.static_html())
            made = self._widget._repr_mimebundle_(**options)
            data, metadata = made if isinstance(made, tuple) else (made or {}, {})
        return {**data, "text/html": self.static_html(), "text/plain": repr(self)}, metadata


def _wrapped(text: str, *, first: str = "", rest: str = "  ") -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def _reason(right: str) -> str:
    """Return what the reply to a right answer adds to "Right", as a sentence.

    >>> _reason("Right: each row adds up to 1."), _reason("Right.")
    ('Each row adds up to 1.', '')
    """
    rest = right[len(_right()) :].lstrip(" .:,;!–—-。：，；！")
    first = re.match("[a-z]+", rest)
    if first and (len(first[0]) > 1 or first[0] == "a"):
        rest = rest[0].upper() + rest[1:]
    return rest


def _right() -> str:
    """Return the word that only the reply to a right answer says."""
    return WORDS["right"].rstrip(".。")


def right_reply(text: str | None, name: str = "right") -> str:
    """Return the reply to a right answer, or raise an error if it does not begin with "Right"."""
    said = _texts.tidy(WORDS["right"] if text is None else text, name)
    if not re.match(rf"{re.escape(_right())}\b", said):
        raise ValueError(f'{name} must begin with "{_right()}", got {said!r}')
    return said


def wrong_reply(text: str | None, name: str) -> str:
    """Return the reply to a wrong answer, or raise an error if it says "Right"."""
    said = _texts.tidy(WORDS["otherwise"] if text is None else text, name)
    if _right() in said:
        raise ValueError(f'{name} must not say "{_right()}", got {said!r}')
    return said
