"""Plain quantile regression on the rows whose event was seen."""

from dataclasses import dataclass, replace

import numpy as np

from censquant.objectives._pinball import Pinball
from censquant.survival import KaplanMeier, censoring_kaplan_meier
from censquant.training import Rows


@dataclass(frozen=True)
class ObservedPinball(Pinball):
    """Check loss of the events; censored rows are dropped.

    Late events are censored more often than early ones, so every quantile comes out too low: this
    is the baseline that shows what ignoring censoring costs.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.objectives import ObservedPinball
    >>> from censquant.training import Rows
    >>> rows = Rows.from_arrays(np.zeros((2, 1)), time=np.ones(2), event=np.array([True, False]))
    >>> len(ObservedPinball(taus=(0.5,)).prepare(rows))
    1
    """

    def prepare(self, rows: Rows) -> Rows:
        """Return the rows whose event was seen."""
        return rows.take(np.flatnonzero(rows.event))


@dataclass(frozen=True)
class WeightedPinball(ObservedPinball):
    """Check loss of the events, each weighted by one over its chance of not being censored before.

    The chance is the Kaplan-Meier curve of the censoring time just before the event. The weights
    are right if censoring does not depend on the features and no event can come after the last
    censoring time.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).
    floor : float, default 0.02
        Smallest chance that is believed; it bounds the weights.
    curve : KaplanMeier, optional
        The censoring curve; :meth:`bind` sets it.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.objectives import WeightedPinball
    >>> from censquant.training import Rows
    >>> time, event = np.array([1.0, 2.0, 3.0]), np.array([True, False, True])
    >>> rows = Rows.from_arrays(np.zeros((3, 1)), time=time, event=event)
    >>> WeightedPinball(taus=(0.5,)).bind(rows).prepare(rows).weight
    array([1., 2.], dtype=float32)
    """

    floor: float = 0.02
    curve: KaplanMeier | None = None

    def bind(self, train: Rows) -> "WeightedPinball":
        """Return the objective with the training rows' censoring curve."""
        return replace(self, curve=censoring_kaplan_meier(train.time, train.event, train.weight))

    def prepare(self, rows: Rows) -> Rows:
        """Return the events with their weights."""
        if self.curve is None:
            raise RuntimeError("prepare needs a bound objective: call bind(rows) first.")
        events = super().prepare(rows)
        chance = np.maximum(self.curve(events.time, side="left"), self.floor)
        return replace(events, weight=(events.weight / chance).astype(np.float32))
