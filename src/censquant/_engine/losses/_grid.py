"""Losses of quantiles predicted on a grid of levels.

Kernels share their arguments: ``predicted`` and ``gradient`` have shape (n, k), ``taus`` are k
increasing levels inside (0, 1), and ``time``, ``event`` (True where the event was observed) and
``weight`` have shape (n,). Predictions may cross. A kernel returns the mean over rows, which
divides by n and not by the sum of the weights, of the loss summed over levels; ``gradient``
receives its derivative by ``predicted``.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._compile import exact, fast, fast_part
from censquant.survival import censoring_kaplan_meier
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE

NEAREST, LOWER, INTERPOLATE = range(3)

LEVEL_RULES = {"nearest": NEAREST, "lower": LOWER, "interpolate": INTERPOLATE}
"""How F(c given x), the level at which a row was censored, is read off the predictions; see
:func:`portnoy`."""


@fast
def pinball(predicted, time, weight, taus, gradient):
    r"""Mean over rows of the weighted check loss summed over levels; its gradient is written.

    .. math:: \rho_\tau(y, q) = (y - q)(\tau - 1[q > y])

    Parameters
    ----------
    predicted : array of shape (n, k)
        Predicted quantiles; rows need not be increasing.
    time : array of shape (n,)
        Times, all taken as observed events.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    taus : array of shape (k,)
        Quantile levels inside (0, 1).
    gradient : array of shape (n, k)
        Receives the derivative by ``predicted``.

    Returns
    -------
    loss : float

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.engine import pinball
    >>> gradient = np.empty((1, 1))
    >>> pinball(np.array([[3.0]]), np.array([5.0]), np.ones(1), np.array([0.9]), gradient)
    1.8
    >>> gradient
    array([[-0.9]])
    """
    n, n_levels = predicted.shape
    # In the type of the arrays: a float64 number would widen the inner loop.
    one = predicted.dtype.type(1)
    zero = predicted.dtype.type(0)
    total = 0.0
    for i in range(n):
        scale = weight[i] / n
        row = zero
        for k in range(n_levels):
            error = time[i] - predicted[i, k]
            slope = (one if error < zero else zero) - taus[k]
            gradient[i, k] = slope * scale
            row -= error * slope
        total += row * scale
    return total


@fast_part
def _sort_into(values, work):
    """Copy ``values`` into ``work`` in increasing order; fast when they nearly are."""
    for k in range(len(values)):
        value = values[k]
        place = k
        while place > 0 and work[place - 1] > value:
            work[place] = work[place - 1]
            place -= 1
        work[place] = value


@fast_part
def _estimate_level(time, predicted, taus, rule, work):
    """Estimate the level at which ``time`` lies on one row's predicted quantiles."""
    n_levels = len(taus)
    if rule == NEAREST:
        best = 0
        smallest = abs(predicted[0] - time)
        for k in range(1, n_levels):
            distance = abs(predicted[k] - time)
            if distance < smallest:
                smallest = distance
                best = k
        return taus[best]
    _sort_into(predicted, work)
    below = 0
    while below < n_levels and work[below] <= time:
        below += 1
    if below == n_levels:
        return taus[n_levels - 1]
    if rule == LOWER or n_levels == 1:
        return taus[below - 1] if below > 0 else taus[0] * 0
    left = max(below - 1, 0)
    gap = work[left + 1] - work[left]
    step = taus[left + 1] - taus[left]
    # Below the first quantile the first segment is continued, but no level is negative. A gap of
    # nearly zero must not divide: the time then lies at the closer end of the segment.
    share = (time - work[left]) / gap if gap > 1e-12 else (time - work[left]) * 1e12
    return min(max(taus[left] + step * share, taus[0] * 0), taus[left + 1])


@fast
def estimate_levels(time, predicted, taus, rule, out):
    """Write the level at which every row's time lies on its predicted quantiles into ``out``."""
    work = np.empty(len(taus), predicted.dtype)
    for i in range(len(time)):
        out[i] = _estimate_level(time[i], predicted[i], taus, rule, work)


