"""One training as an object that can be sent elsewhere and run there."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from censquant.networks import Network
from censquant.training._callbacks import Callback
from censquant.training._checkpoint import Checkpoint
from censquant.training._engine import TrainingConfig, train
from censquant.training._objective import Objective
from censquant.training._rows import Rows


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingTask:
    """A training that is yet to run: the arguments of :func:`train`, to be called once.

    :func:`side_by_side` runs such tasks in threads. A task can be pickled if its parts can, and
    then gives the same bits in another process.

    Parameters
    ----------
    network : Network
        Trained in place, and returned.
    objective : Objective
        Unbound: training binds it to ``rows``.
    rows : Rows
    config : TrainingConfig
    rng : numpy.random.Generator
        Source of the order of rows.
    validation : Rows, optional
    callbacks : sequence of Callback
    checkpoint : Checkpoint, optional
    member : int
        Place in the ensemble, for callbacks.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.networks import DenseNetwork
    >>> from censquant.objectives import Pinball
    >>> from censquant.training import Rows, TrainingConfig, TrainingTask, side_by_side
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> rows = Rows.from_arrays(x, time=x[:, 0], event=np.ones(100, bool))
    >>> def task(seed):
    ...     rng = np.random.default_rng(seed)
    ...     return TrainingTask(
    ...         network=DenseNetwork([1, 8, 1], rng=rng), objective=Pinball((0.5,)), rows=rows,
    ...         config=TrainingConfig(max_epochs=3), rng=rng,
    ...     )
    >>> [len(history) for network, history in side_by_side([task(0), task(1)], n_jobs=2)]
    [3, 3]
    """

    network: Network
    objective: Objective
    rows: Rows
    config: TrainingConfig
    rng: np.random.Generator
    validation: Rows | None = None
    callbacks: Sequence[Callback] = ()
    checkpoint: Checkpoint | None = None
    member: int = 0

    def __call__(self, stopping: threading.Event) -> tuple[Network, list[dict[str, Any]]]:
        """Train until the end, or until the event is set; return the network and the history."""
        history = train(
            self.network,
            self.objective,
            self.rows,
            self.config,
            self.rng,
            validation=self.validation,
            callbacks=self.callbacks,
            checkpoint=self.checkpoint,
            member=self.member,
            stopping=stopping,
        )
        return self.network, history
