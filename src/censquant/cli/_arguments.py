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


def number_list(option: str, text: str | None) -> list[float] | None:
    """Return numbers from a text such as 365,1825."""
    if text is None:
        return None
    try:
        return [float(part) for part in listed(text) or []]
    except ValueError:
        raise ValueError(f"{option} must be numbers such as 365,1825, got {text!r}.") from None


def row_list(option: str, text: str | None, n_rows: int) -> list[int] | None:
    """Return places, from 0, of rows that are typed from 1 as in 3,17,20-25; none for none."""
    if text is None:
        return None
    places = list[int]()
    for part in [] if text.strip() == "none" else listed(text) or []:
        ends = part.split("-") if "-" in part else [part, part]
        if len(ends) != 2 or not all(end.strip().isdigit() for end in ends):
            raise ValueError(f"{option} must be row numbers such as 3,17,20-25, got {text!r}.")
        first, last = map(int, ends)
        if not 1 <= first <= last <= n_rows:
            raise ValueError(f"{option} must lie between 1 and {n_rows}, got {part!r}.")
        places.extend(range(first - 1, last))
    return places


def check_file(option: str, path: Path, *, overwrite: bool) -> None:
    """Refuse a place where no file can be written, before any work is done."""
    from censquant._files import check_place

    _refuse_standard_output(option, path)
    check_place(path, overwrite=overwrite)


def _refuse_standard_output(option: str, path: Path) -> None:
    if str(path) == "-":
        raise ValueError(
            f"{option} must name a file or folder, got '-': only the table of predict can be "
            "written to standard output."
        )


def check_folder(option: str, path: Path) -> None:
    """Refuse a place for a folder where there is a file."""
    _refuse_standard_output(option, path)
    for folder in (path, *path.parents):
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{option} must be a folder, but {str(folder)!r} is a file.")
