"""Full instead of partial maximisation: levels of censoring times that stay for some epochs."""

import numpy as np

from censquant._engine.losses import LEVEL_RULES, levels_of
from censquant._engine.objectives._portnoy import Portnoy
from censquant._engine.training import Run

_BLOCK_ROWS = 4_096


class FrozenLevels:
    """A callback that fixes the levels of all censoring times for some epochs at a time.

    CQRNN reads F(c given x) off its predictions at every step. The classical EM algorithm instead
    keeps these levels while it fits to convergence, and then updates them: so does this, every
    ``objective.frozen_epochs`` epochs. The paper shows that it converges more slowly.

    Parameters
    ----------
    objective : Portnoy
        Whose levels, rule and ``frozen_epochs`` are used.
    """

    def __init__(self, objective: Portnoy) -> None:
        if objective.frozen_epochs is None:
            raise ValueError(
                "objective must have frozen_epochs for FrozenLevels, got None: give the number of "
                "epochs between two updates."
            )
        self._taus = np.asarray(objective.taus, dtype=np.float32)
        self._rule = LEVEL_RULES[objective.level_rule]
        self._every = objective.frozen_epochs

    def on_start(self, run: Run) -> None:
        """Set the levels by the untrained network, or those that are due after a resume."""
        self.on_epoch(run)

    def on_epoch(self, run: Run) -> None:
        """Update the levels when they are due."""
        if run.n_epochs % self._every:
            return
        levels = run.rows.scratch(np.float32)
        start = 0
        for block in run.rows.blocks(_BLOCK_ROWS):
            output = run.network.forward(block.x, training=False)
            stop = start + len(block)
            levels_of(block.time, output, self._taus, self._rule, levels[start:stop])
            start = stop
        run.rows = run.rows.with_level(levels)

    def on_end(self, run: Run) -> None:
        """Do nothing."""
