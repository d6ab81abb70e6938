"""What every estimator that trains a network shares: from data to trained members and back."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from censquant._engine.objectives import Powell
from censquant._engine.training import (
    Callback,
    Checkpoint,
    Objective,
)
from censquant._rows._features import (
    check_features,
    dense,
    feature_names,
    feature_range,
    refuse_other_shapes,
    refuse_swapped,
    warn_of_constant_features,
    warn_of_leaking_features,
)
from censquant._rows._row_order import arrangement
from censquant._storage._parts import Part
from censquant._trees._follow_up import ReachRule, followed
from censquant.estimators.neural._convergence import SHOWN_ROWS
from censquant.estimators.neural._dataset_fits import FitsDatasets
from censquant.estimators.neural._facts import DataFacts
from censquant.estimators.neural._network_files import network_part, restored_networks
from censquant.estimators.neural._preparation import (
    FeatureScale,
    scaled_rows,
    targets_only,
)
from censquant.estimators.neural._trained_model import (
    ensemble_curve,
    ensemble_raw_quantiles,
)
from censquant.export._graphs_networks import CurveGraph, ensemble_graph, scaled_graph
from censquant.export._graphs_trees import followed_graph, reach_graph
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import check_quantiles
from censquant.survival import read_target
from censquant.survival._columns import read_weights
from censquant.survival._kaplan_meier import read_censoring_times
from censquant.survival._target import require_events

_NEVER = 1e30  # stands for an infinite time in compiled arithmetic


class NeuralRegressor(FitsDatasets):
    """Training, prediction and saving for estimators whose model is a network.

    A method is a subclass with ``_make_objective``, and a constructor if it has own parameters.

    Parameters
    ----------
    quantiles, hidden_layer_sizes, activation, dropout, head, network, standardize, \
time_transform, learning_rate, weight_decay, batch_size, max_epochs, early_stopping, \
validation_fraction, n_iter_no_change, n_members, n_jobs, censoring, random_state, device, verbose
        As in :class:`CQRNN`.

    Attributes
    ----------
    quantiles_, models_, history_, follow_up_, horizon_, time_transform_, unique_times_, \
