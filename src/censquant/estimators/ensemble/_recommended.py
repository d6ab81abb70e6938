"""CensoredQuantileRegressor: the estimator to begin with."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._rows._columns import checked_table
from censquant._rows._encoder import FrameEncoder, encoder_part, restored_encoder
from censquant._rows._features import check_is_fitted, feature_names
from censquant._rows._fit_data import FitData
from censquant._storage._codec import Reader, Writer
from censquant._typing import Floats
from censquant._validation import check_flag
from censquant._warn import warn_user
from censquant.estimators._aft import AFTRegressor
from censquant.estimators._boosted import BoostedQuantileRegressor
from censquant.estimators._cox import CoxQuantileRegressor
from censquant.estimators._forest import CensoredQuantileForest
from censquant.estimators._reading import Ends
from censquant.estimators.ensemble._candidates import FEW_ROWS
from censquant.estimators.ensemble._pool import Pool, read_plain_features
from censquant.estimators.ensemble._pooled import checked_estimators
from censquant.estimators.ensemble._weights import LikelihoodPrior, Prior
from censquant.estimators.neural._shape import ShapeNN
from censquant.exceptions import FewEventsWarning
from censquant.export._graph import Graph, Value
from censquant.export._graphs_curves import GraphCurve
from censquant.export._graphs_features import encoder_graph, numbers_graph
from censquant.survival import Target, read_target
from censquant.survival._columns import read_weights
from censquant.survival._target import require_durations

# Rows from which on the network with bounded tails has the next capacity.
_MORE_ROWS = (3_000, 12_000, 25_000)
_FEWEST_EVENTS, _FEWEST_EVENTS_OF_NETWORKS = 10, 100
# Events; per feature, of its columns of numbers.
_NOISY, _NOISY_PER_FEATURE = 500, 75
_ENCODER = "encoder"  # name of its part in a model file
_CAUTION = 0.2  # penalty per feature where there are fewer
_RIDGE = 0.1  # of linear models, as that of the hazards model
# Rows from which on networks of the same families do without the linear models, whose tails would
# only be too long where effects are not linear.
_MANY_ROWS = 3_000

DEFAULT_PRIOR = LikelihoodPrior(follows={"bounded": "normal"})
"""The network with bounded tails is expected where its smooth relative is."""


class CensoredQuantileRegressor(Pool):
    """Quantiles of a time to event from data as they are, with nothing to tune.

    The estimator to begin with. It pools a few models that fail on different data: a
    proportional-hazards model and accelerated failure times (Weibull, log-normal, log-logistic)
    with a ridge penalty, networks of the normal, log-normal and Weibull families whose shape is
    learned, a network whose capacity follows the number of rows, shallow and deep boosted trees,
    and a forest. From 3,000 rows on there are no linear accelerated failure times; with fewer than
    500 rows or 100 events there are no networks (if times are positive), which only make small
    ensembles depend on the seed. Each model is weighted by how well it predicts rows that it has
    not seen, so that small and nearly linear data end up with the linear models, large and
    irregular data with trees and networks
    (:class:`PooledQuantileRegressor` has the rule). ``summary()`` says what was pooled. Candidates
    are compared on at most 50,000 rows, or as many whole groups; those that are used then learn
    from all.

    Events may lie between two times, and rows may have a delayed entry (see :class:`Surv`). Models
    are then weighed by the log score given no event until the entry. Those that know no intervals
    (the proportional-hazards model and the forest) learn from five exact times in each, drawn from
    what the others say of rows that they have not seen; with more than 50,000 rows with intervals
    they are left out.

    Data frames may hold categories, text, booleans and missing values; arrays may hold NaN.
    Categories are one-hot encoded, rare levels together; missing numbers are replaced by the
    median, with a column that says so.

    It assumes that censoring is independent of the event time given the features; it may depend on
    the features. Rows that belong together
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
    allow_negative : bool, default False
        Whether right-censored times may be negative, as logarithms may be. By default they are
        refused: a negative duration is a mistake, such as swapped dates. Left-censored values,
        which are measurements rather than durations, may always be negative.
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
    calibration_gap_ : (float, float) or None
        The predicted share of events that is furthest off on held-out rows, and the observed one.
    tail_rule_ : str
        What predictions rest on where the data cannot speak.
    feature_kinds_ : ndarray of str of shape (n_features,)
        What each column is used as: "number", "category" or "left out".
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

    _encoder: FrameEncoder | None  # None for features that are images or sequences

    def __init__(
        self,
        quantiles: ArrayLike | None = None,
        *,
        candidates: Sequence[tuple[str, Any]] | None = None,
        cv: Any = 4,
        categorical_features: Any = "from_dtype",
        censoring: str = "right",
        allow_negative: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.quantiles = quantiles
        self.candidates = candidates
        self.cv = cv
        self.categorical_features = categorical_features
        self.censoring = censoring
        self.allow_negative = allow_negative
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
        """Fit to features as they are and possibly censored times.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, n_features)
            Columns may be numbers, categories, text or booleans, with missing values.
        y : structured array, (time, event) tuple, DataFrame, dict or 1-D array
            Times and whether the event was observed; a plain array means that all were.
        sample_weight : array-like of shape (n,), optional
            Whole numbers count a row so many times; other weights scale its contribution.
        groups : array-like of shape (n,), optional
            Rows of one group (a patient, an engine) are held out together.

        Returns
        -------
        self
        """
        self._begin_fit()
        prior: Prior = DEFAULT_PRIOR
        named = None
        if self.candidates is not None:
            named = checked_estimators(self.candidates, self.censoring, argument="candidates")
            prior = LikelihoodPrior()

        def candidates_for(rows: FitData) -> list[tuple[str, Any]]:
            if self.censoring == "right" and not check_flag("allow_negative", self.allow_negative):
                require_durations(rows.target)
            return named or default_candidates(rows.target, rows.x.shape[1], self.censoring)

        def read_features(X: Any) -> NDArray[Any]:
            return self._fit_features(X, y, sample_weight)

        return self._fit_pool(candidates_for, prior, read_features, X, y, sample_weight, groups)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # Not ``string``: scikit-learn's checks then demand that nested objects are accepted.
        tags.input_tags.categorical = True
        tags.target_tags.positive_only = self.censoring == "right" and not self.allow_negative
        return tags

    def _fit_features(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> NDArray[Any]:
        """Return features as numbers; images and sequences are left as they are."""
        if getattr(X, "ndim", 2) > 2:
            self._encoder = None
            return read_plain_features(self, X, allow_nd=True)
        table = checked_table(self, X, reset=True)
        n_rows = table.shape[0]
        self._encoder = FrameEncoder.fit(
            table,
            feature_names(self),
            categorical_features=self.categorical_features,
            weight=None if sample_weight is None else read_weights(sample_weight, n_rows),
            target=read_target(y, n_samples=n_rows, accepts=self._accepts),
        )
        # Only rows of weight 0 can have values that the fit did not have.
        return self._encoder.transform(table, warn=False)

    @property
    def feature_kinds_(self) -> NDArray[Any]:
        """What each column of the fit is: "number", "category" or "left out"."""
        encoder = getattr(self, "_encoder", None)
        if encoder is None:
            raise AttributeError("feature_kinds_ is known of tables that were fitted alone.")
        kinds = [
            "left out" if rule is None else "category" if rule.as_category else "number"
            for rule in encoder.rules
        ]
        return np.array(kinds, dtype=object)

    def _read_features(self, X: Any) -> Any:
        check_is_fitted(self, "estimators_")
        if self._encoder is None:
            return super()._read_features(X)
        return self._encoder.transform(checked_table(self, X, reset=False))

    def _predict_checked(self, x: NDArray[Any], levels: Floats) -> tuple[Floats, Ends]:
        # The numbers of an ensemble around this one are encoded again, as they were in the fit.
        return super()._predict_checked(self._read_features(x), levels)

    def _column_names(self) -> list[str]:
        if self._encoder is None:
            return super()._column_names()
        return self._encoder.feature_names_out

    def _graph_curve(self, graph: Graph) -> tuple[GraphCurve, Value]:
        if self._encoder is None:
            return super()._graph_curve(graph)
        named = hasattr(self, "feature_names_in_")
        x = encoder_graph(self._encoder, graph, named=named)
        graph.require_finite(x)
        return self._curve_of_graph(x)

    def _numbers_graph(self, numbers: Value) -> Value:
        return numbers if self._encoder is None else numbers_graph(self._encoder, numbers)

    def _store(self, writer: Writer) -> None:
        super()._store(writer)
        if self._encoder is not None:
            writer.parts[_ENCODER] = encoder_part(self._encoder)

    def _restore(self, reader: Reader) -> None:
        super()._restore(reader)
        self._encoder = None
        if self._feature_range is not None:
            part = reader.part.parts[_ENCODER]
            self._encoder = restored_encoder(part, feature_names(self))


def default_candidates(target: Target, n_features: int, censoring: str) -> list[tuple[str, Any]]:
    """Return unfitted candidates for data of this size and kind.

    With very few events nothing can be compared, and only the hazards model is left, with a
    warning. Its penalty grows with the number of features then, so that it stays near the
    Kaplan-Meier curve of all rows however many there are.
    """
    hazards = ("hazards", CoxQuantileRegressor(censoring=censoring))
    if target.n_events < _FEWEST_EVENTS:
        warn_user(
            f"y has {target.n_events} rows with an event, too few to compare candidates, which "
            f"begins at {_FEWEST_EVENTS}: only the hazards model is fitted, with a penalty that "
            "keeps it near the Kaplan-Meier curve of all rows.",
            FewEventsWarning,
        )
        cautious = CoxQuantileRegressor(penalty=_CAUTION * n_features, censoring=censoring)
        return [("hazards", cautious)]
    trees = [
        ("boosting", BoostedQuantileRegressor(censoring=censoring)),
        (
            "deep boosting",
            BoostedQuantileRegressor(
                max_depth=5, min_samples_leaf=3, fit_scale=False, censoring=censoring
            ),
        ),
        # Few trees: more of them hardly move the weights. Of large ones, fewer are kept by weight.
        (
            "forest",
            CensoredQuantileForest(n_estimators=32, max_samples=32_000, censoring=censoring),
        ),
    ]
    # With few events networks learn the noise by heart unless they are held back.
    options: dict[str, Any] = {}
    if target.n_events < min(_NOISY, _NOISY_PER_FEATURE * n_features):
        options["dropout"] = 0.2
    networks = [
        ("normal", ShapeNN(family="normal", censoring=censoring, **options)),
        ("bounded", bounded_network(len(target), censoring)),
    ]
    if censoring == "left" or float(target.time[target.event].min()) <= 0:
        return [hazards, *networks, *trees]
    linear = [
        (f"linear {family}", AFTRegressor(distribution=family.replace("-", ""), penalty=_RIDGE))
        for family in ("weibull", "log-normal", "log-logistic")
    ]
    if len(target) < FEW_ROWS or target.n_events < _FEWEST_EVENTS_OF_NETWORKS:
        return [hazards, *linear, *trees]
    networks[1:1] = [
        (family, ShapeNN(family=family, **options)) for family in ("log-normal", "weibull")
    ]
    if len(target) >= _MANY_ROWS:
        return [hazards, *networks, *trees]
    return [hazards, *linear, *networks, *trees]


def bounded_network(n_rows: int, censoring: str) -> ShapeNN:
    """Return a network that fits more closely the more rows there are, and never extrapolates."""
    size = 1 + sum(n_rows >= rows for rows in _MORE_ROWS)
    is_large = size > 2
    return ShapeNN(
        family="normal",
        tail="bounded",
        hidden_layer_sizes=(64, 64) if size == 1 else (100, 100),
        activation="relu" if is_large else "gelu",
        dropout=0.0 if is_large else 0.2,
        max_steps=400 * 2**size,
        learning_rate=0.01,
        weight_decay=6e-3 / 4**size,
        likelihood_weight=0.3 if is_large else 1.0,
        pinball_weight=1.0 if is_large else 0.3,
        censoring=censoring,
    )
