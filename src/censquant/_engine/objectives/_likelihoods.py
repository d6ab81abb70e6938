"""Objectives whose outputs are parameters of a distribution, or quantiles that bend one."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine._families import GUMBEL, NORMAL, STANDARD
from censquant._engine.losses._crps import asymmetric_laplace_crps, log_time_crps
from censquant._engine.losses._likelihoods import (
    CALIBRATION_BINS,
    CALIBRATION_SHARPNESS,
    LARGEST_LOG,
    SMALLEST_SCALE,
    asymmetric_laplace,
    asymmetric_laplace_levels,
    bound_outputs,
    calibration_penalty,
    limit_rows,
    location_scale,
    location_scale_levels,
)
from censquant._engine.losses._shape import ShapeTerms, shape_loss
from censquant._engine.networks._network import FloatArray
from censquant._engine.objectives._distributions import (
    AsymmetricLaplaceDistribution,
    FormulaDistribution,
    LocationScaleDistribution,
    ShapeDistribution,
    shape_knots,
)
from censquant._engine.training._rows import Rows
from censquant._typing import Floats
from censquant.quantiles._grid import even_grid
from censquant.survival._transform import TimeTransform

Limits = tuple[float, float, float, float]
"""Lowest and low, high and highest: beyond low and high an output approaches the other two."""

# How far a location may lie beyond the times of the training rows: by this factor where their
# logarithm is modelled, else by one less than it times their range.
_REACH = 3.0
_LONGEST_GRADIENT = 10.0  # of one row; those of rows that fit are around 1


@dataclass(frozen=True)
class ParameterBounds:
    """Intervals that the outputs of a network are kept in, smoothly; see ``bound_outputs``."""

    limits: tuple[Limits, ...]

    def __post_init__(self) -> None:
        for limits in self.limits:
            if np.isnan(limits).any() or list(limits) != sorted(limits):
                raise ValueError(
                    "limits must be numbers in the order lowest <= low <= high <= highest, "
                    f"got {limits!r}."
                )

    @cached_property
    def _table(self) -> Floats:
        return np.array(self.limits, dtype=np.float64)

    def apply(self, output: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return bounded outputs, and their derivatives by the outputs."""
        values, slopes = np.empty_like(output), np.empty_like(output)
        bound_outputs(output, self._table, values, slopes)
        return values, slopes


