"""One call that scores a model on held-out rows: a table of scores and a verdict in words."""

import inspect
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._progress import Bar
from censquant._typing import Floats
from censquant._validation import check_integer, seed_sequence
from censquant.adapters._predictions import (
    adapted_curve,
    final_model,
    is_left_censored,
    is_supported,
    survival_of,
)
from censquant.exceptions import TruncationWarning
from censquant.metrics._brier import default_brier_times
from censquant.metrics._calibration import ROUNDING, a_calibration, pit_curve
from censquant.metrics._calibration_at import calibration_at
from censquant.metrics._censoring_model import censoring_curve_of
from censquant.metrics._dependence import (
    MAY_BE_BIASED,
    dependence_p_value,
    dependence_words,
    is_dependent,
)
from censquant.metrics._distortion import Gap, fit_distortion, fit_general_distortion
from censquant.metrics._evaluation import Evaluation, EvaluationRow
from censquant.metrics._incidence import brier_score_of_kind, log_score_incidence
from censquant.metrics._intervals import Scored, interval_of, resampled, scored
from censquant.metrics._log_score import log_losses
from censquant.metrics._reading import (
    Mirror,
    levels_of,
    read_groups,
    read_levels,
    read_quantile_rows,
    read_training,
)
from censquant.metrics._scorers import METRICS, Metric
from censquant.metrics._verdict import SIGNIFICANT, SMALL_GAP, p_words, verdict_of
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES
from censquant.survival import Target, censoring_kaplan_meier, kaplan_meier, read_target
from censquant.survival._aalen_johansen import aalen_johansen_of
from censquant.survival._causes import Causes, read_known_causes
from censquant.survival._cells import cells_of_events
from censquant.survival._columns import read_numbers
from censquant.survival._kaplan_meier import SMALLEST_FOLLOWED_SHARE, default_horizon
from censquant.survival._kinds_of_rows import OF_ONE_KIND
from censquant.survival._target import GeneralTarget

_CONFIDENCE = 0.95  # of the intervals
# The line that the verdict takes the order from.
_RANKING = "concordance_restricted_mean"
# What is scored of rows with intervals or entries.
_OF_GENERAL_ROWS = ("log_score", "concordance_index", "concordance_restricted_mean")
# Fewer rows of a level are not judged.
_FEWEST_ROWS = 10
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


