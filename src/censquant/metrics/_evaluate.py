"""One call that scores a model on held-out rows: a table of scores and a verdict in words."""

import inspect
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from censquant._frames import html_table, pandas_for
from censquant._progress import Bar
from censquant._typing import Floats
from censquant._validation import check_integer, seed_sequence
from censquant.adapters._predictions import (
    adapted_curve,
    final_model,
    is_left_censored,
    is_supported,
)
from censquant.exceptions import TruncationWarning
from censquant.metrics._brier import default_brier_times
from censquant.metrics._calibration import ROUNDING, a_calibration, pit_curve
from censquant.metrics._censoring_model import censoring_curve_of
from censquant.metrics._dependence import (
    MAY_BE_BIASED,
    dependence_p_value,
    dependence_words,
    is_dependent,
)
from censquant.metrics._distortion import Gap, fit_distortion, fit_general_distortion
from censquant.metrics._incidence import brier_score_of_kind, log_score_incidence
from censquant.metrics._intervals import Scored, interval_of, resampled, scored
from censquant.metrics._log_score import log_losses
from censquant.metrics._reading import Mirror, read_quantile_rows, read_training
from censquant.metrics._scorers import METRICS, Metric
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES
from censquant.survival import Target, censoring_kaplan_meier, kaplan_meier, read_target
from censquant.survival._aalen_johansen import aalen_johansen_of
from censquant.survival._causes import Causes, read_known_causes
from censquant.survival._cells import cells_of_events
from censquant.survival._kaplan_meier import (
    SMALLEST_FOLLOWED_SHARE,
    default_horizon,
)
from censquant.survival._kinds_of_rows import OF_ONE_KIND
from censquant.survival._target import GeneralTarget

SMALL_GAP = 0.03
"""Largest gap between a predicted and an observed share of events that does not matter.

With very many rows every test of calibration rejects every model, so that the size decides.
"""

# What is scored of rows with intervals or entries.
_OF_GENERAL_ROWS = ("log_score", "concordance_index", "concordance_restricted_mean")
_CONFIDENCE = 0.95  # of the intervals
# The line that the verdict takes the order from.
_RANKING = "concordance_restricted_mean"
# Below this many events a test of calibration finds little fault with any model.
_FEW_EVENTS = 50
_SIGNIFICANT = 0.05
# What censoring that depends on the features does to the scores of the table, without a model of
# the censoring and with one.
_DOUBT = (
    "the pinball losses, the CRPS, the Brier score and the absolute error may prefer a wrong "
    "model, and concordance_index_ipcw is biased"
)
_DOUBT_BESIDE_MODEL = (
    "the absolute error may prefer a wrong model, and concordance_index_ipcw is biased"
)
_REMEDY_OF_MODEL = ", or by the scores that take censoring_model"


