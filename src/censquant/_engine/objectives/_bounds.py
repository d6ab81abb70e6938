"""How far a network may move the parameters of a distribution."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.losses import bound_outputs

Limits = tuple[float, float, float, float]
"""Lowest and low, high and highest: beyond low and high an output approaches the other two."""


@dataclass(frozen=True)
class ParameterBounds:
    """Intervals that the outputs of a network are kept in, smoothly, whatever its input.

    Parameters
    ----------
    limits : tuple of (lowest, low, high, highest), one per output
        Outputs between ``low`` and ``high`` are left alone; those outside approach ``lowest`` and
        ``highest``; see :func:`censquant._engine.losses.bound_outputs`.
    """

    limits: tuple[Limits, ...]

    def __post_init__(self) -> None:
        for limits in self.limits:
            if np.isnan(limits).any() or list(limits) != sorted(limits):
                raise ValueError(
                    "limits must be numbers in the order lowest <= low <= high <= highest, "
                    f"got {limits!r}."
                )

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        return np.array(self.limits, dtype=np.float64)

    def apply(self, output: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return bounded outputs, and their derivatives by the outputs."""
        values, slopes = np.empty_like(output), np.empty_like(output)
        bound_outputs(output, self._table, values, slopes)
        return values, slopes
