"""The Kaplan-Meier curve as a method: one answer for everybody."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.metrics._compare import KaplanMeierBaseline as _Baseline
from censquant.survival import KaplanMeier


class KaplanMeierBaseline(_Baseline):
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
    >>> from censquant_bench import KaplanMeierBaseline
    >>> model = KaplanMeierBaseline().fit(np.zeros((4, 1)), ([1, 2, 3, 4], [1, 0, 1, 1]))
    >>> model.predict_curve(np.zeros((2, 1))).survival([0.5, 3.0])
    array([[1.   , 0.375],
           [1.   , 0.375]])
    """

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

    def cdf(self, times: ArrayLike) -> Floats:
        """Return the probability that each row's event comes by its own time."""
        return 1.0 - self.curve(times)

    def restricted_mean(self, horizon: float) -> Floats:
        """Return the area under the steps up to a horizon."""
        inside = self.curve.time < horizon
        knots = np.concatenate(([0.0], self.curve.time[inside], [horizon]))
        steps = np.concatenate(([1.0], self.curve.survival[inside]))
        return np.full(self.n_rows, steps @ np.diff(knots))
