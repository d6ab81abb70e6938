"""What a fit must know of all rows, gathered while they pass by once."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training._moments import FeatureMoments
from censquant._typing import Floats
from censquant.survival import Target

_SAMPLE_ROWS = 200_000


class StreamSummary:
    """Moments and ranges of features, exact, and a uniform sample of times, in bounded memory.

    The sample has at most 200,000 rows; rows with the smallest and largest time, and with the
    smallest positive time of an event and of any row, are always among them, since bounds are
    taken from those.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    n_rows, n_events : int
    moments : FeatureMoments
    """

    def __init__(self, n_features: int) -> None:
        self.n_rows = self.n_events = 0
        self.moments = FeatureMoments.of(np.zeros((0, n_features)), np.zeros(0))
        # One row each of the sample: random key, time, event, weight.
        self._drawn: Floats = np.zeros((0, 4))
        self._ends: Floats = np.zeros((0, 4))

    def add(
        self,
        x: Floats,
        time: Floats,
        event: NDArray[np.bool_],
        weight: Floats,
        rng: np.random.Generator,
    ) -> None:
        """Take some rows, all of them with positive weight."""
        if not len(x):
            return
        self.n_rows += len(x)
        self.n_events += int(np.count_nonzero(event))
        self.moments = FeatureMoments.merged([self.moments, FeatureMoments.of(x, weight)])
        rows = np.column_stack((rng.random(len(x)), time, event, weight))
        self._ends = _ends(np.concatenate((self._ends, rows)))
        drawn: Floats = np.concatenate((self._drawn, rows))
        if len(drawn) > _SAMPLE_ROWS:
            drawn = drawn[np.argpartition(drawn[:, 0], _SAMPLE_ROWS)[:_SAMPLE_ROWS]]
        self._drawn = drawn

    @property
    def mean_weight(self) -> float:
        """Mean of the weights."""
        return self.moments.weight / self.n_rows

    def target(self) -> tuple[Target, Floats]:
        """Return the sample of times and events, and their weights, 1 on average over all rows."""
        rows = np.unique(np.concatenate((self._drawn, self._ends)), axis=0)
        return Target(np.ascontiguousarray(rows[:, 1]), rows[:, 2] > 0), rows[
            :, 3
        ] / self.mean_weight

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of which :meth:`from_state` makes the same summary."""
        moments = self.moments
        return {
            "counts": np.array([self.n_rows, self.n_events]),
            "weight_sum": np.array([moments.weight]),
            "moments": np.stack((moments.mean, moments.squares, moments.low, moments.high)),
            "drawn": self._drawn,
            "ends": self._ends,
        }

    @classmethod
    def from_state(cls, state: dict[str, NDArray[Any]]) -> Self:
        """Return the summary of a state."""
        summary = cls(state["moments"].shape[1])
        summary.n_rows, summary.n_events = (int(count) for count in state["counts"])
        summary.moments = FeatureMoments(
            float(state["weight_sum"][0]), *(values.copy() for values in state["moments"])
        )
        summary._drawn, summary._ends = state["drawn"], state["ends"]
        return summary


def _ends(rows: Floats) -> Floats:
    """Return the rows that bound the times."""
    time, event = rows[:, 1], rows[:, 2] > 0
    places = [int(np.argmin(time)), int(np.argmax(time))]
    for kind in (event, event & (time > 0), time > 0):
        among = np.flatnonzero(kind)
        if among.size:
            places.append(int(among[np.argmin(time[among])]))
    return rows[sorted(set(places))]
