"""Which place of a table each named column has."""

from typing import Protocol

from censquant.io._error import TableError
from censquant.io._table import missing_column


class _Named(Protocol):
    names: list[str]
    shown: str


class Places:
    """The columns of a table by name.

    Parameters
    ----------
    reader : anything with ``names`` and ``shown``
    """

    def __init__(self, reader: _Named) -> None:
        self._shown = reader.shown
        self._places: dict[str, int] = {}
        for place, name in enumerate(reader.names):
            if name.strip():
                self._places[name.strip()] = -1 if name.strip() in self._places else place

    @property
    def names(self) -> list[str]:
        """Names in the order of the columns."""
        return list(self._places)

    def of(self, name: str, role: str) -> int:
        """Return the place of a column; an unknown name is told the one that is near."""
        if name not in self._places:
            raise missing_column(self._shown, name, self.names, role)
        if self._places[name] < 0:
            raise TableError(
                f"{self._shown} has more than one column called {name!r}",
                remedy="rename all but one",
            )
        return self._places[name]
