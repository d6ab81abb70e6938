"""Data with a known answer to learn from, and real data that come with the package."""

from censquant.datasets._bundled import BundledData, load_gbsg2
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
    "BundledData",
    "SyntheticData",
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
