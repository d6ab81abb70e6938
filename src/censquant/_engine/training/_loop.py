"""The one training loop, with what it is given: objective, schedule and callbacks."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks._network import FloatArray, Network, State
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._rows import Rows, RowSource
from censquant._progress import Bar
from censquant.exceptions import TrainingDivergedError

_VALIDATION_ROWS = 4096  # bounds the memory of one validation pass


class Objective(Protocol):
    """What a method minimises, and how the network's outputs become quantiles.

    Methods differ in nothing else. ``README.md`` in this folder shows how to add one.
    """

    @property
    def n_outputs(self) -> int:
        """Number of outputs that the network must give."""
        ...

    def bind(self, train: Rows) -> Self:
        """Return a new objective that holds what depends on the training rows.

        Where rows are not in memory, it receives a uniform sample of them. It is separate from
        :meth:`prepare` because validation rows are also prepared, with the constants of the
        training rows.
        """
        ...

    def prepare(self, rows: Rows) -> Rows:
        """Drop or weight rows; of rows that are not in memory none may be dropped."""
        ...

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the batch's mean loss and write its derivative by ``output`` into ``out``."""
        ...

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean loss by which epochs are compared when stopping early."""
        ...

    def quantiles(self, output: FloatArray, taus: FloatArray) -> NDArray[np.float64]:
        """Return the quantiles at ``taus``, in model units.

        A method with one output per level receives its own levels only; one that predicts a
        distribution computes any level.
        """
        ...


class Schedule(Protocol):
    """The factor on the learning rate at each step."""

    def __call__(self, step: int, n_steps: int) -> float:
        """Return the factor at ``step``, counted from 0, of ``n_steps``."""
        ...


@dataclass(frozen=True)
class StepDecay:
    """The paper's schedule: a tenth after 70 % of the steps, a hundredth after 90 %."""

    milestones: tuple[float, ...] = (0.7, 0.9)
    factor: float = 0.1

    def __call__(self, step: int, n_steps: int) -> float:
        """Return the factor at ``step``, counted from 0, of ``n_steps``."""
        passed = sum(step >= round(milestone * n_steps) for milestone in self.milestones)
        return self.factor**passed


