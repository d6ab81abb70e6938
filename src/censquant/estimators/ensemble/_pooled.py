"""PooledQuantileRegressor: several quantile regressors as one."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from censquant._rows._features import feature_names
from censquant._rows._fit_data import FitData
from censquant._validation import check_choice
from censquant.estimators._adapted import AdaptedModel
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators.ensemble._pool import Pool, read_plain_features
from censquant.estimators.ensemble._table import POOL
from censquant.estimators.ensemble._weights import SCORES, LikelihoodPrior, Prior, read_prior


class PooledQuantileRegressor(Pool):
    """Several quantile regressors, weighted by how well they predict rows they have not seen.

    What :class:`sklearn.ensemble.StackingRegressor` is for regression: every candidate is fitted to
    all folds but one and asked about the one left out. The weights minimise the log score of the
    pool on these held-out rows (:func:`censquant.metrics.log_score`), which needs no model of the
    censoring; they are shrunk towards a prior that rests on the held-out likelihood where
    candidates state one (``log_likelihood``). The pool is the weighted mean of the distribution
    functions, so that its quantiles cannot cross.

    With fewer than 500 rows, cross-fitting is repeated three times with other folds, except for
    networks and models of other libraries. A candidate that both scores find clearly worse on a
    first fold of 100 events or more is not fitted to the other folds. Past the end of
    its own data (the last event of a proportional-hazards model, the last event among an
    individual's neighbours in a forest) a candidate is continued by the mean of those that
    extrapolate; more than a fifth past the last observed time, no candidate may exceed the weighted
    median of all. Networks, boosted trees and forests are kept as the parts that left out a fold
    each; other candidates are fitted again to all rows.

    Where events lie between two times, or rows have a delayed entry (see :class:`Surv`), the score
    is the log score given no event until the entry. Every candidate must take such entries; one
    that takes no intervals learns from exact times in them, drawn from what the others say of rows
    that they have not seen.

    Parameters
    ----------
    estimators : list of (name, estimator)
        Unfitted quantile regressors, or models of other libraries that take a structured array of
        event and time as scikit-survival's do.
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Levels that are returned by default; any other can be asked for.
    cv : int or splitter, default 4
        Number of folds, stratified by event; or an object of scikit-learn with ``split``, such as
        ``ShuffleSplit(1, test_size=0.1)`` for a single hold-out. Candidates are fitted to all rows
        but the held-out ones.
    scoring : {"log", "brier", "both"}, default "log"
        What the weights minimise on held-out rows: the log score, the integrated Brier score
        relative to that of the prior, or their sum. The Brier score weights rows by one
        Kaplan-Meier curve of the censoring times, and is biased where censoring depends on the
        features.
    prior : dict of str to float, optional
        Expected weights by name, towards which the weights are shrunk. By default candidates
        that state a likelihood share most of the weight by that of held-out rows, tempered.
    censoring : {"right", "left"}, default "right"
        Must be that of the estimators.
    n_jobs : int, optional
        Threads over candidates and folds; None means 1, -1 uses all cores. The result does not
        depend on it.
    random_state : int, RandomState, Generator or None
        For the folds, and for estimators whose own ``random_state`` is None.
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
        Calibration and honest evaluation need no second fit. None after loading.
    oof_rows_ : ndarray of int or None
        The rows of ``X`` that they belong to.
    calibration_p_value_ : float or None
        Of the test of A-calibration on held-out rows.
    calibration_gap_ : (float, float) or None
        The predicted share of events that is furthest off on held-out rows, and the observed one.
    tail_rule_ : str
        What predictions rest on where the data cannot speak.
    quantiles_, follow_up_, horizon_, unique_times_, time_transform_
        As of every estimator here.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor, LogNormalNN, PooledQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2()
    >>> candidates = [("cox", CoxQuantileRegressor()), ("lognormal", LogNormalNN(max_epochs=5))]
    >>> model = PooledQuantileRegressor(candidates, random_state=0).fit(X, y)
    >>> sorted(model.weights_)
    ['cox', 'lognormal']
    >>> model.score(X, y) > 0.6
    True
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        quantiles: ArrayLike | None = None,
        *,
        cv: Any = 4,
        scoring: str = "log",
        prior: Mapping[str, float] | None = None,
        censoring: str = "right",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.quantiles = quantiles
        self.cv = cv
        self.scoring = scoring
        self.prior = prior
        self.censoring = censoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit all candidates to features and possibly censored times, and weigh them.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
        y : structured array, (time, event) tuple, DataFrame, dict or 1-D array
            Times and whether the event was observed; a plain array means that all were.
        sample_weight : array-like of shape (n,), optional
            Handed to the candidates, and used in the scores.
        groups : array-like of shape (n,), optional
            Rows of one group (a patient, an engine) are held out together.

        Returns
        -------
        self
        """
        self._begin_fit()
        check_choice("scoring", self.scoring, SCORES)
        named = checked_estimators(self.estimators, self.censoring)
        allow_nd = any(getattr(estimator, "network", None) is not None for _, estimator in named)

        def read_features(X: Any) -> NDArray[Any]:
            return read_plain_features(self, X, allow_nd=allow_nd)

        def candidates_for(rows: FitData) -> list[tuple[str, Any]]:
            rows.warn_of_leaks(feature_names(self))
            return named

        prior: Prior = LikelihoodPrior()
        if self.prior is not None:
            prior = read_prior(self.prior, [name for name, _ in named])
        return self._fit_pool(candidates_for, prior, read_features, X, y, sample_weight, groups)


def checked_estimators(
    estimators: Any, censoring: str, *, argument: str = "estimators"
) -> list[tuple[str, Any]]:
    """Return named quantile regressors, models of other libraries adapted; refuse what is none."""
    try:
        named = [(str(name), estimator) for name, estimator in estimators]
    except (TypeError, ValueError):
        raise TypeError(
            f"{argument} must be a list of (name, estimator), got {estimators!r}."
        ) from None
    names = [name for name, _ in named]
    if not named or len(set(names)) < len(names):
        raise ValueError(f"{argument} must be one or more with different names, got {names}.")
    if slashed := [name for name in names if "/" in name]:
        raise ValueError(f"Names of {argument} must have no slash, got {slashed[0]!r}.")
    if POOL in names:
        raise ValueError(f"Names of {argument} must not be {POOL!r}, the name of all together.")
    checked = []
    for name, estimator in named:
        if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
            raise TypeError(
                f"{argument} must be unfitted estimators, got {estimator!r} as {name!r}: pass an "
                "instance."
            )
        own = getattr(estimator, "censoring", "right")
        if own != censoring:
            raise ValueError(
                f"censoring of the estimator {name!r} must be that of the pool, {censoring!r}, "
                f"got {own!r}."
            )
        if not isinstance(estimator, BaseQuantileRegressor):
            estimator = AdaptedModel(clone(estimator))
        checked.append((name, estimator))
    return checked