n_features_in_, feature_names_in_
        As in :class:`CQRNN`.

    Examples
    --------
    >>> from censquant.datasets import make_norm_linear
    >>> from censquant.estimators import NeuralRegressor
    >>> from censquant._engine.objectives import Portnoy
    >>> class InterpolatingNN(NeuralRegressor):
    ...     def _make_objective(self, taus, target, transform):
    ...         return Portnoy(taus, "interpolate")
    >>> data = make_norm_linear(100, random_state=0)
    >>> model = InterpolatingNN([0.25, 0.5], max_epochs=2, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:3], beyond="extrapolate").shape
    (3, 2)
    """

    _unstored_parameters = ("network", "random_state")  # by a model file

    def __init__(
        self,
        quantiles: ArrayLike | None = None,
        *,
        hidden_layer_sizes: Sequence[int] = (100, 100),
        activation: str = "relu",
        dropout: float = 0.0,
        head: str = "free",
        network: Callable[..., Any] | None = None,
        standardize: bool = True,
        time_transform: str | None = "standardize",
        learning_rate: float = 0.01,
        weight_decay: float = 1e-4,
        batch_size: int = 128,
        max_epochs: int = 100,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_members: int = 1,
        n_jobs: int | None = None,
        censoring: str = "right",
        random_state: Any = None,
        device: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.quantiles = quantiles
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.dropout = dropout
        self.head = head
        self.network = network
        self.standardize = standardize
        self.time_transform = time_transform
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_members = n_members
        self.n_jobs = n_jobs
        self.censoring = censoring
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    # Fitting

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        callbacks: Sequence[Callback] = (),
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Fit to features and possibly censored times.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            With ``network`` of any shape ``(n, ...)``.
        y : structured array, (time, event) tuple, DataFrame, dict or 1-D array
            Times and whether the event was seen; a plain array means that all were.
        sample_weight : array-like of shape (n,), optional
            Whole numbers count a row so many times; other weights scale its loss.
        callbacks : sequence of Callback
            Called after every epoch; see :mod:`censquant._engine.training`.
        checkpoint : Checkpoint, optional
            Writes the training to a file and resumes from it after a stop.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, callbacks=callbacks, checkpoint=checkpoint)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        *,
        callbacks: Sequence[Callback],
        checkpoint: Checkpoint | None,
        censoring_time: ArrayLike | None = None,
        known_objective: Callable[[tuple[float, ...]], Objective] = Powell,
    ) -> Self:
        """Fit; with ``censoring_time`` every row's is known."""
        refuse_swapped(X, y)
        config = self._training_config()
        taus = check_quantiles(self.quantiles)
        features = dense(self._check_features(X, reset=True))
        target = read_target(y, n_samples=len(features))
        weight = read_weights(sample_weight, len(features))
        if features.ndim == 2 and self._stands_alone:
            warn_of_leaking_features(features, target, feature_names(self))
        left = self.censoring == "left"
        limit = None
        if censoring_time is not None:
            limit = read_censoring_times(censoring_time, target, left=left)
        known = () if limit is None else (limit,)
        order, weight = arrangement(weight, features, target.time, target.event, *known)
        target = target.take(order)
        require_events(target)
        ends = feature_range(features, order) if features.ndim == 2 else None
        if ends is not None and self._stands_alone:
            warn_of_constant_features(ends, feature_names(self), stacklevel=3)

        transform = self._fit_transform(target, weight, mirror=left)
        if limit is not None:
            limit = np.clip(transform.forward(limit[order]), -_NEVER, _NEVER)
        scale = FeatureScale.fit(features, weight, order) if self.standardize else FeatureScale()
        facts = DataFacts.of(target, weight, transform, scale, ends, left=left)
        inner = tuple(transform.levels(taus).tolist())
        objective: Objective = self._make_objective(inner, target, transform)
        if limit is not None:
            objective = known_objective(inner)
        some = features[order[:SHOWN_ROWS]]
        targets = targets_only(transform.forward(target.time), target.event, weight, limit)
        del target, weight, limit  # a training of many rows needs the memory
        rows = scaled_rows(features, order, scale, targets)
        del order, targets
        return self._fit_rows(rows, some, facts, objective, taus, config, callbacks, checkpoint)

    def _check_features(self, X: Any, *, reset: bool) -> Any:
        """Return ``X`` as a finite array of numbers; its shape must be that of the fit."""
        features = check_features(
            self,
            X,
            reset=reset,
            dtype=(np.float64, np.float32),
            allow_nd=self.network is not None,
        )
        if reset:
            self._input_shape = features.shape[1:]
        else:
            refuse_other_shapes(features, self._input_shape)
        return features

    # Predicting

    def _read_features(self, X: Any) -> Any:
        check_is_fitted(self, "quantiles_")
        return self._check_features(X, reset=False)

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        curve = ensemble_curve(self.models_, features, self._curve_levels())
        rule, mirror = ReachRule(self, features), self.time_transform_.mirror
        return self._limited(curve).with_reach(rule, lowest=mirror)

    def _curve_levels(self) -> NDArray[np.float64]:
        """Return the levels that curves list; models of a whole distribution may add some."""
        return self.quantiles_

    def raw_quantiles(self, X: Any) -> NDArray[np.float64]:
        """Return the quantiles as the networks give them, which may cross.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)

        Returns
        -------
        times : ndarray of shape (n, n_levels)
            At the fitted levels, averaged over the members, in the user's unit.
        """
        return ensemble_raw_quantiles(self.models_, dense(self._read_features(X)))

    def _followed(self, features: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how long individuals were followed, and the level reached by then."""
        scaled = self.models_[0].feature_scale.apply
        return followed(self._follow_up, features, self.time_transform_, self.follow_up_, scaled)

    def _curve_of_graph(self, x: Any) -> CurveGraph:
        models, transform = self.models_, self.time_transform_
        curve = self._limited(ensemble_graph(models, x, self._curve_levels()))
        scaled = scaled_graph(models[0], x)
        followed = followed_graph(self._follow_up, scaled, transform, self.follow_up_)
        return curve, reach_graph(curve, followed, lowest=transform.mirror)

    # Saving

    def _to_part(self) -> Part:
        return network_part(self)

    @classmethod
    def _from_part(cls, part: Part, network: Callable[..., Any] | None) -> Self:
        return restored_networks(cls, part, network)
