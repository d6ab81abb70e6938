"""Whether a training ended anywhere near its data."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from censquant.estimators.neural._trained_model import ensemble_curve

if TYPE_CHECKING:
    from censquant.estimators.neural._neural import NeuralRegressor

# Medians this many times the range of the times outside it, for most training rows, are no fit.
_ABSURD, _ROWS_LOOKED_AT = 10.0, 200


def warn_of_absurd_medians(
    model: "NeuralRegressor", features: NDArray[Any], *, stacklevel: int
) -> None:
    """Say that a training ended at values that no data support."""
    low, high = model.follow_up_
    curve = ensemble_curve(model.models_, features[:_ROWS_LOOKED_AT])
    middle = curve.values[:, curve.values.shape[1] // 2]
    margin = _ABSURD * (high - low)
    if high > low and np.mean((middle < low - margin) | (middle > high + margin)) > 0.5:
        length = "max_steps" if hasattr(model, "max_steps") else "max_epochs"
        warnings.warn(
            f"The training of {type(model).__name__} did not converge: most predicted medians of "
            "the training rows lie far outside their times; try a smaller learning_rate or a "
            f"larger {length}.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
