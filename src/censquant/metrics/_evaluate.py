"""One call that judges a model on held-out rows."""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from censquant._follow_up_share import SMALLEST_FOLLOWED_SHARE
from censquant._progress import Bar
from censquant._seeds import seed_sequence
from censquant._typing import Floats
from censquant._validation import check_integer
from censquant.adapters._predictions import (
    adapted_curve,
    final_model,
    is_left_censored,
    is_supported,
)
from censquant.exceptions import TruncationWarning
from censquant.metrics._a_calibration import a_calibration
from censquant.metrics._absolute_error import mean_absolute_error_censored
from censquant.metrics._brier import integrated_brier_score
from censquant.metrics._calibration import pit_curve
from censquant.metrics._concordance import concordance_index, concordance_index_ipcw
from censquant.metrics._distortion import distortion
from censquant.metrics._evaluation import Evaluation, EvaluationRow, Gap, verdict_of
from censquant.metrics._intervals import bootstrap_interval
from censquant.metrics._mirror import Mirror
from censquant.metrics._pinball import crps_censored, pinball_loss_censored, pinball_loss_ipcw
from censquant.metrics._read import read_quantile_rows, read_training
from censquant.metrics._scorers import brier_times
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES
from censquant.survival import Target, censoring_kaplan_meier
from censquant.survival._kaplan_meier import default_horizon

# A level is the identified one if it differs by rounding only.
_ROUNDING = 1e-12
# The row that the verdict takes the order from.
_RANKING = "concordance_restricted_mean"


