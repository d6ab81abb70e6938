"""Model files: fitted estimators, and estimators inside them, as named arrays and a JSON header."""

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from censquant._files import in_one_line, read_arrays, write_arrays
from censquant._storage._parts import (
    Arrays,
    Decoder,
    Encoder,
    Part,
    UnstorableError,
    check_arrays,
    expect,
    is_fitted,
)
from censquant._storage._sklearn_parts import transformer_from_part, transformer_to_part
from censquant._validation import check_integer, check_number
from censquant.exceptions import ModelFileError
from censquant.quantiles._grid import check_quantiles
from censquant.survival._transform import TimeTransform

if TYPE_CHECKING:
    from censquant.estimators._base import BaseQuantileRegressor

Model = TypeVar("Model", bound="BaseQuantileRegressor")

_KIND = "model"
_NOTES = "notes"
_TIMES = "unique_times"
_RENAMED = {"LinearCQR": "LinearQuantileRegressor"}  # classes of files that version 0.1 wrote


class Storable(Protocol):
    """A fitted estimator that says itself how it becomes part of a file and comes back.

    Parameters that cannot be stored are refused, unless ``_unstored_parameters`` names them: those
    come back as None.
    """

    n_features_in_: int
    quantiles_: NDArray[np.float64]
    unique_times_: NDArray[np.float64]
    follow_up_: tuple[float, float]
    horizon_: float
    time_transform_: TimeTransform

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters."""
        ...

    def _to_part(self) -> Part:
        """Return the fitted estimator as data, begun with :func:`fitted_part`."""
        ...

    @classmethod
    def _from_part(cls, part: Part, network: Callable[..., Any] | None) -> Self:
        """Return the estimator, begun with :func:`restored`."""
        ...


Stored = TypeVar("Stored", bound=Storable)
Opened = TypeVar("Opened")


def save_estimator(
    estimator: Any, path: str | os.PathLike[str], notes: Mapping[str, Any] | None = None
) -> None:
    """Write a fitted estimator to ``path``, with notes if there are any."""
    part = to_part(estimator)
    header = {"model": part.tree(), "contents": part.all_contents()}
    if notes:
        header[_NOTES] = _checked_notes(notes)
    write_arrays(path, _KIND, header, part.flat_arrays())


def _checked_notes(notes: Mapping[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(dict(notes), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "notes must be a dict of text, finite numbers, booleans, lists and dicts, got "
            f"something else in it ({in_one_line(error)})."
        ) from None
    return dict(notes)


def load_notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the notes that :meth:`save` wrote beside a model, empty where there are none.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    notes : dict

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
    >>> model = censquant.LinearQuantileRegressor([0.5]).fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     model.save(path, notes={"unit": "days"})
    ...     censquant.estimators.load_notes(path)
    {'unit': 'days'}
    """
    notes = read_arrays(path, _KIND)[0].get(_NOTES, {})
    if not isinstance(notes, dict):
        raise ModelFileError(f"{os.fspath(path)!r} has notes that are not named.")
    return notes


@overload
def load_model(
    path: str | os.PathLike[str], *, network: Callable[..., Any] | None = None
) -> "BaseQuantileRegressor": ...


@overload
def load_model(
    path: str | os.PathLike[str],
    *,
    network: Callable[..., Any] | None = None,
    kind: type[Model],
) -> Model: ...


def load_model(
    path: str | os.PathLike[str],
    *,
    network: Callable[..., Any] | None = None,
    kind: type[Any] | None = None,
) -> Any:
    """Return the fitted estimator that :meth:`save` wrote to ``path``.

    Nothing in the file is executed, and no memory is taken that its arrays do not fill. The loaded
    estimator predicts the same bits. A file that was damaged on the way is refused; one that was
    forged is not recognised as such.

    Parameters
    ----------
    path : str or path
    network : callable, optional
        The factory that the estimator was fitted with, if it had one: code is not stored.
    kind : class of estimators, optional
        What the file must hold, such as ``CensoredQuantileRegressor``; type checkers then know the
        class of what is returned.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model of censquant, of a newer format or of another kind.

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
    ...     loaded = censquant.load_model(path, kind=censquant.CQRNN)
    >>> bool((loaded.predict(data.X) == model.predict(data.X)).all())
    True
    """
    model = open_file(path, lambda part: _loaded(part, network))
    if kind is not None and not isinstance(model, kind):
        raise ModelFileError(
            f"{os.fspath(path)!r} must hold a {kind.__name__}, got a {type(model).__name__}."
        )
    return model


def _loaded(part: Part, network: Callable[..., Any] | None) -> "BaseQuantileRegressor":
    _class_of(part.class_name)  # a transformer alone is not a model
    if not part.fitted:
        raise ModelFileError("holds an estimator that was not fitted.")
    estimator: BaseQuantileRegressor = from_part(part, network)
    return estimator


def open_file(path: str | os.PathLike[str], make: Callable[[Part], Opened]) -> Opened:
    """Return what ``make`` makes of a file's part; whatever is wrong with it is one sentence."""
    header, arrays = read_arrays(path, _KIND)
    try:
        if header["format"] == 1:
            raise ModelFileError(
                f"was written by censquant {str(header.get('censquant'))[:20]}, whose files this "
                "version does not read: fit the model again."
            )
        return make(Part.from_file(header["model"], arrays))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} {error}") from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is not a consistent model file ({in_one_line(error)})."
        ) from None


