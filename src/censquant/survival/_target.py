"""The target of every method: a time, and whether it is the time of an observed event.

A general target knows more of each row: between which times its event lies, since when it was under
observation, and of which kind the event is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.exceptions import NoEventsError
from censquant.survival._columns import read_events, read_times


@dataclass(frozen=True, eq=False)
class Target:
    """Times and events of n rows, checked.

    Made by `read_target`; the constructor itself checks nothing.

    Parameters
    ----------
    time : ndarray of shape (n,), float64
        Time of the event, or of the end of follow-up. Finite, of any sign.
    event : ndarray of shape (n,), bool
        True where the event was observed, False where the row is censored.

    Examples
    --------
    >>> from censquant.survival import read_target
    >>> target = read_target(([5.0, 2.0, 9.0], [True, False, True]))
    >>> len(target), target.n_events
    (3, 2)
    >>> target.take([2, 0]).time
    array([9., 5.])
    """

    time: Floats
    event: NDArray[np.bool_]

    def __len__(self) -> int:
        return self.time.size

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """All that is known of the rows, by which they are told apart and ordered."""
        return self.time, self.event

    @property
    def for_fit(self) -> Any:
        """The target as any estimator's ``fit`` takes it: a plain one as a tuple."""
        return self.time, self.event

    def mapped(self, forward: Callable[[Floats], Floats]) -> "Target":
        """Return the rows with their times under an increasing map."""
        return Target(forward(self.time), self.event)

    @property
    def n_events(self) -> int:
        """Number of rows whose event was observed."""
        return int(np.count_nonzero(self.event))

    def take(self, index: ArrayLike | slice) -> "Target":
        """Rows at the given positions, as a new target.

        Parameters
        ----------
        index : array-like of int or bool, or slice
            Whatever selects rows of a numpy array.

        Returns
        -------
        target : Target
        """
        rows = index if isinstance(index, slice) else np.asarray(index)
        return Target(self.time[rows], self.event[rows])


