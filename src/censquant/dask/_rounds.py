"""Rounds: copies of a network make steps on rows of their own and are then averaged."""

import copy
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._compile import compiled
from censquant._engine.networks._network import Network
from censquant._engine.training._loop import Objective, Run, TrainingConfig, validation_loss
from censquant._engine.training._parallel import side_by_side
from censquant._engine.training._rows import Rows
from censquant._files import in_one_line, read_arrays, write_arrays
from censquant._validation import check_integer, check_number
from censquant.exceptions import ModelFileError, TrainingDivergedError

State = dict[str, NDArray[Any]]

# The first rounds are short, since copies of a network that knows nothing yet drift apart fastest;
# later ones are longer, so that what a round costs besides its steps does not matter.
_FIRST_STEPS = 4
_GROWTH = 1.3
_ROUNDS_PER_PASS = 20
_FEWEST_LONGEST = 16
# Of each copy. Averaging does not make up for steps that were never made: with sixteen copies and
# five passes over 200,000 rows, batches of 32 instead of 128 had a third of the error (one seed).
_ENOUGH_STEPS = 4_000
_SMALLEST_BATCH = 32
_ENDLESS = 2**40  # epochs: the number of steps ends a training
_NEXT_SEED = 0x85EBCA6B
_KIND = "cluster checkpoint"
_STAGES = 4  # of the network that shuffles rows


@compiled
def _permute(first: Any, n_rows: Any, half: Any, key: Any, out: Any) -> None:
    mask = (np.uint64(1) << half) - np.uint64(1)
    for i in range(out.size):
        value = first + np.uint64(i)
        while True:
            left, right = value >> half, value & mask
            for stage in range(_STAGES):
                word = (right + key) ^ (np.uint64(stage) * np.uint64(0x9E3779B97F4A7C15))
                word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                word ^= word >> np.uint64(31)
                left, right = right, left ^ (word & mask)
            value = (left << half) | right
            if value < n_rows:
                break
        out[i] = value


