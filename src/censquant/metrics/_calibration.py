"""Calibration of predicted quantiles under censoring."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant.quantiles import QuantileCurve, check_levels, check_quantiles
from censquant.survival import kaplan_meier, read_target

# The level of a time that equals a predicted quantile is that quantile's up to rounding.
_ROUNDING = 1e-12


def pit_curve(
    y: object, predicted: ArrayLike, taus: ArrayLike, *, levels: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Share of events that happened by each predicted quantile, beside the nominal share.

    The level of every row's time on its own predicted curve, :math:`U_i = \hat F(Y_i | x_i)`,
    is uniform where the predictions are right, and censored where the time is. The
    Kaplan-Meier curve of these levels is therefore the observed counterpart of the nominal ones:
    below the diagonal the events come later than predicted, above it sooner.

    Levels are read linearly between quantiles, and below the first one along the prolonged first
    segment. A time past the last quantile counts as followed up to there, so no assumption about
    the tail enters. Censoring must not foretell the event given the features: then, and only
    then, do the levels of censored rows say as little as this curve supposes. Good calibration
    on average can hide errors of subgroups that cancel.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, n_quantiles)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (n_quantiles,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    levels : array-like of shape (k,), in (0, max(taus)], optional
        Nominal levels to look at; ``taus`` by default.

    Returns
    -------
    levels : ndarray of shape (k,)
        The nominal levels.
    observed : ndarray of shape (k,), in [0, 1]
        Estimated share of events by the quantile of each level; NaN above the last level that
        follow-up reached for any row.

    Examples
    --------
    >>> from censquant.metrics import pit_curve
    >>> time, event = [0.5, 1.5, 2.5, 3.5], [True, True, False, True]
    >>> pit_curve((time, event), [[1.0, 2.0, 3.0]] * 4, taus=[0.25, 0.5, 0.75])
    (array([0.25, 0.5 , 0.75]), array([0.25, 0.5 , 0.5 ]))
    """
    target = read_target(y)
    grid = check_quantiles(taus, name="taus")
    if grid.size < 2:
        raise ValueError(
            "taus must hold two levels or more, since the level of a time is read between "
            f"quantiles, got {grid.size}."
        )
    asked = grid if levels is None else check_levels(levels)
    if asked.max() > grid[-1]:
        raise ValueError(
            f"levels must not exceed {grid[-1]:g}, the highest of taus, got {asked.max():g}."
        )
    values = _read_predictions(predicted, len(target), grid.size)
    curve = QuantileCurve.from_predictions(values, grid)
    reached = np.minimum(curve.cdf(target.time), grid[-1])
    followed = target.event & (target.time <= curve.values[:, -1])
    share = kaplan_meier(reached, followed)
    observed = 1 - share(asked + _ROUNDING)
    unknown = (asked > share.time[-1] + _ROUNDING) & (share.survival[-1] > 0)
    return asked, np.where(unknown, np.nan, observed)


def _read_predictions(predicted: ArrayLike, n_rows: int, n_levels: int) -> NDArray[np.float64]:
    """Return finite predictions of the expected shape, or raise one sentence."""
    values = np.asarray(predicted, dtype=np.float64)
    if values.shape != (n_rows, n_levels):
        raise ValueError(
            "predicted must have one row for each row of y and one column for each of taus, "
            f"shape {(n_rows, n_levels)}, got shape {values.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if bad.size:
        raise ValueError(
            f"predicted must be finite, got NaN or infinity in {bad.size} of {n_rows} rows, "
            f"the first in row {bad[0]}."
        )
    return values
