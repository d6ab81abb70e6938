"""Parts: what a model file holds of an object, as plain data that nests."""

from collections import UserList
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from censquant.exceptions import ModelFileError

Arrays = dict[str, NDArray[Any]]

_DEEPEST = 32
_LARGEST_INTEGER = 10**38
_SHORT = Repr()
_SHORT.maxother = _SHORT.maxstring = 60
_LONGEST_SHOWN = 200
_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


@dataclass(frozen=True, eq=False)
class Part:
    """An object as data: enough to make it again, and nothing that could be executed."""

    class_name: str  # the name by which the class is looked up among those that are known
    # Of the constructor, as JSON can hold them: ``{"$part": name}`` stands for an estimator
    parameters: dict[str, Any]
    # What was fitted, apart from arrays, as JSON can hold it
    description: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)  # names without a slash
    # Objects inside this one; names without a slash
    parts: dict[str, "Part"] = field(default_factory=dict)
    contents: tuple[str, ...] = ()  # what the part says about the training data
    fitted: bool = True  # whether there is more than the parameters

    def walk(self, place: str = "") -> Iterator[tuple[str, "Part"]]:
        """Give this part and all parts inside it, each with the path that leads to it."""
        yield place, self
        for name, part in self.parts.items():
            yield from part.walk(f"{place}{name}/")

    def tree(self) -> dict[str, Any]:
        """Return everything but the arrays as JSON can hold it."""
        return {
            "class": self.class_name,
            "fitted": self.fitted,
            "parameters": self.parameters,
            "description": self.description,
            "parts": {name: part.tree() for name, part in self.parts.items()},
        }

    def flat_arrays(self) -> Arrays:
        """Return the arrays of all parts, their paths before their names."""
        flat = {
            place + name: array
            for place, part in self.walk()
            for name, array in part.arrays.items()
        }
        named = [name for _, part in self.walk() for name in (*part.arrays, *part.parts)]
        if slashed := [name for name in named if "/" in name]:
            raise ValueError(f"Names in a model file must have no slash, got {slashed[0]!r}.")
        return flat

    def all_contents(self) -> list[str]:
        """Return what all parts say about the training data, each after the path of its part."""
        return [
            f"{place.rstrip('/')}: {entry}" if place else entry
            for place, part in self.walk()
            for entry in part.contents
        ]

    @classmethod
    def from_file(cls, tree: Any, arrays: Arrays) -> "Part":
        """Return the part of which :meth:`tree` and :meth:`flat_arrays` were written."""
        by_place: dict[str, Arrays] = {}
        for full_name, array in arrays.items():
            place, slash, name = full_name.rpartition("/")
            by_place.setdefault(place + slash, {})[name] = array
        part = cls._branch(tree, by_place, "", 0)
        if by_place:
            raise ModelFileError(
                f"has arrays of a part that it does not describe: {min(by_place)!r}."
            )
        return part

    @classmethod
    def _branch(cls, tree: Any, by_place: dict[str, Arrays], place: str, depth: int) -> "Part":
        if depth > _DEEPEST:
            raise ModelFileError(f"has parts inside parts to a depth of more than {_DEEPEST}.")
        expect("fitted", tree["fitted"], bool)
        return cls(
            class_name=expect("class", tree["class"], str),
            parameters=expect("parameters", tree["parameters"], dict),
            description=expect("description", tree["description"], dict),
            arrays=by_place.pop(place, {}),
            parts={
                name: cls._branch(branch, by_place, f"{place}{name}/", depth + 1)
                for name, branch in expect("parts", tree["parts"], dict).items()
            },
            fitted=tree["fitted"],
        )


def _shown(value: Any) -> str:
    """Return a value for a message; of a large or nested one the beginning."""
    text = _SHORT.repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def expect(name: str, value: Any, *kinds: type) -> Any:
    """Return an entry of a header, refused unless it is of one of the kinds."""
    if type(value) not in kinds:
        listed = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise ModelFileError(f"has an entry {name!r} that is not {listed}: {_shown(value)}.")
    return value


