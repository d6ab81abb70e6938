"""Calibration of the predicted risk by one time: a smooth curve with a band, and groups."""

from dataclasses import dataclass
from functools import cached_property
from html import escape
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._calibration._censoring import (
    CensoringCurves,
    CommonCensoring,
    ModelledCensoring,
    chance_before,
)
from censquant._calibration._dependence import combined_p_value
from censquant._frames import html_table, pandas_for
from censquant._typing import Floats
from censquant._validation import check_integer, check_number
from censquant._warn import warn_user
from censquant.adapters import survival_of
from censquant.adapters._predictions import final_model, is_left_censored, is_supported
from censquant.exceptions import FewEventsWarning, TruncationWarning
from censquant.metrics._censoring_model import censoring_curve_of
from censquant.metrics._dependence import dependence_p_value, is_dependent
from censquant.metrics._reading import read_groups, read_rows
from censquant.metrics._risk_curve import (
    Spline,
    covariance_of_sum,
    fit_curve,
    logistic,
    weighted_quantiles,
)
from censquant.survival import (
    KaplanMeier,
    Target,
    censoring_kaplan_meier,
    kaplan_meier,
    read_target,
)
from censquant.survival._columns import read_numbers, read_weights
from censquant.survival._comparisons import normal_deviate
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE, SMALLEST_FOLLOWED_SHARE

# Within each of so many parts by predicted risk censoring has a curve of its own, if the parts have
# so many rows.
_N_PARTS, _FEWEST_OF_PART = 5, 50
# The curve is shown, and its band holds, between these quantiles of the predicted risks.
_CENTRE = (0.05, 0.95)
_N_POINTS = 101
# With fewer rows that have the event by the time, or that are followed past it, there is no curve.
_FEWEST = 10
# Risks of 0 and 1 have no odds, and where they are taken as has no weight in the curve.
_SMALLEST_RISK = 1e-4
_SIGNIFICANT = 0.05
_LINE = 79


class RiskBin(NamedTuple):
    """Rows of similar predicted risk, and how many of them had the event by the time."""

    predicted: float  # mean predicted risk
    observed: float  # estimated share with the event; NaN where nobody was followed so long
    lower: float  # ends of its interval
    upper: float
    n_rows: int
    n_events: int  # observed by the time