@dataclass(frozen=True)
class WarmupCosine:
    """A linear rise over ``warmup`` steps, then half a cosine down to 0."""

    warmup: int = 20

    def __call__(self, step: int, n_steps: int) -> float:
        """Return the factor at ``step``, counted from 0, of ``n_steps``."""
        rise = min(1.0, (step + 1) / max(self.warmup, 1))
        return rise * 0.5 * (1.0 + math.cos(math.pi * step / n_steps))


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how fast to train; the defaults are the paper's.

    Parameters
    ----------
    max_epochs : int
        Passes over the rows.
    batch_size : int
        Rows per step; the last batch of an epoch may be smaller.
    learning_rate : float
        Adam's learning rate before the schedule's factor.
    weight_decay : float
        L2 decay inside Adam.
    schedule : Schedule
        Factor on the learning rate over the course of training.
    max_steps : int, optional
        Ends training before ``max_epochs``, even within an epoch.
    n_iter_no_change : int
        With validation rows: epochs without a better validation loss after which to stop.

    Examples
    --------
    >>> from censquant.engine import TrainingConfig
    >>> TrainingConfig(max_epochs=20).learning_rate
    0.01
    """

    max_epochs: int = 100
    batch_size: int = 128
    learning_rate: float = 0.01
    weight_decay: float = 1e-4
    schedule: Schedule = field(default_factory=StepDecay)
    max_steps: int | None = None
    n_iter_no_change: int = 10


class Callback(Protocol):
    """Called by the loop; may read the run and call :meth:`Run.stop`.

    Trainings of an ensemble run side by side in threads and share their callbacks;
    ``run.member`` tells which one calls.
    """

    def on_start(self, run: "Run") -> None:
        """Before the first epoch."""
        ...

    def on_epoch(self, run: "Run") -> None:
        """After every epoch; its record is ``run.history[-1]``."""
        ...

    def on_end(self, run: "Run") -> None:
        """After the last epoch, also when stopped or interrupted."""
        ...


class Run:
    """One training in progress: what callbacks see and checkpoints keep.

    Made by :func:`train`, with the objective bound to the training rows and the rows prepared by
    it; ``stopping`` requests an end from outside.

    Attributes
    ----------
    history : list of dict
        One record per epoch: ``epoch`` from 1, ``loss``, ``learning_rate`` and, with validation
        rows, ``validation_loss``.
    n_epochs, n_steps : int
        Done so far.
    best_loss, best_epoch, best_state
        The lowest validation loss so far and the network's state then.
    fingerprint : str
        Identifies rows, settings and method where there is a checkpoint.
    is_between_epochs : bool
        False within an epoch and after one that was interrupted: no run could resume from there.
    """

    def __init__(
        self,
        network: Network,
        objective: Objective,
        rows: RowSource,
        config: TrainingConfig,
        rng: np.random.Generator,
        validation: RowSource | None,
        member: int,
        stopping: threading.Event,
    ) -> None:
        self.network = network
        self.objective = objective
        self.rows = rows
        self.config = config
        self.rng = rng
        self.validation = validation
        self.member = member
        self.optimizer = network.optimizer(config.weight_decay)
        self.history: list[dict[str, Any]] = []
        self.n_epochs = 0
        self.n_steps = 0
        self.best_loss = math.inf
        self.best_epoch = 0
        self.best_state: State | None = None
        self.is_between_epochs = True
        self.fingerprint = ""
        self._stopping = stopping
        self._stopped = False

    def stop(self) -> None:
        """End this training after the current epoch."""
        self._stopped = True

    @property
    def total_steps(self) -> int:
        """Number of steps that the whole training has, if nothing stops it."""
        steps = self.config.max_epochs * self._steps_per_epoch
        return steps if self.config.max_steps is None else min(steps, self.config.max_steps)

    @property
    def total_epochs(self) -> int:
        """Number of epochs that the whole training has, the last one perhaps not complete."""
        return -(-self.total_steps // self._steps_per_epoch)

    @property
    def _steps_per_epoch(self) -> int:
        return -(-len(self.rows) // self.config.batch_size)

    @property
    def is_finished(self) -> bool:
        """Whether no further epoch will be trained."""
        waited = self.n_epochs - self.best_epoch
        return (
            self._stopped
            or self._stopping.is_set()
            or self.n_steps >= self.total_steps
            or (self.validation is not None and waited >= self.config.n_iter_no_change)
        )

    def train_epoch(self) -> bool:
        """Make one pass over the rows in random order, record it, and return whether it began."""
        self.is_between_epochs = False
        network, objective, optimizer = self.network, self.objective, self.optimizer
        batch_size, total_steps = self.config.batch_size, self.total_steps
        n_rows = len(self.rows)
        work = np.empty((min(batch_size, n_rows), network.n_outputs), dtype=np.float32)
        loss_sum, rows_done, rate = 0.0, 0, 0.0
        for batch in self.rows.batches(self.rng, batch_size):
            if self.n_steps >= total_steps or self._stopping.is_set():
                break
            rate = self.config.learning_rate * self.config.schedule(self.n_steps, total_steps)
            gradient = work[: len(batch)]
            output = network.forward(batch.x, training=True)
            loss = objective.gradient(output, batch, out=gradient)
            loss += network.backward(gradient)
            optimizer.step(rate)
            self.n_steps += 1
            loss_sum += loss * len(batch)
            rows_done += len(batch)
        if rows_done == 0:  # stopped from outside before the first batch
            return False
        self.n_epochs += 1
        self._record(loss_sum / rows_done, rate)
        self.is_between_epochs = rows_done == n_rows or self.n_steps >= total_steps
        return True

    def _record(self, loss: float, rate: float) -> None:
        record: dict[str, Any] = {"epoch": self.n_epochs, "loss": loss, "learning_rate": rate}
        if self.validation is not None:
            record["validation_loss"] = validation_loss(
                self.network, self.objective, self.validation
            )
            if record["validation_loss"] < self.best_loss:
                self.best_loss = record["validation_loss"]
                self.best_epoch = self.n_epochs
                self.best_state = self.network.state()
        self.history.append(record)
        finite = math.isfinite(loss) and math.isfinite(record.get("validation_loss", 0.0))
        # Compiled arithmetic may hide a NaN from the loss: the parameters are checked as well.
        if not finite or not all(
            np.isfinite(value).all() for value in self.network.state().values()
        ):
            raise TrainingDivergedError(
                f"Training diverged in epoch {self.n_epochs}: the loss is {loss}. Lower "
                f"learning_rate (now {self.config.learning_rate:g}) or check the features for "
                "extreme values."
            )


def validation_loss(network: Network, objective: Objective, rows: RowSource) -> float:
    """Return the mean validation loss of some rows, computed block by block."""
    total = 0.0
    for block in rows.blocks(_VALIDATION_ROWS):
        output = network.forward(block.x, training=False)
        total += objective.validation_loss(output, block) * len(block)
    return total / len(rows)


def train(
    network: Network,
    objective: Objective,
    rows: RowSource,
    config: TrainingConfig,
    rng: np.random.Generator,
    *,
    validation: RowSource | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
    member: int = 0,
    stopping: threading.Event | None = None,
) -> list[dict[str, Any]]:
    """Train the network in place and return the history, one record per epoch.

    Every method trains here. Ctrl-C ends training early and keeps what was learned, and so does
    setting ``stopping`` from another thread. With ``validation`` rows training stops when their
    loss no longer falls, and the weights of the best epoch are restored.

    Parameters
    ----------
    network : Network
    objective : Objective
        Unbound: it is bound to a sample of ``rows``, all of them where they are in memory, here.
    rows : RowSource
        Training rows before the objective's preparation, such as :class:`Rows`.
    config : TrainingConfig
    rng : numpy.random.Generator
        Source of the order of rows.
    validation : RowSource, optional
    callbacks : sequence of Callback
    checkpoint : Checkpoint, optional
    member : int
        Place in the ensemble, for callbacks.
    stopping : threading.Event, optional

    Returns
    -------
    history : list of dict

    Examples
    --------
    >>> import numpy as np
    >>> from censquant._engine.networks._dense import DenseNetwork
    >>> from censquant._engine.objectives._grid import Portnoy
    >>> from censquant.engine import Rows, TrainingConfig, train
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(200, 1))
    >>> rows = Rows.from_arrays(x, time=1 + x[:, 0], event=rng.random(200) < 0.7)
    >>> objective = Portnoy(taus=(0.25, 0.5, 0.75), y_star=3.0)
    >>> network = DenseNetwork([1, 20, 3], rng=rng)
    >>> history = train(network, objective, rows, TrainingConfig(max_epochs=20), rng)
    >>> history[-1]["loss"] < history[0]["loss"]
    True
    """
    bound = objective.bind(rows.sample())
    stopping = stopping or threading.Event()
    run = Run(
        network,
        bound,
        rows.prepared(bound.prepare),
        config,
        rng,
        None if validation is None else validation.prepared(bound.prepare),
        member,
        stopping,
    )
    if checkpoint is not None:
        checkpoint.resume(run)
    for callback in callbacks:
        callback.on_start(run)
    try:
        while not run.is_finished and run.train_epoch():
            if checkpoint is not None and run.is_between_epochs and checkpoint.is_due(run.n_epochs):
                checkpoint.write(run)
            for callback in callbacks:
                callback.on_epoch(run)
    except KeyboardInterrupt:
        # Ctrl-C means all trainings that share the event, also those that have not begun.
        stopping.set()
    finally:
        for callback in callbacks:
            callback.on_end(run)
    if checkpoint is not None and run.is_between_epochs:
        checkpoint.write(run)
    if run.best_state is not None:
        network.load_state(run.best_state)
    return run.history


class ProgressBar:
    """Shows the epochs done, the loss and the time left of ``n_runs`` trainings that share it."""

    def __init__(self, n_runs: int = 1) -> None:
        self._n_runs = n_runs
        self._n_ended = 0
        self._lock = threading.Lock()
        self._display: Bar | None = None

    def on_start(self, run: "Run") -> None:
        """Open the display with the first run."""
        with self._lock:
            if self._display is None:
                n_epochs = self._n_runs * run.total_epochs
                self._display = Bar("training", n_epochs, unit="epochs")
            self._display.advance(run.n_epochs)

    def on_epoch(self, run: "Run") -> None:
        """Advance by one epoch."""
        record = run.history[-1]
        with self._lock:
            if self._display is not None:
                loss = record.get("validation_loss", record["loss"])
                self._display.advance(1, note=f"loss {loss:.4g}")

    def on_end(self, run: "Run") -> None:
        """Close the display with the last run."""
        with self._lock:
            self._n_ended += 1
            if self._display is None:
                return
            self._display.advance(run.total_epochs - run.n_epochs)
        if self._n_ended >= self._n_runs:
            self.close()

    def close(self) -> None:
        """End the display, also where fewer runs came than were expected."""
        with self._lock:
            if self._display is not None:
                self._display.close()
                self._display = None
