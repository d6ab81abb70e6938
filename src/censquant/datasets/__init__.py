"""Data with a known answer to learn from, and real data, bundled or from their publishers."""

from censquant.datasets._bundled import load_gbsg2
from censquant.datasets._catalogue import catalogue, describe, fetch_files, load
from censquant.datasets._cbioportal import fetch_breast_msk, fetch_lgggbm, fetch_tmb_immuno
from censquant.datasets._deepsurv import fetch_gbsg, fetch_metabric, fetch_support, fetch_whas
from censquant.datasets._digits import fetch_mnist, fetch_survmnist
from censquant.datasets._engines import fetch_cmapss, fetch_phm2008
from censquant.datasets._field import FIELD_DATASETS, fetch_field, field_folds, field_scores
from censquant.datasets._info import DataFile, DatasetInfo
from censquant.datasets._makers import (
    make_exponential,
    make_lognorm,
    make_lognorm_8d,
    make_norm_4d,
    make_norm_linear,
    make_norm_nonlinear,
    make_norm_uniform,
    make_weibull,
)
from censquant.datasets._observed import fetch_housing, fetch_protein, fetch_wine
from censquant.datasets._overlays import (
    censor_administrative,
    censor_by_feature,
    censor_exponential,
    censor_uniform,
)
from censquant.datasets._real import RealData
from censquant.datasets._synthetic import SyntheticData

__all__ = [
    "FIELD_DATASETS",
    "DataFile",
    "DatasetInfo",
    "RealData",
    "SyntheticData",
    "catalogue",
    "censor_administrative",
    "censor_by_feature",
    "censor_exponential",
    "censor_uniform",
    "describe",
    "fetch_breast_msk",
    "fetch_cmapss",
    "fetch_field",
    "fetch_files",
    "fetch_gbsg",
    "fetch_housing",
    "fetch_lgggbm",
    "fetch_metabric",
    "fetch_mnist",
    "fetch_phm2008",
    "fetch_protein",
    "fetch_support",
    "fetch_survmnist",
    "fetch_tmb_immuno",
    "fetch_whas",
    "fetch_wine",
    "field_folds",
    "field_scores",
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
