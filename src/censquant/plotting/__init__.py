"""Figures of predicted quantiles, drawn with matplotlib on axes that the caller may provide."""

from censquant.plotting._fans import plot_fans
from censquant.plotting._quantiles_1d import plot_quantiles_1d

__all__ = ["plot_fans", "plot_quantiles_1d"]
