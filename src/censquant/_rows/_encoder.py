"""The encoder: what each column of a table becomes, decided once and stored as data."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from censquant._frames import is_frame
from censquant._leaks import FEWEST_ROWS, Outcome, are_row_numbers
from censquant._rows._columns import Categories, Column, Numbers, Table, UnusableColumnError
from censquant._rows._features import (
    close_name,
    listed,
    non_finite,
    text_columns,
    warn_of_leaks,
)
from censquant._rows._fit_data import copies_of
from censquant._storage._codec import Array, check_arrays
from censquant._storage._parts import Part, expect
from censquant._typing import Floats
from censquant._warn import warn_user
from censquant.exceptions import ExtrapolationWarning, FeatureWarning, ModelFileError
from censquant.survival._target import Target

Found = TypeVar("Found")

FROM_DTYPE = "from_dtype"
MOST_LEVELS = 30
"""Columns that one category can become: the most frequent levels; the others share one column."""

_ENOUGH_ROWS = 5
_ROWS_PER_ENOUGH = 10  # in small data
_LEFT_OUT = {
    "constant": "the same value in all rows",
    "empty": "no value in any row",
    "rare": "every value in very few rows, as in identifiers, dates or free text",
    "rare numbers": "numbers stored as text, each in very few rows: convert them to numbers",
    "copy": "the same content as an earlier column",
}
_KEPT = {
    "row number": "whole numbers that are all distinct, as in identifiers: drop them if they are",
    "number as text": "numbers stored as text, used as categories: convert them if they are "
    "quantities",
}
_UNKNOWN = {
    "missing": "X has missing values in the columns {}, which had none in the fit: numbers are "
    "replaced by the median of the fit, categories count as unknown levels.",
    "levels": "X has levels in the columns {} that the fit did not have: they are predicted as if "
    "they were none of the known levels.",
}


_REFUSED = {
    "missing": "X must be without missing values in the columns {}: impute them or drop the rows.",
    "levels": "X must have levels of the fit in the columns {}, got others: drop these rows, or "
    "fit to rows that have them.",
}


def enough_rows(n_rows: float) -> int:
    """Return how many rows a level must have to get a column of its own.

    Five rows: the effect of a level that is seen less often is mostly noise, and a part of the
    rows is censored at that. No share of the data is asked for, since half a per cent of a million
    rows is plenty, and :data:`MOST_LEVELS` bounds the width. In fewer than fifty rows a tenth of
    them is enough, so that a small example keeps its levels.
    """
    return max(1, min(_ENOUGH_ROWS, int(n_rows) // _ROWS_PER_ENOUGH))


@dataclass(frozen=True)
class NumberRule:
    """A column of numbers: missing values become the median, beside a column that says so."""

    median: float
    has_value: bool = True  # False where all values were equal: only whether one is missing is used
    has_missing: bool = False  # whether values were missing in the fit
    as_category = False

    def names(self, name: str) -> list[str]:
        """Return the names of the columns that the column ``name`` becomes."""
        return [name] * self.has_value + [f"{name} (missing)"] * self.has_missing

    def write(self, column: Column, out: Floats) -> str:
        """Write the columns into an array of zeros; return what was unknown in the fit, or ""."""
        assert isinstance(column, Numbers)
        missing = missing_values(column.values)
        if self.has_value:
            out[:, 0] = column.values
            if missing is not None:
                out[missing, 0] = self.median
        if missing is None:
            return ""
        if self.has_missing:
            out[missing, -1] = 1.0
        return "" if self.has_missing else "missing"


@dataclass(frozen=True)
class CategoryRule:
    """A column of levels: one column of zeros and ones per level.

    Two levels need one column, that of the second. With ``has_rare`` the levels without a column,
    and unknown ones, count as one level; otherwise unknown levels are zeros in all columns.
    """

    levels: tuple[str, ...]  # those with a column of their own, sorted
    has_rare: bool = False  # whether the fit had other levels
    has_missing: bool = False  # whether values were missing in the fit: they are a level too
    has_reference: bool = False  # whether the first level has no column, however many there are
    as_category = True

    def names(self, name: str) -> list[str]:
        """Return the names of the columns that the column ``name`` becomes."""
        named = [f"{name}={level}" for level in self.levels] + [f"{name} (rare)"] * self.has_rare
        return named[self._n_implied :] + [f"{name} (missing)"] * self.has_missing

    @property
    def has_levels(self) -> bool:
        """Whether more than missing values is used."""
        return len(self.levels) + self.has_rare > 1

    @property
    def _n_implied(self) -> int:
        """Number of levels without a column, because the other columns say it already."""
        return 1 if self.has_reference or len(self.levels) + self.has_rare <= 2 else 0

    @property
    def unknown_target(self) -> int:
        """Index of the column of levels that the fit did not have, or -1."""
        return len(self.levels) - self._n_implied if self.has_rare else -1

    def missing_target(self, width: int) -> int:
        """Return the index of the missing-value column among ``width``, or -1."""
        return width - 1 if self.has_missing else self.unknown_target

    def targets(self, levels: Sequence[str]) -> NDArray[np.intp]:
        """Return the index of the column of each level, negative for none."""
        place = {level: code - self._n_implied for code, level in enumerate(self.levels)}
        return np.array([place.get(level, self.unknown_target) for level in levels], np.intp)

    def write(self, column: Column, out: Floats) -> str:
        """Write the columns into an array of zeros; return what was unknown in the fit, or ""."""
        assert isinstance(column, Categories)
        targets = self.targets(column.levels)
        # The last entry is that of a missing value, whose code is -1.
        target = np.append(targets, self.missing_target(out.shape[1]))[column.codes]
        rows = np.flatnonzero(target >= 0)
        out[rows, target[rows]] = 1.0
        if not self.has_missing and (column.codes < 0).any():
            return "missing"
        if not self.has_rare and _has_other_levels(column, self.levels):
            return "levels"
        return ""


Rule = NumberRule | CategoryRule


def _has_other_levels(column: Categories, known: Sequence[str]) -> bool:
    other = [code for code, level in enumerate(column.levels) if level not in known]
    # Levels that a categorical type declares need not occur.
    return bool(other) and bool(np.isin(column.codes, other).any())


def missing_values(values: Floats) -> NDArray[np.bool_] | None:
    """Return where numbers are missing, None if nowhere; infinity is refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return None
    if np.isinf(values).any():
        raise UnusableColumnError("infinity")
    missing = np.isnan(values)
    return missing if missing.any() else None