@dataclass(frozen=True, eq=False)
class CalibrationAt:
    """Observed against predicted risk of an event by one time.

    Made by `calibration_at`.

    Parameters
    ----------
    time : float
        By when.
    risk : ndarray of shape (k,), in (0, 1)
        Predicted risks at which the curve is known, from the 5 % to the 95 % quantile of those of
        the rows.
    curve : ndarray of shape (k,), in (0, 1)
        Share of the individuals of such a risk who have the event; NaN where there are too few
        events, or too few rows past the time.
    lower, upper : ndarray of shape (k,), in (0, 1)
        Ends of the band.
    bins : tuple of named tuples
        Groups by quantiles of the predicted risk: mean ``predicted`` risk, ``observed`` share with
        the ends ``lower`` and ``upper`` of its interval, ``n_rows`` and ``n_events``.
    predicted, observed : float
        Mean predicted risk, and the estimated share of all rows that have the event.
    observed_interval : tuple of float
        Ends of the interval of ``observed``.
    slope : float
        Of the line through observed against predicted log odds: 1 where the risks are right, below
        1 where they are too extreme, above 1 where they are too moderate.
    slope_interval : tuple of float
    ici, e50, e90 : float in [0, 1]
        Mean (integrated calibration index), median and 90 % quantile over the rows of the distance
        between curve and predicted risk.
    ici_by_chance : float
        Mean distance that the error of the curve alone brings about where all risks are right.
    p_value : float
        Of the hypothesis that the curve is the diagonal.
    n_rows, n_events, n_later : int
        Number of rows, of events observed by the time, and of rows that were followed past it.
    confidence : float in (0, 1)
        Of the band and of all intervals.
    is_simultaneous : bool
        Whether the band holds for the whole curve, or for each of its points.
    censoring_p_value : float or None
        Of the test that censoring does not depend on the features, given the predicted risk. None
        where nothing was tested.
    has_censoring_model : bool
        Whether the censoring of each row came from a model.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.metrics import calibration_at
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.2, 2, size=500)
    >>> found = calibration_at(1 - np.exp(-rate), None, rng.exponential(1 / rate), time=1.0)
    >>> bool(found.ici < 0.1), [one.n_rows for one in found.bins]
    (True, [100, 100, 100, 100, 100])
    """

    time: float
    risk: Floats
    curve: Floats
    lower: Floats
    upper: Floats
    bins: tuple[RiskBin, ...]
    predicted: float
    observed: float
    observed_interval: tuple[float, float]
    slope: float
    slope_interval: tuple[float, float]
    ici: float
    e50: float
    e90: float
    ici_by_chance: float
    p_value: float
    n_rows: int
    n_events: int
    n_later: int
    confidence: float
    is_simultaneous: bool
    censoring_p_value: float | None = None
    has_censoring_model: bool = False

    @property
    def verdict(self) -> str:
        """Sentences on the mean risk, the curve, and the censoring."""
        low, high = self.observed_interval
        found = [
            f"By {self.time:g} the mean predicted risk is {_percent(self.predicted)}, and "
            f"{_percent(self.observed)} ({_percent(low)} to {_percent(high)}) had the event."
        ]
        if np.isnan(self.p_value):
            found.append(
                f"There is no curve: {self.n_events} rows had the event by then and {self.n_later} "
                f"were followed for longer, and both must be {_FEWEST} or more."
            )
        else:
            shown = f"p = {self.p_value:.2g}" if self.p_value >= 0.001 else "p < 0.001"
            said = "show no sign of miscalibration"
            if self.p_value < _SIGNIFICANT:
                said = "are not calibrated"
            found.append(
                f"The predicted risks {said} ({shown}): they are off by "
                f"{100 * self.ici:.1f} percentage points on average, and right ones would seem to "
                f"be off by {100 * self.ici_by_chance:.1f}."
            )
        if is_dependent(self.censoring_p_value) and not self.has_censoring_model:
            found.append(
                "Censoring depends on the features also among individuals of the same predicted "
                "risk, so that the observed shares may be biased: pass a censoring_model."
            )
        return " ".join(found)

    def __str__(self) -> str:
        lines = [
            f"{self.n_rows} rows, {self.n_events} events by {self.time:g}, {self.n_later} rows "
            "followed for longer",
            "",
            f"{'predicted':>9}  {'observed':>8}  {_interval_name(self.confidence):>16}  "
            f"{'rows':>6}  {'events':>6}",
        ]
        lines += [
            f"{one.predicted:>9.3f}  {one.observed:>8.3f}  {_ends(one):>16}  {one.n_rows:>6}  "
            f"{one.n_events:>6}"
            for one in self.bins
        ]
        low, high = self.slope_interval
        lines += [
            "",
            f"ICI {self.ici:.3f}, E50 {self.e50:.3f}, E90 {self.e90:.3f}, calibration slope "
            f"{self.slope:.2f} ({low:.2f} to {high:.2f})",
            "",
            fill(self.verdict, _LINE),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (f"{b.predicted:.3f}", f"{b.observed:.3f}", _ends(b), f"{b.n_rows}", f"{b.n_events}")
            for b in self.bins
        ]
        names = ("predicted", "observed", _interval_name(self.confidence), "rows", "events")
        return f"{html_table(names, rows)}<p>{escape(self.verdict)}</p>"

    def to_frame(self) -> Any:
        """Return the groups as a DataFrame, one row per group.

        Returns
        -------
        frame : DataFrame
            With the columns ``predicted``, ``observed``, ``lower``, ``upper``, ``n_rows`` and
            ``n_events``.
        """
        pd = pandas_for("to_frame")
        return pd.DataFrame(list(self.bins), columns=list(RiskBin._fields))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _interval_name(confidence: float) -> str:
    return f"{100 * confidence:g} % interval"


def _ends(one: RiskBin) -> str:
    return "" if np.isnan(one.lower) else f"{one.lower:.3f} to {one.upper:.3f}"


