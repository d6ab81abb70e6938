"""The methods of the benchmark, with the settings that were tuned for the published numbers."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import joblib
from sklearn.base import clone

from censquant import estimators
from censquant._validation import look_up
from censquant.benchmark._as_published import EventCurveDeepQuantReg, MixedUpLogNormalNN
from censquant.benchmark._datasets import BenchmarkDataset, cnn_as_run, trained_cnn
from censquant.benchmark._own_name import check_own_name
from censquant.benchmark.peers import PEER_TITLES, make_peer

Build = Callable[[BenchmarkDataset, Mapping[str, Any], int], Any]

# What the paper trained every network with, whatever an estimator's own defaults are.
_PAPER = MappingProxyType(
    {
        "hidden_layer_sizes": (100, 100),
        "activation": "relu",
        "dropout": 0.0,
        "learning_rate": 0.01,
        "weight_decay": 1e-4,
        "batch_size": 128,
        "max_epochs": 100,
    }
)
_DROPOUT = 0.333
_USUAL_EPOCHS = 50


@dataclass(frozen=True, eq=False)
class BenchmarkMethod:
    """A way to make an estimator for a data set and a seed.

    Parameters
    ----------
    name : str
        What commands and results call it.
    title : str
        What tables call it.
    build : callable
        Takes a data set, parameters to override, and a seed; returns an estimator with
        ``fit(X, y)`` and ``predict_quantiles(X, quantiles)``.
    published : str, default ""
        Name of the column of the paper that it reproduces.
    positive_times : bool, default False
        Whether rows with a time of zero or less are left out of its fit.
    fingerprint : str, default ""
        What a user's own estimator is, so that results of another under the same name are told.
    own : bool, default False
        Whether it is a user's: then it gets features with the names that the user's data have.
    threadsafe : bool, default False
        Whether fits may run side by side in one process: they use nothing that is there only once,
        such as a global generator of random numbers.

    Examples
    --------
    >>> from censquant.benchmark import get_dataset, get_method
    >>> model = get_method("cqrnn").build(get_dataset("gbsg"), {}, 111)
    >>> model.max_epochs, model.dropout
    (20, 0.333)
    """

    name: str
    title: str
    build: Build
    published: str = ""
    positive_times: bool = False
    fingerprint: str = ""
    own: bool = False
    threadsafe: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Methods of the table go to workers by name; closures would not travel.
        if METHODS.get(self.name) is self:
            return get_method, (self.name,)
        return super().__reduce__()  # type: ignore[return-value]


def own_method(name: str, estimator: Any) -> BenchmarkMethod:
    """Return a user's own estimator as a method of the benchmark.

    It is cloned for every run, and gets the run's levels and seed if it has the parameters
    ``quantiles`` and ``random_state``.

    Parameters
    ----------
    name : str
        What tables call it.
    estimator : estimator with fit(X, y) and predict_quantiles(X, quantiles)
        ``y`` is a structured array with ``event`` and ``time``.

    Returns
    -------
    method : BenchmarkMethod

    Examples
    --------
    >>> from censquant import LinearCQR
    >>> from censquant.benchmark import get_dataset, own_method
    >>> method = own_method("linear", LinearCQR())
    >>> method.build(get_dataset("weibull"), {}, 111).quantiles[:2]
    (0.1, 0.2)
    """
    check_own_name(name, "a method", METHODS.values())
    if inspect.isclass(estimator):
        raise TypeError(
            f"estimator must be an object, got the class {estimator.__name__}: write "
            f"{estimator.__name__}()."
        )
    for needed in ("fit", "predict_quantiles", "get_params", "set_params"):
        if not callable(getattr(estimator, needed, None)):
            raise TypeError(
                "estimator must have the methods fit, predict_quantiles, get_params and set_params "
                f"(derive it from sklearn.base.BaseEstimator), got {type(estimator).__name__} "
                f"without {needed}."
            )
    try:
        clone(estimator)
    except Exception as error:
        raise TypeError(
            "estimator must be one that sklearn.base.clone can copy (its __init__ keeps every "
            f"argument as it is), got {type(estimator).__name__}."
        ) from error

    def build(dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        copy = clone(estimator)
        known = copy.get_params(deep=False)
        wanted = {"quantiles": dataset.taus, "random_state": seed, **options}
        return copy.set_params(**{key: wanted[key] for key in wanted if key in known})

    return BenchmarkMethod(name, name, build, fingerprint=_fingerprint(estimator), own=True)


def _fingerprint(estimator: Any) -> str:
    """Return a hash of class and parameters that is the same in another process.

    The text of the class counts, so that it may be edited and tried again, what it calls does not.
    """
    parameters = {name: _content(value) for name, value in estimator.get_params().items()}
    try:
        text = inspect.getsource(type(estimator))
    except (OSError, TypeError):  # typed into a shell, or compiled
        text = ""
    return str(joblib.hash((_address(type(estimator)), text, sorted(parameters.items()))))


def _content(value: Any) -> str:
    """Return a hash of a parameter; functions and what cannot be pickled count by their address."""
    if inspect.isroutine(value) or inspect.isclass(value):
        return _address(value)
    try:
        return str(joblib.hash(value))
    except Exception:  # whatever pickling raises
        return _address(type(value))


def _address(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def get_method(name: str) -> BenchmarkMethod:
    """Return a method of the benchmark by name.

    Parameters
    ----------
    name : str
        One of `METHODS`.

    Returns
    -------
    method : BenchmarkMethod

    Examples
    --------
    >>> from censquant.benchmark import get_method
    >>> get_method("excl_censor").published
    'Excl. censor'
    """
    return look_up("method", name, METHODS)


def _ours(
    estimator: type,
    tuned: Mapping[str, tuple[int, bool]],
    *,
    always_relu: bool = False,
    as_run: bool = True,
    **fixed: Any,
) -> Build:
    """Return the way to build an estimator of this package under the paper's settings."""
    known = set(inspect.signature(estimator).parameters)

    def build(dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        settings: dict[str, Any] = {**_PAPER, "quantiles": dataset.taus, "random_state": seed}
        if dataset.kind != "own":  # scaled already, as published
            settings |= {"standardize": False, "time_transform": None, "max_epochs": _USUAL_EPOCHS}
        if dataset.name in tuned and dataset.kind != "own":
            epochs, dropped = tuned[dataset.name]
            # An image network brings dropout of its own.
            settings |= {
                "max_epochs": epochs,
                "dropout": _DROPOUT * (dropped and not dataset.heavy),
            }
        settings |= dataset.settings
        if settings.get("network") is cnn_as_run and not as_run:
            settings["network"] = trained_cnn
        if always_relu:
            settings["activation"] = "relu"
        settings |= {**fixed, **options}
        return estimator(**{key: value for key, value in settings.items() if key in known})

    return build


# Epochs by set, d for dropout: tuned by the authors on three splits outside the published runs.
_SETS = (
    "housing", "protein", "wine", "phm2008", "survmnist",
    "metabric", "whas", "support", "gbsg", "tmb_immuno", "breast_msk", "lgggbm",
)  # fmt: skip


def _tuned(cells: str) -> dict[str, tuple[int, bool]]:
    return {
        name: (int(cell.removesuffix("d")), cell.endswith("d"))
        for name, cell in zip(_SETS, cells.split(), strict=True)
    }


_CQRNN = _tuned("10 50 20 10 10d 20d 100 10 20d 50 100 50d")
_EXCL_CENSOR = _tuned("50d 50 10 20 20d 20d 10d 10d 10d 100d 10d 50d")
_DEEPQUANTREG = _tuned("100 100 20d 10d 20d 10d 10d 10d 10d 20d 20d 50d")
_LOGNORM = _tuned("10d 100 100 10 10d 10d 50 20d 10d 50d 50 20d")

_OURS = (
    BenchmarkMethod("cqrnn", "CQRNN", _ours(estimators.CQRNN, _CQRNN), "CQRNN"),
    BenchmarkMethod(
        "sequential_grid",
        "Sequential grid",
        _ours(estimators.SequentialGridNN, _CQRNN, always_relu=True, crossed="upper"),
        "Sequential grid",
    ),
    BenchmarkMethod(
        "excl_censor",
        "Excl. censor",
        _ours(estimators.UncensoredOnlyNN, _EXCL_CENSOR),
        "Excl. censor",
    ),
    BenchmarkMethod(
        "deepquantreg_as_run",
        "DeepQuantReg, event curve (as run)",
        _ours(EventCurveDeepQuantReg, _DEEPQUANTREG),
        "DeepQuantReg",
    ),
    BenchmarkMethod(
        "lognorm_as_run",
        "LogNorm MLE, mixed up (as run)",
        _ours(MixedUpLogNormalNN, _LOGNORM, always_relu=True),
        "LogNorm MLE",
        positive_times=True,
    ),
    BenchmarkMethod(
        "cqrnn_interpolated",
        "CQRNN, interpolated, no y*",
        _ours(estimators.CQRNN, _CQRNN, as_run=False, level_rule="interpolate", y_star=None),
    ),
    BenchmarkMethod(
        "deepquantreg", "DeepQuantReg", _ours(estimators.DeepQuantReg, _DEEPQUANTREG, as_run=False)
    ),
    BenchmarkMethod(
        "lognorm",
        "LogNorm MLE",
        _ours(estimators.LogNormalNN, _LOGNORM, always_relu=True, as_run=False),
        positive_times=True,
    ),
    BenchmarkMethod(
        "weibull",
        "Weibull MLE",
        # Not the paper's, so with the package's own scaling: without it one fit in a few diverges.
        _ours(
            estimators.WeibullNN,
            _LOGNORM,
            always_relu=True,
            as_run=False,
            standardize=True,
            time_transform="standardize",
        ),
        positive_times=True,
    ),
)


def _peer(name: str) -> Build:
    return lambda dataset, options, seed: make_peer(name, random_state=seed)


_PEERS = tuple(BenchmarkMethod(name, title, _peer(name)) for name, title in PEER_TITLES.items())

_METHODS = (*(replace(one, threadsafe=True) for one in _OURS), *_PEERS)

METHODS: Mapping[str, BenchmarkMethod] = MappingProxyType({one.name: one for one in _METHODS})
"""The paper's five methods as they were run, the ones to use instead, and peers, by name."""
