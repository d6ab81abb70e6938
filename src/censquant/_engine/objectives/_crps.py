"""The survival CRPS in place of the likelihood: the network predicts the same parameters."""

from dataclasses import dataclass

from censquant._engine.losses import GUMBEL, NORMAL, asymmetric_laplace_crps, log_time_crps
from censquant._engine.networks import FloatArray
from censquant._engine.objectives._likelihood import (
    AsymmetricLaplaceLikelihood,
    GumbelLikelihood,
    NormalLikelihood,
)
from censquant._engine.training import Rows


@dataclass(frozen=True)
class LogNormalCRPS(NormalLikelihood):
    """Survival CRPS of log-normal times, in closed form.

    Parameters
    ----------
    unit : float, default 1.0
        The logarithm of time that one model unit is.
    mirrored : bool, default False
        Whether model units are negated, as they are for left-censored times.
    bounds : ParameterBounds, optional
        Intervals for the two outputs; :meth:`within` sets them by the training rows.
    calibration : float, default 0.0
        Strength of the penalty on a batch that is not calibrated.
    """

    unit: float = 1.0
    mirrored: bool = False

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        rows = (batch.time, batch.event, batch.weight)
        return float(log_time_crps(values, *rows, NORMAL, self.unit, self.mirrored, out))


@dataclass(frozen=True)
class WeibullCRPS(GumbelLikelihood):
    """Survival CRPS of Weibull times, by a quadrature rule.

    Parameters
    ----------
    mirrored : bool, default False
        Whether model units are negated, as they are for left-censored times.
    unit : float, default 1.0
        The logarithm of time that one model unit is.
    bounds : ParameterBounds, optional
        Intervals for the two outputs; :meth:`within` sets them by the training rows.
    calibration : float, default 0.0
        Strength of the penalty on a batch that is not calibrated.
    """

    unit: float = 1.0

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        rows = (batch.time, batch.event, batch.weight)
        return float(log_time_crps(values, *rows, GUMBEL, self.unit, self.mirrored, out))


@dataclass(frozen=True)
class AsymmetricLaplaceCRPS(AsymmetricLaplaceLikelihood):
    """Survival CRPS of asymmetric Laplace times, in closed form.

    Parameters
    ----------
    bounds : ParameterBounds, optional
        Intervals for the three outputs; :meth:`within` sets them by the training rows.
    calibration : float, default 0.0
        Strength of the penalty on a batch that is not calibrated.
    """

    def _loss(self, values: FloatArray, batch: Rows, out: FloatArray) -> float:
        rows = (batch.time, batch.event, batch.weight)
        return float(asymmetric_laplace_crps(values, *rows, out))
