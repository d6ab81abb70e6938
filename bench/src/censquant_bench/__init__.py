"""The paper's experiments and your own: methods on data sets, scored alike.

``plan`` says what to run, ``run`` runs it and keeps every row; tables and figures are made from the
rows. ``censquant bench`` is the same on the command line. `censquant_bench.paper` holds what
belongs to the CQRNN paper alone. Names are loaded when they are first used: the command looks here
for its options, and must start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from censquant_bench._cells import BenchmarkCell
    from censquant_bench._conventions import RunConventions
    from censquant_bench._datasets import BenchmarkDataset, TrainTestData
    from censquant_bench._experiment import Report, run
    from censquant_bench._kaplan_meier import KaplanMeierBaseline
    from censquant_bench._methods import BenchmarkMethod
    from censquant_bench._own import own_dataset, own_method
    from censquant_bench._plan import plan
    from censquant_bench._ranks import MethodRanks, plot_critical_differences, rank_methods
    from censquant_bench._registry import (
        DATASET_GROUPS,
        DATASETS,
        METHODS,
        SUITES,
        get_dataset,
        get_method,
        get_suite,
    )
    from censquant_bench._results import ResultsFile
    from censquant_bench._run import run_plan
    from censquant_bench._suites import Suite, Variant

_HOME = {
    "DATASETS": "_registry",
    "DATASET_GROUPS": "_registry",
    "METHODS": "_registry",
    "SUITES": "_registry",
    "BenchmarkCell": "_cells",
    "BenchmarkDataset": "_datasets",
    "BenchmarkMethod": "_methods",
    "KaplanMeierBaseline": "_kaplan_meier",
    "MethodRanks": "_ranks",
    "Report": "_experiment",
    "ResultsFile": "_results",
    "RunConventions": "_conventions",
    "Suite": "_suites",
    "TrainTestData": "_datasets",
    "Variant": "_suites",
    "get_dataset": "_registry",
    "get_method": "_registry",
    "get_suite": "_registry",
    "own_dataset": "_own",
    "own_method": "_own",
    "plan": "_plan",
    "plot_critical_differences": "_ranks",
    "rank_methods": "_ranks",
    "run": "_experiment",
    "run_plan": "_run",
}

__all__ = [
    "DATASETS",
    "DATASET_GROUPS",
    "METHODS",
    "SUITES",
    "BenchmarkCell",
    "BenchmarkDataset",
    "BenchmarkMethod",
    "KaplanMeierBaseline",
    "MethodRanks",
    "Report",
    "ResultsFile",
    "RunConventions",
    "Suite",
    "TrainTestData",
    "Variant",
    "get_dataset",
    "get_method",
    "get_suite",
    "own_dataset",
    "own_method",
    "plan",
    "plot_critical_differences",
    "rank_methods",
    "run",
    "run_plan",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'censquant_bench' has no attribute {name!r}")
    value = getattr(import_module(f"censquant_bench.{_HOME[name]}"), name)
    globals()[name] = value
    return value
