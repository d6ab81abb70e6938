"""Scores of the paper's tables: against known truth, without censoring, or as published."""

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_flag
from censquant.metrics._calibration import followed_levels, spread_shares
from censquant.metrics._reading import read_matrix, read_quantile_rows
from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from censquant.survival._columns import as_array, read_weights


def true_quantile_mse(
    predicted: ArrayLike, true: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Mean squared distance of predicted from true quantiles; lower is better.

    The sharpest of all scores, and for simulated data only, since it needs the truth. The paper's
    TQMSE is its value at the three levels 0.1, 0.5 and 0.9:

    .. math:: \frac{1}{n k} \sum_{i, j} (\hat q_{ij} - q_{ij})^2

    It is in squared units of time, so that the rows and levels with the longest times decide;
    and it counts levels that no data could tell as much as the others.

    Parameters
    ----------
    predicted : array-like of shape (n, k)
        Predicted quantiles, taken as they come.
    true : array-like of shape (n, k)
        The true ones, at the same levels.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).

    Returns
    -------
    mse : float in [0, inf)

    Examples
    --------
    >>> from censquant_bench.metrics import true_quantile_mse
    >>> true_quantile_mse([[1.0, 2.0], [1.0, 4.0]], [[1.0, 2.0], [1.0, 2.0]])
    1.0
    """
    shape = as_array(true, "true").shape
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"true must have shape (n, k) with n, k at least 1, got shape {shape}.")
    expected = (shape[0], shape[1])
    if as_array(predicted, "predicted").shape != expected:
        raise ValueError(
            "predicted must have the shape of true, "
            f"{expected}, got shape {as_array(predicted, 'predicted').shape}."
        )
    error = read_matrix(predicted, expected, "predicted", "levels")
    error = error - read_matrix(true, expected, "true", "levels")
    weight = read_weights(sample_weight, len(error))
    return float(weight @ (error**2).mean(axis=1) / weight.sum())


def uncensored_quantile_loss(
    y: object, predicted: ArrayLike, taus: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Check loss of rows without censoring, summed over levels; lower is better.

    The check loss is :math:`\tau` for each unit of time that a quantile is too early and
    :math:`1 - \tau` for each that it is too late, so that the true quantile is the cheapest:

    .. math:: \frac{1}{n} \sum_{i, j} (y_i - \hat q_{ij}) (\tau_j - 1[y_i < \hat q_{ij}])

    At the levels 0.1, 0.5 and 0.9 it is the paper's UQL. Predictions are taken as they come,
    crossed or not. It is in units of time and has no absolute meaning: even the true quantiles
    score above zero. Dropping censored rows to make it computable favours the short times.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times, in any form that `censquant.survival.read_target` takes, with no censoring.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).

    Returns
    -------
    loss : float in [0, inf)

    Examples
    --------
    >>> from censquant_bench.metrics import uncensored_quantile_loss
    >>> uncensored_quantile_loss([2.0, 4.0], [[1.0, 4.0], [1.0, 4.0]], taus=[0.5, 0.75])
    1.25
    """
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, raw=True)
    _require_no_censoring(target)
    error = target.time[:, None] - rows
    loss = error * (levels - (error < 0))
    return levels.size * float(weight @ loss.mean(axis=1) / weight.sum())


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
    >>> from censquant_bench.metrics import uncensored_d_calibration
    >>> uncensored_d_calibration([1.0, 2.0, 3.0, 4.0], [[2.5]] * 4, taus=[0.5])
    0.0
    >>> uncensored_d_calibration([1.0, 2.0, 3.0, 4.0], [[3.5]] * 4, taus=[0.5])
    12.5
    """
    raw = check_flag("paper", paper)
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, raw=raw)
    _require_no_censoring(target)
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
    >>> from censquant_bench.metrics import censored_d_calibration
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
        shares = spread_shares(level, bins, target.event, edges, weight)
    return _error(edges, shares)


def _require_no_censoring(target: Target) -> None:
    """Raise if a row is censored."""
    n_censored = len(target) - target.n_events
    if n_censored:
        raise ValueError(
            f"y must have no censored row, got {n_censored} of {len(target)}: "
            "use the metric's censored version."
        )


def _edges(levels: Floats) -> Floats:
    """Levels with 0 and 1 around them."""
    return np.concatenate(([0.0], levels, [1.0]))


def _error(edges: Floats, shares: Floats) -> float:
    """Sum of squared differences between nominal and observed shares, times 100."""
    return float(100 * ((np.diff(edges) - shares) ** 2).sum())


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