def evaluate(
    model_or_quantiles: Any,
    y_train: object,
    X_test: Any,
    y_test: object,
    *,
    taus: ArrayLike | None = None,
    n_resamples: int = 200,
    random_state: Any = 0,
    verbose: int = 0,
) -> Evaluation:
    """Scores of a model on held-out rows, with intervals and a verdict a reader can use.

    No single number tells whether predicted times can be trusted, so this puts those together
    that answer different questions: are the rows in the right order (concordance), do as many
    events happen by each quantile as it says (calibration), how close are the quantiles and the
    medians (pinball loss, CRPS, Brier score, absolute error). Intervals are 95 % percentiles over
    resampled test rows, the same draws for all scores; the model is taken as it is. All scores
    are read from one curve through the predicted quantiles.

    The weights that undo the censoring come from the Kaplan-Meier curve of ``y_train``, so they
    assume that censoring does not depend on the features. The verdict rests on the interval of
    the concordance index of the restricted means and on the p-value of `a_calibration`: with few
    events it cannot find much fault, and with very many it finds fault with any model. Therefore
    the verdict names the largest gap between predicted and observed shares of events, and calls
    quantiles miscalibrated only if it reaches 3 percentage points. Where the quantiles are not
    calibrated, the verdict says whether they are too early or too late, too
    narrow or too wide; ``docs/metrics.md`` has the rule. Look at the table as well.

    Parameters
    ----------
    model_or_quantiles : fitted model, or array-like of shape (n, k)
        Any model for `censquant.adapters.predict_quantiles_of`: an estimator of this library, an
        object with ``predict_quantiles(X, quantiles)``, a model of scikit-survival, lifelines,
        pycox or hazardous, or a Pipeline or search around one of them. Or the quantiles that any
        model predicted for the test rows.
    y_train : target in any form
        Times and events that the model was fitted to.
    X_test : array-like or DataFrame of shape (n, n_features)
        Features of the test rows; None where quantiles are given.
    y_test : target in any form, of n rows
        Times and events of the test rows. Both targets are read as left-censored where the model
        has ``censoring="left"``.
    taus : array-like of shape (k,), inside (0, 1), optional
        Levels to judge, increasing, at least two. By default those that the model was fitted to
        (where that is one, those that its curves go through), or
        0.05, 0.1, ..., 0.95 where it has none. Must be given where quantiles
        are.
    n_resamples : int, at least 2, default=200
        Number of bootstrap draws.
    random_state : int, Generator, RandomState or None, default 0
        Source of the draws; the same by default, so that a table can be repeated.
    verbose : int, default 0
        Whether to show a progress bar.

    Returns
    -------
    evaluation : Evaluation
        Print it, or take ``.to_frame()``.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import LinearQuantileRegressor, Surv
    >>> from censquant.metrics import evaluate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 1))
    >>> time, end = 1 + X[:, 0] + rng.uniform(size=400), rng.uniform(1, 5, size=400)
    >>> y = Surv.from_arrays(event=time <= end, time=np.minimum(time, end))
    >>> model = LinearQuantileRegressor([0.25, 0.5, 0.75]).fit(X[:200], y[:200])
    >>> result = evaluate(model, y[:200], X[200:], y[200:], n_resamples=20, random_state=0)
    >>> result["concordance_index"].lower > 0.6
    True
    >>> [row.metric for row in result.rows][:2]
    ['concordance_index', 'concordance_index_ipcw']
    """
    train = read_training(y_train)
    count = check_integer("n_resamples", n_resamples, minimum=2)
    model, features = final_model(model_or_quantiles, X_test)
    given, levels, reach = _predictions(model, features, taus)
    target, predicted, grid, _ = read_quantile_rows(y_test, given, levels, at_least=2)
    lower = 0.0 if train.time.min() >= 0 else -np.inf
    mirror = None
    if is_left_censored(model):
        mirror, lower = Mirror(float(max(train.time.max(), target.time.max()))), -np.inf
        target, train = mirror.target(target), mirror.target(train)
        predicted, grid = mirror.quantiles(predicted, grid)
        reach = None if reach is None else 1.0 - reach
    y = (target.time, target.event)
    curve = QuantileCurve.from_predictions(predicted, grid, lower)
    # One seed for all scores, so that they are judged on the same draws.
    seed = int(seed_sequence(random_state).generate_state(1)[0])
    scores, rows = _scores(curve, target, train), []
    with Bar("evaluation", len(scores), unit="scores") if verbose else nullcontext() as bar:
        for score in scores:
            rows.append(_row(score, y, count, seed))
            if bar is not None:
                bar.advance(1)
    order = next(row for row in rows if row.metric == _RANKING)
    calibration = a_calibration(y, predicted, grid)
    gap = _largest_gap(target, curve)
    rows += [
        _gap_row(gap),
        EvaluationRow(
            "a_calibration_p_value",
            calibration.p_value,
            np.nan,
            np.nan,
            "higher",
            "a small value says that the predictions are not calibrated",
        ),
    ]
    identified = _identified(model, reach, curve, train)
    error = distortion(target, curve).words(is_mirrored=mirror is not None)
    if mirror is not None:
        gap = Gap(1.0 - gap.level, 1.0 - gap.observed)
    return Evaluation(
        rows=tuple(rows),
        identified=identified,
        n_rows=len(target),
        n_events=target.n_events,
        **verdict_of(order, calibration.p_value, gap, error, target.n_events, identified),
    )


class _Score(NamedTuple):
    """A metric with what it is called with after ``y``, and its name if that is not its own."""

    metric: Callable[..., float]
    direction: str
    note: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    name: str = ""


def _scores(curve: QuantileCurve, target: Target, train: Target) -> list[_Score]:
    """Return the scores of the table, in its order."""
    quantiles, median = (curve.values, curve.taus), (curve.at([0.5])[:, 0],)
    horizon = default_horizon(train.time)
    means = (curve.restricted_mean(horizon),)
    times = brier_times(target, train)
    survival = (curve.survival(times), times)
    own = {"y_train": (train.time, train.event)}
    return [
        _Score(concordance_index, "higher", "order of the medians; 0.5 is chance", median, {}),
        _Score(concordance_index_ipcw, "higher", "the same, corrected for censoring", median, own),
        _Score(
            concordance_index,
            "higher",
            f"order of the mean times up to {horizon:g}; 0.5 is chance",
            means,
            {},
            _RANKING,
        ),
        _Score(pinball_loss_censored, "lower", "quantiles, in units of time", quantiles, own),
        _Score(pinball_loss_ipcw, "lower", "the same, from weighted events", quantiles, own),
        _Score(crps_censored, "lower", "whole distribution, in units of time", quantiles, own),
        _Score(
            integrated_brier_score,
            "lower",
            "probabilities of survival; 0.25 is chance",
            survival,
            own,
        ),
        _Score(mean_absolute_error_censored, "lower", "medians, in units of time", median, own),
    ]


