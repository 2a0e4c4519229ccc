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
            "the right weights in reverse order": "torch.softmax(X @ new, dim=0).flip(0)",
        },
        2: {
            "the bare formula": "lambda s: torch.exp(s) / torch.exp(s).sum()",
            "subtracts the lowest": "lambda s: (e := torch.exp(s - s.min())) / e.sum()",
            "subtracts 10": "lambda s: (e := torch.exp(s - 10)) / e.sum()",
            "subtracts the mean": "lambda s: (e := torch.exp(s - s.mean())) / e.sum()",
            "divides by the sum": "lambda s: s / s.sum()",
            "divides by the largest": "lambda s: (e := torch.exp(s / s.max())) / e.sum()",
            "only exponentials": "lambda s: torch.exp(s - s.max())",
            "torch's own": "lambda s: torch.softmax(s, dim=-1)",
            "torch's own, as a method": "lambda s: s.softmax(0)",
            "torch's own, of torch.nn": "torch.nn.Softmax(dim=0)",
            "no function": "weights",
        },
        3: {
            "each month with itself": "(9, 0)",
            "December and January are no neighbours": "(9, 9)",
            "all": "(12, 12)",
            "a share": "(9, 11 / 12)",
            "the count alone": "11",
            "in the other order": "(11, 9)",
            "a guess that cannot be": "(13, 11)",
            "only the next month counts": (
                "(9, sum((j - i) % 12 == 1 for i, j in enumerate(near.tolist())))"
            ),
        },
    },
    "02_simple_attention": {
        1: {
            "softmax over queries": "lambda b: torch.softmax(b @ b.mT, dim=1) @ b",
            "divided by the root of d_k": "lambda b: scaled_dot_product_attention(b, b, b)",
            "no softmax": "lambda b: b @ b.mT @ b",
            "shares by the sum": "lambda b: (s := b @ b.mT) / s.sum(-1, keepdim=True) @ b",
            "first sentence only": "lambda b: contexts",
            "all axes reversed": "lambda b: torch.softmax(b @ b.permute(2, 1, 0), -1) @ b",
            "sentences look at each other": (
                "lambda b: (torch.softmax((f := b.flatten(0, 1)) @ f.T, -1) @ f).view(b.shape)"
            ),
            "the weights": "lambda b: torch.softmax(b @ b.mT, -1)",
        },
        2: {
            "one tenth too low": "0.3",
            "one tenth too high": "0.5",
            "no division": "1",
            "the lowest of all": "0.1",
            "between two of them": "0.38",
            "zero": "0",
            "none": "None",
        },
    },
    "03_query_key_value": {
        1: {
            "no softmax": "1",
            "as before": "answers[2].item()",
            "plain mean": "(2 + 7 + 4 + 1) / 4",
            "a quiet query": (
                "(torch.softmax(scores[2] / 8, 0) @ torch.tensor([2.0, 7, 4, 1])).item()"
            ),
            "not divided by the root of d_k": (
                "(torch.softmax(Q[2] @ K.T, 0) @ torch.tensor([2.0, 7, 4, 1])).item()"
            ),
        },
        2: {
            "as before": "[2, 3, 4, 1]",
            "at itself": "[1, 2, 3, 4]",
            "counted from 0": "[3, 0, 1, 2]",
            "the stall opposite": "[3, 4, 1, 2]",
            "one number": "4",
            "the scores": "X @ W_k @ (X @ W_q).T",
        },
        3: {
            "the same pair": "(W_q, W_k)",
            "other sizes": "(2 * W_q, W_k / 2)",
            "columns exchanged": "(W_q.flip(1), W_k.flip(1))",
            "exchanged matrices": "(W_k, W_q)",
            "turned back": "(W_q @ R, W_k @ R.T)",
            "the same matrix for both": "(W_q @ (R + 1), W_k @ (R + 1))",
            "the inverse not transposed": "(W_q @ (R + 1), W_k @ torch.linalg.inv(R + 1))",
            "only W_q": "(W_q @ R, W_k)",
            "multiplied from the left": "(torch.eye(5) @ W_q, R @ W_k[:4])",
        },
    },
    "04_scaling": {
        1: {
            "the diagonal alone": "lambda w, g: w * (1 - w) * g",
            "mean not subtracted": "lambda w, g: w * g",
            "plain mean": "lambda w, g: w * (g - g.mean())",
            "plain mean, no factor w": "lambda w, g: g - g.mean()",
            "no factor w": "lambda w, g: g - (w * g).sum()",
            "wrong sign": "lambda w, g: -way_back(w, g)",
            "every weight falls": "lambda w, g: -w * (w * g).sum()",
            "divided once more": "lambda w, g: way_back(w, g).numpy() / 8",
            "nan": "lambda w, g: way_back(w, g) * torch.nan",
            "nothing": "lambda w, g: torch.zeros(4)",
            "one number": "lambda w, g: (w * g).sum()",
            "the table": "lambda w, g: torch.diag(w) - torch.outer(w, w)",
            "no function": "J",
        },
        2: {
            "one too small": "16.0",
            "one too large": "64",
            "far too large": "[1024]",
            "no power of two": "48",
            "no whole number": "32.5",
            "never": "0",
            "nan": "float('nan')",
            "none": "None",
        },
    },
    "05_masks": {
        1: {
            "no rows for padding": "18",
            "the causal mask only": "30",
            "the padding mask only": "35",
            "the long sentence only": "int(permitted[0].sum())",
            "the short sentence only": "int(permitted[1].sum())",
            "causal without its diagonal": "17",
            "a number for each sentence": "(15, 9)",
            "a text": "'two dozen'",
            "nan": "float('nan')",
            "none": "None",
        },
        2: {
            "inverted": "(2, 4, lambda length, n: ~window(length, n))",
            "one too many": "(2, 4, lambda length, n: window(length, n + 1))",
            "one too few": "(2, 4, lambda length, n: window(length, n - 1))",
            "looks ahead": "(2, 4, lambda length, n: window(length, n) | window(length, n).T)",
            "looks ahead only": "(2, 4, lambda length, n: window(length, n).T)",
            "the whole past": "(2, 4, lambda length, n: causal_mask(length))",
            "the first n": (
                "(2, 4, lambda length, n: causal_mask(length) & (torch.arange(length) < n))"
            ),
            "not bool": "(2, 4, lambda length, n: window(length, n).int())",
            "additive": (
                "(2, 4, lambda length, n: torch.zeros(length, length)"
                ".masked_fill(~window(length, n), -torch.inf))"
            ),
            "slices from below 0": (
                "(2, 4, lambda length, n: torch.tensor([[j in range(length)[i - n + 1 : i + 1]"
                " for j in range(length)] for i in range(length)]))"
            ),
            "nan": "(2, 4, lambda length, n: torch.full((length, length), torch.nan))",
            "too small": "(2, 4, lambda length, n: window(length - 1, n))",
            "a mask, no function": "(2, 4, window(6, 3))",
            "the function alone": "window",
            "the guess alone": "(2, 4)",
            "the place itself counted": "(3, 5, window)",
            "three in each layer": "(3, 6, window)",
            "the second layer adds nothing": "(2, 2, window)",
            "the guess turned round": "(4, 2, window)",
            "a guess of nan": "(float('nan'), 4, window)",
        },
        3: {
            "the pair turned round": "(5, 0)",
            "the next word": "(0, 1)",
            "its own word": "(2, 2)",
            "no position": "(0, 6)",
            "counted from the end": "(0, -1)",
            "an output that is none": "(-1, 5)",
            "not whole": "(0.5, 5)",
            "nan": "(float('nan'), 5)",
            "many pairs": "[[0, 5], [1, 5]]",
            "one number": "5",
        },
    },
    "06_multi_head": {
        1: {
            "no output matrix": "[8 * 3 * 512 * 64, 8 * 3 * 512 * 512]",
            "with biases": "[4 * 512**2 + 4 * 512, 8 * (4 * 512**2 + 4 * 512)]",
            "output matrix does not grow": "[4 * 512**2, 8 * 3 * 512**2 + 512**2]",
            "the same twice": "[4 * 512**2] * 2",
            "one head only": "[3 * 512 * 64 + 512**2, 3 * 512**2 + 512**2]",
            "exchanged": "totals[::-1]",
            "the ratio": "[totals[0], 8]",
            "nan": "[totals[0], float('nan')]",
            "a tensor of three": "torch.tensor([*totals, 8])",
            "one number": "4 * 512**2",
        },
        2: {
            "all pairs": "16",
            "no pairs across, one head only": "4",
            "those of three words": "7",
            "the corners of three words": "14",
            "one pair too many": "9",
            "a share": "0.5",
            "a list": "[8, 8]",
            "the matrix": "(reach_matrix(four_words, two) > 0).int()",
            "nan": "float('nan')",
            "a text": "'eight'",
        },
        3: {
            "left as it is": "lambda W, order: W",
            "the way back": "lambda W, order: move_bands(W, [order.index(i) for i in range(3)])",
            "columns moved": "lambda W, order: move_bands(W.T, order).T",
            "single rows moved": "lambda W, order: W[order]",
            "upside down": "lambda W, order: W.flip(0)",
            "always the example": "lambda W, order: move_bands(W, [1, 2, 0])",
            "nan": "lambda W, order: W * torch.nan",
            "a matrix": "W_o",
        },
    },
    "07_positions": {
        1: {
            "the upper end of the paper": "2 * math.pi * 10_000",
            "one radian": "10_000 ** (6 / 8)",
            "exponent of the last column": "2 * math.pi * 10_000 ** (7 / 8)",
            "i instead of 2i": "2 * math.pi * 10_000 ** (3 / 8)",
            "half a turn": "slowest / 2",
            "the fastest hand": "2 * math.pi",
            "rounded to hundreds": "6300",
            "in thousands": "6.2832",
            "not a number": "math.nan",
            "two numbers": "[6283.2, 'no']",
            "a text": "'a thousand turns'",
            "infinite": "math.inf",
        },
        2: {
            "the sentence of the chapter": "'I saw a saw'.split()",
            "one word four times": "['saw'] * 4",
            "second and fourth differ": "['a', 'saw', 'saw', 'a']",
            "the new word first": "['I', 'saw', 'saw', 'saw']",
            "the new word third": "['saw', 'saw', 'a', 'saw']",
            "a longer sentence": "['a', 'saw', 'a', 'saw', 'a']",
            "another word": "['we', 'saw', 'we', 'saw']",
            "one string": "'I saw a saw'",
            "numbers": "[2, 1, 2, 0]",
            "rows": "embedding[[2, 1, 2, 1]]",
            "one word": "'saw'",
            "nothing": "None",
        },
        3: {
            "goes straight on": "lambda a, b: 2 * b - a",
            "the base of the paper": "lambda a, b: b @ sinusoidal_shift(1, 8)",
            "two steps back": "lambda a, b: a @ sinusoidal_shift(-1, 8)",
            "adds the rows": "lambda a, b: a + b",
            "one cosine for all hands": "lambda a, b: 2 * (a @ b) / 4 * b - a",
            "the second again": "lambda a, b: b",
            "no factor 2": "lambda a, b: (next_row(a, b) + a) / 2 - a",
            "the first row wanted back": "lambda a, b: next_row(b, a)",
            "not a number": "lambda a, b: next_row(a, b) * math.nan",
            "one that is not a number": (
                "lambda a, b: next_row(a, b).index_fill(0, torch.tensor([3]), math.nan)"
            ),
            "infinite": "lambda a, b: b / 0",
            "half a row": "lambda a, b: next_row(a, b)[:4]",
            "returns nothing": "lambda a, b: None",
            "a row, no function": "table[2]",
            "pairs by halves": (
                "lambda a, b: 2 * ((p := a * b)[:4] + p[4:]).repeat_interleave(2) * b - a"
            ),
        },
    },
    "08_layers": {
        1: {
            "divides by n - 1": "[1, *norm_of(loud, correction=1)]",
            "the deviations": "[1, *deviations]",
            "divided by the variance": "[1, *deviations / deviations.square().mean()]",
            "mean not subtracted": "[1, *loud / deviations.square().mean().sqrt()]",
            "guesses ten times": "[10, *layer_norm(loud, [4])]",
            "guesses a tenth": "[0.1, *layer_norm(loud, [4])]",
            "the guess alone": "[1]",
            "no guess": "layer_norm(loud, [4])",
            "a guess in words": "['same', *layer_norm(loud, [4]).tolist()]",
            "the guess at the end": "[*layer_norm(loud, [4]).tolist(), 1]",
            "three numbers": "[1, -0.58, -0.58, 1.73]",
            "nan": "[1, *[float('nan')] * 4]",
        },
        2: {
            "right for positive b only": "([[1, 0], [-1, 1]], [[1], [1]])",
            "the smaller of two": "([[-1, 0, 0], [1, 1, -1]], [[-1], [1], [-1]])",
            "the mean": "([[1, -1, 0, 0], [0, 0, 1, -1]], [[0.5], [-0.5], [0.5], [-0.5]])",
            "the difference's size": "([[1, -1], [-1, 1]], [[1], [1]])",
            "W2 as a row": "([[1, 0, 0], [-1, 1, -1]], [[1, 1, -1]])",
            "one matrix": "[[1, 0, 0], [-1, 1, -1]]",
            "nan": "([[1, 0, 0], [-1, 1, -1]], [[1], [1], [float('nan')]])",
        },
    },
    "09_transformer": {
        1: {
            "three tables": "3304 + 160",
            "no table": "3304 - 80",
            "as many decoder layers as encoder layers": "872 + 1176 + 80",
            "two encoder layers, one decoder layer": "2 * 872 + 1176 + 80",
            "decoder layers counted as encoder layers": "3 * 872 + 80",
            "without biases and norms": "12 * 64 + 2 * 16 * 64 + 80",
            "two layers on both sides": "2 * (872 + 1176) + 80",
            "nan": "float('nan')",
            "a text": "'about three thousand'",
            "two numbers": "[3304, 0]",
        },
        2: {
            "the vocabulary of the text": "[37_000, 37_000]",
            "exchanged": "[big[1], base[1]]",
            "only the base is right": "[base[1], 37_000]",
            "only the big one is right": "[37_000, big[1]]",
            "the lower ends of the rounding": "[base[0], big[0]]",
            "biases in the big one only": "[base[1] + 72, big[1]]",
            "biases in the base only": "[base[1], big[1] + 72]",
            "decoder layers counted as encoder layers": (
                "[(65e6 - 12 * (12 * 512**2 + 13 * 512)) / 512,"
                " (213e6 - 12 * (12 * 1024**2 + 13 * 1024)) / 1024]"
            ),
            "one number": "base[1]",
            "three numbers": "[base[1], big[1], 0]",
            "three tables": "[base[1] / 3, big[1] / 3]",
            "nan": "[float('nan')] * 2",
            "nan and a right one": "[base[1], float('nan')]",
        },
        3: {
            "accuses everyone": "lambda decode, tgt: True",
            "accuses no one": "lambda decode, tgt: False",
            "returns nothing": "lambda decode, tgt: None",
            "no function": "True",
            "changes the last token only": (
                "lambda decode, tgt: bool((decode(tgt)[:, :-1] != decode(torch.cat("
                "[tgt[:, :-1], (tgt[:, -1:] + 1) % 11], 1))[:, :-1]).any())"
            ),
            "looks at the first row only": (
                "lambda decode, tgt: bool((decode(tgt)[:, 0] != decode(torch.cat("
                "[tgt[:, :1], (tgt[:, 1:] + 1) % 11], 1))[:, 0]).any())"
            ),
            "looks at all rows": (
                "lambda decode, tgt: bool((decode(tgt) != decode(torch.cat("
                "[tgt[:, :1], (tgt[:, 1:] + 1) % 11], 1))).any())"
            ),
            "compares with an input shorter by one": (
                "lambda decode, tgt: bool((decode(tgt)[:, :-1] != decode(tgt[:, :-1])).any())"
            ),
            "leaves the vocabulary": (
                "lambda decode, tgt: bool((decode(tgt)[:, 0] != decode(tgt + 1)[:, 0]).any())"
            ),
        },
    },
    "10_translation": {
        1: {
            "PAD gets its share": (
                "torch.special.entr(torch.tensor([0.8 + 0.2 / 11] + [0.2 / 11] * 10)).sum()"
            ),
            "the right token keeps only 0.8": (
                "torch.special.entr(torch.tensor([0.8] + [0.02] * 9)).sum()"
            ),
            "ten others": ("torch.special.entr(torch.tensor([0.82] + [0.02] * 10)).sum()"),
            "no floor": "0.0",
            "equal chances": "torch.tensor(10.0).log()",
            "the loss of the right token": "-torch.tensor(0.82).log()",
            "two decimals": "0.87",
            "nan": "float('nan')",
            "a list": "[0.82, 0.02]",
        },
        2: {
            "the prettiest head": "[1, 1]",
            "the head that costs most in its layer": "[1, 3]",
            "the second of layer 0": "[0, 3]",
            "exchanged": "[1, 0]",
            "counted from 1": "[1, 2]",
            "its neighbour": "[0, 2]",
            "its other neighbour": "[0, 0]",
            "no such layer": "[2, 1]",
            "one number": "1",
        },
        3: {
            "compares sources": (
                "lambda train, test: sum(t.source in {s.source for s in train} for t in test)"
            ),
            "compares examples": "lambda train, test: sum(t in train for t in test)",
            "first days only": (
                "lambda train, test: sum(t.days[0] in {s.days[0] for s in train} for t in test)"
            ),
            "all days of a range": (
                "lambda train, test: sum(set(t.days) <= {d for s in train for d in s.days}"
                " for t in test)"
            ),
            "counts days, not examples": (
                "lambda train, test: len({d for s in train for d in s.days}"
                " & {d for t in test for d in t.days})"
            ),
            "true or false": (
                "lambda train, test: bool({d for s in train for d in s.days}"
                " & {d for t in test for d in t.days})"
            ),
            "counts the days of each": (
                "lambda train, test: sum(d in {d for s in train for d in s.days}"
                " for t in test for d in t.days)"
            ),
            "the whole test": "lambda train, test: len(test)",
            "a number": "219",
        },
    },
    "11_why_attention": {
        1: {
            "the GRU's border": "64",
            "without projections": "256",
            "divided the wrong way": "32",
            "one token too few": "127",
            "the number of operations": "4194304",
            "both numbers": "[128, 0]",
            "a text": "'2d'",
            "nan": "float('nan')",
        },
        2: {
            "as on the page": "(1, 3)",
            "exchanged": "(5, 1)",
            "powers of two": "(1, 2)",
            "gaps": "(2, 5)",
            "next to each other": "(1, 1)",
            "every third token": "(3, 9)",
            "one layer": "[5]",
            "three layers": "(1, 5, 15)",
            "no distance": "(0, 5)",
            "halves": "(0.5, 2.5)",
            "nan": "(1, float('nan'))",
            "the reach": "7",
        },
        3: {
            "equal, not less": "544",
            "the border with the GRU": "65",
            "later": "546",
            "much later": "4000",
            "with one layer fewer": "449",
            "with one layer more": "641",
            "too short": "2",
            "between two numbers": "544.5",
            "a list": "[545]",
            "nan": "float('nan')",
        },
    },
    "12_bug_museum": {
        1: {
            "a quarter of the words": "4",
            "all words": "16",
            "the loss itself": "0.6931",
            "half the words": "8",
            "a list": "[2]",
            "nan": "float('nan')",
        },
        2: {
            "the split": "2",
            "the mask": "4",
            "the softmax": "5",
            "the last step": "8",
            "a name": "'merge'",
            "none": "None",
        },
        3: {
            "rows add up to 1": (
                "lambda a: torch.testing.assert_close(a(q, k, 0 * k + 1), 0 * q + 1)"
            ),
            "shifted keys": "lambda a: torch.testing.assert_close(a(q, k + 1, k), a(q, k, k))",
            "only this way round": (
                "lambda a: pairs_stay_together(a) if a.keywords['by'] >= 0 else None"
            ),
            "always silent": "lambda a: None",
            "never silent": "lambda a: torch.testing.assert_close(q, q + 1)",
            "the shape": "lambda a: torch.testing.assert_close(a(q, k, k).shape, q.shape)",
            "no function": "True",
        },
    },
    "13_scale": {
        1: {
            "nothing shrunk": "(12 + 2) / (3 + 2)",
            "mean of means": "(12 / 3 + 2 / 2) / 2",
            "the other shrunk": "(12 / 2 + 2) / (3 / 2 + 2)",
            "not divided": "13",
            "the total": "4",
            "only the sum shrunk": "(12 + 2) / (3 + 2 / 2)",
            "whole numbers": "3",
            "nan": "float('nan')",
            "both": "(4, 13)",
        },
        2: {
            "the largest first": "[1000, 0, 0]",
            "all the same": "[1000, 1000, 1000]",
            "still fits": "[0, 0, 709]",
            "small": "[1, 2, 3]",
            "underflow only": "[1000, -1000, 0]",
            "too large a size": "[0, 0, 5000]",
            "infinite": "[0, 0, float('inf')]",
            "nan": "[0, 0, float('nan')]",
            "two scores": "[0, 1000]",
            "a table": "[[0], [0], [1000]]",
            "a number": "710",
        },
        3: {
            "the first half": "[0, 1, 2, 3]",
            "the last half": "[4, 5, 6, 7]",
            "every second": "[0, 2, 4, 6]",
            "the other second": "[1, 3, 5, 7]",
            "one twice": "[0, 0, 7, 7]",
            "too few": "[0, 7]",
            "from 1": "[1, 4, 5, 8]",
            "halves of tokens": "[0.5, 2.5, 4.5, 6.5]",
            "how many": "18",
            "nan": "[0, 3, 4, float('nan')]",
        },
    },
    "14_real_model": {
        1: {
            "the sign forgotten": "10.75",
            "the 1 before the fraction forgotten": "-2.75",
            "the fraction forgotten": "-8",
            "the power forgotten": "-1.34375",
            "the 127 forgotten": "-1.34375 * 2.0**130",
            "the highest byte first": "unpack('>f', bytes.fromhex('00002cc1'))[0]",
            "nan": "float('nan')",
        },
        2: {
            "the start": "0",
            "the article": "1",
            "itself": "3",
            "the word after": "4",
            "the object": "5",
            "a half": "2.5",
            "outside": "8",
        },
    },
    "15_since_2017": {
        1: {
            "the wrong sign of the distance": "[2, 2 * (math.cos(1) - math.sin(1))]",
            "the score does not change": "[2, 2]",
            "the other order": "[2 * (math.cos(1) + math.sin(1)), 2]",
            "the length of the query forgotten": "[1, math.cos(1) + math.sin(1)]",
            "not rotated by the distance": "[2 * (math.cos(7) - math.sin(7)), 2]",
            "in degrees": "[2, 2.0346]",
            "one score": "2",
            "nan": "[2, float('nan')]",
            "a text": "'the second'",
        },
        2: {
            "the temperature alone": "[36 / 46, 9 / 46, 1 / 46]",
            "top-p alone": "[2 / 3, 1 / 3, 0]",
            "untouched": "[0.6, 0.3, 0.1]",
            "doubled temperature": "(r := p.sqrt()) / r.sum()",
            "not scaled": "[36 / 46, 9 / 46, 0]",
            "the most likely only": "[1, 0, 0]",
            "reversed": "[0, 0.2, 0.8]",
            "two numbers": "[0.8, 0.2]",
            "nan": "[0.8, 0.2, float('nan')]",
        },
    },
}
