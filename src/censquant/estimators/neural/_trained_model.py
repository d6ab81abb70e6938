"""One trained network with everything that leads from features to times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks._network import Network, State
from censquant._engine.objectives._distributions import FormulaDistribution, average_of
from censquant._engine.training._loop import Objective
from censquant._rows._features import refuse_overflow
from censquant._typing import Floats
from censquant.estimators.neural._preparation import FeatureScale
from censquant.quantiles import QuantileCurve
from censquant.quantiles._distribution_curve import DistributionCurve
from censquant.survival._transform import TimeTransform


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """Feature scale, network, objective and time transform: features in, curves out.

    Fitted neural estimators hold a list of them in ``models_``, one per member. Ensembles, files
    and exports consume that list; nothing else is needed to predict.
    """

    feature_scale: FeatureScale  # centres and scales features
    network: Network  # maps scaled features to outputs
    objective: Objective  # decodes outputs to quantiles in model units
    time_transform: TimeTransform  # leads from times to model units and back
    quantiles: Floats  # shape (n_levels,); fitted levels
    lower: float  # smallest time that is predicted

    def outputs(self, features: NDArray[Any]) -> Floats:
        """Return the network's outputs for unscaled features.

        Raises if a row has none: features so large that they overflow.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = self.network.predict(self.feature_scale.apply(features))
        refuse_overflow(outputs, features, ())
        return outputs

    def raw_quantiles(self, features: NDArray[Any]) -> Floats:
        """Return quantiles in model units at the fitted levels, as the network gives them.

        They may cross. Rows ``(n, n_levels)``, levels in model units.
        """
        return self.objective.quantiles(
            self.outputs(features), self.time_transform.levels(self.quantiles)
        )

    def curve(self, features: NDArray[Any]) -> QuantileCurve:
        """Return the curves of checked features in the user's unit of time."""
        return ensemble_curve([self], features)

    def in_user_units(self, values: Floats) -> QuantileCurve:
        """Return the curves behind quantiles in model units."""
        return QuantileCurve.adopt(self._in_user_times(values), self.quantiles, self.lower)

    def _in_user_times(self, values: Floats) -> Floats:
        times = self.time_transform.inverse(values)
        # Mirrored times have mirrored levels.
        return np.ascontiguousarray(times[:, ::-1]) if self.time_transform.mirror else times

    @property
    def n_parameters(self) -> int:
        """Number of trained weights."""
        return self.network.n_parameters

    def describe(self) -> dict[str, Any]:
        """Return the architecture as plain data: what a reader of a model file needs to know."""
        return {
            "network": self.network.describe(),
            "objective": type(self.objective).__name__,
            "quantiles": self.quantiles.tolist(),
            "time_transform": self.time_transform.to_dict(),
            "standardized": self.feature_scale.center is not None,
            "lower": self.lower if np.isfinite(self.lower) else None,
        }

    def state(self) -> State:
        """Return all numbers that were learned, by name."""
        state = dict(self.network.state())
        if self.feature_scale.center is not None:
            state["features.center"] = self.feature_scale.center
            state["features.scale"] = np.asarray(self.feature_scale.scale)
        return state


@dataclass(frozen=True, eq=False)
class UserTimes:
    """The distribution of the time whose transform has a known distribution."""

    inner: FormulaDistribution  # in model units
    # Its logarithm is taken without a floor: small times have small levels here
    transform: TimeTransform

    def quantile(self, levels: Floats) -> Floats:
        """Return quantiles in the user's unit."""
        if self.transform.mirror:
            return self.transform.inverse(self.inner.inverse_survival(levels))
        return self.transform.inverse(self.inner.quantile(levels))

    def cdf(self, times: Floats) -> Floats:
        """Return the levels of times in the user's unit."""
        u = times
        if self.transform.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                u = np.where(times > 0, np.log(times), -np.inf)
        z = (u - self.transform.center) / self.transform.scale
        return self.inner.survival(-z) if self.transform.mirror else self.inner.cdf(z)

    def take(self, rows: Any) -> "UserTimes":
        """Return the distributions of some of the individuals."""
        return UserTimes(self.inner.take(rows), self.transform)


def ensemble_distribution(models: Sequence[TrainedModel], features: NDArray[Any]) -> Any:
    """Return the distributions, in model units, whose quantiles are the means of the members'."""
    objective: Any = models[0].objective
    return average_of([objective.distribution(model.outputs(features)) for model in models])


def ensemble_curve(
    models: Sequence[TrainedModel], features: NDArray[Any], levels: Floats | None = None
) -> QuantileCurve:
    """Return the curves whose quantiles, in model units, are the means of the members'.

    A model that predicts a distribution answers by its formula, and may list other ``levels`` than
    those that were fitted.
    """
    first = models[0]
    if hasattr(first.objective, "distribution"):
        times = UserTimes(ensemble_distribution(models, features), first.time_transform)
        return DistributionCurve(times, first.quantiles if levels is None else levels, first.lower)
    if len(models) == 1:
        return first.in_user_units(first.raw_quantiles(features))
    # Crossed quantiles are put in order before they are averaged.
    members = [
        QuantileCurve.adopt(model.raw_quantiles(features), first.quantiles).values
        for model in models
    ]
    return first.in_user_units(np.mean(members, axis=0))


def ensemble_raw_quantiles(models: Sequence[TrainedModel], features: NDArray[Any]) -> Floats:
    """Return the mean of the members' quantiles as the networks give them, in the user's unit."""
    values = [model.raw_quantiles(features) for model in models]
    return models[0]._in_user_times(np.mean(values, axis=0))
