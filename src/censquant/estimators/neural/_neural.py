"""What every estimator that trains a network shares: from data to trained members and back."""

import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from censquant._seeds import seed_sequence
from censquant.estimators._feature_model import FeatureModel
from censquant.estimators._features import (
    check_features,
    dense,
    feature_names,
    feature_range,
    refuse_other_shapes,
    warn_of_constant_features,
)
from censquant.estimators._follow_up import FollowUp, ReachRule, followed
from censquant.estimators._parts import Part
from censquant.estimators._row_order import arrangement, in_order
from censquant.estimators.neural._architecture import new_network
from censquant.estimators.neural._convergence import warn_of_failed_training
from censquant.estimators.neural._fitted import Fitted
from censquant.estimators.neural._graph import CurveGraph, neural_graph
from censquant.estimators.neural._network_files import network_part, restored_networks
from censquant.estimators.neural._parameters import checked_config
from censquant.estimators.neural._preparation import (
    FeatureScale,
    holdout,
    in_unit_free_order,
)
from censquant.estimators.neural._tasks import FollowUpTraining, History, MemberTraining
from censquant.estimators.neural._trained_model import (
    TrainedModel,
    ensemble_curve,
    ensemble_raw_quantiles,
)
from censquant.networks import Network
from censquant.objectives import Powell
from censquant.quantiles import QuantileCurve, check_quantiles
from censquant.survival import (
    Target,
    TimeTransform,
    read_censoring_times,
    read_target,
    read_weights,
    require_events,
)
from censquant.training import (
    Callback,
    Checkpoint,
    Objective,
    ProgressBar,
    Rows,
    TrainingConfig,
    side_by_side,
    train,
)

_NEVER = 1e30  # stands for an infinite time in compiled arithmetic


