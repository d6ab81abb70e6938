"""Data with a known answer to learn from, and real data, bundled or from their publishers."""

from typing import NoReturn

from censquant._plugins import moved_to_bench
from censquant.datasets._bundled import load_gbsg2
from censquant.datasets._catalogue import catalogue, describe, fetch_files, load
from censquant.datasets._censoring import censor_uniform
from censquant.datasets._info import RealData
from censquant.datasets._published import (
    fetch_cmapss,
    fetch_gbsg,
    fetch_metabric,
    fetch_phm2008,
    fetch_support,
    fetch_whas,
)
from censquant.datasets._synthetic import (
    SyntheticData,
    make_exponential,
    make_lognorm,
    make_lognorm_8d,
    make_norm_4d,
    make_norm_linear,
    make_norm_nonlinear,
    make_norm_uniform,
    make_weibull,
)

__all__ = [
    "RealData",
    "SyntheticData",
    "catalogue",
    "censor_uniform",
    "describe",
    "fetch_cmapss",
    "fetch_files",
    "fetch_gbsg",
    "fetch_metabric",
    "fetch_phm2008",
    "fetch_support",
    "fetch_whas",
    "load",
    "load_gbsg2",
    "make_exponential",
    "make_lognorm",
    "make_lognorm_8d",
    "make_norm_4d",
    "make_norm_linear",
    "make_norm_nonlinear",
    "make_norm_uniform",
    "make_weibull",
]

_MOVED = """
    FIELD_DATASETS censor_administrative censor_by_feature censor_exponential fetch_breast_msk
    fetch_field fetch_housing fetch_lgggbm fetch_mnist fetch_protein fetch_survmnist
    fetch_tmb_immuno fetch_wine field_folds field_scores
"""


def __getattr__(name: str) -> NoReturn:
    raise moved_to_bench(__name__, name, _MOVED.split(), "censquant_bench.datasets")
