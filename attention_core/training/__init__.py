"""Training: what is minimised, the loop, and what is saved and loaded."""

from attention_core.training.checkpoints import (
    load_checkpoint,
    load_trained,
    load_training,
    save_checkpoint,
    save_trained,
    save_training,
)
from attention_core.training.loop import Accuracy, Batches, evaluate, fit
from attention_core.training.objective import sequence_loss, shift_targets, warmup_rate

__all__ = [
    "Accuracy",
    "Batches",
    "evaluate",
    "fit",
    "load_checkpoint",
    "load_trained",
    "load_training",
    "save_checkpoint",
    "save_trained",
    "save_training",
    "sequence_loss",
    "shift_targets",
    "warmup_rate",
]
