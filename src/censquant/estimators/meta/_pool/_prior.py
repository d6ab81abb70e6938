"""What is expected of the weights before the scores are seen: tempered out-of-fold likelihoods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant._validation import check_number

_MOST_PER_ROW = 3.0  # one row that a model takes for impossible must not decide
_LEAST_SHARE = 0.02


class Prior(Protocol):
    """What gives the weights of candidates before their scores are seen."""

    def __call__(
        self, names: Sequence[str], likelihood: Mapping[str, Floats | None]
    ) -> NDArray[np.float64]:
        """Return positive weights with sum 1, one per name."""
        ...


@dataclass(frozen=True)
class FixedPrior:
    """Weights that a user expects, by name."""

    weights: Mapping[str, float]

    @classmethod
    def read(cls, weights: Mapping[str, float], names: Sequence[str]) -> "FixedPrior":
        """Return the prior; it must have a positive weight for each candidate."""
        if set(weights) != set(names):
            raise ValueError(
                f"prior must have a weight for each of {list(names)}, got {list(weights)}."
            )
        for name, weight in weights.items():
            check_number(f"prior[{name!r}]", weight, minimum=0.0, exclude_minimum=True)
        return cls(weights)

    def __call__(
        self, names: Sequence[str], likelihood: Mapping[str, Floats | None]
    ) -> NDArray[np.float64]:
        """Return the weights of some of the candidates, as shares."""
        total = sum(self.weights[name] for name in names)
        return np.array([self.weights[name] / total for name in names])


@dataclass(frozen=True)
class LikelihoodPrior:
    """Prior weights of candidates, by the likelihood of held-out rows where a model has one.

    A Brier score of a few hundred rows barely tells families of distributions apart, and it knows
    nothing past the follow-up, where the family decides. The likelihood does, so the candidates
    that state it share ``mass`` in proportion to it, tempered by ``temperature``; each other
    candidate has ``others``.

    Parameters
    ----------
    mass : float, default 3.0
        Of all candidates with a likelihood together.
    temperature : float in (0, 1], default 0.25
        Exponent of the likelihood ratio.
    others : float, default 0.07
        Of each candidate without a likelihood.
    follows : dict of str to str, optional
        Candidates that have the weight of another one and ``bonus``, instead of their own
        likelihood: those that extrapolate as the other does but fit more closely.
    bonus : float, default 0.1

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators.meta._pool import LikelihoodPrior
    >>> likelihood = {"a": np.full(50, -1.0), "b": np.full(50, -1.1), "c": None}
    >>> LikelihoodPrior()(["a", "b", "c"], likelihood).round(2)
    array([0.76, 0.22, 0.02])
    """

    mass: float = 3.0
    temperature: float = 0.25
    others: float = 0.07
    follows: Mapping[str, str] = field(default_factory=dict)
    bonus: float = 0.1

    def __call__(
        self, names: Sequence[str], likelihood: Mapping[str, Floats | None]
    ) -> NDArray[np.float64]:
        """Return the prior weights."""
        stated = {
            name: rows
            for name in names
            if name not in self.follows and (rows := likelihood.get(name)) is not None
        }
        mass = dict.fromkeys(names, self.others)
        if stated:
            table = np.stack([np.nan_to_num(rows, nan=-50.0) for rows in stated.values()])
            table = np.clip(table - np.median(table, axis=0), -_MOST_PER_ROW, _MOST_PER_ROW)
            tempered = self.temperature * table.sum(axis=1)
            share = np.exp(tempered - tempered.max())
            share = np.maximum(share / share.sum(), _LEAST_SHARE)
            mass |= dict(zip(stated, (self.mass * share / share.sum()).tolist(), strict=True))
        for name, leader in self.follows.items():
            if name in mass:
                mass[name] = self.bonus + (mass[leader] if leader in stated else 0.0)
        total = sum(mass[name] for name in names)
        return np.array([mass[name] / total for name in names])
