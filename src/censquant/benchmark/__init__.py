"""The paper's experiments and your own: methods on data sets, scored alike.

``plan`` says what to run, ``run`` runs it and keeps every row; tables and figures are made from the
rows. ``censquant bench`` is the same on the command line. `censquant.benchmark.paper` holds what
belongs to the CQRNN paper alone.
"""

from censquant.benchmark._cells import BenchmarkCell
from censquant.benchmark._compare import compare
from censquant.benchmark._comparison import Comparison, ComparisonRow, ComparisonScore
from censquant.benchmark._conventions import RunConventions
from censquant.benchmark._datasets import BenchmarkDataset
from censquant.benchmark._experiment import Report, run
from censquant.benchmark._kaplan_meier import KaplanMeierBaseline
from censquant.benchmark._methods import BenchmarkMethod
from censquant.benchmark._own_dataset import own_dataset
from censquant.benchmark._own_method import own_method
from censquant.benchmark._plan import plan
from censquant.benchmark._registry import (
    DATASET_GROUPS,
    DATASETS,
    METHODS,
    SUITES,
    get_dataset,
    get_method,
    get_suite,
)
from censquant.benchmark._results import ResultsFile
from censquant.benchmark._run import run_plan
from censquant.benchmark._suites import Suite, Variant
from censquant.benchmark._train_test import TrainTestData

__all__ = [
    "DATASETS",
    "DATASET_GROUPS",
    "METHODS",
    "SUITES",
    "BenchmarkCell",
    "BenchmarkDataset",
    "BenchmarkMethod",
    "Comparison",
    "ComparisonRow",
    "ComparisonScore",
    "KaplanMeierBaseline",
    "Report",
    "ResultsFile",
    "RunConventions",
    "Suite",
    "TrainTestData",
    "Variant",
    "compare",
    "get_dataset",
    "get_method",
    "get_suite",
    "own_dataset",
    "own_method",
    "plan",
    "run",
    "run_plan",
]
