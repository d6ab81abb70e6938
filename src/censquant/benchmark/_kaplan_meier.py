"""The Kaplan-Meier curve as a method: one answer for everybody."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from censquant._typing import Floats
from censquant.survival import KaplanMeier, kaplan_meier, read_target


class KaplanMeierBaseline(BaseEstimator):
    """Predicts the curve of the training rows, whatever the features.

    Its score is what a method gains without looking at features. The study has it too, which checks
    times and weights of the scores: they must come out the same.

    Attributes
    ----------
    curve_ : KaplanMeier
        Of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.benchmark import KaplanMeierBaseline
    >>> model = KaplanMeierBaseline().fit(np.zeros((4, 1)), ([1, 2, 3, 4], [1, 0, 1, 1]))
    >>> model.predict_curve(np.zeros((2, 1))).survival([0.5, 3.0])
    array([[1.   , 0.375],
           [1.   , 0.375]])
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Estimate the curve; `X` is not used."""
        target = read_target(y)
        self.curve_ = kaplan_meier(target.time, target.event)
        return self

    def predict_quantiles(self, X: Any, quantiles: ArrayLike) -> Floats:
        """Return the same quantiles for each row; levels never reached get the last time."""
        found = self.curve_.quantile(quantiles)
        finite = np.where(np.isfinite(found), found, self.curve_.time[-1])
        return np.tile(finite, (len(X), 1))

    def predict_curve(self, X: Any) -> "StepCurve":
        """Return the distribution of each row, with the curve's steps left as they are."""
        return StepCurve(self.curve_, len(X))


@dataclass(frozen=True, eq=False)
class StepCurve:
    """One step function for a number of rows; what the suite's scores ask of a curve."""

    curve: KaplanMeier
    n_rows: int

    def survival(self, times: ArrayLike) -> Floats:
        """Return the probability of an event later than each time."""
        return np.tile(self.curve(times), (self.n_rows, 1))

    def restricted_mean(self, horizon: float) -> Floats:
        """Return the area under the steps up to a horizon."""
        inside = self.curve.time < horizon
        knots = np.concatenate(([0.0], self.curve.time[inside], [horizon]))
        steps = np.concatenate(([1.0], self.curve.survival[inside]))
        return np.full(self.n_rows, steps @ np.diff(knots))
