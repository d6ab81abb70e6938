"""Models compared on held-out rows, or by cross-validation, with paired tests."""

import math
import time as clock
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from textwrap import fill
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import pandas_for, unmasked
from censquant._progress import Bar
from censquant._typing import Floats
from censquant._validation import check_integer
from censquant.adapters import predict_quantiles_of
from censquant.adapters._predictions import is_left_censored, is_supported
from censquant.metrics._calibration import a_calibration
from censquant.metrics._concordance import concordance_index
from censquant.metrics._dependence import dependence_p_value, dependence_words
from censquant.metrics._intervals import BootstrapInterval, interval_of, resampled, scored
from censquant.metrics._log_score import log_score
from censquant.metrics._pinball import pinball_loss_censored
from censquant.metrics._reading import read_groups, read_train
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Surv, Target, kaplan_meier, read_target
from censquant.survival._columns import read_weights
from censquant.survival._kaplan_meier import default_horizon

_CONFIDENCE = 0.95  # of the intervals
_LINE = 79
_FEWEST_ROWS = 5  # of a category with a column of its own
_NINE_LEVELS = tuple(round(0.1 * k, 1) for k in range(1, 10))

Folds = list[tuple[NDArray[np.intp] | None, NDArray[np.intp]]]
"""Rows to fit to, None where the models are fitted, and rows to predict."""


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
    """Models with their scores on rows that they have not seen; made by `compare_models`.

    Parameters
    ----------
    rows : tuple of ComparisonRow
    reference : str
        The method that the others are compared with.
    n_rows, n_events : int
    n_folds : int
        0 where the models were fitted before.
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

    def to_frame(self) -> Any:
        """Return the scores as a DataFrame, one row for each model and metric.

        Returns
        -------
        frame : DataFrame
            With the columns ``method``, ``metric``, ``direction``, ``value`` and its ``lower`` and
            ``upper`` end, ``difference`` from the first model and its ends, ``p_value``.
        """
        pd = pandas_for("to_frame")
        return pd.DataFrame(
            [{"method": row.method, **asdict(one)} for row in self.rows for one in row.scores]
        )

    def __str__(self) -> str:
        way = f"{self.n_folds}-fold cross-validation" if self.n_folds else "fitted models"
        lines = [f"{self.n_rows} rows, {self.n_events} events, {way}"]
        width = max(len(row.method) for row in self.rows)
        scored = [row for row in self.rows if row.scores]
        for place, one in enumerate(scored[0].scores if scored else ()):
            lines += ["", f"{one.metric} ({one.direction} is better)"]
            for row in scored:
                score = row.scores[place]
                line = f"  {row.method:{width}}  {score.value:.4g}"
                if not math.isnan(score.lower):
                    line += f" ({score.lower:.4g} to {score.upper:.4g})"
                if not math.isnan(score.p_value):
                    line += (
                        f"  {score.difference:+.3g} ({score.difference_lower:+.3g} to "
                        f"{score.difference_upper:+.3g}), p = {score.p_value:.2g}"
                    )
                lines.append(line)
        lines += [f"{row.method} failed: {row.error}" for row in self.rows if row.error]
        if len(scored) > 1:
            lines += ["", f"Differences are from {self.reference}, p-values by Holm's rule."]
        doubt = dependence_words(
            self.censoring_p_value, "the pinball loss may prefer a wrong model"
        )
        return "\n".join([*lines, *([fill(f"{doubt}.", _LINE)] if doubt else [])])


def compare_models(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    cv: int | None = None,
    quantiles: ArrayLike = _NINE_LEVELS,
    y_train: object = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_resamples: int = 200,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare fitted models on rows that none of them has seen, or estimators by cross-validation.

    All are scored on the same rows. Intervals and p-values rest on resampled rows, the same draws
    for all, so that what is common to two models cancels in their difference. They say how sure a
    difference is on rows like these. What another training set would change is left out.

    By default the models are fitted, by this library or another one, and no row of ``X`` may be of
    their training data: such rows favor the model that has learned them by heart. With ``cv``
    copies are fitted in the same folds, and each row is scored by a model that has not seen it.

    The scores are `log_score`, `pinball_loss_censored`, the concordance of restricted means and the
    p-value of `a_calibration`. The pinball loss rests on one Kaplan-Meier curve of the censoring
    time. Whether censoring depends on the features is tested once, and where it does, the log score
    decides.

    Parameters
    ----------
    models : mapping of str to model
        The others are compared with the first. Fitted models are those of `evaluate`, or arrays of
        predicted quantiles of shape (n, k) at the levels ``quantiles``. With ``cv`` they are
        estimators with ``fit(X, y)`` and ``predict_quantiles(X, quantiles)``; those that do not
        take categories get them as zeros and ones, and medians in place of missing numbers, learned
        in each fold. A pair ``(model, columns)`` gives a model columns of its own. Fitted models
        that know the names of their columns find them by themselves.
    X : DataFrame or array-like of shape (n, n_features)
        All columns that any of the models needs; None where all are arrays.
    y : structured array, (time, event) tuple, DataFrame or dict
    cv : int, optional
        Number of folds, stratified by event; by default the models are fitted.
    quantiles : array-like of levels in (0, 1), default 0.1, 0.2, ..., 0.9
    y_train : as ``y``, optional
        Rows that cells of the log score and the censoring curve are estimated from; ``y`` by
        default.
    groups : array-like of shape (n,), optional
        Labels of rows that belong together: they are held out together, and drawn together.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the scores, in [0, inf); fits take none.
    n_resamples : int, default 200
    random_state : int, default 0
    progress : callable, optional
        Called with the name of a model after each of its fits.
    verbose : int, default 0
        Whether to show a progress bar, of the fits.

    Returns
    -------
    comparison : Comparison
        A model that fails is listed with the reason, and holds back no other.

    Examples
    --------
    Is the second model worse for having two columns only?

    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.metrics import compare_models
    >>> X, y = load_gbsg2()
    >>> few = ["age", "pnodes"]
    >>> models = {
    ...     "all": CoxQuantileRegressor().fit(X[:400], y[:400]),
    ...     "few": CoxQuantileRegressor().fit(X.loc[:399, few], y[:400]),
    ... }
    >>> found = compare_models(models, X[400:], y[400:], n_resamples=50)
    >>> score = found["few"]["log_score"]
    >>> score.difference_lower < score.difference < score.difference_upper
    True
    >>> score.p_value > 0.01
    True

    By cross-validation, without fitting them first:

    >>> estimators = {"all": CoxQuantileRegressor(), "few": (CoxQuantileRegressor(), few)}
    >>> found = compare_models(estimators, X[:200], y[:200], cv=2, n_resamples=20)
    >>> [row.method for row in found.rows], found.n_folds
    (['all', 'few'], 2)
    """
    if not isinstance(models, Mapping):
        raise ValueError(
            "models must be a dict of names and models, got a "
            f"{type(models).__name__}: pass {{'first': model, 'second': other}}."
        )
    if not models:
        raise ValueError("models must name at least one model, got none.")
    target, levels = read_target(y), check_quantiles(quantiles)
    folds: Folds = [(None, np.arange(len(target)))]
    if cv is not None:
        folds = _folds(target, groups, check_integer("cv", cv, minimum=2), random_state)
    elif X is not None and len(X) != len(target):
        raise ValueError(
            f"X must have one row for each of the {len(target)} rows of y, got {len(X)}."
        )
    group = read_groups(groups, len(target))
    weight = None if sample_weight is None else read_weights(sample_weight, len(target))
    train = read_train(y_train, target)
    count = check_integer("n_resamples", n_resamples, minimum=2)
    censoring_p_value = dependence_p_value(None, X, target)
    n_steps = len(models) * len(folds)
    with Bar("comparison", n_steps, unit="fits") if verbose else nullcontext() as bar:

        def advance(name: str) -> None:
            if bar is not None:
                bar.advance(1, note=name)
            if progress is not None:
                progress(name)

        found = {
            name: _predict_folds(name, *_with_columns(given, X), target, levels, folds, advance)
            for name, given in models.items()
        }
    scores = _scores(found, target, train, levels, weight, group, count, random_state)
    rows = [
        ComparisonRow(name, held.seconds, held.error, scores.get(name, ()))
        for name, held in found.items()
    ]
    return Comparison(
        tuple(rows),
        next(iter(models)),
        len(target),
        target.n_events,
        0 if cv is None else len(folds),
        censoring_p_value,
    )


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
    """Compare estimators by cross-validation: `compare_models` with ``cv=5``.

    Parameters
    ----------
    methods : mapping of str to estimator
        Unfitted. The others are compared with the first.
    X, y, quantiles, cv, groups, n_resamples, random_state, progress, verbose
        As in `compare_models`.

    Returns
    -------
    comparison : Comparison

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
    return compare_models(
        methods,
        X,
        y,
        cv=cv,
        quantiles=quantiles,
        groups=groups,
        n_resamples=n_resamples,
        random_state=random_state,
        progress=progress,
        verbose=verbose,
    )


def _with_columns(given: Any, X: Any) -> tuple[Any, Any]:
    """Return a model with the columns that it is given."""
    if not (isinstance(given, tuple) and len(given) == 2):
        return given, X
    from sklearn.utils import _safe_indexing

    model, columns = given
    return model, _safe_indexing(X, list(columns), axis=1)


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
                    if train is None:
                        values[test] = _predict(estimator, X, values.shape, levels)
                    else:
                        values[test] = _fit_and_predict(estimator, X, y, train, test, levels)
            except Exception as raised:  # whatever another library raises
                reason = str(raised).strip().partition("\n")[0]
                error = f"{type(raised).__name__}: {reason}"
        progress(name)
    return _HeldOut(None if error else values, clock.perf_counter() - started, error)


def _predict(model: Any, X: Any, shape: tuple[int, ...], levels: Floats) -> Floats:
    """Return quantiles of a fitted model, or those that are given."""
    if is_left_censored(model):
        raise ValueError("models with censoring='left' cannot be compared here: use evaluate.")
    if is_supported(model):
        from censquant._rows._features import columns_of_fit

        return predict_quantiles_of(model, columns_of_fit(model, X), levels)
    if callable(getattr(model, "predict", None)):
        raise TypeError("the model predicts neither quantiles nor survival curves.")
    predicted = np.asarray(model, dtype=np.float64)
    if predicted.shape != shape:
        raise ValueError(
            f"quantiles must have one column for each level, shape {shape}, got {predicted.shape}."
        )
    if not np.isfinite(predicted).all():
        raise ArithmeticError("quantiles that are not finite were given.")
    return np.sort(predicted, axis=1)


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
    found: Mapping[str, _HeldOut],
    target: Target,
    train: Target,
    levels: Floats,
    weight: Floats | None,
    group: NDArray[np.intp] | None,
    n_resamples: int,
    seed: int,
) -> dict[str, tuple[ComparisonScore, ...]]:
    """Return scores of each method, with their difference from the first method's."""
    y, y_train = (target.time, target.event), (train.time, train.event)
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
            options: dict[str, Any] = {} if function is concordance_index else {"y_train": y_train}
            if function is log_score:
                options["lower"] = lower
            metrics += [
                scored(function, y, predicted[name], arguments, options, weight) for name in names
            ]
        draws = resampled(metrics, len(target), n_resamples, seed, group=group)
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
        p_value = a_calibration(y, values[name], levels, sample_weight=weight).p_value
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
