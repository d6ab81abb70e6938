"""The sequential grid: one network per level, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks._combined import StackedNetwork
from censquant._engine.networks._network import Network
from censquant._engine.objectives._grid import Portnoy
from censquant._engine.training._loop import Objective, TrainingConfig, train
from censquant._engine.training._rows import Rows, RowSource
from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.estimators.neural._cqrnn import far_times
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.estimators.neural._training import History
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Target
from censquant.survival._transform import TimeTransform

_CROSSED = ("lower", "upper", "interpolate")
_BLOCK_ROWS = 65_536


@dataclass(kw_only=True, repr=False, eq=False)
class SequentialGridNN(NeuralRegressor):
    """Portnoy's sequential algorithm with networks: Algorithm 1 of Pearce et al. (2022).

    Levels are fitted in increasing order, each by a network of its own. A censored row counts as
    late until the fit passes its time; from then on it is split by the level at which that
    happened. It needs as many trainings as levels, which is why CQRNN was invented; its weights are
    those of fits that are finished, so it is the more stable reference.

    Parameters
    ----------
    quantiles : array-like of levels in (0, 1), default 0.05, 0.1, ..., 0.95
        Should be dense enough: levels of censoring times are only known to one step of it.
    hidden_layer_sizes, activation, dropout, head, network, standardize, time_transform, \
learning_rate, weight_decay, batch_size, max_epochs, early_stopping, validation_fraction, \
n_iter_no_change, n_members, n_jobs, censoring, random_state, device, verbose
        As in :class:`CQRNN`; ``head`` must be ``"free"``; each level takes ``max_epochs``.
    crossed : {"lower", "upper", "interpolate"}, default "lower"
        The level that a censored row gets when a fit first passes it: the level before, as in the
        paper; that of the fit itself, as the paper's numbers were made (rows not yet passed then
        have level 0, and no level is left out); or a level between the two, as R's quantreg does.
    y_star : str, float or None, default "1.2max"
        As in :class:`CQRNN`.

    Attributes
    ----------
    quantiles_ : ndarray
        Levels that were reached.
    stopped_at_ : float or None
        The first level that could not be fitted because only censored rows lay above the fit before
        it; None if all were.
    models_, history_, follow_up_, horizon_, time_transform_, unique_times_, n_features_in_, \
