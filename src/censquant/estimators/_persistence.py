"""Model files: fitted estimators as named arrays and a JSON header."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant._files import read_arrays, write_arrays
from censquant._version import __version__
from censquant.exceptions import ModelFileError
from censquant.networks import Network, State
from censquant.quantiles import check_quantiles
from censquant.survival import TimeTransform

if TYPE_CHECKING:
    from censquant.estimators._neural import BaseNeuralRegressor

_KIND = "model"


def save_estimator(estimator: "BaseNeuralRegressor", path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to ``path``."""
    header = {
        "censquant": __version__,
        "class": type(estimator).__name__,
        "parameters": {
            name: _plain(value) for name, value in estimator.get_params(deep=False).items()
        },
        "quantiles": estimator.quantiles_.tolist(),
        "feature_names": _plain(getattr(estimator, "feature_names_in_", None)),
        "input_shape": list(estimator._input_shape),
        "n_members": len(estimator._networks),
        "time_transform": estimator.time_transform_.to_dict(),
        "follow_up": list(estimator.follow_up_),
        "history": estimator.history_,
        "custom_network": estimator.network is not None,
        "any_censored": estimator._follow_up is not None,
        "standardized": estimator._feature_scale.center is not None,
    }
    arrays: dict[str, NDArray[Any]] = {"unique_times": estimator.unique_times_}
    scale = estimator._feature_scale
    if scale.center is not None:
        arrays["features.center"], arrays["features.scale"] = scale.center, np.asarray(scale.scale)
    for member, network in enumerate(estimator._networks):
        arrays.update({f"member{member}.{k}": v for k, v in network.state().items()})
    if estimator._follow_up is not None:
        arrays.update(
            {f"follow_up.{k}": v for k, v in estimator._follow_up.network.state().items()}
        )
    write_arrays(path, _KIND, header, arrays)


def load(
    path: str | os.PathLike[str], *, network: Callable[..., Any] | None = None
) -> "BaseNeuralRegressor":
    """Return the fitted estimator that :meth:`save` wrote to ``path``.

    Nothing in the file is executed. The loaded estimator predicts the same bits.

    Parameters
    ----------
    path : str or path
    network : callable, optional
        The factory that the estimator was fitted with, if it had one: code is not stored.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model of censquant, or of a newer format.

    Examples
    --------
    >>> import os, tempfile
    >>> import censquant
    >>> from censquant.datasets import make_norm_linear
    >>> data = make_norm_linear(100, random_state=0)
    >>> model = censquant.CQRNN(max_epochs=2, random_state=0).fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     model.save(path)
    ...     loaded = censquant.load(path)
    >>> bool((loaded.predict(data.X) == model.predict(data.X)).all())
    True
    """
    header, arrays = read_arrays(path, _KIND)
    try:
        return _rebuild(header, arrays, network)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is not a consistent model file ({type(error).__name__}: {error})."
        ) from None


def _rebuild(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], network: Callable[..., Any] | None
) -> "BaseNeuralRegressor":
    from censquant import estimators
    from censquant.estimators._follow_up import FollowUp
    from censquant.estimators._neural import inner_levels
    from censquant.estimators._preparation import FeatureScale

    # Only classes that this package exports are looked up: a file cannot name other code.
    known = [name for name in estimators.__all__ if isinstance(getattr(estimators, name), type)]
    if header["class"] not in known:
        raise ModelFileError(f"holds an estimator that is not known here: {header['class']!r}.")
    if header["custom_network"] and network is None:
        raise ModelFileError(
            "was fitted with a network of one's own: pass the same factory as load(path, network=)."
        )
    parameters = {name: _restored(value) for name, value in header["parameters"].items()}
    estimator: BaseNeuralRegressor = getattr(estimators, header["class"])(**parameters)
    if header["custom_network"]:
        estimator.network = network
    estimator.quantiles_ = check_quantiles(header["quantiles"])
    estimator._input_shape = tuple(header["input_shape"])
    estimator.n_features_in_ = estimator._input_shape[0]
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    estimator.time_transform_ = TimeTransform.from_dict(header["time_transform"])
    low, high = header["follow_up"]
    estimator.follow_up_ = (float(low), float(high))
    estimator.history_ = header["history"]
    estimator.unique_times_ = arrays["unique_times"]
    _check_shapes({"times": estimator.unique_times_}, {"times": (estimator.unique_times_.size,)})
    estimator._feature_scale = FeatureScale()
    if header["standardized"]:
        shape = estimator._input_shape if len(estimator._input_shape) == 1 else (1,)
        scale = _part(arrays, "features.")
        _check_shapes(scale, {"center": shape, "scale": shape})
        estimator._feature_scale = FeatureScale(**scale)
    taus = inner_levels(estimator.quantiles_, estimator.time_transform_)
    estimator._objective = estimator._make_objective(
        tuple(taus.tolist()), None, estimator.time_transform_
    )
    unused = np.random.default_rng(0)
    estimator._networks = []
    for member in range(header["n_members"]):
        built = estimator._make_network(estimator._input_shape, estimator._objective, unused)
        _load_state(built, _part(arrays, f"member{member}."))
        estimator._networks.append(built)
    estimator._follow_up = None
    if header["any_censored"]:
        estimator._follow_up = FollowUp(int(np.prod(estimator._input_shape)), unused)
        _load_state(estimator._follow_up.network, _part(arrays, "follow_up."))
    return estimator


def _load_state(network: Network, state: State) -> None:
    _check_shapes(state, {name: value.shape for name, value in network.state().items()})
    network.load_state(state)


def _check_shapes(arrays: State, expected: dict[str, tuple[int, ...]]) -> None:
    """Refuse other arrays than expected: assignment would stretch one that is too small."""
    if {name: value.shape for name, value in arrays.items()} != expected:
        raise ModelFileError(
            "does not hold the arrays that its model needs: it is damaged, or network= is not the "
            "factory of the fit."
        )


def _part(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def _plain(value: Any) -> Any:
    """Return a constructor parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    # A factory or a generator cannot be stored; the fitted model does not need it.
    return value if value is None or isinstance(value, bool | int | float | str) else None


def _restored(value: Any) -> Any:
    """Undo :func:`_plain`: sequences are tuples among constructor parameters."""
    return tuple(value) if isinstance(value, list) else value
