"""Whether a training ended anywhere near its data."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from censquant._engine.training import Objective, Rows
from censquant._trees._bins import stride
from censquant.estimators.neural._trained_model import ensemble_curve
from censquant.survival import kaplan_meier

if TYPE_CHECKING:
    from censquant.estimators.neural._trains_on_rows import TrainsOnRows

SHOWN_ROWS = 500
"""Rows whose predictions are looked at."""

# An overfitted model may put the quantiles of some rows far out, but not those of most. Judged are
# levels that were reached while individuals were followed, and not the far tail.
_FAR, _FAR_SHARE, _HIGHEST_LEVEL = 10.0, 0.5, 0.9
# A short training, or features without any effect, may end near a constant as well, but the loss
# has not exploded before.
_EXPLODED, _NO_BETTER = 10.0, 0.05
_ROWS_FOR_REACH = 100_000
_FEWEST_EPOCHS = 3  # a loss that was only seen once or twice has not risen


def warn_of_failed_training(
    model: "TrainsOnRows",
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
    model: "TrainsOnRows",
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


def _no_better_than_constant(model: "TrainsOnRows", rows: Rows, objective: Objective) -> str | None:
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
