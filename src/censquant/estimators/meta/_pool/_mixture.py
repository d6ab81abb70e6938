"""The pool of several distributions per individual: their mean, with tails that agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators.meta._pool._candidates import LEVELS, Answer
from censquant.estimators.meta._pool._kernels import continue_tails, mixture_quantiles
from censquant.quantiles._distribution_curve import TailLimit


@dataclass(frozen=True)
class Bounds:
    """Times that limit quantiles.

    Parameters
    ----------
    lower : float
        Smallest possible time.
    low : float
        Time below which no candidate may go: on this side all events were observed.
    tail : TailLimit
        What quantiles after the last observed time may be.
    """

    lower: float
    low: float
    tail: TailLimit


@dataclass(frozen=True, eq=False)
class Mixture:
    """How answers of several candidates become one distribution per individual.

    Parameters
    ----------
    weights : ndarray of shape (k,)
        Of the candidates in the pool.
    reference : ndarray of shape (k,)
        Weights of the candidates whose mean continues the others past the end of their data; 0
        for candidates that end themselves.
    bounds : Bounds
    """

    weights: Floats
    reference: Floats
    bounds: Bounds

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which candidates are needed for predictions."""
        return (self.weights > 0) | (self.reference > 0)

    def continued(self, answers: Sequence[Answer]) -> Floats:
        """Return quantiles of shape (k, n, levels), continued where a candidate's data end."""
        values = np.stack([answer.values for answer in answers])
        if not self.reference.any():
            return values
        reference = np.tensordot(self.reference, values, axes=1)
        for place, answer in enumerate(answers):
            if answer.end is not None:
                continue_tails(values[place], *answer.end, reference, LEVELS, self.bounds.lower)
        return values

    def quantiles(self, answers: Sequence[Answer], wanted: NDArray[Any]) -> Floats:
        """Return the quantiles of the pool at increasing levels, shape (n, len(wanted))."""
        kept = self.weights > 0
        values = np.ascontiguousarray(self.continued(answers)[kept])
        weights, bounds = self.weights[kept], self.bounds
        for place in range(len(values)):
            values[place] = bounds.tail.limited_grid(values[place], LEVELS, bounds.lower)
        np.maximum(values, bounds.low, out=values)
        out = np.empty((values.shape[1], len(wanted)))
        passed = np.empty(len(values), dtype=np.intp)
        mixture_quantiles(values, weights, LEVELS, bounds.lower, wanted, passed, out)
        return out

    def among(self, kept: NDArray[np.bool_]) -> "Mixture":
        """Return the mixture of some of the candidates, the only ones with a weight."""
        return Mixture(self.weights[kept], self.reference[kept], self.bounds)
