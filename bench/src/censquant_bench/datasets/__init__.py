"""Data sets that only comparisons need, and further kinds of censoring over observed times."""

from censquant_bench.datasets._cbioportal import (
    CBIOPORTAL,
    fetch_breast_msk,
    fetch_lgggbm,
    fetch_tmb_immuno,
)
from censquant_bench.datasets._censoring import (
    censor_administrative,
    censor_by_feature,
    censor_exponential,
)
from censquant_bench.datasets._digits import DIGITS, fetch_mnist, fetch_survmnist
from censquant_bench.datasets._field import (
    FIELD,
    FIELD_DATASETS,
    fetch_field,
    field_folds,
    field_scores,
)
from censquant_bench.datasets._field_info import FIELD_CONFIRMATION, FIELD_DEVELOPMENT
from censquant_bench.datasets._observed import OBSERVED, fetch_housing, fetch_protein, fetch_wine

ENTRIES = (*CBIOPORTAL, *OBSERVED, *FIELD, *DIGITS)
"""What the catalogue of `censquant.datasets` lists after its own sets."""

__all__ = [
    "ENTRIES",
    "FIELD_CONFIRMATION",
    "FIELD_DATASETS",
    "FIELD_DEVELOPMENT",
    "censor_administrative",
    "censor_by_feature",
    "censor_exponential",
    "fetch_breast_msk",
    "fetch_field",
    "fetch_housing",
    "fetch_lgggbm",
    "fetch_mnist",
    "fetch_protein",
    "fetch_survmnist",
    "fetch_tmb_immuno",
    "fetch_wine",
    "field_folds",
    "field_scores",
]
