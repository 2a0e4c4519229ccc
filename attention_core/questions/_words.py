"""Everything that a question says by itself: one table, which a translation can replace."""

#: Read when a question is made. No module of JavaScript has words of its own.
WORDS = {
    # what stands on the page
    "question": "Question",
    "label": "Your answer",
    "check": "Check",
    "answer": "Answer",
    "show": "Show the answer",
    "again": "Try again",
    "cell": "row {row}, column {column}",
    # replies that a question can do without writing
    "right": "Right.",
    "otherwise": "Not yet.",
    "near": "Close, but not to {decimals}.",
    "one decimal": "one decimal",
    "decimals": "{digits} decimals",
    "look": "Look again at {cell}.",
    # replies to what is no answer
    "no number": "Type a number first.",
    "no choice": "Choose an answer first.",
    "no cells": "Fill every empty cell first.",
    "unreadable": "This is no number. Write digits, such as 0.42 or 1/3.",
    "unreadable cell": "In {cell} stands no number. Write digits, such as 0.42 or 1/3.",
    # replies in Python only
    "dots": "Your turn: replace the dots.",
    "shape": "Give the whole table, or the numbers of its empty cells in order.",
}
