"""CensoredQuantileRegressor: the estimator to begin with."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from censquant.estimators._encoding import FrameEncoder
from censquant.estimators._parts import Part
from censquant.estimators.meta._default_candidates import DEFAULT_PRIOR, default_candidates
from censquant.estimators.meta._pool import LikelihoodPrior, Pool, read_plain_features
from censquant.estimators.meta._pooled import checked_estimators
from censquant.survival import Target


class CensoredQuantileRegressor(Pool):
    """Quantiles of a time to event from data as they are, with nothing to tune.

    The estimator to begin with. It pools a few models that fail on different data: a
    proportional-hazards model with a ridge penalty, networks of a normal and a log-normal family
    whose shape is learned, a network whose capacity follows the number of rows, boosted trees and
    a forest. Each is weighted by how well it predicts rows that it has not seen, so that small and
    nearly linear data end up with the hazards model, large and irregular data with trees and
    networks (:class:`PooledQuantileRegressor` has the rule). ``summary()`` says what was pooled.

    Data frames may hold categories, text, booleans and missing values; arrays may hold NaN.
    Categories are one-hot encoded, rare levels together; missing numbers are replaced by the
    median, with a column that says so.

    It assumes that censoring is independent of the event time given the features, for the weights
    of the candidates also that it does not depend on the features much. Rows that belong together
    (visits of one patient, copies of one engine) must be named by ``groups`` in :meth:`fit`, or the
    weights favour candidates that remember rows.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels that are returned by default; any other can be asked for.
    candidates : list of (name, estimator), optional
        Instead of the default ones; see :class:`PooledQuantileRegressor`.
    cv : int or splitter, default 4
        Number of folds, or an object of scikit-learn with ``split``.
    categorical_features : "from_dtype", array-like of str, int or bool, or None
        Which columns are categories; by default those of text, categories and booleans.
    censoring : {"right", "left"}, default "right"
        Whether a censored row's event lies after or before its time.
    n_jobs : int, optional
        Threads over candidates and folds; None means 1, -1 uses all cores. The result does not
        depend on it.
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        Whether to show a progress bar.

    Attributes
    ----------
    weights_ : dict of str to float
        Of all candidates.
    candidates_ : CandidateTable
        Weights, scores on held-out rows and seconds.
    estimators_ : dict of str to list
        Fitted models of the candidates that are used.
    oof_curve_ : QuantileCurve or None
        The pool's distributions of held-out rows: what it said of each row before it had seen it.
        None after loading.
    oof_rows_ : ndarray of int or None
        The rows of ``X`` that they belong to.
    calibration_p_value_ : float or None
        Of the test of A-calibration on held-out rows.
    encoder_ : FrameEncoder or None
        What turns features into numbers; None for features that are images or sequences.
    quantiles_, follow_up_, horizon_, unique_times_, time_transform_
        As of every estimator here.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from censquant import CensoredQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2()
    >>> model = CensoredQuantileRegressor(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.65
    True
    >>> model.predict_quantiles(X[:2], [0.1, 0.5], beyond="inf").shape
    (2, 2)
    """

    encoder_: FrameEncoder | None

    def __init__(
        self,
        quantiles: ArrayLike | None = None,
        *,
        candidates: Sequence[tuple[str, Any]] | None = None,
        cv: Any = 4,
        categorical_features: Any = "from_dtype",
        censoring: str = "right",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.quantiles = quantiles
        self.candidates = candidates
        self.cv = cv
        self.categorical_features = categorical_features
        self.censoring = censoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
