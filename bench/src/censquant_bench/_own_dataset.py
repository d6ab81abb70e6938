"""A user's own data as a set of the benchmark."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import unmasked
from censquant._validation import check_number
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Surv, read_target
from censquant_bench._datasets import NINE_LEVELS, TEST_SHARE, BenchmarkDataset, divided
from censquant_bench._own_name import check_own_name
from censquant_bench._registry import DATASETS
from censquant_bench._train_test import TrainTestData


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