def is_fitted(estimator: Any) -> bool:
    """Say whether an estimator or transformer has been fitted."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


class UnstorableError(TypeError):
    """A value that no model file can hold."""

    def __init__(self, value: Any) -> None:
        super().__init__(_shown(value))


class Encoder:
    """Makes plain data of values; estimators, and exact arrays, become entries of a part.

    Parameters
    ----------
    to_part : callable
        Makes parts of estimators.
    exact : bool, default False
        Whether lists, tuples and arrays stay apart. By default all are JSON's lists and come back
        as tuples, so that the parameters of our estimators are easy to read in any language.
    """

    def __init__(self, to_part: Callable[[Any], Part], *, exact: bool = False) -> None:
        self.arrays: Arrays = {}
        self.parts: dict[str, Part] = {}
        self._to_part = to_part
        self._exact = exact

    def __call__(self, value: Any, path: str) -> Any:
        """Return the value as JSON can hold it; ``path`` names it among the part's entries."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int) and abs(value) < _LARGEST_INTEGER:
            return int(value)
        if isinstance(value, float):
            return value if np.isfinite(value) else {"$number": str(value)}
        if isinstance(value, dict):
            return self._mapping(value, path)
        if isinstance(value, list | tuple | UserList | np.ndarray):
            return self._sequence(value, path)
        if hasattr(value, "get_params") and not isinstance(value, type):
            self.parts[path] = self._to_part(value)
            return {"$part": path}
        return self._other(value, path)

    def _mapping(self, value: dict[Any, Any], path: str) -> Any:
        pairs = [
            [self(key, f"{path}.{place}.key"), self(entry, f"{path}.{place}")]
            for place, (key, entry) in enumerate(value.items())
        ]
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return dict(pairs)
        return {"$dict": pairs}

    def _sequence(self, value: Any, path: str) -> Any:
        # scikit-learn 1.6 warns when entries of its list of remaining columns are read.
        entries = value.data if isinstance(value, UserList) else value
        if isinstance(value, np.ndarray):
            if self._exact and value.dtype.kind in "biuf":
                self.arrays[path] = value
                return {"$array": path}
            if value.dtype.kind not in "biufUO" or (value.dtype.kind in "UO" and value.ndim != 1):
                raise UnstorableError(value)
            entries = value.tolist()
            if value.ndim == 0:
                return entries
        plain = [self(entry, f"{path}.{place}") for place, entry in enumerate(entries)]
        if not self._exact or isinstance(value, list | UserList):
            return plain
        if isinstance(value, tuple):
            return {"$tuple": plain}
        return {"$text" if value.dtype.kind == "U" else "$objects": plain}

    def _other(self, value: Any, path: str) -> Any:
        raise UnstorableError(value)


class Decoder:
    """Undoes an :class:`Encoder` with the entries of one part.

    Parameters
    ----------
    part : Part
    from_part : callable
        Makes estimators of parts.
    exact : bool, default False
        As in the encoder.
    """

    def __init__(
        self, part: Part, from_part: Callable[[Part], Any], *, exact: bool = False
    ) -> None:
        self._part = part
        self._from_part = from_part
        self._exact = exact

    def __call__(self, value: Any) -> Any:
        """Return the value that the plain data stand for."""
        if isinstance(value, list):
            entries = [self(entry) for entry in value]
            return entries if self._exact else tuple(entries)
        if not isinstance(value, dict):
            return value
        tag = next(iter(value), "")
        if not tag.startswith("$"):
            return {key: self(entry) for key, entry in value.items()}
        (content,) = value.values()
        return self._tagged(tag, content)

    def _tagged(self, tag: str, content: Any) -> Any:
        if tag == "$number":
            return _NUMBERS[content]
        if tag == "$part":
            return self._from_part(self._part.parts[content])
        if tag == "$dict":
            return {self(key): self(entry) for key, entry in content}
        if tag == "$array":
            return self._part.arrays[content]
        if tag == "$tuple":
            return tuple(self(entry) for entry in content)
        if tag == "$text":
            return np.array([expect(tag, entry, str) for entry in content], dtype=np.str_)
        if tag == "$objects":
            objects = np.empty(len(content), dtype=object)
            for place, entry in enumerate(content):
                objects[place] = self(entry)
            return objects
        raise ModelFileError(f"holds a value of an unknown kind: {_shown(tag)}.")
