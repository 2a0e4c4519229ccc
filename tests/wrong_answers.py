"""Plausible wrong answers to the exercises; their checks must refuse each of them.

``{chapter: {exercise: {what is wrong: Python expression}}}``. The expression is evaluated
after the chapter's last cell, with all of its names.
"""

WRONG: dict[str, dict[int, dict[str, str]]] = {
    "01_dot_products": {
        1: {
            "shares by the sum": "X @ new / (X @ new).sum()",
            "the scores themselves": "X @ new",
            "divided by the root of d_k first": "torch.softmax(X @ new / root, dim=0)",
            "weights of another token": "weights[0]",
            "two numbers": "[0.1, 0.9]",
        },
        2: {
            "the bare formula": "lambda s: torch.exp(s) / torch.exp(s).sum()",
            "takes off the mean": "lambda s: (e := torch.exp(s - s.mean())) / e.sum()",
            "divides by the sum": "lambda s: s / s.sum()",
            "divides by the largest": "lambda s: torch.softmax(s / s.max(), dim=0)",
            "only exponentials": "lambda s: torch.exp(s - s.max())",
            "no function": "weights",
        },
        3: {
            "orthogonal but correlated": "[[1, 1, 0, 0], [0, 0, 1, 1]]",
            "orthogonal and uncorrelated": "[[1, -1, 0, 0], [0, 0, 1, -1]]",
            "neither": "[[1, 2, 3, 4], [2, 4, 6, 9]]",
            "one is constant": "[[1, 1, 1, 1], [1, 2, 3, 4]]",
            "one list": "[1, 0, 1, 0]",
        },
    },
    "02_simple_attention": {
        1: {
            "may look at all words": "contexts[3]",
            "half and half": "(X[1] + X[3]) / 2",
            "shares exchanged": "shares.flip(0) @ two",
            "shares by the sum": "(two @ X[3]) / (two @ X[3]).sum() @ two",
            "divided by the root of d_k first": "torch.softmax(two @ X[3] / root, dim=0) @ two",
            "the two weights": "shares",
        },
        2: {
            "softmax over queries": "lambda b: torch.softmax(b @ b.mT, dim=1) @ b",
            "divided by the root of d_k": "lambda b: scaled_dot_product_attention(b, b, b)",
            "no softmax": "lambda b: b @ b.mT @ b",
            "shares by the sum": "lambda b: (s := b @ b.mT) / s.sum(-1, keepdim=True) @ b",
            "first sentence only": "lambda b: contexts",
            "sentences look at each other": (
                "lambda b: (torch.softmax((f := b.flatten(0, 1)) @ f.T, -1) @ f).view(b.shape)"
            ),
        },
        3: {"one too few": "6", "one too many": "8", "no whole number": "6.9", "none": "None"},
    },
    "03_query_key_value": {},
    "04_scaling": {},
    "05_masks": {},
    "06_multi_head": {},
    "07_positions": {},
    "08_layers": {},
    "09_transformer": {},
}
