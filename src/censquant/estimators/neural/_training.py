"""The trainings of one fit, beside each other, and whether they ended anywhere near the data."""

import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from censquant._engine.networks._combined import HeadedNetwork, IncreasingHead
from censquant._engine.networks._dense import ACTIVATIONS, DenseNetwork
from censquant._engine.networks._network import Network
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._loop import Callback, Objective, TrainingConfig
from censquant._engine.training._parallel import side_by_side
from censquant._engine.training._rows import Rows, RowSource
from censquant._trees._bins import stride
from censquant._trees._follow_up import FollowUp
from censquant._validation import (
    check_choice,
    check_flag,
    check_integer,
    check_n_jobs,
    check_number,
    check_sizes,
    seed_sequence,
)
from censquant.estimators.neural._trained_model import ensemble_curve
from censquant.quantiles._grid import check_quantiles
from censquant.survival import kaplan_meier

if TYPE_CHECKING:
    from censquant.estimators.neural._neural import NeuralRegressor

History = list[dict[str, Any]]
SHOWN_ROWS = 500
"""Rows whose predictions are looked at after a training."""

_HEADS = ("free", "increasing")
_BLOCK_ROWS = 65_536
# An overfitted model may put the quantiles of some rows far out, but not those of most. Judged are
# levels that were reached while individuals were followed, and not the far tail.
_FAR, _FAR_SHARE, _HIGHEST_LEVEL = 10.0, 0.5, 0.9
# A short training, or features without any effect, may end near a constant as well, but the loss
# has not exploded before.
_EXPLODED, _NO_BETTER = 10.0, 0.05
_ROWS_FOR_REACH = 100_000
_FEWEST_EPOCHS = 3  # a loss that was only seen once or twice has not risen


def checked_config(model: "NeuralRegressor") -> TrainingConfig:
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
    config = TrainingConfig(
        max_epochs=check_integer("max_epochs", model.max_epochs, minimum=1),
        batch_size=check_integer("batch_size", model.batch_size, minimum=1),
        learning_rate=check_number(
            "learning_rate", model.learning_rate, minimum=0.0, exclude_minimum=True
        ),
        weight_decay=check_number("weight_decay", model.weight_decay, minimum=0.0),
        n_iter_no_change=check_integer("n_iter_no_change", model.n_iter_no_change, minimum=1),
    )
    check_quantiles(model.quantiles)
    return config


def new_network(
    estimator: "NeuralRegressor", shape: tuple[int, ...], n_outputs: int, rng: np.random.Generator
) -> Network:
    """Return an untrained network by the parameters of an estimator."""
    network: Network
    if estimator.network is None:
        sizes = [shape[0], *check_sizes("hidden_layer_sizes", estimator.hidden_layer_sizes)]
        network = DenseNetwork(
            [*sizes, n_outputs], activation=estimator.activation, dropout=estimator.dropout, rng=rng
        )
    else:
        from censquant.torch import TorchNetwork

        network = TorchNetwork.from_factory(
            estimator.network, shape, n_outputs, device=estimator.device, rng=rng
        )
    if estimator.head == "increasing":
        network = HeadedNetwork(network, IncreasingHead(n_outputs))
    return network


def train_members(
    model: "NeuralRegressor",
    rows: RowSource,
    objective: Objective,
    config: TrainingConfig,
    callbacks: Sequence[Callback],
    checkpoint: Checkpoint | None,
) -> tuple[list[Network], FollowUp | None, list[History]]:
    """Train the members, and beside them the model of follow-up if anything is censored."""
    seeds = seed_sequence(model.random_state).spawn(model.n_members + 2)
    *rngs, follow_up_rng, holdout_rng = (np.random.default_rng(seed) for seed in seeds)
    everyone = rows.sample()
    validation: RowSource | None = None
    if model.early_stopping:
        rows, validation = holdout(rows, model.validation_fraction, holdout_rng)

    tasks: list[Callable[[threading.Event], Any]] = [
        partial(
            _train_member,
            model,
            (objective, rows, config, rng),
            {
                "validation": validation,
                "callbacks": callbacks,
                "checkpoint": None if checkpoint is None else checkpoint.for_member(member),
                "member": member,
            },
        )
        for member, rng in enumerate(rngs)
    ]
    if model._stands_alone and not everyone.event.all():
        tasks.append(partial(_fit_follow_up, everyone, follow_up_rng))
    # Torch shares threads and random numbers between all of a process.
    n_jobs = 1 if model.network is not None else model.n_jobs
    results = side_by_side(tasks, n_jobs, stopping=model._stopping)
    trained, follow_up = results[: model.n_members], (*results[model.n_members :], None)[0]
    # Ctrl-C may come before some members have begun: those know nothing and are left out.
    begun = [result for result in trained if result[1]] or trained[:1]
    return [network for network, _ in begun], follow_up, [history for _, history in begun]


