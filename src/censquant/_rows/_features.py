"""Features as a user passes them: frames, arrays, sparse matrices; refused by the column's name."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted as refuse_unfitted
from sklearn.utils.validation import validate_data

from censquant._frames import is_frame, is_polars
from censquant._warn import warn_user
from censquant.exceptions import ConstantFeatureWarning, LeakageWarning

_SHOWN = 5
# A value further outside the range of the fit than the range is wide has no neighbour there.
_FAR = 1.0
_ROWS_SIDE_BY_SIDE = 64
_BLOCK_ROWS = 65_536


def check_is_fitted(estimator: Any, attribute: str | None = None) -> None:
    """Raise scikit-learn's error unless an estimator has an attribute, or any of a fit.

    scikit-learn's own function asks for all tags of the estimator first, which takes as long as
    the prediction of a row.
    """
    own = getattr(estimator, "__sklearn_is_fitted__", None)
    if attribute is not None:
        is_fitted = hasattr(estimator, attribute)
    elif own is not None:
        is_fitted = own()
    else:
        is_fitted = any(name[-1:] == "_" and name[:2] != "__" for name in vars(estimator))
    if not is_fitted:
        refuse_unfitted(estimator, attribute)


def check_features(
    estimator: Any, X: Any, *, reset: bool, dtype: Any = np.float64, allow_nd: bool = False
) -> Any:
    """Return ``X`` as a finite array of numbers, or a sparse matrix of rows.

    What cannot be used is refused with the name of its column. The columns of a frame are found by
    their names.
    """
    if not reset and is_plain_table(estimator, X) and X.dtype in np.atleast_1d(dtype):
        _refuse_non_finite(X, feature_names(estimator))
        return X
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        X = np.asarray(X, dtype=object)  # numbers beside text stay numbers
    _refuse_masked(X)
    if not reset:
        X = columns_of_fit(estimator, X)
    _refuse_text(X)
    features = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=dtype,
        order="C",
        accept_sparse="csr",
        allow_nd=allow_nd,
        ensure_all_finite=False,
        ensure_min_samples=2 if reset else 1,
    )
    _refuse_non_finite(features, feature_names(estimator))
    return features


def is_plain_table(estimator: Any, X: Any) -> bool:
    """Whether ``X`` is an array of numbers that needs no check but that they are finite."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.kind in "biuf"
        and X.flags.c_contiguous
        and len(X) > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def refuse_swapped(X: Any, y: Any) -> None:
    """Raise if the target stands in the place of the features and the features in its place."""
    shape = getattr(y, "shape", ())
    if len(shape) != 2 or not _looks_like_target(X) or _looks_like_target(y):
        return
    raise ValueError(
        "fit takes the features X first and the target y second, got times as X and a table of "
        f"shape {tuple(shape)} as y: swap the two arguments."
    )


def _looks_like_target(given: Any) -> bool:
    """Whether an argument is one of times, or of times and events, and no table of features."""
    if isinstance(given, tuple):
        return len(given) == 2 and all(len(getattr(part, "shape", ())) == 1 for part in given)
    if isinstance(given, Mapping) or is_frame(given):
        return {"event"} < set(given) <= {"event", "time", "duration"}
    return len(getattr(given, "shape", ())) == 1


def columns_of_fit(estimator: Any, X: Any, *, may_lack: bool = False) -> Any:
    """Return a frame in the columns of the fit, found by name; others that it has are left out.

    Anything else, and all that was fitted without names, is returned unchanged, and so is a frame
    without some of the columns if it ``may_lack`` them: the estimator says what it needs.
    """
    known = getattr(estimator, "feature_names_in_", None)
    if known is None or not is_frame(X):
        return X
    names, given = known.tolist(), list(X.columns)
    if given == names or not any(isinstance(name, str) for name in given):
        return X
    missing = [name for name in names if name not in set(given)]
    if missing and may_lack:
        return X
    if missing:
        others = [str(name) for name in given if name not in set(names)]
        near = close_name(missing[0], others)
        hint = f" (is it {near!r}?)" if near is not None else ""
        raise ValueError(
            f"X must have the columns of the fit, got no column {listed(missing)}{hint}."
        )
    if doubled := [name for name in names if given.count(name) > 1]:
        raise ValueError(
            f"X must have each column of the fit once, got {listed(doubled)} more than once."
        )
    return X.select(names) if is_polars(X) else X[names]


def close_name(name: str, names: Sequence[str]) -> str | None:
    """Return the name that is most like another, without regard to case; None if none is."""
    lower = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), list(lower), n=1)
    return lower[near[0]] if near else None


def refuse_other_shapes(features: Any, shape: tuple[int, ...]) -> None:
    """Raise if rows, such as images, have another shape than those of the fit."""
    if features.shape[1:] != shape:
        raise ValueError(f"X must have rows of shape {shape} as in fit, got {features.shape[1:]}.")


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the features, ``x0``, ``x1``, ... where they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    return [f"x{column}" for column in range(getattr(estimator, "n_features_in_", 0))]


def dense(features: Any) -> NDArray[Any]:
    """Return rows as a plain array, however they are stored."""
    array: NDArray[Any] = features.toarray() if hasattr(features, "toarray") else features
    return array


def listed(names: Sequence[Any]) -> str:
    """Return the first of some column names, for a message."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return f"{shown}, ..." if len(names) > _SHOWN else shown


def _refuse_text(X: Any) -> None:
    """Raise if a column of a data frame or of an array holds anything but numbers."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        wrong = text_columns(X)
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        wrong = [
            f"x{place}"
            for place, column in enumerate(X.T)
            if any(isinstance(value, str | bytes) for value in column)
        ]
    else:
        return
    if wrong:
        raise ValueError(
            f"X must hold numbers, got other values in the columns {listed(wrong)}: encode them, "
            "for example by make_quantile_pipeline with scikit-learn's OneHotEncoder."
        )


