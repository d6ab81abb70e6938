"""What is typed in a shell, as the library takes it."""

from collections.abc import Collection, Sequence
from pathlib import Path


def listed(text: str | None) -> list[str] | None:
    """Return the parts of a text with commas between."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def column_list(given: Sequence[str] | None, known: Collection[str] = ()) -> list[str]:
    """Return column names from options that may be repeated and have commas between names.

    A name with a comma in it is taken as it is where the table has such a column.
    """
    names = list[str]()
    for text in given or ():
        names.extend([text] if text in known else listed(text) or [])
    return list(dict.fromkeys(names))


def level_list(text: str | None) -> list[float] | None:
    """Return increasing levels inside (0, 1) from a text such as 0.1,0.5,0.9."""
    if text is None:
        return None
    try:
        levels = sorted({float(part) for part in listed(text) or []})
    except ValueError:
        raise ValueError(f"--quantiles must be levels such as 0.1,0.5,0.9, got {text!r}.") from None
    if not levels or not 0 < levels[0] <= levels[-1] < 1:
        raise ValueError(f"--quantiles must lie between 0 and 1, got {text!r}.")
    return levels


def check_folder(option: str, path: Path) -> None:
    """Refuse a place for a folder where there is a file."""
    for folder in (path, *path.parents):
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{option} must be a folder, but {str(folder)!r} is a file.")
