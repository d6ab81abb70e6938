"""AFTRegressor: features stretch or shorten time, whose distribution has a formula."""

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from censquant._engine.objectives._likelihoods import LocationScaleDistribution
from censquant._engine.training._parallel import side_by_side
from censquant._rows._features import check_is_fitted, dense
from censquant._rows._fit_data import FitData
from censquant._storage._codec import Array, Entry, Fields, Reader, Writer, require
from censquant._typing import Floats
from censquant._validation import check_choice, check_integer, check_number
from censquant.estimators._aft_likelihood import (
    LAWS,
    RESCUE,
    Fit,
    Law,
    LogRows,
    RowsLikelihood,
    fit_rows,
)
from censquant.estimators._cox import feature_limits
from censquant.estimators._cox_likelihood import standardize
from censquant.estimators._cox_precision import sandwich
from censquant.estimators._reading import Answers
from censquant.estimators._summary import CoefficientSummary
from censquant.estimators._tabular import EffectRegressor, group_places, n_independent, robust_note
from censquant.estimators.neural._trained_model import UserTimes
from censquant.exceptions import IdentifiabilityWarning
from censquant.export._graph import Value
from censquant.export._graphs_curves import FormulaCurve
from censquant.export._graphs_distributions import LocationScaleGraph
from censquant.export._graphs_networks import UserTimesGraph
from censquant.quantiles._distribution_curve import DistributionCurve
from censquant.survival import Target, read_target
from censquant.survival._target import GeneralTarget
from censquant.survival._transform import TimeTransform

_LOG_TIME = TimeTransform(log=True)
# A direction of features that is known moves a feature by all but rounding.
_KNOWN = 1e-6


def _count(name: str, value: Any) -> int:
    return check_integer(name, value, minimum=0)


_STORED: Fields = {
    "n_iter": Entry(_count, "n_iter_"),
    "n_rows": Entry(_count, "_n_rows"),
    "n_events": Entry(_count, "_n_events"),
    "log_likelihood": Entry(check_number, "log_likelihood_"),
    "penalty": Entry(lambda name, value: check_number(name, value, minimum=0.0), "penalty_"),
    "location": Entry(check_number, "_location"),
    "scale": Entry(
        lambda name, value: check_number(name, value, minimum=0.0, exclude_minimum=True), "scale_"
    ),
    "floor": Entry(lambda name, value: check_number(name, value, minimum=0.0), "_floor"),
    "coef": Array("f8", ("features",), "coef_"),
    "center": Array("f8", ("features",), "_center"),
    "limits": Array(
        "f8",
        (2, "features"),
        "_limits",
        says="mean of each feature, and the limits of its effect",
    ),
    # NaN at features that are constant or combinations of others.
    "covariance": Array("f8", ("terms", "terms"), "covariance_", optional=True, finite=False),
    "n_independent": Array("i8", (1,), "_n_independent", optional=True),
}


