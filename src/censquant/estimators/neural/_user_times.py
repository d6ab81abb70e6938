"""A distribution in model units, asked and answered in the user's unit of time."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from censquant._engine.objectives import FormulaDistribution
from censquant._typing import Floats
from censquant.survival._transform import TimeTransform


@dataclass(frozen=True, eq=False)
class UserTimes:
    """The distribution of the time whose transform has a known distribution.

    Parameters
    ----------
    inner : FormulaDistribution
        In model units.
    transform : TimeTransform
        Its logarithm is taken without a floor: small times have small levels here.
    """

    inner: FormulaDistribution
    transform: TimeTransform

    def quantile(self, levels: Floats) -> Floats:
        """Return quantiles in the user's unit."""
        if self.transform.mirror:
            return self.transform.inverse(self.inner.inverse_survival(levels))
        return self.transform.inverse(self.inner.quantile(levels))

    def cdf(self, times: Floats) -> Floats:
        """Return the levels of times in the user's unit."""
        u = times
        if self.transform.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                u = np.where(times > 0, np.log(times), -np.inf)
        z = (u - self.transform.center) / self.transform.scale
        return self.inner.survival(-z) if self.transform.mirror else self.inner.cdf(z)

    def take(self, rows: Any) -> "UserTimes":
        """Return the distributions of some of the individuals."""
        return UserTimes(self.inner.take(rows), self.transform)
