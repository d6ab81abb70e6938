"""A user's own data as a set of the benchmark."""

from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._validation import check_number
from censquant.benchmark._datasets import DATASETS, NINE, TEST_SHARE, BenchmarkDataset, divided
from censquant.benchmark._problem import Problem
from censquant.quantiles import check_quantiles
from censquant.survival import Surv, read_target


def own_dataset(
    name: str,
    X: Any,
    y: Any,
    *,
    taus: ArrayLike = NINE,
    groups: ArrayLike | None = None,
    test_share: float = TEST_SHARE,
) -> BenchmarkDataset:
    """Return a user's own data as a set of the benchmark.

    Rows are divided anew under every seed. Estimators of this package run with their own defaults,
    which scale features and times; nothing else is done to the data.

    Parameters
    ----------
    name : str
        What tables call it.
    X : array-like or DataFrame of shape (n, n_features)
        Features as numbers.
    y : structured array, (time, event) tuple, DataFrame or dict
        Times and whether the event was seen.
    taus : array-like of levels in (0, 1)
        Levels that methods are asked for.
    groups : array-like of shape (n,), optional
        Rows with equal labels belong together (visits of a patient, cycles of an engine): they are
        then never divided, since they would give the answer away.
    test_share : float in (0, 1), default 0.2
        Share of rows, or of groups, that methods are judged by.

    Returns
    -------
    dataset : BenchmarkDataset

    Examples
    --------
    >>> from censquant.benchmark import own_dataset
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2(as_frame=False)
    >>> own_dataset("my study", X, y).problem(seed=0).X.shape
    (548, 8)
    """
    _check_own_name(name)
    check_number("test_share", test_share, minimum=0.0, below=1.0, exclude_minimum=True)
    features = _own_features(X)
    target = read_target(y, n_samples=len(features))
    rows = Surv.from_arrays(event=target.event, time=target.time)
    labels = None if groups is None else np.asarray(groups)
    if labels is not None and labels.shape != (len(features),):
        raise ValueError(
            f"groups must have one label a row ({len(features)}), got shape {labels.shape}."
        )
    if labels is not None and len(np.unique(labels)) < 2:
        raise ValueError("groups must hold at least two labels, got one: nothing can be divided.")
    kinds = ("random",) if labels is None else ("grouped",)

    def draw(seed: int, split: str, n_train: int | None) -> Problem:
        train, test = divided(len(features), seed, labels, test_share)
        return Problem(features[train], rows[train], features[test], rows[test])

    levels = tuple(check_quantiles(taus).tolist())
    parts = (features, rows, labels, levels, test_share)
    return BenchmarkDataset(
        name, name, "own", levels, draw, splits=kinds, fingerprint=joblib.hash(parts)
    )


def _check_own_name(name: str) -> None:
    taken = {word.lower() for one in DATASETS.values() for word in (one.name, one.title)}
    if name.lower() in taken:
        raise ValueError(
            f"name must not be that of a set of the benchmark, got {name!r}; choose another."
        )


def _own_features(X: Any) -> NDArray[np.float64]:
    kinds = getattr(X, "dtypes", None)
    if kinds is not None and np.ndim(kinds) == 1:
        words = [str(column) for column, kind in kinds.items() if kind.kind not in "biuf"]
        if words:
            raise ValueError(
                f"X must hold numbers, but these columns do not: {', '.join(words)}; encode them, "
                "for instance by pandas.get_dummies."
            )
    features = np.asarray(X, dtype=np.float64)
    if features.ndim < 2:
        raise ValueError(f"X must have one row an individual, got shape {features.shape}.")
    return features
