"""Arguments of the metrics, read and checked in one place, and the curve of the censoring time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._warn import warn_user
from censquant.exceptions import TruncationWarning
from censquant.quantiles._grid import check_quantiles, sorted_rows
from censquant.survival import KaplanMeier, Target, censoring_kaplan_meier, read_target
from censquant.survival._columns import as_array, read_numbers, read_weights, refuse_nan

# Probabilities that a float32 model rounds may miss their range and their order by this much.
_ROUNDING = 1e-6

_MOST_LEVELS = 20  # of a column that scores are told apart by

PRODUCT_ROUNDING = 1e-12
"""Products of shares may miss the exact one by this much."""


def read_quantile_rows(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    raw: bool = False,
    at_least: int = 1,
    accepts: Sequence[str] = ("right",),
) -> tuple[Target, Floats, Floats, Floats]:
    """Read target, quantiles ``(n, k)`` sorted by row unless ``raw``, levels and weights.

    Metrics that interpolate the level of a time between quantiles need ``at_least=2`` levels.
    """
    target = read_target(y, accepts=accepts)
    levels = check_quantiles(taus, name="taus")
    if levels.size < at_least:
        raise ValueError(
            "taus must hold two levels or more, since the level of a time is read between "
            f"quantiles, got {levels.size}."
        )
    values = read_matrix(predicted, (len(target), levels.size), "predicted", "taus")
    rows = values if raw else sorted_rows(values)
    return target, rows, levels, read_weights(sample_weight, len(target))


def read_times(
    y: object,
    predicted: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    name: str = "predicted",
    infinite: bool = False,
    accepts: Sequence[str] = ("right",),
) -> tuple[Target, Floats, Floats]:
    """Read target, one predicted time per row, and weights; infinite times only if allowed."""
    target = read_target(y, accepts=accepts)
    times = read_numbers(predicted, name=name)
    if times.size != len(target):
        raise ValueError(
            f"{name} must have one time for each row of y, "
            f"got {times.size} times for {len(target)} rows."
        )
    refuse_nan(times, name=name, noun="times")
    unbounded = np.flatnonzero(np.isinf(times))
    if unbounded.size and not infinite:
        raise ValueError(
            f"{name} must be finite, got infinity in {unbounded.size} of {times.size} rows, "
            f"the first in row {unbounded[0]}."
        )
    return target, times, read_weights(sample_weight, len(target))


def read_survival(
    y: object,
    survival: ArrayLike,
    times: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> tuple[Target, Floats, Floats, Floats]:
    """Read target, survival probabilities ``(n, n_times)`` clipped to [0, 1], times and weights."""
    target = read_target(y)
    grid = read_numbers(times, name="times")
    # Written so that a NaN is wrong.
    if grid.size == 0 or not (np.isfinite(grid).all() and (np.diff(grid) > 0).all()):
        raise ValueError(
            "times must be one or more finite numbers in strictly increasing order, "
            f"got {_shown(grid)}."
        )
    values = read_matrix(survival, (len(target), grid.size), "survival", "times")
    low, high = values.min(), values.max()
    if low < -_ROUNDING or high > 1 + _ROUNDING:
        raise ValueError(
            "survival must hold probabilities in [0, 1], got values from "
            f"{low:g} to {high:g}: pass P(T > t), not a time or a risk."
        )
    rising = np.flatnonzero((np.diff(values, axis=1) > _ROUNDING).any(axis=1))
    if rising.size:
        raise ValueError(
            f"survival must not rise along a row, but {rising.size} of {len(target)} rows do, "
            f"the first of them row {rising[0]}: pass P(T > t), not P(T <= t)."
        )
    return target, np.clip(values, 0.0, 1.0), grid, read_weights(sample_weight, len(target))


def read_train(y_train: object, target: Target) -> Target:
    """Return the training rows, or the rows to score where none are given."""
    return target if y_train is None else read_training(y_train)


def read_training(y_train: object, accepts: Sequence[str] = ("right",)) -> Target:
    """Read the training rows; error messages call them ``y_train``."""
    try:
        return read_target(y_train, accepts=accepts)
    except (TypeError, ValueError) as error:
        message = re.sub(r"^y\b", "y_train", str(error))
        raise type(error)(message) from None


def censoring_curve(y_train: object, target: Target, weight: Floats) -> KaplanMeier:
    """Return the Kaplan-Meier curve of the censoring time, of training rows or of those scored.

    Only the rows to score have weights, so that a weight of k counts as k equal rows there too.
    """
    train = read_train(y_train, target)
    return censoring_kaplan_meier(train.time, train.event, weight if y_train is None else None)


def followed_until(curve: KaplanMeier, share: float) -> float:
    """Return the last time until which at least a share of the rows escape censoring.

    A share that is met exactly counts, whichever way its products were rounded.
    """
    reached = curve(curve.time, side="left") >= share - PRODUCT_ROUNDING
    return float(curve.time[reached][-1])


def read_rows(name: str, values: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Return an array with one row for each row of y."""
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != n_rows:
        given = "a single value" if array.ndim == 0 else f"{len(array)} rows"
        raise ValueError(f"{name} must have one row for each of the {n_rows} of y, got {given}.")
    return array


