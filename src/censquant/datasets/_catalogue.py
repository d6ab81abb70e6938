"""All data sets by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from censquant._validation import look_up
from censquant.datasets._bundled import load_gbsg2
from censquant.datasets._cbioportal import fetch_breast_msk, fetch_lgggbm, fetch_tmb_immuno
from censquant.datasets._deepsurv import fetch_gbsg, fetch_metabric, fetch_support, fetch_whas
from censquant.datasets._digits import fetch_mnist, fetch_survmnist
from censquant.datasets._drawn import SYNTHETIC
from censquant.datasets._engines import fetch_cmapss, fetch_phm2008
from censquant.datasets._info import REAL, DatasetInfo
from censquant.datasets._observed import fetch_housing, fetch_protein, fetch_wine
from censquant.datasets._one_feature import (
    make_exponential,
    make_lognorm,
    make_norm_linear,
    make_norm_nonlinear,
    make_norm_uniform,
    make_weibull,
)
from censquant.datasets._recipes import CENSORING_4D, CENSORING_8D
from censquant.datasets._several_features import make_lognorm_8d, make_norm_4d
from censquant.datasets._store import locate

_LOADERS: dict[str, Callable[..., Any]] = {
    "norm_linear": make_norm_linear,
    "norm_nonlinear": make_norm_nonlinear,
    "exponential": make_exponential,
    "weibull": make_weibull,
    "lognorm": make_lognorm,
    "norm_uniform": make_norm_uniform,
    **{f"norm_{kind}": partial(make_norm_4d, censoring=kind) for kind in CENSORING_4D},
    **{f"lognorm_{kind}": partial(make_lognorm_8d, censoring=kind) for kind in CENSORING_8D},
    "gbsg2": load_gbsg2,
    "metabric": fetch_metabric,
    "whas": fetch_whas,
    "support": fetch_support,
    "gbsg": fetch_gbsg,
    "tmb_immuno": fetch_tmb_immuno,
    "breast_msk": fetch_breast_msk,
    "lgggbm": fetch_lgggbm,
    "housing": fetch_housing,
    "protein": fetch_protein,
    "wine": fetch_wine,
    "phm2008": fetch_phm2008,
    "cmapss": fetch_cmapss,
    "mnist": fetch_mnist,
    "survmnist": fetch_survmnist,
}


@cache
def catalogue() -> tuple[DatasetInfo, ...]:
    """All data sets: the synthetic ones, those in the package, those that are downloaded.

    Nothing is read or downloaded.

    Returns
    -------
    infos : tuple of DatasetInfo

    Examples
    --------
    >>> from censquant.datasets import catalogue
    >>> [info.name for info in catalogue() if info.kind == "bundled"]
    ['gbsg2']
    """
    return (*SYNTHETIC.values(), *REAL.values())


def describe(name: str) -> DatasetInfo:
    """Facts about a data set, known before it is loaded.

    Parameters
    ----------
    name : str
        A name of the `catalogue`.

    Returns
    -------
    info : DatasetInfo

    Examples
    --------
    >>> from censquant.datasets import describe
    >>> info = describe("metabric")
    >>> info.n_samples, round(info.censored_share, 2)
    (1904, 0.42)
    """
    infos = {info.name: info for info in catalogue()}
    return look_up("data set", name, infos)


def fetch_files(name: str) -> tuple[Path, ...]:
    """Places of all files of a data set, downloaded now where they are not yet there.

    Call it once where there is a network, and every later load works without one. Each file is
    checked against its recorded checksum.

    Parameters
    ----------
    name : str
        A name of the `catalogue`.

    Returns
    -------
    paths : tuple of Path
        Empty for data that are drawn or come with the package.

    Examples
    --------
    >>> from censquant.datasets import fetch_files
    >>> fetch_files("gbsg2")
    ()
    """
    return tuple(locate(file.path) for file in describe(name).files)


def load(name: str, **options: Any) -> Any:
    """Whatever the function of a data set returns: a way to it by name.

    Parameters
    ----------
    name : str
        A name of the `catalogue`.
    **options : object
        Arguments of the ``make_*``, ``load_*`` or ``fetch_*`` function behind the name.

    Returns
    -------
    data : SyntheticData, RealData or tuple

    Examples
    --------
    >>> from censquant.datasets import load
    >>> load("norm_heavy", n_samples=10, random_state=0).X.shape
    (10, 4)
    >>> X, y = load("gbsg2", as_frame=False)
    >>> X.shape
    (686, 8)
    """
    return _LOADERS[describe(name).name](**options)
