"""What every estimator that trains a network shares: from data to trained members and back."""

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from censquant._validation import check_choice, check_flag, check_integer, check_number, check_sizes
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._follow_up import FollowUp
from censquant.estimators._network_files import network_entries, restored_networks
from censquant.estimators._persistence import Arrays, save_estimator
from censquant.estimators._preparation import FeatureScale, arranged, holdout
from censquant.networks import ACTIVATIONS, DenseNetwork, HeadedNetwork, IncreasingHead, Network
from censquant.quantiles import QuantileCurve, check_quantiles, identified_levels
from censquant.survival import Target, TimeTransform, read_target, read_weights, require_events
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

_PREDICTION_BLOCK = 65_536  # rows; bounds the memory beyond the answer itself
_MOST_TIMES = 1_000  # default times of survival functions
_HEADS = ("free", "increasing")

Task = Callable[[threading.Event], Any]


class BaseNeuralRegressor(BaseQuantileRegressor):
    """Training, prediction and saving for estimators whose model is a network.

    A method is a subclass with a constructor and ``_make_objective``.
    """

    def __init__(
        self,
        quantiles: ArrayLike | None,
        *,
        hidden_layer_sizes: Sequence[int],
        activation: str,
        dropout: float,
        head: str,
        network: Callable[..., Any] | None,
        standardize: bool,
        time_transform: str | None,
        learning_rate: float,
        weight_decay: float,
        batch_size: int,
        max_epochs: int,
        early_stopping: bool,
        validation_fraction: float,
        n_iter_no_change: int,
        n_members: int,
        n_jobs: int | None,
        censoring: str,
        random_state: Any,
        device: str | None,
        verbose: int,
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

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> Objective:
        """Return what the method minimises.

        ``taus`` are levels on the scale of training, to which ``transform`` leads; ``target`` is in
        the user's unit of time. It is None for a model read from a file, which only predicts.
        """
        raise NotImplementedError

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
            Writes the training to a file and goes on from it after a stop.

        Returns
        -------
        self
        """
        config = self._check_parameters()
        taus = check_quantiles(self.quantiles)
        features = self._check_features(X, reset=True)
        target = read_target(y, n_samples=len(features))
        weight = read_weights(sample_weight, len(features))
        features, target, weight = arranged(features, target, weight)
        require_events(target)

        transform = TimeTransform.fit(
            target.time,
            target.event,
            self.time_transform,
            mirror=self.censoring == "left",
            sample_weight=weight,
        )
        scale = FeatureScale.fit(features, weight) if self.standardize else FeatureScale()
        rows = Rows.from_arrays(
            scale.apply(features),
            time=transform.forward(target.time),
            event=target.event,
            weight=weight,
        )
        objective = self._make_objective(
            tuple(inner_levels(taus, transform).tolist()), target, transform
        )
        networks, follow_up, histories = self._train(
            rows, objective, config, [*callbacks, *self._progress()], checkpoint
        )

        self.quantiles_ = taus
        self.time_transform_ = transform
        self.follow_up_ = (float(target.time.min()), float(target.time.max()))
        self.unique_times_ = _thinned(np.unique(target.time[target.event]))
        self.history_ = [
            record if len(networks) == 1 else {"member": member, **record}
            for member, history in enumerate(histories)
            for record in history
        ]
        self._feature_scale = scale
        self._objective = objective
        self._networks = networks
        self._follow_up = follow_up
        return self

    def _train(
        self,
        rows: Rows,
        objective: Objective,
        config: TrainingConfig,
        callbacks: Sequence[Callback],
        checkpoint: Checkpoint | None,
    ) -> tuple[list[Network], FollowUp | None, list[list[dict[str, Any]]]]:
        """Train the members, and beside them the model of follow-up if anything is censored."""
        seeds = _seed_sequence(self.random_state).spawn(self.n_members + 2)
        *rngs, follow_up_rng, holdout_rng = (np.random.default_rng(seed) for seed in seeds)
        all_rows, validation = rows, None
        if self.early_stopping:
            rows, validation = holdout(rows, self.validation_fraction, holdout_rng)
        networks = [self._make_network(rows.x.shape[1:], objective, rng) for rng in rngs]

        def task(member: int) -> Task:
            return lambda stopping: train(
                networks[member],
                objective,
                rows,
                config,
                rngs[member],
                validation=validation,
                callbacks=callbacks,
                checkpoint=None if checkpoint is None else checkpoint.for_member(member),
                member=member,
                stopping=stopping,
            )

        tasks = [task(member) for member in range(self.n_members)]
        follow_up = None
        if not all_rows.event.all():
            follow_up = FollowUp(int(np.prod(rows.x.shape[1:])), follow_up_rng)
            tasks.append(lambda stopping: follow_up.train(all_rows))
        # Torch shares threads and random numbers between all of a process.
        n_jobs = 1 if self.network is not None else self.n_jobs
        histories = side_by_side(tasks, n_jobs)[: self.n_members]
        # Ctrl-C may come before some members have begun: those know nothing and are left out.
        begun = [member for member, history in enumerate(histories) if history] or [0]
        return [networks[m] for m in begun], follow_up, [histories[m] for m in begun]

    def _progress(self) -> list[Callback]:
        return [ProgressBar(self.n_members)] if self.verbose else []

    def _make_network(
        self, shape: tuple[int, ...], objective: Objective, rng: np.random.Generator
    ) -> Network:
        network: Network
        n_outputs = objective.n_outputs
        if self.network is None:
            sizes = [shape[0], *check_sizes("hidden_layer_sizes", self.hidden_layer_sizes)]
            network = DenseNetwork(
                [*sizes, n_outputs], activation=self.activation, dropout=self.dropout, rng=rng
            )
        else:
            from censquant.torch import TorchNetwork

            network = TorchNetwork.from_factory(
                self.network, shape, n_outputs, device=self.device, rng=rng
            )
        if self.head == "increasing":
            network = HeadedNetwork(network, IncreasingHead(n_outputs))
        return network

    def _check_parameters(self) -> TrainingConfig:
        """Check every parameter and return those of the training loop."""
        check_sizes("hidden_layer_sizes", self.hidden_layer_sizes)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_number("dropout", self.dropout, minimum=0.0, below=1.0)
        check_choice("head", self.head, _HEADS)
        check_flag("standardize", self.standardize)
        check_flag("early_stopping", self.early_stopping)
        check_number(
            "validation_fraction",
            self.validation_fraction,
            minimum=0.0,
            below=1.0,
            exclude_minimum=True,
        )
        check_integer("n_members", self.n_members, minimum=1)
        check_choice("censoring", self.censoring, ("right", "left"))
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, minimum=0)
        if self.n_jobs is not None and check_integer("n_jobs", self.n_jobs, minimum=-(2**31)) == 0:
            raise ValueError("n_jobs must be None or an integer other than 0, got 0.")
        if self.network is not None and not callable(self.network):
            raise TypeError(
                "network must be a function (input_shape, n_outputs) -> torch.nn.Module, "
                f"got {self.network!r}."
            )
        if self.network is None and self.device not in (None, "cpu"):
            raise ValueError(
                f"device={self.device!r} needs network=: the built-in dense network runs on the "
                "CPU."
            )
        return TrainingConfig(
            max_epochs=check_integer("max_epochs", self.max_epochs, minimum=1),
            batch_size=check_integer("batch_size", self.batch_size, minimum=1),
            learning_rate=check_number(
                "learning_rate", self.learning_rate, minimum=0.0, exclude_minimum=True
            ),
            weight_decay=check_number("weight_decay", self.weight_decay, minimum=0.0),
            n_iter_no_change=check_integer("n_iter_no_change", self.n_iter_no_change, minimum=1),
        )

    def _check_features(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Return ``X`` as a finite array of numbers; its shape must be that of the fit."""
        features: NDArray[Any] = validate_data(
            self,
            X,
            reset=reset,
            dtype=(np.float64, np.float32),
            order="C",
            allow_nd=self.network is not None,
            ensure_min_samples=2 if reset else 1,
        )
        if reset:
            self._input_shape = features.shape[1:]
        elif features.shape[1:] != self._input_shape:
            raise ValueError(
                f"X must have rows of shape {self._input_shape} as in fit, "
                f"got {features.shape[1:]}."
            )
        return features

    # Predicting

    def _read_features(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "quantiles_")
        return self._check_features(X, reset=False)

    def _inner_curve(self, x: NDArray[Any]) -> QuantileCurve:
        """Return quantile curves on the scale of training, averaged over the members."""
        taus = inner_levels(self.quantiles_, self.time_transform_)
        curves = [
            QuantileCurve.from_own(self._objective.quantiles(network.predict(x), taus), taus)
            for network in self._networks
        ]
        if len(curves) == 1:
            return curves[0]
        return QuantileCurve.from_own(np.mean([curve.values for curve in curves], axis=0), taus)

    def _curve_of(self, features: NDArray[Any]) -> QuantileCurve:
        inner = self._inner_curve(self._feature_scale.apply(features))
        times = self.time_transform_.inverse(inner.values)
        # Where no time was negative, none is predicted.
        lower = 0.0 if self.follow_up_[0] >= 0 else -np.inf
        return QuantileCurve.from_own(
            times[:, ::-1] if self._left_censored else times, self.quantiles_, lower
        )

    def _identified_of(self, features: NDArray[Any]) -> NDArray[np.float64]:
        taus = inner_levels(self.quantiles_, self.time_transform_)
        if self._follow_up is None:
            level = np.full(len(features), taus[-1])
        else:
            x = self._feature_scale.apply(features)
            level = identified_levels(self._inner_curve(x), self._follow_up.curve(x))
        return 1.0 - level if self._left_censored else level

    @property
    def _left_censored(self) -> bool:
        return self.time_transform_.mirror

    @property
    def _any_censored(self) -> bool:
        return self._follow_up is not None

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one file that executes nothing when it is opened.

        Parameters
        ----------
        path : str or path
            An existing file is replaced only once the new one is complete. Read it again with
            :func:`censquant.load`.
        """
        check_is_fitted(self, "quantiles_")
        save_estimator(self, path)

    def _to_file(self) -> tuple[dict[str, Any], Arrays]:
        return network_entries(self)

    @classmethod
    def _from_file(
        cls, header: dict[str, Any], arrays: Arrays, network: Callable[..., Any] | None
    ) -> Self:
        return restored_networks(cls, header, arrays, network)


def inner_levels(taus: NDArray[np.float64], transform: TimeTransform) -> NDArray[np.float64]:
    """Return the levels on the scale of training: mirrored times have mirrored levels."""
    return 1.0 - taus[::-1] if transform.mirror else taus


def _seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the source of all randomness; the global generators are neither read nor moved."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    return np.random.SeedSequence(check_integer("random_state", random_state, minimum=0))


def _thinned(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most a thousand of the sorted times, spread evenly and with both ends."""
    if len(times) <= _MOST_TIMES:
        return times
    return times[np.linspace(0, len(times) - 1, _MOST_TIMES).round().astype(np.intp)]
