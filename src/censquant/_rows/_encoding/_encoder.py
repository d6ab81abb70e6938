"""The encoder: what was decided for each column in the fit, applied to any table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from censquant._leaks import FEWEST_ROWS, Outcome
from censquant._rows._encoding._findings import Findings
from censquant._rows._encoding._refusals import unusable_columns
from censquant._rows._encoding._rules import (
    NumberRule,
    Rule,
    fitted_category_rule,
    fitted_number_rule,
)
from censquant._rows._encoding._selection import FROM_DTYPE, declared_categories
from censquant._rows._encoding._table import Table
from censquant._rows._encoding._values import Column, Numbers, UnusableColumnError
from censquant._rows._features import listed, warn_of_leaks
from censquant._rows._row_order import copies_of
from censquant._typing import Floats
from censquant._warn import warn_user
from censquant.exceptions import ExtrapolationWarning, FeatureWarning
from censquant.survival import Target

Found = TypeVar("Found")

_UNKNOWN = {
    "missing": "X has missing values in the columns {}, which had none in the fit: numbers are "
    "replaced by the median of the fit, categories count as unknown levels.",
    "levels": "X has levels in the columns {} that the fit did not have: they are predicted as if "
    "they were none of the known levels.",
}


@dataclass(frozen=True, eq=False)
class FrameEncoder:
    """Turns data frames with text, categories and missing values into finite numbers.

    - Numbers stay as they are. Missing ones become the median, and a column of zeros and ones says
      where. Booleans are 0 and 1.
    - Categories become one column of zeros and ones per level; two levels become one column.
      Missing values are a level where they occur. Levels of fewer than five rows, and those beyond
      the thirty most frequent, share one column, which unknown levels get as well. Where there is
      no such column, unknown levels are zeros in all columns, with a warning.
    - Columns that are constant or without a value, and text of which every value is rare, such as
      identifiers, are left out. Of columns with the same content the first is used. One warning
      names all of them.
    - Infinity, dates, times and nested objects are refused by the name of their column.

    Nothing depends on the order of the rows. Columns are read one at a time, so that memory beyond
    the result stays that of a few columns.

    Parameters
    ----------
    names : tuple of str
        Of the columns that are encoded.
    rules : tuple
        One per column, None for those that are left out.
    """

    names: tuple[str, ...]
    rules: tuple[Rule | None, ...]

    @classmethod
    def fit(
        cls,
        X: Any,
        names: Sequence[str] | None = None,
        *,
        categorical_features: Any = FROM_DTYPE,
        weight: Floats | None = None,
        target: Target | None = None,
    ) -> "FrameEncoder":
        """Decide what each column becomes; odd columns are named in one warning."""
        table = Table(X)
        names = table.names() if names is None else names
        declared = declared_categories(categorical_features, names)
        counted, weight = _counted(weight)
        findings = Findings(outcome=_outcome(target, counted))

        def rule_of(place: int) -> Rule | None:
            column = table.column(place, as_category=declared[place])
            if counted is not None:
                column = column.take(counted)
            rule = _fitted_rule(column, weight)
            return rule if findings.add(names[place], column, rule) else None

        rules = _for_each(range(table.n_columns), rule_of, names)
        if message := findings.message():
            warn_user(message, FeatureWarning)
        warn_of_leaks(findings.leaks)
        return cls(tuple(names), tuple(rules))

    @cached_property
    def feature_names_out(self) -> list[str]:
        """Names of the columns of :meth:`transform`, such as ``age`` and ``stage=II``."""
        pairs = zip(self.names, self.rules, strict=True)
        named = [out for name, rule in pairs if rule is not None for out in rule.names(name)]
        return named or ["(constant)"]

    @cached_property
    def origins(self) -> NDArray[np.intp]:
        """For each column of :meth:`transform` the place of the column that it comes from.

        It is -1 for the column of zeros that is returned if all columns were left out.
        """
        found = np.repeat(np.arange(len(self.rules)), np.diff(self._starts))
        return found if len(found) else np.array([-1])

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        """Where the output of each column begins, and the last one ends."""
        widths = [0 if rule is None else len(rule.names("")) for rule in self.rules]
        return np.cumsum([0, *widths])

    def transform(self, X: Any, *, warn: bool = True) -> Floats:
        """Return the table as finite numbers."""
        table = Table(X)
        if table.n_columns != len(self.rules):
            raise ValueError(
                f"X must have the {len(self.rules)} columns of the fit, got {table.n_columns}."
            )
        if self._keeps_numbers:
            plain = table.plain_numbers()
            if plain is not None:
                return plain
        out = np.zeros((table.n_rows, len(self.origins)))
        unknown: dict[str, list[str]] = {}

        def write(place: int) -> None:
            rule = self.rules[place]
            assert rule is not None
            column = table.column(place, as_category=rule.as_category)
            start, stop = self._starts[place : place + 2]
            found = rule.write(column, out[:, start:stop])
            if found:
                unknown.setdefault(found, []).append(self.names[place])

        used = [place for place, rule in enumerate(self.rules) if rule is not None]
        _for_each(used, write, self.names)
        for kind, names in unknown.items() if warn else ():
            warn_user(_UNKNOWN[kind].format(listed(names)), ExtrapolationWarning)
        return out

    @cached_property
    def _keeps_numbers(self) -> bool:
        """Whether finite numbers come out as they are."""
        return all(
            isinstance(rule, NumberRule) and rule.has_value and not rule.has_missing
            for rule in self.rules
        )


def _fitted_rule(column: Column, weight: Floats | None) -> Rule | None:
    if isinstance(column, Numbers):
        return fitted_number_rule(column, weight)
    return fitted_category_rule(column, weight)


def _counted(weight: Floats | None) -> tuple[NDArray[np.bool_] | None, Floats | None]:
    """Return which rows count and how often; None for all of them, and for once."""
    if weight is None or (weight == 1.0).all():
        return None, None
    counted = weight > 0
    weight = weight[counted]
    if copies_of(weight) is None:
        weight = weight / weight.mean()
    return None if counted.all() else counted, weight


def _outcome(target: Target | None, counted: NDArray[np.bool_] | None) -> Outcome | None:
    """Return what columns are compared with, None where there are too few rows for it."""
    if target is None:
        return None
    used = target if counted is None else target.take(counted)
    return Outcome(used.time, used.event) if len(used) >= FEWEST_ROWS else None


def _for_each(
    places: Sequence[int], act: Callable[[int], Found], names: Sequence[str]
) -> list[Found]:
    """Do something with each column; those that cannot be used are refused together."""
    done, refused = [], dict[str, list[str]]()
    for place in places:
        try:
            done.append(act(place))
        except UnusableColumnError as error:
            refused.setdefault(error.kind, []).append(names[place])
    if refused:
        raise unusable_columns(*next(iter(refused.items())))
    return done
