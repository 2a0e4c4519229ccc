"""Training: the objective, the loop, the evaluation, and saved files."""

from attention_core.training.checkpoints import (
    load_checkpoint,
    load_continuation,
    load_trained,
    load_training,
    save_checkpoint,
    save_trained,
    save_training,
)
from attention_core.training.evaluation import Accuracy, evaluate
from attention_core.training.loop import Batches, fit
from attention_core.training.objective import sequence_loss, shift_targets, warmup_rate

__all__ = [
    "Accuracy",
    "Batches",
    "evaluate",
    "fit",
    "load_checkpoint",
    "load_continuation",
    "load_trained",
    "load_training",
    "save_checkpoint",
    "save_trained",
    "save_training",
    "sequence_loss",
    "shift_targets",
    "warmup_rate",
]