@fast
def portnoy(
    predicted, time, event, weight, level, taus, rule, weight_below, limit, one_sided, gradient
):
    r"""Mean over rows of Portnoy's loss summed over levels; its gradient is written.

    An individual censored at level :math:`q = F(c | x)` tells nothing about the levels above, so
    only the share :math:`w_\tau = (\tau - q) / (1 - q)` of its weight stays at the censoring time
    :math:`c`, and the rest moves to a pseudo-time :math:`y^*` beyond all others:

    .. math:: w_\tau \rho_\tau(c, \hat y) + (1 - w_\tau) \rho_\tau(y^*, \hat y)

    The level is estimated from the predictions that are being trained, and no gradient flows
    through it. With ``one_sided`` the rest moves to infinity instead (a constant is left out of
    the loss), and predictions above ``limit`` are no longer pushed upwards.

    Parameters
    ----------
    predicted : array of shape (n, k)
        Predicted quantiles; rows need not be increasing.
    time : array of shape (n,)
    event : bool array of shape (n,)
        True where the event was observed at ``time``, False where the row is censored there.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    level : array of shape (n,)
        Levels of the censoring times where they are known, negative where they are estimated.
    taus : array of shape (k,)
        Quantile levels inside (0, 1), increasing.
    rule : int, a value of ``LEVEL_RULES``
        ``nearest``: the level whose prediction is nearest to the time, as in the paper. ``lower``:
        the highest level predicted at or below the time, 0 if none. ``interpolate``: linear
        between the two predictions around the time, continued below the first down to 0.
    weight_below : float
        Weight at levels below the row's own: 1 as in the authors' code, 0 as in their text. It
        matters only where predictions cross.
    limit : float
        :math:`y^*`, or with ``one_sided`` the cap on upward pushes.
    one_sided : bool
    gradient : array of shape (n, k)
        Receives the derivative by ``predicted``.

    Returns
    -------
    loss : float

    References
    ----------
    .. [1] S. Portnoy (2003), Censored regression quantiles, JASA 98.
    .. [2] T. Pearce et al. (2022), Censored quantile regression neural networks for
       distribution-free survival analysis, NeurIPS, Algorithm 2.

    Examples
    --------
    A row censored at 2 lies at level 0.5 of its predictions. The median has weight 0 there and is
    pushed up with the full 0.5; the 0.75-quantile keeps half of the row below itself.

    >>> import numpy as np
    >>> from censquant._engine.losses._grid import LEVEL_RULES, portnoy
    >>> gradient = np.empty((1, 2))
    >>> loss = portnoy(
    ...     predicted=np.array([[2.0, 3.0]]), time=np.array([2.0]), event=np.array([False]),
    ...     weight=np.ones(1), level=np.array([-1.0]), taus=np.array([0.5, 0.75]),
    ...     rule=LEVEL_RULES["nearest"], weight_below=1.0, limit=10.0, one_sided=False,
    ...     gradient=gradient,
    ... )
    >>> gradient
    array([[-0.5 , -0.25]])
    """
    n, n_levels = predicted.shape
    work = np.empty(n_levels, predicted.dtype)
    # In the type of the arrays: a float64 number would widen the inner loops.
    wall = predicted.dtype.type(limit)
    one = predicted.dtype.type(1)
    zero = predicted.dtype.type(0)
    kept_below = predicted.dtype.type(weight_below)
    total = 0.0
    for i in range(n):
        y = time[i]
        scale = weight[i] / n
        row = zero
        if event[i]:
            for k in range(n_levels):
                error = y - predicted[i, k]
                slope = (one if error < zero else zero) - taus[k]
                gradient[i, k] = slope * scale
                row -= error * slope
        else:
            q = level[i]
            if q < zero:
                q = _estimate_level(y, predicted[i], taus, rule, work)
            rest = one / (one - q)
            for k in range(n_levels):
                tau = taus[k]
                value = predicted[i, k]
                kept = (tau - q) * rest if tau >= q else kept_below
                near = (one if value > y else zero) - tau
                if one_sided:
                    slope = kept * near - (one - kept) * tau
                    row += (value - y) * kept * near - (one - kept) * tau * value
                    slope = zero if value > wall and slope < zero else slope
                else:
                    far = (one if value > wall else zero) - tau
                    slope = kept * near + (one - kept) * far
                    row += (value - y) * kept * near + (value - wall) * (one - kept) * far
                gradient[i, k] = slope * scale
        total += row * scale
    return total


