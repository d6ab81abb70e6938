"""Fields of stored objects: each is declared once, and written, read and checked by this code.

An estimator adds its fields to a `Writer` and takes them back from a `Reader`, in methods
``_store`` and ``_restore`` that mirror each other. What compiled loops walk through has a method
``validate`` besides, because a forged file may hold any numbers.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from censquant._storage._parts import (
    Arrays,
    Decoder,
    Encoder,
    Part,
    UnstorableError,
    expect,
    is_fitted,
)
from censquant._storage._sklearn_parts import transformer_from_part, transformer_to_part
from censquant._validation import check_flag, check_integer, check_number
from censquant.exceptions import ModelFileError
from censquant.quantiles._grid import check_quantiles
from censquant.survival._transform import TimeTransform

Factory = Callable[..., Any] | None
Check = Callable[[str, Any], Any]
Sizes = MutableMapping[str, Any]

_RENAMED = {"LinearCQR": "LinearQuantileRegressor"}  # classes of files that version 0.1 wrote


@dataclass(frozen=True)
class Array:
    """An array of a fixed type and shape.

    A name in ``shape`` stands for a length: one that the `Reader` knows, or else the one that the
    first array with this name has.
    """

    dtype: str
    shape: tuple[int | str, ...]
    attribute: str = ""
    optional: bool = False
    """Whether the object may have None in its place."""
    finite: bool = True
    says: str = ""
    """What it says about the training data."""


@dataclass(frozen=True)
class Entry:
    """A value that JSON can hold: written by ``plain``, read by ``check(name, value)``."""

    check: Check
    attribute: str = ""
    optional: bool = False
    """Whether it may be None."""
    is_new: bool = False
    """Whether files of version 0.1 have none."""
    plain: Callable[[Any], Any] | None = None
    says: str = ""


@dataclass(frozen=True)
class Object:
    """An object made of arrays, which have its name and a dot before theirs."""

    fields: "Fields"
    make: Callable[..., Any]
    attribute: str = ""
    prefix: str | None = None
    """Instead of its name and a dot."""
    flag: str = ""
    """Entry that says whether there is such an object; None if there is not."""
    says: str = ""


Fields = Mapping[str, Array | Entry | Object]


def kind(*kinds: type) -> Check:
    """Return the check that an entry is of one of some types."""
    return lambda name, value: expect(name, value, *kinds)


def check_pair(name: str, value: Any) -> tuple[float, float]:
    """Return two numbers of an entry."""
    low, high = (check_number(name, end) for end in value)
    return low, high


def decoded(value: Any) -> Any:
    """Return what the encoder of entries made plain, tuples in place of lists."""
    return Decoder(Part("", {}), from_part)(value)


def require(holds: Any, sentence: str) -> None:
    """Refuse a file unless all of some conditions hold."""
    if not np.all(holds):
        raise ModelFileError(f"{sentence}.")


def refuse_arrays() -> NoReturn:
    """Refuse a file whose arrays are not those that its model needs."""
    raise ModelFileError(
        "does not hold the arrays that its model needs: it is damaged, or network= is not the "
        "factory of the fit."
    )


def with_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names have a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


# Writing


class Writer:
    """Collects what a file holds of one fitted object."""

    def __init__(self) -> None:
        self.description: dict[str, Any] = {}
        self.arrays: Arrays = {}
        self.parts: dict[str, Part] = {}
        self.contents: list[str] = []

    def add(self, fields: Fields, source: Any, prefix: str = "") -> None:
        """Add fields of an object, or of a mapping by their names."""
        for name, field in fields.items():
            if isinstance(source, Mapping):
                value = source[name]
            else:
                value = attrgetter(field.attribute or name)(source)
            if isinstance(field, Object) and field.flag:
                self.description[field.flag] = value is not None
            if isinstance(field, Entry):
                self.description[name] = _plain(name, value, field.plain)
            elif value is None:
                continue
            elif isinstance(field, Array):
                self.arrays[prefix + name] = np.atleast_1d(value)
            else:
                inner = f"{name}." if field.prefix is None else field.prefix
                self.add(field.fields, value, prefix + inner)
            if field.says and value is not None:
                self.contents.append(field.says)

    def add_model(self, name: str, model: Any) -> None:
        """Add an estimator as a part of its own."""
        self.parts[name] = to_part(model)


def _plain(name: str, value: Any, plain: Callable[[Any], Any] | None) -> Any:
    if plain is not None and value is not None:
        value = plain(value)
    return Encoder(to_part)(value, name)


# Reading


class Reader:
    """Hands out what a file holds of one object, checked, and refuses what nobody asked for."""

    def __init__(self, part: Part, network: Factory = None, **sizes: int | tuple[int, ...]) -> None:
        self.part = part
        self.network = network
        self.sizes: dict[str, Any] = dict(sizes)
        self._left = dict(part.arrays)

    def fill(self, target: Any, fields: Fields) -> dict[str, Any]:
        """Read fields and make those with an attribute of their own attributes of an object."""
        values = self.read(fields)
        for name, field in fields.items():
            if field.attribute and "." not in field.attribute:
                setattr(target, field.attribute, values[name])
        return values

    def read(self, fields: Fields, prefix: str = "", sizes: Sizes | None = None) -> dict[str, Any]:
        """Return fields by their names."""
        sizes = self.sizes if sizes is None else sizes
        values: dict[str, Any] = {}
        for name, field in fields.items():
            if isinstance(field, Entry):
                values[name] = self._entry(name, field)
            elif isinstance(field, Array):
                values[name] = self._array(prefix + name, field, sizes)
            else:
                inner = prefix + (f"{name}." if field.prefix is None else field.prefix)
                values[name] = self._object(field, inner, sizes)
        return values

    def group(self, prefix: str) -> Arrays:
        """Return all arrays with a prefix, without it and unchecked."""
        found = with_prefix(self._left, prefix)
        self._left = {k: v for k, v in self._left.items() if not k.startswith(prefix)}
        return found

    def model(self, name: str) -> Any:
        """Return an estimator that is a part of its own."""
        return from_part(self.part.parts[name], self.network)

    def finish(self) -> None:
        """Refuse arrays that were not read."""
        if self._left:
            refuse_arrays()

    def _entry(self, name: str, field: Entry) -> Any:
        entries = self.part.description
        value = entries.get(name) if field.is_new else entries[name]
        return None if value is None and field.optional else field.check(name, value)

    def _array(self, name: str, field: Array, sizes: Sizes) -> NDArray[Any] | None:
        array = self._left.pop(name, None)
        if array is None and field.optional:
            return None
        check_array(name, array, field, sizes)
        return array

    def _object(self, field: Object, prefix: str, sizes: Sizes) -> Any:
        if field.flag:
            is_there = check_flag(field.flag, self.part.description[field.flag])
            if is_there != any(name.startswith(prefix) for name in self._left):
                raise ModelFileError(f"has an entry {field.flag!r} that its arrays contradict.")
            if not is_there:
                return None
        # Lengths that only this object has are not those of another of the same name.
        return field.make(**self.read(field.fields, prefix, ChainMap({}, sizes)))


def check_array(name: str, array: NDArray[Any] | None, field: Array, sizes: Sizes) -> None:
    """Refuse an array of another type or shape than that of its field, or with infinite numbers.

    Assignment would stretch an array that is too small. It is called before anything of these
    shapes is allocated.
    """
    if array is None or array.dtype.str[1:] != field.dtype:
        refuse_arrays()
    expected: list[int] = []
    for length in field.shape:
        if isinstance(length, str):
            if length not in sizes and len(expected) < array.ndim:
                sizes[length] = array.shape[len(expected)]
            length = sizes.get(length, -1)
        expected += length if isinstance(length, tuple) else (length,)
    if array.shape != tuple(expected):
        refuse_arrays()
    if field.finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelFileError(f"holds numbers in {name!r} that are not finite.")


def check_arrays(arrays: Arrays, expected: Mapping[str, Array]) -> None:
    """Refuse other arrays than some of given types and shapes."""
    if set(arrays) != set(expected):
        refuse_arrays()
    for name, field in expected.items():
        check_array(name, arrays[name], field, {})


# Estimators


def to_part(estimator: Any) -> Part:
    """Return an estimator of ours or a transformer of scikit-learn, fitted or not, as data."""
    name = type(estimator).__name__
    if not _is_storable(type(estimator)):
        return transformer_to_part(estimator)
    if _exported(name) is not type(estimator):
        raise TypeError(
            f"{name} cannot be saved: a model file names classes that censquant exports, since no "
            "code is stored."
        )
    if is_fitted(estimator):
        own = hasattr(estimator, "_to_part")
        part: Part = estimator._to_part() if own else fitted_part(estimator)
        return part
    parameters, parts = parameters_of(estimator)
    return Part(name, parameters, parts=parts, fitted=False)


def from_part(part: Part, network: Factory = None) -> Any:
    """Return the estimator or transformer that `to_part` made a part of."""
    if part.class_name.startswith("sklearn."):
        return transformer_from_part(part)
    cls = class_of(part.class_name)
    if part.fitted:
        own = hasattr(cls, "_from_part")
        return cls._from_part(part, network) if own else restored(cls, part, network)
    return cls(**restored_parameters(part, network))


def _exported(name: str) -> Any:
    """Return what the package exports under a name, if it can be part of a file."""
    import censquant

    # Only names that this package exports are looked up: a file cannot name other code.
    found = getattr(censquant, name) if name in censquant.__all__ else None
    return found if isinstance(found, type) and _is_storable(found) else None


def _is_storable(cls: type) -> bool:
    """Say whether a class has ``_store`` and ``_restore``, or makes its parts itself."""
    return hasattr(cls, "_restore") or hasattr(cls, "_from_part")


def class_of(name: str) -> Any:
    """Return the class of estimators that a file names."""
    found = _exported(_RENAMED.get(name, name))
    if found is None:
        raise ModelFileError(f"holds an estimator that is not known here: {name[:40]!r}.")
    return found


def parameters_of(
    estimator: Any, values: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Part]]:
    """Return constructor parameters as JSON can hold them, and the estimators among them.

    ``values`` are used instead of those that the estimator has now. Parameters that cannot be
    stored are refused, unless ``_unstored_parameters`` names them: those come back as None.
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