def _train_member(
    model: "NeuralRegressor",
    training: tuple[Any, ...],
    options: dict[str, Any],
    stopping: threading.Event,
) -> tuple[Network, History]:
    """Train one member; a function of the module, since closures cannot be pickled."""
    return model._train_member(*training, stopping=stopping, **options)


def _fit_follow_up(rows: Rows, rng: np.random.Generator, stopping: threading.Event) -> FollowUp:
    """Fit the follow-up beside the members; it is short, so Ctrl-C does not stop it."""
    return FollowUp.fit(rows.x.reshape(len(rows), -1), rows.time, rows.event, rows.weight, rng)


def join_histories(histories: Sequence[History]) -> History:
    """Return the records of all members; those of several say whose they are."""
    return [
        record if len(histories) == 1 else {"member": member, **record}
        for member, history in enumerate(histories)
        for record in history
    ]


def holdout(
    rows: RowSource, fraction: float, rng: np.random.Generator
) -> tuple[RowSource, RowSource]:
    """Hold out a random share of the rows; where they are in memory, the same share of events."""
    kept, held = rows.split(fraction, rng)
    if not all(
        any(block.event.any() for block in part.blocks(_BLOCK_ROWS)) for part in (kept, held)
    ):
        n_events = sum(int(block.event.sum()) for block in rows.blocks(_BLOCK_ROWS))
        raise ValueError(
            f"early_stopping needs events among the {fraction:g} of rows held out and among the "
            f"others, got {n_events} events in all: give more data, another "
            "validation_fraction, or early_stopping=False."
        )
    return kept, held


def warn_of_failed_training(
    model: "NeuralRegressor",
    features: NDArray[Any],
    rows: Rows,
    objective: Objective,
    *,
    stacklevel: int,
) -> None:
    """Say that a training ended at values that no data support, and what they look like."""
    low, high = model.follow_up_
    if not high > low:
        return
    curve = ensemble_curve(model.models_, features[:SHOWN_ROWS])
    values = curve.values / (high - low)
    seen = _far_quantiles(model, values, curve.taus, low / (high - low), rows)
    seen = seen or _no_better_than_constant(model, rows, objective)
    if seen is not None:
        length = "max_steps" if hasattr(model, "max_steps") else "max_epochs"
        warnings.warn(
            f"The training of {type(model).__name__} did not converge: {seen}; try a smaller "
            f"learning_rate or a larger {length}.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def _far_quantiles(
    model: "NeuralRegressor",
    values: NDArray[np.float64],
    taus: NDArray[np.float64],
    low: float,
    rows: Rows,
) -> str | None:
    """Say that many quantiles lie far outside the times; all in units of the range of times."""
    # Rows are in random order: of very many, some say as well how far the events reach.
    some = slice(None, None, stride(len(rows), _ROWS_FOR_REACH))
    curve = kaplan_meier(rows.time[some], rows.event[some], rows.weight[some])
    reached = 1.0 - curve.survival[-1]
    judged = model.time_transform_.levels(taus) <= min(reached, _HIGHEST_LEVEL)
    if model.time_transform_.mirror:
        judged = judged[::-1]
    far = ((values < low - _FAR) | (values > low + 1.0 + _FAR)).mean(axis=0) * judged
    place = int(np.argmax(far))
    if far[place] <= _FAR_SHARE:
        return None
    return (
        f"{far[place]:.0%} of the training rows have a predicted quantile at the level "
        f"{taus[place]:g} that lies more than {_FAR:g} times the range of the times "
        "outside it"
    )


def _no_better_than_constant(
    model: "NeuralRegressor", rows: Rows, objective: Objective
) -> str | None:
    """Say that a network is no better than one that returns the same outputs for everybody."""
    if model.history_[-1]["epoch"] < _FEWEST_EPOCHS:
        return None
    bound = objective.bind(rows)
    some = next(bound.prepare(rows).blocks(SHOWN_ROWS))
    peak = max((record["loss"] for record in model.history_), default=0.0)
    for trained in model.models_:
        network = trained.network
        if network.n_outputs != objective.n_outputs:  # a grid that stopped before its last level
            continue
        output = np.array(network.forward(some.x, training=False))
        typical = np.broadcast_to(np.median(output, axis=0), output.shape).astype(output.dtype)
        work = np.empty_like(output)
        loss, untrained, same = (
            bound.gradient(each, some, out=work)
            for each in (output, np.zeros_like(output), typical)
        )
        constant = min(untrained, same)
        if peak > _EXPLODED * abs(untrained) and loss > constant - _NO_BETTER * abs(constant):
            return (
                f"its loss rose to {peak:.3g} and ended at {loss:.3g}, where that of the same "
                f"prediction for everybody is {constant:.3g}"
            )
    return None