@dataclass(frozen=True)
class Likelihood:
    """Censored maximum likelihood: the network predicts the parameters of a distribution.

    ``bounds`` are intervals for the outputs, which :meth:`within` sets by the training rows, and
    ``calibration`` is the strength of the penalty on a batch that is not calibrated. A family has a
    loss, levels of times, and distributions with given parameters.
    """

    bounds: ParameterBounds | None = field(default=None, kw_only=True)
    calibration: float = field(default=0.0, kw_only=True)

    # Of the outputs after the location, in standard deviations of the transformed times.
    _shape_limits: ClassVar[tuple[Limits, ...]] = ()

    @property
    def n_outputs(self) -> int:
        """A location and the other parameters."""
        return 1 + len(self._shape_limits)

    def within(self, low: float, high: float, transform: TimeTransform) -> Self:
        """Return the objective with parameters that stay near the times of the training rows.

        Locations lie between a third of the smallest and three times the largest time if
        ``transform`` takes logarithms; otherwise they exceed the times by less than twice their
        range. Scales of normal and Gumbel distributions lie between 0.018 and 2.13 standard
        deviations of the transformed times, those of asymmetric Laplace distributions between
        exp(-4) and exp(2), with an asymmetry between exp(-2) and exp(2). So every quantile has a
        bound, whatever the features. Rows that a model takes for impossible are also kept from
        dominating a training step; see ``limit_rows``.
        """
        first, last = (float(value) for value in np.sort(transform.forward([low, high])))
        room = float(np.log(_REACH)) / transform.scale
        if not transform.log:
            room = (_REACH - 1.0) * (last - first) or 1.0
        location = (first - room, first, last, last + room)
        return replace(self, bounds=ParameterBounds((location, *self._shape_limits)))

    def bind(self, train: Rows) -> Self:
        """Return itself: nothing depends on the training rows."""
        return self

    def prepare(self, rows: Rows) -> Rows:
        """Return all rows."""
        return rows

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean negative log-likelihood, penalty included, and write its gradient.

        With ``bounds``, gradients of rows that are too long are shortened.
        """
        if self.bounds is None:
            return self._penalized_loss(output, batch, out)
        values, slopes = self.bounds.apply(output)
        loss = self._penalized_loss(values, batch, out)
        limit_rows(out, slopes, batch.weight, _LONGEST_GRADIENT)
        return loss

    def _penalized_loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return loss and calibration penalty, and write the gradient of both by the values."""
        loss = self._loss(values, batch, out)
        if not self.calibration:
            return loss
        levels, by_level = np.empty((2, len(values)))
        slopes = np.empty(values.shape)
        self._fill_levels(values, batch, levels, slopes)
        penalty = calibration_penalty(
            levels, batch.event, batch.weight, CALIBRATION_BINS, CALIBRATION_SHARPNESS, by_level
        )
        out += (self.calibration * by_level[:, None] * slopes).astype(out.dtype)
        return loss + self.calibration * float(penalty)

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean negative log-likelihood, a proper score under censoring, and penalty."""
        return self.gradient(output, rows, np.empty_like(output))

    def distribution(self, output: FloatArray) -> FormulaDistribution:
        """Return the predicted distributions in model units."""
        values = np.asarray(output, dtype=np.float64)
        return self._decode(values if self.bounds is None else self.bounds.apply(values)[0])

    def quantiles(self, output: FloatArray, taus: FloatArray) -> Floats:
        """Return the exact quantiles at any levels."""
        return self.distribution(output).quantile(np.asarray(taus, dtype=np.float64))

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean negative log-likelihood and write its gradient by the values."""
        raise NotImplementedError

    def _fill_levels(self, values: FloatArray, batch: Rows, levels: Floats, slopes: Floats) -> None:
        """Write the levels of the batch's times and their derivatives by the values."""
        raise NotImplementedError

    def _decode(self, values: Floats) -> FormulaDistribution:
        """Return the distributions with the given parameters."""
        raise NotImplementedError


@dataclass(frozen=True)
class LocationScaleLikelihood(Likelihood):
    """A standard distribution with a location and a scale, the softplus of the second output."""

    _shape_limits = ((-4.0, -3.0, 1.0, 2.0),)

    @property
    def base(self) -> str:
        """Name of the standard distribution."""
        raise NotImplementedError

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        rows = (batch.time, batch.event, batch.weight)
        return float(location_scale(values, *rows, STANDARD[self.base].code, out))

    def _fill_levels(self, values: FloatArray, batch: Rows, levels: Floats, slopes: Floats) -> None:
        location_scale_levels(values, batch.time, STANDARD[self.base].code, levels, slopes)

    def _decode(self, values: Floats) -> LocationScaleDistribution:
        scale = np.asarray(np.logaddexp(0.0, values[:, 1]) + SMALLEST_SCALE)
        return LocationScaleDistribution(values[:, 0], scale, self.base)


@dataclass(frozen=True)
class NormalLikelihood(LocationScaleLikelihood):
    """Normal distribution in model units: of log-normal times, if these are logarithms."""

    @property
    def base(self) -> str:
        """Name of the standard distribution."""
        return "normal"


@dataclass(frozen=True)
class GumbelLikelihood(LocationScaleLikelihood):
    """Minimum Gumbel distribution in model units: of Weibull times, if these are logarithms.

    ``mirrored`` says that model units are negated, as they are for left-censored times: the maximum
    Gumbel distribution there. Other families contain their mirror images.
    """

    mirrored: bool = False

    @property
    def base(self) -> str:
        """Name of the standard distribution."""
        return "mirrored gumbel" if self.mirrored else "gumbel"


