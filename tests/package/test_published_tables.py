"""The tables of published numbers: what is in them, and what they say when used as in the book."""

import hashlib
import json
from importlib.resources import files as package_files

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from attention_core import scaled_dot_product_attention
from attention_core.published import load_table, tables
from attention_core.published.files import SHA256

DATA = package_files("attention_core") / "data"
NAMES = [
    "words", "lengths", "bark", "one", "journey", "one_face", "subjects", "seven_heads", "rates",
    "positions", "stations", "capitals",
]  # fmt: skip


def printed(x):
    """As the book prints: four decimals."""
    return [f"{v:.4f}" for v in x.tolist()]


def test_each_table_says_what_it_is_and_where_it_comes_from():
    assert list(tables()) == NAMES
    for name, what in tables().items():
        table = load_table(name)
        assert table["what"] == what
        assert what.endswith(".")
        assert set(table["chapters"]) <= set(range(1, 10))
        assert table["sources"]
        for source in table["sources"]:
            assert source["licence"] == "Apache-2.0"
            assert SHA256[source["file"]] == source["sha256"]
            assert source["model"].partition("/")[0] in ("sentence-transformers", "HuggingFaceTB")
    assert [s["file"] for s in load_table("lengths")["sources"]] == [
        "model.safetensors",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
    ]
    assert len(load_table("words")["sources"]) == 1


def test_the_tables_are_small_and_their_licence_is_beside_them():
    raw = (DATA / "published.json").read_bytes()
    assert len(raw) <= 160_000
    about = json.loads(raw)["about"]
    assert "LICENSE-APACHE-2.0.txt" in about
    assert "What was changed" in about
    licence = (DATA / "LICENSE-APACHE-2.0.txt").read_bytes()
    known = "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4"
    assert hashlib.sha256(licence).hexdigest() == known


def test_a_table_is_a_copy_that_may_be_changed():
    load_table("words")["names"].clear()
    load_table("words")["sources"][0].clear()
    load_table("words")["vectors"].zero_()
    table = load_table("words")
    assert len(table["names"]) == len(table["vectors"]) == 43
    assert table["vectors"].dtype == torch.float64
    assert table["sources"][0]["licence"] == "Apache-2.0"


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of words, lengths, .*, got 'mole'"):
        load_table("mole")
    with pytest.raises(TypeError, match="name must be a str, got int 3"):
        load_table(3)


def vectors(*names):
    table = load_table("words")
    return table["vectors"][[table["names"].index(name) for name in names]]


DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def test_chapter_1_weekdays_stand_in_a_circle():
    x = vectors(*DAYS)
    products = x @ x.T
    assert printed(products[0]) == [
        "1.5066",
        "1.1485",
        "0.9618",
        "0.9365",
        "0.8879",
        "0.9186",
        "0.9863",
    ]
    assert printed(products[6]) == [
        "0.9863",
        "0.8363",
        "0.7441",
        "0.7628",
        "0.7482",
        "0.9768",
        "1.5649",
    ]
    nearest = (products - 9 * torch.eye(7)).argmax(1)
    assert all((int(n) - i) % 7 in (1, 6) for i, n in enumerate(nearest))
    assert printed(products.softmax(1)[0])[:3] == ["0.2206", "0.1542", "0.1279"]
    # In the plane of the first two principal components, too.
    _, sizes, axes = torch.linalg.svd(x - x.mean(0), full_matrices=False)
    assert printed(sizes.square()[:2] / sizes.square().sum()) == ["0.2822", "0.2454"]
    plane = (x - x.mean(0)) @ axes[:2].T
    order = torch.atan2(plane[:, 1], plane[:, 0]).argsort().tolist()
    first = order.index(0)
    turned = order[first:] + order[:first]
    assert turned in ([*range(7)], [0, *range(6, 0, -1)])


