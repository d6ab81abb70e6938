"""CoxQuantileRegressor: features multiply the hazard, at every time by the same factor."""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from censquant._engine.training._parallel import side_by_side
from censquant._rows._features import check_is_fitted, dense
from censquant._rows._fit_data import MOST_TIMES, FitData, spread
from censquant._storage._codec import (
    Array,
    Entry,
    Fields,
    Object,
    Reader,
    Writer,
    require,
)
from censquant._typing import Floats
from censquant._validation import check_choice, check_integer, check_number
from censquant.estimators._coded import places_of
from censquant.estimators._cox_likelihood import (
    PartialLikelihood,
    RidgeFit,
    fit_ridge,
    standardize,
)
from censquant.estimators._cox_precision import (
    RiskSets,
    inverse_information,
    proportionality_tests,
    sandwich,
)
from censquant.estimators._summary import (
    ChiSquaredTests,
    CoefficientSummary,
    chi_squared_tail,
    wald_test,
)
from censquant.estimators._tabular import EffectRegressor, group_places, n_independent, robust_note
from censquant.exceptions import IdentifiabilityWarning
from censquant.export._graph import Value
from censquant.export._graphs_curves import FormulaCurve
from censquant.export._graphs_distributions import HazardsGraph
from censquant.quantiles._distribution_curve import DistributionCurve, LimitedDistribution
from censquant.survival import Target, kaplan_meier, read_target
from censquant.survival._target import GeneralTarget

# Standard deviations from the mean up to which a feature acts, or as far as it went in the fit.
_FURTHEST = 6.0
# The logarithm of the largest hazard ratio to the mean individual.
_LARGEST_LOG_RATIO = 30.0
_LARGEST = float(np.finfo(np.float64).max)
_EVENTS_PER_PIECE = 15
_FEWEST_PIECES, _MOST_PIECES = 2, 20
_PRIOR_EVENTS = 0.5
# Times at which survival is integrated exactly; between them the hazard is taken to be constant.
_MOST_NODES = 1_000
_LEAST_DECAY = 1e-8
# Rows at which a step of Newton's method is longer are not those of the fit.
_SAME_ROWS = 1e-4
_TIME_SCALES = {
    "km": "one minus the Kaplan-Meier curve",
    "identity": "time",
    "log": "the logarithm of time",
    "rank": "the rank of time",
}


@dataclass(frozen=True, eq=False)
class Baseline:
    """Cumulative hazard of the mean individual, linear between times of events.

    After the last event time the hazard is constant: there are no data. Where the first event
    falls on the start itself, the distribution has a point mass there.
    """

    time: Floats  # the start, then the distinct times of events
    hazard: Floats  # cumulative, 0 at the start
    tail_rate: float  # the hazard after the last event time

    def at(self, times: Floats) -> "Baseline":
        """Return the baseline that is linear between other times than those of events."""
        return Baseline(times, self.cumulative(times), self.tail_rate)

    def cumulative(self, time: Floats) -> Floats:
        """Return the cumulative hazard at times."""
        inside = np.interp(time, self.time, self.hazard, left=0.0)
        with np.errstate(over="ignore"):
            tail = self.tail_rate * np.maximum(time - self.time[-1], 0.0)
        return np.asarray(inside + tail)

    def time_at(self, hazard: Floats) -> Floats:
        """Return the times at which the cumulative hazard has values; its inverse."""
        inside = np.interp(hazard, self.hazard, self.time)
        with np.errstate(over="ignore"):
            tail = np.maximum(hazard - self.hazard[-1], 0.0) / self.tail_rate
        return np.asarray(inside + tail)


