"""The suite of the field's comparison."""

from censquant_bench._methods import RECOMMENDED
from censquant_bench._suites import Suite
from censquant_bench.field._conventions import FieldConventions
from censquant_bench.field._datasets import FIELD_BENCHMARK_DATASETS
from censquant_bench.field._methods import FIELD_METHODS
from censquant_bench.field._tables import field_tables

FIELD_SUITE = Suite(
    "field",
    "Estimators as they come on 17 sets of Burk et al., ranked among their 21 tuned learners.",
    tuple(dataset.name for dataset in FIELD_BENCHMARK_DATASETS),
    (RECOMMENDED.name, *(method.name for method in FIELD_METHODS)),
    n_runs={"field": 3},
    conventions=FieldConventions(),
    tables=field_tables,
    first_seed=1,
)
"""The field's comparison; a run is one of its iterations."""
