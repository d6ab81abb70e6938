"""The suite of calibrated lower bounds."""

from censquant_bench._suites import Suite
from censquant_bench.coverage._conventions import CoverageConventions
from censquant_bench.coverage._datasets import COVERAGE_DATASETS
from censquant_bench.coverage._figure import coverage_figure
from censquant_bench.coverage._methods import SUITE_METHODS
from censquant_bench.coverage._tables import coverage_tables

COVERAGE_SUITE = Suite(
    "coverage",
    "Lower bounds with confidence 0.90 on 12 published settings: exact coverage, size, rules.",
    tuple(dataset.name for dataset in COVERAGE_DATASETS),
    SUITE_METHODS,
    n_runs={"bounds": 100},
    conventions=CoverageConventions(),
    tables=coverage_tables,
    figure=coverage_figure,
)
"""Calibrated lower bounds; a run is a fresh sample."""
