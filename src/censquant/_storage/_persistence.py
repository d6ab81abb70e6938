"""Model files: fitted estimators, and estimators inside them, as named arrays and a JSON header."""

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from censquant._files import in_one_line, read_arrays, write_arrays
from censquant._storage._codec import class_of, from_part, to_part
from censquant._storage._parts import Part
from censquant.exceptions import ModelFileError

if TYPE_CHECKING:
    from censquant.estimators._base import BaseQuantileRegressor

Model = TypeVar("Model", bound="BaseQuantileRegressor")
Opened = TypeVar("Opened")

_KIND = "model"
_NOTES = "notes"


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
    class_of(part.class_name)  # a transformer alone is not a model
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
