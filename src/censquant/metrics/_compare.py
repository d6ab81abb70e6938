"""Methods compared on a user's own table by cross-validation, with paired tests."""

import math
import time as clock
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import unmasked
from censquant._progress import Bar
from censquant._typing import Floats
from censquant._validation import check_integer
from censquant.metrics._calibration import a_calibration
from censquant.metrics._concordance import concordance_index
from censquant.metrics._dependence import dependence_p_value
from censquant.metrics._intervals import BootstrapInterval, interval_of, resampled, scored
from censquant.metrics._log_score import log_score
from censquant.metrics._pinball import pinball_loss_censored
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Surv, Target, kaplan_meier, read_target
from censquant.survival._kaplan_meier import default_horizon

_CONFIDENCE = 0.95  # of the intervals
_FEWEST_ROWS = 5  # of a category with a column of its own
_NINE_LEVELS = tuple(round(0.1 * k, 1) for k in range(1, 10))

Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


@dataclass(frozen=True)
class ComparisonScore:
    """A score of one method on rows that it was not fitted to."""

    metric: str
    direction: str  # {"higher", "lower"}: Which is better
    value: float
    # Ends of the 95 % interval; NaN where there is none
    lower: float = math.nan
    upper: float = math.nan
    difference: float = math.nan  # from the first method; NaN for that one itself
    # Ends of its 95 % interval
    difference_lower: float = math.nan
    difference_upper: float = math.nan
    # Of the hypothesis that both score the same, two-sided, corrected by Holm for the number of
    # methods
    p_value: float = math.nan

    @classmethod
    def of(
        cls, metric: str, direction: str, alone: BootstrapInterval, paired: BootstrapInterval | None
    ) -> "ComparisonScore":
        """Return the score of bootstrap intervals, alone and paired with the first method."""
        score = cls(metric, direction, alone.value, alone.lower, alone.upper)
        if paired is None or paired.p_value is None:
            return score
        return replace(
            score,
            difference=paired.value,
            difference_lower=paired.lower,
            difference_upper=paired.upper,
            p_value=paired.p_value,
        )


@dataclass(frozen=True)
class ComparisonRow:
    """One method of a comparison."""

    method: str
    seconds: float  # of all its fits and predictions
    error: str  # why it has no scores; empty if it has
    scores: tuple[ComparisonScore, ...]

    def __getitem__(self, metric: str) -> ComparisonScore:
        for score in self.scores:
            if score.metric == metric:
                return score
        raise KeyError(metric)


@dataclass(frozen=True)
class Comparison:
    """Methods with their cross-validated scores; made by :func:`compare`.

    Parameters
    ----------
    rows : tuple of ComparisonRow
    reference : str
        The method that the others are compared with.
    n_rows, n_events : int
    n_folds : int
    censoring_p_value : float or None
        Of the test that censoring does not depend on the features. Where it is below 0.05 the
        pinball loss may prefer a wrong method, and the log score does not. None where nothing was
        tested: the features are no table, or fewer than 20 rows are censored.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.metrics import compare
    >>> X, y = load_gbsg2(as_frame=False)
    >>> found = compare({"cox": CoxQuantileRegressor()}, X[:200], y[:200], cv=2, n_resamples=20)
    >>> 0.5 < found["cox"]["concordance_restricted_mean"].value < 1
    True
    """

    rows: tuple[ComparisonRow, ...]
    reference: str
    n_rows: int
    n_events: int
    n_folds: int
    censoring_p_value: float | None = None

    def __getitem__(self, method: str) -> ComparisonRow:
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(method)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain lists, numbers and text."""
        return asdict(self)


def compare(
    methods: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    quantiles: ArrayLike = _NINE_LEVELS,
    cv: int = 5,
    groups: ArrayLike | None = None,
    n_resamples: int = 200,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods on one's own data: each predicts the rows that it was not fitted to.

    All methods see the same folds, and are scored on the same rows. Intervals and p-values rest on
    resampled rows, the same draws for all, so that what is common to two methods cancels in their
    difference. They say how sure a difference is on rows like these; what another training set
    would change is left out.

    The scores are `log_score`, `pinball_loss_censored`, the concordance of restricted means and the
    p-value of `a_calibration`. The pinball loss rests on one Kaplan-Meier curve of the censoring
    time; whether censoring depends on the features is tested once, and where it does, the log score
    decides.

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
    verbose : int, default 0
        Whether to show a progress bar, of the fits.

    Returns
    -------
    comparison : Comparison
        A method that fails is listed with the reason, and holds back no other.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor, LinearQuantileRegressor
    >>> from censquant.metrics import compare
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
    count = check_integer("n_resamples", n_resamples, minimum=2)
    censoring_p_value = dependence_p_value(None, X, target)
    with Bar("comparison", len(methods) * cv, unit="fits") if verbose else nullcontext() as bar:

        def advance(name: str) -> None:
            if bar is not None:
                bar.advance(1, note=name)
            if progress is not None:
                progress(name)

        found = {
            name: _predict_folds(name, estimator, X, target, levels, folds, advance)
            for name, estimator in methods.items()
        }
    scores = _scores(found, target, levels, count, random_state)
    rows = [
        ComparisonRow(name, held.seconds, held.error, scores.get(name, ()))
        for name, held in found.items()
    ]
    return Comparison(
        tuple(rows),
        next(iter(methods)),
        len(target),
        target.n_events,
        cv,
        censoring_p_value,
    )


class _HeldOut(NamedTuple):
    """Predictions of rows that a method was not fitted to; None where it failed."""

    values: Floats | None
    seconds: float
    error: str


def _predict_folds(
    name: str,
    estimator: Any,
    X: Any,
    target: Target,
    levels: Floats,
    folds: Folds,
    progress: Callable[[str], None],
) -> _HeldOut:
    """Fit a method to each fold's rows and predict the others."""
    values, started = np.empty((len(target), len(levels))), clock.perf_counter()
    y = Surv.from_arrays(target.event, target.time)
    error = ""
    for train, test in folds:
        if not error:
            try:
                with warnings.catch_warnings():
                    # Warnings of every fold of every method would bury the table.
                    warnings.simplefilter("ignore")
                    values[test] = _fit_and_predict(estimator, X, y, train, test, levels)
            except Exception as raised:  # whatever another library raises
                reason = str(raised).strip().partition("\n")[0]
                error = f"{type(raised).__name__}: {reason}"
        progress(name)
    return _HeldOut(None if error else values, clock.perf_counter() - started, error)


