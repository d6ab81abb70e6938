"""The table of synthetic data sets: the laws of the target and of the censoring time given x.

A law is one function of levels and features that returns conditional quantiles. Times are drawn
by putting random levels into it, so that what is drawn and what is called true cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Columns = Sequence[Floats]
"""The features, each of shape (n, 1), so that formulas read as in the paper."""

Parameter = Callable[[Columns], Floats]


@dataclass(frozen=True)
class Law:
    """Distribution of a time given the features.

    Numpy's old generator has draws of its own for a normal or an exponential time. Taken in the
    order of the authors' program they give the very samples behind the published numbers, so the
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


@dataclass(frozen=True)
class Recipe:
    """One data set: features uniform on (0, 2), and the laws of both times given them."""

    name: str
    n_features: int
    target: Law
    censoring: Law
    is_shifted: bool = False
    """Whether targets are moved by an offset: drawn, so that hardly any is below 1, or printed."""
    printed_offset: float | None = None


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


def _hollow(x: Columns) -> Floats:
    return (x[0] - 1) ** 2


def _falling_wave(x: Columns) -> Floats:
    return 2 * x[0] * np.cos(2 * x[0]) + 13


def _growing(x: Columns) -> Floats:
    return x[0] ** 2 + 0.5


# Pearce et al. (2022), table of data sets. Two entries follow the authors' program, which made the
# published numbers, and not the printed table: the target of Norm uniform is at least 0.1, and the
# standard deviation of LogNorm is 1 on the logarithmic scale.
_ALL: tuple[Recipe, ...] = (
    Recipe(
        name="Norm linear",
        n_features=1,
        target=normal(lambda x: 2 * x[0] + 10, lambda x: x[0] + 1),
        censoring=normal(lambda x: 4 * x[0] + 10, lambda x: 0.8 * x[0] + 0.4),
    ),
    Recipe(
        name="Norm non-linear",
        n_features=1,
        target=normal(lambda x: x[0] * np.sin(2 * x[0]) + 10, lambda x: 0.5 * x[0] + 0.5),
        censoring=normal(lambda x: 2 * x[0] + 10, lambda x: np.full_like(x[0], 2.0)),
    ),
    Recipe(
        name="Exponential",
        n_features=1,
        target=exponential(lambda x: 2 * x[0] + 4),
        censoring=exponential(lambda x: -3 * x[0] + 15),
    ),
    Recipe(
        name="Weibull",
        n_features=1,
        target=weibull(lambda x: 4 * x[0] * np.sin(2 * (x[0] - 1)) + 10, shape=5.0),
        censoring=weibull(lambda x: -3 * x[0] + 20, shape=5.0),
    ),
    Recipe(
        name="LogNorm",
        n_features=1,
        target=lognormal(_hollow, lambda x: np.ones_like(x[0])),
        censoring=uniform(0.0, 10.0),
    ),
    Recipe(
        name="Norm uniform",
        n_features=1,
        target=normal(_falling_wave, _growing, minimum=0.1),
        censoring=uniform(0.0, 18.0),
    ),
)

# The mean of the four-dimensional target lacks the printed factor 2 before the sine, and its
# standard deviation is 1: again as in the program behind the numbers.
_NORM_4D = normal(
    lambda x: 3 * x[0] + x[1] ** 2 - x[2] ** 2 + np.sin(x[2] * x[3]), lambda x: np.ones_like(x[0])
)

_SLOPES = (0.8, 0.6, 0.4, 0.5, -0.3, 0.2, 0.0, -0.7)
_LOGNORM_8D = lognormal(
    lambda x: sum((b * column for b, column in zip(_SLOPES, x, strict=True)), -np.log(10.0)),
    lambda x: np.ones_like(x[0]),
)

CENSORING_4D = {"heavy": 12.0, "medium": 20.0, "light": 40.0, "same": None}
"""Upper end of the uniform censoring time; None for the target's own distribution."""

CENSORING_8D = {"heavy": 0.4, "medium": 1.0, "light": 3.5, "same": None}

_ALL += tuple(
    Recipe(
        name=f"Norm {kind}",
        n_features=4,
        target=_NORM_4D,
        censoring=_NORM_4D if high is None else uniform(0.0, high),
        is_shifted=True,
    )
    for kind, high in CENSORING_4D.items()
)
_ALL += tuple(
    Recipe(
        name=f"LogNorm {kind}",
        n_features=8,
        target=_LOGNORM_8D,
        censoring=_LOGNORM_8D if high is None else uniform(0.0, high),
    )
    for kind, high in CENSORING_8D.items()
)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _ALL}
"""Data sets as the published numbers were made."""

# The printed standard deviation of the four-dimensional target is a function of an x without an
# index, the same as in the row of Norm uniform above it: taken here as the first feature.
_NORM_4D_PRINTED = normal(
    lambda x: 3 * x[0] + x[1] ** 2 - x[2] ** 2 + 2 * np.sin(x[2] * x[3]), _growing
)

_PRINTED_TARGETS: dict[str, Law] = {
    "LogNorm": lognormal(_hollow, lambda x: x[0] ** 2),
    "Norm uniform": normal(_falling_wave, _growing),
    **{f"Norm {kind}": _NORM_4D_PRINTED for kind in CENSORING_4D},
}


def _as_printed(recipe: Recipe, target: Law) -> Recipe:
    return replace(
        recipe,
        target=target,
        censoring=target if recipe.censoring is recipe.target else recipe.censoring,
        printed_offset=6.0 if recipe.is_shifted else None,
    )


PRINTED_RECIPES: dict[str, Recipe] = {
    name: _as_printed(RECIPES[name], target) for name, target in _PRINTED_TARGETS.items()
}
"""Data sets as the paper's table prints them, where that differs."""
