"""Quantile curves: level grids, the distribution they imply, and how far the data can speak."""

from censquant.quantiles._curve import QuantileCurve
from censquant.quantiles._distribution_curve import Distribution, DistributionCurve
from censquant.quantiles._graph_curves import (
    FormulaCurve,
    GraphCurve,
    GraphDistribution,
    GridCurve,
    graph_reach,
)
from censquant.quantiles._grid import (
    CURVE_QUANTILES,
    DEFAULT_QUANTILES,
    check_levels,
    check_quantiles,
    even_grid,
)
from censquant.quantiles._matrix import sorted_rows
from censquant.quantiles._reach import reach_until
from censquant.quantiles._survival_function import (
    CumulativeHazardFunction,
    SurvivalFunction,
    cumulative_hazard,
)
from censquant.quantiles._tail import LimitedDistribution, TailLimit

__all__ = [
    "CURVE_QUANTILES",
    "DEFAULT_QUANTILES",
    "CumulativeHazardFunction",
    "Distribution",
    "DistributionCurve",
    "FormulaCurve",
    "GraphCurve",
    "GraphDistribution",
    "GridCurve",
    "LimitedDistribution",
    "QuantileCurve",
    "SurvivalFunction",
    "TailLimit",
    "check_levels",
    "check_quantiles",
    "cumulative_hazard",
    "even_grid",
    "graph_reach",
    "reach_until",
    "sorted_rows",
]
