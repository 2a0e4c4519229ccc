"""The exhibits: each published mistake, the part that it replaces, and the law that finds it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attention_core.museum import laws, loading_laws
from attention_core.museum import mistakes as m
from attention_core.museum.laws import Law

__all__ = ["EXHIBITS", "Exhibit"]


@dataclass(frozen=True)
class Exhibit:
    """A wrong version of a part, with the part that it replaces and the law that it breaks.

    Args:
        room: the kind of mistake
        wrong: the wrong version, with the signature of the right one
        target: module and name of the right one, as in ``"functional.split_heads"``
        law: the law that it breaks
        source: where it was published: an article, or an issue or pull request (PR) on GitHub
        symptom: how the mistake shows if one looks in the right place
        also: further parts, as target and wrong version, that this mistake replaces too
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
        "columns of weights sum to 1, rows do not",
    ),
    Exhibit(
        "axis",
        m.heads_by_reshape,
        "functional.split_heads",
        laws.heads_keep_tokens_whole,
        "illustrated guide; 649453932/Chinese-Text-Classification-Pytorch #53",
        "a token depends on its nearest neighbours only",
        {"functional.merge_heads": m.back_by_reshape},
    ),
    Exhibit(
        "axis",
        m.padding_hides_queries,
        MASK,
        laws.padding_and_mates_do_not_matter,
        "lsdefine/attention-is-all-you-need-keras #16",
        "real tokens attend to padding",
    ),
    Exhibit(
        "axis",
        m.norm_over_the_sentence,
        NORM,
        laws.norm_is_per_token,
        "notes on the paper",
        "each token's norm depends on all tokens, later ones included",
    ),
    Exhibit(
        "scale",
        m.scaled_after_softmax,
        ATTENTION,
        laws.rows_sum_to_one,
        "illustrated guide",
        "rows of weights sum to 1/√d_k",
    ),
    Exhibit(
        "scale",
        m.never_scaled,
        ATTENTION,
        laws.scale_is_the_root_of_d_k,
        "illustrated guide; lecture notes",
        "the weights are too sharp",
    ),
    Exhibit(
        "scale",
        m.scaled_by_d_model,
        ATTENTION,
        laws.scale_is_the_root_of_d_k,
        "illustrated guide; lucidrains/vit-pytorch #65",
        "the weights are too flat",
    ),
    Exhibit(
        "scale",
        m.sample_deviation,
        NORM,
        laws.norm_has_variance_one,
        "harvardnlp/annotated-transformer #122",
        "the variance of a token is below 1",
    ),
    Exhibit(
        "mask",
        m.true_blocks,
        ATTENTION,
        laws.blocked_keys_do_not_matter,
        "rasbt/LLMs-from-scratch #1061",
        "a query attends only to what the mask blocks",
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
        "a fully masked query gets the mean of all values; an error in float16",
    ),
    Exhibit(
        "mask",
        m.queries_blanked,
        ATTENTION,
        laws.rows_sum_to_one,
        "notes on the paper",
        "the weights of padding queries sum to 0",
    ),
    Exhibit(
        "mask",
        m.mask_from_vectors,
        "transformer.Transformer._encode",
        laws.padding_and_mates_do_not_matter,
        "notes on the paper",
        "the mask hides nothing once positions are added",
    ),
    Exhibit(
        "mask",
        m.inverted_integers,
        MASK,
        laws.padding_and_mates_do_not_matter,
        "web pages about attention masks",
        "the mask hides nothing",
    ),
    # The thread: since version 5.9.0, four decoders attend to later tokens, and the training
    # loss falls to almost zero, on random tokens too.
    Exhibit(
        "mask",
        m.sees_the_next,
        CAUSAL,
        laws.the_future_does_not_matter,
        "huggingface/transformers #48745",
        "accurate under teacher forcing, nonsense in generation",
    ),
    Exhibit(
        "mask",
        m.blind_to_itself,
        CAUSAL,
        laws.the_first_word_sees_itself_only,
        "pytorch/tutorials #2250",
        "the first token attends to nothing",
    ),
    Exhibit(
        "mask",
        m.target_mask_for_source,
        "layers.DecoderLayer.forward",
        laws.all_of_the_memory_is_heard,
        "keras-team/keras-io PR #1046",
        "source tokens are hidden, source padding is attended to",
    ),
    Exhibit(
        "wiring",
        m.no_output_matrix,
        MODULE,
        laws.every_parameter_learns,
        "illustrated guide; notes on the paper",
        "each head writes to its own columns only",
    ),
    Exhibit(
        "wiring",
        m.values_from_keys,
        MODULE,
        laws.module_equals_torch,
        "notes on the paper",
        "none where keys and values are the same tensor",
    ),
    Exhibit(
        "wiring",
        m.dropout_in_eval,
        MODULE,
        laws.eval_repeats_itself,
        "pytorch/pytorch #124464",
        "two runs in eval mode differ",
    ),
    Exhibit(
        "books",
        m.not_shifted,
        "training.shift_targets",
        laws.the_answer_is_one_ahead,
        "pytorch/tutorials #719",
        "the loss is near 0 at once; generation repeats one token",
    ),
    Exhibit(
        "books",
        m.loss_over_padding,
        "training.sequence_loss",
        laws.padding_costs_nothing,
        "IBM/pytorch-seq2seq #125",
        "the more padding, the lower the loss",
    ),
    # The thread: GPT-2 "always starts position embeddings at zero for new tokens", whatever the
    # cache holds.
    Exhibit(
        "books",
        m.cached_at_position_0,
        "positional.SinusoidalPositions.forward",
        laws.the_cache_changes_nothing,
        "ml-explore/mlx-lm PR #93",
        "with a cache each token gets position 0",
    ),
    Exhibit(
        "books",
        m.cached_from_top_left,
        MODULE,
        laws.the_cache_changes_nothing,
        "pytorch/pytorch #103082",
        "with a cache a new token attends to the first one only",
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
        "the first update has rate 0",
    ),
    # The threads: the files of one library have the rows of wq and wk reordered. Exported without
    # undoing this, a model begins "printing gibberish after ~20 or more tokens". In the second,
    # SmolLM2 and its like gave "silently wrong logits".
    Exhibit(
        "loading",
        m.halves_for_neighbours,
        "relative.apply_rotary",
        loading_laws.neighbours_turn_together,
        "karpathy/llama2.c PR #286; ooples/AiDotNet PR #2074",
        "gibberish with weights of the other pairing; nothing with weights of its own",
    ),
    # The thread: asked for its weights, Llama took another path, on which it ran "with no causal
    # attention mask". So the weights shown were not those of the run without the question.
    Exhibit(
        "loading",
        m.recorded_unrotated,
        "recording._recompute",
        loading_laws.the_record_mixes_the_values,
        "this book's package, version 0.2.0; like it, huggingface/transformers PR #30652",
        "the map shows weights that the model does not use",
    ),
    # The threads: a loader of Qwen2 "read only the projection weights and dropped the biases", and
    # Llama, which has none, worked. In the second, 72 biases are missing from a saved file.
    Exhibit(
        "loading",
        m.biases_left_behind,
        "_conversion.attention",
        loading_laws.every_number_is_loaded,
        "sbryngelson/ANEForge PR #253; paiml/entrenar #258",
        "nothing while the biases are 0; nonsense with those of a trained model",
    ),
]