class NeuralRegressor(FeatureModel):
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
    >>> from censquant.objectives import Portnoy
    >>> class InterpolatingNN(NeuralRegressor):
    ...     def _make_objective(self, taus, target, transform):
    ...         return Portnoy(taus, "interpolate")
    >>> data = make_norm_linear(100, random_state=0)
    >>> model = InterpolatingNN([0.25, 0.5], max_epochs=2, random_state=0).fit(data.X, data.y)
    >>> model.predict_quantiles(data.X[:3], beyond="extrapolate").shape
    (3, 2)
    """

    models_: list[TrainedModel]
    history_: History
    time_transform_: TimeTransform
    _fit_parameters: dict[str, Any]
    _follow_up: FollowUp | None
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

    @abstractmethod
    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> Objective:
        """Return what the method minimises.

        ``taus`` are levels in model units, to which ``transform`` leads; ``target`` is in
        the user's unit of time. It is None for a model read from a file, which only predicts.
        """

    def _training_config(self) -> TrainingConfig:
        """Check the parameters and return those of the training loop."""
        return checked_config(self)

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
            Called after every epoch; see :mod:`censquant.training`.
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
        config = self._training_config()
        taus = check_quantiles(self.quantiles)
        features = dense(self._check_features(X, reset=True))
        target = read_target(y, n_samples=len(features))
        weight = read_weights(sample_weight, len(features))
        left = self.censoring == "left"
        limit = None
        if censoring_time is not None:
            limit = read_censoring_times(censoring_time, target, left=left)
        known = () if limit is None else (limit,)
        order, weight = arrangement(weight, features, target.time, target.event, *known)
        features, target = in_order(features, order), target.take(order)
        require_events(target)
        if features.ndim == 2 and self._stands_alone:
            warn_of_constant_features(features, feature_names(self), stacklevel=3)

        transform = self._fit_transform(target, weight, mirror=left)
        if limit is not None:
            limit = np.clip(transform.forward(limit[order]), -_NEVER, _NEVER)
        scale = FeatureScale.fit(features, weight) if self.standardize else FeatureScale()
        rows = Rows.from_arrays(
            scale.apply_in_blocks(features),
            time=transform.forward(target.time),
            event=target.event,
            weight=weight,
            limit=limit,
        )
        rows = in_unit_free_order(rows)
        inner = tuple(transform.levels(taus).tolist())
        objective: Objective = self._make_objective(inner, target, transform)
        if limit is not None:
            objective = known_objective(inner)
        progress = [ProgressBar(self._n_runs())] if self.verbose else []
        try:
            networks, follow_up, histories = self._train(
                rows, objective, config, [*callbacks, *progress], checkpoint
            )
        finally:
            for bar in progress:
                bar.close()

        left_behind = Fitted(scale, transform, objective, target, weight)
        ends = feature_range(features) if features.ndim == 2 else None
        left_behind.keep_in(self, taus, networks, histories, follow_up, ends)
        if self._stands_alone:
            warn_of_failed_training(self, features, rows, objective, stacklevel=4)
        return self

    def _fit_transform(
        self, target: Target, weight: NDArray[np.float64], *, mirror: bool
    ) -> TimeTransform:
        """Return the way to model units."""
        return TimeTransform.fit(
            target.time, target.event, self.time_transform, mirror=mirror, sample_weight=weight
        )

    def _fitted_levels(
        self, taus: NDArray[np.float64], networks: Sequence[Network]
    ) -> NDArray[np.float64]:
        """Return the levels that the trained networks predict."""
        return taus

    def _train(
        self,
        rows: Rows,
        objective: Objective,
        config: TrainingConfig,
        callbacks: Sequence[Callback],
        checkpoint: Checkpoint | None,
    ) -> tuple[list[Network], FollowUp | None, list[History]]:
        """Train the members, and beside them the model of follow-up if anything is censored."""
        seeds = seed_sequence(self.random_state).spawn(self.n_members + 2)
        *rngs, follow_up_rng, holdout_rng = (np.random.default_rng(seed) for seed in seeds)
        all_rows, validation = rows, None
        if self.early_stopping:
            rows, validation = holdout(rows, self.validation_fraction, holdout_rng)

        tasks: list[Callable[[threading.Event], Any]] = [
            MemberTraining(
                self,
                objective,
                rows,
                config,
                rng,
                {
                    "validation": validation,
                    "callbacks": callbacks,
                    "checkpoint": None if checkpoint is None else checkpoint.for_member(member),
                    "member": member,
                },
            )
            for member, rng in enumerate(rngs)
        ]
        if self._stands_alone and not all_rows.event.all():
            tasks.append(FollowUpTraining(all_rows, follow_up_rng))
        # Torch shares threads and random numbers between all of a process.
        n_jobs = 1 if self.network is not None else self.n_jobs
        results = side_by_side(tasks, n_jobs, stopping=self._stopping)
        trained, follow_up = results[: self.n_members], (*results[self.n_members :], None)[0]
        # Ctrl-C may come before some members have begun: those know nothing and are left out.
        begun = [result for result in trained if result[1]] or trained[:1]
        return [network for network, _ in begun], follow_up, [history for _, history in begun]

    def _train_member(
        self,
        objective: Objective,
        rows: Rows,
        config: TrainingConfig,
        rng: np.random.Generator,
        **options: Any,
    ) -> tuple[Network, History]:
        """Train one network; ``options`` go to :func:`censquant.training.train`."""
        network = self._make_network(rows, objective, rng)
        return network, train(network, objective, rows, config, rng, **options)

    def _n_runs(self) -> int:
        """Return the number of trainings of a fit."""
        return self.n_members

    def _make_network(self, rows: Rows, objective: Objective, rng: np.random.Generator) -> Network:
        """Return a network for the rows that it will be trained on."""
        return new_network(self, rows.x.shape[1:], objective.n_outputs, rng)

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
        return curve.with_reach(ReachRule(self, features), lowest=self.time_transform_.mirror)

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
        return followed(self._follow_up, features, self.time_transform_, scaled)

    def _curve_of_graph(self, x: Any) -> CurveGraph:
        return neural_graph(self.models_, self._follow_up, x, self._curve_levels())

    # Saving

    def _to_part(self) -> Part:
        return network_part(self)

    @classmethod
    def _from_part(cls, part: Part, network: Callable[..., Any] | None) -> Self:
        return restored_networks(cls, part, network)
