"""From a column of a file to numbers, text or dates."""

import contextlib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from censquant.io._options import MISSING, THOUSANDS, TableError, TextOptions, option

NUMBER, TEXT, DATE, OTHER = "number", "text", "date", "other"

_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
_ZONE = r"(Z|[+-]\d{2}:?\d{2})$"
_MANY_NUMBERS = 10
# Numbers with three decimals beside so many without any, or with decimals that end with 0, which
# no program writes beside numbers without decimals, are probably thousands.
_FEW = 3
_FIRST_ROWS = 1_000
_ALONE = "write plain numbers, without units, currencies and other signs"
_OTHER_USES = f"{_ALONE}, or name the column by {option('categorical')} or {option('drop')}"
# Dates outside of these years stand for a missing one.
_FIRST_YEAR, _LAST_YEAR = 1000, 2199


class Columns:
    """Turns columns of one table, which messages call ``shown``, into numbers, text and dates."""

    def __init__(self, shown: str, options: TextOptions) -> None:
        self._shown, self._options = shown, options
        self._missing = {*MISSING, *options.missing}

    def values(self, column: Any) -> Any:
        """Return a column without padding, null where a value is missing; other types stay."""
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if _is_string(column.type):
            column = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
            missing = pa.array(sorted(self._missing), pa.large_string())
            column = pc.if_else(pc.is_in(column, missing), pa.scalar(None, column.type), column)
        return column

    def kind(self, values: Any) -> str:
        """Return what a whole column holds; text is only what can be nothing else."""
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
        kind = _kind_of_type(values.type)
        if kind in (DATE, OTHER):
            raise TableError(
                f"The column {name!r} of {self._shown} must hold numbers, got {values.type}",
                remedy="convert it",
            )
        found = self._parsed(values) if kind == TEXT else values.cast(pa.float64(), safe=False)
        if found is None:
            raise self._not_numbers(values, name, first_row)
        if kind == TEXT:
            self._refuse_thousands(values, name)
        return np.asarray(found.to_numpy(), dtype=np.float64)

    def text_notes(self, numbers: Sequence[Any]) -> dict[str, Any]:
        """Return options for further tables; a decimal mark that was found counts as given."""
        mark = self._options.decimal_mark
        is_there = any(
            _is_string(column.type) and pc.any(pc.match_substring(column, mark)).as_py()
            for column in numbers
        )
        notes = self._options.to_dict()
        return {**notes, "decimal": mark} if is_there else notes

    def refuse_doubtful(self, values: Any, name: str) -> None:
        """Refuse text that is probably meant to be numbers, and say how to read it."""
        other_uses = [("categorical", name), ("drop", name)]
        if marks := self._marks_for(values):
            example = _short(values[self._first_wrong(values)].as_py())
            raise TableError(
                f"The column {name!r} of {self._shown} holds numbers such as {example!r}",
                [*marks, *other_uses],
            )
        distinct = pc.unique(values.drop_null())
        if self._options.thousands and _all_match(distinct, r"^[+-]?\d*[.,]?\d+$"):
            raise TableError(
                f"The column {name!r} of {self._shown} holds numbers such as "
                f"{_short(values[self._first_wrong(values)].as_py())!r}, in which "
                f"{self._options.thousands!r} separates no thousands",
                other_uses,
                "write all numbers in the same way",
            )
        if len(distinct) > _MANY_NUMBERS and _have_one_unit(distinct):
            raise TableError(
                f"The column {name!r} of {self._shown} holds numbers such as "
                f"{_short(distinct[0].as_py())!r}",
                remedy=_OTHER_USES,
            )
        is_number = self._numeric(distinct)
        n_numbers = pc.sum(is_number).as_py() or 0
        others = distinct.filter(pc.invert(is_number))
        if n_numbers > _MANY_NUMBERS and n_numbers > len(others):
            shown = ", ".join(repr(_short(one)) for one in others[:3].to_pylist())
            dots = ", ..." if len(others) > 3 else ""
            problem = (
                f"The column {name!r} of {self._shown} holds {n_numbers} different numbers beside "
                f"{shown}{dots}"
            )
            if _has_digits(others[0].as_py()):
                raise TableError(problem, remedy=_OTHER_USES)
            raise TableError(problem, [("missing", _short(others[0].as_py())), *other_uses])

    def dates(self, values: Any, name: str, date_format: str | None) -> Any:
        """Return a column as times in microseconds, null where a value is missing.

        Those with a time zone have the type of universal time, others have none.
        """
        if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
            zone = "UTC" if getattr(values.type, "tz", None) else None
            found = values.cast(pa.timestamp("us", tz=zone), safe=False)
        elif _is_string(values.type):
            if date_format is not None:
                found = pc.strptime(values, format=date_format, unit="us", error_is_null=True)
            else:
                self._refuse_some_zones(values, name)
                found = _iso_dates(values)
            wrong = pc.and_(pc.is_null(found), pc.is_valid(values))
            if pc.any(wrong).as_py():
                row = pc.index(wrong, True).as_py()
                raise self._not_dates(values[row].as_py(), name, row, date_format)
        elif values.null_count == len(values):
            return pa.nulls(len(values), pa.timestamp("us"))
        else:
            raise TableError(
                f"The column {name!r} of {self._shown} must hold dates, got numbers",
                remedy=f"give durations as numbers by {option('time')}",
            )
        self._refuse_endless(values, found, name)
        return found

    def _refuse_some_zones(self, values: Any, name: str) -> None:
        dates = values.filter(pc.fill_null(pc.match_substring_regex(values, _DATE), False))
        zoned = pc.match_substring_regex(dates, _ZONE)
        with_zone, without = (dates.filter(some) for some in (zoned, pc.invert(zoned)))
        if len(with_zone) and len(without):
            first, other = with_zone[0].as_py(), without[0].as_py()
            raise TableError(
                f"The column {name!r} of {self._shown} holds dates with a time zone such as "
                f"{first!r} and without one such as {other!r}",
                remedy="write all of them in the same way",
            )

    def _refuse_endless(self, values: Any, dates: Any, name: str) -> None:
        """Refuse dates that stand for no date, such as 9999-12-31."""
        year = pc.year(dates)
        wrong = pc.or_(pc.less(year, _FIRST_YEAR), pc.greater(year, _LAST_YEAR))
        if not pc.any(wrong).as_py():
            return
        row = pc.index(pc.fill_null(wrong, False), True).as_py()
        text = str(values[row].as_py())
        raise TableError(
            f"The column {name!r} of {self._shown} holds the date {text} in row {row + 1}, which "
            "stands for no date",
            [("missing", text)] if _is_string(values.type) else [],
            "leave such dates empty",
        )

    def _parsed(self, values: Any) -> Any:
        """Return text as numbers, None if a value is none."""
        decimal, thousands = self._options.decimal_mark, self._options.thousands
        if _is_string(values.type):
            if thousands is not None:
                if not pc.all(self._numeric(values)).as_py() and values.null_count < len(values):
                    return None
                values = pc.replace_substring_regex(values, _mark_form(thousands), "")
            if decimal != ".":
                if pc.any(pc.match_substring(values, ".")).as_py():
                    return None  # a point would be a thousands separator: the meaning is unknown
                values = pc.replace_substring(values, decimal, ".")
        try:
            return values.cast(pa.float64())
        except pa.ArrowInvalid:
            return None

    def _refuse_thousands(self, values: Any, name: str) -> None:
        """Refuse numbers in which the decimal mark may separate thousands."""
        decimal = self._options.decimal_mark
        # Commas are decimal marks only where an option sets them, for the table as a whole.
        is_settled = self._options.decimal is not None and decimal == "."
        if is_settled or self._options.thousands is not None or not _is_string(values.type):
            return
        if not _looks_like_thousands(values[:_FIRST_ROWS], decimal, few=0):
            return
        if _looks_like_thousands(values, decimal, few=_FEW):
            place = pc.index(pc.match_substring(values, decimal), True).as_py()
            text = values[place].as_py()
            other = ("decimal", ".") if decimal == "." else ("thousands", ".")
            raise TableError(
                f"The column {name!r} of {self._shown} holds {text!r}, and it is not clear whether "
                f"that is {text.replace(decimal, '')} or {text.replace(decimal, '.')}",
                [("thousands", decimal), other],
            )

    def may_hold_thousands(self, values: Any) -> bool:
        """Whether all values have three decimals, which may be thousands."""
        mark, given = self._options.decimal_mark, self._options
        if given.decimal or given.thousands or not _is_string(values.type):
            return False
        form = _three_decimals(mark)
        return _all_match(values[:_FIRST_ROWS], form) and _all_match(values, form)

    def _marks_for(self, values: Any) -> list[tuple[str, str]]:
        """Return the options, any of which makes a column of text one of numbers."""
        found = []
        if self._options.thousands is None:
            for mark in THOUSANDS:
                decimals = [self._options.decimal or ("," if mark == "." else ".")]
                if mark in " '" and self._options.decimal is None:
                    decimals.append(",")
                if pc.any(pc.match_substring_regex(values, _mark_form(mark))).as_py() and any(
                    mark != decimal and _all_match(values, _number_form(decimal, mark))
                    for decimal in decimals
                ):
                    found.append(("thousands", mark))
        thousands = self._options.thousands
        other = "." if self._options.decimal_mark == "," else ","
        if thousands != other and _all_match(values, _number_form(other, thousands)):
            found.append(("decimal", other))
        return found

    def _numeric(self, values: Any) -> Any:
        """Mark the texts that are numbers."""
        form = _number_form(self._options.decimal_mark, self._options.thousands)
        return pc.match_substring_regex(values, form)

    def _first_wrong(self, values: Any) -> int:
        return int(pc.index(pc.fill_null(self._numeric(values), True), False).as_py())

    def _not_numbers(self, values: Any, name: str, first_row: int) -> TableError:
        row = self._first_wrong(values)
        text = _short(values[row].as_py())
        where = f"The column {name!r} of {self._shown} must hold numbers, got {text!r} in row "
        options, remedy = self._marks_for(values), "fix it"
        if not options and _has_digits(text):
            remedy = _ALONE
        elif not options:
            options = [("missing", text)]
        return TableError(f"{where}{first_row + row + 1}", options, remedy)

    def _not_dates(self, text: str, name: str, row: int, date_format: str | None) -> TableError:
        where = f"The column {name!r} of {self._shown} must hold dates"
        if date_format is not None:
            return TableError(
                f"{where} of the form {date_format}, got {_short(text)!r} in row {row + 1}"
            )
        if re.match(_DATE, text):
            return TableError(
                f"{where} of the calendar, got {_short(text)!r} in row {row + 1}", remedy="fix it"
            )
        guesses = [("date_format", form) for form in _possible_formats(text)]
        return TableError(
            f"{where} such as 2024-01-31, got {_short(text)!r} in row {row + 1}",
            guesses or [("date_format", "%d.%m.%Y")],
        )


