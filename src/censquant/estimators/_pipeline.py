"""scikit-learn's Pipeline with the predictions of a quantile regressor."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline, make_pipeline

from censquant._frames import unmasked
from censquant._rows._features import columns_of_fit, refuse_swapped
from censquant._storage._codec import parameters_of, restored_parameters
from censquant._storage._parts import Part
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._reading import CurveReader
from censquant.exceptions import ModelFileError
from censquant.export._graph import Value
from censquant.export._graphs_curves import GraphCurve
from censquant.export._graphs_features import transformer_graph
from censquant.quantiles import QuantileCurve


class QuantilePipeline(BaseQuantileRegressor, Pipeline):
    """Preprocessing steps and a quantile regressor, as one quantile regressor.

    scikit-learn's own ``Pipeline`` passes on ``predict`` and ``score`` alone; this one has every
    prediction of its last step, ``save`` included. Inside ``GridSearchCV``, ``best_estimator_`` is
    such a pipeline again.

    Parameters
    ----------
    steps : list of (name, estimator)
        Transformers and, last, a :class:`~censquant.BaseQuantileRegressor`.
    memory, verbose
        As in scikit-learn's ``Pipeline``.

    Attributes
    ----------
    quantiles_, follow_up_, horizon_, unique_times_
        Those of the last step.
    n_features_in_, feature_names_in_
        Those of the first step.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from censquant import LinearQuantileRegressor, QuantilePipeline
    >>> from censquant.datasets import make_norm_linear
    >>> X, y = make_norm_linear(100, random_state=0)
    >>> steps = [("scale", StandardScaler()), ("model", LinearQuantileRegressor([0.25, 0.5]))]
    >>> model = QuantilePipeline(steps).fit(X, y)
    >>> model.predict_quantiles(X[:3], [0.25, 0.5], beyond="extrapolate").shape
    (3, 2)
    """

    def __init__(self, steps: Any, *, memory: Any = None, verbose: bool = False) -> None:
        Pipeline.__init__(self, steps, memory=memory, verbose=verbose)

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the transformers one after the other, then the regressor.

        Parameters
        ----------
        X : array-like or DataFrame, as the first step takes it
        y : target in any form that the last step takes
        **params : dict
            As in scikit-learn's ``Pipeline``: ``model__sample_weight=...`` goes to the step
            ``model``.

        Returns
        -------
        self
        """
        if not isinstance(self._regressor, BaseQuantileRegressor):
            raise TypeError(
                "The last step must be a BaseQuantileRegressor, got "
                f"{type(self._regressor).__name__}: wrap another library's model by "
                "censquant.adapt, or use scikit-learn's Pipeline."
            )
        refuse_swapped(X, y)
        Pipeline.fit(self, unmasked(X), y, **params)
        return self

    @property
    def _weight_argument(self) -> str:
        """Name under which ``fit`` takes weights."""
        return f"{self.steps[-1][0]}__sample_weight"

    @property
    def _regressor(self) -> Any:
        return self.steps[-1][1]

    def _transformed(self, X: Any) -> Any:
        X = columns_of_fit(self, unmasked(X), may_lack=True)
        return self[:-1].transform(X) if len(self.steps) > 1 else X

    def predict_curve(self, X: Any) -> QuantileCurve:
        """Return the predictive distribution of each row, with its reach.

        Parameters
        ----------
        X : array-like or DataFrame, as the first step takes it

        Returns
        -------
        curve : QuantileCurve of n rows
        """
        curve: QuantileCurve = self._regressor.predict_curve(self._transformed(X))
        return curve

    def _map_curves(self, X: Any, read: CurveReader, notes: list[str]) -> NDArray[Any]:
        answer: NDArray[Any] = self._regressor._map_curves(self._transformed(X), read, notes)
        return answer

    def _curve_of_numbers(self, numbers: Value) -> tuple[GraphCurve, Value]:
        transformed = transformer_graph(Pipeline(self.steps[:-1]), numbers)
        curve: tuple[GraphCurve, Value] = self._regressor._curve_of_numbers(transformed)
        return curve

    def _to_part(self) -> Part:
        parameters, parts = parameters_of(self)
        return Part(type(self).__name__, parameters, parts=parts)

    @classmethod
    def _from_part(cls, part: Part, network: Callable[..., Any] | None) -> Self:
        pipeline = cls(**restored_parameters(part, network))
        last = pipeline.steps[-1][1] if pipeline.steps else None
        if not isinstance(last, BaseQuantileRegressor):
            raise ModelFileError("holds a pipeline whose last step predicts no quantiles.")
        return pipeline

    @property
    def censoring(self) -> str:
        """The side of censoring of the last step."""
        return str(getattr(self._regressor, "censoring", "right"))

    @property
    def quantiles_(self) -> NDArray[np.float64]:
        """Fitted levels of the last step."""
        levels: NDArray[np.float64] = self._regressor.quantiles_
        return levels

    @property
    def unique_times_(self) -> NDArray[np.float64]:
        """Default times of survival functions of the last step."""
        times: NDArray[np.float64] = self._regressor.unique_times_
        return times

    @property
    def horizon_(self) -> float:
        """Default horizon of restricted means of the last step."""
        return float(self._regressor.horizon_)

    @property
    def follow_up_(self) -> tuple[float, float]:
        """Smallest and largest time of the fit of the last step."""
        ends: tuple[float, float] = self._regressor.follow_up_
        return ends


def make_quantile_pipeline(
    *steps: Any, memory: Any = None, verbose: bool = False
) -> QuantilePipeline:
    """Return a :class:`QuantilePipeline` whose steps are named after their classes.

    Parameters
    ----------
    *steps : estimators
        Transformers and, last, a quantile regressor.
    memory, verbose
        As in scikit-learn's ``make_pipeline``.

    Returns
    -------
    pipeline : QuantilePipeline

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from censquant import LinearQuantileRegressor, make_quantile_pipeline
    >>> pipeline = make_quantile_pipeline(StandardScaler(), LinearQuantileRegressor())
    >>> [name for name, _ in pipeline.steps]
    ['standardscaler', 'linearquantileregressor']
    """
    return QuantilePipeline(make_pipeline(*steps).steps, memory=memory, verbose=verbose)
