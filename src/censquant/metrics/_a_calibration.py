"""A-calibration: observed events against those that the predicted distributions expect."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.metrics._calibration import ROUNDING, followed_levels
from censquant.metrics._read import read_quantile_rows
from censquant.quantiles import QuantileCurve

# Below this the chi-squared distribution describes a cell badly; the usual rule for such tests.
_SMALLEST_EXPECTED = 5.0


@dataclass(frozen=True, eq=False)
class ACalibration:
    """Outcome of the test of A-calibration, with the counts behind it.

    Made by `a_calibration`.

    Parameters
    ----------
    statistic : float
        Sum over cells of (observed - expected)² / expected.
    df : int
        Degrees of freedom, the number of cells.
    p_value : float in [0, 1]
        Chance of such a statistic under perfect calibration.
    observed : ndarray of shape (df,)
        Observed events in each cell of levels.
    expected : ndarray of shape (df,)
        Events that the predictions expect there, given how long each row was followed.
    edges : ndarray of shape (df + 1,), in [0, 1)
        Ends of the cells, from 0 to the last level of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.metrics import a_calibration
    >>> time, taus = np.arange(1, 41) / 40, [0.25, 0.5, 0.75]
    >>> result = a_calibration(time, [taus] * 40, taus)
    >>> result.observed
    array([10., 10., 10.])
    >>> result.ratio.round(2)
    array([0.99, 0.98, 0.97])
    """

    statistic: float
    df: int
    p_value: float
    observed: Floats
    expected: Floats
    edges: Floats

    @property
    def ratio(self) -> Floats:
        """Observed over expected events; below 1 where the model predicts too early."""
        safe = np.where(self.expected > 0, self.expected, 1.0)
        beyond = np.where(self.observed > 0, np.inf, 1.0)
        return np.where(self.expected > 0, self.observed / safe, beyond)


def a_calibration(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> ACalibration:
    r"""Test of calibration that keeps its size under censoring: observed against expected events.

    Each row is at risk for as long as it was followed. In units of its own predicted levels,
    :math:`U_i = \hat F(y_i | x_i)`, a right model expects the increments of
    :math:`H(u) = -\log(1 - u)` as events, censored or not:

    .. math:: O_j = \sum_i \delta_i 1[a_j < U_i \le b_j], \qquad
              E_j = \sum_i H(\min(U_i, b_j)) - H(\min(U_i, a_j)), \qquad
              X^2 = \sum_j \frac{(O_j - E_j)^2}{E_j}

    with as many degrees of freedom as cells (0, τ₁], ..., up to the last level. Neighbouring cells
    are merged until each expects 5 events; where all together expect fewer, one cell is
    left and the p-value is rough. No mass is imputed and nothing is assumed about the tail, and
    censoring may depend on the features.

    A large p-value is no proof: with few events the test has little power, and at 80 % censoring
    almost none. With many rows it rejects models whose errors do not matter: read the ratio
    of observed to expected events. Errors of subgroups that cancel do not show. A coarse grid is
    itself an error, since levels are read linearly between quantiles; five levels are rejected
    with some twenty thousand rows.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    result : ACalibration
        Statistic in [0, inf), about ``df`` for a right model, lower is better; p-value; observed
        and expected events by cell.

    References
    ----------
    .. [1] M. G. Akritas (1988). Pearson-type goodness-of-fit tests: the univariate case. *JASA*
       83(401).

    Examples
    --------
    The model expects the events twice as late as they come.

    >>> import numpy as np
    >>> from censquant.metrics import a_calibration
    >>> time, taus = np.arange(1, 81) / 160, np.array([0.25, 0.5, 0.75])
    >>> result = a_calibration(time, [taus] * 80, taus)
    >>> result.observed
    array([40., 40.])
    >>> result.expected.round(1)
    array([17.1,  7.8])
    >>> result.p_value < 0.001
    True
    """
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    level, followed = followed_levels(target, QuantileCurve(rows, levels))
    edges = np.concatenate(([0.0], levels))
    cells = np.searchsorted(levels, level[followed] - ROUNDING)
    observed = np.bincount(cells, weight[followed], minlength=levels.size).astype(np.float64)
    hazard = -np.log1p(-np.minimum(level[:, None], edges))
    expected = weight @ np.diff(hazard, axis=1)
    kept = _merged(expected)
    starts = kept[:-1]
    observed, expected = np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)
    # A cell that expects nothing is met exactly by no event and missed entirely by any.
    terms = np.where(observed > 0, np.inf, 0.0)
    np.divide((observed - expected) ** 2, expected, out=terms, where=expected > 0)
    statistic = float(terms.sum())

    from scipy.special import chdtrc

    p_value = float(chdtrc(starts.size, statistic))
    return ACalibration(statistic, starts.size, p_value, observed, expected, edges[kept])


def _merged(expected: Floats) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """Places of the edges to keep so that every cell expects enough events."""
    kept, total = [0], 0.0
    for cell, count in enumerate(expected):
        total += count
        if total >= _SMALLEST_EXPECTED:
            kept.append(cell + 1)
            total = 0.0
    # What is left over at the end joins the cell before it, or is the only one.
    kept[max(len(kept) - 1, 1) :] = [expected.size]
    return np.array(kept, dtype=np.intp)