class EvaluationRow(NamedTuple):
    """One line of an `Evaluation`."""

    metric: str
    value: float  # NaN where the score has none
    lower: float  # end of its 95 % bootstrap interval; NaN where there is none
    upper: float
    direction: str  # which is better, "higher" or "lower"
    note: str  # how to read it, or why it has no value


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of a model on held-out rows, with intervals, and a verdict in words.

    Made by `evaluate`.

    Parameters
    ----------
    rows : tuple of named tuples
        The table: ``metric``, ``value``, ``lower`` and ``upper`` end of its 95 % bootstrap
        interval, ``direction`` ("higher" or "lower" is better) and a ``note`` that says how to
        read it. A score that has no value is NaN, and its note says why.
    identified : float in [0, 1]
        Share of the predicted quantiles that the training rows identify.
    verdict : str
        Sentences on the ranking, the calibration and the identified share of the predictions, and
        on the scores that may be biased where censoring depends on the features.
    n_rows, n_events : int
        Number of rows that were scored, and of events among them.
    ranking, calibration : str
        The two halves of the first sentence of the verdict.
    is_calibrated : bool
        Whether the test of calibration finds no error, or only a small one: no predicted share of
        events is off by 3 percentage points or more.
    censoring_p_value : float or None
        Of the test that censoring does not depend on the features; None where nothing was tested,
        for want of features or of 20 censored rows.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.metrics import evaluate
    >>> rng = np.random.default_rng(0)
    >>> time, taus = rng.uniform(size=100), np.array([0.25, 0.5, 0.75])
    >>> result = evaluate([taus] * 100, time, None, time, taus=taus, random_state=0)
    >>> result["concordance_index"].value
    0.5
    >>> result.identified
    1.0
    """

    rows: tuple[EvaluationRow, ...]
    identified: float
    verdict: str
    n_rows: int
    n_events: int
    ranking: str = ""
    calibration: str = ""
    is_calibrated: bool = True
    censoring_p_value: float | None = None

    def __getitem__(self, metric: str) -> EvaluationRow:
        found = [row for row in self.rows if row.metric == metric]
        if not found:
            names = ", ".join(repr(row.metric) for row in self.rows)
            raise KeyError(f"metric must be one of {names}, got {metric!r}.")
        return found[0]

    def _repr_html_(self) -> str:
        lines = [
            (row.metric, f"{row.value:.4g}", _interval(row), row.direction, row.note)
            for row in self.rows
        ]
        table = html_table(("metric", "value", "95 % interval", "better", "note"), lines)
        counts = f"<p>{self.n_rows} rows, {self.n_events} events</p>"
        return f"{counts}{table}<p>{escape(self.verdict)}</p>"

    def __str__(self) -> str:
        width = max(len(row.metric) for row in self.rows)
        lines = [f"{self.n_rows} rows, {self.n_events} events", ""]
        lines.append(f"{'metric':{width}}{'value':>10}{'95 % interval':>22}  better  note")
        for row in self.rows:
            number = f"{row.metric:{width}}{row.value:>10.4g}{_interval(row):>22}"
            lines.append(f"{number}  {row.direction:6}  {row.note}")
        return "\n".join([*lines, "", self.verdict])

    def to_frame(self) -> Any:
        """Return the table as a DataFrame, one row per metric.

        Returns
        -------
        frame : DataFrame
            With the columns ``metric``, ``value``, ``lower``, ``upper``, ``direction``, ``note``.
        """
        pd = pandas_for("to_frame")
        return pd.DataFrame(list(self.rows), columns=list(EvaluationRow._fields))


def _interval(row: EvaluationRow) -> str:
    return "" if np.isnan(row.lower) else f"{row.lower:.4g} to {row.upper:.4g}"


def evaluate(
    model_or_quantiles: Any,
    y_train: object,
    X_test: Any,
    y_test: object,
    *,
    taus: ArrayLike | None = None,
    censoring_model: Any = None,
    n_resamples: int = 200,
    random_state: Any = 0,
    verbose: int = 0,
) -> Evaluation:
    """Scores of a model on held-out rows, with intervals and a verdict a reader can use.

    No single number tells whether predicted times can be trusted, so this puts those together
    that answer different questions: are the rows in the right order (concordance), do as many
    events happen by each quantile as it says (calibration), how close are the quantiles and the
    medians (pinball loss, CRPS, Brier score, absolute error). The log score comes first: it judges
    the whole distribution and needs no model of the censoring. Intervals are 95 % percentiles over
    resampled test rows, the same draws for all scores; the model is taken as it is. All scores
    are read from one curve through the predicted quantiles.

    The weights that undo the censoring come from the Kaplan-Meier curve of ``y_train``, so they
    assume that censoring does not depend on the features. Whether it does is tested once, on the
    test rows, which must be independent. Where it does, the notes say which scores may be biased
    and the verdict what to do: the pinball losses, the CRPS, the Brier score and the absolute error
    can then prefer a wrong model, and ``concordance_index_ipcw`` is not the concordance without
    censoring. The log score, the other two concordances and the test of calibration do not rest on
    that assumption.

    The verdict rests on the interval of
    the concordance index of the restricted means and on the p-value of `a_calibration`: with few
    events it cannot find much fault, and with very many it finds fault with any model. Therefore
    the verdict names the largest gap between predicted and observed shares of events, and calls
    quantiles miscalibrated only if it reaches 3 percentage points. Where the quantiles are not
    calibrated, the verdict says whether they are too early or too late, too
    narrow or too wide; ``docs/metrics.md`` has the rule. Look at the table as well.

    Test rows with intervals or entries (see `Surv`) have the log score and the concordances, and
    the other scores are left out: no weights make up for not knowing when an event happened. Their
    calibration is tested by the likelihood ratio of a normal distribution of the probit levels of
    events, which finds errors of location and width and no others. Entries are taken as given,
    intervals as independent of the event.

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
        Features of the test rows. None where quantiles are given; nothing is then tested.
    y_test : target in any form, of n rows
        Times and events of the test rows. Both targets are read as left-censored where the model
        has ``censoring="left"``. With kinds of events for a `CompetingRisksRegressor`: all scores
        are then those of the first event of any kind, besides those of the incidence of each kind.
    taus : array-like of shape (k,), inside (0, 1), optional
        Levels to judge, increasing, at least two. By default those that the model was fitted to
        (where that is one, those that its curves go through), or 0.05, 0.1, ..., 0.95 where it
        has none. Must be given where quantiles are.
    censoring_model : fitted model or QuantileCurve, optional
        Model of the censoring time, fitted to ``(time, ~event)`` of the training rows, such as the
        ``censoring_estimator_`` of a `ConformalSurvivalRegressor`, or the distributions that it
        predicts for the test rows. The pinball losses, the CRPS and the Brier score then take the
        censoring of each row from it in place of one Kaplan-Meier curve, and are right where
        censoring depends on the features if the model is. The notes say where few rows carry most
        of the weight, so that they cannot be relied on.
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
    ['log_score', 'concordance_index']
    >>> result.censoring_p_value > 0.05
    True
    """
    model, features = final_model(model_or_quantiles, X_test)
    # Of a model of competing risks: scores of any event, and of each kind if both targets know it.
    causes = [read_known_causes(y, model) for y in (y_train, y_test)]
    y_train, y_test = (
        y if found is None else found.of_any_kind
        for y, found in zip((y_train, y_test), causes, strict=True)
    )
    count = check_integer("n_resamples", n_resamples, minimum=2)
    # One seed for all scores, so that they share their draws.
    seed = int(seed_sequence(random_state).generate_state(1)[0])
    if causes == [None, None] and (general := _general(y_test)) is not None:
        if censoring_model is not None or is_left_censored(model):
            raise ValueError(
                "y_test must have one time in each row for a model of censoring='left' or with "
                f"censoring_model, got intervals or entries in {len(general)} rows: these are "
                "scored without a model of the censoring, and as right-censored."
            )
        train = read_training(y_train, OF_ONE_KIND)
        return _evaluate_general(model, features, train, general, taus, (count, seed, verbose))
    train = read_training(y_train)
    given, levels, identified_to = _predict(model, features, taus)
    target, predicted, grid, _ = read_quantile_rows(y_test, given, levels, at_least=2)
    lower = 0.0 if train.time.min() >= 0 else -np.inf
    mirror, observed = None, target
    if is_left_censored(model):
        mirror, lower = Mirror(float(max(train.time.max(), target.time.max()))), -np.inf
        target, train = mirror.target(target), mirror.target(train)
        predicted, grid = mirror.quantiles(predicted, grid)
        identified_to = None if identified_to is None else 1.0 - identified_to
    censoring_p_value = dependence_p_value(model, features, observed, target)
    y = (target.time, target.event)
    curve = QuantileCurve.from_predictions(predicted, grid, lower)
    horizon, times = default_horizon(train.time), default_brier_times(target, train)
    known = {"horizon": horizon, "kaplan_meier": _kaplan_meier_words(target, train)}
    predictions = {
        "medians": (curve.at([0.5])[:, 0],),
        "restricted_means": (curve.restricted_mean(horizon),),
        "quantiles": (curve.values, curve.taus),
        "survival": (curve.survival(times), times),
    }
    offered = [m._replace(note=m.note.format(**known)) for m in METRICS if m.note]
    has_model = censoring_model is not None
    offered = [
        _with_censoring(metric, is_dependent(censoring_p_value), has_model) for metric in offered
    ]
    options = {"y_train": (train.time, train.event), "lower": lower}
    if censoring_model is not None:
        options["censoring_model"] = censoring_curve_of(
            censoring_model, X_test, len(target), mirror, name="X_test"
        )
    table = [_Line.read(metric, y, predictions[metric.takes], options) for metric in offered]
    if causes[0] is not None and causes[1] is not None:
        is_biased = is_dependent(censoring_p_value)
        table += _lines_of_kinds(model, features, causes[0], causes[1], times, is_biased)
    with Bar("evaluation", count, unit="draws") if verbose else nullcontext() as bar:
        found = [line.scored for line in table if line.scored is not None]
        values = iter(resampled(found, len(target), count, seed, bar).T if found else ())
    rows = [line.row(None if line.scored is None else next(values)) for line in table]
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
    identified = _identified_share(model, identified_to, curve, train)
    error = fit_distortion(target, curve).words(is_mirrored=mirror is not None)
    if mirror is not None:
        gap = Gap(1.0 - gap.level, 1.0 - gap.observed)
    effect = (_DOUBT_BESIDE_MODEL, _REMEDY_OF_MODEL) if has_model else (_DOUBT,)
    doubt = dependence_words(censoring_p_value, *effect)
    return Evaluation(
        rows=tuple(rows),
        identified=identified,
        n_rows=len(target),
        n_events=target.n_events,
        censoring_p_value=censoring_p_value,
        **verdict_of(order, calibration.p_value, gap, error, target.n_events, identified, doubt),
    )


def _general(y: object) -> GeneralTarget | None:
    """Return rows with intervals or entries; None of any others, which are read elsewhere."""
    try:
        target = read_target(y, accepts=OF_ONE_KIND)
    except (TypeError, ValueError):
        return None
    return target if isinstance(target, GeneralTarget) else None


def _evaluate_general(
    model: Any,
    features: Any,
    train: Target,
    target: GeneralTarget,
    taus: ArrayLike | None,
    draws: tuple[int, int, int],
) -> Evaluation:
    """Score a model on rows with intervals or entries, by what is known of such rows."""
    given, levels, identified_to = _predict(model, features, taus)
    _, predicted, grid, _ = read_quantile_rows(
        target, given, levels, at_least=2, accepts=OF_ONE_KIND
    )
    curve = QuantileCurve.from_predictions(predicted, grid, 0.0)
    horizon = default_horizon(train.time)
    predictions = {
        "medians": (curve.at([0.5])[:, 0],),
        "restricted_means": (curve.restricted_mean(horizon),),
        "quantiles": (curve.values, curve.taus),
    }
    options = {"y_train": train, "lower": 0.0}
    table = []
    for metric in METRICS:
        if (metric.row or metric.function.__name__) in _OF_GENERAL_ROWS:
            note = metric.note.format(horizon=horizon, kaplan_meier="")
            offered = metric._replace(note=note)
            table.append(_Line.read(offered, target, predictions[metric.takes], options))
    count, seed, verbose = draws
    with Bar("evaluation", count, unit="draws") if verbose else nullcontext() as bar:
        found = [line.scored for line in table if line.scored is not None]
        values = iter(resampled(found, len(target), count, seed, bar).T if found else ())
    rows = [line.row(None if line.scored is None else next(values)) for line in table]
    order = next(row for row in rows if row.metric == _RANKING)
    error, p_value = fit_general_distortion(target, curve)
    gap = error.largest_gap(curve.taus)
    rows += [
        _gap_row(gap)._replace(note="worst gap of shares of events, by location and width alone"),
        EvaluationRow(
            "calibration_p_value",
            p_value,
            np.nan,
            np.nan,
            "higher",
            "a small value says that location or width of the predictions is wrong",
        ),
    ]
    identified = _identified_share(model, identified_to, curve, train)
    return Evaluation(
        rows=tuple(rows),
        identified=identified,
        n_rows=len(target),
        n_events=target.n_events,
        **verdict_of(order, p_value, gap, error.words(), target.n_events, identified),
    )


def _lines_of_kinds(
    model: Any, features: Any, train: Causes, target: Causes, times: Floats, is_biased: bool
) -> list["_Line"]:
    """Return the scores of the incidences of several kinds of events."""
    cells = cells_of_events(train.target)
    y, kinds = (target.target.time, target.code), np.arange(1, len(target.kinds) + 1)
    shares = aalen_johansen_of(train)
    lines = []
    options: dict[str, Any] = {"kinds": kinds}

    def line(function: Any, at: Floats, name: str, note: str) -> None:
        incidence = model.predict_cumulative_incidence(features, at, beyond="extrapolate")
        common = np.broadcast_to(shares(at), incidence.shape)
        note += f"; Aalen-Johansen scores {function(y, common, at, **options):.4g}"
        weighs = function is brier_score_of_kind
        metric = Metric(
            function, "survival", "lower", note=note, row=name, for_equal_censoring=weighs
        )
        metric = _with_censoring(metric, is_biased, False)
        lines.append(_Line.read(metric, y, (incidence, at), options))

    line(log_score_incidence, cells, "log_score_incidence", "when events come, and of which kind")
    options["y_train"] = (train.target.time, train.code)
    for place, kind in enumerate(target.kinds.tolist()):
        options["place"] = place
        name = f"integrated_brier_score_incidence[{kind}]"
        line(brier_score_of_kind, times, name, f"probability that {kind!r} comes first")
    return lines


def _kaplan_meier_words(target: Target, train: Target) -> str:
    """Return the log score of the Kaplan-Meier curve of the training rows, the same for all.

    Nothing where these are the rows to score, to which the curve would be fitted.
    """
    if np.array_equal(train.time, target.time):
        return ""
    curve = kaplan_meier(train.time, train.event)
    losses = log_losses(target, cells_of_events(train), lambda times: 1.0 - curve(times))
    return f"; Kaplan-Meier scores {losses.mean():.4g}"


def _with_censoring(metric: Metric, is_dependent: bool, has_model: bool) -> Metric:
    """Return a metric with a note on the curve or the model of the censoring that it rests on."""
    if has_model and "censoring_model" in inspect.signature(metric.function).parameters:
        return metric._replace(note=f"{metric.note}; censoring by censoring_model")
    if is_dependent and metric.for_equal_censoring:
        return metric._replace(note=f"{metric.note}; {MAY_BE_BIASED}")
    return metric


def _predict(model: Any, features: Any, taus: ArrayLike | None) -> tuple[Any, Any, Floats | None]:
    """Return quantiles, predicted or given, their levels, and the highest identified level."""
    if is_supported(model):
        levels = _default_levels(model, features) if taus is None else taus
        curve, identified_to = adapted_curve(model, features, levels)
        return curve.values, curve.taus, identified_to
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


class _Line(NamedTuple):
    """A line of the table before its interval; its note says why where it has no score."""

    metric: Metric
    scored: Scored | None
    note: str

    @classmethod
    def read(
        cls,
        metric: Metric,
        y: Any,
        predictions: tuple[Any, ...],
        options: dict[str, Any],
    ) -> "_Line":
        """Score all rows by a metric, with those of the options that it takes."""
        taken = inspect.signature(metric.function).parameters
        options = {name: value for name, value in options.items() if name in taken}
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", TruncationWarning)
                found = scored(metric.function, y, predictions[0], predictions[1:], options)
        except ValueError as error:
            return cls(metric, None, str(error))
        return cls(
            metric, found, "; ".join([metric.note, *(str(entry.message) for entry in caught)])
        )

    def row(self, values: Floats | None) -> EvaluationRow:
        """Return the line with the interval of the scores of draws."""
        name, note = self.metric.row or self.metric.function.__name__, self.note
        if self.scored is not None and values is not None:
            try:
                found = interval_of((self.scored.value,), values[:, None], _CONFIDENCE)
            except ValueError as error:
                note = str(error)
            else:
                ends = found.value, found.lower, found.upper
                return EvaluationRow(name, *ends, self.metric.better, note)
        return EvaluationRow(name, np.nan, np.nan, np.nan, self.metric.better, note)


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


def _identified_share(
    model: Any, identified_to: Floats | None, curve: QuantileCurve, train: Target
) -> float:
    """Return the share of the predicted quantiles that the training rows identify."""
    within = np.ones(curve.values.shape, dtype=np.bool_)
    if identified_to is not None:
        within &= curve.taus <= identified_to[:, None] + ROUNDING
    if not hasattr(model, "identified_level"):
        # The model does not tell it row by row: use the follow-up of all training rows.
        followed = censoring_kaplan_meier(train.time, train.event)
        within &= followed(curve.values, side="left") >= SMALLEST_FOLLOWED_SHARE
        within &= curve.values <= train.time.max()
    return float(within.mean())


def verdict_of(
    order: EvaluationRow,
    p_value: float,
    gap: Gap,
    error: tuple[str, ...],
    n_events: int,
    identified: float,
    doubt: str = "",
) -> dict[str, Any]:
    """Return sentences on order, calibration and follow-up, and the parts of the first.

    ``doubt`` says which scores may be biased.
    """
    ranking = _order(order)
    is_calibrated = bool(p_value >= _SIGNIFICANT or gap.size < SMALL_GAP)
    calibration = _calibrated(p_value, gap, error, n_events)
    share = f"{100 * identified:.0f} % of the predicted quantiles lie within the follow-up of the"
    return {
        "verdict": f"{ranking}, {calibration}. {share} training data." + (doubt and f" {doubt}."),
        "ranking": ranking,
        "calibration": calibration,
        "is_calibrated": is_calibrated,
    }


def _order(row: EvaluationRow) -> str:
    """Return what the interval of the concordance index says."""
    if np.isnan(row.value):
        return "The ranking of the individuals could not be judged"
    known = f"(concordance {row.value:.2f}, 95 % interval {row.lower:.2f} to {row.upper:.2f})"
    if row.lower > 0.5:
        return f"The individuals are ranked better than chance {known}"
    if row.upper < 0.5:
        return f"The individuals are ranked worse than chance {known}"
    return f"The ranking of the individuals cannot be distinguished from chance {known}"


def _calibrated(p_value: float, gap: Gap, error: tuple[str, ...], n_events: int) -> str:
    """Return what test and largest gap say of the calibration, and which way quantiles miss.

    With very many events the test rejects every model, so that the size of the gap decides.
    """
    shown = f"p = {p_value:.2g}" if p_value >= 0.001 else "p < 0.001"
    if p_value >= _SIGNIFICANT:
        text = f"and the predicted quantiles show no sign of miscalibration ({shown})"
        if n_events < _FEW_EVENTS:
            text += f", although the test has little power with {n_events} events"
        return text
    if gap.size < SMALL_GAP:
        return (
            f"and the predicted quantiles are close to calibrated: {gap.words}. An error of "
            f"{100 * gap.size:.1f} percentage points is small, although {n_events:,} events are "
            f"enough to detect it ({shown})"
        )
    way = f"they are {' and '.join(error)}" if error else "the shape of their distribution is wrong"
    text = f"but the predicted quantiles are not calibrated ({shown}): {way}"
    return text if np.isnan(gap.size) else f"{text}; {gap.words}"
