"""Left-censored times counted backwards, so that metrics for right censoring apply."""

from dataclasses import dataclass

from censquant._typing import Floats
from censquant.survival import Target


@dataclass(frozen=True)
class Mirror:
    """Times counted backwards from an origin, which turns left censoring into right censoring."""

    origin: float

    def target(self, target: Target) -> Target:
        """Return the target in mirrored times."""
        return Target(self.origin - target.time, target.event)

    def quantiles(self, values: Floats, taus: Floats) -> tuple[Floats, Floats]:
        """Return the quantiles of the mirrored times, and their levels."""
        return self.origin - values[:, ::-1], 1.0 - taus[::-1]
