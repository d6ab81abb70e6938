"""Figures of predictions, models and data, drawn with matplotlib on axes the caller may provide."""

from typing import NoReturn

from censquant._plugins import moved_to_bench
from censquant.plotting._calibration import (
    plot_bounds,
    plot_calibration,
    plot_calibration_at,
    plot_coverage,
    plot_reliability,
)
from censquant.plotting._features import (
    plot_coefficients,
    plot_contrast,
    plot_contributions,
    plot_importance,
    plot_partial_dependence,
)
from censquant.plotting._incidence import plot_incidence
from censquant.plotting._quantiles import plot_fans, plot_quantile_bands, plot_quantiles_1d
from censquant.plotting._studies import plot_comparison, plot_history
from censquant.plotting._survival import plot_survival

__all__ = [
    "plot_bounds",
    "plot_calibration",
    "plot_calibration_at",
    "plot_coefficients",
    "plot_comparison",
    "plot_contrast",
    "plot_contributions",
    "plot_coverage",
    "plot_fans",
    "plot_history",
    "plot_importance",
    "plot_incidence",
    "plot_partial_dependence",
    "plot_quantile_bands",
    "plot_quantiles_1d",
    "plot_reliability",
    "plot_survival",
]


def __getattr__(name: str) -> NoReturn:
    raise moved_to_bench(__name__, name, ("plot_critical_differences",))
