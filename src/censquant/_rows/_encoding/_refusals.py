"""What is said of columns that cannot be encoded, by their names."""

from collections.abc import Sequence

from censquant._rows._features import listed, non_finite


def unusable_columns(kind: str, names: Sequence[str]) -> Exception:
    """Return the error for columns of the same kind: text, times, infinity or a type."""
    columns = listed(names)
    if kind == "infinity":
        return non_finite("infinity", f"the columns {columns}")
    if kind == "text":
        return ValueError(
            f"X must hold numbers in the columns {columns}, got text: convert it to numbers, or "
            "list the columns in categorical_features before the fit."
        )
    if kind == "times":
        return TypeError(
            f"X must hold numbers or categories, got dates or times in the columns {columns}: "
            "convert them to a number such as days since a reference date."
        )
    # scikit-learn's checks of estimators look for the words in the middle.
    return TypeError(
        f"Each value of this argument must be a string or a number, got {kind} in the columns "
        f"{columns} of X: convert it, or spread what it holds over columns of its own."
    )
