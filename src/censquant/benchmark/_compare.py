"""Methods compared on a user's own table by cross-validation, with paired tests."""

import time as clock
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import get_tags

from censquant import metrics
from censquant._frames import unmasked
from censquant._typing import Floats
from censquant._validation import check_integer
from censquant.benchmark._comparison import Comparison, ComparisonRow, ComparisonScore, holm
from censquant.benchmark._datasets import NINE_LEVELS
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Surv, Target, read_target
from censquant.survival._kaplan_meier import default_horizon

_FEWEST_ROWS = 5  # of a category with a column of its own


def compare(
    methods: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    quantiles: ArrayLike = NINE_LEVELS,
    cv: int = 5,
    groups: ArrayLike | None = None,
    n_resamples: int = 200,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare methods on one's own data: each predicts the rows that it was not fitted to.

    All methods see the same folds, and are scored on the same rows. Intervals and p-values rest on
    resampled rows, the same draws for all, so that what is common to two methods cancels in their
    difference. They say how sure a difference is on rows like these; what another training set
    would change is left out.

    Parameters
    ----------
    methods : mapping of str to estimator
        With ``fit(X, y)`` and ``predict_quantiles(X, quantiles)``. The others are compared with the
        first. Estimators that do not take categories get them as zeros and ones, and medians in
        place of missing numbers, learned in each fold.
    X : DataFrame or array-like of shape (n, n_features)
    y : structured array, (time, event) tuple, DataFrame or dict
    quantiles : array-like of levels in (0, 1), default 0.1, 0.2, ..., 0.9
    cv : int, default 5
        Number of folds, stratified by event.
    groups : array-like of shape (n,), optional
        Rows of one group are held out together.
    n_resamples : int, default 200
    random_state : int, default 0
    progress : callable, optional
        Called with the name of a method after each of its fits.

    Returns
    -------
    comparison : Comparison
        A method that fails is listed with the reason, and holds back no other.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor, LinearQuantileRegressor
    >>> from censquant.benchmark import compare
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2(as_frame=False)
    >>> methods = {"cox": CoxQuantileRegressor(), "linear": LinearQuantileRegressor([0.25, 0.5])}
    >>> found = compare(methods, X[:200], y[:200], cv=2, n_resamples=20)
    >>> [row.method for row in found.rows]
    ['cox', 'linear']
    """
    if not methods:
        raise ValueError("methods must name at least one estimator, got none.")
    target, levels = read_target(y), check_quantiles(quantiles)
    folds = _folds(target, groups, check_integer("cv", cv, minimum=2), random_state)
    found = {
        name: _Held.predicted(name, estimator, X, target, levels, folds, progress)
        for name, estimator in methods.items()
    }
    scores = _scores(found, target, levels, n_resamples, random_state)
    rows = [
        ComparisonRow(name, held.seconds, held.error, scores.get(name, ()))
        for name, held in found.items()
    ]
    return Comparison(tuple(rows), next(iter(methods)), len(target), target.n_events, cv)


class _Held:
    """What a method said of rows that it had not seen."""

    def __init__(self, values: Floats | None, seconds: float, error: str) -> None:
        self.values, self.seconds, self.error = values, seconds, error

    @classmethod
    def predicted(
        cls,
        name: str,
        estimator: Any,
        X: Any,
        target: Target,
        levels: Floats,
        folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]],
        progress: Callable[[str], None] | None,
    ) -> "_Held":
        """Fit a method to each fold's rows and ask it about the others."""
        values, started = np.empty((len(target), len(levels))), clock.perf_counter()
        y = Surv.from_arrays(target.event, target.time)
        error = ""
        for train, test in folds:
            if not error:
                try:
                    with warnings.catch_warnings():
                        # Warnings of every fold of every method would bury the table.
                        warnings.simplefilter("ignore")
                        values[test] = _fitted_and_asked(estimator, X, y, train, test, levels)
                except Exception as raised:  # whatever another library raises
                    reason = str(raised).strip().partition("\n")[0]
                    error = f"{type(raised).__name__}: {reason}"
            if progress is not None:
                progress(name)
        seconds = clock.perf_counter() - started
        return cls(None if error else values, seconds, error)


def _fitted_and_asked(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    levels: Floats,
) -> Floats:
    table: Any = X if hasattr(X, "iloc") else np.asarray(unmasked(X))
    rows = [table.iloc[part] if hasattr(X, "iloc") else table[part] for part in (train, test)]
    copy = clone(estimator) if hasattr(estimator, "get_params") else estimator
    if hasattr(X, "iloc") and not _takes_categories(copy):
        encoder = _encoder(rows[0])
        rows = [encoder.fit_transform(rows[0]), encoder.transform(rows[1])]
    model = copy.fit(rows[0], y[train])
    predicted = np.asarray(model.predict_quantiles(rows[1], levels), dtype=np.float64)
    if not np.isfinite(predicted).all():
        raise ArithmeticError("quantiles that are not finite were predicted.")
    return np.sort(predicted, axis=1)


def _takes_categories(estimator: Any) -> bool:
    if not hasattr(estimator, "__sklearn_tags__"):
        return False
    return bool(get_tags(estimator).input_tags.categorical)


def _encoder(X: Any) -> Any:
    """Return what makes finite numbers of a table, in the way that is usual with scikit-learn."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    numbers = list(X.select_dtypes(include=["number", "bool"]).columns)
    words = [name for name in X.columns if name not in numbers]
    levels = OneHotEncoder(
        handle_unknown="ignore", min_frequency=_FEWEST_ROWS, sparse_output=False, drop="if_binary"
    )
    return ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median", add_indicator=True), numbers),
            ("categories", levels, words),
        ]
    )


def _folds(
    target: Target, groups: ArrayLike | None, cv: int, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    rarer = min(target.n_events, len(target) - target.n_events) or len(target)
    if rarer < cv:
        raise ValueError(
            f"cv must be at most the number of rows with an event and of those without, got {cv} "
            f"folds for {target.n_events} and {len(target) - target.n_events} rows."
        )
    blank = np.zeros(len(target))
    if groups is None:
        rows = StratifiedKFold(cv, shuffle=True, random_state=seed)
        return list(rows.split(blank, target.event))
    labels = np.asarray(groups)
    if len(np.unique(labels)) < cv:
        raise ValueError(
            f"cv must be at most the number of groups, got {cv} folds for "
            f"{len(np.unique(labels))} groups."
        )
    whole = StratifiedGroupKFold(cv, shuffle=True, random_state=seed)
    return list(whole.split(blank, target.event, labels))


def _scores(
    found: Mapping[str, _Held], target: Target, levels: Floats, n_resamples: int, seed: int
) -> dict[str, tuple[ComparisonScore, ...]]:
    """Return scores of each method, with their difference from the first method's."""
    y = (target.time, target.event)
    lower = 0.0 if target.time.min() >= 0 else -np.inf
    horizon = default_horizon(target.time)
    curves = {
        name: QuantileCurve.from_predictions(held.values, levels, lower)
        for name, held in found.items()
        if held.values is not None
    }
    means = {name: curve.restricted_mean(horizon) for name, curve in curves.items()}
    values = {name: curve.values for name, curve in curves.items()}
    judged: list[tuple[str, str, Callable[..., float], Mapping[str, Floats], tuple[Any, ...]]] = [
        ("pinball_loss_censored", "lower", metrics.pinball_loss_censored, values, (levels,)),
        ("concordance_restricted_mean", "higher", metrics.concordance_index, means, ()),
    ]
    reference = next(iter(found))
    table: dict[str, list[ComparisonScore]] = {name: [] for name in curves}
    for metric, direction, function, predicted, arguments in judged:
        options: dict[str, Any] = {"n_resamples": n_resamples, "random_state": seed}
        if function is metrics.pinball_loss_censored:
            options["y_train"] = y
        scores = {}
        for name, own in predicted.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                alone = metrics.bootstrap_interval(function, y, own, *arguments, **options)
                paired = None
                if name != reference and reference in predicted:
                    paired = metrics.bootstrap_interval(
                        function, y, own, *arguments, other=predicted[reference], **options
                    )
            scores[name] = ComparisonScore.of(metric, direction, alone, paired)
        for name, score in holm(scores).items():
            table[name].append(score)
    for name in table:
        p_value = metrics.a_calibration(y, values[name], levels).p_value
        table[name].append(ComparisonScore("a_calibration_p_value", "higher", p_value))
    return {name: tuple(scores) for name, scores in table.items()}
