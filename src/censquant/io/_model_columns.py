"""Which columns a fitted model needs, and what it takes each of them for."""

from typing import Any

from censquant.io._columns import NUMBER, TEXT, Columns


def feature_names(model: Any) -> list[str]:
    """Return the names of the columns that a model was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "model must have been fitted to a data frame, whose columns can be found in a table; "
            f"this {type(model).__name__} was fitted to an array."
        )
    return [str(name) for name in names]


def known_kinds(model: Any) -> dict[str, str]:
    """Return how the model uses each column, as far as it says so."""
    names = feature_names(model)
    # A model around another one takes what that one takes.
    inner = getattr(model, "estimator_", model)
    found = getattr(inner, "feature_kinds_", None)
    if found is None:
        # The steps of a pipeline may take anything; a bare model takes numbers.
        return {} if hasattr(inner, "steps") else dict.fromkeys(names, NUMBER)
    kinds = {"number": NUMBER, "category": TEXT, "left out": TEXT}
    return {name: kinds[kind] for name, kind in zip(names, found, strict=True)}


def settled_kinds(read: Columns, known: dict[str, str], columns: dict[str, Any]) -> dict[str, str]:
    """Return kinds with what these columns say of themselves where the model does not."""
    return {
        name: known.get(name) or (NUMBER if read.kind(column) == NUMBER else TEXT)
        for name, column in columns.items()
    }