def to_part(estimator: Any) -> Part:
    """Return an estimator of ours or a transformer of scikit-learn, fitted or not, as data."""
    name = type(estimator).__name__
    if not hasattr(estimator, "_to_part"):
        return transformer_to_part(estimator)
    if _exported(name) is not type(estimator):
        raise TypeError(
            f"{name} cannot be saved: a model file names classes that censquant exports, since no "
            "code is stored."
        )
    if is_fitted(estimator):
        part: Part = estimator._to_part()
        return part
    parameters, parts = parameters_of(estimator)
    return Part(name, parameters, parts=parts, fitted=False)


def from_part(part: Part, network: Callable[..., Any] | None = None) -> Any:
    """Return the estimator or transformer that :func:`to_part` made a part of."""
    if part.class_name.startswith("sklearn."):
        return transformer_from_part(part)
    cls = _class_of(part.class_name)
    if part.fitted:
        return cls._from_part(part, network)
    return cls(**restored_parameters(part, network))


def _exported(name: str) -> Any:
    """Return what the package exports under a name, if it can be part of a file."""
    import censquant

    # Only names that this package exports are looked up: a file cannot name other code.
    found = getattr(censquant, name) if name in censquant.__all__ else None
    return found if isinstance(found, type) and hasattr(found, "_from_part") else None


def _class_of(name: str) -> Any:
    found = _exported(_RENAMED.get(name, name))
    if found is None:
        raise ModelFileError(f"holds an estimator that is not known here: {name[:40]!r}.")
    return found


def parameters_of(
    estimator: Any, values: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Part]]:
    """Return constructor parameters as JSON can hold them, and the estimators among them.

    ``values`` are used instead of those that the estimator has now.
    """
    values = estimator.get_params(deep=False) if values is None else values
    encode = Encoder(to_part)
    parameters = {}
    for name, value in values.items():
        try:
            parameters[name] = encode(value, name)
        except UnstorableError as error:
            if name not in getattr(estimator, "_unstored_parameters", ("random_state",)):
                raise TypeError(
                    f"{type(estimator).__name__} cannot be saved: its parameter {name} is or "
                    f"contains {error}, and a model file holds no code and no objects of other "
                    "libraries."
                ) from None
            parameters[name] = None
    return parameters, encode.parts


def restored_parameters(part: Part, network: Callable[..., Any] | None) -> dict[str, Any]:
    """Return what :func:`parameters_of` encoded."""
    decode = Decoder(part, lambda inner: from_part(inner, network))
    return {name: decode(value) for name, value in part.parameters.items()}


def plain_history(history: Any) -> Any:
    """Return records of a training, with what callbacks added to them, as JSON can hold them."""
    return Encoder(to_part)(history, "history")


def restored_history(part: Part) -> list[dict[str, Any]]:
    """Return what :func:`plain_history` encoded."""
    decode = Decoder(part, from_part)
    records = expect("history", part.description["history"], list)
    return [decode(expect("history", record, dict)) for record in records]


def fitted_part(
    estimator: Storable,
    description: dict[str, Any],
    arrays: Arrays,
    *,
    contents: tuple[str, ...] = (),
    parameters: Mapping[str, Any] | None = None,
) -> Part:
    """Return a part with what estimators that transform time have in common and with their own."""
    encoded, parts = parameters_of(estimator, parameters)
    names = getattr(estimator, "feature_names_in_", None)
    transform = estimator.time_transform_
    common = {
        "n_features": estimator.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "quantiles": estimator.quantiles_.tolist(),
        "time_transform": transform.to_dict(),
        "follow_up": list(estimator.follow_up_),
        "horizon": estimator.horizon_,
    }
    said = ["smallest and largest time", "distinct event times (at most 1000)"]
    if names is not None:
        said.append("feature names")
    if (transform.center, transform.scale) != (0.0, 1.0):
        said.append("mean and standard deviation of the times or their logarithms")
    return Part(
        type(estimator).__name__,
        encoded,
        {**common, **description},
        {_TIMES: estimator.unique_times_, **arrays},
        parts,
        contents=(*said, *contents),
    )


def restored(cls: type[Stored], part: Part, network: Callable[..., Any] | None) -> Stored:
    """Return an estimator with what :func:`fitted_part` wrote of all of them."""
    entries = part.description
    estimator = cls(**restored_parameters(part, network))
    estimator.n_features_in_ = check_integer("n_features", entries["n_features"], minimum=1)
    names = expect("feature_names", entries["feature_names"], list, type(None))
    if names is not None:
        if len(names) != estimator.n_features_in_ or not all(isinstance(n, str) for n in names):
            raise ModelFileError("does not name each of its features.")
        estimator.feature_names_in_ = np.array(names, dtype=object)  # type: ignore[attr-defined]
    estimator.quantiles_ = check_quantiles(expect("quantiles", entries["quantiles"], list))
    estimator.time_transform_ = TimeTransform.from_dict(
        expect("time_transform", entries["time_transform"], dict)
    )
    low, high = (check_number("follow_up", end) for end in entries["follow_up"])
    estimator.follow_up_ = (low, high)
    estimator.horizon_ = check_number("horizon", entries["horizon"])
    times = part.arrays[_TIMES]
    check_arrays({_TIMES: times}, {_TIMES: ("f8", (times.size,))})
    if low > high or (np.diff(times) <= 0).any():
        raise ModelFileError("holds times that are not in order.")
    estimator.unique_times_ = times
    return estimator


def own_arrays(part: Part) -> Arrays:
    """Return the arrays that :func:`fitted_part` was handed."""
    return {name: array for name, array in part.arrays.items() if name != _TIMES}
