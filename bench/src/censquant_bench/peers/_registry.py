"""Peers by name."""

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType

from censquant._validation import look_up
from censquant_bench.peers._base import Peer
from censquant_bench.peers._hazardous import SurvivalBoosting
from censquant_bench.peers._lifelines import LifelinesCox, LogNormalAFT, WeibullAFT
from censquant_bench.peers._mapie import NaiveConformalQuantiles
from censquant_bench.peers._ngboost import LogNormalNGBoost
from censquant_bench.peers._pycox import CoxTime, DeepHit, DeepSurv
from censquant_bench.peers._quantile_forest import NaiveQuantileForest
from censquant_bench.peers._sksurv import BoostedCox, RidgeCox, SurvivalForest
from censquant_bench.peers._xgboost import BoostedAFT

_PEERS: Mapping[str, tuple[type[Peer], str]] = MappingProxyType(
    {
        "sksurv_cox": (RidgeCox, "Cox (scikit-survival)"),
        "sksurv_forest": (SurvivalForest, "Random survival forest (scikit-survival)"),
        "sksurv_boosting": (BoostedCox, "Boosted Cox (scikit-survival)"),
        "lifelines_cox": (LifelinesCox, "Cox (lifelines)"),
        "lifelines_lognormal": (LogNormalAFT, "Log-normal AFT (lifelines)"),
        "lifelines_weibull": (WeibullAFT, "Weibull AFT (lifelines)"),
        "pycox_deepsurv": (DeepSurv, "DeepSurv (pycox)"),
        "pycox_deephit": (DeepHit, "DeepHit (pycox)"),
        "pycox_coxtime": (CoxTime, "Cox-Time (pycox)"),
        "xgboost_aft": (BoostedAFT, "Boosted AFT (XGBoost)"),
        "ngboost_lognormal": (LogNormalNGBoost, "Log-normal boosting (NGBoost)"),
        "hazardous_boosting": (SurvivalBoosting, "SurvivalBoost (hazardous)"),
        "quantile_forest_naive": (
            NaiveQuantileForest,
            "Quantile forest, censoring ignored (quantile-forest)",
        ),
        "mapie_naive": (
            NaiveConformalQuantiles,
            "Conformalized quantiles, censoring ignored (MAPIE)",
        ),
    }
)

PEER_TITLES: Mapping[str, str] = MappingProxyType(
    {name: title for name, (_, title) in _PEERS.items()}
)
"""Title of each peer in tables, by its name."""


def available_peers() -> tuple[str, ...]:
    """Names of the peers whose library is installed.

    Nothing is imported to find out: a library that is there but broken is listed too.

    Returns
    -------
    names : tuple of str

    Examples
    --------
    >>> from censquant_bench.peers import PEER_TITLES, available_peers
    >>> set(available_peers()) <= set(PEER_TITLES)
    True
    """
    return tuple(name for name, (peer, _) in _PEERS.items() if _installed(peer))


def make_peer(name: str, *, random_state: int | None = None) -> Peer:
    """Peer of the given name, not fitted yet.

    Parameters
    ----------
    name : str
        A key of `PEER_TITLES`.
    random_state : int or None
        Seed; None draws a new one for each fit.

    Returns
    -------
    peer : Peer

    Raises
    ------
    ModuleNotFoundError
        If the library behind the peer is not installed.

    Examples
    --------
    >>> from censquant_bench.peers import make_peer
    >>> make_peer("sksurv_cox").package
    'scikit-survival'
    """
    peer, _ = look_up("peer", name, _PEERS)
    if not _installed(peer):
        raise ModuleNotFoundError(
            f"name={name!r} needs {peer.package}, which is not installed: "
            'run pip install "censquant-bench[peers]".'
        )
    return peer(random_state=random_state)


def _installed(peer: type[Peer]) -> bool:
    return find_spec(peer.module.split(".")[0]) is not None
