"""A file that a training on a cluster writes after every round and resumes from."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._files import in_one_line, read_arrays, write_arrays
from censquant._validation import check_integer, check_number
from censquant.dask._rounds import State
from censquant.dask._training import Progress
from censquant.exceptions import ModelFileError

_KIND = "cluster checkpoint"
_PARTS = ("state", "best")


@dataclass(frozen=True)
class RoundCheckpoint:
    """The progress of one training in one file.

    Parameters
    ----------
    path : path
    fingerprint : str
        Of rows, settings and number of copies: a file of another training is refused.
    n_replicas : int
    """

    path: Path
    fingerprint: str
    n_replicas: int

    def write(self, progress: Progress) -> None:
        """Keep the progress; an earlier file is replaced when the new one is complete."""
        arrays = {f"state.{name}": value for name, value in progress.state.items()}
        arrays |= {f"best.{name}": value for name, value in (progress.best_state or {}).items()}
        has_best = progress.best_state is not None
        header = {
            "fingerprint": self.fingerprint,
            "n_replicas": self.n_replicas,
            "n_rounds": progress.n_rounds,
            "history": progress.history,
            "loss_sum": progress.loss_sum,
            "rows": progress.rows,
            "best_loss": progress.best_loss if has_best else None,
            "best_pass": progress.best_pass,
            "stopped": progress.stopped,
        }
        write_arrays(self.path, _KIND, header, arrays)

    def resume(self, progress: Progress) -> None:
        """Bring the progress to where the file, if there is one, left it."""
        if not self.path.exists():
            return
        header, arrays = read_arrays(self.path, _KIND)
        name = f"The checkpoint {os.fspath(self.path)!r}"
        if header.get("fingerprint") != self.fingerprint:
            raise ModelFileError(
                f"{name} belongs to another training (other rows, partitions or settings); delete "
                "it or give another checkpoint_dir."
            )
        try:
            self._take(header, arrays, progress)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{name} is damaged ({in_one_line(error)}); delete it or give another "
                "checkpoint_dir."
            ) from None

    def _take(
        self, header: dict[str, Any], arrays: dict[str, NDArray[Any]], progress: Progress
    ) -> None:
        states = {part: _state(arrays, part, progress.state) for part in _PARTS}
        if states["state"] is None:
            raise ValueError("it has no state")
        progress.state, progress.best_state = states["state"], states["best"]
        progress.n_rounds = check_integer("n_rounds", header["n_rounds"], minimum=0)
        progress.history = list(header["history"])
        progress.loss_sum = check_number("loss_sum", header["loss_sum"])
        progress.rows = check_integer("rows", header["rows"], minimum=0)
        progress.best_pass = check_integer("best_pass", header["best_pass"], minimum=0)
        if header["best_loss"] is not None:
            progress.best_loss = check_number("best_loss", header["best_loss"])
        progress.stopped = bool(header["stopped"])


def stored_replicas(path: Path) -> int | None:
    """Return the number of copies in a training that was stored, whatever the cluster then."""
    if not path.exists():
        return None
    header, _ = read_arrays(path, _KIND)
    return check_integer("n_replicas", header.get("n_replicas"), minimum=1)


def _state(arrays: dict[str, NDArray[Any]], part: str, like: State) -> State | None:
    prefix = f"{part}."
    found = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    if not found:
        return None
    layouts = [{k: (v.dtype, v.shape) for k, v in state.items()} for state in (found, like)]
    if layouts[0] != layouts[1]:
        raise ValueError("its arrays are not those of the network")
    for value in found.values():
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError("it has values that are not finite")
    return found