def test_chapter_1_months_and_lengths():
    months = load_table("words")["names"][7:19]
    x = F.normalize(vectors(*months), dim=1)
    nearest = (x @ x.T - 9 * torch.eye(12)).argmax(1)
    assert sum((int(n) - i) % 12 in (1, 11) for i, n in enumerate(nearest)) == 11
    pair = vectors("matrices", "matrix")
    assert printed(pair.norm(dim=1)) == ["0.8868", "1.1965"]
    assert printed((pair @ pair.T)[0]) == ["0.7865", "0.8161"]
    table = load_table("lengths")
    assert (table["words_with_plural"], table["plurals_shorter"]) == (2907, 2329)
    assert (table["plurals_outranked"], table["singulars_outranked"]) == (13, 0)
    assert table["smollm2_longest"] == " strugg"
    assert (table["smollm2_longest_length"], table["smollm2_median_length"]) == (7.4949, 3.1539)
    assert table["smollm2_outranked_by_longest"] > 40_000 < table["smollm2_pieces"]
    other = table["smollm2_weekdays"]
    lengths = other.diagonal().sqrt()
    cosines = other / lengths / lengths[:, None] - 9 * torch.eye(7)
    assert sum((int(n) - i) % 7 in (1, 6) for i, n in enumerate(cosines.argmax(1))) == 6


def test_chapter_2_bark_follows_its_neighbours():
    table = load_table("bark")
    assert (table["alone"]["dog"], table["alone"]["tree"]) == (0.4333, 0.3920)
    found = {" ".join(s["tokens"]): s for s in table["sentences"]}
    wolf = found["the bark of the wolf was loud"]
    oak = found["the bark of the oak was thick"]
    assert (wolf["dog"], wolf["tree"]) == (0.4183, 0.3475)
    assert (oak["dog"], oak["tree"]) == (0.2992, 0.4297)
    assert len(found) == 8
    for sentence in found.values():
        for kind in ("", "even_"):
            of_dogs = sentence[f"{kind}dog"] > sentence[f"{kind}tree"]
            assert of_dogs == (sentence["sense"] == "dog")
    assert table["fox"]["dog"] < table["fox"]["tree"]
    assert (table["animals"], table["trees"]) == ([19, 18, 4], [17, 1, 0])
    # The vectors of the words give the same.
    for sentence in (wolf, oak):
        x = vectors(*sentence["tokens"])
        step = scaled_dot_product_attention(x * 384**0.5, x, x)[1]
        for sense, names in (("dog", "dog puppy howl growl"), ("tree", "tree trunk wood leaf")):
            axis = F.normalize(vectors(*names.split()), dim=1).mean(0)
            for kind, mixture in (("", step), ("even_", x.mean(0))):
                cosine = F.cosine_similarity(mixture, axis, dim=0)
                assert f"{cosine:.4f}" == f"{sentence[kind + sense]:.4f}"


def test_chapter_2_one_step_finds_senses_no_better_than_the_plain_mean():
    counts = load_table("bark")["senses_right"]
    assert (counts["of"], counts["words"]) == (96, 12)
    assert abs(counts["step"] - counts["even"]) <= 4
    assert min(counts["layers"][3:]) > counts["step"] + 8
    assert len(counts["layers"]) == len(counts["untrained"]) == 7
    assert max(counts["untrained"]) <= 56


def test_chapter_2_one_means_a_single_one_here():
    x = vectors("your", "journey", "starts", "with", "one", "step")
    row = (x @ x.T)[4]
    assert printed(row) == ["0.1076", "-0.1265", "0.0935", "0.1452", "1.0396", "0.0609"]
    assert printed(row.softmax(0)) == ["0.1368", "0.1083", "0.1349", "0.1420", "0.3474", "0.1306"]
    table = load_table("one")
    assert table["uses"][4] == "a single"
    assert table["cosine_by_layer"].shape == (7, 5)
    assert table["cosine_by_layer"].argmax(1).tolist() == [4] * 7
    assert len(table["sentences"]) == 30
    assert min(table["right_of_30"][2:]) >= 28
    assert max(table["untrained_right_of_30"]) <= 15
    assert max(table["next_right_of_30"]) == 26
    assert table["static_mixture_right_of_30"] == 19
    assert table["static_mean_right_of_30"] == 21
    # Random layers leave the winner of the embedding, and the plain step can hardly tell.
    assert table["untrained_cosine"].argmax() == 4
    first, second = table["static_cosine"].topk(2).values.tolist()
    assert first - second < 0.01


