"""Quantiles, survival and restricted means predicted by any fitted model."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_number
from censquant.adapters._libraries import (
    Hazardous,
    Lifelines,
    Pycox,
    Reader,
    ScikitSurvival,
    accepts,
)
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES, check_levels, check_quantiles, sorted_rows
from censquant.survival import Target
from censquant.survival._columns import read_numbers

# The first that recognises a model reads it: the last one knows a model by a single method.
_READERS: tuple[type[Reader], ...] = (Pycox, Lifelines, Hazardous, ScikitSurvival)


def final_model(model: Any, X: Any) -> tuple[Any, Any]:
    """Model inside scikit-learn's searches and pipelines, with the features that it takes.

    A finished search gives its ``best_estimator_``, a Pipeline its last step with the features
    transformed by the others. Anything else is returned as it is.
    """
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "named_steps"):
            if len(model.steps) > 1 and X is not None:
                X = model[:-1].transform(X)
            model = model[-1]
        else:
            return model, X


def is_left_censored(model: Any) -> bool:
    """Whether a model was fitted to times before which some events lie."""
    return bool(getattr(final_model(model, None)[0], "censoring", "right") == "left")


def is_supported(model: Any) -> bool:
    """Whether quantiles of a fitted model are available, by its methods."""
    final, _ = final_model(model, None)
    return _has_quantiles(final) or any(reader.recognises(final) for reader in _READERS)


def predict_quantiles_of(model: Any, X: Any, quantiles: ArrayLike) -> Floats:
    """Quantiles that a fitted model of any kind predicts.

    Estimators of this library and any object with ``predict_quantiles(X, quantiles)`` predict
    them. Models of scikit-survival, lifelines, pycox and hazardous predict survival curves,
    which are inverted: the quantile of level tau is the first time at which S(t) <= 1 - tau. The
    curve is a step function for scikit-survival and for lifelines with a baseline estimated at the
    event times, and a straight line between the times of a grid for all others. Parametric models
    of lifelines use their formula at any level. Elsewhere, where a curve does not fall far
    enough by its last time, the mean hazard up to that time continues: an extrapolation, which
    begins at the model's highest identified level.

    Parameters
    ----------
    model : object
        A fitted model, or a Pipeline or search around one.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Features as the model takes them. An array is given the names that a model of lifelines
        was fitted to.
    quantiles : array-like of shape (k,) or float, inside (0, 1)
        Levels in any order.

    Returns
    -------
    values : ndarray of shape (n_samples, k)
        Finite, not decreasing in the level.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.adapters import predict_quantiles_of
    >>> class Uniform:
    ...     def predict_quantiles(self, X, quantiles):
    ...         return np.outer(X[:, 0], quantiles)
    >>> predict_quantiles_of(Uniform(), np.array([[1.0], [2.0]]), [0.5, 0.9])
    array([[0.5, 0.9],
           [1. , 1.8]])
    """
    return _quantiles_and_reach(model, X, check_levels(quantiles, name="quantiles"))[0]


def adapted_curve(
    model: Any, X: Any, taus: ArrayLike, *, lower: float | None = None
) -> tuple[QuantileCurve, Floats | None]:
    """Predict distributions with a fitted model of any kind, with their identified levels."""
    levels = check_quantiles(taus, name="taus")
    values, reach = _quantiles_and_reach(model, X, levels, with_reach=True)
    return _curve_of(values, levels, lower), reach


def predicted_curve(
    model: Any, X: Any, taus: ArrayLike, *, lower: float | None = None
) -> QuantileCurve:
    """Predict distributions with a fitted model of any kind, see `predict_quantiles_of`."""
    return adapted_curve(model, X, taus, lower=lower)[0]


def survival_of(model: Any, X: Any, times: ArrayLike) -> Floats:
    """Survival probabilities that a fitted model of any kind predicts, P(T > t).

    Parameters
    ----------
    model : object
        A fitted model, or a Pipeline or search around one.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Features as the model takes them.
    times : array-like of shape (n_times,)
        Increasing times, common to all rows.

    Returns
    -------
    survival : ndarray of shape (n_samples, n_times), in [0, 1]
        Past the last time of a model that knows its curves at some times only, its mean hazard up
        to there continues.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.adapters import survival_of
    >>> class Uniform:
    ...     def predict_quantiles(self, X, quantiles):
    ...         return np.outer(X[:, 0], quantiles)
    >>> survival_of(Uniform(), np.array([[1.0], [2.0]]), [0.5])
    array([[0.5 ],
           [0.75]])
    """
    at = read_numbers(times, name="times")
    final, features = final_model(model, X)
    if not _has_quantiles(final):
        return _reader_of(final).survival(features, at)
    if hasattr(final, "predict_curve"):
        return np.asarray(final.predict_curve(features).survival(at))
    function = getattr(final, "predict_survival_function", None)
    if function is not None and accepts(function, "return_array"):
        return np.asarray(function(features, at, return_array=True))
    return _own_curve(final, features).survival(at)


def restricted_mean_of(model: Any, X: Any, horizon: float) -> Floats:
    """Predict the mean time up to a horizon, E[min(T, h)], with a fitted model of any kind.

    Unlike the median it is known where less than half of the individuals have their event during
    the follow-up: it is the value to rank individuals by.
    """
    end = check_number("horizon", horizon)
    final, features = final_model(model, X)
    if not _has_quantiles(final):
        return _reader_of(final).restricted_mean(features, end)
    if hasattr(final, "predict_curve"):
        return np.asarray(final.predict_curve(features).restricted_mean(end))
    return _own_curve(final, features).restricted_mean(end)


def refitted(model: Any, X: Any, target: Target) -> Any:
    """Fit a new model with the settings of a fitted one of another library to other rows."""
    return _reader_of(model).refitted(X, target)


def survival_curves_of(model: Any, X: Any) -> tuple[Floats, Floats]:
    """Predict survival curves with a model of another library, at its own times.

    Smooth curves of lifelines, which are known at any time, are evaluated on a grid.
    """
    final, features = final_model(model, X)
    reader = _reader_of(final)
    times, survival = reader.table(reader.read_rows(features))
    return np.asarray(times, dtype=np.float64), np.asarray(survival, dtype=np.float64)


def follow_up_end(model: Any) -> float | None:
    """Last time that a fitted model of any kind was fitted to, or None where it does not say."""
    final, _ = final_model(model, None)
    known = getattr(final, "follow_up_", None)
    if known is not None:
        return float(known[-1])
    if _has_quantiles(final):
        return None
    found = _find_reader(final)
    return None if found is None else found.end


def _quantiles_and_reach(
    model: Any, X: Any, levels: Floats, *, with_reach: bool = False
) -> tuple[Floats, Floats | None]:
    """Predict quantiles with any model, and its highest identified level where it has one."""
    final, features = final_model(model, X)
    if not _has_quantiles(final):
        return _reader_of(final).quantiles(features, levels)
    reach: Floats | None = None
    if with_reach and hasattr(final, "_quantiles_with_reach"):
        # An estimator of this library predicts the curves once for both.
        distinct, place = np.unique(levels, return_inverse=True)
        values, reach = final._quantiles_with_reach(features, distinct)
        return _checked(final, values, distinct)[:, place], reach
    values = _predicted_quantiles(final, features, levels)
    if with_reach and hasattr(final, "identified_level"):
        reach = np.asarray(final.identified_level(features), dtype=np.float64)
    return values, reach


def _predicted_quantiles(model: Any, X: Any, levels: Floats) -> Floats:
    """Predict quantiles with a model that has them, extrapolated beyond its identified level."""
    # Some models take increasing levels only.
    distinct, place = np.unique(levels, return_inverse=True)
    options = {"beyond": "extrapolate"} if accepts(model.predict_quantiles, "beyond") else {}
    values = np.asarray(model.predict_quantiles(X, distinct, **options), dtype=np.float64)
    return _checked(model, values, distinct)[:, place]


def _checked(model: Any, values: Floats, distinct: Floats) -> Floats:
    """Return predicted quantiles in order along each row; refuse what are no quantiles."""
    if values.ndim != 2 or values.shape[1] != distinct.size or not np.isfinite(values).all():
        given = f"shape {values.shape}"
        if values.ndim == 2 and values.shape[1] == distinct.size:
            rows = int((~np.isfinite(values)).any(axis=1).sum())
            given = f"NaN or infinity in {rows} of {len(values)} rows"
        raise ValueError(
            f"predict_quantiles of {type(model).__name__} must return finite times, one column "
            f"for each of {distinct.size} levels, got {given}."
        )
    return sorted_rows(values)


def _own_curve(model: Any, X: Any) -> QuantileCurve:
    """Build the curve of a model that predicts quantiles, on its own grid of levels."""
    levels = np.asarray(getattr(model, "quantiles_", DEFAULT_QUANTILES), dtype=np.float64)
    return _curve_of(_predicted_quantiles(model, X, levels), levels, None)


def _curve_of(values: Floats, levels: Floats, lower: float | None) -> QuantileCurve:
    """Build a curve through quantiles, from 0 on unless one is negative or a start is given."""
    if lower is None:
        lower = 0.0 if (values >= 0).all() else -np.inf
    return QuantileCurve.from_predictions(values, levels, lower)


def _has_quantiles(model: Any) -> bool:
    """Whether a model predicts quantiles itself."""
    return callable(getattr(model, "predict_quantiles", None))


def _find_reader(model: Any) -> Reader | None:
    """Find the reader that recognises a model, if any does."""
    return next((reader(model) for reader in _READERS if reader.recognises(model)), None)


def _reader_of(model: Any) -> Reader:
    """Find the reader that recognises a model, or raise what a model needs."""
    found = _find_reader(model)
    if found is None:
        raise TypeError(
            "model must have the method predict_quantiles or be a fitted model of scikit-survival, "
            "lifelines, pycox or hazardous that predicts survival curves, "
            f"got {type(model).__name__}."
        )
    return found