@dataclass(frozen=True, eq=False)
class GeneralTarget(Target):
    """Rows whose events lie in (lower, upper], seen because they come after an entry.

    Read as a plain target, each row was followed to ``upper`` where it had an event and to
    ``lower`` where it was censored: what knows nothing of intervals and entries takes these as its
    times. Times are durations, and events lie after 0.

    Parameters
    ----------
    time, event
        As in a plain target: the end of follow-up, and whether it had an event.
    lower : ndarray of shape (n,), float64
        Time at which there was no event yet; equal to ``time`` where that is known exactly, and
        where the row is censored. -inf where nothing is known.
    entry : ndarray of shape (n,), float64
        Time since which the row was under observation: had it had the event before, it would not
        be among the rows. -inf where it was from the start.
    kind : ndarray of shape (n,), int64
        0 where no event was seen, else 1, 2, ..., K.
    """

    lower: Floats
    entry: Floats
    kind: NDArray[np.int64]

    @classmethod
    def of_rows(
        cls, lower: Floats, upper: Floats, entry: Floats, kind: NDArray[np.int64]
    ) -> "GeneralTarget":
        """Return rows by both of their ends, of which ``upper`` is inf without an event."""
        event = kind > 0
        return cls(np.where(event, upper, lower), event, lower, entry, kind)

    @classmethod
    def of(cls, target: Target) -> "GeneralTarget":
        """Return any target as a general one."""
        if isinstance(target, cls):
            return target
        start = np.full(len(target), -np.inf)
        return cls(target.time, target.event, target.time, start, target.event.astype(np.int64))

    @property
    def upper(self) -> Floats:
        """Time by which the event had happened; inf where none was seen."""
        return np.where(self.event, self.time, np.inf)

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Which rows have events at known times."""
        return np.asarray(self.event & (self.lower == self.time))

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which rows are right-censored."""
        return ~self.event

    @property
    def interval(self) -> NDArray[np.bool_]:
        """Which rows have events between two times, of which the lower one may be the start."""
        return np.asarray(self.event & (self.lower < self.time))

    @property
    def late(self) -> NDArray[np.bool_]:
        """Which rows were not under observation from the start."""
        return np.asarray(self.entry > -np.inf)

    @property
    def needs(self) -> dict[str, int]:
        """Number of rows of each kind that a plain target does not have, by its name."""
        rows = {
            "interval": self.interval,
            "delayed_entry": self.late,
            "competing": self.kind > 1,
        }
        counts = {name: int(np.count_nonzero(there)) for name, there in rows.items()}
        return {name: count for name, count in counts.items() if count}

    @property
    def plain(self) -> Target | None:
        """The same rows as a plain target; None if it could not hold what is known of them."""
        return None if self.needs else Target(self.time, self.event)

    @property
    def middle(self) -> Target:
        """Plain rows near these, with events in the middle of their intervals: for units of time.

        Predictions that were learned from them would be wrong.
        """
        middle = 0.5 * (np.maximum(self.lower, 0.0) + self.time)
        return Target(np.where(self.interval, middle, self.time), self.event)

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """All that is known of the rows, by which they are told apart and ordered."""
        return self.time, self.event, self.lower, self.entry, self.kind

    @property
    def for_fit(self) -> Any:
        """The target as the ``fit`` of an estimator that accepts it takes it."""
        return self

    def take(self, index: ArrayLike | slice) -> "GeneralTarget":
        """Rows at the given positions, as a new target."""
        rows = index if isinstance(index, slice) else np.asarray(index)
        return GeneralTarget(*(column[rows] for column in self.columns))

    def of_kind(self, kind: int) -> Target:
        """Return the rows with one kind of event alone: others end the follow-up of their rows.

        A plain target where these rows need no other.
        """
        other = self.event & (self.kind != kind)
        inside = np.flatnonzero(other & self.interval)
        if inside.size:
            raise ValueError(
                f"y must not have events of several kinds inside intervals, got {inside.size} of "
                f"{len(self)} rows of another kind than {kind} whose times are not known, the "
                f"first in row {inside[0]}: give the time at which a competing event ended the "
                "follow-up."
            )
        event = self.kind == kind
        rows = GeneralTarget(self.time, event, self.lower, self.entry, event.astype(np.int64))
        return rows.plain or rows

    def mapped(self, forward: Callable[[Floats], Floats]) -> "GeneralTarget":
        """Return the rows with their times under an increasing map; open ends stay open."""
        ends = []
        for column in (self.time, self.lower, self.entry):
            known = np.isfinite(column)
            ends.append(np.where(known, forward(np.where(known, column, self.time)), column))
        return GeneralTarget(ends[0], self.event, ends[1], ends[2], self.kind)


def read_columns(time: object, event: object, *, name: str = "time") -> Target:
    """Target of two separate columns, under the checks of `read_target`."""
    target = Target(read_times(time, name=name), read_events(event))
    if target.time.size != target.event.size:
        raise ValueError(
            "time and event must have the same length, "
            f"got {target.time.size} times and {target.event.size} events."
        )
    return target


def require_events(target: Target) -> None:
    """Raise `NoEventsError` if every row of the target is censored.

    Fitting needs an event; reading a target does not, so that predictions can be scored on rows
    that hold none.
    """
    if target.n_events == 0:
        n = len(target)
        raise NoEventsError(
            f"y has no event: {n} of {n} rows are censored, so no quantile can be fitted."
        )


def require_durations(target: Target) -> None:
    """Raise `ValueError` if a time of the target is negative, as no duration is.

    Reading a target does not require it: the logarithm of a time, or a measurement, may be
    negative, and many methods fit them.
    """
    n_negative = int(np.count_nonzero(target.time < 0))
    if n_negative:
        raise ValueError(
            f"y must hold durations, none of them negative, got {n_negative} of {len(target)} "
            f"times below 0, the smallest {target.time.min():g}: check whether start and end are "
            "swapped, or pass allow_negative=True to the estimator if these values are meant."
        )
