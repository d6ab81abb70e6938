"""What is known of rows that no process has all of, by map and reduce."""

from collections.abc import Sequence
from dataclasses import dataclass

from censquant._engine.training._shards import FeatureMoments
from censquant._typing import Floats
from censquant.dask._time_sketch import TimeSketch
from censquant.estimators.neural import RowSummary
from censquant.exceptions import NoEventsError
from censquant.survival import Target


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over some partitions.

    Parameters
    ----------
    sizes : tuple of int
        Rows of each partition that are used; those of weight 0 are not.
    moments : FeatureMoments
    times : TimeSketch
    """

    sizes: tuple[int, ...]
    moments: FeatureMoments
    times: TimeSketch

    @classmethod
    def of(cls, x: Floats, target: Target, weight: Floats) -> "Statistics":
        """Return the sums of one partition, which may be empty."""
        return cls((len(x),), FeatureMoments.of(x, weight), TimeSketch.of(target, weight))

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return sum(self.sizes)

    def summary(self) -> RowSummary:
        """Return what a fit needs, refused without an event."""
        if not len(self.times.events[0]):
            raise NoEventsError(
                f"The data have no event: all {self.n_rows} rows of {len(self.sizes)} partitions "
                "are censored, so no quantile can be fitted."
            )
        scale = self.n_rows / self.moments.weight  # weights are 1 on average
        times = self.times
        return RowSummary(self.n_rows, times.target, times.weight * scale, self.moments)


def merged(parts: Sequence[Statistics]) -> Statistics:
    """Return the sums over all partitions of some parts, in their order."""
    return Statistics(
        tuple(size for part in parts for size in part.sizes),
        FeatureMoments.merged([part.moments for part in parts]),
        parts[0].times.merge(*(part.times for part in parts[1:])),
    )
