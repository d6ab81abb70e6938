"""Figures of predictions, models and data, drawn with matplotlib on axes the caller may provide."""

from censquant.plotting._bounds import plot_bounds
from censquant.plotting._calibration import plot_calibration
from censquant.plotting._coefficients import plot_coefficients
from censquant.plotting._comparison import plot_comparison
from censquant.plotting._contributions import plot_contributions
from censquant.plotting._coverage import plot_coverage
from censquant.plotting._critical_differences import plot_critical_differences
from censquant.plotting._fans import plot_fans
from censquant.plotting._history import plot_history
from censquant.plotting._importance import plot_importance
from censquant.plotting._partial_dependence import plot_partial_dependence
from censquant.plotting._quantile_bands import plot_quantile_bands
from censquant.plotting._quantiles_1d import plot_quantiles_1d
from censquant.plotting._reliability import plot_reliability
from censquant.plotting._survival import plot_survival

__all__ = [
    "plot_bounds",
    "plot_calibration",
    "plot_coefficients",
    "plot_comparison",
    "plot_contributions",
    "plot_coverage",
    "plot_critical_differences",
    "plot_fans",
    "plot_history",
    "plot_importance",
    "plot_partial_dependence",
    "plot_quantile_bands",
    "plot_quantiles_1d",
    "plot_reliability",
    "plot_survival",
]