def test_chapter_3_one_looks_at_step_and_step_not_at_one():
    table = load_table("journey")
    weights = (table["q"] @ table["k"].T / 32**0.5).softmax(-1)
    one, step = table["tokens"].index("one"), table["tokens"].index("step")
    assert f"{weights[one, step]:.4f}" == "0.8123"
    assert f"{weights[step, one]:.4f}" == "0.0103"
    assert_close(weights, table["map_3.1"], rtol=0, atol=1e-6)
    scores = table["q"] @ table["k"].T / 32**0.5
    assert (f"{scores[one, step]:.4f}", f"{scores[step, one]:.4f}") == ("5.0024", "-0.4074")
    assert table["v"].shape == (9, 32)
    assert (table["map_0.2"][2:, 1:].diagonal() > 0.99).all()


def test_chapter_3_one_face_is_not_enough():
    table = load_table("one_face")
    assert len(table["sentences"]) == table["of"] == 40
    hits = table["hits"]
    assert hits["queries and keys"] >= 2 * max(n for k, n in hits.items() if k[:9] != "queries a")
    assert table["mean_weight"]["queries and keys"] > 4 * table["mean_weight"]["queries for both"]


def test_chapter_3_and_6_two_verbs_find_two_subjects():
    book, man = load_table("subjects")["sentences"]
    assert book["tokens"] == [
        *["The", " book", " that", " the", " boy", " read", " was", " long", "."]
    ]
    assert printed(book["map_13.8"][[5, 6], [4, 1]]) == ["0.7739", "0.9323"]
    assert printed(man["map_13.8"][[5, 6], [4, 1]]) == ["0.9169", "0.8372"]


def test_chapter_6_seven_heads_and_their_control():
    table = load_table("seven_heads")
    tokens, heads = table["tokens"], table["heads"]
    maps = dict(zip(heads, table["maps"], strict=True))
    assert len(tokens) == 13
    for these in (table["maps"], table["untrained"]):
        assert these.shape == (7, 13, 13)
        assert_close(these.sum(-1), torch.ones(7, 13, dtype=torch.float64), rtol=0, atol=1e-6)
    queen, she, lost, ring = (tokens.index(w) for w in ("queen", "she", "lost", "ring"))
    assert f"{maps['1.3'][she, queen]:.4f}" == "0.6793"
    assert f"{maps['3.1'][lost, ring]:.4f}" == "0.5904"
    assert f"{maps['2.0'][ring, lost]:.4f}" == "0.7770"
    assert f"{maps['1.8'][lost, lost + 1]:.4f}" == "0.8967"
    assert printed(maps["2.9"][[ring, 10], [10, ring]]) == ["0.8206", "0.8299"]
    assert (maps["0.2"].diagonal(-1) > 0.999).sum() == 12
    assert maps["4.5"][1:-2, 0].min() > 0.8
    assert table["untrained_least"] <= table["untrained"].min() + 1e-4
    assert table["untrained_largest"] >= table["untrained"].max() - 1e-4
    assert table["untrained_largest"] < 2 / 13


def test_chapter_6_rates_on_other_sentences_with_their_controls():
    heads = load_table("rates")["heads"]
    assert list(heads) == load_table("seven_heads")["heads"]
    for name, row in heads.items():
        assert row["hits"] > 2 * row["chance"], name
        assert row["hits"] > row["untrained_best_of_72"], name
        # The heads for neighbours and [CLS] follow a place; the others do not.
        if name not in ("0.2", "1.8", "4.5"):
            assert row["hits"] > 1.5 * row["best_rule_of_place"], name
        assert row["mean_weight"] > 2 * row["untrained_mean_weight"], name


