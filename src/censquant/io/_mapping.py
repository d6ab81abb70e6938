"""Predictions as plain functions of data frames, for Spark, Ray and anything else that maps."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from censquant.io._columns import named
from censquant.io._error import TableError
from censquant.io._predict import LEVELS
from censquant.io._question import Question
from censquant.quantiles._grid import check_quantiles


def ray_predictor(
    model: Any,
    quantiles: ArrayLike = LEVELS,
    *,
    keep: Sequence[str] = (),
    beyond: str = "nan",
) -> Callable[[Any], Any]:
    """Return a function from a frame of rows to a frame of their predictions.

    For ``ray.data.Dataset.map_batches(function, batch_format="pandas")``, or dask's
    ``map_partitions``. It needs neither, and holds the model, which is sent to each worker.

    Parameters
    ----------
    model : fitted estimator
        Fitted to a data frame, whose columns each batch must have.
    quantiles : array-like of levels in (0, 1), default 0.1, 0.25, 0.5, 0.75, 0.9
        Become the columns ``q0.1``, ``q0.25``, ...
    keep : sequence of str, default ()
        Columns that are passed through in front of the predictions, such as an identifier.
    beyond : {"nan", "inf", "limit", "extrapolate"}, default "nan"
        What to return at levels that the data cannot speak for.

    Returns
    -------
    function : callable
        From a pandas DataFrame to one with as many rows, its index kept; the last column,
        ``identified``, is the highest level that the data can speak for.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.io import ray_predictor
    >>> X, y = load_gbsg2(as_frame=True)
    >>> predict = ray_predictor(CoxQuantileRegressor().fit(X, y), [0.1, 0.5], keep=["age"])
    >>> list(predict(X[:3]).columns)
    ['age', 'q0.1', 'q0.5', 'identified']
    """
    asked = Question(
        model,
        check_quantiles(quantiles),
        interval=None,
        lower_bound=None,
        ages=None,
        beyond=beyond,
    )
    kept = [keep] if isinstance(keep, str) else list(keep)
    if clash := [name for name in kept if name in asked.columns]:
        raise TableError(f"keep must not name columns of predictions, got {named(clash)}")

    def predict(frame: Any) -> Any:
        import pandas as pd

        wanted = [*asked.features, *kept]
        if missing := [name for name in wanted if name not in frame.columns]:
            raise TableError(
                f"A batch must have the columns of the fit and those to keep, it lacks "
                f"{named(missing)}"
            )
        if len(frame):
            values = asked.answer(frame[asked.features], None)[0]
        else:  # partitions may be empty
            values = np.empty((0, len(asked.columns)))
        predicted = pd.DataFrame(values, columns=asked.columns, index=frame.index)
        return pd.concat([frame[kept], predicted], axis=1)

    return predict


def spark_predictor(
    model: Any,
    quantiles: ArrayLike = LEVELS,
    *,
    keep: Sequence[str] = (),
    beyond: str = "nan",
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function from an iterator of frames to one of predictions, for ``mapInPandas``.

    Parameters
    ----------
    model, quantiles, keep, beyond
        As in :func:`ray_predictor`.

    Returns
    -------
    function : callable
        For ``pyspark.sql.DataFrame.mapInPandas(function, schema)`` with :func:`spark_schema`.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.io import spark_predictor
    >>> X, y = load_gbsg2(as_frame=True)
    >>> predict = spark_predictor(CoxQuantileRegressor().fit(X, y), [0.5])
    >>> [len(frame) for frame in predict(iter([X[:3], X[3:5]]))]
    [3, 2]
    """
    predict = ray_predictor(model, quantiles, keep=keep, beyond=beyond)

    def predict_all(frames: Iterator[Any]) -> Iterator[Any]:
        return map(predict, frames)

    return predict_all


def spark_schema(quantiles: ArrayLike = LEVELS, *, keep: str = "") -> str:
    """Return the schema of what :func:`spark_predictor` gives, as Spark writes schemas.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1)
    keep : str, default ""
        Schema of the columns that are kept, such as ``"id bigint"``.

    Returns
    -------
    schema : str

    Examples
    --------
    >>> from censquant.io import spark_schema
    >>> spark_schema([0.1, 0.5], keep="id bigint")
    'id bigint, `q0.1` double, `q0.5` double, `identified` double'
    """
    names = [*(f"q{level:.12g}" for level in check_quantiles(quantiles)), "identified"]
    return ", ".join([*([keep] if keep else []), *(f"`{name}` double" for name in names)])
