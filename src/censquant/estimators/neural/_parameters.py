"""Checks of the parameters that all neural estimators share."""

from typing import TYPE_CHECKING

from censquant._engine.networks import ACTIVATIONS
from censquant._engine.training import TrainingConfig
from censquant._validation import (
    check_choice,
    check_flag,
    check_integer,
    check_n_jobs,
    check_number,
    check_sizes,
)

if TYPE_CHECKING:
    from censquant.estimators.neural._trains_on_rows import TrainsOnRows

_HEADS = ("free", "increasing")


def checked_config(model: "TrainsOnRows") -> TrainingConfig:
    """Check every shared parameter and return those of the training loop."""
    check_sizes("hidden_layer_sizes", model.hidden_layer_sizes)
    check_choice("activation", model.activation, ACTIVATIONS)
    check_number("dropout", model.dropout, minimum=0.0, below=1.0)
    check_choice("head", model.head, _HEADS)
    check_flag("standardize", model.standardize)
    check_flag("early_stopping", model.early_stopping)
    check_number(
        "validation_fraction",
        model.validation_fraction,
        minimum=0.0,
        below=1.0,
        exclude_minimum=True,
    )
    check_integer("n_members", model.n_members, minimum=1)
    check_choice("censoring", model.censoring, ("right", "left"))
    if not isinstance(model.verbose, bool):
        check_integer("verbose", model.verbose, minimum=0)
    check_n_jobs(model.n_jobs)
    if model.network is not None and not callable(model.network):
        raise TypeError(
            "network must be a function (input_shape, n_outputs) -> torch.nn.Module, "
            f"got {model.network!r}."
        )
    if model.network is None and model.device not in (None, "cpu"):
        raise ValueError(
            f"device={model.device!r} needs network=: the built-in dense network runs on the CPU."
        )
    return TrainingConfig(
        max_epochs=check_integer("max_epochs", model.max_epochs, minimum=1),
        batch_size=check_integer("batch_size", model.batch_size, minimum=1),
        learning_rate=check_number(
            "learning_rate", model.learning_rate, minimum=0.0, exclude_minimum=True
        ),
        weight_decay=check_number("weight_decay", model.weight_decay, minimum=0.0),
        n_iter_no_change=check_integer("n_iter_no_change", model.n_iter_no_change, minimum=1),
    )
