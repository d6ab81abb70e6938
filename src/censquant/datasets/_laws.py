"""Laws of times given features.

A law is one function of levels and features that returns conditional quantiles. Times are drawn
by putting random levels into it, so that what is drawn and what is called true cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from censquant._typing import Floats

Columns = Sequence[Floats]
"""The features, each of shape (n, 1), so that formulas read as in the paper."""

Parameter = Callable[[Columns], Floats]


@dataclass(frozen=True)
class Law:
    """Distribution of a time given the features.

    Numpy's old generator has draws of its own for a normal or an exponential time. Taken in the
    order of the authors' program they give exactly the samples behind the published numbers, so the
    law knows the levels that belong to them.
    """

    quantile: Callable[[Floats, Columns], Floats]
    """Quantiles of shape (n, k) at levels of shape (k,) or (n, k)."""
    old_levels: Callable[[np.random.RandomState, int], Floats]
    """Random levels, as many as asked for."""


def _uniform_levels(rng: np.random.RandomState, n_rows: int) -> Floats:
    return rng.uniform(size=n_rows)


def _exponential_levels(rng: np.random.RandomState, n_rows: int) -> Floats:
    levels: Floats = -np.expm1(-rng.standard_exponential(n_rows))
    return levels


def _normal_levels(rng: np.random.RandomState, n_rows: int) -> Floats:
    from scipy.special import ndtr

    levels: Floats = ndtr(rng.standard_normal(n_rows))
    return levels


# Keeps a level off 0, where a normal law is minus infinity; half the step of numpy's generators.
_SMALLEST_LEVEL = 2.0**-54


def shifted(law: Law, offset: float) -> Law:
    """Law of a time that comes later by `offset`."""
    return replace(law, quantile=lambda levels, x: law.quantile(levels, x) + offset)


def quantiles_at(law: Law, levels: Floats, X: Floats) -> Floats:
    """Quantiles of each row of features at `levels` of shape (k,) or (n, k)."""
    return law.quantile(levels, [X[:, [j]] for j in range(X.shape[1])])


def draw(law: Law, X: Floats, rng: np.random.Generator | np.random.RandomState) -> Floats:
    """One random time for each row of features."""
    if isinstance(rng, np.random.RandomState):
        levels = law.old_levels(rng, len(X))[:, None]
    else:
        levels = rng.uniform(size=(len(X), 1))
    return quantiles_at(law, np.maximum(levels, _SMALLEST_LEVEL), X)[:, 0]


def normal(mean: Parameter, sd: Parameter, minimum: float = -np.inf) -> Law:
    """Law of a normal time; values below `minimum` are moved up to it."""

    def quantile(levels: Floats, x: Columns) -> Floats:
        # Loading scipy.special takes longer than the rest of this package.
        from scipy.special import ndtri

        times: Floats = np.maximum(mean(x) + sd(x) * ndtri(levels), minimum)
        return times

    return Law(quantile, _normal_levels)


def lognormal(mean: Parameter, sd: Parameter) -> Law:
    """Law of a time whose logarithm is normal."""
    logarithm = normal(mean, sd)
    return replace(logarithm, quantile=lambda levels, x: np.exp(logarithm.quantile(levels, x)))


def weibull(scale: Parameter, shape: float) -> Law:
    """Law of a time with S(t) = exp(-(t / scale) ** shape)."""
    return Law(
        lambda levels, x: scale(x) * (-np.log1p(-levels)) ** (1.0 / shape), _exponential_levels
    )


def exponential(mean: Parameter) -> Law:
    """Law of an exponential time, given by its mean and not by its rate."""
    return weibull(mean, shape=1.0)


def uniform(low: float, high: float) -> Law:
    """Law of a uniform time, the same for all rows."""
    return Law(lambda levels, x: low + (high - low) * levels + np.zeros_like(x[0]), _uniform_levels)
