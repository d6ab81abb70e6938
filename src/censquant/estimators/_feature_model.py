"""Models that map an array of features to curves, block by block."""

from dataclasses import dataclass
from threading import Event
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from censquant._engine.training import side_by_side
from censquant._rows._features import dense, feature_names, note_of_far_features
from censquant._typing import Floats
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._reading import Ask
from censquant.export._graph import Value
from censquant.export._graphs_curves import GraphCurve, GridCurve
from censquant.quantiles import QuantileCurve
from censquant.quantiles._distribution_curve import TailLimit

Curve = TypeVar("Curve", QuantileCurve, GraphCurve, GridCurve)

# A block's values stay in the processor's cache, and its temporary arrays together stay below what
# malloc gives back to the system when they are freed: fetching that memory again for every block
# cost half as much as the matrix products.
_BLOCK_ROWS = 1_024


class FeatureModel(BaseQuantileRegressor):
    """A fitted function from checked features to curves.

    A subclass reads features (``_read_features``) and says how some rows become curves
    (``_curve_of``). Memory stays bounded by the answer, however many rows there are, and sparse
    rows become dense a block at a time. ``_feature_range`` holds the smallest and largest value of
    each feature in the fit, or None.
    """

    quantiles_: Floats
    unique_times_: Floats
    follow_up_: tuple[float, float]
    horizon_: float
    _feature_range: Floats | None
    # False inside a pool, which has one model of follow-up, and warnings of its own, for all.
    _stands_alone: bool = True
    _stopping: Event | None = None  # asks a fit inside a pool to end

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read_features(self, X: Any) -> Any:
        """Return ``X`` as a checked array or sparse matrix, one row per individual."""
        raise NotImplementedError

    def _column_names(self) -> list[str]:
        """Return the names of the columns that ``_read_features`` returns."""
        return feature_names(self)

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        """Return the curves of some rows, with their reach, in the user's unit of time."""
        raise NotImplementedError

    def _curve_checked(self, x: NDArray[Any]) -> QuantileCurve:
        return self._curve_of(x)

    def _lowest_time(self) -> float:
        """Return the lowest time that is predicted: where none was negative, none will be."""
        return 0.0 if self.follow_up_[0] >= 0 else -np.inf

    def _limited(self, curve: Curve) -> Curve:
        """Return curves, of arrays or of a graph, under the law of tails; a pool has its own."""
        if not self._stands_alone:
            return curve
        return curve.limited(TailLimit.of(*self.follow_up_))

    def _curve_of_numbers(self, numbers: Value) -> tuple[GraphCurve, Value]:
        x = self._numbers_graph(numbers)
        x.graph.require_finite(x)
        return self._curve_of_graph(x)

    def _numbers_graph(self, numbers: Value) -> Value:
        """Return what ``_read_features`` makes of numbers, in a graph."""
        return numbers

    def _curve_of_graph(self, x: Value) -> tuple[GraphCurve, Value]:
        """Return what ``_curve_of`` does, the reach of shape (n, 1) apart, in a graph."""
        return super()._curve_of_numbers(x)

    def predict_curve(self, X: Any) -> QuantileCurve:
        """Return the predictive distribution of each row, with its reach.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)

        Returns
        -------
        curve : QuantileCurve of n rows
            In the unit of the times that were fitted. ``curve.reach`` is the highest level of each
            row that the data can speak for.
        """
        check_is_fitted(self)
        features = dense(self._read_features(X))
        (curve,) = side_by_side([lambda stopping: self._curve_of(features)])
        return curve

    def _map_curves(self, X: Any, ask: Ask, notes: list[str]) -> NDArray[Any]:
        features = self._read_features(X)
        if self._feature_range is not None:
            notes += note_of_far_features(features, self._feature_range, self._column_names())
        n_rows = features.shape[0]
        blocks = [
            _Block(self, features, slice(start, start + _BLOCK_ROWS), ask)
            for start in range(0, n_rows, _BLOCK_ROWS)
        ]
        (first,) = side_by_side(blocks[:1])
        assert first is not None
        if len(blocks) == 1:
            return first
        out = np.empty((n_rows, *first.shape[1:]), dtype=first.dtype)
        out[:_BLOCK_ROWS] = first
        for block in blocks[1:]:
            block.out = out
        side_by_side(blocks[1:], getattr(self, "n_jobs", None), on_interrupt="raise")
        return out


@dataclass
class _Block:
    """The question about some of the rows, to be asked in a thread.

    The answer is returned, or written to ``out``: blocks of a large answer are not kept besides.
    """

    model: FeatureModel
    features: Any
    rows: slice
    ask: Ask
    out: NDArray[Any] | None = None

    def __call__(self, stopping: Event) -> NDArray[Any] | None:
        curve = self.model._curve_of(dense(self.features[self.rows]))
        answer = self.ask(curve, self.rows)
        if self.out is None:
            return answer
        self.out[self.rows] = answer
        return None
