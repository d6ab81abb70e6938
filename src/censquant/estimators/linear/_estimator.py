"""LinearQuantileRegressor: quantiles that are linear in the features."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import pandas_for
from censquant._rows._encoder import enough_rows
from censquant._rows._features import check_is_fitted, listed, refuse_overflow
from censquant._rows._fit_data import FitData
from censquant._storage._codec import (
    Array,
    Entry,
    Fields,
    Reader,
    Writer,
    kind,
    refuse_arrays,
)
from censquant._trees._follow_up import FEATURES, FollowUp, ReachRule, followed, restore_features
from censquant._typing import Floats
from censquant._validation import (
    check_choice,
    check_flag,
    check_integer,
    check_n_jobs,
    check_number,
    seed_sequence,
)
from censquant.estimators._coded import CodedFeatures
from censquant.estimators._summary import CoefficientSummary
from censquant.estimators.linear._design import DistinctRows
from censquant.estimators.linear._fits import PathFitter, covariance_of, scale_of, spread_of
from censquant.estimators.linear._methods import Path
from censquant.exceptions import IdentifiabilityWarning
from censquant.export._graph import Value
from censquant.export._graphs_curves import GraphCurve, GridCurve
from censquant.export._graphs_trees import followed_graph, reach_graph
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Target
from censquant.survival._target import require_events
from censquant.survival._transform import TimeTransform

_LARGEST = float(np.finfo(np.float64).max)
_METHODS = (
    "portnoy",
    "peng-huang",
    "wang-wang",
    "data-augmentation",
    "powell",
    "fitzenberger",
)
_KNOWN_CENSORING = ("powell", "fitzenberger")
_BOOTSTRAPS = ("jackknife", "pairs", "weights")
# Levels of the path that a curve passes through where fewer than two requested ones are identified.
_CURVE_LEVELS = 20
_STORED: Fields = {
    "has_intercept": Entry(check_flag, "_has_intercept"),
    "stopped_at": Entry(check_number, "stopped_at_", optional=True),
    "bandwidth": Entry(check_number, "bandwidth_", optional=True),
    "note": Entry(kind(str), "_note"),
    "coef": Array("f8", ("levels", "features"), "coef_"),
    "intercept": Array("f8", ("levels",), "intercept_"),
    # NaN at columns that are linear combinations of others.
    "standard_errors": Array(
        "f8", ("levels", "terms"), "standard_errors_", optional=True, finite=False
    ),
    "confidence_intervals": Array(
        "f8", ("levels", "terms", 2), "confidence_intervals_", optional=True, finite=False
    ),
    "covariance": Array(
        "f8", ("levels", "terms", "terms"), "covariance_", optional=True, finite=False
    ),
    "path_levels": Array("f8", ("path",), "_path_levels", optional=True),
    "path_coefficients": Array("f8", ("path", "columns"), "_path_coefficients", optional=True),
}


class LinearQuantileRegressor(CodedFeatures):
    """Censored quantile regression (CQR) with quantiles that are linear in the features.

    Every level has its own coefficients, so that a feature may shift early times and not late
    ones. Nothing is assumed about the distribution. All methods solve linear programmes:

    - ``"portnoy"`` redistributes censored rows to later times, level after level (Portnoy 2003);
      without features it is the Kaplan-Meier curve;
    - ``"peng-huang"`` solves a martingale estimating equation (Peng and Huang 2008), the analogue
      of Nelson and Aalen's estimator;
    - ``"wang-wang"`` redistributes censored rows by Kaplan-Meier curves of similar rows (Wang and
      Wang 2009), for at most five features;
    - ``"data-augmentation"`` draws times for censored rows from the fitted quantiles, fits again,
      and so on; the mean is the estimate (Yang, Narisetty and He 2018);
    - ``"powell"`` needs the censoring time of every row, also of those with an event, as with a
      detection limit or a fixed end of the study (Powell 1986). Its loss is not convex: the best
      of several searches is kept;
    - ``"fitzenberger"`` minimises Powell's loss by another search (Fitzenberger 1997), which finds
      lower minima more often and takes longer with many rows.

    The first four assume that censoring is independent of the event given the features. Portnoy's,
    Peng and Huang's and data augmentation also assume that quantiles are linear at all levels below
    the one of interest, the others at that level alone. Where nothing is censored, all are
    plain quantile regression. Quantiles of a linear model may cross far from the data; predictions
    are sorted, coefficients are not.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        The levels whose coefficients are fitted.
    method : {"portnoy", "peng-huang", "wang-wang", "data-augmentation", "powell", \
"fitzenberger"}, default "portnoy"
    fit_intercept : bool, default True
    time_transform : {None, "log"}, default None
        Whether the logarithm of the time is linear in the features; coefficients then refer to the
        logarithm, predictions are always times.
    step : float in (0, 1), optional
        Distance of the intermediate levels that ``"portnoy"``, ``"peng-huang"`` and
        ``"data-augmentation"`` pass through, beginning at one over the number of distinct rows; by
        default 0.001 for up to 1,000 rows, then in proportion to them, and never more than in R's
        ``crq``, whose step ``"data-augmentation"`` takes.
    bandwidth : float, optional
        For ``"wang-wang"``: distance from which on rows are no neighbours, in standard
        deviations of each feature; by default chosen by cross-validation.
    censoring : {"right", "left"}, default "right"
        Whether a censored row's event lies after or before its time.
    n_bootstrap : int, default 0
        Replications for standard errors and confidence limits; 200 are enough. For
        ``"data-augmentation"`` they are the rounds themselves, at no further cost; 0 means 100
        rounds whose spread is not reported.
    bootstrap : {"jackknife", "pairs", "weights"}, default "jackknife"
        Whether a replication leaves out ``2 * ceil(sqrt(n))`` rows, draws rows with replacement, or
        gives them exponential weights.
    n_jobs : int, optional
        Threads over replications; None means 1, -1 uses all cores. The result does not depend on
        it.
    random_state : int, RandomState, Generator or None
        For the replications, the searches of Powell's loss, drawn times and cross-validation.

    Attributes
    ----------
    quantiles_ : ndarray of shape (n_levels,)
        The requested levels that the data identify. Where it is a single one, predicted curves
        also pass through lower levels that the fit needed.
    coef_ : ndarray of shape (n_levels, n_features)
    intercept_ : ndarray of shape (n_levels,)
    stopped_at_ : float or None
        The first level that is not identified, if a requested level was left out for that.
    crossing_levels_ : ndarray of shape (n,) or None
        For ``"portnoy"``, F(c given x), the level at which the fit passed each censored row; NaN
        for events and for rows that it did not pass.
    standard_errors_ : ndarray of shape (n_levels, n_terms) or None
        Of the intercept, if there is one, and the features.
    confidence_intervals_ : ndarray of shape (n_levels, n_terms, 2) or None
        Limits of 95 % intervals.
    covariance_ : ndarray of shape (n_levels, n_terms, n_terms) or None
        Covariance of the coefficients of each level.
    bandwidth_ : float or None
        For ``"wang-wang"``, the bandwidth given or chosen, None where nothing was censored.
    follow_up_ : tuple of float
        Smallest and largest observed time.
    horizon_ : float
        Default horizon of restricted means: the last time at which one in twenty of the training
        rows is still at risk.
    time_transform_ : TimeTransform
    unique_times_ : ndarray
        Default times of survival functions: distinct event times, at most a thousand.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    .. [1] S. Portnoy (2003), Censored regression quantiles, JASA 98.
    .. [2] L. Peng, Y. Huang (2008), Survival analysis with quantile regression models, JASA 103.
    .. [3] J. L. Powell (1986), Censored regression quantiles, Journal of Econometrics 32.
    .. [4] B. Fitzenberger (1997), A guide to censored quantile regressions, Handbook of
       Statistics 15.
    .. [5] H. J. Wang, L. Wang (2009), Locally weighted censored quantile regression, JASA 104.
    .. [6] X. Yang, N. N. Narisetty, X. He (2018), A new approach to censored quantile regression
       estimation, Journal of Computational and Graphical Statistics 27.

    Examples
    --------
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2()
    >>> model = LinearQuantileRegressor([0.1, 0.25], time_transform="log").fit(X, y)
    >>> model.coef_.shape
    (2, 8)
    >>> model.score(X, y) > 0.6
    True
    """

    quantiles_: Floats
    unique_times_: Floats
    follow_up_: tuple[float, float]
    horizon_: float
    n_features_in_: int
    coef_: Floats
    intercept_: Floats
    stopped_at_: float | None
    bandwidth_: float | None
    crossing_levels_: Floats | None
    standard_errors_: Floats | None
    confidence_intervals_: Floats | None
    covariance_: Floats | None
    time_transform_: TimeTransform
    # A curve needs two levels: where fewer of the requested ones are identified, these are levels
    # of the path that led to them, and the intercept and the coefficients there.
    _path_levels: Floats | None = None
    _path_coefficients: Floats | None = None
    _follow_up: FollowUp | None  # how long individuals were followed, None if nothing was censored
    _reads_features = True
    _has_intercept: bool
    _note: str

    def __init__(
        self,
        quantiles: ArrayLike | None = None,
        *,
        method: str = "portnoy",
        fit_intercept: bool = True,
        time_transform: str | None = None,
        step: float | None = None,
        bandwidth: float | None = None,
        censoring: str = "right",
        n_bootstrap: int = 0,
        bootstrap: str = "jackknife",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.quantiles = quantiles
        self.method = method
        self.fit_intercept = fit_intercept
        self.time_transform = time_transform
        self.step = step
        self.bandwidth = bandwidth
        self.censoring = censoring
        self.n_bootstrap = n_bootstrap
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Fitting

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        censoring_time: ArrayLike | None = None,
    ) -> Self:
        """Fit to features and possibly censored times.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            A column that is constant or a linear combination of others has the coefficient 0, with
            a warning. Columns of text and categories of a frame become one coefficient for each
            level but the first in alphabetical order; missing values are a level.
        y : structured array, (time, event) tuple, DataFrame, dict or 1-D array
            Times and whether the event was observed; a plain array means that all were.
        sample_weight : array-like of shape (n,), optional
            A weight counts a row as that many equal rows; replications draw rows, not copies.
        groups : array-like of shape (n,), optional
            Rows of the same group may depend on each other, such as visits of one patient.
            Replications then draw or leave out whole groups; coefficients do not depend on it.
            Needs ``n_bootstrap``.
        censoring_time : array-like of shape (n,), optional
            For ``method="powell"`` and ``"fitzenberger"``: the time at which each row would have
            been censored, also if its event was observed; infinite if it could not be censored.
            Needed where any row is censored.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._check_groups(groups)
        taus, left = check_quantiles(self.quantiles), self.censoring == "left"
        data = FitData.read(
            X,
            y,
            sample_weight,
            groups,
            censoring_time=self._usable(censoring_time),
            read_features=self._fit_features,
            left=left,
        )
        limit = self._limits(data)
        used = data.take(np.flatnonzero(data.weight > 0))
        require_events(used.target)
        transform = _read_transform(self.time_transform, used.target, mirror=left)
        _refuse_sums_that_overflow(data, self._column_names())
        if self._stands_alone:
            data.warn_of_leaks(self._column_names())
        rows = DistinctRows.among(
            data.x,
            Target(transform.forward(data.target.time), data.target.event),
            np.where(np.isfinite(limit), transform.forward(limit), np.inf),
            data.weight,
            data.groups,
        )
        fitter = PathFitter.of(
            rows,
            self.method,
            transform.levels(taus),
            intercept=bool(self.fit_intercept),
            step=self.step,
            bandwidth=self.bandwidth,
            n_draws=self.n_bootstrap,
        )
        own_seed, *seeds = seed_sequence(self.random_state).spawn(1 + self.n_bootstrap)
        rng = np.random.default_rng(own_seed)
        fitter = fitter.with_bandwidth(rng)
        path = fitter.path(rows.weight, rng)
        n_reached = len(path.at(fitter.taus))
        self._warn_of_what_is_left_out(fitter, taus, n_reached, path.stopped_at)
        fitter = fitter.up_to(n_reached)
        inner = path.at(fitter.taus)
        table = _outer(fitter.design.original(inner), mirror=left)
        if not np.isfinite(table).all():
            raise ValueError(
                "X must have columns whose spread is not negligible beside that of the times, got "
                "coefficients that overflow: rescale the columns or the times."
            )
        errors, intervals, covariance = self._precision(fitter, path, seeds)

        self.quantiles_ = taus[len(taus) - n_reached :] if left else taus[:n_reached]
        # Contiguous as after loading, so that products round the same way.
        self.coef_, self.intercept_ = table[:, 1:].copy(), table[:, 0].copy()
        self._path_levels = self._path_coefficients = None
        if n_reached == 1 and len(path.taus) > 1:
            way = path.thinned(_CURVE_LEVELS, fitter.taus)
            levels = _level(way.taus, mirror=left)
            self._path_levels = levels[::-1].copy() if left else levels
            self._path_coefficients = _outer(fitter.design.original(way.coefficients), mirror=left)
        self.stopped_at_ = _level(path.stopped_at, mirror=left)
        self.crossing_levels_ = None
        if self.method == "portnoy" and path.crossing_levels is not None:
            self.crossing_levels_ = _level(fitter.by_row(path.crossing_levels), mirror=left)
        self.standard_errors_, self.confidence_intervals_ = errors, intervals
        self.covariance_ = covariance
        self.bandwidth_ = fitter.bandwidth if fitter.method == "wang-wang" else None
        self.time_transform_ = transform
        self.follow_up_, self.horizon_ = used.follow_up, used.horizon
        self.unique_times_, self._feature_range = used.event_times(), used.feature_range
        self._follow_up = None
        if not used.target.event.all():
            self._follow_up = FollowUp.fit(
                rows.x, rows.target.time, rows.target.event, rows.weight, np.random.default_rng(0)
            )
        self._has_intercept = bool(self.fit_intercept)
        self._note = f"LinearQuantileRegressor, method {self.method}"
        if self.n_bootstrap:
            kind = "imputation" if path.draws is not None else self.bootstrap
            self._note += f"; limits from {self.n_bootstrap} {kind} replications"
            if rows.cluster is not None:
                self._note += f" of {rows.n_independent:,} groups"
        return self

    def _precision(
        self, fitter: PathFitter, path: Path, seeds: list[np.random.SeedSequence]
    ) -> tuple[Floats | None, Floats | None, Floats | None]:
        """Return standard errors, limits and covariances of the terms, if these are wanted."""
        if not seeds:
            return None, None, None
        design, inner = fitter.design, path.at(fitter.taus)
        if path.draws is not None:
            scale, tables = 1.0, fitter.draws_of(path.draws, path.taus)
        else:
            rows = fitter.rows
            of = "rows" if rows.cluster is None else "groups"
            scale = scale_of(self.bootstrap, rows.n_independent, design.X.shape[1], of)
            tables = fitter.replications(self.bootstrap, seeds, inner, self.n_jobs)
        mirror = self.censoring == "left"
        tables = _outer(tables, mirror=mirror)
        errors, limits = spread_of(_outer(design.original(inner), mirror=mirror), tables, scale)
        unknown = 1 + np.union1d(design.left_out, self._warn_of_few_rows(fitter))
        errors[:, unknown], limits[:, unknown] = np.nan, np.nan
        terms = slice(0 if self.fit_intercept else 1, None)
        covariance = covariance_of(tables[..., terms], errors[:, terms])
        return errors[:, terms], limits[:, terms], covariance

    def _warn_of_few_rows(self, fitter: PathFitter) -> NDArray[np.intp]:
        """Return the features that are the same in all but a few rows; only for ``fit``.

        Replications without these rows cannot be fitted, and the others have all of them.
        """
        x = fitter.rows.x[fitter.rows.group]
        n_others = (x != np.median(x, axis=0)).sum(axis=0)
        few = np.flatnonzero((n_others > 0) & (n_others < enough_rows(len(x))))
        if len(few):
            names = [self._column_names()[place] for place in few]
            warnings.warn(
                f"X has columns that are the same in all but {n_others[few].max()} rows or fewer "
                f"({listed(names)}): their coefficients have no standard errors; merge levels, or "
                "drop these columns.",
                IdentifiabilityWarning,
                stacklevel=4,
            )
        return few

    def _warn_of_what_is_left_out(
        self, fitter: PathFitter, taus: Floats, n_reached: int, stopped_at: float | None
    ) -> None:
        """Warn of columns and levels that the data do not identify; only for ``fit``."""
        left_out = fitter.design.left_out
        if len(left_out):
            names = self._column_names()
            listed = ", ".join(repr(names[column]) for column in left_out[:5])
            more = ", ..." if len(left_out) > 5 else ""
            warnings.warn(
                f"X has {len(left_out)} of {len(names)} columns that are constant or linear "
                f"combinations of others ({listed}{more}): their coefficients are set to 0.",
                IdentifiabilityWarning,
                stacklevel=3,
            )
        if n_reached < len(taus):
            left = self.censoring == "left"
            first = _level(stopped_at, mirror=left)
            hidden = f"up to about {first:.3g}" if left else f"from about {first:.3g} on"
            if n_reached == 0:
                raise ValueError(
                    "quantiles must hold a level that the data identify, got "
                    f"{tuple(taus.tolist())}: censoring hides the levels {hidden}."
                )
            warnings.warn(
                f"{len(taus) - n_reached} of {len(taus)} quantiles are left out, since censoring "
                f"hides the levels {hidden}.",
                IdentifiabilityWarning,
                stacklevel=3,
            )

    def _check_parameters(self) -> None:
        check_choice("method", self.method, _METHODS)
        check_flag("fit_intercept", self.fit_intercept)
        check_choice("time_transform", self.time_transform, (None, "log"))
        if self.step is not None:
            check_number("step", self.step, minimum=0.0, below=1.0, exclude_minimum=True)
        if self.bandwidth is not None:
            check_number("bandwidth", self.bandwidth, minimum=0.0, exclude_minimum=True)
        check_choice("censoring", self.censoring, ("right", "left"))
        check_integer("n_bootstrap", self.n_bootstrap, minimum=0)
        check_choice("bootstrap", self.bootstrap, _BOOTSTRAPS)
        check_n_jobs(self.n_jobs)

    def _check_groups(self, groups: Any) -> None:
        """Raise if groups are given where no replication would draw them."""
        if groups is None:
            return
        if self.method == "data-augmentation":
            raise ValueError(
                "groups must be None for method='data-augmentation', whose limits come from drawn "
                "times: use another method."
            )
        if self.n_bootstrap == 0:
            raise ValueError(
                "groups must be None without replications, which alone depend on them: set "
                "n_bootstrap=200, or leave groups out."
            )

    def _usable(self, censoring_time: Any) -> Any:
        """Return censoring times as given; ValueError if the method does not use them."""
        if censoring_time is not None and self.method not in _KNOWN_CENSORING:
            raise ValueError(
                "censoring_time must be None unless method='powell' or 'fitzenberger', got "
                f"censoring times with method={self.method!r}: leave it out."
            )
        return censoring_time

    def _limits(self, data: FitData) -> Floats:
        """Return the known censoring times, infinite where none was given."""
        if data.censoring_time is not None:
            return data.censoring_time
        n_censored = len(data) - data.target.n_events
        if n_censored and self.method in _KNOWN_CENSORING:
            raise ValueError(
                f"censoring_time must be given for method={self.method!r} where rows are censored, "
                f"got None with {n_censored} of {len(data)} rows censored: pass every row's "
                "censoring time, also of rows with an event, or use method='portnoy'."
            )
        return np.full(len(data), -np.inf if data.left else np.inf)

    # Predicting

    @property
    def _curve_levels(self) -> Floats:
        """The levels of predicted curves."""
        return self.quantiles_ if self._path_levels is None else self._path_levels

    def _predicted(self, features: NDArray[Any]) -> Floats:
        """Return quantiles in the units of the coefficients, one column per level of the curve."""
        slopes, intercept = self.coef_, self.intercept_
        if self._path_coefficients is not None:
            slopes, intercept = self._path_coefficients[:, 1:], self._path_coefficients[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            values: Floats = np.asarray(features, dtype=np.float64) @ slopes.T + intercept
        refuse_overflow(values, features, self._column_names())
        if self._path_levels is not None:
            # The requested level keeps the value of its own coefficients where neighbours cross it.
            place = int(np.searchsorted(self._path_levels, self.quantiles_[0]))
            own = values[:, place : place + 1]
            np.minimum(values[:, :place], own, out=values[:, :place])
            np.maximum(values[:, place:], own, out=values[:, place:])
        return values

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        values, left = self._predicted(features), self.time_transform_.mirror
        times = self.time_transform_.inverse(-values if left else values)
        curve = QuantileCurve.adopt(times, self._curve_levels, self._lowest_time())
        return self._limited(curve).with_reach(ReachRule(self, features), lowest=left)

    def _curve_of_graph(self, x: Value) -> tuple[GraphCurve, Value]:
        values, left = self._predicted_graph(x), self.time_transform_.mirror
        times = self.time_transform_.graph_inverse(-values if left else values)
        curve = GridCurve.of_predictions(times, self._curve_levels, self._lowest_time())
        curve = self._limited(curve)
        followed = followed_graph(self._follow_up, x, self.time_transform_, self.follow_up_)
        return curve, reach_graph(curve, followed, lowest=left)

    def _predicted_graph(self, x: Value) -> Value:
        if self._path_levels is None or self._path_coefficients is None:
            return x.matmul(self.coef_.T) + self.intercept_
        values = x.matmul(self._path_coefficients[:, 1:].T) + self._path_coefficients[:, 0]
        columns = np.arange(len(self._path_levels))
        place = int(np.searchsorted(self._path_levels, self.quantiles_[0]))
        own = values.columns([place])
        below = x.graph.constant(columns < place)
        return below.where(values.minimum(own), values.maximum(own))

    def _followed(self, features: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return how long individuals were followed, and the level reached by then."""
        return followed(self._follow_up, features, self.time_transform_, self.follow_up_)

    # Reporting

    def coef_table(self) -> Any:
        """Return the coefficients as a DataFrame, one row per level and one column per term.

        Returns
        -------
        table : DataFrame
            Indexed by ``quantile``; the columns are ``intercept``, if there is one, and the
            features.

        Examples
        --------
        >>> from censquant import LinearQuantileRegressor
        >>> model = LinearQuantileRegressor([0.5]).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        >>> table = model.coef_table()
        >>> table.columns.tolist()
        ['intercept', 'x0']
        """
        summary = self.summary()
        pd = pandas_for("coef_table")
        index = pd.Index(self.quantiles_, name="quantile")
        return pd.DataFrame(summary.coefficients, index=index, columns=list(summary.terms))

    def summary(self) -> CoefficientSummary:
        """Return coefficients, standard errors and limits of every level, to print or as a frame.

        Precision is available if the fit had replications, ``n_bootstrap``. ``z`` is the
        coefficient over its standard error and ``p`` Wald's two-sided p-value, as in R's
        ``summary.crq``. Limits and tests treat levels and terms one by one; ``joint_test`` of the
        summary tests several terms of each level together.

        Returns
        -------
        summary : CoefficientSummary

        Examples
        --------
        >>> from censquant import LinearQuantileRegressor
        >>> model = LinearQuantileRegressor([0.5]).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        >>> print(model.summary())
        LinearQuantileRegressor, method portnoy
        <BLANKLINE>
        quantile 0.5
                     coefficient
        intercept              1
        x0                     2
        """
        check_is_fitted(self, "quantiles_")
        terms, coefficients = self._column_names(), self.coef_
        columns = self._term_columns()
        if self._has_intercept:
            terms, columns = ["intercept", *terms], ["", *columns]
            coefficients = np.column_stack((self.intercept_, coefficients))
        return CoefficientSummary(
            self._note,
            self.quantiles_,
            tuple(terms),
            coefficients,
            self.standard_errors_,
            self.confidence_intervals_,
            self.covariance_,
            columns=tuple(columns),
        )

    # Saving

    def _store(self, writer: Writer) -> None:
        writer.add({**_STORED, **FEATURES}, self)
        self._store_encoder(writer)

    def _restore(self, reader: Reader) -> None:
        self._check_parameters()
        self._restore_encoder(reader)
        restore_features(self, reader)
        has_intercept = check_flag("has_intercept", reader.part.description["has_intercept"])
        n_features = reader.sizes["features"]
        reader.sizes["terms"] = n_features + int(has_intercept)
        reader.sizes["columns"] = n_features + 1
        reader.fill(self, _STORED)
        if (self._path_levels is None) != (self._path_coefficients is None):
            refuse_arrays()
        if self._path_levels is not None:
            check_quantiles(self._path_levels)
        self.crossing_levels_ = None  # one value per training row: not in files


def _read_transform(kind: str | None, target: Target, *, mirror: bool) -> TimeTransform:
    """Return the units of the coefficients: times as they are, or their logarithms."""
    if kind is None:
        return TimeTransform(mirror=mirror)
    lowest = target.time.min()
    if lowest < 0:
        raise ValueError(
            f"time must not be negative for time_transform='log', got a minimum of {lowest:g}: "
            "use time_transform=None."
        )
    fitted = TimeTransform.fit(target.time, target.event, "log")
    return TimeTransform(log=True, floor=fitted.floor, mirror=mirror)


def _refuse_sums_that_overflow(data: FitData, names: Sequence[str]) -> None:
    """Raise if values are so large that sums of them are not finite."""
    bound = _LARGEST / (4 * len(data))
    sizes = [*np.abs(data.x).max(axis=0).tolist(), float(np.abs(data.target.time).max())]
    places = [*(f"column {name!r} of X" for name in names), "y"]
    for size, where in zip(sizes, places, strict=True):
        if size > bound:
            raise ValueError(
                f"X and y must hold values below {bound:.1g} in size for {len(data)} rows, got "
                f"{size:.3g} in {where}: rescale it."
            )


def _outer(table: Floats, *, mirror: bool) -> Floats:
    """Return tables of shape (..., k, p) by the user's levels, whose order mirroring reverses."""
    # Subtracted from 0, since the negative of 0 would be -0.
    return 0.0 - table[..., ::-1, :] if mirror else table


def _level(level: Any, *, mirror: bool) -> Any:
    """Return the user's level of a level of the fit."""
    return 1.0 - level if mirror and level is not None else level