def fitted_number_rule(column: Numbers, weight: Floats | None) -> NumberRule | None:
    """Return the rule for a column of numbers, None if nothing can be learned from it."""
    values, missing = column.values, missing_values(column.values)
    if missing is not None:
        values = values[~missing]
        weight = None if weight is None else weight[~missing]
        if not len(values):
            return None
    varies = bool((values != values[0]).any())
    if not varies and missing is None:
        return None
    return NumberRule(_median(values, weight), varies, missing is not None)


def fitted_category_rule(column: Categories, weight: Floats | None) -> CategoryRule | None:
    """Return the rule for a column of levels, None if nothing can be learned from it."""
    present = column.codes >= 0
    counts = np.bincount(
        column.codes[present],
        weights=None if weight is None else weight[present],
        minlength=len(column.levels),
    )
    n_rows = len(column.codes) if weight is None else float(weight.sum())
    frequent = np.flatnonzero(counts >= enough_rows(n_rows))
    ranked = sorted(frequent.tolist(), key=lambda code: (-counts[code], column.levels[code]))
    kept = ranked[:MOST_LEVELS]
    if not present.any():
        return None
    rule = CategoryRule(
        levels=tuple(sorted(column.levels[code] for code in kept)),
        has_rare=bool((counts > 0).sum() > len(kept)),
        has_missing=not present.all(),
    )
    return rule if rule.names("") else None


