"""Checkpoints: a training that was stopped goes on from its file, bit for bit."""

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant._files import read_arrays, write_arrays
from censquant.exceptions import ModelFileError

if TYPE_CHECKING:
    from censquant.training._engine import Run

_KIND = "checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a training is written to disk.

    If the file exists when training starts, the training goes on from it; the result has the same
    bits as one that was never stopped. A file of another training (other rows, settings or
    method) is refused. Member ``i > 0`` of an ensemble appends ``.i`` to the name.

    Parameters
    ----------
    path : str or path
    every : int, default 10
        Epochs between two writes; the end of training is always written, except where an epoch is
        broken off, since a training could not go on from there with the same bits.

    Examples
    --------
    >>> from censquant.training import Checkpoint
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
        """Write everything that the run needs to go on."""
        arrays: dict[str, NDArray[Any]] = {}
        for part, state in (
            ("network", run.network.state()),
            ("optimizer", run.optimizer.state()),
            ("best", run.best_state or {}),
            ("rows", {"level": run.rows.level}),
        ):
            arrays.update({f"{part}.{name}": value for name, value in state.items()})
        header = {
            "fingerprint": run.fingerprint,
            "n_epochs": run.n_epochs,
            "n_steps": run.n_steps,
            "history": run.history,
            "best_loss": run.best_loss if run.best_state else None,
            "best_epoch": run.best_epoch,
            "rng": run.rng.bit_generator.state,
        }
        write_arrays(self.path, _KIND, header, arrays)

    def resume(self, run: "Run") -> None:
        """Bring the run to where the file, if there is one, left it."""
        # Once and before anything changes: a method may set the levels of rows as it goes.
        run.fingerprint = _fingerprint(run)
        if not Path(self.path).exists():
            return
        header, arrays = read_arrays(self.path, _KIND)
        if header["fingerprint"] != run.fingerprint:
            raise ModelFileError(
                f"The checkpoint {os.fspath(self.path)!r} belongs to another training (other rows, "
                "settings or method); delete it or give another path."
            )

        def part(name: str) -> dict[str, NDArray[Any]]:
            prefix = f"{name}."
            return {
                key.removeprefix(prefix): value
                for key, value in arrays.items()
                if key.startswith(prefix)
            }

        run.network.load_state(part("network"))
        run.optimizer.load_state(part("optimizer"))
        run.rows = replace(run.rows, **part("rows"))
        run.n_epochs = header["n_epochs"]
        run.n_steps = header["n_steps"]
        run.history[:] = header["history"]
        run.best_state = part("best") or None
        run.best_loss = np.inf if header["best_loss"] is None else header["best_loss"]
        run.best_epoch = header["best_epoch"]
        run.rng.bit_generator.state = header["rng"]


def _fingerprint(run: "Run") -> str:
    """Identify rows, settings and method of a run."""
    digest = hashlib.blake2b(digest_size=16)
    for array in [*run.rows.arrays(), *(run.validation.arrays() if run.validation else ())]:
        digest.update(np.ascontiguousarray(array).data)
    described = (run.config, run.objective, {k: v.shape for k, v in run.network.state().items()})
    digest.update(repr(described).encode())
    return digest.hexdigest()
