"""Full instead of partial maximisation: levels of censoring times that are renewed now and then."""

from dataclasses import replace

import numpy as np

from censquant.losses import LEVEL_RULES, levels_of
from censquant.objectives._portnoy import Portnoy
from censquant.training import Run

_BLOCK_ROWS = 4_096


class FrozenLevels:
    """A callback that fixes the levels of all censoring times for some epochs at a time.

    CQRNN reads the levels off its predictions at every step. The classical EM algorithm would
    instead keep them while it fits to the end, and then renew them: so does this, every ``every``
    epochs. The paper shows that it converges more slowly.

    Parameters
    ----------
    objective : Portnoy
        Whose levels and rule are used.
    every : int
        Epochs between two renewals.

    Examples
    --------
    >>> from censquant.objectives import FrozenLevels, Portnoy
    >>> callback = FrozenLevels(Portnoy(taus=(0.25, 0.5, 0.75), y_star=9.0), every=10)
    """

    def __init__(self, objective: Portnoy, every: int) -> None:
        self._taus = np.asarray(objective.taus, dtype=np.float32)
        self._rule = LEVEL_RULES[objective.level_rule]
        self._every = every

    def on_start(self, run: Run) -> None:
        """Set the levels by the untrained network, or those that are due after a resume."""
        self.on_epoch(run)

    def on_epoch(self, run: Run) -> None:
        """Renew the levels when it is time."""
        if run.n_epochs % self._every:
            return
        levels = np.empty(len(run.rows), dtype=np.float32)
        start = 0
        for block in run.rows.blocks(_BLOCK_ROWS):
            output = run.network.forward(block.x, training=False)
            stop = start + len(block)
            levels_of(block.time, output, self._taus, self._rule, levels[start:stop])
            start = stop
        run.rows = replace(run.rows, level=levels)

    def on_end(self, run: Run) -> None:
        """Do nothing."""
