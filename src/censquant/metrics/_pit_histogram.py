"""Histogram of the levels of event times under censoring, with what chance alone would show."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_integer, check_number
from censquant.metrics._calibration import ROUNDING, followed_levels
from censquant.metrics._read import read_quantile_rows
from censquant.quantiles import QuantileCurve
from censquant.survival import KaplanMeier, censoring_kaplan_meier, kaplan_meier


@dataclass(frozen=True, eq=False)
class PitHistogram:
    """Density of the levels of event times, which is 1 where the predictions are right.

    Made by `pit_histogram`.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,), in [0, 1)
        Ends of the bins, from 0 to the last level of the grid.
    density : ndarray of shape (n_bins,)
        Share of the events in each bin over the width of the bin; NaN above the last level that
        follow-up reached.
    lower, upper : ndarray of shape (n_bins,)
        Ends of the band in which the density of a right model lies with the stated confidence, bin
        by bin.
    confidence : float in (0, 1)

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.metrics import pit_histogram
    >>> taus = np.array([0.25, 0.5, 0.75])
    >>> found = pit_histogram(np.arange(1, 81) / 160, [taus] * 80, taus, n_bins=4)
    >>> found.density
    array([2., 2., 0.])
    """

    edges: Floats
    density: Floats
    lower: Floats
    upper: Floats
    confidence: float


def pit_histogram(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    n_bins: int = 10,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> PitHistogram:
    r"""Histogram of the levels that event times have on their own predicted curves.

    The increments of `pit_curve` over bins of equal width. A right model gives the density 1; high
    bars at both ends say that its distributions are too narrow, in the middle too wide, on the left
    that events come sooner than predicted. If the model is right, the share of n rows in a bin
    (a, b] has the variance

    .. math:: (b - a)^2 G(a) + (1 - b)^2 \{G(b) - G(a)\}, \qquad
              G(u) = \int_0^u \frac{dv}{n (1 - v)^2 S_C(v)}

    with the Kaplan-Meier curve :math:`S_C` of the levels at which rows were censored; without
    censoring it is that of a binomial share. The band is for each bin by itself: one of twenty
    lies outside of it by chance.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    n_bins : int, at least 2, default=10
        Number of bins that [0, 1] is cut into. They end at the last of ``taus``, since nothing is
        assumed about the tail.
    confidence : float in (0, 1), default=0.95
        Level of the band.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    histogram : PitHistogram

    Examples
    --------
    Events come twice as early as the model says.

    >>> import numpy as np
    >>> from censquant.metrics import pit_histogram
    >>> taus = np.array([0.25, 0.5, 0.75])
    >>> found = pit_histogram(np.arange(1, 81) / 160, [taus] * 80, taus, n_bins=4)
    >>> found.density > found.upper
    array([ True,  True, False])
    """
    target, rows, grid, weight = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    count = check_integer("n_bins", n_bins, minimum=2)
    level = check_number("confidence", confidence, minimum=0, below=1, exclude_minimum=True)
    even = np.linspace(0.0, 1.0, count + 1)
    edges = np.append(even[even < grid[-1] - ROUNDING], grid[-1])
    reached, followed = followed_levels(target, QuantileCurve(rows, grid))
    share = kaplan_meier(reached, followed, weight)
    observed = 1 - share(edges + ROUNDING)
    observed[0] = 0.0
    width = np.diff(edges)
    density = np.diff(observed) / width

    growth = _greenwood(censoring_kaplan_meier(reached, followed, weight), edges) / weight.sum()
    variance = width**2 * growth[:-1] + (1 - edges[1:]) ** 2 * np.diff(growth)

    from scipy.special import ndtri

    reach = float(ndtri((1 + level) / 2)) * np.sqrt(variance) / width
    unknown = (edges[1:] > share.time[-1] + ROUNDING) & (share.survival[-1] > 0)
    density, lower, upper = (
        np.where(unknown, np.nan, values)
        for values in (density, np.maximum(1 - reach, 0.0), 1 + reach)
    )
    return PitHistogram(edges, density, lower, upper, level)


def _greenwood(censoring: KaplanMeier, edges: Floats) -> Floats:
    """Integral of 1 / ((1 - v)^2 S_C(v)) up to each edge; where S_C is 0 it does not grow."""
    inside = censoring.time[(censoring.time > 0) & (censoring.time < edges[-1])]
    ends = np.unique(np.concatenate((edges, inside)))
    # Constant between two times of the curve, so that its value after the first of them holds.
    followed = censoring(ends[:-1])
    steps = np.zeros(len(ends) - 1)
    np.divide(np.diff(1 / (1 - ends)), followed, out=steps, where=followed > 0)
    total = np.append(0.0, np.cumsum(steps))
    return total[np.searchsorted(ends, edges)]
