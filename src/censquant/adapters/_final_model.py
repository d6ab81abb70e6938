"""The model inside searches and pipelines, and the side that it takes events to be hidden on."""

from typing import Any


def final_model(model: Any, X: Any) -> tuple[Any, Any]:
    """Model inside scikit-learn's searches and pipelines, with the features that it takes.

    A finished search gives its ``best_estimator_``, a Pipeline its last step with the features
    transformed by the others. Anything else is returned as it is.

    Parameters
    ----------
    model : object
        A fitted model, or a Pipeline or search around one.
    X : array-like or DataFrame of shape (n_samples, n_features), or None
        Features as ``model`` takes them; None is not transformed.

    Returns
    -------
    model : object
        The innermost model.
    X : array-like or DataFrame of shape (n_samples, n_columns)
        Features as it takes them.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from censquant.adapters import final_model
    >>> pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit([[1.0], [3.0]], [1, 2])
    >>> final_model(pipeline, [[1.0], [5.0]])
    (LinearRegression(), array([[-1.],
           [ 3.]]))
    """
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "named_steps"):
            if len(model.steps) > 1 and X is not None:
                X = model[:-1].transform(X)
            model = model[-1]
        else:
            return model, X


def is_left_censored(model: Any) -> bool:
    """Whether a model was fitted to times before which some events lie.

    Parameters
    ----------
    model : object
        A model, or a Pipeline or search around one.

    Returns
    -------
    left : bool

    Examples
    --------
    >>> from censquant import CQRNN, LinearQuantileRegressor
    >>> from censquant.adapters import is_left_censored
    >>> linear = LinearQuantileRegressor()
    >>> is_left_censored(linear.set_params(censoring="left")), is_left_censored(CQRNN())
    (True, False)
    """
    return bool(getattr(final_model(model, None)[0], "censoring", "right") == "left")
