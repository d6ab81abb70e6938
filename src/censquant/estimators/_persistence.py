"""Model files: fitted estimators as named arrays and a JSON header."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from censquant._files import read_arrays, write_arrays
from censquant._version import __version__
from censquant.exceptions import ModelFileError
from censquant.quantiles import check_quantiles
from censquant.survival import TimeTransform

if TYPE_CHECKING:
    from censquant.estimators._base import QuantileRegressor

Arrays = dict[str, NDArray[Any]]

_KIND = "model"


class Storable(Protocol):
    """A fitted estimator that says itself how it becomes a file and comes back.

    What all estimators have (class, parameters, levels, names, times) is written and read for
    them; the two methods add what is the method's own.
    """

    quantiles_: NDArray[np.float64]
    unique_times_: NDArray[np.float64]
    follow_up_: tuple[float, float]
    time_transform_: TimeTransform

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters."""
        ...

    def _to_file(self) -> tuple[dict[str, Any], Arrays]:
        """Return entries of the header and arrays."""
        ...

    @classmethod
    def _from_file(
        cls, header: dict[str, Any], arrays: Arrays, network: Callable[..., Any] | None
    ) -> Self:
        """Return the estimator, begun with :func:`restored`."""
        ...


Stored = TypeVar("Stored", bound=Storable)


def save_estimator(estimator: Storable, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to ``path``."""
    own_header, own_arrays = estimator._to_file()
    header = {
        "censquant": __version__,
        "class": type(estimator).__name__,
        "parameters": {
            name: plain(value) for name, value in estimator.get_params(deep=False).items()
        },
        "quantiles": estimator.quantiles_.tolist(),
        "feature_names": plain(getattr(estimator, "feature_names_in_", None)),
        "time_transform": estimator.time_transform_.to_dict(),
        "follow_up": list(estimator.follow_up_),
        **own_header,
    }
    write_arrays(path, _KIND, header, {"unique_times": estimator.unique_times_, **own_arrays})


def load(
    path: str | os.PathLike[str], *, network: Callable[..., Any] | None = None
) -> "QuantileRegressor":
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
        estimator: QuantileRegressor = _class_of(header["class"])._from_file(
            header, arrays, network
        )
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is not a consistent model file ({type(error).__name__}: {error})."
        ) from None
    return estimator


def _class_of(name: Any) -> Any:
    """Return an estimator by the name that the package exports it under."""
    import censquant
    from censquant.estimators._base import QuantileRegressor

    # Only names that this package exports are looked up: a file cannot name other code.
    found = getattr(censquant, name) if name in censquant.__all__ else None
    if not isinstance(found, type) or not issubclass(found, QuantileRegressor):
        raise ModelFileError(f"holds an estimator that is not known here: {name!r}.")
    return found


def restored(cls: type[Stored], header: dict[str, Any], arrays: Arrays) -> Stored:
    """Return an estimator with what all of them have in their files."""
    parameters = {name: _restored(value) for name, value in header["parameters"].items()}
    estimator = cls(**parameters)
    estimator.quantiles_ = check_quantiles(header["quantiles"])
    if header["feature_names"] is not None:
        names = np.asarray(header["feature_names"], dtype=object)
        estimator.feature_names_in_ = names  # type: ignore[attr-defined]
    estimator.time_transform_ = TimeTransform.from_dict(header["time_transform"])
    low, high = header["follow_up"]
    estimator.follow_up_ = (float(low), float(high))
    estimator.unique_times_ = arrays["unique_times"]
    check_shapes({"times": estimator.unique_times_}, {"times": (estimator.unique_times_.size,)})
    return estimator


def check_shapes(arrays: Mapping[str, NDArray[Any]], expected: dict[str, tuple[int, ...]]) -> None:
    """Refuse other arrays than expected: assignment would stretch one that is too small."""
    if {name: value.shape for name, value in arrays.items()} != expected:
        raise ModelFileError(
            "does not hold the arrays that its model needs: it is damaged, or network= is not the "
            "factory of the fit."
        )


def plain(value: Any) -> Any:
    """Return a constructor parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    # A factory or a generator cannot be stored; the fitted model does not need it.
    return value if value is None or isinstance(value, bool | int | float | str) else None


def _restored(value: Any) -> Any:
    """Undo :func:`plain`: sequences are tuples among constructor parameters."""
    return tuple(value) if isinstance(value, list) else value