def restored_parameters(part: Part, network: Factory) -> dict[str, Any]:
    """Return what `parameters_of` encoded."""
    decode = Decoder(part, lambda inner: from_part(inner, network))
    return {name: decode(value) for name, value in part.parameters.items()}


def transform_entry(attribute: str) -> Entry:
    """Return the field of a `TimeTransform`."""
    return Entry(
        lambda name, value: TimeTransform.from_dict(expect(name, value, dict)),
        attribute,
        plain=TimeTransform.to_dict,
    )


_COMMON: Fields = {
    "n_features": Entry(lambda name, n: check_integer(name, n, minimum=1), "n_features_in_"),
    "quantiles": Entry(
        lambda name, levels: check_quantiles(expect(name, levels, list)), "quantiles_"
    ),
    "time_transform": transform_entry("time_transform_"),
    "follow_up": Entry(check_pair, "follow_up_", says="smallest and largest time"),
    "horizon": Entry(check_number, "horizon_"),
    "unique_times": Array(
        "f8", ("unique_times",), "unique_times_", says="distinct event times (at most 1000)"
    ),
}


def fitted_part(estimator: Any) -> Part:
    """Return a fitted estimator as data: what all have in common, and what ``_store`` adds."""
    # A parameter that was set after the fit does not describe the networks.
    encoded, parts = parameters_of(estimator, getattr(estimator, "_fit_parameters", None))
    writer = Writer()
    writer.add(_COMMON, estimator)
    names = getattr(estimator, "feature_names_in_", None)
    writer.description["feature_names"] = None if names is None else names.tolist()
    if names is not None:
        writer.contents.append("feature names")
    transform = estimator.time_transform_
    if (transform.center, transform.scale) != (0.0, 1.0):
        writer.contents.append("mean and standard deviation of the times or their logarithms")
    estimator._store(writer)
    return Part(
        type(estimator).__name__,
        encoded,
        writer.description,
        writer.arrays,
        {**parts, **writer.parts},
        contents=tuple(writer.contents),
    )


def restored(cls: Any, part: Part, network: Factory) -> Any:
    """Return the estimator of a part that `fitted_part` made."""
    estimator = cls(**restored_parameters(part, network))
    reader = Reader(part, network)
    reader.fill(estimator, _COMMON)
    names = expect("feature_names", part.description["feature_names"], list, type(None))
    if names is not None:
        if len(names) != estimator.n_features_in_ or not all(isinstance(n, str) for n in names):
            raise ModelFileError("does not name each of its features.")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    low, high = estimator.follow_up_
    in_order = low <= high and (np.diff(estimator.unique_times_) > 0).all()
    require(in_order, "holds times that are not in order")
    reader.sizes |= {"features": estimator.n_features_in_, "levels": len(estimator.quantiles_)}
    estimator._restore(reader)
    reader.finish()
    return estimator
