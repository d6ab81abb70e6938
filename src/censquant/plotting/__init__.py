"""Figures of predicted quantiles, drawn with matplotlib on axes that the caller may provide."""

from censquant.plotting._bounds import plot_bounds
from censquant.plotting._coverage import plot_coverage
from censquant.plotting._fans import plot_fans
from censquant.plotting._quantiles_1d import plot_quantiles_1d
from censquant.plotting._reliability import plot_reliability

__all__ = [
    "plot_bounds",
    "plot_coverage",
    "plot_fans",
    "plot_quantiles_1d",
    "plot_reliability",
]
