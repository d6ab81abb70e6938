"""Censored maximum likelihood: the network predicts the parameters of a distribution."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from censquant.losses import (
    GUMBEL,
    MIRRORED_GUMBEL,
    NORMAL,
    SMALLEST_SCALE,
    asymmetric_laplace,
    location_scale,
)
from censquant.networks import FloatArray
from censquant.training import Rows


@dataclass(frozen=True)
class _Likelihood:
    """What likelihoods have in common: all rows count, and the loss judges itself."""

    def bind(self, train: Rows) -> Self:
        """Return itself: nothing depends on the training rows."""
        return self

    def prepare(self, rows: Rows) -> Rows:
        """Return all rows."""
        return rows

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean negative log-likelihood and write its gradient."""
        raise NotImplementedError

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean negative log-likelihood, a proper score under censoring."""
        return self.gradient(output, rows, np.empty_like(output))


@dataclass(frozen=True)
class NormalLikelihood(_Likelihood):
    """Normal distribution on the scale of training: log-normal times if that is logarithmic.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.objectives import NormalLikelihood
    >>> NormalLikelihood().quantiles(np.array([[2.0, 0.0]]), np.array([0.5]))
    array([[2.]])
    """

    @property
    def n_outputs(self) -> int:
        """Location, and a number whose softplus is the scale."""
        return 2

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean negative log-likelihood and write its gradient."""
        return float(location_scale(output, batch.time, batch.event, batch.weight, NORMAL, out))

    def quantiles(self, output: FloatArray, taus: FloatArray) -> NDArray[np.float64]:
        """Return the exact quantiles at any levels."""
        from scipy.special import ndtri

        return _stretched(output, ndtri(taus))


@dataclass(frozen=True)
class GumbelLikelihood(_Likelihood):
    """Minimum Gumbel distribution on the scale of training: Weibull times if it is logarithmic.

    Parameters
    ----------
    mirrored : bool, default False
        Whether the scale of training is negated, as it is for left-censored times: the maximum
        Gumbel distribution there. The normal and the asymmetric Laplace distribution are families
        that contain their mirror images.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.objectives import GumbelLikelihood
    >>> GumbelLikelihood().quantiles(np.array([[2.0, 0.0]]), np.array([1 - np.exp(-1)]))
    array([[2.]])
    """

    mirrored: bool = False

    @property
    def n_outputs(self) -> int:
        """Location, and a number whose softplus is the scale."""
        return 2

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean negative log-likelihood and write its gradient."""
        family = MIRRORED_GUMBEL if self.mirrored else GUMBEL
        return float(location_scale(output, batch.time, batch.event, batch.weight, family, out))

    def quantiles(self, output: FloatArray, taus: FloatArray) -> NDArray[np.float64]:
        """Return the exact quantiles at any levels."""
        levels = np.asarray(taus, dtype=np.float64)
        if self.mirrored:
            return _stretched(output, -np.log(-np.log(levels)))
        return _stretched(output, np.log(-np.log1p(-levels)))


@dataclass(frozen=True)
class AsymmetricLaplaceLikelihood(_Likelihood):
    """Asymmetric Laplace distribution on the scale of training.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.objectives import AsymmetricLaplaceLikelihood
    >>> AsymmetricLaplaceLikelihood().quantiles(np.array([[2.0, 0.0, 0.0]]), np.array([0.5]))
    array([[2.]])
    """

    @property
    def n_outputs(self) -> int:
        """Location, logarithm of the scale, logarithm of the asymmetry."""
        return 3

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean negative log-likelihood and write its gradient."""
        return float(asymmetric_laplace(output, batch.time, batch.event, batch.weight, out))

    def quantiles(self, output: FloatArray, taus: FloatArray) -> NDArray[np.float64]:
        """Return the exact quantiles at any levels."""
        values = np.clip(
            np.asarray(output, dtype=np.float64), [[-np.inf, -15, -15]], [[np.inf, 15, 15]]
        )
        location, scale = values[:, :1], np.exp(values[:, 1:2]) / np.sqrt(2.0)
        kappa, below = np.exp(values[:, 2:]), 1.0 / (1.0 + np.exp(-2.0 * values[:, 2:]))
        p = np.asarray(taus, dtype=np.float64)[None, :]
        # Each side is an exponential distribution; the other's logarithm is not used there.
        early = scale * kappa * np.log(np.minimum(p / below, 1.0))
        late = -scale / kappa * np.log(np.minimum((1.0 - p) / (1.0 - below), 1.0))
        result: NDArray[np.float64] = location + np.where(p <= below, early, late)
        return result


def _stretched(output: FloatArray, base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return location plus scale times the base distribution's quantiles."""
    values = np.asarray(output, dtype=np.float64)
    scale = np.logaddexp(0.0, values[:, 1:]) + SMALLEST_SCALE
    result: NDArray[np.float64] = values[:, :1] + scale * base[None, :]
    return result
