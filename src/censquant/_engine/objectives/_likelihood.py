"""Censored maximum likelihood: the network predicts the parameters of a distribution."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine.losses import (
    CALIBRATION_BINS,
    CALIBRATION_SHARPNESS,
    GUMBEL,
    LARGEST_LOG,
    MIRRORED_GUMBEL,
    NORMAL,
    SMALLEST_SCALE,
    asymmetric_laplace,
    asymmetric_laplace_levels,
    calibration_penalty,
    limit_rows,
    location_scale,
    location_scale_levels,
)
from censquant._engine.networks import FloatArray
from censquant._engine.objectives._asymmetric_laplace import AsymmetricLaplaceDistribution
from censquant._engine.objectives._bounds import Limits, ParameterBounds
from censquant._engine.objectives._distributions import (
    FormulaDistribution,
    GumbelDistribution,
    NormalDistribution,
)
from censquant._engine.training import Rows
from censquant.survival._transform import TimeTransform

# How far a location may lie beyond the times of the training rows: by this factor where their
# logarithm is modelled, else by one less than it times their range.
_REACH = 3.0
_LONGEST_GRADIENT = 10.0  # of one row; those of rows that fit are around 1


@dataclass(frozen=True)
class _Likelihood:
    """What likelihoods have in common: all rows count, and the loss judges itself."""

    bounds: ParameterBounds | None = field(default=None, kw_only=True)
    calibration: float = field(default=0.0, kw_only=True)

    # Of the outputs after the location, in standard deviations of the transformed times.
    _shape_limits: ClassVar[tuple[Limits, ...]] = ()

    def within(self, low: float, high: float, transform: TimeTransform) -> Self:
        """Return the objective with parameters that stay near the times of the training rows.

        Locations lie between a third of the smallest and three times the largest time if
        ``transform`` takes logarithms; otherwise they exceed the times by less than twice their
        range. Scales of normal and Gumbel distributions lie between 0.018 and 2.13 standard
        deviations of the transformed times, those of asymmetric Laplace distributions between
        exp(-4) and exp(2), with an asymmetry between exp(-2) and exp(2). So every quantile has a
        bound, whatever the features. Rows that a model takes for impossible are also kept from
        dominating a training step; see :func:`censquant._engine.losses.limit_rows`.
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
            return self._penalized(output, batch, out)
        values, slopes = self.bounds.apply(output)
        loss = self._penalized(values, batch, out)
        limit_rows(out, slopes, batch.weight, _LONGEST_GRADIENT)
        return loss

    def _penalized(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
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
        return self._decoded(values if self.bounds is None else self.bounds.apply(values)[0])

    def quantiles(self, output: FloatArray, taus: FloatArray) -> NDArray[np.float64]:
        """Return the exact quantiles at any levels."""
        return self.distribution(output).quantile(taus)

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean negative log-likelihood and write its gradient by the values."""
        raise NotImplementedError

    def _fill_levels(
        self,
        values: FloatArray,
        batch: Rows,
        levels: NDArray[np.float64],
        slopes: NDArray[np.float64],
    ) -> None:
        """Write the levels of the batch's times and their derivatives by the values."""
        raise NotImplementedError

    def _decoded(self, values: NDArray[np.float64]) -> FormulaDistribution:
        """Return the distributions with the given parameters."""
        raise NotImplementedError


@dataclass(frozen=True)
class _LocationScale(_Likelihood):
    """What the normal and the Gumbel distributions have in common."""

    _shape_limits = ((-4.0, -3.0, 1.0, 2.0),)

    @property
    def n_outputs(self) -> int:
        """Location, and a number whose softplus is the scale."""
        return 2

    @property
    def _family(self) -> int:
        """The family's number among the kernels."""
        return NORMAL

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        rows = (batch.time, batch.event, batch.weight)
        return float(location_scale(values, *rows, self._family, out))

    def _fill_levels(
        self,
        values: FloatArray,
        batch: Rows,
        levels: NDArray[np.float64],
        slopes: NDArray[np.float64],
    ) -> None:
        location_scale_levels(values, batch.time, self._family, levels, slopes)


@dataclass(frozen=True)
class NormalLikelihood(_LocationScale):
    """Normal distribution in model units: of log-normal times, if these are logarithms.

    Parameters
    ----------
    bounds : ParameterBounds, optional
        Intervals for the two outputs; :meth:`within` sets them by the training rows.
    calibration : float, default 0.0
        Strength of the penalty on a batch that is not calibrated, see
        :func:`censquant._engine.losses.calibration_penalty`.
    """

    def _decoded(self, values: NDArray[np.float64]) -> NormalDistribution:
        return NormalDistribution(values[:, 0], _scale(values))


@dataclass(frozen=True)
class GumbelLikelihood(_LocationScale):
    """Minimum Gumbel distribution in model units: of Weibull times, if these are logarithms.

    Parameters
    ----------
    mirrored : bool, default False
        Whether model units are negated, as they are for left-censored times: the maximum Gumbel
        distribution there. The normal and the asymmetric Laplace distribution are families that
        contain their mirror images.
    bounds : ParameterBounds, optional
        Intervals for the two outputs; :meth:`within` sets them by the training rows.
    calibration : float, default 0.0
        Strength of the penalty on a batch that is not calibrated, see
        :func:`censquant._engine.losses.calibration_penalty`.
    """

    mirrored: bool = False

    @property
    def _family(self) -> int:
        return MIRRORED_GUMBEL if self.mirrored else GUMBEL

    def _decoded(self, values: NDArray[np.float64]) -> GumbelDistribution:
        return GumbelDistribution(values[:, 0], _scale(values), self.mirrored)


@dataclass(frozen=True)
class AsymmetricLaplaceLikelihood(_Likelihood):
    """Asymmetric Laplace distribution in model units.

    Parameters
    ----------
    bounds : ParameterBounds, optional
        Intervals for the three outputs; :meth:`within` sets them by the training rows.
    calibration : float, default 0.0
        Strength of the penalty on a batch that is not calibrated, see
        :func:`censquant._engine.losses.calibration_penalty`.
    """

    _shape_limits = ((-4.0, -3.0, 1.0, 2.0), (-2.0, -1.0, 1.0, 2.0))

    @property
    def n_outputs(self) -> int:
        """Location, logarithm of the scale, logarithm of the asymmetry."""
        return 3

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        return float(asymmetric_laplace(values, batch.time, batch.event, batch.weight, out))

    def _fill_levels(
        self,
        values: FloatArray,
        batch: Rows,
        levels: NDArray[np.float64],
        slopes: NDArray[np.float64],
    ) -> None:
        asymmetric_laplace_levels(values, batch.time, levels, slopes)

    def _decoded(self, values: NDArray[np.float64]) -> AsymmetricLaplaceDistribution:
        log_scale, log_kappa = np.clip(values[:, 1:].T, -LARGEST_LOG, LARGEST_LOG)[..., None]
        mean = np.exp(log_scale) / np.sqrt(2.0)
        kappa = np.exp(log_kappa)
        return AsymmetricLaplaceDistribution(
            values[:, :1], mean * kappa, mean / kappa, 2.0 * log_kappa
        )


def _scale(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scales behind the second output, as the loss reads it."""
    return np.asarray(np.logaddexp(0.0, values[:, 1]) + SMALLEST_SCALE)
