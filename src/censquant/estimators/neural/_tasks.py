"""Parts of a fit and of a prediction as objects, which can be pickled where closures cannot."""

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant.estimators._follow_up import FollowUp
from censquant.networks import Network
from censquant.quantiles import QuantileCurve, reach_until
from censquant.training import Objective, Rows, TrainingConfig

if TYPE_CHECKING:
    from censquant.estimators.neural._neural import NeuralRegressor

History = list[dict[str, Any]]


@dataclass(frozen=True)
class MemberTraining:
    """The training of one member, to be run beside others."""

    estimator: "NeuralRegressor"
    objective: Objective
    rows: Rows
    config: TrainingConfig
    rng: np.random.Generator
    options: dict[str, Any]

    def __call__(self, stopping: threading.Event) -> tuple[Network, History]:
        return self.estimator._train_member(
            self.objective, self.rows, self.config, self.rng, stopping=stopping, **self.options
        )


@dataclass(frozen=True)
class FollowUpTraining:
    """The fit of the follow-up, beside the members; it is short, so Ctrl-C does not stop it."""

    rows: Rows
    rng: np.random.Generator

    def __call__(self, stopping: threading.Event) -> FollowUp:
        rows = self.rows
        return FollowUp.fit(
            rows.x.reshape(len(rows), -1), rows.time, rows.event, rows.weight, self.rng
        )


@dataclass(frozen=True)
class ReachRule:
    """The rule that gives a curve its reach when it is asked for."""

    estimator: "NeuralRegressor"
    features: NDArray[Any]

    def __call__(self, curve: QuantileCurve) -> NDArray[np.float64]:
        limit = self.estimator._followed_until(self.features)
        return reach_until(curve, limit, lowest=curve.reach_is_lowest)