def text_columns(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame that hold anything but numbers."""
    # Objects may be numbers all the same: those are left to the conversion.
    kinds = zip(X.columns, X.dtypes, strict=True)
    return [name for name, kind in kinds if _is_text(kind) or _holds_text(X, name, kind)]


def _refuse_masked(X: Any) -> None:
    """Raise if a mask hides values, which would come to light in a plain array."""
    if not isinstance(X, np.ma.MaskedArray) or not np.ma.is_masked(X):
        return
    hidden = np.ma.getmaskarray(X)
    where = f"{int(hidden.sum())} values"
    if X.ndim == 2:
        where += f" in the columns {listed([f'x{k}' for k in np.flatnonzero(hidden.any(axis=0))])}"
    raise ValueError(
        f"X must be without missing values, got a masked array that hides {where}: impute them or "
        "drop the rows."
    )


def _is_text(kind: Any) -> bool:
    """Whether a column type of pandas or polars is that of text, categories or dates."""
    return str(kind).lower().startswith(("str", "cat", "enum", "utf8", "date", "duration", "time"))


def _holds_text(X: Any, name: Any, kind: Any) -> bool:
    """Whether a column of Python objects has a string in it."""
    return str(kind) == "object" and any(isinstance(value, str) for value in X[name])


def _refuse_non_finite(features: Any, names: Sequence[str]) -> None:
    values = features.data if hasattr(features, "toarray") else features
    # One sum looks at everything; overflow of finite numbers is sorted out below.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    word = "NaN" if np.isnan(values).any() else "infinity"
    where = f"{int(bad.sum())} values"
    if getattr(features, "ndim", 2) == 2 and names:
        if hasattr(features, "toarray"):
            columns = np.unique(features.indices[bad])
        else:
            columns = np.flatnonzero(bad.any(axis=0))
        where = f"the columns {listed([names[column] for column in columns])}"
    raise non_finite(word, where)


def non_finite(word: str, where: str) -> ValueError:
    """Return the error for NaN or infinity in some place."""
    remedy = "impute or drop the rows" if word == "NaN" else "replace them"
    return ValueError(
        f"Input X contains {word}: X must be finite, got {word} in {where}; {remedy}."
    )


def refuse_overflow(
    predicted: NDArray[np.float64], features: NDArray[Any], names: Sequence[str]
) -> None:
    """Raise if features are so large that their predictions are no numbers, by name."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(predicted.sum()) or np.isfinite(predicted).all():
            return
    sizes = np.abs(features).reshape(len(features), -1).max(axis=0)
    largest = int(np.argmax(sizes))
    where = f" in column {names[largest]!r}" if len(names) == len(sizes) else ""
    raise ValueError(
        "X must not hold values so large that predictions overflow, got a value of size "
        f"{sizes[largest]:.3g}{where}: check its unit."
    )


def feature_range(
    features: NDArray[Any], order: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Return smallest and largest value of every feature, shape (2, n_features).

    With ``order``, of the rows in it.
    """
    if order is None:
        return np.stack((features.min(axis=0), features.max(axis=0))).astype(np.float64)
    ends = [
        feature_range(features[order[start : start + _BLOCK_ROWS]])
        for start in range(0, len(order), _BLOCK_ROWS)
    ]
    return np.stack((np.min(ends, axis=0)[0], np.max(ends, axis=0)[1]))


def _extremes(features: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the smallest and the largest value of each column."""
    if hasattr(features, "toarray"):
        return dense(features.min(axis=0)).ravel(), dense(features.max(axis=0)).ravel()
    # Long rows are compared many values at a time: side by side, short ones are ten times faster.
    n, p = features.shape
    n_whole = n - n % _ROWS_SIDE_BY_SIDE
    if n_whole:
        wide = features[:n_whole].reshape(-1, _ROWS_SIDE_BY_SIDE * p)
        ends = np.stack((wide.min(axis=0), wide.max(axis=0))).reshape(-1, p)
        features = np.concatenate((ends, features[n_whole:]))
    return features.min(axis=0), features.max(axis=0)


def note_of_far_features(
    features: Any, known: NDArray[np.float64], names: Sequence[str]
) -> list[str]:
    """Name the features with values far outside the range of the fit."""
    low, high = known
    smallest, largest = _extremes(features)
    with np.errstate(over="ignore"):
        margin = _FAR * (high - low)
        far = np.flatnonzero((smallest < low - margin) | (largest > high + margin))
    if not far.size:
        return []
    return [
        "X has values far outside the range of the fit in the columns "
        f"{listed([names[int(column)] for column in far])}: predictions there are extrapolations."
    ]


def warn_of_leaks(leaks: dict[str, list[str]]) -> None:
    """Warn of columns that give the outcome away."""
    if leaks:
        found = "; ".join(f"{listed(names)} ({reason})" for reason, names in leaks.items())
        warn_user(
            f"X has columns that give the outcome away: {found}. Leave out what is known only "
            "afterwards, such as X.drop(columns=["
            f"{listed([name for names in leaks.values() for name in names])}]): a model that uses "
            "it scores too well and cannot predict.",
            LeakageWarning,
        )


def warn_of_constant_features(ends: NDArray[np.float64], names: Sequence[str]) -> None:
    """Warn of columns whose range is one value."""
    constant = np.flatnonzero(ends[0] == ends[1])
    if len(constant):
        same = listed([names[int(column)] for column in constant])
        warn_user(
            f"X has {len(constant)} of {ends.shape[1]} features that are the same in all rows "
            f"({same}): nothing can be learned from them.",
            ConstantFeatureWarning,
        )
