"""Checkpoints: a training that was stopped resumes from its file, bit for bit."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training._fingerprint import fingerprint
from censquant._files import in_one_line, read_arrays, write_arrays
from censquant._validation import check_integer, check_number
from censquant.exceptions import ModelFileError

if TYPE_CHECKING:
    from censquant._engine.networks import State
    from censquant._engine.training._engine import Run

_KIND = "checkpoint"


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
    >>> from censquant._engine.training import Checkpoint
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


def _levels(run: "Run") -> "State":
    """Return what a method knows of each row, if it knows anything."""
    return {} if run.rows.level is None else {"level": run.rows.level}


def _levels_like(run: "Run", arrays: dict[str, NDArray[Any]]) -> "State":
    """Return levels of the right shape: rows outside of memory have none before a method's first.

    Those of rows in memory must be there.
    """
    if run.rows.level is None and "rows.level" in arrays:
        return {"level": np.zeros(len(run.rows), np.float32)}
    return _levels(run)


def _state(
    part: str, arrays: dict[str, NDArray[Any]], like: "State", *, partly: bool = False
) -> dict[str, NDArray[Any]]:
    """Return the arrays of one part, refused unless they have the types and shapes of ``like``.

    ``partly`` lets others in as well: torch's optimiser has no state before its first step, and
    compares shapes itself.
    """
    prefix = f"{part}."
    found = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    compared = {name: found[name] for name in like} if partly else found
    layouts = [{k: (v.dtype, v.shape) for k, v in state.items()} for state in (compared, like)]
    if layouts[0] != layouts[1]:
        raise ValueError(f"its arrays are not those of the {part}")
    for name, value in found.items():
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"{prefix}{name} has values that are not finite")
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
