"""CQRNN's objective: Portnoy's loss, with weights from the network's own predictions."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from censquant._engine.losses import LEVEL_RULES, MarginalPinball, add_crossing_penalty, portnoy
from censquant._engine.networks import FloatArray
from censquant._engine.objectives._grid import GridObjective
from censquant._engine.training import Rows


@dataclass(frozen=True, eq=False)
class Judge:
    """The loss of validation rows by training rows, computed when it is first asked for.

    The censoring curve of a million rows takes more memory than their features, and a training
    without validation rows has no use for it.
    """

    time: NDArray[np.float32]
    event: NDArray[np.bool_]
    weight: NDArray[np.float32]

    @cached_property
    def loss(self) -> MarginalPinball:
        """The check loss with these rows' censoring curve."""
        return MarginalPinball.fit(self.time, self.event, self.weight)


@dataclass(frozen=True)
class Portnoy(GridObjective):
    """Algorithm 2 of the paper, and fixes of it.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).
    level_rule : {"nearest", "lower", "interpolate"}, default "nearest"
        How F(c given x), the level at which a row was censored, is read off the predictions; see
        :func:`censquant._engine.losses.portnoy`.
    y_star : float, optional
        Pseudo-time that receives the probability mass beyond the censoring time, in model units.
        None means infinity; predictions above ``cap`` are then no longer pushed upwards.
    cap : float, default 1e30
        Used without ``y_star``.
    weight_below : float, default 1
        Weight of a censored row at levels below its own.
    crossing_margin, crossing_strength : float, default 0
        Penalty on neighbouring quantiles that are closer than the margin.
    frozen_epochs : int, optional
        Epochs between two updates of the levels of censoring times by :class:`FrozenLevels`; None
        where every step updates them.
    judge : Judge, optional
        The loss of validation rows, which :meth:`bind` sets.
    """

    level_rule: str = "nearest"
    y_star: float | None = None
    cap: float = 1e30
    weight_below: float = 1.0
    crossing_margin: float = 0.0
    crossing_strength: float = 0.0
    frozen_epochs: int | None = None
    judge: Judge | None = None

    def bind(self, train: Rows) -> "Portnoy":
        """Return the objective with the training rows' censoring curve, for validation."""
        return replace(self, judge=Judge(train.time, train.event, train.weight))

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean loss and write its gradient."""
        loss = portnoy(
            output,
            batch.time,
            batch.event,
            batch.weight,
            batch.level,
            self._levels,
            LEVEL_RULES[self.level_rule],
            self.weight_below,
            self.cap if self.y_star is None else self.y_star,
            self.y_star is None,
            out,
        )
        if self.crossing_strength > 0:
            loss += add_crossing_penalty(
                output, batch.weight, self.crossing_margin, self.crossing_strength, out
            )
        return float(loss)

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean marginal check loss, which epochs can be compared by."""
        if self.judge is None:
            raise RuntimeError("validation_loss needs a bound objective: call bind(rows) first.")
        losses = self.judge.loss(output, rows.time, rows.event, self._levels)
        return float((losses.sum(axis=1) * rows.weight).mean())
