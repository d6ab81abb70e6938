"""Constructors of a structured target, compatible with scikit-survival."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant.survival._columns import column_names, quoted
from censquant.survival._target import read_columns


class Surv:
    """Constructors of a structured ``y`` that scikit-survival's functions also read.

    The event comes first and the time second, as they expect; scikit-survival itself is not
    needed.

    Examples
    --------
    >>> from censquant.survival import Surv
    >>> Surv.from_arrays(event=[True, False], time=[5, 2])
    array([( True, 5.), (False, 2.)], dtype=[('event', '?'), ('time', '<f8')])
    """

    @staticmethod
    def from_arrays(
        event: ArrayLike,
        time: ArrayLike,
        name_event: str | None = None,
        name_time: str | None = None,
    ) -> NDArray[np.void]:
        """Structured array of two columns.

        Parameters
        ----------
        event : array-like of shape (n,)
            Booleans, or numbers that are all 0 or 1; True where the event was observed.
        time : array-like of shape (n,)
            Finite times.
        name_event, name_time : str, optional
            Names of the fields; ``"event"`` and ``"time"`` by default.

        Returns
        -------
        y : structured array of shape (n,)
            A boolean and a float64 field.

        Examples
        --------
        >>> from censquant.survival import Surv
        >>> Surv.from_arrays([1, 0], [5, 2], name_event="died", name_time="days")["died"]
        array([ True, False])
        """
        names = name_event or "event", name_time or "time"
        if names[0] == names[1]:
            raise ValueError(f"name_event and name_time must differ, got {names[0]!r} for both.")
        target = read_columns(time, event)
        y = np.empty(len(target), dtype=[(names[0], np.bool_), (names[1], np.float64)])
        y[names[0]] = target.event
        y[names[1]] = target.time
        return y

    @staticmethod
    def from_dataframe(event: str, time: str, data: Any) -> NDArray[np.void]:
        """Structured array of two columns of a table, which give the fields their names.

        Parameters
        ----------
        event, time : str
            Names of the columns.
        data : DataFrame or mapping of n rows
            Any table that gives a column by ``data[name]``.

        Returns
        -------
        y : structured array of shape (n,)
            A boolean and a float64 field.

        Examples
        --------
        >>> from censquant.survival import Surv
        >>> Surv.from_dataframe("died", "days", {"days": [5, 2], "died": [1, 0]})["days"]
        array([5., 2.])
        """
        there = column_names(data)
        for role, column in (("event", event), ("time", time)):
            if column not in there:
                raise ValueError(
                    f"{role} must name a column of data, got {column!r} where the columns are "
                    f"{quoted(there)}."
                )
        return Surv.from_arrays(data[event], data[time], name_event=str(event), name_time=str(time))
