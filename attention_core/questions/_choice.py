"""The question that is answered by choosing."""

import html
from collections.abc import Mapping
from typing import Any

from attention_core.questions import _texts
from attention_core.questions._question import Question, _wrapped, right_reply, wrong_reply
from attention_core.questions._words import WORDS


class _Choice(Question):
    def __init__(self, *args: Any, options: list[str], **parts: Any) -> None:
        super().__init__(*args, **parts)
        self._options = [_texts.to_plain(option).casefold() for option in options]

    def _given(self, answer: Any) -> list[str]:
        said = " ".join(str(answer).split())
        for option in (said, _texts.to_plain(said)):
            if option.casefold() in self._options:
                return [str(self._options.index(option.casefold()))]
        return [""]


def choice(text: str, options: Mapping[str, str], *, right: str) -> Question:
    """Ask for one of several options.

    Args:
        text: the question
        options: each option with the reply to it; that of the right one begins with "Right"
        right: the right option

    Raises:
        ValueError: there are fewer than two options, or none of them is right

    >>> question = choice(
    ...     "Which softmax is sharper?",
    ...     {"of the scores": "Right.", "of half the scores": "Smaller scores differ less."},
    ...     right="of the scores",
    ... )
    >>> question
    Question: Which softmax is sharper?
    ( ) of the scores
    ( ) of half the scores
    Answer: of the scores
    >>> question.check("of half the scores"), question.check("none")
    ('Smaller scores differ less.', 'Choose an answer first.')
    """
    text = _texts.tidy(text, "text")
    names = [_texts.tidy(option, "an option") for option in options]
    wanted = _texts.tidy(right, "right")
    if wanted not in names:
        raise ValueError(f"right must be one of the options {names}, got {right!r}")
    if len({_texts.to_plain(name).casefold() for name in names}) < max(2, len(names)):
        raise ValueError(f"options must be at least two that differ, got {names}")
    replies = [
        right_reply(said, "the reply to the right option")
        if name == wanted
        else wrong_reply(said, "the reply to a wrong option")
        for name, said in zip(names, options.values(), strict=True)
    ]
    index = names.index(wanted)
    made = [_texts.to_html(said) for said in replies]
    state = {
        "kind": "choice",
        "right": index,
        "replies": made,
        "says": {"right": made[index], "empty": html.escape(WORDS["no choice"])},
    }
    items = "".join(f"<li>{_texts.to_html(name)}</li>" for name in names)
    lines = [
        line
        for name in names
        for line in _wrapped(_texts.to_plain(name), first="( ) ", rest="    ")
    ]
    return _Choice(
        text,
        state,
        body=f'<ul class="question-options">{items}</ul>',
        plain="\n".join(lines),
        answer=wanted,
        right=replies[index],
        options=names,
    )
