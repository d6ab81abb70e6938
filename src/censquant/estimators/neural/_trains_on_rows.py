"""The half of a neural estimator that trains: from rows in model units to a fitted model."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._engine.networks import Network
from censquant._engine.training import (
    Callback,
    Checkpoint,
    Objective,
    ProgressBar,
    RowSource,
    TrainingConfig,
    train,
)
from censquant._trees._follow_up import FollowUp
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators.neural._architecture import new_network
from censquant.estimators.neural._convergence import warn_of_failed_training
from censquant.estimators.neural._facts import DataFacts
from censquant.estimators.neural._members import train_members
from censquant.estimators.neural._parameters import checked_config
from censquant.estimators.neural._tasks import History, joined
from censquant.estimators.neural._trained_model import TrainedModel
from censquant.survival import Target
from censquant.survival._transform import TimeTransform


class TrainsOnRows(BaseQuantileRegressor):
    """Trains networks on rows, wherever they are stored, and keeps what predictions need."""

    quantiles: ArrayLike | None
    hidden_layer_sizes: Sequence[int]
    activation: str
    dropout: float
    head: str
    network: Callable[..., Any] | None
    standardize: bool
    time_transform: str | None
    learning_rate: float
    weight_decay: float
    batch_size: int
    max_epochs: int
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    n_members: int
    n_jobs: int | None
    censoring: str
    random_state: Any
    device: str | None
    verbose: int
    quantiles_: NDArray[np.float64]
    unique_times_: NDArray[np.float64]
    follow_up_: tuple[float, float]
    horizon_: float
    models_: list[TrainedModel]
    history_: History
    time_transform_: TimeTransform
    _follow_up: FollowUp | None
    _reads_features = True
    _input_shape: tuple[int, ...]
    _fit_parameters: dict[str, Any]

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

    def _fit_rows(
        self,
        rows: RowSource,
        some: NDArray[Any],
        facts: DataFacts,
        objective: Objective,
        taus: NDArray[np.float64],
        config: TrainingConfig,
        callbacks: Sequence[Callback],
        checkpoint: Checkpoint | None,
    ) -> Self:
        """Train on rows in model units; ``some`` are features of a few as the user gave them."""
        progress = [ProgressBar(self._n_runs())] if self.verbose else []
        try:
            networks, follow_up, histories = train_members(
                self, rows, objective, config, [*callbacks, *progress], checkpoint
            )
        finally:
            for bar in progress:
                bar.close()

        self._keep(networks, histories, follow_up, facts, objective, taus)
        if self._stands_alone:
            warn_of_failed_training(self, some, rows.sample(), objective, stacklevel=5)
        return self

    def _keep(
        self,
        networks: Sequence[Network],
        histories: Sequence[History],
        follow_up: FollowUp | None,
        facts: DataFacts,
        objective: Objective,
        taus: NDArray[np.float64],
    ) -> None:
        """Set everything that predictions and files need."""
        self.quantiles_ = self._fitted_levels(taus, networks)
        self.time_transform_ = facts.transform
        self.follow_up_ = facts.follow_up
        self.horizon_ = facts.horizon
        self.unique_times_ = facts.unique_times
        self.history_ = joined(histories)
        self.models_ = [
            TrainedModel(
                facts.scale,
                network,
                objective,
                facts.transform,
                self.quantiles_,
                self._lowest_time(),
            )
            for network in networks
        ]
        self._fit_parameters = self.get_params(deep=False)
        self._feature_range = facts.feature_range
        self._follow_up = follow_up

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

    def _train_member(
        self,
        objective: Objective,
        rows: RowSource,
        config: TrainingConfig,
        rng: np.random.Generator,
        **options: Any,
    ) -> tuple[Network, History]:
        """Train one network; ``options`` go to :func:`censquant._engine.training.train`."""
        network = self._make_network(rows, objective, rng)
        return network, train(network, objective, rows, config, rng, **options)

    def _n_runs(self) -> int:
        """Return the number of trainings of a fit."""
        return self.n_members

    def _make_network(
        self, rows: RowSource, objective: Objective, rng: np.random.Generator
    ) -> Network:
        """Return a network for the rows that it will be trained on."""
        return new_network(self, rows.shape, objective.n_outputs, rng)