def _possible_formats(text: str) -> list[str]:
    """Return forms in which a text is a date; where day and month may be swapped, both."""
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
    matched = pc.fill_null(pc.match_substring_regex(values, _DATE), False)
    kept = pc.if_else(matched, values, pa.scalar(None, values.type))
    try:
        return kept.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        pass
    try:  # offsets from universal time
        return kept.cast(pa.timestamp("us", tz="UTC"))
    except pa.ArrowInvalid:  # the form of a date, but not a day of the calendar
        days = [_day(text) for text in kept.to_pylist()]
        return pa.chunked_array([pa.array(days, pa.timestamp("us"))])


def _day(text: str | None) -> datetime | None:
    """Return the day of a date, None if there is no such day."""
    try:
        return None if text is None else datetime.fromisoformat(text[:10])
    except ValueError:
        return None


def _number_form(decimal: str, thousands: str | None) -> str:
    """Return the form of a number, with thousands in groups of three where there is a mark."""
    point = re.escape(decimal)
    grouped = "" if thousands is None else rf"\d{{1,3}}({_mark_form(thousands)}\d{{3}})+|"
    digits = rf"(({grouped}\d+)({point}\d*)?|{point}\d+)"
    return rf"^[+-]?{digits}([eE][+-]?\d+)?$|^[+-]?[iI]nf(inity)?$|^nan$"


