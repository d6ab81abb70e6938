"""Objectives that predict quantiles on a grid of levels."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine.losses._grid import (
    LEVEL_RULES,
    MarginalPinball,
    add_crossing_penalty,
    estimate_levels,
    pinball,
    portnoy,
    powell,
    tobit_laplace,
)
from censquant._engine.networks._network import FloatArray
from censquant._engine.training._loop import Run
from censquant._engine.training._rows import Rows
from censquant.survival._kaplan_meier import (
    SMALLEST_CENSORING_CHANCE,
    KaplanMeier,
    censoring_kaplan_meier,
)

_BLOCK_ROWS = 4_096


@dataclass(frozen=True)
class GridObjective:
    """One network output per level; the outputs are the quantiles.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).

    Examples
    --------
    >>> from censquant.engine import GridObjective
    >>> GridObjective(taus=(0.1, 0.5, 0.9)).n_outputs
    3
    """

    taus: tuple[float, ...]

    @property
    def n_outputs(self) -> int:
        """One output per level."""
        return len(self.taus)

    @cached_property
    def _levels(self) -> NDArray[np.float32]:
        """The levels in the type that the kernels are compiled for."""
        return np.asarray(self.taus, dtype=np.float32)

    def bind(self, train: Rows) -> Self:
        """Return itself: nothing depends on the training rows."""
        return self

    def prepare(self, rows: Rows) -> Rows:
        """Return all rows."""
        return rows

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean loss and write its gradient."""
        raise NotImplementedError

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean loss, for losses whose weights do not depend on the model."""
        return self.gradient(output, rows, np.empty_like(output))

    def quantiles(self, output: FloatArray, taus: FloatArray) -> NDArray[np.float64]:
        """Return the outputs as they are; ``taus`` are the grid's own levels."""
        return np.asarray(output, dtype=np.float64)


@dataclass(frozen=True)
class Pinball(GridObjective):
    """The check loss of the observed times, events and censoring times alike.

    It estimates quantiles of the time under observation, event or censoring, whichever comes
    first: those of the event only if nothing is censored.
    """

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean check loss and write its gradient."""
        return float(pinball(output, batch.time, batch.weight, self._levels, out))


@dataclass(frozen=True)
class ObservedPinball(Pinball):
    """Check loss of the events; censored rows have no weight.

    Late events are censored more often than early ones, so every quantile is too low: this is the
    baseline that shows what ignoring censoring costs. Rows without weight stay in their
    batches, so that an epoch has as many steps as those of other methods.
    """

    def prepare(self, rows: Rows) -> Rows:
        """Return the rows with weight 0 for censored ones."""
        return replace(rows, weight=np.where(rows.event, rows.weight, np.float32(0)))


@dataclass(frozen=True)
class WeightedPinball(ObservedPinball):
    """Check loss of the events, each weighted by one over its probability of not being censored.

    The probability, at least ``floor``, is the Kaplan-Meier ``curve`` of the censoring time just
    before the event, which :meth:`bind` sets. The weights are right if censoring does not depend on
    the features and no event can come after the last censoring time.
    """

    floor: float = SMALLEST_CENSORING_CHANCE
    curve: KaplanMeier | None = None

    def bind(self, train: Rows) -> "WeightedPinball":
        """Return the objective with the training rows' censoring curve."""
        return replace(self, curve=censoring_kaplan_meier(train.time, train.event, train.weight))

    def prepare(self, rows: Rows) -> Rows:
        """Return the rows with the weights of events, and weight 0 for censored ones."""
        if self.curve is None:
            raise RuntimeError("prepare needs a bound objective: call bind(rows) first.")
        chance = np.maximum(self.curve(rows.time, side="left"), self.floor)
        weighted = replace(rows, weight=(rows.weight / chance).astype(np.float32))
        return super().prepare(weighted)


@dataclass(frozen=True, eq=False)
class LateMarginal:
    """The marginal check loss with the censoring curve of training rows, fitted at its first use.

    The curve of a million rows takes more memory than their features, and a training without
    validation rows has no use for it.
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
    """CQRNN's objective: Portnoy's loss, with weights from the network's own predictions.

    Algorithm 2 of the paper, and fixes of it.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).
    level_rule : {"nearest", "lower", "interpolate"}, default "nearest"
        How F(c given x), the level at which a row was censored, is read off the predictions; see
        :func:`censquant.engine.portnoy`.
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
    marginal : LateMarginal, optional
        The loss of validation rows, which :meth:`bind` sets.
    """

    level_rule: str = "nearest"
    y_star: float | None = None
    cap: float = 1e30
    weight_below: float = 1.0
    crossing_margin: float = 0.0
    crossing_strength: float = 0.0
    frozen_epochs: int | None = None
    marginal: LateMarginal | None = None

    def bind(self, train: Rows) -> "Portnoy":
        """Return the objective with the training rows' censoring curve, for validation."""
        return replace(self, marginal=LateMarginal(train.time, train.event, train.weight))

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
        if self.marginal is None:
            raise RuntimeError("validation_loss needs a bound objective: call bind(rows) first.")
        losses = self.marginal.loss(output, rows.time, rows.event, self._levels)
        return float((losses.sum(axis=1) * rows.weight).mean())


class FrozenLevels:
    """A callback that fixes the levels of all censoring times for some epochs at a time.

    CQRNN reads F(c given x) off its predictions at every step. The classical EM algorithm instead
    keeps these levels while it fits to convergence, and then updates them: so does this, every
    ``objective.frozen_epochs`` epochs. The paper shows that it converges more slowly.
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
            estimate_levels(block.time, output, self._taus, self._rule, levels[start:stop])
            start = stop
        run.rows = run.rows.with_level(levels)

    def on_end(self, run: Run) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Powell(GridObjective):
    """Check loss of predictions that are censored at each row's censoring time.

    Needs ``Rows.limit``. No weight has to be estimated, and censoring may depend on the features in
    any way; but nothing determines a prediction beyond the censoring times of all similar rows.
    """

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean loss and write its gradient."""
        return float(powell(output, batch.time, batch.limit, batch.weight, self._levels, out))


@dataclass(frozen=True)
class TobitLaplace(GridObjective):
    """Hüttel's objective: censored likelihood of asymmetric Laplace distributions, one per level.

    Only censored rows' censoring times matter to it. The larger the common ``scale``, in model
    units, the longer predictions beyond censoring times are pushed further: with 1, upper quantiles
    of heavily censored data run away.
    """

    scale: float = 0.1

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean loss and write its gradient."""
        rows = (batch.time, batch.event, batch.weight)
        return float(tobit_laplace(output, *rows, self._levels, self.scale, out))
