"""The rows of a training: what the loop needs of them, and those in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Features and targets of some individuals, in model units (transformed, standardised).

    One batch, or all rows of a training: the :class:`RowSource` in memory.

    Parameters
    ----------
    x : float32 array of shape (n, ...)
        Features; two-dimensional for dense networks, of any shape for a torch module.
    time : float32 array of shape (n,)
        Transformed times.
    event : bool array of shape (n,)
        True where the event was observed.
    weight : float32 array of shape (n,)
        Row weights, 1 on average.
    level : float32 array of shape (n,)
        F(c given x), the level at which a row was censored, where a method knows it; else -1.
    limit : float32 array of shape (n,), optional
        Censoring times, of events too, where all are known.
    lower, entry : float32 arrays of shape (n,), optional
        Where rows are not plain: the last time without an event, which equals ``time`` where that
        is known exactly and where a row is censored, and the time since which a row was under
        observation. Both may be -inf.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.engine import Rows
    >>> rows = Rows.from_arrays(np.zeros((3, 2)), time=np.arange(3), event=np.ones(3, bool))
    >>> rows.take(np.array([2])).time
    array([2.], dtype=float32)
    >>> [len(batch) for batch in rows.batches(np.random.default_rng(0), size=2)]
    [2, 1]
    """

    x: NDArray[np.float32]
    time: NDArray[np.float32]
    event: NDArray[np.bool_]
    weight: NDArray[np.float32]
    level: NDArray[np.float32]
    limit: NDArray[np.float32] | None = None
    lower: NDArray[np.float32] | None = None
    entry: NDArray[np.float32] | None = None

    @classmethod
    def from_arrays(
        cls,
        x: NDArray[Any],
        *,
        time: NDArray[Any],
        event: NDArray[Any],
        weight: NDArray[Any] | None = None,
        level: NDArray[Any] | None = None,
        limit: NDArray[Any] | None = None,
        lower: NDArray[Any] | None = None,
        entry: NDArray[Any] | None = None,
    ) -> "Rows":
        """Convert to the types that the kernels are compiled for."""
        n = len(x)
        return cls(
            x=np.ascontiguousarray(x, dtype=np.float32),
            time=np.ascontiguousarray(time, dtype=np.float32),
            event=np.ascontiguousarray(event, dtype=np.bool_),
            weight=np.ones(n, np.float32) if weight is None else weight.astype(np.float32),
            level=np.full(n, -1, np.float32) if level is None else level.astype(np.float32),
            limit=None if limit is None else limit.astype(np.float32),
            lower=None if lower is None else lower.astype(np.float32),
            entry=None if entry is None else entry.astype(np.float32),
        )

    def __len__(self) -> int:
        return len(self.time)

    def __sizeof__(self) -> int:
        # By this a cluster knows that moving a network to rows is cheaper than moving rows.
        return object.__sizeof__(self) + sum(column.nbytes for column in self.arrays())

    def take(self, index: NDArray[np.intp]) -> "Rows":
        """Return the rows at ``index``, in its order."""
        # Called every step: take is several times faster here than indexing.
        return Rows(
            x=self.x.take(index, axis=0),
            time=self.time.take(index),
            event=self.event.take(index),
            weight=self.weight.take(index),
            level=self.level.take(index),
            limit=None if self.limit is None else self.limit.take(index),
            lower=None if self.lower is None else self.lower.take(index),
            entry=None if self.entry is None else self.entry.take(index),
        )

    def batches(self, rng: np.random.Generator, size: int) -> Iterator["Rows"]:
        """Give every row once, in random order and at most ``size`` at a time."""
        order = rng.permutation(len(self))
        for start in range(0, len(order), size):
            yield self.take(order[start : start + size])

    def blocks(self, size: int) -> Iterator["Rows"]:
        """Give the rows in their order, at most ``size`` at a time, without a copy."""
        columns = self._columns()
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield Rows(**{name: column[rows] for name, column in columns.items()})

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the features of one row."""
        return self.x.shape[1:]

    def sample(self) -> "Rows":
        """Return all rows: they are in memory."""
        return self

    def split(self, fraction: float, rng: np.random.Generator) -> tuple["Rows", "Rows"]:
        """Return the rows without a random share of events and of censored rows, and that share."""
        held = np.zeros(len(self), dtype=bool)
        for kind in (self.event, ~self.event):
            index = rng.permutation(np.flatnonzero(kind))
            held[index[: round(fraction * len(index))]] = True
        return self.take(np.flatnonzero(~held)), self.take(np.flatnonzero(held))

    def prepared(self, prepare: Callable[["Rows"], "Rows"]) -> "Rows":
        """Return the rows as an objective's ``prepare`` changes them."""
        return prepare(self)

    def with_level(self, level: NDArray[np.float32]) -> "Rows":
        """Return the rows with other levels."""
        return replace(self, level=level)

    def scratch(self, dtype: Any) -> NDArray[Any]:
        """Return zeros, one per row."""
        return np.zeros(len(self), dtype)

    def arrays(self) -> list[NDArray[Any]]:
        """Return all columns that there are, in the order of the fields."""
        return list(self._columns().values())

    def _columns(self) -> dict[str, Any]:
        """Return the columns that there are by name; the others are None by default."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: column for name, column in columns.items() if column is not None}


class RowSource(Protocol):
    """Rows of a training, in memory, on disk or anywhere else.

    The loop uses :meth:`batches` and, of validation rows, :meth:`blocks`. What an objective must
    know of all rows (a censoring curve, say) it takes from :meth:`sample`. Nothing requires that
    all rows are in memory at once: :class:`Rows` holds arrays, ``ShardRows`` reads files.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.engine import Rows, RowSource
    >>> source: RowSource = Rows.from_arrays(
    ...     np.zeros((5, 2)), time=np.arange(5), event=np.ones(5, bool)
    ... )
    >>> source.shape, len(source.sample())
    ((2,), 5)
    """

    def __len__(self) -> int:
        """Return the number of rows that :meth:`batches` gives."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the features of one row."""
        ...

    @property
    def level(self) -> NDArray[np.float32] | None:
        """F(c given x) of every row where a method has set it by :meth:`with_level`."""
        ...

    def batches(self, rng: np.random.Generator, size: int) -> Iterator[Rows]:
        """Give every row once, in random order; all batches but the last have ``size`` rows."""
        ...

    def blocks(self, size: int) -> Iterator[Rows]:
        """Give the rows in an order that never changes, at most ``size`` at a time."""
        ...

    def sample(self) -> Rows:
        """Return all rows, or a uniform sample of them that memory can hold."""
        ...

    def split(self, fraction: float, rng: np.random.Generator) -> "tuple[RowSource, RowSource]":
        """Return the rows without a random share, and that share, to be held out."""
        ...

    def prepared(self, prepare: Callable[[Rows], Rows]) -> "RowSource":
        """Return the rows as an objective's ``prepare`` changes them."""
        ...

    def with_level(self, level: NDArray[np.float32]) -> "RowSource":
        """Return the rows with levels, in the order of :meth:`blocks`."""
        ...

    def scratch(self, dtype: Any) -> NDArray[Any]:
        """Return zeros, one per row, for what a method notes about rows; stored as the rows are."""
        ...
