"""CoxQuantileRegressor: features multiply the hazard, at every time by the same factor."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from censquant._engine.training._parallel import side_by_side
from censquant._rows._features import dense
from censquant._storage._codec import Array, Entry, Fields, Object, Reader, Writer, require
from censquant._typing import Floats
from censquant._validation import check_choice, check_integer, check_number
from censquant.estimators._tabular import TableRows, TabularRegressor
from censquant.estimators.hazards._baseline import Baseline, PiecewiseHazard
from censquant.estimators.hazards._distribution import HazardCurve, ProportionalHazards
from censquant.estimators.hazards._partial_likelihood import PartialLikelihood
from censquant.estimators.hazards._ridge import RidgeFit, fit_ridge
from censquant.estimators.hazards._standardization import standardize
from censquant.exceptions import IdentifiabilityWarning
from censquant.export._graph import Value
from censquant.export._graphs_curves import FormulaCurve
from censquant.export._graphs_distributions import HazardsGraph
from censquant.survival import read_target

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
    "pieces": Object(
        {"edge": Array("f8", ("pieces",)), "rate": Array("f8", ("pieces",))},
        PiecewiseHazard,
        "_pieces",
    ),
}
# Standard deviations from the mean up to which a feature acts, or as far as it went in the fit.
_FURTHEST = 6.0
# The logarithm of the largest hazard ratio to the mean individual.
_LARGEST_LOG_RATIO = 30.0
_LARGEST = float(np.finfo(np.float64).max)


class CoxQuantileRegressor(TabularRegressor):
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

    coef_: Floats
    n_iter_: int

    def __init__(
        self,
        quantiles: ArrayLike | None = None,
        *,
        penalty: float = 0.1,
        ties: str = "efron",
        censoring: str = "right",
        random_state: Any = None,
    ) -> None:
        self.quantiles = quantiles
        self.penalty = penalty
        self.ties = ties
        self.censoring = censoring
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("penalty", self.penalty, minimum=0.0)
        check_choice("ties", self.ties, ("efron", "breslow"))

    # Fitting

    def _fit_rows(self, rows: TableRows, rng: np.random.Generator) -> None:
        latest_first = rows.take(np.argsort(-rows.time, kind="stable"))
        z, time = latest_first.x, latest_first.time
        event, weight = latest_first.event, latest_first.weight
        self._center, scale = standardize(z, weight)
        likelihood = PartialLikelihood(z, time, event, weight, self.ties)
        # Sums by one thread of BLAS give the same bits on every machine's number of cores.
        (fit,) = side_by_side([lambda stopping: fit_ridge(likelihood, float(self.penalty))])
        self._warn_of(fit, n_constant=int((z == 0.0).all(axis=0).sum()))

        self.coef_, self.n_iter_ = fit.coefficients / scale, fit.n_steps
        self._limits = _limits(self._center, scale, self._feature_range)
        eta = np.clip(z @ fit.coefficients, -_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO)
        times, hazard = likelihood.cumulative_hazard(eta)
        start = min(0.0, float(time[-1]))
        self._pieces = PiecewiseHazard.fit(start, time, event, weight, np.exp(eta))
        self._take_baseline(np.append(start, times), np.append(0.0, hazard))

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
                stacklevel=4,
            )
        if fit.separated:
            warnings.warn(
                "The partial likelihood has no maximum with penalty=0, since the features order "
                "the events perfectly in some direction: coefficients are where it had become "
                "flat; set penalty > 0.",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif not fit.converged:
            warnings.warn(
                f"Newton's method stopped after {fit.n_steps} steps before it converged, since the "
                "hazards of some rows differ beyond all measure: set a larger penalty, got "
                f"{self.penalty!r}, or look for extreme values in X.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # Predicting

    def _quantiles_and_end(self, x: Floats, levels: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
        curve, last = self._model_curve(x), np.full(len(x), float(self._baseline.time[-1]))
        return curve.at(levels), (last, curve.cdf(last))

    def _log_ratio(self, x: Floats) -> Floats:
        """Return the logarithms of hazard ratios to the mean individual."""
        eta = (np.clip(x, *self._limits) - self._center) @ self.coef_
        return np.clip(eta, -_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO)

    def _model_curve(self, x: Floats) -> HazardCurve:
        lower = -np.inf if self.time_transform_.mirror else self._lowest_time()
        distribution = ProportionalHazards(np.exp(self._log_ratio(x)), self._baseline)
        return HazardCurve(distribution, self._curve_levels(), lower)

    def _model_graph(self, x: Value) -> FormulaCurve:
        eta = (x.clip(*self._limits) - self._center).matmul(self.coef_[:, None])
        risk = eta.clip(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO).exp()
        lower = -np.inf if self.time_transform_.mirror else self._lowest_time()
        baseline = self._baseline
        if x.graph.coarse_times:
            known = baseline.time
            # Round times beside means of events: where events are few, these are far apart.
            even = x.graph.row_limits(np.linspace(known[0], known[-1], 1_000))
            times = np.concatenate([known[:1], x.graph.row_times(known[1:]), even[even > known[0]]])
            baseline = baseline.at(np.unique(times))
        return FormulaCurve(HazardsGraph(risk, baseline), self._curve_levels(), lower)

    def _quantiles_and_end_graph(
        self, x: Value, levels: Floats
    ) -> tuple[Value, tuple[Value, Value] | None]:
        end = x.graph.row_limits(self._baseline.time[-1:])
        curve, last = self._model_graph(x), x.graph.repeated(end, x)
        return curve.at(levels), (last, curve.levels_of(last))

    def log_likelihood(self, X: Any, y: Any) -> Floats:
        """Return the log-likelihood of each row: of its event, or of none until its time.

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
        target = read_target(y, n_samples=len(features))
        time, eta = self.time_transform_.forward(target.time), self._log_ratio(features)
        density = np.log(self._pieces.rate_at(time)) + eta
        survived = np.exp(eta) * self._pieces.cumulative(time)
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


def _limits(center: Floats, scale: Floats, known: Floats | None) -> Floats:
    """Return the smallest and the largest value of each feature that act, shape (2, p)."""
    with np.errstate(over="ignore"):
        around = np.stack([center - _FURTHEST * scale, center + _FURTHEST * scale])
    if known is not None:
        around = np.stack([np.minimum(around[0], known[0]), np.maximum(around[1], known[1])])
    return np.clip(around, -_LARGEST, _LARGEST)
