"""decoding.py, beam search: scores, the right winner, and when the search stops."""

import itertools
import math

import pytest
from beam_runs import beam, both_ways, never_pad, sentence, sources
from scripted_model import BOS, EOS, PAD, ScriptedModel, random_rule, scripted, table_rule

from attention_core import beam_search, normalised_score


def log_softmax(logits):
    largest = max(logits)
    total = largest + math.log(sum(math.exp(x - largest) for x in logits))
    return [x - total for x in logits]


# -------------------------------------------------------------------- scores


def test_each_hypothesis_is_scored_at_its_own_length():
    short, long = (-1.0, 2), (-1.5, 5)
    for alpha, expected in [
        (0.6, ["-0.9117", "-1.1040"]),
        (1.0, ["-0.8571", "-0.9000"]),
        (0.0, ["-1.0000", "-1.5000"]),
    ]:
        scores = [normalised_score(*hypothesis, alpha) for hypothesis in (short, long)]
        assert [f"{score:.4f}" for score in scores] == expected
    assert f"{normalised_score(-1.0, 5, 0.6):.4f}" == "-0.7360"  # the faulty shared length
    assert normalised_score(-2.0, 1, 0.6) == -2.0  # one token: divided by 1


# ---------------------------------------------------------- the right winner

# The likeliest first token leads to unlikely sentences.
GARDEN_PATH = {
    (): {5: 0.6, 6: 0.4},
    (5,): {7: 0.3, 8: 0.3, 9: 0.2, EOS: 0.2},
    (6,): {7: 0.9, EOS: 0.1},
}


@both_ways
def test_two_beams_find_a_likelier_sentence_than_greedy(use_cache):
    rule = table_rule(GARDEN_PATH, V=11)
    options = {"length_penalty": 0.0, "use_cache": use_cache}
    one, two = (beam(ScriptedModel(rule), sources(1), beam_size=k, **options) for k in (1, 2))
    assert one.tolist() == [[5, 7]]  # probability 0.6 * 0.3 = 0.18
    assert two.tolist() == [[6, 7]]  # probability 0.4 * 0.9 = 0.36


def test_the_length_penalty_decides_between_short_and_long():
    # log 0.54 = -0.6162 with 1 token, EOS, against log 0.46 = -0.7765 with 4.
    rule = table_rule({(): {EOS: 0.54, 5: 0.46}, (5,): {6: 1.0}, (5, 6): {7: 1.0}}, V=11)
    equal = math.log(math.log(0.46) / math.log(0.54)) / math.log(9 / 6)  # both scores, at 0.57
    for alpha in (0.0, equal - 0.01):
        output = beam(ScriptedModel(rule), sources(1), beam_size=2, length_penalty=alpha)
        assert output.tolist() == [[]]
    for alpha in (equal + 0.01, 1.0):
        output = beam(ScriptedModel(rule), sources(1), beam_size=2, length_penalty=alpha)
        assert output.tolist() == [[5, 6, 7]]


def test_a_negative_length_penalty_does_not_stop_the_search_a_step_too_early():
    # Log P -1.0 for the empty sentence, -0.6 for [5]: divided by (7/6)^-2 that is -0.82.
    # A token more would make it -1.07, so only the next step can win.
    def rule(source, tokens):
        first, low = [-0.6 if i == 5 else -1.0 if i == EOS else -3.9 for i in range(7)], -1e4
        return first if not tokens else [0.0 if i == EOS else low for i in range(7)]

    output = beam(ScriptedModel(rule), sources(1), max_len=9, beam_size=2, length_penalty=-2.0)
    assert output.tolist() == [[5]]


def test_of_equal_scores_the_one_that_ended_first_is_kept():
    def rule(source, tokens):
        halves = {5: 0.5, 6: 0.5} if len(tokens) > 1 else {5: 0.5, EOS: 0.5}
        chances = halves if tokens else {5: 0.5, EOS: 0.25, 6: 0.25}
        return [math.log2(chances[i]) * math.log(2) if i in chances else -1e4 for i in range(7)]

    output = beam(ScriptedModel(rule), sources(1), max_len=3, beam_size=2, length_penalty=0.0)
    assert output.shape == (1, 0)


def test_finished_candidates_beyond_the_beam_do_not_displace_unfinished_ones():
    # After two tokens the likeliest six are [3 7], [4 7], three ends, and [5 8]: all six
    # must be looked at, or the third beam, which wins, is lost.
    table = {
        (): {3: 0.34, 4: 0.33, 5: 0.33},
        (3,): {7: 0.5, EOS: 0.3, 9: 0.2},
        (4,): {7: 0.5, EOS: 0.31, 9: 0.19},
        (5,): {EOS: 0.32, 8: 0.29, 9: 0.2, 10: 0.19},
        (5, 8): {EOS: 1.0},
    }

    def rule(source, tokens):
        chances = table.get(tokens, {9: 0.5, 10: 0.5})
        return [math.log(chances[i]) if i in chances else -1e4 for i in range(11)]

    output = beam(ScriptedModel(rule), sources(1), max_len=4, beam_size=3, length_penalty=1.0)
    assert output.tolist() == [[5, 8]]


def test_a_cache_is_made_only_if_it_is_used():
    for use_cache in (True, False):
        model = ScriptedModel(lambda source, tokens: [0.0, 0.0, 1.0])
        beam(model, sources(1), max_len=2, beam_size=2, use_cache=use_cache)
        assert (model.calls[0].cache is not None) == use_cache


