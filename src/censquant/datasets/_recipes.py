"""The synthetic data sets: all that is known of each, and the laws of both times.

A law is one function of levels and features that returns conditional quantiles. Times are drawn
by putting random levels into it, so that what is drawn and what is called true cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from censquant._typing import Floats
from censquant.datasets._info import DatasetInfo

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


@dataclass(frozen=True)
class Recipe:
    """One data set: features uniform on (0, 2), and the laws of both times given them."""

    info: DatasetInfo
    target: Law
    censoring: Law
    printed_target: Law | None = None
    """Law of the target in the paper's table, where the published numbers follow another."""
    printed_note: str = ""
    """What the description adds where rows follow the printed law."""
    is_shifted: bool = False
    """Whether targets are moved by an offset: drawn, so that hardly any is below 1, or printed."""
    printed_offset: float | None = None

    def as_printed(self) -> Recipe:
        """Recipe of the paper's table; itself where the published numbers follow it."""
        target = self.printed_target
        if target is None:
            return self
        return replace(
            self,
            target=target,
            censoring=target if self.censoring is self.target else self.censoring,
            printed_offset=6.0 if self.is_shifted else None,
        )


def _info(
    name: str, title: str, shape: tuple[int, int], censored_share: float, description: str
) -> DatasetInfo:
    return DatasetInfo(
        name,
        title,
        "synthetic",
        *shape,
        censored_share,
        f"{description} Features are uniform on (0, 2), and the true quantiles are known.",
        "Pearce et al. (2022), NeurIPS 35",
        "drawn by this package, no terms",
    )


def _hollow(x: Columns) -> Floats:
    return (x[0] - 1) ** 2


def _falling_wave(x: Columns) -> Floats:
    return 2 * x[0] * np.cos(2 * x[0]) + 13


def _growing(x: Columns) -> Floats:
    return x[0] ** 2 + 0.5


# Pearce et al. (2022), table of data sets. Two entries follow the authors' program, which made the
# published numbers, and not the printed table: the target of Norm uniform is at least 0.1, and the
# standard deviation of LogNorm is 1 on the logarithmic scale. Shares censored are integrals over
# both laws.
_ONE_FEATURE = (
    Recipe(
        _info(
            "norm_linear",
            "Norm linear",
            (500, 1),
            0.23,
            "Normal times, mean and spread linear in one feature: the target is "
            "N(2x + 10, (x + 1)^2) and the censoring time N(4x + 10, (0.8x + 0.4)^2).",
        ),
        target=normal(lambda x: 2 * x[0] + 10, lambda x: x[0] + 1),
        censoring=normal(lambda x: 4 * x[0] + 10, lambda x: 0.8 * x[0] + 0.4),
    ),
    Recipe(
        _info(
            "norm_nonlinear",
            "Norm non-linear",
            (500, 1),
            0.27,
            "Normal times, a wave in the mean and growing spread: the target is "
            "N(x sin(2x) + 10, (0.5x + 0.5)^2) and the censoring time N(2x + 10, 2^2).",
        ),
        target=normal(lambda x: x[0] * np.sin(2 * x[0]) + 10, lambda x: 0.5 * x[0] + 0.5),
        censoring=normal(lambda x: 2 * x[0] + 10, lambda x: np.full_like(x[0], 2.0)),
    ),
    Recipe(
        _info(
            "exponential",
            "Exponential",
            (500, 1),
            0.34,
            "Exponential times, the mean linear in one feature: 2x + 4 for the target and 15 - 3x "
            "for the censoring time.",
        ),
        target=exponential(lambda x: 2 * x[0] + 4),
        censoring=exponential(lambda x: -3 * x[0] + 15),
    ),
    Recipe(
        _info(
            "weibull",
            "Weibull",
            (500, 1),
            0.23,
            "Weibull times of shape 5 with a wave in their scale: 4x sin(2(x - 1)) + 10 for the "
            "target and 20 - 3x for the censoring time.",
        ),
        target=weibull(lambda x: 4 * x[0] * np.sin(2 * (x[0] - 1)) + 10, shape=5.0),
        censoring=weibull(lambda x: -3 * x[0] + 20, shape=5.0),
    ),
    Recipe(
        _info(
            "lognorm",
            "LogNorm",
            (500, 1),
            0.22,
            "Log-normal times, skewed and heavy-tailed: the logarithm of the target is "
            "N((x - 1)^2, 1) and the censoring time uniform on (0, 10).",
        ),
        target=lognormal(_hollow, lambda x: np.ones_like(x[0])),
        censoring=uniform(0.0, 10.0),
        printed_target=lognormal(_hollow, lambda x: x[0] ** 2),
        printed_note="Drawn as printed instead: the logarithm has standard deviation x^2.",
    ),
    Recipe(
        _info(
            "norm_uniform",
            "Norm uniform",
            (500, 1),
            0.66,
            "Normal times under heavy and early censoring: the target is "
            "N(2x cos(2x) + 13, (x^2 + 0.5)^2), at least 0.1, and the censoring time uniform on "
            "(0, 18).",
        ),
        target=normal(_falling_wave, _growing, minimum=0.1),
        censoring=uniform(0.0, 18.0),
        printed_target=normal(_falling_wave, _growing),
        printed_note="Drawn as printed instead: the target has no lower end.",
    ),
)

