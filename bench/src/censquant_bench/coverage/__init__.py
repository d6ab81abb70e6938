"""What only the comparison of calibrated bounds needs: published settings, methods, exact scores.

E. J. Candès, L. Lei and Z. Ren (2023). Conformalized survival analysis. *Journal of the Royal
Statistical Society B* 85, 24-45.

Y. Gui, R. Hore, Z. Ren and R. F. Barber (2024). Conformalized survival analysis with adaptive
cut-offs. *Biometrika* 111, 459-477.

M. Sesia and V. Svetnik (2025). Doubly robust conformalized survival analysis with right-censored
data. *International Conference on Machine Learning*.
"""

from censquant_bench.coverage._baselines import EventsOnlyBound, UncalibratedBound
from censquant_bench.coverage._conventions import CONFIDENCE, CoverageConventions
from censquant_bench.coverage._datasets import COVERAGE_DATASETS
from censquant_bench.coverage._figure import coverage_figure
from censquant_bench.coverage._methods import COVERAGE_METHODS
from censquant_bench.coverage._settings import BOUND_SETTINGS, BoundSample, BoundSetting
from censquant_bench.coverage._suite import COVERAGE_SUITE
from censquant_bench.coverage._tables import coverage_tables, missed_lines

__all__ = [
    "BOUND_SETTINGS",
    "CONFIDENCE",
    "COVERAGE_DATASETS",
    "COVERAGE_METHODS",
    "COVERAGE_SUITE",
    "BoundSample",
    "BoundSetting",
    "CoverageConventions",
    "EventsOnlyBound",
    "UncalibratedBound",
    "coverage_figure",
    "coverage_tables",
    "missed_lines",
]
