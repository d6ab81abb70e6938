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
    """

    warmup: int = 20

    def __call__(self, step: int, n_steps: int) -> float:
        """Return the factor at ``step``, counted from 0, of ``n_steps``."""
        rise = min(1.0, (step + 1) / max(self.warmup, 1))
        return rise * 0.5 * (1.0 + math.cos(math.pi * step / n_steps))