def evaluate(
    model_or_quantiles: Any,
    y_train: object,
    X_test: Any,
    y_test: object,
    *,
    taus: ArrayLike | None = None,
    censoring_model: Any = None,
    at: ArrayLike | None = None,
    by: Any = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
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
    at : float or array-like of times, optional
        Times by which predicted risks are judged, each by a line ``ici_at_...``: the mean distance
        between predicted and observed risk. `calibration_at` has the whole curve.
    by : str, int, callable or array-like of shape (n,), optional
        Scores also for the rows of each level of a column of ``X_test``, given by name or place,
        of what a function makes of ``X_test``, or of labels: at most 20 levels. Missing values are
        a level of their own, and levels with fewer than 10 rows or 2 events have no scores.
    groups : array-like of shape (n,), optional
        Labels of rows that belong together, such as the visits of a patient or the patients of a
        hospital: they are drawn together, so that intervals allow for what they share. Twenty
        groups or more are wanted. The tests of calibration and of censoring take rows for
        independent all the same, but that of ``at`` does not.
    sample_weight : array-like of shape (n,), optional
        Weights of the test rows in [0, inf); each row is drawn with its weight.
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
        if not all(one is None for one in (at, by, sample_weight)):
            raise ValueError(
                "at, by and sample_weight must be None for rows with intervals or entries, got "
                f"{len(general)} such rows."
            )
        train = read_training(y_train, OF_ONE_KIND)
        group = read_groups(groups, len(general))
        draws = count, seed, verbose
        return _evaluate_general(model, features, train, general, taus, group, draws)
    train = read_training(y_train)
    given, levels, identified_to = _predict(model, features, taus)
    target, predicted, grid, weight = read_quantile_rows(
        y_test, given, levels, sample_weight, at_least=2
    )
    group = read_groups(groups, len(target))
    times = () if at is None else tuple(_read_times(at, model))
    members = None if by is None else levels_of(read_levels(by, X_test, len(target)))
    lower = 0.0 if train.time.min() >= 0 else -np.inf
    mirror, observed = None, target
    if is_left_censored(model):
        mirror, lower = Mirror(float(max(train.time.max(), target.time.max()))), -np.inf
        target, train = mirror.target(target), mirror.target(train)
        predicted, grid = mirror.quantiles(predicted, grid)
        identified_to = None if identified_to is None else 1.0 - identified_to
    censoring = None
    if censoring_model is not None:
        censoring = censoring_curve_of(censoring_model, X_test, len(target), mirror, name="X_test")
    curve = QuantileCurve.from_predictions(predicted, grid, lower)
    judged = _Judged(
        model,
        features,
        train,
        target,
        observed,
        curve,
        identified_to,
        censoring,
        None if sample_weight is None else weight,
        group,
        mirror,
        lower,
        times,
        _risks(model, features, curve, times),
        (causes[0], causes[1]),
    )
    n_draws = count * (1 if members is None else 1 + len(members))
    with Bar("evaluation", n_draws, unit="draws") if verbose else nullcontext() as bar:
        whole = judged.evaluation(count, seed, bar)
        if members is None:
            return whole
        by_level = {
            label: judged.take(rows).evaluation(count, seed, bar) for label, rows in members
        }
    return replace(
        whole,
        by=by_level,
        by_name=str(by if isinstance(by, str) else getattr(by, "name", None) or "level"),
    )


def _read_times(at: ArrayLike, model: Any) -> list[float]:
    """Return the times by which risks are judged."""
    if is_left_censored(model):
        raise ValueError(
            "at must be None where the model has censoring='left', since risks by a time are "
            f"judged for events after censored times, got {at!r}."
        )
    times = np.unique(read_numbers(np.atleast_1d(np.asarray(at)), name="at"))
    if not (np.isfinite(times).all() and times.size):
        raise ValueError(f"at must be one or more finite times, got {at!r}.")
    return [float(time) for time in times]


def _risks(model: Any, features: Any, curve: QuantileCurve, times: tuple[float, ...]) -> Floats:
    """Return the predicted risks by some times, shape (n_rows, n_times)."""
    if not times:
        return np.empty((len(curve), 0))
    if is_supported(model):
        return 1.0 - survival_of(model, features, times)
    return 1.0 - curve.survival(times)


@dataclass(frozen=True, eq=False)
class _Judged:
    """Rows with everything that was predicted for them."""

    model: Any
    features: Any
    train: Target
    target: Target  # mirrored where the model is left-censored
    observed: Target
    curve: QuantileCurve
    identified_to: Floats | None
    censoring: QuantileCurve | None
    weight: Floats | None
    group: NDArray[np.intp] | None
    mirror: Mirror | None
    lower: float
    times: tuple[float, ...]  # by which risks are judged
    risks: Floats  # by these times
    # Of training and test rows, where the model and the rows know kinds of events
    causes: tuple[Causes | None, Causes | None]
    is_part: bool = False

    @property
    def y(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Times and events of the rows."""
        return self.target.time, self.target.event

    def take(self, rows: NDArray[np.intp]) -> "_Judged":
        """Return some of the rows."""
        from sklearn.utils import _safe_indexing

        def part(values: Any) -> Any:
            return None if values is None else values[rows]

        group = part(self.group)
        return replace(
            self,
            features=None if self.features is None else _safe_indexing(self.features, rows),
            target=self.target.take(rows),
            observed=self.observed.take(rows),
            curve=self.curve.take(rows, reach=False),
            identified_to=part(self.identified_to),
            censoring=None if self.censoring is None else self.censoring.take(rows, reach=False),
            weight=part(self.weight),
            group=None if group is None else np.unique(group, return_inverse=True)[1],
            risks=self.risks[rows],
            causes=(self.causes[0], None if self.causes[1] is None else self.causes[1].take(rows)),
            is_part=True,
        )

    def evaluation(self, n_resamples: int, seed: int, bar: Bar | None) -> "Evaluation":
        """Return the scores of the rows; without a value where they are too few."""
        target, train, curve, weight = self.target, self.train, self.curve, self.weight
        n_units = len(target) if self.group is None else int(self.group.max()) + 1
        if self.is_part and (len(target) < _FEWEST_ROWS or target.n_events < 2 or n_units < 2):
            return self._nothing()
        censoring_p_value = dependence_p_value(self.model, self.features, self.observed, target)
        horizon, times = default_horizon(train.time), default_brier_times(target, train)
        known = {"horizon": horizon, "kaplan_meier": _kaplan_meier_words(target, train, weight)}
        predictions = {
            "medians": (curve.at([0.5])[:, 0],),
            "restricted_means": (curve.restricted_mean(horizon),),
            "quantiles": (curve.values, curve.taus),
            "survival": (curve.survival(times), times),
        }
        offered = [m._replace(note=m.note.format(**known)) for m in METRICS if m.note]
        has_model = self.censoring is not None
        offered = [
            _with_censoring(metric, is_dependent(censoring_p_value), has_model)
            for metric in offered
        ]
        options: dict[str, Any] = {"y_train": (train.time, train.event), "lower": self.lower}
        if has_model:
            options["censoring_model"] = self.censoring
        table = [
            _Line.read(metric, self.y, predictions[metric.takes], options, weight)
            for metric in offered
        ]
        of_train, of_test = self.causes
        if of_train is not None and of_test is not None:
            is_biased = is_dependent(censoring_p_value)
            table += _lines_of_kinds(
                self.model, self.features, of_train, of_test, times, is_biased, weight
            )
        found = [line.scored for line in table if line.scored is not None]
        draws = (
            resampled(found, len(target), n_resamples, seed, bar, group=self.group).T
            if found
            else ()
        )
        values = iter(draws)
        rows = [line.row(None if line.scored is None else next(values)) for line in table]
        order = next(row for row in rows if row.metric == _RANKING)
        calibration = a_calibration(self.y, curve.values, curve.taus, sample_weight=weight)
        gap = _largest_gap(target, curve, weight)
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
        at_times = self._at_times()
        rows += [row for row, _ in at_times]
        identified = _identified_share(self.model, self.identified_to, curve, train, weight)
        is_mirrored = self.mirror is not None
        error = fit_distortion(target, curve, weight).words(is_mirrored=is_mirrored)
        if is_mirrored:
            gap = Gap(1.0 - gap.level, 1.0 - gap.observed)
        effect = (_DOUBT_BESIDE_MODEL, _REMEDY_OF_MODEL) if has_model else (_DOUBT,)
        doubt = dependence_words(censoring_p_value, *effect)
        said = verdict_of(
            order, calibration.p_value, gap, error, target.n_events, identified, doubt
        )
        said["verdict"] = " ".join([said["verdict"], *(words for _, words in at_times if words)])
        return Evaluation(
            rows=tuple(rows),
            identified=identified,
            n_rows=len(target),
            n_events=target.n_events,
            censoring_p_value=censoring_p_value,
            **said,
        )

    def _at_times(self) -> list[tuple[EvaluationRow, str]]:
        """Return the lines on risks by chosen times, with words where they are wrong."""
        found = []
        for time, risk in zip(self.times, self.risks.T, strict=True):
            name, ici, words = f"ici_at_{time:g}", np.nan, ""
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    one = calibration_at(
                        risk,
                        None,
                        self.y,
                        time,
                        censoring_model=self.censoring,
                        groups=self.group,
                        sample_weight=self.weight,
                    )
            except ValueError as error:
                note = str(error)
            else:
                ici = one.ici
                said = [str(entry.message) for entry in caught]
                if not np.isnan(ici):
                    shown = p_words(one.p_value)
                    said.insert(
                        0,
                        f"mean error of the risk by {time:g}; about {one.ici_by_chance:.2g} where "
                        f"all risks are right ({shown})",
                    )
                    if one.p_value < SIGNIFICANT and ici >= SMALL_GAP:
                        words = (
                            f"Predicted risks by {time:g} are not calibrated ({shown}): they are "
                            f"off by {100 * ici:.1f} percentage points on average."
                        )
                note = "; ".join(said)
            found.append((EvaluationRow(name, ici, np.nan, np.nan, "lower", note), words))
        return found

    def _nothing(self) -> "Evaluation":
        """Return scores without a value."""
        n_rows, n_events = len(self.target), self.target.n_events
        why = f"too few rows or events to judge ({n_rows} rows, {n_events} events)"
        names = [
            *((m.row or m.function.__name__, m.better) for m in METRICS if m.note),
            ("pit_deviation", "lower"),
            ("a_calibration_p_value", "higher"),
            *((f"ici_at_{time:g}", "lower") for time in self.times),
        ]
        rows = tuple(EvaluationRow(name, *(np.nan,) * 3, better, why) for name, better in names)
        verdict = f"{why[0].upper()}{why[1:]}."
        return Evaluation(rows, np.nan, verdict, n_rows, n_events, is_calibrated=False)


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
    group: NDArray[np.intp] | None,
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
            table.append(_Line.read(offered, target, predictions[metric.takes], options, None))
    count, seed, verbose = draws
    with Bar("evaluation", count, unit="draws") if verbose else nullcontext() as bar:
        found = [line.scored for line in table if line.scored is not None]
        scores = resampled(found, len(target), count, seed, bar, group=group)
        values = iter(scores.T)
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
    identified = _identified_share(model, identified_to, curve, train, None)
    return Evaluation(
        rows=tuple(rows),
        identified=identified,
        n_rows=len(target),
        n_events=target.n_events,
        **verdict_of(order, p_value, gap, error.words(), target.n_events, identified),
    )


def _lines_of_kinds(
    model: Any,
    features: Any,
    train: Causes,
    target: Causes,
    times: Floats,
    is_biased: bool,
    weight: Floats | None,
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
        whole = function(y, common, at, sample_weight=weight, **options)
        note += f"; Aalen-Johansen scores {whole:.4g}"
        weighs = function is brier_score_of_kind
        metric = Metric(
            function, "survival", "lower", note=note, row=name, for_equal_censoring=weighs
        )
        metric = _with_censoring(metric, is_biased, False)
        lines.append(_Line.read(metric, y, (incidence, at), options, weight))

    line(log_score_incidence, cells, "log_score_incidence", "when events come, and of which kind")
    options["y_train"] = (train.target.time, train.code)
    for place, kind in enumerate(target.kinds.tolist()):
        options["place"] = place
        name = f"integrated_brier_score_incidence[{kind}]"
        line(brier_score_of_kind, times, name, f"probability that {kind!r} comes first")
    return lines


def _kaplan_meier_words(target: Target, train: Target, weight: Floats | None) -> str:
    """Return the log score of the Kaplan-Meier curve of the training rows, the same for all.

    Nothing where these are the rows to score, to which the curve would be fitted.
    """
    if np.array_equal(train.time, target.time):
        return ""
    curve = kaplan_meier(train.time, train.event)
    losses = log_losses(target, cells_of_events(train), lambda times: 1.0 - curve(times))
    mean = losses.mean() if weight is None else weight @ losses / weight.sum()
    return f"; Kaplan-Meier scores {mean:.4g}"


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
        weight: Floats | None,
    ) -> "_Line":
        """Score all rows by a metric, with those of the options that it takes."""
        taken = inspect.signature(metric.function).parameters
        options = {name: value for name, value in options.items() if name in taken}
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", TruncationWarning)
                found = scored(metric.function, y, predictions[0], predictions[1:], options, weight)
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


def _largest_gap(target: Target, curve: QuantileCurve, weight: Floats | None) -> Gap:
    """Return the level at which predicted and observed shares of events differ most."""
    y = target.time, target.event
    nominal, observed = pit_curve(y, curve.values, curve.taus, sample_weight=weight)
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
    model: Any,
    identified_to: Floats | None,
    curve: QuantileCurve,
    train: Target,
    weight: Floats | None,
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
    if weight is not None:
        return float(weight @ within.mean(axis=1) / weight.sum())
    return float(within.mean())
