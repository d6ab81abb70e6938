"""Tables and figures of the paper's suites, beside its numbers."""

from censquant_bench.paper.reporting._ablation_figures import (
    grid_figure,
    partial_full_figure,
    variants_figure,
    ystar_figure,
)
from censquant_bench.paper.reporting._ablation_tables import (
    grid_tables,
    partial_full_tables,
    variants_tables,
    ystar_tables,
)
from censquant_bench.paper.reporting._comparison import (
    Agreement,
    agreement,
    compare,
    preferred_metrics,
)
from censquant_bench.paper.reporting._figure_1d import OneDimensional, one_dimensional_figure
from censquant_bench.paper.reporting._main_extracts import (
    compact_table,
    own_data_tables,
    split_table,
)
from censquant_bench.paper.reporting._main_figure import main_figure, scale_top
from censquant_bench.paper.reporting._main_tables import (
    agreement_tables,
    main_table,
    main_tables,
)
from censquant_bench.paper.reporting._sequential_tables import sequential_tables

__all__ = [
    "Agreement",
    "OneDimensional",
    "agreement",
    "agreement_tables",
    "compact_table",
    "compare",
    "grid_figure",
    "grid_tables",
    "main_figure",
    "main_table",
    "main_tables",
    "one_dimensional_figure",
    "own_data_tables",
    "partial_full_figure",
    "partial_full_tables",
    "preferred_metrics",
    "scale_top",
    "sequential_tables",
    "split_table",
    "variants_figure",
    "variants_tables",
    "ystar_figure",
    "ystar_tables",
]
