"""Coverage of predicted quantiles, bounds and intervals under right censoring."""

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._calibration._censoring import CommonCensoring, chance_before
from censquant._typing import Floats
from censquant._validation import check_choice, check_number
from censquant.metrics._reading import (
    censoring_curve,
    followed_until,
    levels_of,
    read_quantile_rows,
    read_times,
    read_train,
    refuse_missing,
    warn_truncated,
)
from censquant.quantiles import QuantileCurve
from censquant.survival import KaplanMeier, Target, read_target
from censquant.survival._columns import as_array
from censquant.survival._comparisons import normal_deviate
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE

Method = Literal["ipcw", "doubly-robust"]

# Fewer rows than this share cannot move the estimate by more than that.
_FEW = 0.05


@dataclass(frozen=True)
class Coverage:
    """Estimated share of events inside predicted limits, with its uncertainty.

    Made by `coverage`.

    Parameters
    ----------
    estimate : float in [0, 1]
        Share of the rows whose event falls inside their limits.
    standard_error : float
        Of the estimate, over samples of as many rows.
    confidence_low : float in [0, 1]
        Lower end of the confidence interval.
    confidence_high : float in [0, 1]
        Upper end of the confidence interval.
    bound_low : float in [0, 1]
        Share of the rows that are certainly inside, whatever the censored ones hide.
    bound_high : float in [0, 1]
        Share of the rows that may be inside.
    n : int
        Number of rows of positive weight.

    Examples
    --------
    >>> from censquant.metrics import coverage
    >>> result = coverage(([1.0, 2.0, 3.0, 4.0], [True, False, True, True]), 0.0, 2.5)
    >>> result.estimate, result.bound_low, result.bound_high
    (0.25, 0.25, 0.5)
    """

    estimate: float
    standard_error: float
    confidence_low: float
    confidence_high: float
    bound_low: float
    bound_high: float
    n: int