feature_names_in_
        As in :class:`CQRNN`; records of ``history_`` tell their ``level`` too.

    Examples
    --------
    >>> from censquant import SequentialGridNN
    >>> from censquant.datasets import make_weibull
    >>> data = make_weibull(200, random_state=0)
    >>> model = SequentialGridNN([0.25, 0.5, 0.75], max_epochs=5, random_state=0)
    >>> model.fit(data.X, data.y).stopped_at_ is None
    True
    """

    crossed: str = "lower"
    y_star: str | float | None = "1.2max"

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> Portnoy:
        check_choice("crossed", self.crossed, _CROSSED)
        if target is None:
            return Portnoy(taus)
        y_star, cap = far_times(self.y_star, target, transform)
        return Portnoy(taus, y_star=y_star, cap=cap)

    def _one_level(self, rows: RowSource, rng: np.random.Generator) -> Network:
        if self.head != "free":
            raise ValueError(
                "head must be 'free' for SequentialGridNN, whose networks have one output each, "
                f"got {self.head!r}."
            )
        return self._make_network(rows, Portnoy((0.5,)), rng)

    def _train_member(
        self,
        objective: Objective,
        rows: RowSource,
        config: TrainingConfig,
        rng: np.random.Generator,
        **options: Any,
    ) -> tuple[StackedNetwork, History]:
        if not isinstance(objective, Portnoy):
            raise TypeError(f"The sequential grid needs Portnoy's objective, got {objective!r}.")
        checkpoint, stopping = options.pop("checkpoint"), options["stopping"]
        levels = _CensoringLevels(rows, self.crossed)
        networks: list[Network] = []
        history: History = []
        for place, tau in enumerate(objective.taus):
            networks.append(self._one_level(rows, rng))
            records = train(
                networks[-1],
                replace(objective, taus=(tau,)),
                rows.with_level(levels.at(tau)),
                config,
                rng,
                checkpoint=None if checkpoint is None else checkpoint.for_part(f"level{place}"),
                **options,
            )
            history += [{"level": self._user_level(tau), **record} for record in records]
            if stopping.is_set() or not levels.advance(networks[-1], tau):
                break
        return StackedNetwork(networks), history

    def _user_level(self, tau: float) -> float:
        return round(1.0 - tau, 12) if self.censoring == "left" else tau

    def _fitted_levels(self, taus: Floats, networks: Sequence[Network]) -> Floats:
        stacks = [network for network in networks if isinstance(network, StackedNetwork)]
        n_reached = min(stack.n_outputs for stack in stacks)
        for stack in stacks:  # members may stop at different levels
            del stack.networks[n_reached:]
        return taus[len(taus) - n_reached :] if self.censoring == "left" else taus[:n_reached]

    @property
    def stopped_at_(self) -> float | None:
        """The first level that could not be fitted, None if all were."""
        asked = check_quantiles(self.quantiles)
        missing = asked[~np.isin(asked, self.quantiles_)]
        if missing.size == 0:
            return None
        return float(missing[-1] if self._left_censored else missing[0])

    def _n_runs(self) -> int:
        return self.n_members * len(check_quantiles(self.quantiles))


class _CensoringLevels:
    """The levels of censoring times, learned while the fits move up, a block of rows at a time."""

    def __init__(self, rows: RowSource, crossed: str) -> None:
        self._rows = rows
        self._rule = crossed
        self._level = rows.scratch(np.float64)
        self._is_crossed = rows.scratch(np.bool_)
        self._predicted = rows.scratch(np.float64)
        self._tau = 0.0  # the level that was fitted last

    def at(self, tau: float) -> NDArray[np.float32]:
        """Return the levels to train ``tau`` with."""
        levels: NDArray[np.float32] = self._rows.scratch(np.float32)
        if not self._tau:  # nothing is known yet: level 0 has no effect on the first fit
            return levels
        # A row at the level that is trained has weight 0 at its own time; one at level 0, as the
        # paper's numbers were made, has the weight tau there.
        waiting = 0.0 if self._rule == "upper" else tau
        for start in range(0, len(levels), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            levels[block] = np.where(self._is_crossed[block], self._level[block], waiting)
        return levels

    def advance(self, network: Network, tau: float) -> bool:
        """Take the fit at ``tau``; say whether anything but waiting censored rows lies above it.

        The paper's numbers were made without asking.
        """
        goes_on = self._rule == "upper"
        stop = 0
        for rows in self._rows.blocks(_BLOCK_ROWS):
            start, stop = stop, stop + len(rows)
            block = slice(start, stop)
            predicted = network.predict(rows.x)[:, 0]
            self._cross(rows, block, predicted, tau)
            counted = rows.event | self._is_crossed[block]
            goes_on = goes_on or bool((rows.time > predicted)[counted].any())
            self._predicted[block] = predicted
        self._tau = tau
        return goes_on

    def _cross(self, rows: Rows, block: slice, predicted: Floats, tau: float) -> None:
        """Set the levels of the censored rows that the fit has passed."""
        new = ~rows.event & ~self._is_crossed[block] & (predicted > rows.time)
        if self._rule == "upper":
            level: Any = tau
        elif self._rule == "lower" or not self._tau:
            level = self._tau
        else:
            step = np.maximum(predicted[new] - self._predicted[block][new], 1e-12)
            share = np.clip((predicted[new] - rows.time[new]) / step, 0.0, 1.0)
            level = tau - (tau - self._tau) * share
        self._level[block][new] = level
        self._is_crossed[block] |= new
