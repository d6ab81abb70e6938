"""Tables of numbers and words: the words as categories in a frame, as indicators in an array."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.datasets._real import pandas_for_frames


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Columns of a CSV file by name: numbers, or words where a column has any.

    Parameters
    ----------
    columns : dict of str to ndarray
        float64, or text.
    """

    columns: dict[str, NDArray[Any]]

    @classmethod
    def read(cls, path: Path) -> MixedTable:
        """Return the table of a file whose first line has the names."""
        with path.open(encoding="utf-8", newline="") as stream:
            names, *rows = csv.reader(stream)
        texts = zip(*rows, strict=True)
        return cls({name: _column(column) for name, column in zip(names, texts, strict=True)})

    def without(self, *names: str) -> MixedTable:
        """Return the table without some columns."""
        return MixedTable({name: self.columns[name] for name in self.columns if name not in names})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.columns)

    def frame(self) -> Any:
        """Return a pandas DataFrame: numbers, and categories in alphabetical order."""
        pd = pandas_for_frames()
        return pd.DataFrame(
            {
                name: values if _is_numeric(values) else pd.Categorical(values, np.unique(values))
                for name, values in self.columns.items()
            }
        )

    def numbers(self) -> tuple[Floats, tuple[str, ...]]:
        """Return an array and its names: a word becomes 0 or 1 per category except the first."""
        found: dict[str, Floats] = {}
        for name, values in self.columns.items():
            if _is_numeric(values):
                found[name] = values
            else:
                for category in np.unique(values)[1:]:
                    found[f"{name}={category}"] = (values == category).astype(np.float64)
        return np.column_stack(list(found.values())), tuple(found)


def _column(texts: Sequence[str]) -> NDArray[Any]:
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts)


def _is_numeric(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f"