def _fit_and_predict(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    levels: Floats,
) -> Floats:
    from sklearn.base import clone

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
    from sklearn.utils import get_tags

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


def _folds(target: Target, groups: ArrayLike | None, cv: int, seed: int) -> Folds:
    rarer = min(target.n_events, len(target) - target.n_events) or len(target)
    if rarer < cv:
        raise ValueError(
            f"cv must be at most the number of rows with an event and of those without, got {cv} "
            f"folds for {target.n_events} and {len(target) - target.n_events} rows."
        )
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

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
    found: Mapping[str, _HeldOut], target: Target, levels: Floats, n_resamples: int, seed: int
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
    lines: list[tuple[str, str, Callable[..., float], Mapping[str, Floats], tuple[Any, ...]]] = [
        ("log_score", "lower", log_score, values, (levels,)),
        ("pinball_loss_censored", "lower", pinball_loss_censored, values, (levels,)),
        ("concordance_restricted_mean", "higher", concordance_index, means, ()),
    ]
    table: dict[str, list[ComparisonScore]] = {name: [] for name in curves}
    if not curves:
        return {}
    reference, names = next(iter(found)), list(curves)
    metrics = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, _, function, predicted, arguments in lines:
            options: dict[str, Any] = {} if function is concordance_index else {"y_train": y}
            if function is log_score:
                options["lower"] = lower
            metrics += [scored(function, y, predicted[name], arguments, options) for name in names]
        draws = resampled(metrics, len(target), n_resamples, seed)
    for line, (metric, direction, *_) in enumerate(lines):
        places = {name: line * len(names) + place for place, name in enumerate(names)}

        def interval(*columns: int) -> BootstrapInterval:
            own = tuple(metrics[column].value for column in columns)
            return interval_of(own, draws[:, columns], _CONFIDENCE)

        scores = {}
        for name, place in places.items():
            paired = None
            if name != reference and reference in places:
                paired = interval(place, places[reference])
            scores[name] = ComparisonScore.of(metric, direction, interval(place), paired)
        for name, score in _correct_by_holm(scores).items():
            table[name].append(score)
    for name in table:
        p_value = a_calibration(y, values[name], levels).p_value
        table[name].append(ComparisonScore("a_calibration_p_value", "higher", p_value))
    return {name: tuple(scores) for name, scores in table.items()}


def _correct_by_holm(scores: Mapping[str, ComparisonScore]) -> dict[str, ComparisonScore]:
    """Return scores with p-values corrected for their number by Holm's method."""
    tested = sorted(
        (name for name, score in scores.items() if not math.isnan(score.p_value)),
        key=lambda name: scores[name].p_value,
    )
    corrected, highest = dict(scores), 0.0
    for place, name in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - place) * scores[name].p_value))
        corrected[name] = replace(scores[name], p_value=highest)
    return corrected


class KaplanMeierBaseline:
    """Predicts the Kaplan-Meier curve of the training rows, whatever the features."""

    def fit(self, X: Any, y: Any) -> Self:
        """Estimate the curve; `X` is not used."""
        target = read_target(y)
        self.curve_ = kaplan_meier(target.time, target.event)
        return self

    def predict_quantiles(self, X: Any, quantiles: ArrayLike) -> Floats:
        """Return the same quantiles for each row; levels never reached get the last time."""
        found = self.curve_.quantile(quantiles)
        finite = np.where(np.isfinite(found), found, self.curve_.time[-1])
        return np.tile(finite, (len(X), 1))