def shuffle_rows(start: int, stop: int, n_rows: int, key: int) -> NDArray[np.intp]:
    """Return the rows at the places ``start`` to ``stop`` of a random order of ``n_rows`` rows.

    A task trains on one part of an order and must give the same result wherever it runs, and the
    part before it may have run elsewhere: no generator is carried on, and an order of all rows is
    never made. A Feistel network with four stages permutes the numbers of the next even power of 2;
    those beyond the last row are permuted again until they are rows.
    """
    out = np.empty(stop - start, dtype=np.intp)
    half = max(1, -(-max(n_rows - 1, 1).bit_length() // 2))
    _permute(np.uint64(start), np.uint64(n_rows), np.uint64(half), np.uint64(key % 2**64), out)
    return out


def batch_of_copies(batch_size: int, n_copies: int, rows_seen: int) -> int:
    """Return the batch size of each copy, smaller where each would make few steps."""
    if n_copies == 1 or batch_size <= _SMALLEST_BATCH:
        return batch_size
    return min(batch_size, max(_SMALLEST_BATCH, rows_seen // _ENOUGH_STEPS))


@dataclass(frozen=True)
class Window:
    """One round: the steps from ``start`` to ``stop``, all within one pass over the rows."""

    n_round: int
    start: int
    stop: int
    ends_pass: bool


@dataclass(frozen=True)
class RoundPlan:
    """How a training is cut into rounds."""

    steps_per_pass: int  # in which the copy with the most rows passes over them
    total_steps: int

    @property
    def longest(self) -> int:
        """Steps of the longest round."""
        return max(_FEWEST_LONGEST, self.steps_per_pass // _ROUNDS_PER_PASS)

    def windows(self) -> Iterator[Window]:
        """Yield the rounds in their order."""
        n_round, start, length = 0, 0, float(_FIRST_STEPS)
        while start < self.total_steps:
            end = min((start // self.steps_per_pass + 1) * self.steps_per_pass, self.total_steps)
            stop = start + round(min(length, self.longest))
            if stop + length / 2 > end:  # what is left of the pass would be a short round
                stop = end
            yield Window(n_round, start, stop, stop == end)
            n_round, start, length = n_round + 1, stop, min(length * _GROWTH, self.longest)


@dataclass(frozen=True)
class Replica:
    """The rows of one copy of the network, prepared by the objective; either may be empty."""

    number: int
    rows: Rows
    validation: Rows

    def __sizeof__(self) -> int:
        # Without it dask takes all rows for a few bytes, and trains every copy on one worker.
        return object.__sizeof__(self) + sys.getsizeof(self.rows) + sys.getsizeof(self.validation)


@dataclass(frozen=True)
class Job:
    """What stays the same in all rounds of a training."""

    network: Network  # its architecture is used, its values are not
    objective: Objective  # bound
    config: TrainingConfig
    plan: RoundPlan
    seed: int  # of the order of rows


@dataclass(frozen=True)
class Contribution:
    """The result of one copy, or several together, after a round on so many ``rows``."""

    state: State
    rows: int
    loss: float


@dataclass(frozen=True)
class _Part:
    """Some batches of one pass in random order, for the training loop."""

    rows: Rows
    start: int
    stop: int
    key: int

    def __len__(self) -> int:
        return self.stop - self.start

    def batches(self, rng: np.random.Generator, size: int) -> Iterator[Rows]:
        for start in range(self.start, self.stop, size):
            stop = min(start + size, self.stop)
            yield self.rows.take(shuffle_rows(start, stop, len(self.rows), self.key))


def initial_state(network: Network, weight_decay: float) -> State:
    """Return parameters and moments before the first step."""
    return _state_of(network, network.optimizer(weight_decay))


def _state_of(network: Any, optimizer: Any) -> State:
    return {f"network.{name}": value for name, value in network.state().items()} | {
        f"optimizer.{name}": value for name, value in optimizer.state().items()
    }


def take_part(state: State, prefix: str) -> State:
    """Return the arrays of the network or of the optimiser under their own names."""
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def train_locally(replica: Replica, job: Job, state: State, window: Window) -> Contribution:
    """Make the steps of a round on the rows of one copy.

    A pure function: run again on another worker it returns the same bits.
    """
    (result,) = side_by_side([lambda stopping: _train_steps(replica, job, state, window, stopping)])
    return result


def _train_steps(
    replica: Replica, job: Job, state: State, window: Window, stopping: threading.Event
) -> Contribution:
    plan, size, n_rows = job.plan, job.config.batch_size, len(replica.rows)
    n_pass, first = divmod(window.start, plan.steps_per_pass)
    # A copy with fewer rows makes fewer steps per round, so that all end their passes together.
    own_steps = -(-n_rows // size)
    start = first * own_steps // plan.steps_per_pass * size
    last = first + window.stop - window.start
    stop = min(last * own_steps // plan.steps_per_pass * size, n_rows)
    if start >= stop:
        return Contribution(state, 0, 0.0)
    key = np.random.SeedSequence([job.seed, replica.number, n_pass]).generate_state(1, np.uint64)
    part: Any = _Part(replica.rows, start, stop, int(key[0]))
    network: Any = copy.deepcopy(job.network)  # threads of one worker share what a task is given
    run = Run(
        network,
        job.objective,
        part,
        replace(job.config, max_epochs=_ENDLESS, max_steps=plan.total_steps),
        np.random.default_rng(0),  # not used: the part has an order of its own
        None,
        0,
        stopping,
    )
    network.load_state(take_part(_with_own_dropout(state, replica.number), "network."))
    run.optimizer.load_state(take_part(state, "optimizer."))
    run.n_steps, run.n_epochs = window.start, n_pass
    run.train_epoch()
    trained = _state_of(network, run.optimizer)
    if "network.dropout" in trained:
        trained["network.dropout"][0] = state["network.dropout"][0]
    return Contribution(trained, stop - start, run.history[-1]["loss"])


def _with_own_dropout(state: State, number: int) -> State:
    """Return the state with another seed of dropout masks for each copy."""
    if "network.dropout" not in state:
        return state
    seed, n_steps = (int(value) for value in state["network.dropout"])
    own = np.array([(seed + _NEXT_SEED * number) % 2**32, n_steps], dtype=np.int64)
    return {**state, "network.dropout": own}


def average(parts: Sequence[Contribution]) -> Contribution:
    """Return the mean of parameters and of moments, weighted by rows.

    Moments are averaged too: beginning every round without them gave larger errors, see
    ``bench/results/dask_rounds.md``.
    """
    total = sum(part.rows for part in parts)
    if total == 0:
        return parts[0]
    used = [part for part in parts if part.rows]
    shares = [part.rows / total for part in used]
    state: State = {}
    for name, first in used[0].state.items():
        values = [part.state[name] for part in used]
        if first.dtype.kind == "f":
            mean = sum(s * v.astype(np.float64) for s, v in zip(shares, values, strict=True))
            state[name] = np.asarray(mean, dtype=np.float64)
        else:  # counters of steps
            state[name] = np.max(values, axis=0)
    loss = sum(share * part.loss for share, part in zip(shares, used, strict=True))
    return Contribution(state, total, float(loss))


def validate(replica: Replica, job: Job, state: State) -> tuple[float, int]:
    """Return the validation loss of one copy's rows, and their number."""
    if not len(replica.validation):
        return 0.0, 0
    network = copy.deepcopy(job.network)
    network.load_state(take_part(state, "network."))
    return validation_loss(network, job.objective, replica.validation), len(replica.validation)


def mean_loss(parts: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """Return the mean of losses, weighted by rows."""
    total = sum(n for _, n in parts)
    return sum(loss * n for loss, n in parts) / max(total, 1), total


@dataclass
class Progress:
    """How far a training has come: enough to resume it with the same bits."""

    state: State  # parameters and moments
    n_rounds: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)  # one record per pass
    loss_sum: float = 0.0  # of the pass that is under way
    rows: int = 0
    best_loss: float = math.inf  # on validation rows, after the pass best_pass, counted from 1
    best_pass: int = 0
    best_state: State | None = None
    stopped: bool = False  # early

    @property
    def result(self) -> State:
        """The state to keep: the best one, if there were validation rows."""
        return self.best_state or self.state


@dataclass(frozen=True)
class RoundCheckpoint:
    """A file that a training writes after every round and resumes from."""

    path: Path
    fingerprint: str  # of rows, settings and number of copies: other trainings are refused
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
            self._restore(header, arrays, progress)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{name} is damaged ({in_one_line(error)}); delete it or give another "
                "checkpoint_dir."
            ) from None

    def _restore(
        self, header: dict[str, Any], arrays: dict[str, NDArray[Any]], progress: Progress
    ) -> None:
        state = _read_state(arrays, "state.", progress.state)
        if state is None:
            raise ValueError("it has no state")
        progress.best_state = _read_state(arrays, "best.", progress.state)
        progress.state = state
        progress.n_rounds = check_integer("n_rounds", header["n_rounds"], minimum=0)
        progress.history = list(header["history"])
        progress.loss_sum = check_number("loss_sum", header["loss_sum"])
        progress.rows = check_integer("rows", header["rows"], minimum=0)
        progress.best_pass = check_integer("best_pass", header["best_pass"], minimum=0)
        if header["best_loss"] is not None:
            progress.best_loss = check_number("best_loss", header["best_loss"])
        progress.stopped = bool(header["stopped"])


def stored_replicas(path: Path) -> int | None:
    """Return the number of copies of the network in a stored training."""
    if not path.exists():
        return None
    header, _ = read_arrays(path, _KIND)
    return check_integer("n_replicas", header.get("n_replicas"), minimum=1)


def _read_state(arrays: dict[str, NDArray[Any]], prefix: str, like: State) -> State | None:
    found = take_part(arrays, prefix)
    if not found:
        return None
    layouts = [{k: (v.dtype, v.shape) for k, v in state.items()} for state in (found, like)]
    if layouts[0] != layouts[1]:
        raise ValueError("its arrays are not those of the network")
    for value in found.values():
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError("it has values that are not finite")
    return found


def train_in_rounds(
    job: Job,
    progress: Progress,
    run_round: Callable[[State, Window], Contribution],
    validate_state: Callable[[State], float] | None = None,
    store: RoundCheckpoint | None = None,
    on_pass: Callable[[Progress], None] | None = None,
) -> Progress:
    """Train round after round until the last, or until the validation loss no longer falls."""
    if store is not None:
        store.resume(progress)
    try:
        for window in job.plan.windows():
            if window.n_round < progress.n_rounds:
                continue
            if progress.stopped:
                break
            result = run_round(progress.state, window)
            # Means are computed in double precision.
            progress.state = {
                name: value.astype(progress.state[name].dtype)
                for name, value in result.state.items()
            }
            progress.n_rounds += 1
            progress.loss_sum += result.loss * result.rows
            progress.rows += result.rows
            if window.ends_pass:
                _end_pass(job, progress, window, validate_state)
            if store is not None:
                store.write(progress)
            if window.ends_pass and on_pass is not None:
                on_pass(progress)
    except KeyboardInterrupt:
        # As on one machine: Ctrl-C ends training early and keeps what was learned.
        if not progress.history:
            raise
    return progress


def _end_pass(
    job: Job,
    progress: Progress,
    window: Window,
    validate_state: Callable[[State], float] | None,
) -> None:
    n_pass, loss = len(progress.history) + 1, progress.loss_sum / max(progress.rows, 1)
    rate = job.config.learning_rate * job.config.schedule(window.stop - 1, job.plan.total_steps)
    record: dict[str, Any] = {"epoch": n_pass, "loss": loss, "learning_rate": rate}
    progress.loss_sum, progress.rows = 0.0, 0
    if validate_state is not None:
        record["validation_loss"] = held_out = validate_state(progress.state)
        if held_out < progress.best_loss:
            progress.best_loss, progress.best_pass = held_out, n_pass
            progress.best_state = progress.state
        progress.stopped = n_pass - progress.best_pass >= job.config.n_iter_no_change
    progress.history.append(record)
    values = [loss, record.get("validation_loss", 0.0)]
    values += [float(np.abs(v).max(initial=0.0)) for v in progress.state.values()]
    if not np.isfinite(values).all():
        raise TrainingDivergedError(
            f"Training diverged in pass {n_pass}: the loss is {loss}. Lower learning_rate (now "
            f"{job.config.learning_rate:g}) or check the features for extreme values."
        )
