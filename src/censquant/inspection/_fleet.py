"""Units in service, one line for each: risk soon, time until a risk is reached, and its date."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import framed
from censquant._typing import Floats
from censquant._validation import check_number
from censquant.estimators import ConformalSurvivalRegressor, adapt
from censquant.exceptions import FewEventsWarning, IdentifiabilityWarning
from censquant.inspection._ages import DEFAULT_UNIT, dates_of, read_ages, require_running
from censquant.inspection._failures import read_horizons
from censquant.quantiles import QuantileCurve


def fleet_table(
    model: Any,
    X: Any,
    elapsed: ArrayLike,
    horizons: ArrayLike,
    *,
    risk: float = 0.1,
    as_of: Any = None,
    unit: str = DEFAULT_UNIT,
) -> Any:
    """Return one row for each running unit: its risk soon, and when a risk is reached.

    All columns are given that the unit has lasted until now.

    Parameters
    ----------
    model : fitted model
        Any quantile regressor, or a model that `censquant.adapt` knows. The times of a
        `ConformalSurvivalRegressor` are calibrated among units that have reached the same age.
    X : array-like or DataFrame of shape (n, n_features)
        Units that are running.
    elapsed : float or array-like of shape (n,)
        Time that each has lasted already, 0 or more; or, with ``as_of``, the date of its start.
    horizons : float or array-like of shape (k,)
        Positive times from now, in the unit of the model's times.
    risk : float in (0, 1), default 0.1
        Accepted probability of a failure.
    as_of : date or str such as "2024-06-30", optional
        Day up to which the units have lasted; the table then has dates.
    unit : {"days", "hours", "weeks", "months", "years", "minutes", "seconds"}, default "days"
        Unit of the model's times, in which dates are counted.

    Returns
    -------
    table : DataFrame of n rows
        With the index of ``X``, a frame of polars for one of polars:

        - ``age``: time that the unit has lasted;
        - ``supported``: time from now for which follow-up supports predictions, 0 for units that
          are older than that;
        - ``risk_30``, ...: probability to fail within each horizon. Where follow-up ends before,
          it is the probability to fail until then, so that the risk is at least that; NaN where
          ``supported`` is 0;
        - ``remaining``: time until the risk is reached. Where ``limited`` is true follow-up ends
          before, and at least so much time is left;
        - ``limited``;
        - ``date``: with ``as_of``, the day on which ``remaining`` ends.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.inspection import fleet_table
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 1))
    >>> life, end = 1000 * np.exp(-X[:, 0] / 2) * rng.weibull(2, 600), rng.uniform(0, 2500, 600)
    >>> model = CoxQuantileRegressor().fit(X, (np.minimum(life, end), life <= end))
    >>> installed = np.array(["2023-01-31", "2024-03-01"], dtype="datetime64[D]")
    >>> table = fleet_table(model, X[:2], installed, [30, 90], as_of="2024-06-30")
    >>> list(table.columns)
    ['age', 'supported', 'risk_30', 'risk_90', 'remaining', 'limited', 'date']
    >>> table["age"].tolist()
    [516.0, 121.0]
    """
    accepted = check_number("risk", risk, minimum=0.0, below=1.0, exclude_minimum=True)
    ahead = read_horizons(horizons)
    regressor = adapt(model)
    require_running(regressor)
    curve = regressor.predict_curve(X)
    age = read_ages(elapsed, len(curve), as_of=as_of, unit=unit)
    risks, _ = risks_within(curve, age, ahead)
    bound, limited = lower_bound(regressor, X, curve, 1.0 - accepted, age)
    remaining = np.maximum(bound - age, 0.0)
    columns: dict[str, NDArray[Any]] = {
        "age": age,
        "supported": np.maximum(curve.limit() - age, 0.0),
        **{f"risk_{time:.12g}": one for time, one in zip(ahead, risks.T, strict=True)},
        "remaining": remaining,
        "limited": limited,
    }
    if as_of is not None:
        columns["date"] = dates_of(remaining, as_of, unit).astype("datetime64[us]")
    return framed(columns, X)


def risks_within(
    curve: QuantileCurve, age: Floats, ahead: ArrayLike
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return risks within each time ahead, and whether follow-up ends before.

    Those of units for which follow-up ends before are the risks until then.
    """
    times = np.asarray(ahead, dtype=np.float64)
    risk = curve.risk_within(age, times)
    least = ~curve.is_identified(curve.cdf(age[:, None] + times))
    now = curve.cdf(age)
    with np.errstate(divide="ignore", invalid="ignore"):
        until_end = np.where(curve.reach > now, (curve.reach - now) / (1.0 - now), np.nan)
    return np.where(least, until_end[:, None], risk), least


def lower_bound(
    model: Any, X: Any, curve: QuantileCurve, confidence: float, elapsed: Floats | None = None
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the times that a share of the individuals outlives, and whether follow-up ends them.

    They count from the start, also at an age. They are the calibrated bounds of a model that has
    them, else its own quantiles, cut where follow-up ends.
    """
    if isinstance(model, ConformalSurvivalRegressor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewEventsWarning)  # the bound is then 0, and shown
            warnings.simplefilter("ignore", IdentifiabilityWarning)  # those bounds are marked
            # The frame of predict_lower_bound has the same, and needs pandas.
            found = model._bounds(X, confidence, "lower", elapsed)
        return found.time, found.limited
    level = np.array([round(1.0 - confidence, 12)])
    if elapsed is None:
        bound, asked = curve.at(level)[:, 0], np.broadcast_to(level, (len(curve), 1))
    else:
        bound = elapsed + curve.remaining(elapsed, level)[:, 0]
        asked = curve.conditional_levels(elapsed, level)
    limited = ~curve.is_identified(asked)[:, 0]
    bound = np.where(limited, np.minimum(bound, curve.limit()), bound)
    return bound if elapsed is None else np.maximum(bound, elapsed), limited
