"""Other libraries' fitted models behind the contract of this one."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from censquant._frames import unmasked
from censquant._rows._features import columns_of_fit, refuse_swapped
from censquant._typing import Floats
from censquant.adapters._predictions import adapted_curve, is_supported, refitted
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._reading import Ends
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES, even_grid
from censquant.survival import Surv, read_target
from censquant.survival._kaplan_meier import default_horizon

# Survival curves are inverted at so many levels: the curve between two of them is a straight line.
_N_LEVELS = 99


class AdaptedModel(BaseQuantileRegressor):
    """A model of another library as a quantile regressor; made by :func:`adapt`.

    Its survival function is inverted at 99 levels, and ``curve.reach`` ends where its survival
    function does: what scikit-survival, lifelines, pycox or hazardous say past their last time is
    an extrapolation. Files hold models of this library only, so it cannot be saved.

    Parameters
    ----------
    model : object
        A fitted model, see :func:`censquant.adapters.predict_quantiles_of`. :meth:`fit` fits a copy
        of it, for models that take a structured array of event and time as scikit-survival's do,
        and for those of lifelines.

    Attributes
    ----------
    quantiles_ : ndarray
        Levels that are returned by default: those of the model if it has any.
    model_ : object
        The fitted copy. This and what follows is set by :meth:`fit` alone.
    unique_times_ : ndarray
        Default times of survival functions: distinct event times.
    horizon_ : float
        Default horizon of restricted means: the last time at which one in twenty of the training
        rows is still at risk.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import adapt
    >>> class Uniform:
    ...     def predict_quantiles(self, X, quantiles):
    ...         return np.outer(X[:, 0], quantiles)
    >>> adapt(Uniform()).predict_interval(np.array([[10.0]]), 0.5)
    array([[2.5, 7.5]])
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def __sklearn_is_fitted__(self) -> bool:
        return True  # a model that is not says so itself

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit a copy of the model, which takes ``y`` as scikit-survival's do or is of lifelines.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : target in any form
        **params : dict
            Handed on.

        Returns
        -------
        self
        """
        refuse_swapped(X, y)
        target = read_target(y)
        if hasattr(self.model, "get_params"):
            self.model_ = clone(self.model).fit(
                unmasked(X), Surv.from_arrays(event=target.event, time=target.time), **params
            )
        else:
            self.model_ = refitted(self.model, unmasked(X), target)
        self.unique_times_ = np.unique(target.time[target.event])
        self.horizon_ = default_horizon(target.time)
        return self

    @property
    def quantiles_(self) -> NDArray[np.float64]:
        """Levels that are returned by default."""
        return np.asarray(getattr(self._fitted, "quantiles_", DEFAULT_QUANTILES), np.float64)

    @property
    def _weight_argument(self) -> str:
        """Name under which the model's ``fit`` takes weights."""
        steps = getattr(self.model, "steps", None)
        return f"{steps[-1][0]}__sample_weight" if steps else "sample_weight"

    @property
    def _fitted(self) -> Any:
        return getattr(self, "model_", self.model)

    def predict_curve(self, X: Any) -> QuantileCurve:
        """Return the predictive distribution of each row, with its reach.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            As the model takes it.

        Returns
        -------
        curve : QuantileCurve of n rows
        """
        if not is_supported(self._fitted):
            raise NotFittedError(f"{type(self._fitted).__name__} predicts no survival curves yet.")
        rows = columns_of_fit(self._fitted, unmasked(X), may_lack=True)
        curve, reach = adapted_curve(self._fitted, rows, even_grid(_N_LEVELS))
        if (curve.values >= 0).all():
            curve = QuantileCurve(curve.values, curve.taus, 0.0)
        return curve if reach is None else curve.with_reach(reach)

    _ends_with_its_data = True  # where its survival functions end

    def _predict_checked(self, x: NDArray[Any], levels: Floats) -> tuple[Floats, Ends]:
        curve = self.predict_curve(x)
        level = np.clip(curve.reach, levels[0], 1.0 - 1e-9)
        return curve.at(levels), (curve.at_each(level[:, None])[:, 0], level)


def adapt(model: Any) -> BaseQuantileRegressor:
    """Return a fitted model of any library as a quantile regressor.

    Metrics take such models as they are; adapting them gives them every prediction of this
    library: quantiles, intervals, remaining life, restricted means.

    Parameters
    ----------
    model : object
        A fitted model of scikit-survival, lifelines, pycox or hazardous, a Pipeline or search
        around one, or any object with ``predict_quantiles(X, quantiles)``. A quantile regressor is
        returned as it is.

    Returns
    -------
    model : BaseQuantileRegressor

    Examples
    --------
    >>> import pandas as pd
    >>> from lifelines import WeibullAFTFitter
    >>> from censquant import adapt
    >>> from censquant.datasets import make_weibull
    >>> data = make_weibull(100, random_state=0)
    >>> table = pd.DataFrame({"x": data.X[:, 0], "time": data.y["time"], "event": data.y["event"]})
    >>> model = adapt(WeibullAFTFitter().fit(table, "time", "event"))
    >>> model.predict_remaining(table[["x"]], elapsed=0.5, quantiles=[0.5]).shape
    (100, 1)
    """
    if isinstance(model, BaseQuantileRegressor):
        return model
    if not is_supported(model):
        raise TypeError(
            "model must have the method predict_quantiles or be a fitted model of scikit-survival, "
            f"lifelines, pycox or hazardous that predicts survival curves, got "
            f"{type(model).__name__}."
        )
    return AdaptedModel(model)
