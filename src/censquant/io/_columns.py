"""From a column of a file to numbers, text or dates."""

import contextlib
import re
from collections.abc import Sequence
from typing import Any

from censquant.io._error import TableError
from censquant.io._options import MISSING, TextOptions

NUMBER, TEXT, DATE, OTHER = "number", "text", "date", "other"

_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
_COMMA_NUMBER = r"^[+-]?\d{1,3}(\.\d{3})*,\d+$|^[+-]?\d+,\d+$|^[+-]?\d+$"
_MANY_NUMBERS = 10


class Columns:
    """Reads columns of one table, each by its name.

    Parameters
    ----------
    shown : str
        What messages call the table.
    options : TextOptions
    is_text : bool
        Whether the table's format has no types.
    """

    def __init__(self, shown: str, options: TextOptions, *, is_text: bool) -> None:
        self._shown, self._options, self._is_text = shown, options, is_text
        self._missing = {*MISSING, *options.missing}

    def values(self, column: Any) -> Any:
        """Return a column without padding, null where a value is missing; other types stay."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if _is_string(column.type):
            column = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
            missing = pa.array(sorted(self._missing), pa.large_string())
            column = pc.if_else(pc.is_in(column, missing), pa.scalar(None, column.type), column)
        return column

    def kind(self, values: Any) -> str:
        """Return what a whole column holds; text is only what can be nothing else."""
        import pyarrow as pa

        kind = _kind_of_type(values.type)
        if kind != TEXT:
            return kind
        if pa.types.is_null(values.type) or values.null_count == len(values):
            return NUMBER
        if self._parsed(values) is not None:
            return NUMBER
        return DATE if _all_match(values, _DATE) else TEXT

    def numbers(self, values: Any, name: str, first_row: int = 0) -> Any:
        """Return a column as float64 numbers, NaN where a value is missing.

        ``first_row`` is the number of rows before it, for the message about one that is no number.
        """
        import numpy as np
        import pyarrow as pa

        kind = _kind_of_type(values.type)
        if kind in (DATE, OTHER):
            raise TableError(
                f"The column {name!r} of {self._shown} must hold numbers, got {values.type}",
                remedy="convert it",
            )
        found = self._parsed(values) if kind == TEXT else values.cast(pa.float64(), safe=False)
        if found is None:
            raise self._not_numbers(values, name, first_row)
        return np.asarray(found.to_numpy(), dtype=np.float64)

    def refuse_doubtful(self, values: Any, name: str) -> None:
        """Refuse text that is probably meant to be numbers, and say how to read it."""
        import pyarrow.compute as pc

        example = self._decimal_commas(values)
        if example is not None:
            raise TableError(
                f"The column {name!r} of {self._shown} holds numbers with commas such as "
                f"{example!r}",
                [("decimal", ","), ("categorical", name), ("drop", name)],
            )
        distinct = pc.unique(values.drop_null())
        is_number = _numeric(distinct, self._options.decimal)
        n_numbers = pc.sum(is_number).as_py() or 0
        others = distinct.filter(pc.invert(is_number))
        if n_numbers > _MANY_NUMBERS and n_numbers > len(others):
            shown = ", ".join(repr(_short(one)) for one in others[:3].to_pylist())
            dots = ", ..." if len(others) > 3 else ""
            raise TableError(
                f"The column {name!r} of {self._shown} holds {n_numbers} different numbers beside "
                f"{shown}{dots}",
                [("missing", _short(others[0].as_py())), ("categorical", name), ("drop", name)],
            )

    def dates(self, values: Any, name: str, date_format: str | None) -> Any:
        """Return a column as times in nanoseconds since 1970, null where a value is missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
            return values.cast(pa.timestamp("ns", tz=getattr(values.type, "tz", None)))
        if _is_string(values.type):
            if date_format is not None:
                found = pc.strptime(values, format=date_format, unit="us", error_is_null=True)
            else:
                found = _iso_dates(values)
            wrong = pc.and_(pc.is_null(found), pc.is_valid(values))
            if not pc.any(wrong).as_py():
                return found.cast(pa.timestamp("ns"))
            row = pc.index(wrong, True).as_py()
            raise self._not_dates(values[row].as_py(), name, row, date_format)
        if values.null_count == len(values):
            return pa.nulls(len(values), pa.timestamp("ns"))
        raise TableError(
            f"The column {name!r} of {self._shown} must hold dates, got numbers",
            remedy="give durations as numbers by time",
        )

    def _parsed(self, values: Any) -> Any:
        """Return text as numbers, None if a value is none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._options.decimal != "." and _is_string(values.type):
            if pc.any(pc.match_substring(values, ".")).as_py():
                return None  # a point would be a thousands separator: the meaning is unknown
            values = pc.replace_substring(values, self._options.decimal, ".")
        try:
            return values.cast(pa.float64())
        except pa.ArrowInvalid:
            return None

    def _decimal_commas(self, values: Any) -> str | None:
        import pyarrow.compute as pc

        if self._options.decimal != "." or not _all_match(values, _COMMA_NUMBER):
            return None
        commas = values.filter(pc.fill_null(pc.match_substring(values, ","), False))
        return str(commas[0].as_py()) if len(commas) else None

    def _not_numbers(self, values: Any, name: str, first_row: int) -> TableError:
        import pyarrow.compute as pc

        example = self._decimal_commas(values)
        is_number = pc.fill_null(_numeric(values, self._options.decimal), True)
        row = pc.index(is_number, False).as_py()
        text = _short(values[row].as_py())
        where = f"The column {name!r} of {self._shown} must hold numbers, got {text!r} in row "
        options = [("missing", text)]
        if example is not None:
            options = [("decimal", ",")]
        return TableError(f"{where}{first_row + row + 1}", options, "fix it")

    def _not_dates(self, text: str, name: str, row: int, date_format: str | None) -> TableError:
        where = f"The column {name!r} of {self._shown} must hold dates"
        if date_format is not None:
            return TableError(
                f"{where} of the form {date_format}, got {_short(text)!r} in row {row + 1}"
            )
        guesses = [("date_format", form) for form in _possible_formats(text)]
        return TableError(
            f"{where} such as 2024-01-31, got {_short(text)!r} in row {row + 1}",
            guesses or [("date_format", "%d.%m.%Y")],
        )


def _possible_formats(text: str) -> list[str]:
    """Return forms in which a text is a date; where day and month may be swapped, both."""
    from datetime import datetime

    found = []
    for mark in "./- ":
        for parts in (("%d", "%m", "%Y"), ("%m", "%d", "%Y"), ("%Y", "%m", "%d")):
            form = mark.join(parts)
            try:
                datetime.strptime(text, form)
            except ValueError:
                continue
            found.append(form)
    return found


def _iso_dates(values: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    matched = pc.fill_null(pc.match_substring_regex(values, _DATE), False)
    kept = pc.if_else(matched, values, pa.scalar(None, values.type))
    try:
        return kept.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        pass
    try:  # offsets from universal time
        return kept.cast(pa.timestamp("us", tz="UTC")).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:  # the form of a date, but not a day of the calendar
        return pa.nulls(len(values), pa.timestamp("us"))


def _numeric(values: Any, decimal: str) -> Any:
    """Say of each text whether it is a number."""
    import pyarrow.compute as pc

    mark = re.escape(decimal)
    form = rf"^[+-]?(\d+({mark}\d*)?|{mark}\d+)([eE][+-]?\d+)?$|^[+-]?[iI]nf(inity)?$|^nan$"
    return pc.match_substring_regex(values, form)


def _all_match(values: Any, form: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(values, form)).as_py()) and len(values) > 0


def _is_string(type_: Any) -> bool:
    import pyarrow as pa

    named = (pa.types.is_string, pa.types.is_large_string)
    newer = getattr(pa.types, "is_string_view", None)
    return any(test(type_) for test in (*named, *([newer] if newer else [])))


def _kind_of_type(type_: Any) -> str:
    import pyarrow as pa

    if _is_string(type_) or pa.types.is_null(type_):
        return TEXT
    if any(
        test(type_)
        for test in (
            pa.types.is_integer,
            pa.types.is_floating,
            pa.types.is_decimal,
            pa.types.is_boolean,
        )
    ):
        return NUMBER
    return DATE if pa.types.is_date(type_) or pa.types.is_timestamp(type_) else OTHER


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def level_texts(values: Any) -> Any:
    """Return values as text, the same for 1 and 1.0, which files of some programs mix."""
    import pyarrow as pa

    if pa.types.is_floating(values.type):
        with contextlib.suppress(pa.ArrowInvalid):  # not whole
            values = values.cast(pa.int64())
    return values.cast(pa.large_string())


def named(names: Sequence[str]) -> str:
    """Return column names for a sentence, the first few of them."""
    shown = ", ".join(repr(name) for name in names[:5])
    return f"{shown}, ..." if len(names) > 5 else shown
