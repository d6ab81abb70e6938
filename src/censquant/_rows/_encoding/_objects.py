"""Columns of Python objects: what they are is known from the types of their values."""

from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from censquant._rows._encoding._values import (
    Categories,
    Column,
    Numbers,
    UnusableColumnError,
    categories,
    flag_text,
    number_text,
)


def read_objects(values: Sequence[Any], *, as_category: bool | None) -> Column:
    """Return a column of Python objects as numbers or levels."""
    kinds = _kinds(values)
    if "text" in kinds.values():
        # An empty text says nothing: files of tables and exported models know no other way to say
        # that a value is missing.
        values = [None if isinstance(value, str) and not value else value for value in values]
        kinds = _kinds(values)
    found = set(kinds.values())
    if unusable := found - {"text", "flag", "number", "missing"}:
        raise UnusableColumnError(min(unusable))
    if as_category or (as_category is None and "text" in found):
        return _categories(values, kinds, is_text=as_category is None)
    if "text" in found:
        raise UnusableColumnError("text")
    return _numbers(values, kinds)


def level_text(value: Any) -> str | None:
    """Return a level of a categorical type, which may be anything, as text; None for an empty one.

    An empty text stands for a missing value.
    """
    return _text(value, _kind(type(value))) or str(value) or None


def _kinds(values: Sequence[Any]) -> dict[type, str]:
    """Return what the types of some values are."""
    return {type_: _kind(type_) for type_ in set(map(type, values))}


def _kind(type_: type) -> str:
    """Return what values of a type are; the name of the type where nothing is known of it."""
    # pandas' NaT is a datetime, and numpy's timedelta an integer: the order of the tests counts.
    if type_ is type(None) or type_.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(type_, str):
        return "text"
    if issubclass(type_, bool | np.bool_):
        return "flag"
    times = date | time | timedelta | np.datetime64 | np.timedelta64
    if issubclass(type_, times) or type_.__name__ == "Period":
        return "times"
    if issubclass(type_, Real | Decimal):
        return "number"
    return type_.__name__


def _numbers(values: Sequence[Any], kinds: dict[type, str]) -> Numbers:
    missing = {type_ for type_, kind in kinds.items() if kind == "missing"}
    if missing:
        values = [np.nan if type(value) in missing else value for value in values]
    try:
        return Numbers(np.array(values, dtype=np.float64))
    except OverflowError:
        raise UnusableColumnError("infinity") from None


def _categories(values: Sequence[Any], kinds: dict[type, str], *, is_text: bool) -> Categories:
    if {"flag", "number"} <= set(kinds.values()):
        # True equals 1 and would be one key with it, whichever comes first.
        values = [flag_text(v) if kinds[type(v)] == "flag" else v for v in values]
        kinds = {**kinds, str: "text"}
    distinct = list(set(values))
    texts = [_text(value, kinds[type(value)]) for value in distinct]
    place = {value: index for index, value in enumerate(distinct)}
    index = np.fromiter(map(place.__getitem__, values), dtype=np.intp, count=len(values))
    return categories(texts, index, is_text=is_text)


def _text(value: Any, kind: str) -> str | None:
    if kind == "text":
        return str.__str__(value)  # an enumeration of strings has a str() of its own
    if kind == "flag":
        return flag_text(value)
    return number_text(value) if kind == "number" else None
