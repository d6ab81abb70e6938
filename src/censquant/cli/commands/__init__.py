"""One file per command: its options, and what it does with them.

Whatever is slow to import is imported inside the functions, so that ``--help`` is fast.
"""

from censquant.cli.commands._compare import compare
from censquant.cli.commands._datasets import datasets
from censquant.cli.commands._demo import demo
from censquant.cli.commands._evaluate import evaluate
from censquant.cli.commands._export import export
from censquant.cli.commands._failures import failures
from censquant.cli.commands._fit import fit
from censquant.cli.commands._predict import predict
from censquant.cli.commands._report import report

__all__ = [
    "compare",
    "datasets",
    "demo",
    "evaluate",
    "export",
    "failures",
    "fit",
    "predict",
    "report",
]
