"""Learning rates over the course of a training."""

import math
from dataclasses import dataclass
from typing import Protocol


class Schedule(Protocol):
    """The factor on the learning rate at each step."""

    def __call__(self, step: int, n_steps: int) -> float:
        """Return the factor at ``step``, counted from 0, of ``n_steps``."""
        ...


@dataclass(frozen=True)
class StepDecay:
    """The paper's schedule: a tenth after 70 % of the steps, a hundredth after 90 %.

    Parameters
    ----------
    milestones : tuple of float in (0, 1)
        Shares of the steps after which the rate is reduced.
    factor : float
        What it is multiplied by at each.

    Examples
    --------
    >>> from censquant._engine.training import StepDecay
    >>> [round(StepDecay()(step, 10), 3) for step in (0, 6, 7, 9)]
    [1.0, 1.0, 0.1, 0.01]
    """

    milestones: tuple[float, ...] = (0.7, 0.9)
    factor: float = 0.1

    def __call__(self, step: int, n_steps: int) -> float:
        """Return the factor at ``step``, counted from 0, of ``n_steps``."""
        passed = sum(step >= round(milestone * n_steps) for milestone in self.milestones)
        return self.factor**passed


@dataclass(frozen=True)
class WarmupCosine:
    """A short linear rise, then half a cosine down to 0.

    Parameters
    ----------
    warmup : int
        Steps of the rise.

    Examples
    --------
    >>> from censquant._engine.training import WarmupCosine
    >>> [round(WarmupCosine(warmup=2)(step, 8), 3) for step in (0, 1, 4, 7)]
    [0.5, 0.962, 0.5, 0.038]
    """

    warmup: int = 20

    def __call__(self, step: int, n_steps: int) -> float:
        """Return the factor at ``step``, counted from 0, of ``n_steps``."""
        rise = min(1.0, (step + 1) / max(self.warmup, 1))
        return rise * 0.5 * (1.0 + math.cos(math.pi * step / n_steps))
