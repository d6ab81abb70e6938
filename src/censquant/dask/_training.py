"""The course of a training in rounds, decided in one place for all copies of the network."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from censquant.dask._rounds import Contribution, Job, State, Window, in_types_of
from censquant.exceptions import TrainingDivergedError

History = list[dict[str, Any]]


@dataclass
class Progress:
    """How far a training has come: enough to resume it with the same bits.

    Parameters
    ----------
    state : dict of arrays
        Parameters and moments.
    n_rounds : int
        Rounds that are done.
    history : list of dict
        One record per pass.
    loss_sum, rows : float, int
        Of the pass that is under way.
    best_loss, best_pass, best_state
        The lowest validation loss so far, its pass, counted from 1, and the state then.
    stopped : bool
        Whether the training ended early.
    """

    state: State
    n_rounds: int = 0
    history: History = field(default_factory=list)
    loss_sum: float = 0.0
    rows: int = 0
    best_loss: float = math.inf
    best_pass: int = 0
    best_state: State | None = None
    stopped: bool = False

    @property
    def result(self) -> State:
        """The state to keep: the best one, if there were validation rows."""
        return self.best_state or self.state


class Store(Protocol):
    """Where the progress is kept between rounds."""

    def resume(self, progress: Progress) -> None:
        """Bring the progress to where it was kept, if it was."""
        ...

    def write(self, progress: Progress) -> None:
        """Keep the progress."""
        ...


def train_in_rounds(
    job: Job,
    progress: Progress,
    run_round: Callable[[State, Window], Contribution],
    judge: Callable[[State], float] | None = None,
    store: Store | None = None,
    on_pass: Callable[[Progress], None] | None = None,
) -> Progress:
    """Train round after round until the last, or until validation rows say that it is enough."""
    if store is not None:
        store.resume(progress)
    try:
        for window in job.plan.windows():
            if window.n_round < progress.n_rounds:
                continue
            if progress.stopped:
                break
            result = run_round(progress.state, window)
            progress.state = in_types_of(result.state, progress.state)
            progress.n_rounds += 1
            progress.loss_sum += result.loss * result.rows
            progress.rows += result.rows
            if window.ends_pass:
                _end_pass(job, progress, window, judge)
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
    job: Job, progress: Progress, window: Window, judge: Callable[[State], float] | None
) -> None:
    n_pass, loss = len(progress.history) + 1, progress.loss_sum / max(progress.rows, 1)
    rate = job.config.learning_rate * job.config.schedule(window.stop - 1, job.plan.total_steps)
    record: dict[str, Any] = {"epoch": n_pass, "loss": loss, "learning_rate": rate}
    progress.loss_sum, progress.rows = 0.0, 0
    if judge is not None:
        record["validation_loss"] = judged = judge(progress.state)
        if judged < progress.best_loss:
            progress.best_loss, progress.best_pass = judged, n_pass
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