def _mark_form(mark: str) -> str:
    """Return a mark of thousands; spaces are often those that do not break lines."""
    return {" ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}.get(mark, re.escape(mark))


def _three_decimals(decimal: str) -> str:
    """Return the form of a number from 1 to 999 with three decimals, or of thousands."""
    return rf"^[+-]?[1-9]\d{{0,2}}{re.escape(decimal)}\d{{3}}$"


def _looks_like_thousands(values: Any, decimal: str, *, few: int) -> bool:
    """Whether all numbers with a decimal mark have three decimals, and others are below 1000.

    ``few`` is how many of each kind there must be, unless a decimal ends with 0.
    """
    marked = values.filter(pc.fill_null(pc.match_substring(values, decimal), False))
    if not _all_match(marked, _three_decimals(decimal)):
        return few == 0 and len(marked) == 0
    n_whole = len(values) - values.null_count - len(marked)
    plain = values.filter(pc.fill_null(pc.invert(pc.match_substring(values, decimal)), False))
    if n_whole and not _all_match(plain, r"^[+-]?\d{1,3}$"):
        return False
    if few and n_whole and pc.any(pc.ends_with(marked, "0")).as_py():
        return True
    return n_whole >= few and len(marked) >= few


def _have_one_unit(texts: Any) -> bool:
    """Whether texts are numbers that all have the same unit behind or currency before them."""
    # Letters in front are those of identifiers.
    form = r"^(?P<before>[^\w\s+.-]?\s*)[+-]?\d[\d.,]*(?P<behind>\s*[^\d\s][^\d]*|)$"
    parts = pc.extract_regex(texts, form)
    if parts.null_count:
        return False
    units = [pc.unique(pc.struct_field(parts, place)).to_pylist() for place in (0, 1)]
    return all(len(found) == 1 for found in units) and any(found[0] for found in units)


def _has_digits(text: str) -> bool:
    """Whether a text may be a quantity, which must not be counted as missing."""
    return any(letter.isdigit() for letter in text)


def _all_match(values: Any, form: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, form)).as_py()) and len(values) > 0


def _is_string(type_: Any) -> bool:
    tests = ("is_string", "is_large_string", "is_string_view")  # the last of newer versions
    return any(getattr(pa.types, test, lambda _: False)(type_) for test in tests)


def _kind_of_type(type_: Any) -> str:
    if _is_string(type_) or pa.types.is_null(type_):
        return TEXT
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    if any(test(type_) for test in tests):
        return NUMBER
    return DATE if pa.types.is_date(type_) or pa.types.is_timestamp(type_) else OTHER


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def level_texts(values: Any) -> Any:
    """Return values as text, the same for 1 and 1.0, which files of some programs mix."""
    if pa.types.is_floating(values.type):
        with contextlib.suppress(pa.ArrowInvalid):  # not whole
            values = values.cast(pa.int64())
    return values.cast(pa.large_string())


def list_names(names: Sequence[str]) -> str:
    """Return the first few column names for a sentence."""
    shown = ", ".join(repr(name) for name in names[:5])
    return f"{shown}, ..." if len(names) > 5 else shown