@dataclass(repr=False, eq=False)
class AFTRegressor(EffectRegressor):
    r"""Accelerated failure times: a Weibull, log-normal or log-logistic regression.

    Features multiply the time: :math:`\log T = \alpha + x'\beta + \sigma \varepsilon`, where the
    distribution of :math:`\varepsilon` is known. One unit of feature :math:`j` makes every quantile
    :math:`e^{\beta_j}` times as late, its acceleration factor. Coefficients maximise the likelihood
    of exact and censored rows, and have standard errors from the observed information;
    :meth:`summary` is the table. Rows may be right-, left- and interval-censored, and may have been
    under observation from a later time than 0 on (see :class:`Surv`).

    The tail is that of the distribution: right where the distribution is, else wrong by any factor,
    within the limit that all estimators have after the last observed time. Nothing bends, features
    do not interact, and the scale is the same for all. Where that is about right, a few dozen rows
    are enough.

    In predictions a feature acts up to six standard deviations from its mean, or as far as it went
    in the fit if that is further; beyond it stays at that limit.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels of ``predict_quantiles`` by default; fitting does not depend on them.
    distribution : {"weibull", "lognormal", "loglogistic", "exponential"}, default "weibull"
        Of the times, by the names of R's ``survreg``; lifelines calls them ``WeibullAFTFitter``,
        ``LogNormalAFTFitter`` and ``LogLogisticAFTFitter``. With ``"exponential"`` the scale is 1.
        The higher ``log_likelihood_``, the better a distribution suits the same data.
    penalty : float in [0, inf), default 0.0
        Strength of a ridge, in units of log-likelihood per row, on the coefficients of standardised
        features divided by the scale: independent of the number of rows and of all units, and for
        ``"weibull"`` that of :class:`CoxQuantileRegressor`. With 0 estimates are those of maximum
        likelihood; collinear features share their effect (the solution of smallest norm), with a
        warning, and where the likelihood has no maximum ``penalty_`` is 0.001, with a warning.
    censoring : {"right", "left"}, default "right"
        Whether a censored row's event lies after or before its time; a left-censored one lies
        between 0 and its time.
    random_state : int, RandomState, Generator or None
        For the model of follow-up; the coefficients do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Change of the logarithm of time per unit of each feature; 0 for constant ones.
    intercept_ : float
        Logarithm of time where all features and the residual are 0.
    scale_ : float
        Scale of the residuals; for ``"weibull"`` one over the shape.
    covariance_ : ndarray of shape (n_terms, n_terms) or None
        Covariance of the estimates: intercept, coefficients, and the logarithm of the scale unless
        it is fixed. It is the inverse of the observed information, with a penalty that of the
        penalised likelihood; the robust one where ``fit`` had ``groups``. NaN for features that are
        constant or collinear; None in members of an ensemble.
    standard_errors_ : ndarray of shape (n_terms,) or None
        Roots of its diagonal.
    log_likelihood_ : float
        Of the training rows, per unit of time, without the penalty.
    penalty_ : float
        The penalty of the fit.
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

    Notes
    -----
    Times must not be negative. An event at time 0, whose logarithm is none, counts as one at half
    the smallest positive event time. Whole weights count rows; other weights are scaled to a mean
    of 1, so that standard errors are those of as many rows as there are. With delayed entry each
    row counts given that it had no event until its entry. Predictions are of the time from 0 on
    nevertheless: what they say of times before the first entries rests on the distribution alone.

    References
    ----------
    .. [1] J. D. Kalbfleisch, R. L. Prentice (2002), The statistical analysis of failure time data.
    .. [2] J. P. Klein, M. L. Moeschberger (2003), Survival analysis, chapter 12.
    .. [3] J. Burridge (1981), A note on maximum likelihood estimation for regression models using
       grouped data, JRSS B 43: the likelihood is concave.

    Examples
    --------
    >>> from censquant import AFTRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2(as_frame=True)
    >>> model = AFTRegressor().fit(X[["age", "pnodes"]], y)
    >>> print(model.summary())
    AFTRegressor, distribution weibull: 686 rows, 299 events, log-likelihood -2608.788
    exp(coef) is the factor by which one unit multiplies times, with 95 % limits
    <BLANKLINE>
                     coef std. error      z         p exp(coef)     lower     upper
    intercept       7.765     0.2374  32.70 1.38e-234      2356      1480      3753
    age          0.003232   0.004357   0.74     0.458     1.003    0.9947     1.012
    pnodes        -0.0472   0.005162  -9.14  5.96e-20    0.9539    0.9443    0.9636
    log(scale)    -0.2904     0.0494  -5.88  4.16e-09     0.748    0.6789     0.824
    """

    quantiles: ArrayLike | None = None
    _: KW_ONLY
    distribution: str = "weibull"
    penalty: float = 0.0
    censoring: str = "right"
    random_state: Any = None

    _accepts = ("right", "interval", "delayed_entry")
    _ends_with_its_data = False
    _fits_reversed_times = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("distribution", self.distribution, tuple(LAWS))
        check_number("penalty", self.penalty, minimum=0.0)

    @property
    def _family(self) -> Law:
        return LAWS[self.distribution]

    # Fitting

    def _fit_rows(self, rows: FitData, rng: np.random.Generator) -> None:
        self._floor = _least_time(rows.target)  # whose logarithm is taken for that of 0
        self._n_rows, self._n_events = len(rows), rows.target.n_events
        log_rows, weight = self._log_rows(rows.target), rows.weight
        center, unit = log_rows.spread(weight)
        z = rows.x.copy()
        self._center, spread = standardize(z, weight)
        family, penalty = self._family, float(self.penalty)
        fixed = None if family.has_scale else unit
        inner = log_rows.moved(center, unit)
        # Sums by one thread of BLAS give the same bits on every machine's number of cores.
        (fit,) = side_by_side(
            [lambda stopping: fit_rows(z, inner, weight, family.residuals, penalty, fixed)]
        )
        self._warn_of(fit, n_constant=int((z == 0.0).all(axis=0).sum()))

        factor = unit / fit.phi
        self.coef_, self.n_iter_ = factor * fit.slopes / spread, fit.n_steps
        self.scale_ = factor if family.has_scale else 1.0
        self._location = center + factor * fit.level  # where all features have their means
        self._limits = feature_limits(self._center, spread, self._feature_range)
        self.penalty_ = fit.penalty
        self.covariance_ = self._n_independent = None
        if self._stands_alone:
            inner_covariance, groups = fit.covariance, group_places(rows.groups)
            if groups is not None:
                scores = _scores(fit, z, inner, family, weight)
                inner_covariance = sandwich(scores, inner_covariance, groups)
                self._n_independent = n_independent(groups, len(rows))
            self.covariance_ = self._covariance(fit, inner_covariance, spread)
        each = self._row_values(rows.x, rows.target)
        self.log_likelihood_ = float(weight @ each)

    def _log_rows(self, target: Target) -> LogRows:
        """Return targets as rows (entry, lower, upper]."""
        if isinstance(target, GeneralTarget):
            return LogRows.of(
                np.maximum(target.lower, 0.0), target.upper, np.maximum(target.entry, 0.0)
            )
        time, event = np.maximum(target.time, self._floor), target.event
        if self.censoring == "left":
            return LogRows.of(np.where(event, time, 0.0), time)
        # Who was censored at the start itself says nothing.
        lower = np.where(event, time, target.time)
        return LogRows.of(lower, np.where(event, time, np.inf))

    def _covariance(self, fit: Fit, inner: Floats, spread: Floats) -> Floats:
        """Return the covariance of intercept, coefficients and logarithm of the scale."""
        p, has_scale = len(spread), self._family.has_scale
        k = inner.shape[0]
        factor = self.scale_
        known = np.eye(p) if fit.basis is None else fit.basis
        slopes = np.zeros((1 + p + has_scale, k))
        slopes[1 : 1 + p, 1 : 1 + known.shape[1]] = factor * known / spread[:, None]
        slopes[0, 0] = factor
        if has_scale:
            slopes[1 : 1 + p, -1] = -self.coef_ / fit.phi
            slopes[0, -1] = -factor * fit.level / fit.phi
            slopes[-1, -1] = -1.0 / fit.phi
        slopes[0] -= self._center @ slopes[1 : 1 + p]
        # Of features as small as 1e-300 a variance is infinite.
        with np.errstate(over="ignore", invalid="ignore"):
            found = slopes @ inner @ slopes.T
        if fit.basis is not None:
            lost = 1.0 - (known**2).sum(axis=1) > _KNOWN
            unknown = 1 + np.flatnonzero(lost)
            found[unknown], found[:, unknown] = np.nan, np.nan
        return np.asarray(found)

    def _warn_of(self, fit: Fit, *, n_constant: int) -> None:
        """Warn of coefficients that are not what they seem; called by the caller of ``fit``."""
        n_unknown = fit.n_unknown - n_constant
        if n_unknown > 0 and self.penalty == 0:
            warnings.warn(
                f"X has {n_unknown} collinear columns or combinations of columns that the data say "
                "nothing about: with penalty=0 the coefficients of the smallest norm are taken; "
                "set penalty > 0 or drop columns.",
                IdentifiabilityWarning,
                stacklevel=5,
            )
        if fit.separated:
            warnings.warn(
                "The likelihood has no maximum with penalty=0, since in some direction of the "
                "features all events agree with the model exactly or no row has an event: a "
                f"penalty of {RESCUE:g} was taken; set penalty > 0, or drop columns.",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif not fit.converged:
            warnings.warn(
                f"Newton's method stopped after {fit.n_steps} steps before it converged: set a "
                f"larger penalty, got {self.penalty!r}, or look for extreme values in X and y.",
                ConvergenceWarning,
                stacklevel=5,
            )

    # What was estimated

    @property
    def intercept_(self) -> float:
        """Logarithm of time where all features and the residual are 0."""
        return float(self._location - self._center @ self.coef_)

    @property
    def standard_errors_(self) -> Floats | None:
        """Standard errors of intercept, coefficients and logarithm of the scale."""
        if self.covariance_ is None:
            return None
        return np.sqrt(np.diagonal(self.covariance_))

    def summary(self) -> CoefficientSummary:
        """Return coefficients with standard errors, tests and limits, to print or as a frame.

        ``exp(coef)`` of a feature is its acceleration factor, with its 95 % limits; ``z`` is the
        coefficient over its standard error and ``p`` Wald's two-sided p-value. With a penalty there
        are coefficients alone: they are drawn to 0, so that no test or limit would be valid.

        Returns
        -------
        summary : CoefficientSummary

        Examples
        --------
        >>> from censquant import AFTRegressor
        >>> from censquant.datasets import load_gbsg2
        >>> X, y = load_gbsg2(as_frame=True)
        >>> model = AFTRegressor(distribution="lognormal").fit(X[["pnodes"]], y)
        >>> model.summary().to_frame().loc["pnodes", ["coefficient", "standard_error"]].round(4)
        coefficient      -0.0621
        standard_error    0.0080
        Name: pnodes, dtype: float64
        """
        check_is_fitted(self, "quantiles_")
        terms, columns = ["intercept", *self._column_names()], ["", *self._term_columns()]
        values = [self.intercept_, *self.coef_.tolist()]
        if self._family.has_scale:
            terms, values = [*terms, "log(scale)"], [*values, float(np.log(self.scale_))]
            columns = [*columns, ""]
        penalised = f", penalty {self.penalty_:g}" if self.penalty_ > 0 else ""
        lines = [
            f"AFTRegressor, distribution {self.distribution}{penalised}: {self._n_rows:,} rows, "
            f"{self._n_events:,} events, log-likelihood {self.log_likelihood_:.7g}",
            "exp(coef) is the factor by which one unit multiplies times",
        ]
        covariance = self.covariance_ if self.penalty_ == 0 else None
        if covariance is not None:
            lines[-1] += ", with 95 % limits"
            lines += robust_note(self._n_independent, [self._n_rows])
        elif self.penalty > 0:
            lines.append("coefficients are drawn to 0: fit with penalty=0 for errors and tests")
        elif self.penalty_ > 0:
            lines.append("the likelihood has no maximum: there are no errors and tests")
        return CoefficientSummary.of_estimates(
            "\n".join(lines), terms, np.array(values), covariance, columns
        )

    def log_likelihood(self, X: Any, y: Any) -> Floats:
        """Return the log-likelihood of each row: of what is known of its event.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : target in any form that :meth:`fit` takes

        Returns
        -------
        log_likelihood : ndarray of shape (n,)
            Logarithm of the density, per unit of time, where the event was observed, and of the
            probability of a later event (left-censored: an earlier one) where it was not. Of an
            interval it is that of its probability; of a row with an entry all are given that there
            was no event until then.
        """
        features = dense(self._read_features(X))
        target = read_target(y, n_samples=len(features), accepts=self._accepts)
        _refuse_negative(target)
        return self._row_values(features, target)

    def _row_values(self, x: Floats, target: Target) -> Floats:
        rows = self._log_rows(target)
        likelihood = RowsLikelihood(rows, self._family.residuals)
        values = likelihood.values(self._log_location(x) / self.scale_, 1.0 / self.scale_)
        # Per unit of time instead of its logarithm.
        return values - np.where(rows.exact, rows.middle, 0.0)

    # Predicting

    def _log_location(self, x: Floats) -> Floats:
        shift = (np.clip(x, *self._limits) - self._center) @ self.coef_
        return np.asarray(self._location + shift)

    def _model_curve(self, x: Floats) -> DistributionCurve:
        location = self._log_location(x)
        scale = np.full(len(location), self.scale_)
        law = LocationScaleDistribution(location, scale, self._family.base)
        return DistributionCurve(UserTimes(law, _LOG_TIME), self._curve_levels(), 0.0)

    def _model_graph(self, x: Value) -> FormulaCurve:
        shift = (x.clip(*self._limits) - self._center).matmul(self.coef_[:, None])
        law = LocationScaleGraph(shift + self._location, self.scale_, self._family.base)
        return FormulaCurve(UserTimesGraph(law, _LOG_TIME), self._curve_levels(), 0.0)

    def _quantiles_and_end(self, x: Floats, levels: Floats) -> Answers:
        curve = self._model_curve(x)
        if self.time_transform_.mirror:
            return -curve.at(1.0 - levels[::-1])[:, ::-1], None
        return curve.at(levels), None

    def _quantiles_and_end_graph(
        self, x: Value, levels: Floats
    ) -> tuple[Value, tuple[Value, Value] | None]:
        curve = self._model_graph(x)
        if self.time_transform_.mirror:
            return -curve.at(1.0 - levels[::-1]).reversed(), None
        return curve.at(levels), None

    # Saving

    def _store(self, writer: Writer) -> None:
        writer.add(_STORED, self)
        super()._store(writer)

    def _restore(self, reader: Reader) -> None:
        super()._restore(reader)
        values: Mapping[str, Any] = reader.fill(self, _STORED)
        low, high = self._limits
        require((low <= high).all(), "holds limits that are not in order")
        n_terms = 1 + len(self.coef_) + self._family.has_scale
        covariance = values["covariance"]
        fits = covariance is None or covariance.shape == (n_terms, n_terms)
        require(fits, "holds a covariance of other terms")


def _scores(fit: Fit, z: Floats, rows: LogRows, law: Law, weight: Floats) -> Floats:
    """Return each row's derivatives of the log-likelihood, in the order of ``fit.covariance``."""
    inner = z if fit.basis is None else z @ fit.basis
    slopes = RowsLikelihood(rows, law.residuals).slopes(fit.level + z @ fit.slopes, fit.phi)
    x = np.column_stack((np.ones(len(z)), inner))
    scores = (weight * slopes.eta)[:, None] * x
    return np.column_stack((scores, weight * slopes.phi)) if law.has_scale else scores


def _refuse_negative(target: Target) -> None:
    smallest = float(target.time.min())
    if smallest < 0:
        raise ValueError(
            f"time must not be negative for AFTRegressor, got a minimum of {smallest:g}: use "
            "CoxQuantileRegressor or shift the times."
        )


def _least_time(target: Target) -> float:
    """Return the time that stands for 0, whose logarithm is none."""
    _refuse_negative(target)
    return TimeTransform.fit(target.time, target.event, "log").floor
