"""A fitted linear model: what it predicts, reports and writes."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from censquant._frames import pandas_for
from censquant._rows._features import check_features, feature_names, refuse_overflow
from censquant._storage._parts import Part
from censquant._trees._follow_up import FollowUp, ReachRule, followed
from censquant._typing import Floats
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators.linear._files import linear_part, restored_linear
from censquant.estimators.linear._summary import CoefficientSummary
from censquant.export._graph import Value
from censquant.export._graphs_curves import GraphCurve, GridCurve
from censquant.export._graphs_trees import followed_graph, reach_graph
from censquant.quantiles import QuantileCurve
from censquant.survival._transform import TimeTransform


class LinearModel(BaseQuantileRegressor):
    """Predictions from coefficients, one set per level; a subclass fits them.

    ``_follow_up`` knows how long individuals were followed, or is None if nothing was censored.
    A curve needs two levels: where fewer of the requested ones are identified, ``_path_levels`` are
    those of the path that led to them, and ``_path_coefficients`` hold the intercept and the
    coefficients there.
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
    time_transform_: TimeTransform
    _path_levels: Floats | None = None
    _path_coefficients: Floats | None = None
    _follow_up: FollowUp | None
    _reads_features = True
    _has_intercept: bool
    _note: str

    # Predicting

    def _read_features(self, X: Any) -> Any:
        check_is_fitted(self, "quantiles_")
        return check_features(self, X, reset=False)

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
        refuse_overflow(values, features, feature_names(self))
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
        index = pd.Index(summary.quantiles, name="quantile")
        return pd.DataFrame(summary.coefficients, index=index, columns=list(summary.terms))

    def summary(self) -> CoefficientSummary:
        """Return coefficients, standard errors and limits of every level, to print or as a frame.

        Precision is available if the fit had replications, ``n_bootstrap``. The limits treat levels
        and terms one by one.

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
        terms, coefficients = feature_names(self), self.coef_
        if self._has_intercept:
            terms = ["intercept", *terms]
            coefficients = np.column_stack((self.intercept_, coefficients))
        return CoefficientSummary(
            self._note,
            self.quantiles_,
            tuple(terms),
            coefficients,
            self.standard_errors_,
            self.confidence_intervals_,
        )

    # Saving

    def _to_part(self) -> Part:
        return linear_part(self)

    @classmethod
    def _from_part(cls, part: Part, network: Callable[..., Any] | None) -> Self:
        return restored_linear(cls, part, network)
