"""The base of estimators on a cluster: client, predictions, and the fitted plain model."""

from abc import abstractmethod
from copy import deepcopy
from typing import Any, Literal, Self

import dask.array
import dask.dataframe
import distributed
import numpy as np
from dask import delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from censquant.dask._cluster import find_client
from censquant.dask._rows import is_collection
from censquant.estimators import BaseQuantileRegressor


class DaskRegressor(BaseEstimator):
    """An estimator that is fitted on a cluster and predicts there.

    A subclass has the parameter ``client`` and fits ``_local``, a plain estimator.
    """

    client: Any
    _local: BaseQuantileRegressor | None = None
    _features: tuple[Any, ...] | None = None  # columns of a frame

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to collections of dask."""

    @property
    def client_(self) -> distributed.Client:
        """The client that is used: the one that was given, or the one that exists."""
        return find_client(self.client)

    def to_local(self) -> Any:
        """Return the fitted model as the plain estimator, which needs no cluster.

        It predicts, saves and exports as if it had been fitted on one machine.

        Returns
        -------
        model : BaseQuantileRegressor
            A copy.
        """
        return deepcopy(self._fitted())

    def predict(self, X: Any) -> Any:
        """Return the median time of each row.

        Parameters
        ----------
        X : DataFrame or Array of dask, or anything that the plain estimator takes
            A frame may have its columns in any order, and others besides.

        Returns
        -------
        median : Series or Array of dask, not computed yet; an ndarray for data in memory
            A Series has the index of ``X`` and the name ``"q0.5"``.
        """
        model = self._fitted()
        if not is_collection(X):
            return model.predict(self._take_columns(X))
        if isinstance(X, dask.array.Array):
            return self._map_blocks(X, "predict", {}, None)
        frame = self._map_frame(X, "predict_quantiles", {"quantiles": [0.5]}, ["q0.5"])
        return frame["q0.5"]

    def predict_quantiles(
        self,
        X: Any,
        quantiles: ArrayLike | None = None,
        *,
        beyond: Literal["warn", "extrapolate", "inf", "nan"] = "warn",
    ) -> Any:
        """Return the times by which the event has happened with the given probabilities.

        Partitions are predicted one by one where they are; nothing is gathered, and a worker needs
        memory for the partitions that it predicts at the same time and for their predictions.

        Parameters
        ----------
        X : DataFrame or Array of dask, or anything that the plain estimator takes
            A frame may have its columns in any order, and others besides.
        quantiles : array-like of levels in (0, 1), optional
            By default the levels that were fitted.
        beyond : {"warn", "extrapolate", "inf", "nan"}, default "warn"
            What to return at levels that the data do not identify; warnings of collections are in
            the logs of the workers.

        Returns
        -------
        times : DataFrame or Array of dask, not computed yet; an ndarray for data in memory
            A frame has the index of ``X`` and one column per level, ``q0.1``, ``q0.5``, ...
        """
        model: Any = self._fitted()
        options = {"quantiles": quantiles, "beyond": beyond}
        if not is_collection(X):
            return model.predict_quantiles(self._take_columns(X), **options)
        levels = model.quantiles_ if quantiles is None else np.atleast_1d(quantiles)
        names = [f"q{level:.12g}" for level in levels]
        if isinstance(X, dask.array.Array):
            return self._map_blocks(X, "predict_quantiles", options, len(names))
        return self._map_frame(X, "predict_quantiles", options, names)

    def _fitted(self) -> BaseQuantileRegressor:
        if self._local is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit first."
            )
        return self._local

    def __sklearn_is_fitted__(self) -> bool:
        return self._local is not None

    def __getattr__(self, name: str) -> Any:
        # Fitted attributes are those of the plain estimator, as scikit-learn's tools expect them.
        if name.endswith("_") and not name.startswith("_"):
            local = self.__dict__.get("_local")
            if local is not None:
                return getattr(local, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _take_columns(self, X: Any) -> Any:
        if self._features is None or not hasattr(X, "columns"):
            return X
        missing = [name for name in self._features if name not in X.columns]
        if missing:
            raise ValueError(f"X must have the columns of the fit, got a frame without {missing}.")
        return X[list(self._features)]

    def _map_frame(
        self, X: dask.dataframe.DataFrame, method: str, options: dict[str, Any], names: list[str]
    ) -> Any:
        import pandas as pd

        X = self._take_columns(X)
        meta = pd.DataFrame(
            {name: pd.Series(dtype=np.float64) for name in names}, index=X._meta.index
        )
        # A task of its own: the model goes to each worker once and not with every partition.
        model = delayed(self._local, traverse=False)
        columns = self._features
        return X.map_partitions(_predict_frame, model, columns, method, options, names, meta=meta)

    def _map_blocks(
        self, X: dask.array.Array, method: str, options: dict[str, Any], n_levels: int | None
    ) -> dask.array.Array:
        X = X.rechunk({1: -1})
        shape: dict[str, Any] = {"chunks": (X.chunks[0], (n_levels,))}
        if n_levels is None:
            shape = {"drop_axis": 1}
        empty = np.empty((0,) * (1 if n_levels is None else 2))
        model = delayed(self._local, traverse=False)
        return dask.array.map_blocks(
            _predict_block,
            X,
            model,
            method,
            options,
            n_levels,
            dtype=np.float64,
            meta=empty,
            **shape,
        )

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")  # a connection cannot be copied
        return type(self)(
            **{name: clone(value, safe=False) for name, value in parameters.items()}, client=client
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}


def _predict_frame(
    part: Any, model: Any, columns: Any, method: str, options: dict[str, Any], names: list[str]
) -> Any:
    import pandas as pd

    if not len(part):
        return pd.DataFrame(np.empty((0, len(names))), columns=names, index=part.index)
    part = part if columns is None else part[list(columns)]
    values = getattr(model, method)(part, **options)
    return pd.DataFrame(values, columns=names, index=part.index)


def _predict_block(
    part: NDArray[Any], model: Any, method: str, options: dict[str, Any], n_levels: int | None
) -> NDArray[np.float64]:
    if not len(part):
        return np.empty((0,) if n_levels is None else (0, n_levels))
    predicted: NDArray[np.float64] = getattr(model, method)(part, **options)
    return predicted
