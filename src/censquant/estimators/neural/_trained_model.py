"""Rows prepared for a network, and the network that was trained on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks._network import Network, State
from censquant._engine.objectives._likelihoods import FormulaDistribution, average_of
from censquant._engine.training._loop import Objective
from censquant._engine.training._rows import Rows
from censquant._rows._features import refuse_overflow
from censquant._rows._fit_data import order_by_content
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.quantiles._distribution_curve import DistributionCurve
from censquant.survival import Target
from censquant.survival._target import GeneralTarget
from censquant.survival._transform import TimeTransform

# A spread below this share of the values' size is rounding: the feature is constant.
_NO_SPREAD = 1e-10
# What a constant feature is divided by: nothing was learned of it, so that no other value that it
# has later may change a prediction, whatever its unit.
_NO_INFLUENCE = 1e200
_STEPS_IN_ONE = 2.0**20
_BLOCK_ROWS = 65_536


@dataclass(frozen=True)
class FeatureScale:
    """Centre and scale of features; by default none."""

    center: Floats | None = None
    scale: Floats | float = 1.0

    @classmethod
    def fit(
        cls, x: NDArray[Any], weight: Floats, order: NDArray[np.intp] | None = None
    ) -> "FeatureScale":
        """Take weighted mean and standard deviation of each feature, of rows in an ``order``.

        A constant feature is 0, whatever its value. Samples that are images or sequences have one
        mean and one standard deviation in all, so that their parts stay comparable.
        """
        if x.ndim > 2:
            x = (x if order is None else x[order]).astype(np.float64, copy=False)
            share = weight / weight.sum()
            axes = tuple(range(1, x.ndim))
            center = np.atleast_1d(share @ x.mean(axis=axes))
            variance = np.atleast_1d(share @ ((x - center) ** 2).mean(axis=axes))
        else:
            total = weight.sum()
            center = _weighted_sum(x, weight, order) / total
            variance = _weighted_sum(x, weight, order, around=center) / total
        return cls.of_moments(center, variance)

    @classmethod
    def of_moments(cls, center: Floats, variance: Floats) -> "FeatureScale":
        """Take means and variances that are known; a constant feature is 0, whatever its value."""
        scale = np.sqrt(variance)
        scale[scale <= _NO_SPREAD * np.abs(center)] = _NO_INFLUENCE
        return cls(center, scale)

    def apply(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the scaled features."""
        if self.center is None:
            return x
        return (x - self.center) / self.scale

    def undo(self, scaled: NDArray[Any]) -> Floats:
        """Return features as they were before :meth:`apply`."""
        plain = scaled.astype(np.float64)
        return plain if self.center is None else plain * self.scale + self.center


def _weighted_sum(
    x: NDArray[Any],
    weight: Floats,
    order: NDArray[np.intp] | None,
    around: Floats | None = None,
) -> Floats:
    """Return the weighted sum of each column, or of its squared distances from a value."""
    sums: Floats = np.zeros((0, x.shape[1]))
    n_rows = len(weight)
    # A single column is added up in pairs, several one row after the other: with these, blocks of
    # any size give the same sums.
    size = _BLOCK_ROWS if x.shape[1] > 1 else n_rows
    for start in range(0, n_rows, size):
        rows = slice(start, start + size)
        part = (x[rows] if order is None else x[order[rows]]).astype(np.float64, copy=False)
        part = part if around is None else (part - around) ** 2
        weighted = part * weight[rows, None]
        sums = np.concatenate((sums, weighted)).sum(axis=0, keepdims=True)
    return np.asarray(sums[0])


@dataclass(frozen=True, eq=False)
class FitPlan:
    """What is known before the training: levels, units, objective and ranges of the data."""

    taus: Floats
    transform: TimeTransform
    objective: Objective
    scale: FeatureScale
    feature_range: Floats | None  # None for samples that are no rows of a table
    follow_up: tuple[float, float]
    horizon: float
    unique_times: Floats

    @property
    def inner_levels(self) -> tuple[float, ...]:
        """The levels in model units."""
        return tuple(self.transform.levels(self.taus).tolist())


def scaled_rows(
    features: NDArray[Any], order: NDArray[np.intp], scale: FeatureScale, targets: Rows
) -> Rows:
    """Return the rows of a training, in an order that does not depend on the user's units.

    Training shuffles rows by their position, so the position decides what is learned. Scaled
    features are computed twice, for the order and for the rows in it, so that they are never in
    memory twice.
    """

    def scaled(rows: slice) -> NDArray[Any]:
        return scale.apply(features[order[rows]]).astype(np.float32, copy=False)

    # Steps far larger than the rounding that another unit causes, and far smaller than the data's.
    def steps(rows: slice) -> list[NDArray[Any]]:
        columns = [scaled(rows), *(column[rows] for column in targets.arrays()[1:])]
        return [np.rint(column.astype(np.float64) * _STEPS_IN_ONE) for column in columns]

    places = order_by_content(len(order), steps)
    targets = targets.take(places)
    order[:] = order[places]
    del places
    x = np.empty((len(order), *features.shape[1:]), np.float32)
    for start in range(0, len(order), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        x[block] = scaled(block)
    return replace(targets, x=x)


def targets_only(target: Target, weight: Floats, limit: Floats | None = None) -> Rows:
    """Return rows without features, of a target in model units."""
    nothing = np.zeros((len(target), 0), np.float32)
    ends = {}
    if isinstance(target, GeneralTarget):
        ends = {"lower": target.lower, "entry": target.entry}
    return Rows.from_arrays(
        nothing, time=target.time, event=target.event, weight=weight, limit=limit, **ends
    )


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