@dataclass(frozen=True, eq=False)
class PiecewiseHazard:
    """A hazard that is constant between a few times: events divided by the time at risk."""

    edge: Floats  # where each piece begins; it contains its end, and the last one has none
    rate: Floats

    @classmethod
    def fit(
        cls,
        start: float,
        time: Floats,
        event: NDArray[np.bool_],
        weight: Floats,
        risk: Floats,
        entry: Floats | None = None,
    ) -> "PiecewiseHazard":
        """Estimate the rates between quantiles of event times, drawn a little to their mean.

        ``risk`` are the hazard ratios: an individual at twice the hazard is at risk as two are.
        Nobody is at risk before the entry.
        """
        mass = weight[event]
        n_events = float(mass.sum())
        n_pieces = int(np.clip(n_events // _EVENTS_PER_PIECE, _FEWEST_PIECES, _MOST_PIECES))
        levels = np.arange(1, n_pieces) / n_pieces
        inner = np.unique(np.quantile(time[event], levels, method="inverted_cdf", weights=mass))
        edge = np.concatenate([[start], inner[(inner > start) & (inner < time.max())]])
        ends = np.append(edge[1:], np.inf)
        at_risk = weight * risk

        def up_to(times: Floats) -> Floats:
            spent = [
                at_risk @ np.clip(np.minimum(times, end) - begin, 0.0, None)
                for begin, end in zip(edge, ends, strict=True)
            ]
            return np.array(spent)

        exposure = up_to(time)
        if entry is not None:
            exposure = np.maximum(exposure - up_to(np.maximum(entry, start)), 0.0)
        events = np.bincount(_piece(edge, time[event]), weights=mass, minlength=len(edge))
        # All times at the start leave no time at risk, and any unit of time will do.
        mean_exposure = (float(exposure.sum()) or 1.0) / n_events
        rate = (events + _PRIOR_EVENTS) / (exposure + _PRIOR_EVENTS * mean_exposure)
        return cls(edge, rate)

    def rate_at(self, time: Floats) -> Floats:
        """Return the hazard at times."""
        return self.rate[_piece(self.edge, time)]

    def cumulative(self, time: Floats) -> Floats:
        """Return the cumulative hazard at times."""
        before = np.concatenate([[0.0], np.cumsum(self.rate[:-1] * np.diff(self.edge))])
        piece = _piece(self.edge, time)
        return before[piece] + self.rate[piece] * np.maximum(time - self.edge[piece], 0.0)


def _piece(edge: Floats, time: Any) -> NDArray[np.intp]:
    """Return the piece that each time falls into."""
    return np.asarray(np.maximum(np.searchsorted(edge, time, side="left") - 1, 0))


@dataclass(frozen=True, eq=False)
class ProportionalHazards:
    """Survival functions ``exp(-risk * H(t))`` of individuals with one baseline ``H``."""

    risk: Floats  # hazard ratios, shape (n,)
    baseline: Baseline

    def quantile(self, levels: Floats) -> Floats:
        """Return quantiles ``(n, k)`` at levels of shape ``(k,)`` or ``(n, k)``."""
        return self.baseline.time_at(-np.log1p(-levels) / self.risk[:, None])

    def cdf(self, times: Floats) -> Floats:
        """Return levels ``(n, T)`` of times of shape ``(T,)`` or ``(n, T)``."""
        if times.ndim == 2 and times.strides[0] == 0:  # common times that were broadcast
            times = times[:1]
        with np.errstate(over="ignore"):
            return np.asarray(-np.expm1(-self.risk[:, None] * self.baseline.cumulative(times)))

    def take(self, rows: Any) -> "ProportionalHazards":
        """Return the distributions of some of the individuals."""
        return replace(self, risk=self.risk[rows])

    def restricted_mean(self, horizon: float) -> Floats:
        """Return the means ``(n,)`` of the time up to a horizon, in the order of the risks."""
        known = self.baseline.time
        if horizon <= known[0]:
            return np.full(len(self.risk), horizon)
        kept = np.linspace(0, len(known) - 1, _MOST_NODES).round().astype(np.intp)
        times = known if len(known) <= _MOST_NODES else known[np.union1d(kept, 1)]
        end = min(horizon, known[-1])
        times = np.append(times[times < end], end)
        # A point mass at the start is behind the first of two equal times.
        hazard = self.baseline.cumulative(times)
        hazard[0] = 0.0
        survival = np.exp(-self.risk[:, None] * hazard)
        mean = times[0] + _means(survival, self.risk[:, None] * np.diff(hazard)) @ np.diff(times)
        if horizon <= known[-1]:
            return np.asarray(mean)
        rate = self.risk * self.baseline.tail_rate
        with np.errstate(over="ignore"):
            return np.asarray(mean - survival[:, -1] * np.expm1(-rate * (horizon - end)) / rate)


def _means(survival: Floats, decay: Floats) -> Floats:
    """Return the mean survival between neighbouring times, given its decay on the log scale."""
    # The difference of two numbers that are nearly equal would be rounding.
    before, clear = survival[:, :-1], decay > _LEAST_DECAY
    return np.where(clear, (before - survival[:, 1:]) / np.where(clear, decay, 1.0), before)


class HazardCurve(DistributionCurve):
    """Curves of proportional hazards, whose restricted means are areas under the curve.

    A rule over levels has errors that differ between individuals, so that two whose risks are
    close could change places.
    """

    distribution: ProportionalHazards | LimitedDistribution[ProportionalHazards]

    def _rows(self, rows: Any) -> "HazardCurve":
        return type(self)(self.distribution.take(rows), self.taus, self.lower)

    def _restricted_mean(self, horizon: float) -> Floats:
        law = self.distribution
        if not isinstance(law, LimitedDistribution):
            return law.restricted_mean(horizon)
        own, tail = law.own, law.tail
        mean = own.restricted_mean(min(horizon, tail.end))
        if horizon <= tail.end:
            return np.asarray(mean)
        # The baseline ends before the last observed time: its hazard is constant from there on.
        alive = 1.0 - own.cdf(np.array([tail.end]))[:, 0]
        return np.asarray(mean + alive * tail.area(own.risk * own.baseline.tail_rate, horizon))


_STORED: Fields = {
    "n_iter": Entry(lambda name, n: check_integer(name, n, minimum=0), "n_iter_"),
    "coef": Array("f8", ("features",), "coef_"),
    "center": Array("f8", ("features",), "_center"),
    "limits": Array(
        "f8",
        (2, "features"),
        "_limits",
        says="mean of each feature, and the limits of its effect",
    ),
    "baseline": Object(
        {"time": Array("f8", ("times",)), "hazard": Array("f8", ("times",))},
        partial(Baseline, tail_rate=0.0),  # which follows from the pieces
        "_baseline",
        says="all distinct event times, with the baseline hazard at each",
    ),
    # NaN at features that are constant or combinations of others.
    "covariance": Array("f8", ("features", "features"), "covariance_", optional=True, finite=False),
    "log_likelihoods": Array("f8", (2,), "_log_likelihoods", optional=True),
    "counts": Array("i8", (2,), "_counts", optional=True),
    "n_independent": Array("i8", (1,), "_n_independent", optional=True),
    "pieces": Object(
        {"edge": Array("f8", ("pieces",)), "rate": Array("f8", ("pieces",))},
        PiecewiseHazard,
        "_pieces",
    ),
}


@dataclass(repr=False, eq=False)
class CoxQuantileRegressor(EffectRegressor):
    r"""Cox's proportional hazards with a ridge penalty, as a distribution per individual.

    The hazard of an individual is that of the mean individual times :math:`\exp\{(x - \bar x)'
    \beta\}`, so that survival is :math:`S(t \mid x) = \exp\{-e^{(x - \bar x)'\beta} H_0(t)\}`.
    Coefficients minimise :math:`-\ell(\beta)/n + \frac{1}{2}\,` ``penalty`` :math:`|b|^2`, where
    :math:`\ell` is the partial likelihood and :math:`b` are the coefficients of standardised
    features. The baseline :math:`H_0` has no assumed shape. It is linear between times of events;
    after the last one the hazard is taken to be constant, which no data support: the reach of
    curves ends earlier.

    Nothing bends: a feature acts on the logarithm of the hazard by a straight line, all features
    act independently of each other, and no effect fades with time. Where that is about right, few
    rows are enough.

    Rows may have been under observation from a later time than 0 on (delayed entry, see
    :class:`Surv`): they count as at risk from their entry on, for coefficients and baseline alike.

    In predictions a feature acts up to six standard deviations from its mean, or as far as it went
    in the fit if that is further; beyond it stays at that limit.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels of ``predict_quantiles`` by default; fitting does not depend on them.
    penalty : float in [0, inf), default 0.1
        Strength of the ridge, in units of log-likelihood per row: independent of the number of
        rows and of the units of features. With 0 collinear features share their effect (the
        solution of smallest norm), with a warning.
    ties : {"efron", "breslow"}, default "efron"
        How events at the same time count. Breslow's rule shrinks coefficients and the hazard where
        there are many; Efron's does so much less.
    censoring : {"right", "left"}, default "right"
        Whether a censored row's event lies after or before its time. For ``"left"`` time runs
        backwards: the reversed hazard is proportional, :math:`F(t \mid x) = F_0(t)^{\exp(\cdot)}`,
        and a positive coefficient means later events.
    random_state : int, RandomState, Generator or None
        For the model of follow-up; the coefficients do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Logarithm of the hazard ratio per unit of each feature; 0 for constant ones.
    covariance_ : ndarray of shape (n_features, n_features) or None
        Covariance of the coefficients: the inverse of the observed information, or the robust one
        where ``fit`` had ``groups`` or weights that are not whole. NaN for features that are
        constant or collinear; None with a penalty and in members of an ensemble.
    standard_errors_ : ndarray of shape (n_features,) or None
        Roots of its diagonal.
    baseline_times_ : ndarray of shape (n_event_times,)
        Distinct times of events.
    baseline_cumulative_hazard_ : ndarray of shape (n_event_times,)
        Cumulative hazard at these times of an individual whose features have their means; for
        left-censored times the reversed one, minus the logarithm of the distribution function.
    n_iter_ : int
        Steps of Newton's method.
    quantiles_ : ndarray of shape (n_levels,)
    follow_up_ : tuple of float
        Smallest and largest observed time.
    horizon_ : float
        Default horizon of restricted means.
    time_transform_ : TimeTransform
    unique_times_ : ndarray
        Default times of survival functions: distinct event times, at most a thousand.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    .. [1] D. R. Cox (1972), Regression models and life-tables, JRSS B 34.
    .. [2] B. Efron (1977), The efficiency of Cox's likelihood function for censored data, JASA 72.
    .. [3] N. Breslow (1974), Covariance analysis of censored survival data, Biometrics 30.
    .. [4] D. Y. Lin, L. J. Wei (1989), The robust inference for the Cox proportional hazards model,
       JASA 84.
    .. [5] P. M. Grambsch, T. M. Therneau (1994), Proportional hazards tests and diagnostics based
       on weighted residuals, Biometrika 81.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2()
    >>> model = CoxQuantileRegressor(penalty=0.01).fit(X, y)
    >>> model.coef_.shape, model.score(X, y) > 0.65
    ((8,), True)
    >>> model.predict_quantiles(X[:2], [0.1, 0.25]).shape
    (2, 2)
    """

    quantiles: ArrayLike | None = None
    _: KW_ONLY
    penalty: float = 0.1
    ties: str = "efron"
    censoring: str = "right"
    random_state: Any = None

    _accepts = ("right", "delayed_entry")
    _is_empirical = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("penalty", self.penalty, minimum=0.0)
        check_choice("ties", self.ties, ("efron", "breslow"))

    # Fitting

    def _fit_rows(self, rows: FitData, rng: np.random.Generator) -> None:
        latest_first = np.argsort(-rows.timeline.time, kind="stable")
        target, weight = rows.timeline.take(latest_first), rows.weight[latest_first]
        z, time, event = rows.x[latest_first], target.time, target.event
        self._center, scale = standardize(z, weight)
        entry = target.entry if isinstance(target, GeneralTarget) else None
        likelihood = PartialLikelihood(z, time, event, weight, self.ties, entry)
        # Sums by one thread of BLAS give the same bits on every machine's number of cores.
        (fit,) = side_by_side([lambda stopping: fit_ridge(likelihood, float(self.penalty))])
        self._warn_of(fit, n_constant=int((z == 0.0).all(axis=0).sum()))

        self.coef_, self.n_iter_ = fit.coefficients / scale, fit.n_steps
        self._limits = feature_limits(self._center, scale, self._feature_range)
        eta = np.clip(z @ fit.coefficients, -_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO)
        times, hazard = likelihood.cumulative_hazard(eta)
        if not self._stands_alone:
            # An ensemble reads off a few levels, and its file must not grow with the rows.
            kept = spread(len(times), MOST_TIMES)
            times, hazard = times[kept], hazard[kept]
        self._learn_precision(rows)
        start = min(0.0, float(time[-1]))
        self._pieces = PiecewiseHazard.fit(start, time, event, weight, np.exp(eta), entry)
        self._take_baseline(np.append(start, times), np.append(0.0, hazard))

    def _learn_precision(self, rows: FitData) -> None:
        """Keep what :meth:`summary` says of the coefficients; members of an ensemble need none."""
        self.covariance_ = self._log_likelihoods = self._counts = self._n_independent = None
        if not self._stands_alone:
            return
        self._counts = np.array([len(rows), rows.target.n_events])
        if self.penalty > 0:
            return
        z = rows.x.copy()
        _, scale = standardize(z, rows.weight)
        sets = self._risk_sets(z, rows.timeline, rows.weight, z @ (self.coef_ * scale))
        without = replace(sets, eta=np.zeros(len(z)))
        self._log_likelihoods = np.array([without.log_likelihood(), sets.log_likelihood()])
        inverse, groups = inverse_information(sets.information()), group_places(rows.groups)
        # Weights that count no rows, as the order of rows has scaled them, have no information.
        if groups is not None or (rows.weight != 1.0).any():
            known = np.isfinite(np.diagonal(inverse))
            robust = sandwich(
                sets.residuals(), np.where(known[:, None] & known, inverse, 0), groups
            )
            inverse = np.where(known[:, None] & known, robust, np.nan)
            self._n_independent = n_independent(groups, len(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            self.covariance_ = inverse / np.outer(scale, scale)

    def _risk_sets(self, z: Floats, target: Target, weight: Floats, eta: Floats) -> RiskSets:
        entry = getattr(target, "entry", None)
        if entry is not None and not np.isfinite(entry).any():
            entry = None
        efron = self.ties == "efron"
        return RiskSets(z, target.time, entry, target.event, weight, eta, efron)

    def _take_baseline(self, times: Floats, hazard: Floats) -> None:
        """Keep the baseline, in model units for curves and in the user's as attributes."""
        # Occurrences over exposure, that of rows censored after the last event included: the
        # slope between the last events depends on one or two rows.
        self._baseline = Baseline(times, hazard, float(self._pieces.rate[-1]))
        turn = slice(None, None, -1) if self.time_transform_.mirror else slice(None)
        self.baseline_times_ = self.time_transform_.inverse(times[1:][turn])
        self.baseline_cumulative_hazard_ = hazard[1:][turn]

    def _warn_of(self, fit: RidgeFit, *, n_constant: int) -> None:
        """Warn of coefficients that are not what they seem; called by the caller of ``fit``."""
        n_unknown = fit.n_unknown - n_constant
        if n_unknown > 0:
            warnings.warn(
                f"X has {n_unknown} collinear columns or combinations of columns that the data say "
                "nothing about: with penalty=0 the coefficients of the smallest norm are taken; "
                "set penalty > 0 or drop columns.",
                IdentifiabilityWarning,
                stacklevel=5,
            )
        if fit.separated:
            warnings.warn(
                "The partial likelihood has no maximum with penalty=0, since the features order "
                "the events perfectly in some direction: coefficients are where it had become "
                "flat; set penalty > 0.",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif not fit.converged:
            warnings.warn(
                f"Newton's method stopped after {fit.n_steps} steps before it converged, since the "
                "hazards of some rows differ beyond all measure: set a larger penalty, got "
                f"{self.penalty!r}, or look for extreme values in X.",
                ConvergenceWarning,
                stacklevel=5,
            )

    # What was estimated

    @property
    def standard_errors_(self) -> Floats | None:
        """Standard errors of the coefficients."""
        if self.covariance_ is None:
            return None
        return np.sqrt(np.diagonal(self.covariance_))

    def summary(self) -> CoefficientSummary:
        """Return coefficients and hazard ratios with standard errors, tests and limits.

        Standard errors, tests and limits need ``penalty=0``: a penalty draws coefficients to 0, and
        no tests of them are valid. ``exp(coef)`` is the hazard ratio of one unit of a feature, with
        its limits; ``z`` is the coefficient over its standard error and ``p`` Wald's two-sided
        p-value. With ``ties="efron"`` numbers are those of R's ``coxph``.

        Returns
        -------
        summary : CoefficientSummary

        Examples
        --------
        >>> from censquant import CoxQuantileRegressor
        >>> from censquant.datasets import load_gbsg2
        >>> X, y = load_gbsg2(as_frame=True)
        >>> model = CoxQuantileRegressor(penalty=0).fit(X[["horTh", "pnodes"]], y)
        >>> print(model.summary())
        CoxQuantileRegressor, ties efron: 686 rows, 299 events, partial log-likelihood -1758.86
        likelihood-ratio test: chi-squared 58.49, df 2, p = 1.99e-13
        exp(coef) is the factor by which one unit multiplies the hazard, with 95 % limits
        <BLANKLINE>
                     coef std. error      z         p exp(coef)     lower     upper
        horTh      -0.357     0.1252  -2.85   0.00436    0.6998    0.5475    0.8944
        pnodes    0.05768   0.006656   8.67  4.46e-18     1.059     1.046     1.073
        """
        check_is_fitted(self, "quantiles_")
        penalised = f", penalty {self.penalty:g}" if self.penalty > 0 else ""
        title = f"CoxQuantileRegressor, ties {self.ties}{penalised}"
        if self._counts is not None:
            title += ": {:,} rows, {:,} events".format(*self._counts.tolist())
        lines = []
        if self._log_likelihoods is not None and self.covariance_ is not None:
            before, after = self._log_likelihoods.tolist()
            title += f", partial log-likelihood {after:.7g}"
            is_robust = self._n_independent is not None
            name = "Wald" if is_robust else "likelihood-ratio"
            statistic, df = wald_test(self.coef_, self.covariance_)
            if not is_robust:
                statistic = 2.0 * (after - before)
            p = chi_squared_tail(statistic, df)
            lines.append(f"{name} test: chi-squared {statistic:.4g}, df {df}, p = {p:.3g}")
        says = "the reversed hazard" if self.time_transform_.mirror else "the hazard"
        lines.append(f"exp(coef) is the factor by which one unit multiplies {says}")
        if self.covariance_ is not None:
            lines[-1] += ", with 95 % limits"
        elif self.penalty > 0:
            lines.append("coefficients are drawn to 0: fit with penalty=0 for errors and tests")
        lines += robust_note(self._n_independent, self._counts)
        return CoefficientSummary.of_estimates(
            "\n".join([title, *lines]),
            self._column_names(),
            self.coef_,
            self.covariance_,
            self._term_columns(),
        )

    def test_proportional_hazards(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        time_scale: str = "km",
    ) -> ChiSquaredTests:
        """Test whether hazard ratios stay the same over time, feature by feature and together.

        These are the score tests of Grambsch and Therneau that coefficients change linearly along a
        scale of time, as of R's ``cox.zph``. A small p-value speaks against the model; a large one
        with few events says little, and another time scale may find what one misses.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the fit, which the model does not keep. The fit must have ``penalty=0``.
        time_scale : {"km", "identity", "log", "rank"}, default "km"
            The scale: one minus the Kaplan-Meier curve, the time itself, its logarithm or its rank.

        Returns
        -------
        tests : ChiSquaredTests
            One row per column of ``X``, and ``all`` of them.

        Examples
        --------
        >>> from censquant import CoxQuantileRegressor
        >>> from censquant.datasets import load_gbsg2
        >>> X, y = load_gbsg2(as_frame=True)
        >>> X = X[["horTh", "tgrade", "pnodes"]]
        >>> model = CoxQuantileRegressor(penalty=0).fit(X, y)
        >>> print(model.test_proportional_hazards(X, y))
        Test of proportional hazards along one minus the Kaplan-Meier curve
        term    chi-squared  df         p
        horTh        0.1378   1      0.71
        tgrade        8.688   1    0.0032
        pnodes       0.9694   1     0.325
        all           9.973   3    0.0188
        """
        x = dense(self._read_features(X))
        check_choice("time_scale", time_scale, _TIME_SCALES)
        if self.penalty > 0:
            raise ValueError(
                "penalty must be 0 for a test of proportional hazards, since a penalty draws "
                f"coefficients to 0, got {self.penalty!r}: fit again with penalty=0."
            )
        rows = FitData.read(
            x, y, sample_weight, left=self.censoring == "left", accepts=self._accepts
        ).arranged()
        target, weight, z = rows.timeline, rows.weight, rows.x.copy()
        _, scale = standardize(z, weight)
        sets = self._risk_sets(z, target, weight, z @ (self.coef_ * scale))
        steps = sets.score() @ np.nan_to_num(inverse_information(sets.information()))
        if not np.abs(steps).max(initial=0.0) < _SAME_ROWS:
            raise ValueError(
                "X, y and sample_weight must be the rows of the fit, whose coefficients are the "
                "most likely ones, got others."
            )
        terms = places_of(self._term_columns())
        statistics, df = proportionality_tests(
            sets, _scaled(sets.times, sets, time_scale), list(terms.values())
        )
        title = f"Test of proportional hazards along {_TIME_SCALES[time_scale]}"
        names = (*terms, "all")
        return ChiSquaredTests(title, "term", names, statistics, df)

    # Predicting

    def _quantiles_and_end(self, x: Floats, levels: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
        law, end = self._law(x), self._baseline.time[-1:]
        reached = law.cdf(end)[:, 0]
        return np.maximum(law.quantile(levels), self._lowest()), (np.repeat(end, len(x)), reached)

    def _log_ratio(self, x: Floats) -> Floats:
        """Return the logarithms of hazard ratios to the mean individual."""
        eta = (np.clip(x, *self._limits) - self._center) @ self.coef_
        return np.clip(eta, -_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO)

    def _law(self, x: Floats) -> ProportionalHazards:
        return ProportionalHazards(np.exp(self._log_ratio(x)), self._baseline)

    def _lowest(self) -> float:
        return -np.inf if self.time_transform_.mirror else self._lowest_time()

    def _model_curve(self, x: Floats) -> HazardCurve:
        return HazardCurve(self._law(x), self._curve_levels(), self._lowest())

    def _model_graph(self, x: Value) -> FormulaCurve:
        eta = (x.clip(*self._limits) - self._center).matmul(self.coef_[:, None])
        risk = eta.clip(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO).exp()
        baseline = self._baseline
        if x.graph.coarse_times:
            known = baseline.time
            # Round times beside means of events: where events are few, these are far apart.
            even = x.graph.row_limits(np.linspace(known[0], known[-1], 1_000))
            times = np.concatenate([known[:1], x.graph.row_times(known[1:]), even[even > known[0]]])
            baseline = baseline.at(np.unique(times))
        return FormulaCurve(HazardsGraph(risk, baseline), self._curve_levels(), self._lowest())

    def _quantiles_and_end_graph(
        self, x: Value, levels: Floats
    ) -> tuple[Value, tuple[Value, Value] | None]:
        end = x.graph.row_limits(self._baseline.time[-1:])
        curve, last = self._model_graph(x), x.graph.repeated(end, x)
        return curve.at(levels), (last, curve.levels_of(last))

    def log_likelihood(self, X: Any, y: Any) -> Floats:
        """Return the log-likelihood of each row: of its event, or of none until its time.

        That of a row with an entry is given that it had no event until then.

        The baseline of the curves has no density that could be compared: its hazard is
        concentrated around the times of the events that were fitted, and new events fall in
        between. Here the hazard is constant between two to twenty quantiles of the event times, as
        many as have fifteen events in each, and the coefficients are the same.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : target in any form that :meth:`fit` takes

        Returns
        -------
        log_likelihood : ndarray of shape (n,)
            Logarithm of the density, per unit of time, where the event was observed, and of the
            probability of a later event (left-censored: an earlier one) where it was not.
        """
        features = dense(self._read_features(X))
        target = read_target(y, n_samples=len(features), accepts=self._accepts)
        time, eta = self.time_transform_.forward(target.time), self._log_ratio(features)
        density = np.log(self._pieces.rate_at(time)) + eta
        survived = np.exp(eta) * self._pieces.cumulative(time)
        if isinstance(target, GeneralTarget):
            start = np.maximum(target.entry, self._pieces.edge[0])
            survived -= np.exp(eta) * self._pieces.cumulative(start)
        return np.where(target.event, density, 0.0) - survived

    # Saving

    def _store(self, writer: Writer) -> None:
        writer.add(_STORED, self)
        super()._store(writer)

    def _restore(self, reader: Reader) -> None:
        super()._restore(reader)
        reader.fill(self, _STORED)
        times, hazard = self._baseline.time, self._baseline.hazard
        low, high = self._limits
        # The first event may fall on the start.
        in_order = (
            len(times) >= 2
            and len(self._pieces.edge) >= 1
            and times[1] >= times[0]
            and (np.diff(times[1:]) > 0).all()
            and (np.diff(self._pieces.edge) > 0).all()
            and (low <= high).all()
        )
        require(in_order, "holds a baseline or limits that are not in order")
        rises = hazard[0] == 0 and (np.diff(hazard) >= 0).all() and hazard[-1] > 0
        rises = rises and (self._pieces.rate > 0).all()
        require(rises, "holds a hazard that is not positive or falls")
        self._take_baseline(times, hazard)


def _scaled(times: Floats, sets: RiskSets, scale: str) -> Floats:
    """Return times of events along a scale."""
    if scale == "km":
        curve = kaplan_meier(sets.time, sets.event, entry=sets.entry)
        return np.asarray(1.0 - curve(times, side="left"))
    if scale == "log":
        if times[0] <= 0:
            raise ValueError(
                "time_scale='log' needs positive times of events, got a minimum of "
                f"{times[0]:g}: use 'km'."
            )
        return np.log(times)
    if scale == "rank":
        ordered = np.sort(sets.time)
        first, last = (np.searchsorted(ordered, times, side=side) for side in ("left", "right"))
        return (first + last + 1) / 2.0
    return times


def feature_limits(center: Floats, scale: Floats, known: Floats | None) -> Floats:
    """Return the smallest and the largest value of each feature that act, of shape (2, p)."""
    with np.errstate(over="ignore"):
        around = np.stack([center - _FURTHEST * scale, center + _FURTHEST * scale])
    if known is not None:
        around = np.stack([np.minimum(around[0], known[0]), np.maximum(around[1], known[1])])
    return np.clip(around, -_LARGEST, _LARGEST)
