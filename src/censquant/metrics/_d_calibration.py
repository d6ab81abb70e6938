"""D-calibration: do the predicted quantiles cut the events into their nominal shares."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_flag, check_integer
from censquant.metrics._calibration import ROUNDING, followed_levels
from censquant.metrics._pinball import require_no_censoring
from censquant.metrics._read import read_quantile_rows
from censquant.quantiles import QuantileCurve
from censquant.survival import Target


@dataclass(frozen=True, eq=False)
class DCalibration:
    """Outcome of Haider's test of D-calibration.

    Made by `d_calibration`.

    Parameters
    ----------
    statistic : float
        Pearson's chi-squared statistic.
    df : int
        Degrees of freedom, one less than the bins.
    p_value : float in [0, 1]
        Chance of such a statistic under perfect calibration; too large where rows are censored.
    shares : ndarray of shape (n_bins,), in [0, 1]
        Share of the rows in each bin of levels; they sum to 1.
    edges : ndarray of shape (n_bins + 1,), in [0, 1]
        Ends of the bins.

    Examples
    --------
    >>> from censquant.metrics import d_calibration
    >>> result = d_calibration([0.2, 0.7], [[0.25, 0.75]] * 2, [0.25, 0.75], n_bins=2)
    >>> result.shares
    array([0.5, 0.5])
    """

    statistic: float
    df: int
    p_value: float
    shares: Floats
    edges: Floats


def uncensored_d_calibration(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    paper: bool = False,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Squared error of the shares of events between quantiles, times 100; lower is better.

    If all events were observed, the share :math:`\tau_{j+1} - \tau_j` of the rows should fall
    between two neighbouring quantiles. With 0 and 1 as outer levels there are k + 1 bins:

    .. math:: 100 \sum_{j=0}^{k} \Big(\tau_{j+1} - \tau_j
              - \frac{1}{n} \sum_i 1[\hat q_{ij} < y_i \le \hat q_{i,j+1}]\Big)^2

    Zero is perfect, but n rows leave about :math:`100 / n` to the true model as well. It depends on
    the grid: more bins, smaller values. A model that ignores all features can score 0.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times, in any form that `censquant.survival.read_target` takes, with no censoring.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing.
    paper : bool, default=False
        Whether to compute the published UnDCal: crossed rows are left as they are instead of
        sorted, and a time that equals a quantile counts as above it.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).

    Returns
    -------
    error : float in [0, 200)

    Examples
    --------
    >>> from censquant.metrics import uncensored_d_calibration
    >>> uncensored_d_calibration([1.0, 2.0, 3.0, 4.0], [[2.5]] * 4, taus=[0.5])
    0.0
    >>> uncensored_d_calibration([1.0, 2.0, 3.0, 4.0], [[3.5]] * 4, taus=[0.5])
    12.5
    """
    raw = check_flag("paper", paper)
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, raw=raw)
    require_no_censoring(target)
    at = target.time[:, None]
    below = (at < rows) if raw else (at <= rows)
    reached = np.concatenate(([0.0], weight @ below / weight.sum(), [1.0]))
    return _error(_edges(levels), np.diff(reached))