@dataclass(frozen=True)
class AsymmetricLaplaceLikelihood(Likelihood):
    """Asymmetric Laplace distribution in model units: location, log-scale and log-asymmetry."""

    _shape_limits = ((-4.0, -3.0, 1.0, 2.0), (-2.0, -1.0, 1.0, 2.0))

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        return float(asymmetric_laplace(values, batch.time, batch.event, batch.weight, out))

    def _fill_levels(self, values: FloatArray, batch: Rows, levels: Floats, slopes: Floats) -> None:
        asymmetric_laplace_levels(values, batch.time, levels, slopes)

    def _decode(self, values: Floats) -> AsymmetricLaplaceDistribution:
        log_scale, log_kappa = np.clip(values[:, 1:].T, -LARGEST_LOG, LARGEST_LOG)[..., None]
        mean = np.exp(log_scale) / np.sqrt(2.0)
        kappa = np.exp(log_kappa)
        return AsymmetricLaplaceDistribution(
            values[:, :1], mean * kappa, mean / kappa, 2.0 * log_kappa
        )


@dataclass(frozen=True)
class LogNormalCRPS(NormalLikelihood):
    """Survival CRPS of log-normal times, in closed form, in place of the likelihood.

    ``unit`` is the logarithm of time that one model unit is; see ``log_time_crps``.
    """

    unit: float = 1.0
    mirrored: bool = False

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        rows = (batch.time, batch.event, batch.weight)
        return float(log_time_crps(values, *rows, NORMAL, self.unit, self.mirrored, out))


@dataclass(frozen=True)
class WeibullCRPS(GumbelLikelihood):
    """Survival CRPS of Weibull times, by a quadrature rule; ``unit`` as in ``LogNormalCRPS``."""

    unit: float = 1.0

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        rows = (batch.time, batch.event, batch.weight)
        return float(log_time_crps(values, *rows, GUMBEL, self.unit, self.mirrored, out))


@dataclass(frozen=True)
class AsymmetricLaplaceCRPS(AsymmetricLaplaceLikelihood):
    """Survival CRPS of asymmetric Laplace times, in closed form."""

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        return float(asymmetric_laplace_crps(values, batch.time, batch.event, batch.weight, out))


@dataclass(frozen=True)
class ShapeLikelihood:
    """A censored likelihood plus Portnoy's loss, of quantiles that bend a standard distribution.

    The likelihood makes use of every row and holds the tails; the check loss keeps quantiles right
    where the family is not. See ``shape_loss``.
    """

    base: str = "normal"  # name of the standard distribution
    n_outputs: int = 19  # number of quantiles, at evenly spaced levels
    likelihood_weight: float = 1.0
    pinball_weight: float = 0.3
    # In model units: predictions above it have no check loss, or with ``bounded`` the pseudo-time
    # that receives the probability mass beyond censoring times
    limit: float = 1e30
    bounded: bool = False
    cap: float = np.inf  # largest value that is predicted

    @cached_property
    def _terms(self) -> ShapeTerms:
        return ShapeTerms(
            even_grid(self.n_outputs).astype(np.float32),
            shape_knots(self.base, self.n_outputs),
            STANDARD[self.base].code,
            float(self.likelihood_weight),
            float(self.pinball_weight),
            float(self.limit),
            self.bounded,
        )

    def bind(self, train: Rows) -> Self:
        """Return itself: nothing depends on the training rows."""
        return self

    def prepare(self, rows: Rows) -> Rows:
        """Return all rows."""
        return rows

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean loss and write its gradient."""
        return float(shape_loss(output, batch.time, batch.event, batch.weight, self._terms, out))

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean negative log-likelihood, a proper score under censoring."""
        terms = self._terms._replace(likelihood_weight=1.0, check_weight=0.0)
        out = np.empty_like(output)
        return float(shape_loss(output, rows.time, rows.event, rows.weight, terms, out))

    def distribution(self, output: FloatArray) -> ShapeDistribution:
        """Return the predicted distributions in model units."""
        return ShapeDistribution(np.asarray(output, dtype=np.float64), self.base, self.cap)

    def quantiles(self, output: FloatArray, taus: FloatArray) -> Floats:
        """Return the quantiles at any levels."""
        return self.distribution(output).quantile(np.asarray(taus, dtype=np.float64))
