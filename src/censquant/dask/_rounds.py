"""Rounds: copies of a network make steps on rows of their own and are then averaged."""

import copy
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks._network import Network
from censquant._engine.training._loop import Objective, Run, TrainingConfig, validation_loss
from censquant._engine.training._parallel import side_by_side
from censquant._engine.training._rows import Rows
from censquant.dask._shuffle import shuffled

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
    """How a training is cut into rounds.

    Parameters
    ----------
    steps_per_pass : int
        Steps in which the copy with the most rows passes over them.
    total_steps : int
        Of the whole training.

    Examples
    --------
    >>> from censquant.dask._rounds import RoundPlan
    >>> [window.stop for window in RoundPlan(30, 60).windows()]
    [4, 9, 16, 25, 30, 45, 60]
    """

    steps_per_pass: int
    total_steps: int

    @property
    def longest(self) -> int:
        """Steps of the longest round."""
        return max(_FEWEST_LONGEST, self.steps_per_pass // _ROUNDS_PER_PASS)

    def windows(self) -> Iterator[Window]:
        """Give the rounds in their order."""
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
    """The rows of one copy of the network, prepared by the objective.

    Parameters
    ----------
    number : int
    rows, validation : Rows
        To train on, and to judge by; either may be empty.
    """

    number: int
    rows: Rows
    validation: Rows

    def __sizeof__(self) -> int:
        # Without it dask takes all rows for a few bytes, and trains every copy on one worker.
        return object.__sizeof__(self) + sys.getsizeof(self.rows) + sys.getsizeof(self.validation)


@dataclass(frozen=True)
class Job:
    """What stays the same in all rounds of a training.

    Parameters
    ----------
    network : Network
        Its architecture is used, its values are not.
    objective : Objective
        Bound.
    config : TrainingConfig
    plan : RoundPlan
    seed : int
        Of the order of rows.
    """

    network: Network
    objective: Objective
    config: TrainingConfig
    plan: RoundPlan
    seed: int


@dataclass(frozen=True)
class Contribution:
    """What one copy, or several together, made of a round; ``rows`` were trained on."""

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
            yield self.rows.take(shuffled(start, stop, len(self.rows), self.key))


def initial_state(network: Network, weight_decay: float) -> State:
    """Return parameters and moments before the first step."""
    return _state_of(network, network.optimizer(weight_decay))


def _state_of(network: Any, optimizer: Any) -> State:
    return {f"network.{name}": value for name, value in network.state().items()} | {
        f"optimizer.{name}": value for name, value in optimizer.state().items()
    }


def part_of(state: State, prefix: str) -> State:
    """Return the arrays of the network or of the optimiser under their own names."""
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def train_locally(replica: Replica, job: Job, state: State, window: Window) -> Contribution:
    """Make the steps of a round on the rows of one copy.

    A pure function: run again on another worker it returns the same bits.
    """
    (result,) = side_by_side([lambda stopping: _steps(replica, job, state, window, stopping)])
    return result


def _steps(
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
    network: Any = _copy_of(job.network)
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
    network.load_state(part_of(_with_own_dropout(state, replica.number), "network."))
    run.optimizer.load_state(part_of(state, "optimizer."))
    run.n_steps, run.n_epochs = window.start, n_pass
    run.train_epoch()
    trained = _state_of(network, run.optimizer)
    if "network.dropout" in trained:
        trained["network.dropout"][0] = state["network.dropout"][0]
    return Contribution(trained, stop - start, run.history[-1]["loss"])


def _copy_of(network: Network) -> Network:
    """Return a network of its own: threads of one worker share what a task is given."""
    return copy.deepcopy(network)


def _with_own_dropout(state: State, number: int) -> State:
    """Return the state with another seed of dropout masks for each copy."""
    if "network.dropout" not in state:
        return state
    seed, n_steps = (int(value) for value in state["network.dropout"])
    own = np.array([(seed + _NEXT_SEED * number) % 2**32, n_steps], dtype=np.int64)
    return {**state, "network.dropout": own}


def averaged(parts: Sequence[Contribution]) -> Contribution:
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


def in_types_of(state: State, like: State) -> State:
    """Return a state in the types of another; means are computed in double precision."""
    return {name: value.astype(like[name].dtype) for name, value in state.items()}


def validate(replica: Replica, job: Job, state: State) -> tuple[float, int]:
    """Return the validation loss of one copy's rows, and their number."""
    if not len(replica.validation):
        return 0.0, 0
    network = _copy_of(job.network)
    network.load_state(part_of(state, "network."))
    return validation_loss(network, job.objective, replica.validation), len(replica.validation)


def mean_loss(parts: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """Return the mean of losses, weighted by rows."""
    total = sum(n for _, n in parts)
    return sum(loss * n for loss, n in parts) / max(total, 1), total
