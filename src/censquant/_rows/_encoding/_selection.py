"""Which columns the user declares to be categories."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from censquant._rows._features import close_name

FROM_DTYPE = "from_dtype"


def declared_categories(categorical_features: Any, names: Sequence[str]) -> list[bool | None]:
    """Return for each column whether it is a category; None leaves it to the column's type."""
    n_columns = len(names)
    if categorical_features is None:
        return [False] * n_columns
    if isinstance(categorical_features, str):
        if categorical_features == FROM_DTYPE:
            return [None] * n_columns
        raise ValueError(
            f"categorical_features must be {FROM_DTYPE!r}, None or a list of columns, got "
            f"{categorical_features!r}: put a single name into a list."
        )
    given = np.asarray(categorical_features)
    if given.ndim != 1:
        raise ValueError(
            "categorical_features must be a list of names, indices or one boolean per column, got "
            f"an array of shape {given.shape}."
        )
    entries = given.tolist()
    types = {type(entry) for entry in entries}
    if types == {bool}:
        return _by_mask(entries, n_columns)
    if types <= {int}:
        return _by_index(entries, n_columns)
    if types == {str}:
        return _by_name(entries, names)
    raise TypeError(
        "categorical_features must be a list of names, indices or one boolean per column, got "
        f"entries of the types {', '.join(sorted(kind.__name__ for kind in types))}."
    )


def _by_mask(mask: list[bool], n_columns: int) -> list[bool | None]:
    if len(mask) != n_columns:
        raise ValueError(
            f"categorical_features must have one boolean for each of the {n_columns} columns of X, "
            f"got {len(mask)}."
        )
    return list(mask)


def _by_index(places: list[int], n_columns: int) -> list[bool | None]:
    wrong = [place for place in places if not 0 <= place < n_columns]
    if wrong:
        raise ValueError(
            f"categorical_features must hold indices from 0 to {n_columns - 1}, got {wrong[0]}."
        )
    chosen = set(places)
    return [place in chosen for place in range(n_columns)]


def _by_name(chosen: list[str], names: Sequence[str]) -> list[bool | None]:
    known = set(names)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        near = close_name(unknown[0], names)
        hint = f": did you mean {near!r}?" if near is not None else "."
        raise ValueError(
            f"categorical_features must name columns of X, got {unknown[0]!r}, which is none{hint}"
        )
    as_set = set(chosen)
    return [name in as_set for name in names]
