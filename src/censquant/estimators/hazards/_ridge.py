"""Coefficients of a partial likelihood with a ridge penalty, also where there is no unique best."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from censquant._typing import Floats
from censquant.estimators.hazards._newton import minimize
from censquant.estimators.hazards._partial_likelihood import PartialLikelihood

# Curvature below this share of the largest is rounding: nothing is known along that direction.
_NO_CURVATURE = 1e-9
# The likelihood flattens by this factor only where it has no maximum.
_SEPARATED = 1e-6


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """Coefficients, and what is to be said about them.

    Parameters
    ----------
    coefficients : ndarray of shape (p,)
    n_steps : int
        Of Newton's method.
    converged : bool
    n_unknown : int
        Number of directions that the data say nothing about; 0 with a penalty.
    separated : bool
        Whether the likelihood grows without end, so that the coefficients are where it had become
        flat; never with a penalty.
    """

    coefficients: Floats
    n_steps: int
    converged: bool
    n_unknown: int = 0
    separated: bool = False


@dataclass(frozen=True, eq=False)
class _Penalised:
    """Negative log-likelihood per row and half the squared norm, in a basis of directions."""

    likelihood: PartialLikelihood
    penalty: float
    basis: Floats | None = None

    def value(self, place: Floats) -> float:
        gained = self.likelihood.value(self._coefficients(place)) / self.likelihood.total_weight
        return 0.5 * self.penalty * float(place @ place) - gained

    def derivatives(self, place: Floats) -> tuple[Floats, Floats]:
        gradient, hessian = self.likelihood.derivatives(self._coefficients(place))
        if self.basis is not None:
            gradient, hessian = gradient @ self.basis, self.basis.T @ hessian @ self.basis
        n = self.likelihood.total_weight
        ridge = self.penalty * np.eye(len(place))
        return self.penalty * place - gradient / n, ridge - hessian / n

    def _coefficients(self, place: Floats) -> Floats:
        return place if self.basis is None else self.basis @ place


def fit_ridge(likelihood: PartialLikelihood, penalty: float) -> RidgeFit:
    """Return the coefficients that minimise ``-loglik / n + penalty / 2 * |b|**2``.

    Without a penalty they are those of the smallest norm where features are collinear, which is
    the limit of small penalties.
    """
    n, p = likelihood.z.shape
    if p <= n:
        return _fit(likelihood, penalty)
    # The coefficients are combinations of rows: there are no more directions than these.
    products, axes = np.linalg.eigh(likelihood.z @ likelihood.z.T)
    kept = products > _NO_CURVATURE * products[-1]
    sizes = np.sqrt(products[kept])
    fit = _fit(likelihood.with_features(axes[:, kept] * sizes), penalty)
    coefficients = (axes[:, kept] @ (fit.coefficients / sizes)) @ likelihood.z
    n_unknown = p - int(kept.sum()) + fit.n_unknown if penalty == 0 else 0
    return RidgeFit(coefficients, fit.n_steps, fit.converged, n_unknown, fit.separated)


def _fit(likelihood: PartialLikelihood, penalty: float) -> RidgeFit:
    start = np.zeros(likelihood.z.shape[1])
    if penalty > 0:
        best = minimize(_Penalised(likelihood, penalty), start)
        return RidgeFit(best.place, best.n_steps, best.converged)
    _, hessian = _Penalised(likelihood, 0.0).derivatives(start)
    curvatures, directions = np.linalg.eigh(hessian)
    known = curvatures > _NO_CURVATURE * max(curvatures[-1], 1e-300)
    n_unknown = len(start) - int(known.sum())
    if not known.any():
        return RidgeFit(start, 0, True, n_unknown)
    basis = directions[:, known] if n_unknown else None
    function = _Penalised(likelihood, 0.0, basis)
    best = minimize(function, np.zeros(int(known.sum())))
    first, last = (function.derivatives(place)[1] for place in (0.0 * best.place, best.place))
    flattest = eigh(last, first, eigvals_only=True, subset_by_index=[0, 0])[0]
    coefficients = best.place if basis is None else basis @ best.place
    separated = bool(flattest < _SEPARATED) or likelihood.is_at_its_limit(coefficients)
    return RidgeFit(coefficients, best.n_steps, best.converged, n_unknown, separated)
