"""All data sets, methods and suites by name: the one place that knows its parts."""

from collections.abc import Mapping
from types import MappingProxyType

from censquant._validation import look_up
from censquant_bench._datasets import BenchmarkDataset
from censquant_bench._methods import PEER_METHODS, RECOMMENDED, BenchmarkMethod
from censquant_bench._suites import Suite
from censquant_bench.comparisons import (
    COMPARISON_DATASETS,
    COMPARISON_GROUPS,
    COMPARISON_SUITES,
)
from censquant_bench.coverage import COVERAGE_DATASETS, COVERAGE_METHODS, COVERAGE_SUITE
from censquant_bench.field import (
    FIELD_BENCHMARK_DATASETS,
    FIELD_GROUPS,
    FIELD_METHODS,
    FIELD_SUITE,
)
from censquant_bench.paper import (
    PAPER_DATASET_GROUPS,
    PAPER_DATASETS,
    PAPER_METHODS,
    PAPER_SUITES,
)

DATASETS: Mapping[str, BenchmarkDataset] = MappingProxyType(
    {
        one.name: one
        for one in (
            *PAPER_DATASETS,
            *FIELD_BENCHMARK_DATASETS,
            *COMPARISON_DATASETS,
            *COVERAGE_DATASETS,
        )
    }
)
"""The paper's 26 sets in the order of its table, one more, the field's 34, those of
other published comparisons, and the 12 settings of bounds, by name."""

DATASET_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **PAPER_DATASET_GROUPS,
        **FIELD_GROUPS,
        **COMPARISON_GROUPS,
        "bounds": tuple(one.name for one in COVERAGE_DATASETS),
    }
)
"""Names of several sets at once: those of a kind, and the small ones."""

METHODS: Mapping[str, BenchmarkMethod] = MappingProxyType(
    {
        one.name: one
        for one in (
            RECOMMENDED,
            *PAPER_METHODS,
            *FIELD_METHODS,
            *COVERAGE_METHODS,
            *PEER_METHODS,
        )
    }
)
"""The recommended estimator, the paper's five methods as they were run, the ones to use instead,
estimators as they come, calibrated bounds, and peers, by name."""

SUITES: Mapping[str, Suite] = MappingProxyType(
    {one.name: one for one in (*PAPER_SUITES, FIELD_SUITE, *COMPARISON_SUITES, COVERAGE_SUITE)}
)
"""All experiments by name."""


def get_dataset(name: str) -> BenchmarkDataset:
    """Return a set of the benchmark by name.

    Parameters
    ----------
    name : str
        One of `DATASETS`.

    Returns
    -------
    dataset : BenchmarkDataset

    Examples
    --------
    >>> from censquant_bench import get_dataset
    >>> get_dataset("weibull").taus[:3]
    (0.1, 0.2, 0.3)
    """
    return look_up("dataset", name, DATASETS)


def get_method(name: str) -> BenchmarkMethod:
    """Return a method of the benchmark by name.

    Parameters
    ----------
    name : str
        One of `METHODS`.

    Returns
    -------
    method : BenchmarkMethod

    Examples
    --------
    >>> from censquant_bench import get_method
    >>> get_method("excl_censor").note
    'column Excl. censor of the paper'
    """
    return look_up("method", name, METHODS)


def get_suite(name: str) -> Suite:
    """Return an experiment by name.

    Parameters
    ----------
    name : str
        One of `SUITES`.

    Returns
    -------
    suite : Suite

    Examples
    --------
    >>> from censquant_bench import get_suite
    >>> get_suite("grid").datasets[0]
    'norm_linear'
    """
    return look_up("suite", name, SUITES)
