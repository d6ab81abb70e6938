"""A fit in two halves, between which the networks are trained elsewhere, as on a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from censquant._engine.networks._network import Network
from censquant._engine.training._loop import TrainingConfig
from censquant._engine.training._rows import Rows
from censquant._engine.training._shards import FeatureMoments
from censquant._rows._features import (
    check_features,
    dense,
    feature_names,
    warn_of_constant_features,
)
from censquant._trees._follow_up import FollowUp
from censquant._typing import Floats
from censquant._validation import seed_sequence
from censquant.estimators.neural._cqrnn import CQRNN
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.estimators.neural._trained_model import FeatureScale
from censquant.estimators.neural._training import History, warn_of_failed_training
from censquant.survival import Target
from censquant.survival._transform import TimeTransform


@dataclass(frozen=True, eq=False)
class RowSummary:
    """What a fit must know of all rows, which are not in this process."""

    n_rows: int
    target: Target  # times that stand for all, among them the smallest and the largest
    weight: Floats  # how many rows each of them stands for
    moments: FeatureMoments


@dataclass(frozen=True, eq=False)
class RowUnits:
    """The way from checked features and targets to model units; small enough to be sent."""

    scale: FeatureScale
    transform: TimeTransform

    def rows(self, x: NDArray[Any], target: Target, weight: Floats) -> Rows:
        """Return rows in model units."""
        return Rows.from_arrays(
            self.scale.apply(x),
            time=self.transform.forward(target.time),
            event=target.event,
            weight=weight,
        )


class _Named(BaseEstimator):
    """Stands for an estimator of which only the features are known."""

    def __init__(self, names: Sequence[str] | None = None, n_features: int = 0) -> None:
        self.n_features_in_ = n_features if names is None else len(names)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)


def number_columns(X: Any, names: Sequence[str] | None, n_features: int) -> Floats:
    """Return some rows of a table as finite numbers, refused as in a fit."""
    features = check_features(_Named(names, n_features), X, reset=False)
    return np.asarray(dense(features), dtype=np.float64)


def check_splittable(estimator: NeuralRegressor) -> None:
    """Refuse an estimator whose networks cannot be trained elsewhere."""
    if estimator.network is not None:
        raise ValueError(
            "network must be None for training on a cluster, which averages the built-in dense "
            f"networks, got {estimator.network!r}: use hidden_layer_sizes."
        )
    if getattr(estimator, "em_epochs", None) is not None:
        raise ValueError(
            "em_epochs must be None for training on a cluster, where levels of censoring times "
            f"are renewed at every step, got {estimator.em_epochs!r}."
        )
    own = type(estimator)._train_member
    if own not in (NeuralRegressor._train_member, CQRNN._train_member):
        raise TypeError(
            f"{type(estimator).__name__} trains its networks one after the other, which a cluster "
            "cannot: use CQRNN or ShapeNN."
        )


class SplitFit:
    """The fit of a neural estimator without the training of its networks.

    ``units`` lead to model units, ``objective`` is bound to the summary of all rows, and
    ``holdout_seed`` is for the choice of validation rows.
    """

    def __init__(self, estimator: NeuralRegressor, summary: RowSummary) -> None:
        check_splittable(estimator)
        self.config: TrainingConfig = estimator._training_config()
        self._estimator, self._summary = estimator, summary
        scale = FeatureScale()
        if estimator.standardize:
            scale = FeatureScale.of_moments(summary.moments.mean, summary.moments.variance)
        ends = np.stack((summary.moments.low, summary.moments.high))
        self._plan = estimator._plan(summary.target, summary.weight, scale, ends)
        transform = self._plan.transform
        self.units = RowUnits(scale, transform)
        no_features = np.zeros((len(summary.target), 0))
        self.objective = self._plan.objective.bind(
            RowUnits(FeatureScale(), transform).rows(no_features, summary.target, summary.weight)
        )
        *members, follow_up, holdout = seed_sequence(estimator.random_state).spawn(
            estimator.n_members + 2
        )
        self.member_seeds: list[np.random.SeedSequence] = members
        self.holdout_seed: np.random.SeedSequence = holdout
        self._follow_up_seed = follow_up

    def new_network(self, member: int) -> Network:
        """Return the network of a member as it begins."""
        n, p = self._summary.n_rows, len(self._summary.moments.mean)

        def same(value: Any, *shape: int) -> NDArray[Any]:
            return np.broadcast_to(value, shape)  # takes no memory

        # Networks may depend on the number of rows and features, and on nothing else of the rows.
        one = np.float32(1.0)
        rows = Rows(
            x=same(one, n, p),
            time=same(one, n),
            event=same(np.True_, n),
            weight=same(one, n),
            level=same(one, n),
        )
        rng = np.random.default_rng(self.member_seeds[member])
        return self._estimator._make_network(rows, self._plan.objective, rng)

    def finish(
        self,
        networks: Sequence[Network],
        histories: Sequence[History],
        X: Any,
        target: Target,
        weight: Floats,
    ) -> None:
        """Make the estimator a fitted one.

        ``networks`` are trained, one per member; the follow-up is learned from a sample of rows.
        """
        estimator, summary, units = self._estimator, self._summary, self.units
        features = dense(estimator._check_features(X, reset=True))
        rows = units.rows(features, target, weight)
        follow_up = None
        if estimator._stands_alone and not summary.target.event.all():
            follow_up = FollowUp.fit(
                rows.x,
                rows.time,
                rows.event,
                rows.weight,
                np.random.default_rng(self._follow_up_seed),
            )
        estimator._keep(networks, histories, follow_up, self._plan)
        ends = estimator._feature_range
        if estimator._stands_alone and ends is not None:
            warn_of_constant_features(ends, feature_names(estimator))
            warn_of_failed_training(estimator, features, rows, self._plan.objective, stacklevel=4)
