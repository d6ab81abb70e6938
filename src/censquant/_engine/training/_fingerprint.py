"""What identifies a training: its rows, settings and method, by content."""

import copyreg
import functools
import hashlib
import types
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from censquant._engine.training._engine import Run

_PLAIN = (str, int, float, tuple)


def fingerprint(run: "Run") -> str:
    """Return a digest that two runs share if they train the same network in the same way."""
    digest = _Digest()
    digest.add(run.rows, run.validation, run.config, run.objective, _layout(run.network))
    return digest.hexdigest()


def _layout(network: Any) -> Any:
    """Return what a network is apart from the values of its parameters."""
    arrays = {name: (v.dtype.str, v.shape) for name, v in network.state().items()}
    return type(network), arrays, dict(_settings(network))


def _settings(network: Any) -> Iterator[tuple[str, Any]]:
    """Give the public plain attributes of a network, and the layouts of what is inside it."""
    for name, value in vars(network).items():
        if name.startswith("_"):
            continue
        if isinstance(value, _PLAIN) or is_dataclass(value):
            yield name, value
        elif hasattr(value, "state") and hasattr(value, "forward"):
            yield name, _layout(value)
        elif isinstance(value, list) and all(hasattr(entry, "state") for entry in value):
            yield name, [_layout(entry) for entry in value]
        elif hasattr(value, "state_dict") and hasattr(value, "modules"):  # a module of torch
            yield name, [(type(module), _plain_attributes(module)) for module in value.modules()]


def _plain_attributes(module: Any) -> dict[str, Any]:
    named = {k: v for k, v in vars(module).items() if not k.startswith("_") and k != "training"}
    return {name: value for name, value in named.items() if isinstance(value, _PLAIN)}


class _Digest:
    """A digest of values by what they hold: neither addresses nor the way they print enter it."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=16)
        self._above: list[int] = []

    def hexdigest(self) -> str:
        return self._digest.hexdigest()

    def add(self, *values: Any) -> None:
        for value in values:
            if id(value) in self._above:  # an object that holds itself
                self._mark("above", len(self._above) - self._above.index(id(value)))
                continue
            self._above.append(id(value))
            self._add(value)
            self._above.pop()

    def _mark(self, kind: str, content: Any = "") -> None:
        # Lengths keep neighbours apart: ("a", "b") is not ("ab", "").
        text = f"{kind} {content}".encode(errors="surrogatepass")
        self._digest.update(len(text).to_bytes(8, "little") + text)

    def _add(self, value: Any) -> None:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self._mark(type(value).__name__, repr(value))
        elif isinstance(value, np.ndarray):
            self._add_array(value)
        elif isinstance(value, type):
            self._mark("type", f"{value.__module__}.{value.__qualname__}")
        elif isinstance(value, Mapping):
            self._mark("mapping", len(value))
            for key in sorted(value, key=repr):
                self.add(key, value[key])
        elif isinstance(value, Set):
            self._mark("set", len(value))
            self.add(*sorted(value, key=repr))
        elif isinstance(value, Sequence) and not is_dataclass(value):
            self._mark("sequence", len(value))
            self.add(*value)
        elif isinstance(value, np.random.Generator):
            self.add(value.bit_generator.state)
        elif isinstance(value, functools.partial):
            self.add("partial", value.func, value.args, value.keywords)
        elif isinstance(value, types.MethodType):
            self.add("method", value.__func__, value.__self__)
        elif isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, types.CodeType):
            self.add("code", value.co_code, value.co_names, value.co_consts)
        elif hasattr(value, "__array__"):  # a tensor or a column of a frame
            self._add_array(np.asarray(value.detach() if hasattr(value, "detach") else value))
        else:
            self.add(type(value), getattr(value, "__name__", None), _attributes(value))

    def _add_array(self, array: Any) -> None:
        self._mark("array", (array.dtype.str, array.shape))
        if array.dtype.hasobject:
            self.add(*array.ravel().tolist())
        else:
            self._digest.update(np.ascontiguousarray(array).data)

    def _add_function(self, function: types.FunctionType) -> None:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self._mark("function", f"{function.__module__}.{function.__qualname__}")
        self.add(function.__code__, function.__defaults__, function.__kwdefaults__, cells)


def _reduced(value: Any) -> dict[str, Any]:
    """Return what an object without attributes would be pickled as, a date or a pattern say."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        reduced = value.__reduce_ex__(2) if reduce is None else reduce(value)
    except TypeError:
        return {}
    return {} if isinstance(reduced, str) else {"reduced": reduced[1:3]}


def _attributes(value: Any) -> dict[str, Any]:
    """Return what an object holds: its attributes, without values that it merely remembers."""
    found = dict(getattr(value, "__dict__", ()) or _reduced(value))
    kind: Any = type(value)
    left_out = set(_remembered(kind))
    if is_dataclass(value):
        found.update({field.name: getattr(value, field.name) for field in fields(value)})
        left_out.update(field.name for field in fields(value) if not field.compare)
    return {name: entry for name, entry in found.items() if name not in left_out}


@functools.cache
def _remembered(cls: type) -> frozenset[str]:
    """Return the names of the cached properties of a class."""
    return frozenset(
        name
        for base in cls.__mro__
        for name, entry in vars(base).items()
        if isinstance(entry, functools.cached_property)
    )
