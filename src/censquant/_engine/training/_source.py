"""What the training loop asks of rows, wherever they are stored."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training._rows import Rows


class RowSource(Protocol):
    """Rows of a training, in memory, on disk or anywhere else.

    The loop asks for :meth:`batches` and, of validation rows, for :meth:`blocks`. What an
    objective must know of all rows (a censoring curve, say) it takes from :meth:`sample`. Nothing
    requires that all rows are in memory at once. :class:`Rows` answers from arrays,
    :class:`ShardRows` from files.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant._engine.training import Rows, RowSource
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