def censored_d_calibration(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    paper: bool = False,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Squared error of the shares of rows between quantiles, times 100; lower is better.

    As `uncensored_d_calibration`, with the mass of a row that is censored at level q spread over
    the levels above it: the bin of levels (a, b] gets

    .. math:: \frac{b - \max(a, q)}{1 - q} \text{ if } b > q \text{, and 0 otherwise.}

    The level q is read between the sorted quantiles. Zero is perfect, and the true model gets
    there under any censoring that does not depend on the event time. But the mass is spread by the
    model itself, which hides errors: with much censoring a wrong model scores near 0 as well.
    `a_calibration` has no such weakness.

    The published CensDCal (``paper=True``) takes for q the nearest level of the grid, so a row
    censored before the first quantile has no mass in the first bin. It gives the *true* model
    about 0.37 where most rows are censored early, which is as large as the values that it was
    used to compare.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing; two at least unless ``paper`` is set.
    paper : bool, default=False
        Whether to compute the number as published: the nearest level for q, crossed rows left as
        they are, and a time that equals a quantile counted as above it.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).

    Returns
    -------
    error : float in [0, inf)
        Below 200 unless crossed rows are scored with ``paper=True``.

    Examples
    --------
    >>> from censquant.metrics import censored_d_calibration
    >>> y = ([0.0, 1.5, 2.5, 3.5], [False, True, True, False])
    >>> censored_d_calibration(y, [[1.0, 2.0, 3.0]] * 4, taus=[0.25, 0.5, 0.75])
    4.6875
    """
    published = check_flag("paper", paper)
    target, rows, levels, weight = read_quantile_rows(
        y, predicted, taus, sample_weight, raw=published, at_least=1 if published else 2
    )
    edges = _edges(levels)
    if published:
        shares = weight @ _published_mass(target, rows, levels) / weight.sum()
    else:
        level, _ = followed_levels(target, QuantileCurve(rows, levels))
        bins = (rows < target.time[:, None]).sum(axis=1)
        shares = _shares(level, bins, target.event, edges, weight)
    return _error(edges, shares)


def d_calibration(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> DCalibration:
    r"""Haider's chi-squared test that the levels of the events are uniform.

    The level of each time on its own predicted curve falls in one of B equal bins; a censored row
    is spread over the levels above its own. Under perfect calibration each bin holds n / B rows:

    .. math:: \chi^2 = \sum_b \frac{(N_b - n / B)^2}{n / B}, \qquad B - 1
              \text{ degrees of freedom}

    It is the field's usual test, given for comparison. Censored rows are spread as if the model
    were right, so that the test hardly ever rejects under censoring: a true model about 1 % of the
    time instead of 5 % at 30 % censoring and never at 80 %, but most wrong ones never either. Not
    rejecting is no evidence then; `a_calibration` keeps its size. Bins above the last of ``taus``
    are filled by the exponential tail of the curve.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    n_bins : int, at least 2, default=10
        Number B of bins.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    result : DCalibration
        Statistic in [0, inf), lower is better; p-value; share of each bin.

    References
    ----------
    .. [1] H. Haider, B. Hoehn, S. Davis, R. Greiner (2020). Effective ways to build and evaluate
       individual survival distributions. *JMLR* 21(85).

    Examples
    --------
    >>> from censquant.metrics import d_calibration
    >>> y = ([0.1, 0.3, 0.6, 0.2], [True, True, True, False])
    >>> result = d_calibration(y, [[0.25, 0.5, 0.75]] * 4, [0.25, 0.5, 0.75], n_bins=2)
    >>> result.shares
    array([0.59375, 0.40625])
    >>> round(result.p_value, 3)
    0.708
    """
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    count = check_integer("n_bins", n_bins, minimum=2)
    edges = np.arange(count + 1) / count
    level = QuantileCurve(rows, levels).cdf(target.time)
    bins = np.searchsorted(edges[1:-1], level - ROUNDING)
    shares = _shares(level, bins, target.event, edges, weight)
    statistic = float(weight.sum() * count * ((shares - 1 / count) ** 2).sum())

    from scipy.special import chdtrc

    return DCalibration(statistic, count - 1, float(chdtrc(count - 1, statistic)), shares, edges)


def _edges(levels: Floats) -> Floats:
    """Levels with 0 and 1 around them."""
    return np.concatenate(([0.0], levels, [1.0]))


def _error(edges: Floats, shares: Floats) -> float:
    """Sum of squared differences between nominal and observed shares, times 100."""
    return float(100 * ((np.diff(edges) - shares) ** 2).sum())


def _shares(
    level: Floats,
    bins: NDArray[np.intp],
    event: NDArray[np.bool_],
    edges: Floats,
    weight: Floats,
) -> Floats:
    """Share of the rows in each bin: an event in its own, a censored row above its level."""
    n_bins = edges.size - 1
    total = np.bincount(bins[event], weight[event], minlength=n_bins).astype(np.float64)
    # A row censored at level 1 has no level above its own: its mass stays in the last bin.
    certain = ~event & (level >= 1)
    total[-1] += weight[certain].sum()
    spread = ~event & ~certain
    start = level[spread, None]
    part = np.maximum(edges[1:] - np.maximum(edges[:-1], start), 0.0) / (1 - start)
    total += weight[spread] @ part
    shares: Floats = total / weight.sum()
    return shares


def _published_mass(target: Target, rows: Floats, levels: Floats) -> Floats:
    """Mass of every row in every bin by the code behind the published numbers."""
    ends = np.full((len(rows), 1), np.inf)
    left, right = np.hstack((-ends, rows)), np.hstack((rows, ends))
    at = target.time[:, None]
    inside = (left <= at) & (at < right)
    start, stop = _edges(levels)[:-1], _edges(levels)[1:]
    nearest = levels[np.argmin(np.abs(rows - at), axis=1), None]
    own = inside * (stop - nearest) / (1 - nearest)
    later = (left > at) * (stop - start) / (1 - nearest)
    return np.where(target.event[:, None], inside, own + later)
