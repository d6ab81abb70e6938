"""What a fit has found odd about columns, said in one warning."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from censquant._leaks import Outcome
from censquant._row_numbers import are_row_numbers
from censquant._rows._encoding._rules import CategoryRule, NumberRule, Rule
from censquant._rows._encoding._values import Categories, Column
from censquant._rows._features import listed

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
        if reason := outcome.told_by(values) or outcome.nearly_told_by(values):
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