def test_the_front_page_has_four_rows_of_head_1_3_and_the_static_vectors_beside_them():
    table = load_table("rates")
    told = table["told"]
    assert told.shape == (4, 12)
    assert_close(told.sum(1), torch.ones(4, dtype=torch.float64), atol=3e-4, rtol=0)
    # The king told the girl that she, he; the girl told the king that she, he.
    words = told[:, [1, 2, 3, 4, 5, 6, 8, 9]]
    assert words.argmax(1).tolist() == [4, 1, 1, 4]
    assert table["static"] == [28, 62]
    assert table["heads"]["1.3"]["hits"] == table["heads"]["1.3"]["of"] == 64


def test_chapter_7_positions_turn_like_the_hands_of_clocks():
    table = load_table("positions")
    z = table["components"]
    assert z.shape == (510, 10)
    step = torch.linalg.lstsq(z[:-1], z[1:]).solution
    angles = torch.linalg.eigvals(step).angle().abs().sort(descending=True).values[::2]
    assert printed(angles) == ["1.0574", "0.3676", "0.1213", "0.0405", "0.0103"]
    turns = torch.atan2(z[:, 1], z[:, 0]).diff()
    turns = torch.remainder(turns + torch.pi, 2 * torch.pi) - torch.pi
    assert f"{turns.mean().abs():.4f}" == "1.0731"
    assert len(set(turns.sign().tolist())) == 1
    assert printed(table["shares"][:3]) == ["0.1310", "0.1291", "0.1060"]
    assert f"{table['shares'][:10].sum():.2f}" == "0.94"
    curve = table["cosine_by_distance"]
    assert printed(curve[[0, 1, 3, 6]]) == ["1.0000", "0.8713", "0.5311", "0.6319"]


def test_chapter_8_without_residuals_all_words_become_the_same():
    alike = load_table("journey")["alike"]
    assert alike["none"][0] == alike["whole"][0] < max(alike["whole"]) < 0.4
    for name in ("none", "none at attention", "untrained, none"):
        assert alike[name][4:] == [1.0, 1.0, 1.0]
    assert max(alike["none at feed-forward"]) < 0.5


def test_chapter_9_attention_fetches_and_the_feed_forward_sharpens():
    table = load_table("stations")
    assert len(table["stations"]) == len(table["gap"]) == 13
    assert table["grows_after_feed_forward"] == [12] * 6
    assert sum(table["grows_after_attention"][2:]) <= 6
    assert table["untrained_gap"].max() < 0.01 < table["gap"][1]


def test_chapter_9_paris_is_fetched_by_one_head():
    table = load_table("capitals")
    ranks = table["rank_of_Paris"]  # after the embedding, and two for each layer
    assert (len(ranks), ranks[0], ranks[46:48], ranks[-1]) == (61, 4316, [2079, 359], 1)
    assert ranks[46::2] == [2079, 396, 92, 113, 34, 7, 3, 1]
    assert table["last_of_Paris"][2:].tolist() == [0.1002, table["before"]["Paris"]]
    assert table["likeliest"] == {
        "embedding": " is", "ff 26": " the", "ff 28": " capital", "ff 29": " Paris"
    }  # fmt: skip
    assert table["better_after_attention_23"] == table["of"]
    assert printed(table["row_23.4"]) == ["0.0672", "0.0122", "0.0083", "0.9033", "0.0090"]
    assert table["before"] == {"Paris": 0.7725, "Berlin": 0.0010}
    assert table["after"] == {"Paris": 0.0165, "Berlin": 0.7900}
    assert table["other_capital_wins"] == table["of"] == len(table["countries"])
    assert table["other_capital_wins_by_other_heads"] == [0] * 8
    assert table["other_capital_wins_by_all_other_heads"] <= 1
    assert table["right_first_without_23.4"] < table["right_first"] - 4
    # Without the attention of layer 23, or the last feed-forward, one capital comes first.
    assert table["right_without_attention"][3] == table["right_without_ff"][9] == 1
    assert table["right_without_attention"][9] == table["right_first"] == 14
