"""Estimators that learn from a table in one go: what surrounds their own fit and prediction."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._rows._cross_fit import Folds
from censquant._rows._features import (
    check_features,
    check_is_fitted,
    dense,
    feature_range,
    refuse_overflow,
    warn_of_constant_features,
)
from censquant._rows._fit_data import FitData
from censquant._storage._codec import Reader, Writer
from censquant._trees._follow_up import (
    FollowUp,
    ReachRule,
    begun,
    fit_entries,
    followed,
    restore_features,
    store_features,
)
from censquant._typing import Floats
from censquant._validation import check_choice, seed_sequence
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._coded import CodedFeatures
from censquant.estimators._reading import Answers, Ends
from censquant.export._graph import Value
from censquant.export._graphs_curves import GraphCurve, GridCurve
from censquant.export._graphs_trees import begun_graph, followed_graph, reach_graph
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES, check_quantiles
from censquant.survival._target import require_events
from censquant.survival._transform import TimeTransform

HeldOut = tuple[NDArray[np.intp], Floats, Ends]
"""Places of rows, their quantiles and the ends of these, as a model says that has not seen them."""

_SAME_LEVEL = 1e-9  # levels that differ by less differ by rounding


def levels_among(levels: Floats, known: Floats) -> NDArray[np.intp] | None:
    """Return the places of levels among known ones in order; None if one is not known."""
    places = np.minimum(np.searchsorted(known, levels - _SAME_LEVEL), len(known) - 1)
    return places if (np.abs(known[places] - levels) <= _SAME_LEVEL).all() else None


class TabularRegressor(BaseQuantileRegressor):
    """An estimator that fits features and censored times at once, without a training loop.

    A subclass has the parameters ``quantiles``, ``censoring`` and ``random_state`` and implements
    ``_fit_rows`` and ``_model_curve``, both for right-censored times unless it says by
    ``_fits_reversed_times`` that it knows left-censored ones, as well as ``_store`` and
    ``_restore`` for files. Everything around them is here: reading and ordering rows,
    mirroring of left-censored times, the model of follow-up, the reach of curves, saving.
    """

    quantiles: ArrayLike | None
    censoring: str
    random_state: Any
    quantiles_: Floats
    unique_times_: Floats
    follow_up_: tuple[float, float]
    horizon_: float
    n_features_in_: int
    time_transform_: TimeTransform
    _follow_up: FollowUp | None
    _reads_features = True

    # What a subclass implements

    def _check_parameters(self) -> None:
        """Refuse wrong parameters; extended by subclasses."""
        check_choice("censoring", self.censoring, ("right", "left"))

    def _fit_rows(self, rows: FitData, rng: np.random.Generator) -> None:
        """Learn from rows, whose ``timeline`` is right-censored."""
        raise NotImplementedError

    def _cross_fit_rows(
        self, rows: FitData, folds: Folds, rng: np.random.Generator, levels: Floats
    ) -> Iterator[HeldOut]:
        """Do what :meth:`_fit_folds` says; implemented where ``_cross_fits_itself``."""
        raise NotImplementedError

    def _model_curve(self, x: Floats) -> QuantileCurve:
        """Return the curves of right-censored times."""
        raise NotImplementedError

    def _quantiles_and_end(self, x: Floats, levels: Floats) -> Answers:
        """Return quantiles of right-censored times, and where the data behind them end.

        The end is a time and a level per row, past which a model rests on no data of its own; None
        if it has a rule for all levels. A pool of models asks for both.
        """
        return self._model_curve(x).at(levels), None

    _ends_with_its_data = True
    # Whether the model of left-censored times is one of the reversed, right-censored ones.
    _fits_reversed_times = True

    def _predict_checked(self, x: NDArray[Any], levels: Floats) -> Answers:
        return self._quantiles_and_end(np.asarray(x, dtype=np.float64), levels)

    def _model_graph(self, x: Value) -> GraphCurve:
        """Return what :meth:`_model_curve` does, in a graph."""
        raise NotImplementedError

    def _quantiles_and_end_graph(
        self, x: Value, levels: Floats
    ) -> tuple[Value, tuple[Value, Value] | None]:
        """Return what :meth:`_quantiles_and_end` does, in a graph; ends have the shape (n, 1)."""
        return self._model_graph(x).at(levels), None

    # Fitting

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to features and possibly censored times.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : structured array, (time, event) tuple, DataFrame, dict or 1-D array
            Times and whether the event was observed; a plain array means that all were. Rows with
            intervals or entries, where the estimator takes them, as :class:`Surv` makes them.
        sample_weight : array-like of shape (n,), optional
            Whole numbers count a row so many times; other weights scale its contribution.

        Returns
        -------
        self
        """
        return self._fit_table(X, y, sample_weight)

    def _fit_table(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: ArrayLike | None = None
    ) -> Self:
        self._check_parameters()
        taus, left = check_quantiles(self.quantiles), self.censoring == "left"
        rows = FitData.read(
            X,
            y,
            sample_weight,
            groups,
            read_features=self._fit_features,
            left=left,
            accepts=self._accepts,
        ).arranged()
        seed = seed_sequence(self.random_state)
        own_seed, follow_up_seed = seed.spawn(2)
        self._describe(rows, taus)
        if self._stands_alone:
            warn_of_constant_features(feature_range(rows.x), self._column_names())
            rows.warn_of_leaks(self._column_names())
        self._fit_rows(rows, np.random.default_rng(own_seed))
        if self._stands_alone and not rows.target.event.all():
            self._follow_up = FollowUp.fit(
                rows.x,
                rows.timeline.time,
                rows.timeline.event,
                rows.weight,
                np.random.default_rng(follow_up_seed),
            )
        if self._stands_alone:
            entry_rng = np.random.default_rng(seed.spawn(1)[0])
            self._entered = fit_entries(rows.x, rows.target, rows.weight, entry_rng)
        return self

    def _fit_folds(self, rows: FitData, folds: Folds, levels: Floats) -> Iterator[HeldOut]:
        """Fit to checked rows as a member of an ensemble: each part leaves out one of its folds.

        Fold after fold, the places of its rows are given, their quantiles, and where the data
        behind them end, by the part of the model that has not seen them.
        """
        self._check_parameters()
        self.n_features_in_ = rows.x.shape[1]
        self._describe(rows, check_quantiles(self.quantiles))
        rng = np.random.default_rng(seed_sequence(self.random_state).spawn(2)[0])
        return self._cross_fit_rows(rows, folds, rng, levels)

    def _fit_features(self, X: Any) -> NDArray[Any]:
        """Return the features of a fit as finite numbers."""
        return dense(check_features(self, X, reset=True))

    def _describe(self, rows: FitData, taus: Floats) -> None:
        """Keep what predictions need to know of the rows of the fit."""
        require_events(rows.target)
        self.quantiles_ = taus
        self.time_transform_ = TimeTransform(mirror=rows.left)
        self.follow_up_ = rows.follow_up
        self.horizon_ = rows.horizon
        self.unique_times_ = rows.event_times(stands_alone=self._stands_alone)
        self._feature_range = feature_range(rows.x)
        self._follow_up = self._entered = None

    # Predicting

    def _curve_levels(self) -> Floats:
        """Return the levels of :meth:`_model_curve`: the fitted ones and a grid that has tails."""
        grid = np.array(CURVE_QUANTILES)
        # 1 - 0.9 is not 0.1 in binary, and mirrored they would be the same level.
        new = np.abs(grid[:, None] - self.quantiles_).min(axis=1) > _SAME_LEVEL
        levels = np.union1d(self.quantiles_, grid[new])
        return self.time_transform_.levels(levels) if self._fits_reversed_times else levels

    def _read_features(self, X: Any) -> Any:
        check_is_fitted(self, "quantiles_")
        return check_features(self, X, reset=False)

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        curve = self._model_curve(features)
        refuse_overflow(curve.values, features, self._column_names())
        left = self.time_transform_.mirror
        if left and self._fits_reversed_times:
            # The quantile of -T at 1 - tau is minus the quantile of T at tau.
            curve = QuantileCurve.from_predictions(
                -curve.values[:, ::-1], 1.0 - curve.taus[::-1], self._lowest_time()
            )
        curve = self._limited(curve).with_reach(ReachRule(self, features), lowest=left)
        return begun(self._entered, curve, features, empirical=self._is_empirical)

    def _curve_of_graph(self, x: Value) -> tuple[GraphCurve, Value]:
        curve, left = self._model_graph(x), self.time_transform_.mirror
        if left and self._fits_reversed_times:
            curve = GridCurve.of_predictions(
                -curve.at(curve.taus).reversed(), 1.0 - curve.taus[::-1], self._lowest_time()
            )
        curve = self._limited(curve)
        followed = followed_graph(self._follow_up, x, self.time_transform_, self.follow_up_)
        reach = reach_graph(curve, followed, lowest=left)
        return curve, begun_graph(self._entered, x, curve, reach, empirical=self._is_empirical)

    def _followed(self, features: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return how long individuals were followed, and the level reached by then."""
        return followed(self._follow_up, features, self.time_transform_, self.follow_up_)

    # Saving

    def _store(self, writer: Writer) -> None:
        """Add what a file holds of the fitted model; extended by subclasses."""
        store_features(self, writer)

    def _restore(self, reader: Reader) -> None:
        """Take what :meth:`_store` added, checked; extended by subclasses."""
        self._check_parameters()
        restore_features(self, reader)


class EffectRegressor(CodedFeatures, TabularRegressor):
    """A tabular estimator whose coefficients are of interest themselves, with standard errors."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit to features and possibly censored times.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Columns of text and categories of a frame become one coefficient for each level but
            the first in alphabetical order; missing values are a level.
        y : structured array, (time, event) tuple, DataFrame, dict or 1-D array
            Times and whether the event was observed; a plain array means that all were.
        sample_weight : array-like of shape (n,), optional
            Whole numbers count a row so many times; other weights scale its contribution.
        groups : array-like of shape (n,), optional
            Rows of the same group may depend on each other, such as visits of one patient.
            Standard errors are then the robust ones of whole groups, also right where the model is
            not; a group for each row gives robust errors of independent rows. Estimates do not
            depend on it. Fewer than about 30 groups give errors that are too small.

        Returns
        -------
        self
        """
        return self._fit_table(X, y, sample_weight, groups)

    def _store(self, writer: Writer) -> None:
        self._store_encoder(writer)
        super()._store(writer)

    def _restore(self, reader: Reader) -> None:
        self._restore_encoder(reader)
        super()._restore(reader)


def group_places(groups: NDArray[Any] | None) -> NDArray[np.intp] | None:
    """Return the number of each row's group."""
    return None if groups is None else np.unique(groups, return_inverse=True)[1]


def n_independent(groups: NDArray[np.intp] | None, n_rows: int) -> NDArray[np.int64]:
    """Return the number of groups, or of rows, that robust errors take to be independent."""
    return np.array([n_rows if groups is None else int(groups.max()) + 1])


def robust_note(n: NDArray[np.int64] | None, counts: Any) -> list[str]:
    """Return the line of a summary that says whose errors are robust, if they are."""
    if n is None:
        return []
    of = "rows" if counts is None or n[0] == counts[0] else "groups"
    return [f"standard errors are robust, of {n[0]:,} independent {of}"]