@overload
def coverage(
    y: object,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    y_train: object = None,
    method: Method = "ipcw",
    predicted: ArrayLike | None = None,
    taus: ArrayLike | None = None,
    groups: None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Coverage: ...


@overload
def coverage(
    y: object,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    y_train: object = None,
    method: Method = "ipcw",
    predicted: ArrayLike | None = None,
    taus: ArrayLike | None = None,
    groups: ArrayLike,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
) -> dict[Any, Coverage]: ...


def coverage(
    y: object,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    y_train: object = None,
    method: Method = "ipcw",
    predicted: ArrayLike | None = None,
    taus: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Coverage | dict[Any, Coverage]:
    r"""Share of events that fall inside predicted limits, P(lower < T <= upper).

    With ``lower=-inf`` it is the share of events by a predicted quantile, which should be the
    quantile's level; with ``upper=inf`` the share that outlives a lower bound; else that of an
    interval. Neither a larger nor a smaller value is better: it should be the nominal one.

    A censored row does not tell whether its event falls inside. The chance
    :math:`P(T \le L)` of each limit is the mean over rows of

    .. math:: \psi = \frac{\delta 1[Y \le L]}{S_C(Y-)} + \frac{(1 - \delta) 1[Y \le L] m(Y)}{S_C(Y)}
              - \int_0^{\min(Y, L)} \frac{m(u)}{S_C(u)} d\Lambda_C(u), \qquad
              m(u) = \frac{\hat F(L) - \hat F(u)}{1 - \hat F(u)}

    where :math:`S_C` and :math:`\Lambda_C` are the survival and the cumulative hazard of the
    censoring time. ``method="ipcw"`` takes the first term alone: events count for those that
    censoring hid. It needs a censoring that does not depend on the features, and limits
    before the end of follow-up: past it events are missing, or carry weights that nothing supports.
    ``method="doubly-robust"`` takes all three, with the predicted distribution to fill the gaps. It
    is right if either the censoring curve or the prediction is. Where both are wrong it can be
    further off than the first term alone, and so does a wrong model confirm itself.

    The bounds need no assumption at all; where they are far apart the data cannot settle the
    coverage and the estimate is an assumption's. So it is where limits lie past the time until
    which a fiftieth of the training rows escape censoring, while rows outlive it. If more than
    a twentieth of the rows have such a limit, a `censquant.exceptions.TruncationWarning` says so.
    The standard error leaves the estimation of the censoring curve aside, which makes it a little
    too large for ``"ipcw"``.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    lower : array-like of shape (n,) or float
        Lower limits, which are not inside themselves; minus infinity for none.
    upper : array-like of shape (n,) or float
        Upper limits, which are inside; infinity for none.
    y_train : as ``y``, optional
        Rows that the censoring curve is estimated from; ``y`` by default.
    method : {"ipcw", "doubly-robust"}, default="ipcw"
        What stands in for the events that censoring hid.
    predicted : array-like of shape (n, k), optional
        Predicted quantiles, which ``"doubly-robust"`` needs; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1), optional
        Their levels, increasing, two at least.
    groups : array-like of shape (n,), optional
        Labels; coverage is then estimated in each group. The censoring curve stays that of all
        rows: call the function on the rows of a group where its censoring differs.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows, in the standard error too.
    confidence : float inside (0, 1), default=0.95
        Level of the confidence interval.

    Returns
    -------
    result : Coverage, or dict of Coverage by label
        Labels are in increasing order.

    Examples
    --------
    Half of the rows escape the censoring at 2, so that the event at 3 counts for two.

    >>> from censquant.metrics import coverage
    >>> y = ([1.0, 2.0, 3.0], [True, False, True])
    >>> round(coverage(y, -float("inf"), 3.0).estimate, 3)
    1.0
    >>> by_sex = coverage(y, -float("inf"), 2.5, groups=["f", "f", "m"])
    >>> by_sex["f"].estimate, by_sex["m"].estimate
    (0.5, 0.0)
    """
    check_choice("method", method, ("ipcw", "doubly-robust"))
    level = check_number("confidence", confidence, minimum=0, below=1, exclude_minimum=True)
    n_rows = len(read_target(y))
    target, low, weight = _limits(y, lower, sample_weight, n_rows, "lower")
    _, high, _ = _limits(y, upper, sample_weight, n_rows, "upper")
    swapped = np.flatnonzero(low > high)
    if swapped.size:
        raise ValueError(
            f"lower must not exceed upper, but it does in {swapped.size} of {n_rows} rows, "
            f"the first of them row {swapped[0]}."
        )
    model = None
    if method == "doubly-robust":
        if predicted is None or taus is None:
            raise ValueError(
                "predicted and taus must be given for method='doubly-robust', got None: "
                "pass them or use method='ipcw'."
            )
        _, rows, levels, _ = read_quantile_rows(y, predicted, taus, at_least=2)
        model = QuantileCurve(rows, levels)
    curve = censoring_curve(y_train, target, weight)
    _warn_of_late_limits(target, low, high, y_train, curve, weight)
    inside = _chance(target, high, curve, model) - _chance(target, low, curve, model)
    sure, possible = _known(target, low, high)
    table = np.column_stack((inside, sure, possible))
    if groups is None:
        return _summary(table, weight, level)
    return {
        label: _summary(table[member], weight[member], level)
        for label, member in _members(groups, weight)
    }


def _limits(
    y: object, limit: ArrayLike, sample_weight: ArrayLike | None, n_rows: int, name: str
) -> tuple[Target, Floats, Floats]:
    """Read target, limits of all rows and weights; a number holds for every row."""
    column = np.full(n_rows, limit) if np.ndim(limit) == 0 else limit
    return read_times(y, column, sample_weight, name=name, infinite=True)


def _warn_of_late_limits(
    target: Target,
    low: Floats,
    high: Floats,
    y_train: object,
    curve: KaplanMeier,
    weight: Floats,
) -> None:
    """Warn of limits that lie where neither events nor censoring are known."""
    if not curve.n_events.any():
        return
    end = followed_until(curve, SMALLEST_CENSORING_CHANCE)
    target = target.take(weight > 0)
    train = read_train(y_train, target)
    outlived = (target.time > end).any() or (~train.event & (train.time >= end)).any()
    late = (np.isfinite(low) & (low > end)) | (np.isfinite(high) & (high > end))
    if outlived and weight @ late > _FEW * weight.sum():
        warn_truncated(
            f"{int(late[weight > 0].sum())} of {len(target)} rows have a limit past {end:g}, the "
            "end of what the rows of y_train say about censoring: read the bounds, since the "
            "estimate rests on no data there."
        )


def _chance(
    target: Target, limit: Floats, curve: KaplanMeier, model: QuantileCurve | None
) -> Floats:
    """Return what every row adds to the probability of an event by its limit."""
    result: Floats = (limit == np.inf).astype(np.float64)
    finite = np.isfinite(limit)
    if finite.any():
        if model is not None:
            model = QuantileCurve(model.values[finite], model.taus)
        censoring = CommonCensoring(curve, int(finite.sum()))
        limits = limit[finite][:, None]
        result[finite] = chance_before(target.take(finite), limits, censoring, model)[:, 0]
    return result


def _known(target: Target, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return whether each row's event is certainly inside its limits, and whether it may be."""
    time, event = target.time, target.event
    observed = event & (low < time) & (time <= high)
    sure = observed | (~event & (time >= low) & (high == np.inf))
    possible = observed | (~event & (time < high) & (low < high))
    return sure.astype(np.float64), possible.astype(np.float64)


def _members(groups: ArrayLike, weight: Floats) -> list[tuple[Any, NDArray[np.intp]]]:
    """Return the labels of the groups that have weight, in order, with their rows."""
    labels = as_array(groups, "groups")
    if labels.shape != weight.shape:
        raise ValueError(
            f"groups must have one label for each row of y, shape {weight.shape}, "
            f"got shape {labels.shape}."
        )
    items = labels.tolist()
    refuse_missing(items)
    return [(label, rows) for label, rows in levels_of(items) if weight[rows].any()]


def _summary(table: Floats, weight: Floats, level: float) -> Coverage:
    """Return the weighted means of the columns, with the error of the first."""
    total = weight.sum()
    mean, sure, possible = weight @ table / total
    error = float(np.sqrt(weight @ (table[:, 0] - mean) ** 2) / total)
    margin = normal_deviate(level) * error
    # Around the estimate as it is given: an impossible mean would leave no width to the interval.
    estimate = float(np.clip(mean, 0, 1))
    low, high = (float(np.clip(estimate + side * margin, 0, 1)) for side in (-1, 1))
    n_rows = int(np.count_nonzero(weight))
    return Coverage(estimate, error, low, high, float(sure), float(possible), n_rows)