@fast
def powell(predicted, time, limit, weight, taus, gradient):
    r"""Powell's check loss, for rows whose censoring time ``limit`` is known, event or not.

    The prediction is cut at the censoring time :math:`c` as the data were:
    :math:`\rho_\tau(y, \min(c, \hat y))`. Where it lies beyond :math:`c` it has no effect and so no
    gradient: training should start from low predictions.

    References
    ----------
    .. [1] J. L. Powell (1986), Censored regression quantiles, Journal of Econometrics 32.
    """
    n, n_levels = predicted.shape
    # In the type of the arrays: a float64 number would widen the inner loop.
    one = predicted.dtype.type(1)
    zero = predicted.dtype.type(0)
    total = 0.0
    for i in range(n):
        scale = weight[i] / n
        row = zero
        for k in range(n_levels):
            free = predicted[i, k] < limit[i]
            error = time[i] - (predicted[i, k] if free else limit[i])
            slope = (one if error < zero else zero) - taus[k]
            gradient[i, k] = slope * scale if free else zero
            row -= error * slope
        total += row * scale
    return total


@exact
def tobit_laplace(predicted, time, event, weight, taus, scale, gradient):
    r"""Censored likelihood of asymmetric Laplace distributions with the quantiles as their modes.

    For each level there is a distribution whose :math:`\tau`-quantile is the prediction :math:`q`
    and whose ``scale`` is :math:`\sigma`. An event counts minus its log-density up to a constant,
    the check loss divided by the scale; a censored row minus the log-probability beyond its time,

    .. math:: -\log\big(1 - \tau e^{-(1 - \tau)(q - c) / \sigma}\big) \text{ for } q > c,
              \qquad \tau (c - q) / \sigma - \log(1 - \tau) \text{ otherwise}

    Unlike Powell's loss it has a slope beyond censoring times, where it keeps pushing upwards, the
    less the further a prediction lies beyond. The minimum is the quantile only if times do follow
    such a distribution.

    References
    ----------
    .. [1] F. B. Hüttel, I. Peled, F. Rodrigues, F. C. Pereira (2022), Modeling censored mobility
       demand through censored quantile regression neural networks, IEEE T-ITS 23.
    """
    n, n_levels = predicted.shape
    total = 0.0
    for i in range(n):
        share = weight[i] / n
        row = 0.0
        for k in range(n_levels):
            tau = float(taus[k])
            error = (float(time[i]) - float(predicted[i, k])) / scale
            if event[i]:
                slope = (1.0 if error < 0.0 else 0.0) - tau
                row -= error * slope
            elif error >= 0.0:
                slope = -tau
                row += tau * error - math.log1p(-tau)
            else:
                inside = tau * math.exp((1.0 - tau) * error)
                slope = -(1.0 - tau) * inside / (1.0 - inside)
                row -= math.log1p(-inside)
            gradient[i, k] = slope / scale * share
        total += row * share
    return total


@fast
def add_crossing_penalty(predicted, weight, margin, strength, gradient):
    r"""Return a penalty on neighbours closer than ``margin``; add its gradient to ``gradient``.

    .. math:: \lambda \sum_k \max(0, m - (\hat y_{k+1} - \hat y_k))
    """
    n, n_levels = predicted.shape
    smallest = predicted.dtype.type(margin)
    factor = predicted.dtype.type(strength)
    total = 0.0
    for i in range(n):
        push = factor * weight[i] / n
        for k in range(n_levels - 1):
            lack = smallest - (predicted[i, k + 1] - predicted[i, k])
            if lack > 0:
                gradient[i, k] += push
                gradient[i, k + 1] -= push
                total += lack * push
    return total


@dataclass(frozen=True)
class MarginalPinball:
    r"""Check loss for censored rows whose weights do not depend on the evaluated model.

    Portnoy's loss weights censored rows by the predictions it evaluates, so its values at two
    epochs, or of two models, are not comparable. Here the forecast is censored as the data were,
    by the Kaplan-Meier curve :math:`S_C` of the censoring time, and then scored:

    .. math:: \text{event } t: \tau (t - q)_+ + (1 - \tau) \int_t^{\max(q, t)}
              \frac{S_C(s)}{S_C(t-)} ds, \qquad \text{censored } c: \tau (c - q)_+

    Its expectation is smallest at the true quantile wherever that is identified. It assumes that
    censoring does not depend on the features; where it does, the ranking can be wrong.

    :meth:`fit` makes it: increasing times ``knots`` at which the censoring curve is known, the area
    ``integral`` under it from the first knot up to each, and its value ``before`` each and after
    the last, which is 0 if the last row was censored.
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
