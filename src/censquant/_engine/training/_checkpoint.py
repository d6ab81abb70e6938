"""Checkpoints: a training that was stopped resumes from its file, bit for bit.

A file is known to belong to a training by a digest of rows, settings and method.
"""

import copyreg
import functools
import hashlib
import os
import types
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks._network import State, with_prefix
from censquant._files import in_one_line, read_arrays, write_arrays
from censquant._validation import check_integer, check_number
from censquant.exceptions import ModelFileError

if TYPE_CHECKING:
    from censquant._engine.training._loop import Run

_KIND = "checkpoint"
_PLAIN = (str, int, float, tuple)  # of which the settings of networks are


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a training is written to disk.

    If the file exists when training starts, the training resumes from it; the result has the same
    bits as one that was never stopped. A file of another training (other rows, settings or
    method) or a damaged one is refused. Member ``i > 0`` of an ensemble appends ``.i`` to the name.

    Parameters
    ----------
    path : str or path
    every : int, default 10
        Epochs between two writes; the end of training is always written, except where an epoch is
        broken off, since a training could not resume from there with the same bits.

    Examples
    --------
    >>> from censquant.engine import Checkpoint
    >>> Checkpoint("run.ckpt", every=5).for_member(2).path
    'run.ckpt.2'
    """

    path: str | os.PathLike[str]
    every: int = 10

    def for_member(self, member: int) -> "Checkpoint":
        """Return the checkpoint of one member of an ensemble."""
        return self if member == 0 else self.for_part(str(member))

    def for_part(self, name: str) -> "Checkpoint":
        """Return the checkpoint of one of several trainings, with ``name`` after the path."""
        return Checkpoint(f"{os.fspath(self.path)}.{name}", self.every)

    def is_due(self, n_epochs: int) -> bool:
        """Say whether the file is to be written after so many epochs."""
        return n_epochs % self.every == 0

    def write(self, run: "Run") -> None:
        """Write everything that the run needs to resume."""
        arrays: dict[str, NDArray[Any]] = {}
        for part, state in (
            ("network", run.network.state()),
            ("optimizer", run.optimizer.state()),
            ("best", run.best_state or {}),
            ("rows", _levels(run)),
        ):
            arrays.update({f"{part}.{name}": value for name, value in state.items()})
        header = {
            "fingerprint": run.fingerprint,
            "n_epochs": run.n_epochs,
            "n_steps": run.n_steps,
            "history": _plain(run.history),
            "best_loss": run.best_loss if run.best_state else None,
            "best_epoch": run.best_epoch,
            "rng": _plain(run.rng.bit_generator.state),
        }
        write_arrays(self.path, _KIND, header, arrays)

    def resume(self, run: "Run") -> None:
        """Bring the run to where the file, if there is one, left it."""
        # Once and before anything changes: a method may set the levels of rows as it goes.
        run.fingerprint = fingerprint(run)
        if not Path(self.path).exists():
            return
        header, arrays = read_arrays(self.path, _KIND)
        name = f"The checkpoint {os.fspath(self.path)!r}"
        if header["format"] == 1:
            raise ModelFileError(
                f"{name} was written by an earlier version of censquant, whose trainings this one "
                "cannot resume; delete it or give another path."
            )
        if header.get("fingerprint") != run.fingerprint:
            raise ModelFileError(
                f"{name} belongs to another training (other rows, settings or method); delete it "
                "or give another path."
            )
        try:
            _Stored(header, arrays, run).apply(run)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            raise ModelFileError(
                f"{name} is damaged ({in_one_line(error)}); delete it or give another path."
            ) from None


class _Stored:
    """What a checkpoint holds, checked against the run before anything of the run changes."""

    def __init__(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]], run: "Run") -> None:
        self.network = _state("network", arrays, run.network.state())
        self.optimizer = _state("optimizer", arrays, run.optimizer.state(), partly=True)
        self.rows = _state("rows", arrays, _levels_like(run, arrays))
        self.n_epochs = check_integer("n_epochs", header["n_epochs"], minimum=0)
        self.n_steps = check_integer("n_steps", header["n_steps"], minimum=0)
        steps_per_epoch = -(-len(run.rows) // run.config.batch_size)
        if self.n_steps != min(self.n_epochs * steps_per_epoch, run.total_steps):
            raise ValueError(f"{self.n_steps} steps are not those of {self.n_epochs} epochs")
        if self.n_epochs > -(-run.total_steps // steps_per_epoch):
            raise ValueError(f"{self.n_epochs} epochs are more than the training has")
        self.history = _history(
            header["history"], self.n_epochs, validated=run.validation is not None
        )
        self.best_epoch = check_integer("best_epoch", header["best_epoch"], minimum=0)
        self.best_state: State | None = None
        self.best_loss = np.inf
        if header["best_loss"] is not None:
            self.best_state = _state("best", arrays, run.network.state())
            self.best_loss = check_number("best_loss", header["best_loss"])
            if self.best_loss != self.history[self.best_epoch - 1]["validation_loss"]:
                raise ValueError("best_loss is not the loss of best_epoch")
        elif self.best_epoch:
            raise ValueError("best_epoch has no loss")
        parts = (self.network, self.optimizer, self.best_state or {}, self.rows)
        n_arrays = sum(map(len, parts))
        if len(arrays) != n_arrays:
            raise ValueError("there are arrays that no part of the training has")
        self.rng = _like(run.rng.bit_generator.state, header["rng"])

    def apply(self, run: "Run") -> None:
        """Bring the run to where it was."""
        # First what may still refuse: the state of a generator, and an optimiser of torch.
        run.rng.bit_generator.state = self.rng
        run.optimizer.load_state(self.optimizer)
        if set(run.optimizer.state()) != set(self.optimizer):
            raise ValueError("its arrays are not those of the optimizer")
        run.network.load_state(self.network)
        if self.rows:
            run.rows = run.rows.with_level(self.rows["level"])
        run.n_epochs, run.n_steps = self.n_epochs, self.n_steps
        run.history[:] = self.history
        run.best_state, run.best_loss = self.best_state, self.best_loss
        run.best_epoch = self.best_epoch


def _levels(run: "Run") -> State:
    """Return what a method knows of each row, if it knows anything."""
    return {} if run.rows.level is None else {"level": run.rows.level}


def _levels_like(run: "Run", arrays: dict[str, NDArray[Any]]) -> State:
    """Return levels of the right shape: rows outside of memory have none before a method's first.

    Those of rows in memory must be there.
    """
    if run.rows.level is None and "rows.level" in arrays:
        return {"level": np.zeros(len(run.rows), np.float32)}
    return _levels(run)


def _state(
    part: str, arrays: dict[str, NDArray[Any]], like: State, *, partly: bool = False
) -> dict[str, NDArray[Any]]:
    """Return the arrays of one part, refused unless they have the types and shapes of ``like``.

    ``partly`` lets others in as well: torch's optimiser has no state before its first step, and
    compares shapes itself.
    """
    found = with_prefix(arrays, f"{part}.")
    compared = {name: found[name] for name in like} if partly else found
    layouts = [{k: (v.dtype, v.shape) for k, v in state.items()} for state in (compared, like)]
    if layouts[0] != layouts[1]:
        raise ValueError(f"its arrays are not those of the {part}")
    for name, value in found.items():
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"{part}.{name} has values that are not finite")
    return found


def _history(records: Any, n_epochs: int, *, validated: bool) -> list[dict[str, Any]]:
    """Return the records, refused unless they are those of so many epochs."""
    losses = ("loss", "learning_rate", *(("validation_loss",) if validated else ()))
    if not isinstance(records, list) or len(records) != n_epochs:
        raise ValueError(f"history must have {n_epochs} records")
    for epoch, record in enumerate(records, start=1):
        for name in losses:
            check_number(name, record[name])
        if check_integer("epoch", record["epoch"], minimum=1) != epoch:
            raise ValueError(f"history has another record in the place of epoch {epoch}")
    history: list[dict[str, Any]] = _restored(records)
    return history


def _plain(value: Any) -> Any:
    """Return the state of a generator, or what callbacks may add to records, as JSON has it."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return {"$number": str(value)}
    return value


def _restored(value: Any) -> Any:
    """Undo :func:`_plain`, except that arrays and tuples are lists."""
    if isinstance(value, list):
        return [_restored(entry) for entry in value]
    if isinstance(value, dict) and "$number" in value:
        return float(value["$number"])
    if isinstance(value, dict):
        return {name: _restored(entry) for name, entry in value.items()}
    return value


def _like(state: Any, value: Any) -> Any:
    """Return a stored state of a random generator, refused unless it is built like ``state``."""
    if isinstance(state, dict):
        if not isinstance(value, dict) or set(value) != set(state):
            raise ValueError("the state of its random numbers is not one of this generator")
        return {name: _like(state[name], value[name]) for name in state}
    if isinstance(state, np.ndarray):
        array = np.array(value, dtype=state.dtype)
        if array.shape != state.shape:
            raise ValueError("the state of its random numbers is not one of this generator")
        return array
    if isinstance(state, int):
        return check_integer("rng", value, minimum=0)
    if value != state:
        raise ValueError("the state of its random numbers is not one of this generator")
    return value


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
