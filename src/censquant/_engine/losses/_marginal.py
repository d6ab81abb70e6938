"""A check loss for censored rows whose weights do not depend on the evaluated model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._follow_up_share import SMALLEST_CENSORING_CHANCE
from censquant.survival import censoring_kaplan_meier


@dataclass(frozen=True)
class MarginalPinball:
    r"""Check loss with everything past the censoring time averaged out.

    Portnoy's loss weights censored rows by the predictions it evaluates, so its values at two
    epochs, or of two models, are not comparable. Here the forecast is censored as the data were,
    by the Kaplan-Meier curve :math:`S_C` of the censoring time, and then scored:

    .. math:: \text{event } t: \tau (t - q)_+ + (1 - \tau) \int_t^{\max(q, t)}
              \frac{S_C(s)}{S_C(t-)} ds, \qquad \text{censored } c: \tau (c - q)_+

    Its expectation is smallest at the true quantile wherever that is identified. It assumes that
    censoring does not depend on the features; where it does, the ranking can be wrong.

    Made by :meth:`fit`.

    Parameters
    ----------
    knots : ndarray of shape (n_knots,)
        Increasing times at which the censoring curve is known.
    integral : ndarray of shape (n_knots,)
        Area under it from the first knot up to each.
    before : ndarray of shape (n_knots + 1,), in [0, 1]
        Its value just before each, and after the last: 0 there if the last row was censored.
    """

    knots: NDArray[np.float64]
    integral: NDArray[np.float64]
    before: NDArray[np.float64]

    @classmethod
    def fit(
        cls, time: ArrayLike, event: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "MarginalPinball":
        """Take the censoring curve from these rows."""
        curve = censoring_kaplan_meier(time, event, sample_weight)
        # The integral of a step function is linear between its steps.
        pieces = curve.survival[:-1] * np.diff(curve.time)
        before = np.concatenate(([1.0], curve.survival))
        integral = np.concatenate(([0.0], np.cumsum(pieces)))
        return cls(curve.time, integral, before)

    def __call__(
        self,
        predicted: NDArray[Any],
        time: NDArray[Any],
        event: NDArray[np.bool_],
        taus: NDArray[Any],
    ) -> NDArray[np.float64]:
        """Return the loss of every row and level, shape ``(n, k)``."""
        q = np.asarray(predicted, dtype=np.float64)
        t = np.asarray(time, dtype=np.float64)[:, None]
        under = taus * np.maximum(t - q, 0.0)
        share = np.maximum(self.before[np.searchsorted(self.knots, t)], SMALLEST_CENSORING_CHANCE)
        over = (1.0 - taus) * np.maximum(self._area(q) - self._area(t), 0.0) / share
        loss: NDArray[np.float64] = under + np.where(event[:, None], over, 0.0)
        return loss

    def _area(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Integral of the censoring curve up to ``t``."""
        area: NDArray[np.float64] = np.interp(t, self.knots, self.integral)
        # The curve is 1 before its first step and keeps its last value after the last one.
        area += np.minimum(t - self.knots[0], 0.0)
        area += self.before[-1] * np.maximum(t - self.knots[-1], 0.0)
        return area
