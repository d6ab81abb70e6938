"""A user's own estimator as a method of the benchmark."""

import inspect
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from censquant._frames import unmasked
from censquant._validation import check_number
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Surv, read_target
from censquant_bench._datasets import (
    NINE_LEVELS,
    TEST_SHARE,
    BenchmarkDataset,
    TrainTestData,
    divided,
)
from censquant_bench._methods import BenchmarkMethod
from censquant_bench._registry import DATASETS, METHODS


def check_own_name(name: Any, what: str, known: Iterable[Any]) -> None:
    """Refuse a name that is empty, or that something of the benchmark has already.

    Parameters
    ----------
    name : str
        What the user calls it.
    what : str
        What is named, with its article.
    known : iterable of objects with name and title
        What the benchmark has of the kind.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be text, got {type(name).__name__}.")
    if not name.strip():
        raise ValueError("name must not be empty: tables show it.")
    if name.lower() in {word.lower() for one in known for word in (one.name, one.title)}:
        raise ValueError(
            f"name must not be that of {what} of the benchmark, got {name!r}; choose another."
        )


def own_dataset(
    name: str,
    X: Any,
    y: Any,
    *,
    taus: ArrayLike = NINE_LEVELS,
    groups: ArrayLike | None = None,
    test_share: float = TEST_SHARE,
) -> BenchmarkDataset:
    """Return a user's own data as a set of the benchmark.

    Each seed divides the rows differently. Estimators of this package run with their own defaults,
    which scale features and times; nothing else is done to the data.

    Parameters
    ----------
    name : str
        What tables call it.
    X : array-like or DataFrame of shape (n, n_features)
        Features as numbers. Estimators of one's own get a data frame where this is one.
    y : structured array, (time, event) tuple, DataFrame or dict
        Times and whether the event was observed.
    taus : array-like of levels in (0, 1)
        Levels that methods are asked for.
    groups : array-like of shape (n,), optional
        Rows with equal labels belong together (visits of a patient, cycles of an engine): they are
        then never divided, since they would give the answer away.
    test_share : float in (0, 1), default 0.2
        Share of rows, or of groups, that methods are scored on.

    Returns
    -------
    dataset : BenchmarkDataset

    Examples
    --------
    >>> from censquant_bench import own_dataset
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2(as_frame=False)
    >>> own_dataset("my study", X, y).train_test(seed=0).X.shape
    (548, 8)
    """
    check_own_name(name, "a set", DATASETS.values())
    features = _own_features(X)
    target = read_target(y, n_samples=len(features))
    rows = Surv.from_arrays(event=target.event, time=target.time)
    labels = _own_labels(groups, len(features))
    if labels is None:
        _check_share(test_share, len(features), "rows")
    else:
        _check_share(test_share, len(np.unique(labels)), "groups")
    early = int((target.time <= 0).sum())
    if early:
        warnings.warn(
            f"{early} of {len(rows)} times are zero or less: methods that take logarithms are "
            "fitted without those rows.",
            stacklevel=2,
        )
    names = tuple(str(one) for one in X.columns) if hasattr(X, "columns") else None
    kinds = ("random",) if labels is None else ("grouped",)

    levels = tuple(check_quantiles(taus).tolist())
    parts = (features, names, rows, labels, levels, test_share)
    draw = _OwnDraw(features, rows, labels, test_share, names)
    return BenchmarkDataset(
        name, name, "own", levels, draw, splits=kinds, fingerprint=joblib.hash(parts)
    )


@dataclass(frozen=True, eq=False)
class _OwnDraw:
    features: NDArray[np.float64]
    rows: NDArray[np.void]
    labels: NDArray[Any] | None
    test_share: float
    names: tuple[str, ...] | None

    def __call__(self, seed: int, split: str, n_train: int | None) -> TrainTestData:
        train, test = divided(len(self.features), seed, self.labels, self.test_share)
        return TrainTestData(
            self.features[train],
            self.rows[train],
            self.features[test],
            self.rows[test],
            feature_names=self.names,
        )


def _own_labels(groups: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups must have one label per row ({n_rows}), got shape {labels.shape}."
        )
    missing = sum(_is_missing(one) for one in labels)
    if missing:
        raise ValueError(
            f"groups must have a label for every row, but {missing} of {n_rows} are missing."
        )
    if len(np.unique(labels)) < 2:
        raise ValueError("groups must hold at least two labels, got one: nothing can be divided.")
    return labels


def _is_missing(label: Any) -> bool:
    """Whether it is None, not a number, or what pandas has in their place: not equal to itself."""
    same = label == label
    return label is None or not isinstance(same, bool | np.bool_) or not same


def _check_share(test_share: float, n_units: int, unit: str) -> None:
    check_number("test_share", test_share, minimum=0.0, below=1.0, exclude_minimum=True)
    n_test = math.ceil(test_share * n_units)
    if n_units - n_test < 1:
        raise ValueError(
            f"test_share={test_share:g} of {n_units} {unit} leaves none to fit; give more rows or "
            "a smaller share."
        )


def _own_features(X: Any) -> NDArray[np.float64]:
    if hasattr(X, "toarray"):
        raise TypeError("X must be dense, got a sparse matrix; pass X.toarray().")
    kinds = getattr(X, "dtypes", None)
    if kinds is not None and np.ndim(kinds) == 1:
        words = [str(column) for column, kind in kinds.items() if kind.kind not in "biuf"]
        if words:
            raise ValueError(
                f"X must hold numbers, but these columns do not: {', '.join(words)}; encode them, "
                "for instance by pandas.get_dummies."
            )
        X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    features = np.asarray(unmasked(X), dtype=np.float64)
    if features.ndim < 2:
        raise ValueError(f"X must have one row per individual, got shape {features.shape}.")
    return features


def own_method(name: str, estimator: Any) -> BenchmarkMethod:
    """Return a user's own estimator as a method of the benchmark.

    It is cloned for every run, and gets the run's levels and seed if it has the parameters
    ``quantiles`` and ``random_state``.

    Parameters
    ----------
    name : str
        What tables call it.
    estimator : estimator with fit(X, y) and predict_quantiles(X, quantiles)
        ``y`` is a structured array with ``event`` and ``time``.

    Returns
    -------
    method : BenchmarkMethod

    Examples
    --------
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant_bench import get_dataset, own_method
    >>> method = own_method("linear", LinearQuantileRegressor())
    >>> method.build(get_dataset("weibull"), {}, 111).quantiles[:2]
    (0.1, 0.2)
    """
    check_own_name(name, "a method", METHODS.values())
    if inspect.isclass(estimator):
        raise TypeError(
            f"estimator must be an object, got the class {estimator.__name__}: write "
            f"{estimator.__name__}()."
        )
    for needed in ("fit", "predict_quantiles", "get_params", "set_params"):
        if not callable(getattr(estimator, needed, None)):
            raise TypeError(
                "estimator must have the methods fit, predict_quantiles, get_params and set_params "
                f"(derive it from sklearn.base.BaseEstimator), got {type(estimator).__name__} "
                f"without {needed}."
            )
    try:
        clone(estimator)
    except Exception as error:
        raise TypeError(
            "estimator must be one that sklearn.base.clone can copy (its __init__ keeps every "
            f"argument as it is), got {type(estimator).__name__}."
        ) from error
    return BenchmarkMethod(
        name, name, _CloneBuild(estimator), fingerprint=_fingerprint(estimator), own=True
    )


@dataclass(frozen=True, eq=False)
class _CloneBuild:
    estimator: Any

    def __call__(self, dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        copy = clone(self.estimator)
        known = copy.get_params(deep=False)
        wanted = {"quantiles": dataset.taus, "random_state": seed, **options}
        return copy.set_params(**{key: wanted[key] for key in wanted if key in known})


def _fingerprint(estimator: Any) -> str:
    """Return a hash of class and parameters that is the same in another process.

    The source of the class counts, so that it may be edited and tried again; what it calls does
    not.
    """
    parameters = {name: _content(value) for name, value in estimator.get_params().items()}
    try:
        text = inspect.getsource(type(estimator))
    except (OSError, TypeError):  # typed into a shell, or compiled
        text = ""
    return str(joblib.hash((_address(type(estimator)), text, sorted(parameters.items()))))


def _content(value: Any) -> str:
    """Return a hash of a parameter; functions and what cannot be pickled count by their address."""
    if inspect.isroutine(value) or inspect.isclass(value):
        return _address(value)
    try:
        return str(joblib.hash(value))
    except Exception:  # whatever pickling raises
        return _address(type(value))


def _address(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
