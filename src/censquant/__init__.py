"""Censored quantile regression: for each individual, by when the event will have happened.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from censquant._version import __version__

if TYPE_CHECKING:
    from censquant.estimators import CQRNN, load
    from censquant.linear import LinearCQR
    from censquant.survival import Surv
    from censquant.training import Checkpoint

_HOME = {
    "CQRNN": "censquant.estimators",
    "Checkpoint": "censquant.training",
    "LinearCQR": "censquant.linear",
    "Surv": "censquant.survival",
    "load": "censquant.estimators",
}
_SUBPACKAGES = (
    "datasets",
    "estimators",
    "exceptions",
    "linear",
    "losses",
    "metrics",
    "networks",
    "objectives",
    "plotting",
    "quantiles",
    "survival",
    "torch",
    "training",
)

__all__ = ["CQRNN", "Checkpoint", "LinearCQR", "Surv", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _SUBPACKAGES:
        value = import_module(f"censquant.{name}")
    else:
        raise AttributeError(f"module 'censquant' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