# The mean of the four-dimensional target lacks the printed factor 2 before the sine, and its
# standard deviation is 1: again as in the program behind the numbers.
_NORM_4D = normal(
    lambda x: 3 * x[0] + x[1] ** 2 - x[2] ** 2 + np.sin(x[2] * x[3]), lambda x: np.ones_like(x[0])
)

# The printed standard deviation is a function of an x without an index, the same as in the row of
# Norm uniform above it: taken here as the first feature.
_NORM_4D_PRINTED = normal(
    lambda x: 3 * x[0] + x[1] ** 2 - x[2] ** 2 + 2 * np.sin(x[2] * x[3]), _growing
)

_SLOPES = (0.8, 0.6, 0.4, 0.5, -0.3, 0.2, 0.0, -0.7)
_LOGNORM_8D = lognormal(
    lambda x: sum((b * column for b, column in zip(_SLOPES, x, strict=True)), -np.log(10.0)),
    lambda x: np.ones_like(x[0]),
)


@dataclass(frozen=True)
class _Censoring:
    """Degree of censoring of the sets with several features."""

    name: str
    end: float | None
    """Upper end of the uniform censoring time; None for the target's own distribution."""
    share: float

    @property
    def law(self) -> str:
        end = self.end
        return "distributed as the target" if end is None else f"uniform on (0, {end:g})"

    def censoring(self, target: Law) -> Law:
        return target if self.end is None else uniform(0.0, self.end)


# Shares of the sets with four features are at the mean of the drawn offsets.
_FOUR_FEATURES = tuple(
    Recipe(
        _info(
            f"norm_{degree.name}",
            f"Norm {degree.name}",
            (2000, 4),
            degree.share,
            "Normal times with a curved mean of four features: the target is N(3 x0 + x1^2 - x2^2 "
            f"+ sin(x2 x3) + offset, 1), and the censoring time is {degree.law}.",
        ),
        target=_NORM_4D,
        censoring=degree.censoring(_NORM_4D),
        printed_target=_NORM_4D_PRINTED,
        printed_note="Drawn as printed instead: the mean has 2 sin(x2 x3), and the standard "
        "deviation is x0^2 + 0.5.",
        is_shifted=True,
    )
    for degree in (
        _Censoring("heavy", 12.0, 0.80),
        _Censoring("medium", 20.0, 0.49),
        _Censoring("light", 40.0, 0.25),
        _Censoring("same", None, 0.5),
    )
)

_EIGHT_FEATURES = tuple(
    Recipe(
        _info(
            f"lognorm_{degree.name}",
            f"LogNorm {degree.name}",
            (4000, 8),
            degree.share,
            "Log-normal times, linear in eight features on the log scale: ten times the target has "
            "a logarithm with mean 0.8 x0 + 0.6 x1 + 0.4 x2 + 0.5 x3 - 0.3 x4 + 0.2 x5 - 0.7 x7 "
            f"and standard deviation 1, and the censoring time is {degree.law}.",
        ),
        target=_LOGNORM_8D,
        censoring=degree.censoring(_LOGNORM_8D),
    )
    for degree in (
        _Censoring("heavy", 0.4, 0.75),
        _Censoring("medium", 1.0, 0.53),
        _Censoring("light", 3.5, 0.24),
        _Censoring("same", None, 0.5),
    )
)

RECIPES: Mapping[str, Recipe] = {
    recipe.info.title: recipe for recipe in (*_ONE_FEATURE, *_FOUR_FEATURES, *_EIGHT_FEATURES)
}
"""Synthetic data sets by their name in the paper, as the published numbers were made."""
