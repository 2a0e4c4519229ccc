"""The exhibits: each published mistake, the part it stands in for, the law that finds it."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from attention_core.museum import laws
from attention_core.museum import mistakes as m
from attention_core.museum.laws import Law, find


@dataclass(frozen=True)
class Exhibit:
    """A wrong version, what it stands in for, and the law that it breaks.

    Args:
        room: the kind of mistake
        wrong: the wrong version
        target: module and name of the right one, as in ``"functional.split_heads"``
        law: the law that it breaks
        source: an article, or an issue or pull request (PR) on GitHub, where it or its like
            was found
        symptom: what is seen of it, if one looks there
        also: further parts that are wrong together with this one
    """

    room: str
    wrong: Callable[..., Any]
    target: str
    law: Law
    source: str
    symptom: str
    also: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.wrong.__name__


ATTENTION, MODULE = laws.ATTENTION, laws.MODULE + ".forward"
MASK, CAUSAL, NORM = "masks.padding_mask", "masks.causal_mask", "layers.LayerNorm.forward"

EXHIBITS = [
    Exhibit(
        "axis",
        m.softmax_over_axis_1,
        ATTENTION,
        laws.rows_sum_to_one,
        "labmlai/annotated_deep_learning_paper_implementations #146",
        "columns add up to 1, not rows",
    ),
    Exhibit(
        "axis",
        m.heads_by_reshape,
        "functional.split_heads",
        laws.heads_keep_tokens_whole,
        "illustrated guide; 649453932/Chinese-Text-Classification-Pytorch #53",
        "a token hears of its nearest neighbours only",
        {"functional.merge_heads": m.back_by_reshape},
    ),
    Exhibit(
        "axis",
        m.padding_hides_queries,
        MASK,
        laws.padding_and_mates_do_not_matter,
        "lsdefine/attention-is-all-you-need-keras #16",
        "words read padding",
    ),
    Exhibit(
        "axis",
        m.norm_over_the_sentence,
        NORM,
        laws.norm_is_per_token,
        "notes on the paper",
        "every token, later ones too, moves every other",
    ),
    Exhibit(
        "scale",
        m.scaled_after_softmax,
        ATTENTION,
        laws.rows_sum_to_one,
        "illustrated guide",
        "rows add up to 1/√d_k",
    ),
    Exhibit(
        "scale",
        m.never_scaled,
        ATTENTION,
        laws.scale_is_the_root_of_d_k,
        "illustrated guide; lecture notes",
        "weights too sharp",
    ),
    Exhibit(
        "scale",
        m.scaled_by_d_model,
        ATTENTION,
        laws.scale_is_the_root_of_d_k,
        "illustrated guide; lucidrains/vit-pytorch #65",
        "weights too flat",
    ),
    Exhibit(
        "scale",
        m.sample_deviation,
        NORM,
        laws.norm_has_variance_one,
        "harvardnlp/annotated-transformer #122",
        "the norm is a little small",
    ),
    Exhibit(
        "mask",
        m.true_blocks,
        ATTENTION,
        laws.blocked_keys_do_not_matter,
        "rasbt/LLMs-from-scratch #1061",
        "only what is forbidden is seen",
    ),
    Exhibit(
        "mask",
        m.mask_added,
        ATTENTION,
        laws.blocked_keys_do_not_matter,
        "pytorch/pytorch #21518",
        "padding keeps most of its weight",
    ),
    Exhibit(
        "mask",
        m.finite_fill,
        ATTENTION,
        laws.empty_rows_give_zeros,
        "notes on the paper; NVIDIA/apex #1052",
        "an empty row becomes a plain mean; an error in float16",
    ),
    Exhibit(
        "mask",
        m.queries_blanked,
        ATTENTION,
        laws.rows_sum_to_one,
        "notes on the paper",
        "rows of padding add up to 0",
    ),
    Exhibit(
        "mask",
        m.mask_from_vectors,
        "transformer.Transformer._encode",
        laws.padding_and_mates_do_not_matter,
        "notes on the paper",
        "with positions added, it hides nothing",
    ),
    Exhibit(
        "mask",
        m.inverted_integers,
        MASK,
        laws.padding_and_mates_do_not_matter,
        "web pages about attention masks",
        "it hides nothing",
    ),
    Exhibit(
        "mask",
        m.sees_the_next,
        CAUSAL,
        laws.the_future_does_not_matter,
        "jadore801120/attention-is-all-you-need-pytorch #19",
        "right with a teacher, nonsense alone",
    ),
    Exhibit(
        "mask",
        m.blind_to_itself,
        CAUSAL,
        laws.the_first_word_sees_itself_only,
        "pytorch/tutorials #2250",
        "the first word sees nothing",
    ),
    Exhibit(
        "mask",
        m.target_mask_for_source,
        "layers.DecoderLayer.forward",
        laws.all_of_the_memory_is_heard,
        "keras-team/keras-io PR #1046",
        "source words hidden, source padding seen",
    ),
    Exhibit(
        "wiring",
        m.no_output_matrix,
        MODULE,
        laws.every_parameter_learns,
        "illustrated guide; notes on the paper",
        "each head writes into its own columns only",
    ),
    Exhibit(
        "wiring",
        m.values_from_keys,
        MODULE,
        laws.module_equals_torch,
        "notes on the paper",
        "none, where values come with the keys",
    ),
    Exhibit(
        "wiring",
        m.dropout_in_eval,
        MODULE,
        laws.eval_repeats_itself,
        "pytorch/pytorch #124464",
        "two runs differ",
    ),
    Exhibit(
        "books",
        m.not_shifted,
        "training.shift_targets",
        laws.the_answer_is_one_ahead,
        "pytorch/tutorials #719",
        "loss near 0 at once; alone, one token for ever",
    ),
    Exhibit(
        "books",
        m.loss_over_padding,
        "training.sequence_loss",
        laws.padding_costs_nothing,
        "IBM/pytorch-seq2seq #125",
        "the more padding, the better the loss",
    ),
    Exhibit(
        "books",
        m.cached_at_position_0,
        "positional.SinusoidalPositions.forward",
        laws.the_cache_changes_nothing,
        "huggingface/transformers #25420",
        "with a cache each word is the first",
    ),
    Exhibit(
        "books",
        m.cached_from_top_left,
        MODULE,
        laws.the_cache_changes_nothing,
        "pytorch/pytorch #103082",
        "with a cache a new word sees the first only",
    ),
    Exhibit(
        "books",
        m.end_not_counted,
        "decoding.normalised_score",
        laws.one_token_is_free,
        "awslabs/sockeye #483",
        "lengths are off by one",
    ),
    Exhibit(
        "books",
        m.warm_up_from_0,
        "training.warmup_rate",
        laws.the_first_update_counts,
        "EleutherAI/gpt-neox #1373; karpathy/nanoGPT #443",
        "the first update is wasted",
    ),
]


@contextmanager
def planted(*exhibits: Exhibit) -> Iterator[None]:
    """Put exhibits in the place of the right parts, in every module that knows these.

    A part that is a default argument, as the attention of `MultiHeadAttention` is, is
    replaced there, too. All comes back at the end of the block.

    >>> from attention_core import functional
    >>> with planted(EXHIBITS[1]):
    ...     functional.split_heads.__name__
    'heads_by_reshape'
    >>> functional.split_heads.__name__
    'split_heads'
    """
    undo: list[Callable[[], object]] = []
    try:
        for exhibit in exhibits:
            for target, wrong in {exhibit.target: exhibit.wrong, **exhibit.also}.items():
                _plant(target, wrong, undo)
        yield
    finally:
        for step in reversed(undo):
            step()


def _plant(target: str, wrong: Callable[..., Any], undo: list[Callable[[], object]]) -> None:
    right = find(target)
    owner, _, name = target.rpartition(".")
    if inspect.isclass(owner_class := find(owner) if "." in owner else None):
        had = name in vars(owner_class)
        undo.append(
            lambda: setattr(owner_class, name, right) if had else delattr(owner_class, name)
        )
        setattr(owner_class, name, wrong)
        return
    for module in _modules():
        for known, part in list(vars(module).items()):
            if part is right:
                undo.append(lambda module=module, known=known: setattr(module, known, right))  # type: ignore[misc]
                setattr(module, known, wrong)
            for function in (part, *vars(part).values()) if inspect.isclass(part) else (part,):
                defaults = getattr(function, "__kwdefaults__", None) or {}
                for argument in [a for a, value in defaults.items() if value is right]:
                    undo.append(lambda d=defaults, a=argument: d.update({a: right}))  # type: ignore[misc]
                    defaults[argument] = wrong


def _modules() -> list[Any]:
    """The package's modules, but not the museum, which must keep the right parts."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name.split(".")[0] == "attention_core" and module is not m
    ]