def _median(values: Floats, weight: Floats | None) -> float:
    """Return the median; a row of weight 3 counts as three rows."""
    if weight is None:
        low, high = (len(values) - 1) // 2, len(values) // 2
        ordered: NDArray[Any] = np.partition(values, [low, high])
    else:
        # Equal values are ordered by their weights: sums must not depend on the order of rows.
        order = np.lexsort((weight, values))
        ordered, total = values[order], np.cumsum(weight[order])
        low, high = (
            int(np.searchsorted(total, total[-1] / 2.0, side=side)) for side in ("left", "right")
        )
        high = min(high, len(ordered) - 1)
    # Halves are added, since the sum of two large numbers may overflow.
    return float(ordered[low] / 2.0 + ordered[high] / 2.0)


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
    """

    names: tuple[str, ...]
    rules: tuple[Rule | None, ...]  # None for columns that are left out

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

    def transform(self, X: Any, *, warn: bool = True, refuse: bool = False) -> Floats:
        """Return the table as finite numbers.

        ``refuse`` raises where others warn: missing values and levels that the fit did not have.
        """
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
        for kind, names in unknown.items() if refuse else ():
            raise ValueError(_REFUSED[kind].format(listed(names)))
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


def known_numbers(X: Any) -> Floats:
    """Return the numbers that can be made of a table as it is.

    For looking at features that no model is fitted to: columns of dates and the like are left out,
    and nothing is warned of.
    """
    table = Table(X)
    parts = [np.empty((table.n_rows, 0))]
    for place in range(table.n_columns):
        try:
            column = table.column(place, as_category=None)
            rule = _fitted_rule(column, None)
        except UnusableColumnError:
            continue
        if rule is not None:
            parts.append(np.zeros((table.n_rows, len(rule.names("")))))
            rule.write(column, parts[-1])
    return np.hstack(parts)


def reference_encoder(X: Any) -> FrameEncoder | None:
    """Return an encoder of columns of text by their differences from the first level.

    Numbers stay as they are, and all levels have a column. It is None for tables of numbers, and
    where a column can be neither, which is left to those who refuse it by name.
    """
    if not is_frame(X) or not hasattr(X, "dtypes") or not text_columns(X):
        return None
    table = Table(X)
    names, rules = table.names(), list[Rule]()
    for place, name in enumerate(names):
        try:
            column = table.column(place, as_category=None)
        except UnusableColumnError:
            return None
        if isinstance(column, Numbers):
            rules.append(NumberRule(0.0))
            continue
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
        levels = sorted(level for level, n in zip(column.levels, counts, strict=True) if n)
        if len(levels) > MOST_LEVELS:
            raise ValueError(
                f"X must have at most {MOST_LEVELS} levels in a column of text, got {len(levels)} "
                f"in {name!r}: drop the column, or merge levels."
            )
        has_missing = bool((column.codes < 0).any())
        if len(levels) + has_missing < 2:
            return None
        rules.append(CategoryRule(tuple(levels), False, has_missing, has_reference=True))
    return FrameEncoder(tuple(names), tuple(rules))


def _fitted_rule(column: Column, weight: Floats | None) -> Rule | None:
    if isinstance(column, Numbers):
        return fitted_number_rule(column, weight)
    return fitted_category_rule(column, weight)


def _counted(weight: Floats | None) -> tuple[NDArray[np.bool_] | None, Floats | None]:
    """Return rows with weight and their multiplicities; None, None if every row counts once."""
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


# Which columns the user declares to be categories


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


# What is odd about columns, in one warning or error


@dataclass
class Findings:
    """Names of odd columns, by what is odd about them, and of those that give ``outcome`` away."""

    columns: dict[str, list[str]] = field(default_factory=dict)
    outcome: Outcome | None = None
    leaks: dict[str, list[str]] = field(default_factory=dict)
    _contents: set[bytes] = field(default_factory=set)

    def add(self, name: str, column: Column, rule: Rule | None) -> bool:
        """Look at a column and its rule; return whether the column is used."""
        if rule is not None and self._is_copy(column):
            self._note("copy", name)
            return False
        if isinstance(column, Categories):
            assert not isinstance(rule, NumberRule)
            self._look_at_levels(name, column, rule)
        elif rule is None:
            self._note("empty" if np.isnan(column.values[0]) else "constant", name)
        elif column.is_whole and are_row_numbers(column.values):
            self._note("row number", name)
        if rule is not None and self.outcome is not None:
            self._look_for_leaks(name, column, self.outcome)
        return rule is not None

    def message(self) -> str:
        """Return the text of the warning, empty if nothing is odd."""
        sentences = []
        if left_out := self._described(_LEFT_OUT):
            sentences.append(f"X has columns that are left out of the fit: {left_out}.")
        if kept := self._described(_KEPT):
            sentences.append(f"X has columns that are worth a look: {kept}.")
        return " ".join(sentences)

    def _described(self, reasons: dict[str, str]) -> str:
        return "; ".join(
            f"{listed(self.columns[kind])} ({reason})"
            for kind, reason in reasons.items()
            if self.columns.get(kind)
        )

    def _note(self, kind: str, name: str) -> None:
        self.columns.setdefault(kind, []).append(name)

    def _look_for_leaks(self, name: str, column: Column, outcome: Outcome) -> None:
        values = column.codes if isinstance(column, Categories) else column.values
        if reason := outcome.find_leak(values) or outcome.find_near_leak(values):
            self.leaks.setdefault(reason, []).append(name)

    def _look_at_levels(self, name: str, column: Categories, rule: CategoryRule | None) -> None:
        n_seen = np.count_nonzero(np.bincount(column.codes + 1)[1:])
        if n_seen <= 1:
            if rule is None:
                self._note("constant" if n_seen else "empty", name)
        elif (rule is None or rule.has_rare) and column.is_text and _are_numbers(column.levels):
            self._note("rare numbers" if rule is None else "number as text", name)
        elif rule is None or not rule.has_levels:
            self._note("rare", name)

    def _is_copy(self, column: Column) -> bool:
        kind, values = column.content()
        digest = blake2b(np.ascontiguousarray(values).data, digest_size=16)
        digest.update(kind)
        content = digest.digest()
        if content in self._contents:
            return True
        self._contents.add(content)
        return False


def _are_numbers(levels: Iterable[str]) -> bool:
    try:
        return bool(np.isfinite([float(level) for level in levels]).all())
    except ValueError:
        return False


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


_CLASS = "FrameEncoder"
_NO_RULE, _CATEGORY = 0, 1
_NUMBER = {2: (True, False), 3: (False, True), 4: (True, True)}  # has_value, has_missing
_CODE = {flags: code for code, flags in _NUMBER.items()}


def encoder_part(encoder: FrameEncoder) -> Part:
    """Return the encoder as data; the names of the columns are those of its estimator.

    Its arrays have a code and a median per column. Levels are listed by the place of their column.
    """
    kinds = np.array([_kind(rule) for rule in encoder.rules], dtype=np.uint8)
    medians = [rule.median if isinstance(rule, NumberRule) else 0.0 for rule in encoder.rules]
    entries = {
        str(place): {
            "levels": list(rule.levels),
            "rare": rule.has_rare,
            "missing": rule.has_missing,
            **({"reference": True} if rule.has_reference else {}),
        }
        for place, rule in enumerate(encoder.rules)
        if isinstance(rule, CategoryRule)
    }
    said = []
    if (kinds >= min(_NUMBER)).any():
        said.append("median of each numeric feature and whether it had missing values")
    if entries:
        said.append("levels of each categorical feature (at most 30) and whether it had others")
    return Part(
        _CLASS,
        {},
        {"categories": entries},
        {"kinds": kinds, "medians": np.array(medians, dtype=np.float64)},
        contents=tuple(said),
    )


def restored_encoder(part: Part, names: Sequence[str]) -> FrameEncoder:
    """Return the encoder that :func:`encoder_part` made a part of."""
    if part.class_name != _CLASS or part.parameters or part.parts or not part.fitted:
        raise ModelFileError("holds something else in the place of its encoder of columns.")
    shape = (len(names),)
    check_arrays(part.arrays, {"kinds": Array("u1", shape), "medians": Array("f8", shape)})
    kinds = part.arrays["kinds"].tolist()
    medians = part.arrays["medians"].tolist()
    entries = dict(expect("categories", part.description["categories"], dict))
    if set(part.description) != {"categories"}:
        raise ModelFileError("describes more of its encoder of columns than there is.")
    rules: list[Rule | None] = []
    for place, (kind, median) in enumerate(zip(kinds, medians, strict=True)):
        if kind in _NUMBER:
            rules.append(NumberRule(median, *_NUMBER[kind]))
        elif kind == _CATEGORY:
            rules.append(_restored_category(entries.pop(str(place))))
        elif kind == _NO_RULE:
            rules.append(None)
        else:
            raise ModelFileError(f"has a column of an unknown kind: {kind}.")
    if entries:
        raise ModelFileError("has levels of columns that are not categories.")
    return FrameEncoder(tuple(names), tuple(rules))


def _kind(rule: Rule | None) -> int:
    if isinstance(rule, NumberRule):
        return _CODE[rule.has_value, rule.has_missing]
    return _NO_RULE if rule is None else _CATEGORY


def _restored_category(entry: Any) -> CategoryRule:
    if set(expect("categories", entry, dict)) - {"reference"} != {"levels", "rare", "missing"}:
        raise ModelFileError("does not describe a category by its levels.")
    levels = [expect("level", level, str) for level in expect("levels", entry["levels"], list)]
    if len(levels) > MOST_LEVELS or any(a >= b for a, b in pairwise(levels)):
        raise ModelFileError(
            f"must hold at most {MOST_LEVELS} distinct and sorted levels of each category."
        )
    rule = CategoryRule(
        tuple(levels),
        expect("rare", entry["rare"], bool),
        expect("missing", entry["missing"], bool),
        expect("reference", entry.get("reference", False), bool),
    )
    if not rule.names(""):
        raise ModelFileError("has a category without levels.")
    return rule