def calibration_at(
    model: Any,
    X: Any,
    y: object,
    time: float,
    *,
    n_bins: int = 5,
    confidence: float = 0.95,
    simultaneous: bool = True,
    censoring_model: Any = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CalibrationAt:
    r"""Observed against predicted risk of an event by a time, as a smooth curve with a band.

    Answers "of those to whom the model gives a five-year risk of 20 %, how many have the event
    within five years?", for rows that the model has not seen. Each row gets a pseudo-observation,
    an estimate of whether its event comes by the time, right on average whatever censoring hid:

    .. math:: \psi = \frac{\delta 1[Y \le t]}{S_C(Y-)} + \frac{(1 - \delta) 1[Y \le t] m(Y)}{S_C(Y)}
              - \int_0^{\min(Y, t)} \frac{m(u)}{S_C(u)} d\Lambda_C(u), \qquad
              m(u) = P(T \le t | T > u)

    A natural cubic spline of the log odds of the predicted risk is fitted to them by logistic
    regression, with 4 knots for a few hundred events and 6 for very many. Errors are robust
    (sandwich) ones. For :math:`m` the hazards of individuals are taken to be proportional to that
    of the Kaplan-Meier curve, up to the observed risk of those with the same prediction: for a
    right censoring curve any :math:`m` would do.

    The band holds for the whole curve at once by default: a model is not calibrated, with the
    stated confidence, if the diagonal leaves it anywhere. Those of other software are often for
    each point by itself (``simultaneous=False``), and the diagonal leaves these more often.

    By default censoring may depend on the predicted risk: :math:`S_C` is a Kaplan-Meier curve of
    each fifth of the rows. Where it depends on features beyond that, the curve is biased unless the
    model is right about these; the result says if the data show it (``censoring_p_value``). With
    ``censoring_model`` each row has its own :math:`S_C`, and the curve is right if that is.

    The integrated calibration index is above 0 for a right model too, the more so the fewer the
    rows: read it beside ``ici_by_chance``. Interval and index are about this model on individuals
    like these: another training set is another model. A model that predicts one risk for everybody
    can be perfectly calibrated.

    Parameters
    ----------
    model : fitted model, or array-like of shape (n,)
        Any model for `censquant.adapters.survival_of`, for right-censored times, or the risks
        P(T <= time) that any model predicted for the rows.
    X : array-like or DataFrame of shape (n, n_features), or None
        Features of rows that the model was not fitted to; None where risks are given.
    y : target in any form, of n rows
        Their times and events.
    time : float
        By when, before the end of follow-up.
    n_bins : int, at least 1, default=5
        Number of groups by quantiles of the predicted risk. Their observed shares are those of
        Kaplan-Meier with its log-log interval. With ``censoring_model`` they are mean
        pseudo-observations, and so are the intervals with ``groups``.
    confidence : float in (0, 1), default=0.95
        Of the band and of all intervals.
    simultaneous : bool, default=True
        Whether the band holds for the whole curve, or for each of its points.
    censoring_model : fitted model or QuantileCurve, optional
        Model of the censoring time, fitted to ``(time, ~event)`` of the training rows, or the
        distributions that it predicts for the rows, as in `evaluate`.
    groups : array-like of shape (n,), optional
        Labels of rows that belong together, such as patients with several rows or hospitals:
        errors are then robust to what rows of a group share. Twenty groups or more are wanted.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows, in errors too.

    Returns
    -------
    result : CalibrationAt
        Print it, or draw it by `censquant.plotting.plot_calibration_at`. Where fewer than 10 rows
        have the event by the time, or fewer than 10 are followed past it, there is no curve but
        NaN, and a `censquant.exceptions.FewEventsWarning` says so.

    References
    ----------
    .. [1] P. C. Austin, F. E. Harrell, D. van Klaveren (2020). Graphical calibration curves and the
       integrated calibration index (ICI) for survival models. *Statistics in Medicine* 39.

    Examples
    --------
    The risk of a recurrence within three years, of women that the model has not seen.

    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.metrics import calibration_at
    >>> X, y = load_gbsg2()
    >>> model = CoxQuantileRegressor().fit(X[:300], y[:300])
    >>> found = calibration_at(model, X[300:], y[300:], time=1095)
    >>> found.n_rows, len(found.bins)
    (386, 5)
    >>> 0 < found.ici < 0.2, bool((found.lower < found.upper).all())
    (True, True)
    """
    at = check_number("time", time)
    count = check_integer("n_bins", n_bins, minimum=1)
    level = check_number("confidence", confidence, minimum=0, below=1, exclude_minimum=True)
    target = read_target(y)
    weight = read_weights(sample_weight, len(target))
    cluster = read_groups(groups, len(target))
    risk = _read_risk(model, X, target, at)
    modelled = None
    if censoring_model is not None:
        modelled = censoring_curve_of(censoring_model, X, len(target))
    kept = weight > 0
    rows = _Rows(
        at,
        target.take(kept),
        risk[kept],
        weight[kept],
        None if cluster is None else cluster[kept],
        None if modelled is None else ModelledCensoring(modelled.take(kept, reach=False)),
    )
    rows.check_follow_up()
    final, features = final_model(model if is_supported(model) else None, X)
    p_value = _dependence(final, features, target, risk)
    return _result(rows, count, level, bool(simultaneous), p_value)


def _read_risk(model: Any, X: Any, target: Target, time: float) -> Floats:
    """Return the predicted risks of the rows, by a model or as they are given."""
    if is_supported(model):
        if X is None:
            raise ValueError("X must be given where model is a fitted model, got None.")
        if is_left_censored(model):
            raise ValueError(
                "model must be fitted with censoring='right', since censored events are taken to "
                "come after their times, got censoring='left'."
            )
        risk = 1.0 - survival_of(model, X, [time])[:, 0]
    elif callable(getattr(model, "predict", None)):
        raise TypeError(
            "model must predict quantiles or survival curves, or be an array of risks, got "
            f"{type(model).__name__}."
        )
    else:
        risk = read_numbers(read_rows("model", model, len(target)), name="model")
    # Written so that NaN is refused.
    outside = np.flatnonzero(~((risk >= -1e-6) & (risk <= 1.0 + 1e-6)))
    if outside.size:
        raise ValueError(
            f"model must give risks in [0, 1], the chances of an event by time={time:g}, got "
            f"{risk[outside[0]]:g} in row {outside[0]}."
        )
    if len(risk) != len(target):
        raise ValueError(
            f"X must have one row for each of the {len(target)} rows of y, got {len(risk)}."
        )
    return np.clip(risk, 0.0, 1.0)


def _dependence(model: Any, X: Any, target: Target, risk: Floats) -> float | None:
    """Return the p-value of the test of censoring within parts of similar predicted risk."""
    if X is None:
        return None
    from sklearn.utils import _safe_indexing

    found = [
        dependence_p_value(model, _safe_indexing(X, part), target.take(part))
        for part in _parts(risk, np.ones(len(risk)))
    ]
    tested = [p for p in found if p is not None]
    return combined_p_value(np.array(tested)) if tested else None


def _parts(risk: Floats, weight: Floats) -> list[NDArray[np.intp]]:
    """Return the rows in parts by predicted risk."""
    return _bins(risk, weight, max(1, min(_N_PARTS, int(weight.sum()) // _FEWEST_OF_PART)))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of positive weight with their predicted risks."""

    time: float
    target: Target
    risk: Floats
    weight: Floats
    cluster: NDArray[np.intp] | None
    modelled: ModelledCensoring | None

    def __len__(self) -> int:
        return len(self.target)

    @property
    def is_event(self) -> NDArray[np.bool_]:
        """Whether the event was observed by the time."""
        return self.target.event & (self.target.time <= self.time)

    @property
    def is_later(self) -> NDArray[np.bool_]:
        """Whether a row was followed past the time."""
        return self.target.time > self.time

    @property
    def log_odds(self) -> Floats:
        """Of the predicted risks."""
        risk = np.clip(self.risk, _SMALLEST_RISK, 1.0 - _SMALLEST_RISK)
        return np.asarray(np.log(risk / (1.0 - risk)))

    @cached_property
    def censoring(self) -> list[tuple[NDArray[np.intp], CensoringCurves]]:
        """Parts of the rows with their curves of the censoring time."""
        if self.modelled is not None:
            return [(np.arange(len(self)), self.modelled)]
        target, weight = self.target, self.weight
        return [
            (
                part,
                CommonCensoring(
                    censoring_kaplan_meier(target.time[part], target.event[part], weight[part]),
                    len(part),
                ),
            )
            for part in _parts(self.risk, weight)
        ]

    def check_follow_up(self) -> None:
        """Refuse a time past all follow-up, and warn of one that few rows were followed to."""
        longest = self.target.time.max()
        hidden = ~self.target.event & (self.target.time < self.time)
        if self.time > longest and hidden.any():
            raise ValueError(
                f"time must not lie past the longest follow-up of y, {longest:g}, got "
                f"{self.time:g}: nothing was observed there."
            )
        late = np.zeros(len(self), np.bool_)
        for part, curve in self.censoring:
            chance = curve.before(np.full(len(part), self.time))
            late[part] = chance <= SMALLEST_CENSORING_CHANCE
        if self.weight @ (late & ~self.is_event) > SMALLEST_FOLLOWED_SHARE * self.weight.sum():
            warn_user(
                f"{int(late.sum())} of {len(self)} rows had hardly a chance to be followed up to "
                f"time={self.time:g}: their observed shares rest on few rows, take an earlier "
                "time.",
                TruncationWarning,
            )

    def n_known(self, part: NDArray[np.intp] | slice = slice(None)) -> float:
        """Return how many of some rows had the event by the time, or were followed for longer."""
        known = (self.is_event | self.is_later)[part]
        if self.cluster is not None:
            return float(np.unique(self.cluster[part][known]).size)
        return float(self.weight[part] @ known)

    def pseudo_observations(self, risk: Floats) -> Floats:
        """Return estimates of whether events come by the time; ``risk`` fills the gaps."""
        inside = np.clip(risk, _SMALLEST_RISK, 1.0 - _SMALLEST_RISK)
        curve = kaplan_meier(self.target.time, self.target.event, self.weight)
        model = _ProportionalRisk.of(curve, self.time, inside)
        limits, found = np.full((len(self), 1), self.time), np.empty(len(self))
        for part, censoring in self.censoring:
            own = self.target.take(part), limits[part], censoring, model.take(part)
            found[part] = chance_before(*own)[:, 0]
        return found


@dataclass(frozen=True, eq=False)
class _ProportionalRisk:
    """Distributions up to a time with hazards proportional to that of one curve."""

    time: Floats
    log_survival: Floats  # before the first time and after each
    factor: Floats  # of each row

    @classmethod
    def of(cls, curve: KaplanMeier, end: float, risk: Floats) -> "_ProportionalRisk":
        """Return the distributions with the given risks at the end."""
        early = curve.time <= end
        smallest = np.finfo(np.float64).tiny
        logs = np.append(0.0, np.log(np.maximum(curve.survival[early], smallest)))
        # Without an event by then no row is expected to have one on the way, whatever its risk.
        return cls(curve.time[early], logs, np.log1p(-risk) / min(logs[-1], -smallest))

    def cdf(self, times: Floats) -> Floats:
        """Return the chance of each row to have the event by its own times, at most the end."""
        logs = self.log_survival[np.searchsorted(self.time, times, side="right")]
        factor = self.factor if times.ndim == 1 else self.factor[:, None]
        return np.asarray(-np.expm1(factor * logs))

    def take(self, rows: Any, *, reach: bool = False) -> "_ProportionalRisk":
        """Return some of the rows."""
        return _ProportionalRisk(self.time, self.log_survival, self.factor[rows])


def _result(
    rows: _Rows, n_bins: int, confidence: float, simultaneous: bool, censoring_p_value: float | None
) -> CalibrationAt:
    """Return what rows show."""
    weight, risk, log_odds = rows.weight, rows.risk, rows.log_odds
    n_events, n_later = int(rows.is_event.sum()), int(rows.is_later.sum())
    fewest = min(float(weight @ rows.is_event), float(weight @ rows.is_later))
    centre = weighted_quantiles(log_odds, weight, _CENTRE)
    low, high = centre.tolist()
    at = np.linspace(low, high, _N_POINTS) if high > low else centre[:1]
    nothing = np.full(len(at), np.nan)
    curve, lower, upper, p_value, ici_by_chance = nothing, nothing, nothing, np.nan, np.nan
    distances = (np.nan,) * 3
    slope, slope_interval = np.nan, (np.nan, np.nan)
    pseudo = rows.pseudo_observations(risk)
    if fewest < _FEWEST:
        warn_user(
            f"{n_events} rows had the event by time={rows.time:g} and {n_later} were followed for "
            f"longer: a calibration curve needs {_FEWEST} of each, and is NaN.",
            FewEventsWarning,
        )
    else:
        basis = Spline.of(log_odds, weight, fewest)
        columns = basis(log_odds)
        # The gaps of the first curve are filled by what the model says, and those of the second
        # by the first curve, so that a wrong model does not confirm itself.
        first = fit_curve(columns, pseudo, weight, rows.cluster)
        pseudo = rows.pseudo_observations(logistic(columns @ first.coefficients))
        fit = fit_curve(columns, pseudo, weight, rows.cluster)
        shown = basis(at)
        reach = fit.reach(shown, confidence, simultaneous=simultaneous)
        middle = shown @ fit.coefficients
        curve, lower, upper = map(logistic, (middle, middle - reach, middle + reach))
        p_value = fit.p_value_of(basis.diagonal)
        fitted = logistic(columns @ fit.coefficients)
        distance = np.abs(fitted - risk)
        error = fitted * (1.0 - fitted) * fit.errors(columns)
        ici_by_chance = float(np.sqrt(2.0 / np.pi) * (weight @ error) / weight.sum())
        distances = (
            float(weight @ distance / weight.sum()),
            *weighted_quantiles(distance, weight, (0.5, 0.9)).tolist(),
        )
        if columns.shape[1] > 1:
            line = fit_curve(columns[:, :2], pseudo, weight, rows.cluster)
            error_of_slope = line.factor(confidence) * float(np.sqrt(line.covariance[1, 1]))
            slope = float(line.coefficients[1])
            slope_interval = (slope - error_of_slope, slope + error_of_slope)
    mean, error_of_mean = _mean(pseudo, weight, rows.cluster)
    return CalibrationAt(
        rows.time,
        logistic(at),
        curve,
        lower,
        upper,
        tuple(_bin(rows, part, pseudo, confidence) for part in _bins(risk, weight, n_bins)),
        float(weight @ risk / weight.sum()),
        float(np.clip(mean, 0.0, 1.0)),
        _limits(mean, error_of_mean, rows.n_known(), confidence),
        slope,
        slope_interval,
        *distances,
        ici_by_chance,
        p_value,
        len(rows),
        n_events,
        n_later,
        confidence,
        simultaneous,
        censoring_p_value,
        rows.modelled is not None,
    )


def _mean(values: Floats, weight: Floats, cluster: NDArray[np.intp] | None) -> tuple[float, float]:
    """Return a weighted mean with its standard error."""
    mean = float(weight @ values / weight.sum())
    spread, _ = covariance_of_sum((values - mean)[:, None], weight, cluster)
    return mean, float(np.sqrt(spread[0, 0])) / float(weight.sum())


def _limits(share: float, error: float, n_known: float, confidence: float) -> tuple[float, float]:
    """Return limits of a share with the event by the normal law of log(-log(1 - share)).

    That law has no width where none or all of the rows whose answer is known have it; the exact
    binomial limits of these rows take its place.
    """
    if error == 0.0 and share in (0.0, 1.0) and n_known > 0:
        most = 1.0 - ((1.0 - confidence) / 2.0) ** (1.0 / n_known)
        return (0.0, most) if share == 0.0 else (1.0 - most, 1.0)
    if not (0.0 < share < 1.0 and error > 0.0):
        low, high = (share + side * normal_deviate(confidence) * error for side in (-1, 1))
        return float(np.clip(low, 0.0, 1.0)), float(np.clip(high, 0.0, 1.0))
    log = np.log1p(-share)
    reach = normal_deviate(confidence) * error / ((1.0 - share) * -log)
    return tuple(float(-np.expm1(log * np.exp(side * reach))) for side in (-1, 1))  # type: ignore


def _bins(risk: Floats, weight: Floats, n_bins: int) -> list[NDArray[np.intp]]:
    """Return the rows in groups by quantiles of the predicted risk, equal risks together."""
    edges = np.unique(weighted_quantiles(risk, weight, np.arange(1, n_bins) / n_bins))
    place = np.searchsorted(edges, risk)
    return [np.flatnonzero(place == one) for one in np.unique(place)]


def _bin(rows: _Rows, part: NDArray[np.intp], pseudo: Floats, confidence: float) -> RiskBin:
    """Return the predicted and the observed risk of a group."""
    target, weight = rows.target.take(part), rows.weight[part]
    curve = kaplan_meier(target.time, target.event, weight)
    is_known = rows.time <= curve.time[-1] or curve.survival[-1] == 0
    cluster = None if rows.cluster is None else rows.cluster[part]
    if not is_known:
        observed, lower, upper = np.nan, np.nan, np.nan
    elif rows.modelled is None and cluster is None:
        observed = 1.0 - float(curve(rows.time))
        low, high = curve.limits(rows.time, confidence)
        lower, upper = 1.0 - float(high), 1.0 - float(low)
    else:
        mean, error = np.nan, np.nan
        if cluster is None or np.unique(cluster).size > 1:
            mean, error = _mean(pseudo[part], weight, cluster)
        observed = float(np.clip(mean, 0.0, 1.0))
        lower, upper = _limits(mean, error, rows.n_known(part), confidence)
    return RiskBin(
        float(weight @ rows.risk[part] / weight.sum()),
        observed,
        lower,
        upper,
        len(part),
        int(rows.is_event[part].sum()),
    )
