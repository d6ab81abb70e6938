"""The paper's experiments and anyone's own: methods on data sets, scored alike.

``plan`` says what to run, ``run`` runs it and keeps every row, tables and figures come from the
rows. The same is there as ``censquant bench``.
"""

from censquant.benchmark._cells import Cell
from censquant.benchmark._datasets import (
    DATASETS,
    BenchmarkDataset,
    get_dataset,
)
from censquant.benchmark._experiment import Report, run
from censquant.benchmark._methods import METHODS, BenchmarkMethod, get_method, own_method
from censquant.benchmark._one_feature import FIGURES_TITLE
from censquant.benchmark._own_dataset import own_dataset
from censquant.benchmark._problem import Problem
from censquant.benchmark._results import ResultsFile
from censquant.benchmark._run import run_plan
from censquant.benchmark._suites import SUITES, Suite, get_suite, plan

__all__ = [
    "DATASETS",
    "FIGURES_TITLE",
    "METHODS",
    "SUITES",
    "BenchmarkDataset",
    "BenchmarkMethod",
    "Cell",
    "Problem",
    "Report",
    "ResultsFile",
    "Suite",
    "get_dataset",
    "get_method",
    "get_suite",
    "own_dataset",
    "own_method",
    "plan",
    "run",
    "run_plan",
]
