"""What only the CQRNN paper needs: its sets, tuned settings, suites, reports and printed numbers.

T. Pearce, J.-H. Jeong, Y. Jia and J. Zhu (2022). Censored quantile regression neural networks for
distribution-free survival analysis. *NeurIPS* 35.
"""

from censquant_bench.paper._conventions import PaperConventions
from censquant_bench.paper._datasets import PAPER_DATASET_GROUPS, PAPER_DATASETS
from censquant_bench.paper._methods import PAPER_METHODS
from censquant_bench.paper._published import PUBLISHED_COLUMNS, published_table
from censquant_bench.paper._suites import PAPER_SUITES
from censquant_bench.paper.reporting import Agreement, agreement, compare

__all__ = [
    "PAPER_DATASETS",
    "PAPER_DATASET_GROUPS",
    "PAPER_METHODS",
    "PAPER_SUITES",
    "PUBLISHED_COLUMNS",
    "Agreement",
    "PaperConventions",
    "agreement",
    "compare",
    "published_table",
]