def _row(score: _Score, y: Any, n_resamples: int, seed: int) -> EvaluationRow:
    """Return one line of the table; where the metric has no value, its note says why."""
    direction, note = score.direction, score.note
    name = score.name or score.metric.__name__
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TruncationWarning)
            interval = bootstrap_interval(
                score.metric,
                y,
                *score.arguments,
                n_resamples=n_resamples,
                random_state=seed,
                **score.options,
            )
    except ValueError as error:
        return EvaluationRow(name, np.nan, np.nan, np.nan, direction, str(error))
    note = "; ".join([note, *(str(entry.message) for entry in caught)])
    return EvaluationRow(name, interval.value, interval.lower, interval.upper, direction, note)


def _largest_gap(target: Target, curve: QuantileCurve) -> Gap:
    """Return the level at which predicted and observed shares of events differ most."""
    nominal, observed = pit_curve((target.time, target.event), curve.values, curve.taus)
    distance = np.abs(observed - nominal)
    if np.isnan(distance).all():
        return Gap(np.nan, np.nan)
    place = int(np.nanargmax(distance))
    return Gap(float(nominal[place]), float(observed[place]))


def _gap_row(gap: Gap) -> EvaluationRow:
    """Return the line of `pit_deviation`, without an interval: resampling pushes a maximum up."""
    note = "worst gap between nominal and observed share of events"
    if np.isnan(gap.size):
        note = "every row is censored before the lowest of the predicted quantiles"
    return EvaluationRow("pit_deviation", gap.size, np.nan, np.nan, "lower", note)


def _predictions(
    model: Any, features: Any, taus: ArrayLike | None
) -> tuple[Any, Any, Floats | None]:
    """Return quantiles, predicted or given, their levels, and how far the model can speak."""
    if is_supported(model):
        levels = _default_levels(model, features) if taus is None else taus
        curve, reach = adapted_curve(model, features, levels)
        return curve.values, curve.taus, reach
    if callable(getattr(model, "predict", None)):
        raise TypeError(
            "model_or_quantiles must predict quantiles or survival curves, or be an array of "
            f"quantiles, got {type(model).__name__}."
        )
    if taus is None:
        raise ValueError(
            "taus must be given where model_or_quantiles is an array, one level for each column, "
            "got None."
        )
    return model, taus, None


def _default_levels(model: Any, features: Any) -> Any:
    """Return the levels that a model was fitted to, or where that is one, those of its curves."""
    levels = np.atleast_1d(getattr(model, "quantiles_", DEFAULT_QUANTILES))
    if len(levels) > 1:
        return levels
    own = model.predict_curve(features).taus if hasattr(model, "predict_curve") else levels
    if len(own) < 2:
        raise ValueError(
            f"evaluate needs a model with two or more levels, got {type(model).__name__} with the "
            f"level {levels[0]:g} only, from which no distribution can be read: fit it with more "
            "quantiles that the data identify."
        )
    most = len(DEFAULT_QUANTILES)
    return own[np.linspace(0, len(own) - 1, min(len(own), most)).round().astype(np.intp)]


def _identified(model: Any, reach: Floats | None, curve: QuantileCurve, train: Target) -> float:
    """Return the share of the predicted quantiles that the training rows can speak for."""
    within = np.ones(curve.values.shape, dtype=np.bool_)
    if reach is not None:
        within &= curve.taus <= reach[:, None] + _ROUNDING
    if not hasattr(model, "identified_level"):
        # The model does not judge it row by row: use the follow-up of all training rows.
        followed = censoring_kaplan_meier(train.time, train.event)
        within &= followed(curve.values, side="left") >= SMALLEST_FOLLOWED_SHARE
        within &= curve.values <= train.time.max()
    return float(within.mean())
