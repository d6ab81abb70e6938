"""What a fit of networks leaves in the estimator, wherever they were trained."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from censquant.estimators._feature_model import default_times
from censquant.estimators._follow_up import FollowUp
from censquant.estimators.neural._preparation import FeatureScale
from censquant.estimators.neural._tasks import History, joined
from censquant.estimators.neural._trained_model import TrainedModel
from censquant.networks import Network
from censquant.survival import Target, TimeTransform, default_horizon
from censquant.training import Objective

if TYPE_CHECKING:
    from censquant.estimators.neural._neural import NeuralRegressor


@dataclass(frozen=True, eq=False)
class Fitted:
    """The way to model units, and the targets of the fit in the user's unit with their weights."""

    scale: FeatureScale
    transform: TimeTransform
    objective: Objective
    target: Target
    weight: NDArray[np.float64]

    def keep_in(
        self,
        estimator: "NeuralRegressor",
        taus: NDArray[np.float64],
        networks: Sequence[Network],
        histories: Sequence[History],
        follow_up: FollowUp | None,
        feature_range: NDArray[np.float64] | None,
    ) -> None:
        """Set everything that predictions and files need."""
        time, transform = self.target.time, self.transform
        estimator.quantiles_ = estimator._fitted_levels(taus, networks)
        estimator.time_transform_ = transform
        estimator.follow_up_ = (float(time.min()), float(time.max()))
        estimator.horizon_ = default_horizon(time, self.weight, left=transform.mirror)
        estimator.unique_times_ = default_times(time[self.target.event])
        estimator.history_ = joined(histories)
        lowest = estimator._lowest_time()
        estimator.models_ = [
            TrainedModel(
                self.scale, network, self.objective, transform, estimator.quantiles_, lowest
            )
            for network in networks
        ]
        estimator._fit_parameters = estimator.get_params(deep=False)
        estimator._feature_range = feature_range
        estimator._follow_up = follow_up