def read_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[np.intp] | None:
    """Return the number of each row's group, counted from 0; None where there are none."""
    if groups is None:
        return None
    labels = read_rows("groups", groups, n_rows)
    if labels.ndim != 1:
        raise ValueError(f"groups must have one label for each row of y, got shape {labels.shape}.")
    items = labels.tolist()
    refuse_missing(items)
    places: dict[Any, int] = {}
    codes = [places.setdefault(label, len(places)) for label in items]
    if len(places) < 2:
        raise ValueError(
            "groups must hold two groups or more, since what differs between groups is what an "
            "interval is made of, got 1."
        )
    return np.array(codes, dtype=np.intp)


def read_levels(by: Any, X: Any, n_rows: int) -> list[Any]:
    """Return the level of each row: of a column, of what a function returns, or as given."""
    if isinstance(by, str | int) or callable(by):
        from censquant._calibration._groups import read_labels

        if X is None:
            raise ValueError(
                f"X_test must be given where by names a column, got None and by={by!r}: pass one "
                "label for each row."
            )
        by = read_labels(by, X)
    labels = read_rows("by", as_array(by, "by"), n_rows)
    if labels.ndim != 1:
        raise ValueError(f"by must give one label for each row, got shape {labels.shape}.")
    items = ["missing" if _is_missing(label) else label for label in labels.tolist()]
    if len(set(items)) > _MOST_LEVELS:
        raise ValueError(
            f"by must have at most {_MOST_LEVELS} levels, got {len(set(items))}: put numbers into "
            "a few classes first, as pandas.cut does."
        )
    return items


def column_name(by: Any) -> str:
    """Return the name of a column of levels."""
    return str((by if isinstance(by, str) else getattr(by, "name", None)) or "level")


def levels_of(labels: list[Any]) -> list[tuple[Any, NDArray[np.intp]]]:
    """Return distinct labels in order, with their rows."""
    # By type first, since a number and a word have no order.
    distinct = sorted(set(labels), key=lambda label: (type(label).__name__, label))
    place = {label: code for code, label in enumerate(distinct)}
    codes = np.array([place[label] for label in labels])
    return [(label, np.flatnonzero(codes == code)) for label, code in place.items()]


def refuse_missing(labels: list[Any]) -> None:
    """Raise if some of the labels of groups are missing."""
    missing = [row for row, label in enumerate(labels) if _is_missing(label)]
    if missing:
        raise ValueError(
            f"groups must not contain missing labels, got {len(missing)} of {len(labels)}, "
            f"the first in row {missing[0]}."
        )


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or one of pandas' missing values."""
    # By name, since pandas need not be installed.
    return type(label).__name__ in {"NoneType", "NAType", "NaTType"} or bool(label != label)


def read_matrix(values: ArrayLike, shape: tuple[int, int], name: str, columns: str) -> Floats:
    """Read finite numbers of the expected shape."""
    array = as_array(values, name)
    if array.dtype.kind not in "iufO":
        raise TypeError(f"{name} must hold numbers, got dtype {array.dtype}.")
    if array.shape != shape:
        raise ValueError(
            f"{name} must have one row for each row of y and one column for each of {columns}, "
            f"shape {shape}, got shape {array.shape}."
        )
    try:
        matrix = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers, got dtype object with other things.") from None
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise ValueError(
            f"{name} must be finite, got NaN or infinity in {bad.size} of {shape[0]} rows, "
            f"the first in row {bad[0]}."
        )
    return matrix


def _shown(numbers: Floats) -> str:
    """Format the first numbers of a vector, for an error message."""
    if numbers.size == 0:
        return "none"
    return ", ".join([f"{n:g}" for n in numbers[:5]] + ["..."] * (numbers.size > 5))


@dataclass(frozen=True, eq=False)
class KnownCensoring:
    """Probability of not being censored by each time; 0 where the training rows cannot tell it.

    The curve is read at a time and not just before it, and events leave before the censorings
    of the same time: both as in scikit-survival.
    """

    curve: KaplanMeier
    last: float

    def __call__(self, times: Floats) -> Floats:
        return np.where(times <= self.last, self.curve(times), 0.0)


def known_censoring(y_train: object, target: Target, weight: Floats) -> KnownCensoring:
    """Return `censoring_curve` with the last time up to which it is known."""
    curve = censoring_curve(y_train, target, weight)
    # Without censored rows the probability is 1 everywhere.
    last = curve.time[-1] if curve.n_events.any() else np.inf
    return KnownCensoring(curve, float(last))


def censored_at(target: Target, end: float) -> Target:
    """Censor the rows at the end of follow-up; return the target itself if none is later."""
    later = target.time > end
    if not later.any():
        return target
    return Target(np.where(later, end, target.time), target.event & ~later)


def warn_truncated(message: str) -> None:
    """Warn that times were left out, at the user's line."""
    warn_user(message, TruncationWarning)


@dataclass(frozen=True)
class Mirror:
    """Times counted backwards from an origin, which turns left censoring into right censoring."""

    origin: float

    def target(self, target: Target) -> Target:
        """Return the target in mirrored times."""
        return Target(self.origin - target.time, target.event)

    def quantiles(self, values: Floats, taus: Floats) -> tuple[Floats, Floats]:
        """Return the quantiles of the mirrored times, and their levels."""
        return self.origin - values[:, ::-1], 1.0 - taus[::-1]