def best_of_all(rule, source, V, max_len, alpha):
    """The best of all sentences of at most max_len tokens, EOS included, each scored alone."""
    scores = {}
    others = [token for token in range(V) if token not in (PAD, BOS, EOS)]
    for length in range(max_len):
        for tokens in itertools.product(others, repeat=length):
            steps = [(*tokens, EOS)[i] for i in range(length + 1)]
            log_p = sum(log_softmax(rule(source, tokens[:i]))[step] for i, step in enumerate(steps))
            scores[tokens] = log_p / ((5 + length + 1) / 6) ** alpha
    return max(scores, key=scores.get)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 4.0, -1.0])
def test_enough_beams_find_the_best_of_all_sentences(alpha):
    V, max_len = 5, 4
    lengths = set()
    for seed in range(12):
        rule = never_pad(random_rule(seed, V))
        output = beam(
            ScriptedModel(rule),
            sources(2),
            max_len=max_len,
            beam_size=3**max_len * 2,
            length_penalty=alpha,
        )
        for i, row in enumerate(output):
            assert sentence(row) == best_of_all(rule, i + 1, V, max_len, alpha)
            lengths.add(len(sentence(row)))
    assert len(lengths) > 1


def plain_beam_search(rule, source, max_len, K, alpha, patience=1):
    """One sentence, in lists: the rules of the docstring, and nothing else."""
    running, ended = [((), 0.0)], []
    for length in range(1, max_len + 1):
        candidates = sorted(
            (
                (log_p + step, (*tokens, token))
                for tokens, log_p in running
                for token, step in enumerate(log_softmax(rule(source, tokens)))
                if step > -math.inf and token not in (PAD, BOS)
            ),
            reverse=True,
        )
        for log_p, tokens in candidates[:K]:
            if tokens[-1] == EOS:
                ended.append((log_p / ((5 + length) / 6) ** alpha, tokens[:-1]))
        running = [(t, log_p) for log_p, t in candidates if t[-1] != EOS][:K]
        if len(ended) >= K * patience or not running:
            break
        # No continuation of a hypothesis is more likely than the hypothesis itself.
        reach = max(running[0][1] / ((5 + n) / 6) ** alpha for n in range(length, max_len + 1))
        if ended and reach <= max(ended)[0]:
            break
    return max(ended)[1] if ended else running[0][0]


@pytest.mark.parametrize("K", [1, 2, 3, 7])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0, -1.0])
@pytest.mark.parametrize("patience", [1, 0.5, 1.5, math.inf])
def test_equals_a_beam_search_written_with_plain_lists(K, alpha, patience):
    options = {"beam_size": K, "length_penalty": alpha, "patience": patience}
    for seed in range(15):
        rule = never_pad(random_rule(seed, V=6))
        output = beam(ScriptedModel(rule), sources(3), max_len=6, **options)
        for i, row in enumerate(output):
            assert sentence(row) == plain_beam_search(rule, i + 1, 6, K, alpha, patience)


def test_patience_finds_a_likelier_sentence_after_less_likely_ones_have_ended():
    # EOS has 0.09 at every step but the third, where it has 0.9: the likeliest sentence has
    # two tokens, and by then two shorter ones have ended.
    def rule(source, tokens):
        chances = {5: 0.9, EOS: 0.09, 6: 0.01} if len(tokens) < 2 else {EOS: 0.9, 5: 0.1}
        return [math.log(chances[i]) if i in chances else -1e4 for i in range(7)]

    options = {"beam_size": 2, "length_penalty": 0.0, "max_len": 5}
    hasty = beam(ScriptedModel(rule), sources(1), **options)
    patient = beam(ScriptedModel(rule), sources(1), patience=math.inf, **options)
    assert hasty.shape == (1, 0)
    assert patient.tolist() == [[5, 5]]


def test_without_a_complete_sentence_the_likeliest_unfinished_one_is_returned():
    def rule(source, tokens):
        return [-math.inf, 0.0, -math.inf, *random_rule(3, 4)(source, tokens)]

    for K, limit in [(2, 3), (4, 5)]:
        output = beam(ScriptedModel(rule), sources(2), max_len=limit, beam_size=K)
        assert output.shape == (2, limit)
        for i, row in enumerate(output):
            assert sentence(row) == plain_beam_search(rule, i + 1, limit, K, 0.6)
    # The same if no token ends a sentence.
    model = ScriptedModel(random_rule(1, 5))
    assert beam_search(model, sources(1), bos_id=BOS, eos_id=None, max_len=3).shape == (1, 3)
    # With too few candidates an EOS of probability 0 is among them; it ends no sentence.
    model = ScriptedModel(lambda source, tokens: [-math.inf] * 3 + [0.0])
    output = beam_search(model, sources(1), bos_id=BOS, eos_id=0, max_len=5, beam_size=2)
    assert output.tolist() == [[3] * 5]


def test_the_search_stops_once_no_unfinished_hypothesis_can_win():
    model = ScriptedModel(scripted([EOS], [5, EOS]))
    beam(model, sources(1), max_len=40, beam_size=2)
    assert len(model.calls) == 1
    model.calls.clear()
    assert beam(model, sources(2), max_len=40, beam_size=2).tolist() == [[PAD], [5]]
    assert len(model.calls) == 2
