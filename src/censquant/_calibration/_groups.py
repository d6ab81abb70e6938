"""Calibration by subgroup, and the bounds and curves of new rows that follow from it."""

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from censquant._calibration._censoring import CensoringCurves
from censquant._calibration._coverage import CoverageRow
from censquant._calibration._family import BoundFamily, Recalibration
from censquant._calibration._methods import METHODS
from censquant._calibration._rules import (
    BoundMethod,
    BoundRule,
    Calibrated,
    CalibrationRows,
    Flags,
    IndexRule,
    MiscoverageCurve,
    Side,
    consistent_bounds,
    end_of_follow_up,
    estimated_coverages,
    trivial_rule,
)
from censquant._frames import OUTPUTS, framed, unmasked
from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.quantiles import QuantileCurve

CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Confidences whose coverage is reported."""

# Ages that are calibrated one by one; more are interpolated between so many.
_MOST_AGES = 32

Scores = dict[tuple[Side, float | None], Calibrated]
"""Calibrated scores by side and age."""

OTHER_SIDE: dict[Side, Side] = {"lower": "upper", "upper": "lower"}
"""Sides of right-censored times by those of mirrored ones."""


@dataclass(eq=False)
class Group:
    """The calibration rows of one subgroup, or the scores that are kept in place of them."""

    rows: CalibrationRows | None
    recalibration: Recalibration
    method: BoundMethod
    scores: Scores = field(default_factory=dict)  # computed when they are first needed

    @classmethod
    def of(cls, rows: CalibrationRows, method: BoundMethod) -> "Group":
        """Return the group with its recalibrated event model."""
        recalibration = Recalibration.fit(rows.curve, rows.target, rows.weight)
        model = recalibration.curve(rows.curve)
        return cls(replace(rows, model=model), recalibration, method)

    def rule(self, missed: float, side: Side, age: float | None = None) -> BoundRule:
        """Return the rule for one share of missed events, side and age."""
        return self._score(side, age).rule(missed)

    def _score(self, side: Side, age: float | None) -> Calibrated:
        method = self.method
        if side not in method.sides or (age is not None and not method.given_age):
            method = METHODS["aipcw"]
        if (side, age) not in self.scores:
            if self.rows is None:
                raise ValueError(
                    "elapsed must be None for a model that was saved with calibration_rows=False, "
                    "got ages: bounds of those who have reached an age are calibrated on the rows "
                    "that have, which are not in the file."
                )
            # Coverage is reported for both sides, which cost little more together than one.
            sides = method.sides if age is None and method is self.method else (side,)
            found = method.calibrated_sides(self.rows, sides, age)
            self.scores.update({(own, age): one for own, one in zip(sides, found, strict=True)})
        return self.scores[side, age]

    def without_rows(self) -> "Group":
        """Return the group with what bounds of new individuals need, and no calibration row."""
        sides: tuple[Side, ...] = ("lower", "upper")
        scores: Scores = {(side, None): self._score(side, None) for side in sides}
        if not all(isinstance(score, MiscoverageCurve) for score in scores.values()):
            raise ValueError(
                "calibration_rows must be True for the methods 'split', 'drcosarc' and 'candes', "
                "whose bounds are made from the rows themselves, got False."
            )
        return Group(None, self.recalibration, self.method, scores)


Groups = dict[Any, Group]
"""Subgroups by label."""


@dataclass(eq=False)
class Calibration:
    """Everything that bounds need besides the curves of new rows."""

    groups: Groups  # with right-censored times
    mirror: bool  # whether the user's times are the negative ones
    rows: CalibrationRows | None = None  # of all subgroups
    labels: NDArray[Any] | None = None  # subgroups of the rows

    @classmethod
    def of(
        cls, rows: CalibrationRows, labels: NDArray[Any], method: BoundMethod, *, mirror: bool
    ) -> "Calibration":
        """Return the calibration on some rows."""
        distinct = np.unique(labels) if len(labels) else np.zeros(1, dtype=np.int64)
        groups = {label.item(): Group.of(rows.take(labels == label), method) for label in distinct}
        return cls(groups, mirror, rows, labels)

    def without_rows(self) -> "Calibration":
        """Return what bounds of new individuals need, and no calibration row."""
        groups = {label: group.without_rows() for label, group in self.groups.items()}
        return Calibration(groups, self.mirror)

    def members(self, labels: NDArray[Any]) -> list[tuple[Any, NDArray[np.intp]]]:
        """Return the rows of each subgroup; refuse labels that were never calibrated."""
        found = []
        for label in np.unique(labels):
            if label.item() not in self.groups:
                raise ValueError(
                    f"by must give labels that were calibrated, got {label.item()!r}: there are "
                    f"{', '.join(repr(known) for known in self.groups)}."
                )
            found.append((label.item(), np.flatnonzero(labels == label)))
        return found

    def recalibrated(
        self, curve: QuantileCurve, labels: NDArray[Any], lowest: float
    ) -> QuantileCurve:
        """Return curves in the user's units whose levels are those of calibration rows.

        ``lowest`` is the smallest time that the user's times can have.
        """
        parts = self.members(labels)
        if len(parts) == 1:
            new = self.groups[parts[0][0]].recalibration.curve(curve)
        else:
            values, reach = np.empty_like(curve.values), np.empty(len(curve))
            for label, rows in parts:
                part = self.groups[label].recalibration.curve(curve.take(rows))
                values[rows], reach[rows] = part.values, part.reach
            new = QuantileCurve(values, curve.taus, curve.lower).with_reach(reach)
        if not self.mirror:
            return new
        turned = QuantileCurve.from_predictions(-new.values[:, ::-1], 1.0 - new.taus[::-1], lowest)
        return turned.with_reach(1.0 - new.reach, lowest=True)

    def bounds(
        self,
        curve: QuantileCurve,
        censoring: CensoringCurves,
        labels: NDArray[Any],
        missed: float,
        side: Side,
        quantile: Floats,
        elapsed: Floats | None,
    ) -> tuple[Floats, Flags, list[str]]:
        """Return bounds in the user's units, which of them follow-up limits, and warnings.

        ``quantile`` is that of each row, in the user's units, which its bound must not contradict.
        """
        own, sign = (OTHER_SIDE[side], -1.0) if self.mirror else (side, 1.0)
        result, limited, notes = np.empty(len(curve)), np.empty(len(curve), np.bool_), list[str]()
        for label, rows in self.members(labels):
            part, limits = curve.take(rows, reach=False), censoring.take(rows)
            if elapsed is None:
                rule = self.groups[label].rule(missed, own)
                unlimited, end = rule.unlimited(part, limits), rule.end(part, limits)
                index = np.full(len(rows), rule.index if isinstance(rule, IndexRule) else 0.0)
            else:
                ages = elapsed[rows]
                index, share = self._index_at(label, missed, own, ages)
                unlimited = BoundFamily(part, ages).at_each(index)
                end = end_of_follow_up(limits, share, part, ages)
            result[rows], limited[rows] = consistent_bounds(
                unlimited, end, sign * quantile[rows], own
            )
            if n_trivial := int(np.isinf(index).sum()):
                notes.append(
                    f"The calibration rows do not support {side} bounds with confidence "
                    f"{1.0 - missed:g} of {n_trivial} rows, since too few of them have events: the "
                    "trivial bound is returned."
                )
        return sign * result, limited, notes

    def _index_at(
        self, label: Any, missed: float, side: Side, ages: Floats
    ) -> tuple[Floats, float]:
        """Return indices of survivors, each calibrated among those who lived as long.

        The second is the share of individuals that must be followed up to a bound.
        """
        known = np.unique(ages)
        if len(known) > _MOST_AGES:
            known = np.unique(np.quantile(known, np.linspace(0.0, 1.0, _MOST_AGES)))
        rules = [self.groups[label].rule(missed, side, float(age)) for age in known]
        indices = np.array([rule.index for rule in rules if isinstance(rule, IndexRule)])
        assert len(indices) == len(rules)
        share = max((rule.share for rule in rules if isinstance(rule, IndexRule)), default=0.0)
        finite = np.isfinite(indices)
        above = np.minimum(np.searchsorted(known, ages), len(known) - 1)
        below = np.where(known[above] == ages, above, np.maximum(above - 1, 0))
        usable = finite[above] & finite[below]
        index = np.full(len(ages), trivial_rule(side).index)
        if usable.any():
            index[usable] = np.interp(ages[usable], known[finite], indices[finite])
        return index, share

    def coverage_rows(self, *, named: bool) -> list[CoverageRow]:
        """Return the coverage that the calibration rows show; groups are ``named`` or not."""
        found = []
        for label, group in self.groups.items():
            if not group.rows:
                continue
            rows = self._coverage_rows(group)
            found += [replace(row, group=str(label) if named else "") for row in rows]
        return found

    def _coverage_rows(self, group: Group) -> list[CoverageRow]:
        """Return the coverage of one group at each confidence, first that of lower bounds."""
        assert group.rows is not None
        sides: tuple[Side, ...] = ("lower", "upper")
        bounds = {side: self._known_bounds(group, side) for side in sides}
        # Of the bounds, of those among them that follow-up does not limit, and of the plain ones.
        tables = [
            table
            for own, levels, bound, limited in bounds.values()
            for table in (
                (bound, own, None),
                (bound, own, ~limited),
                (group.rows.curve.at(levels), own, None),
            )
        ]
        coverages = iter(estimated_coverages(group.rows, tables))
        found = []
        for side, (_, _, bound, limited) in bounds.items():
            (estimate, error), (unlimited, _), (uncalibrated, _) = islice(coverages, 3)
            useful = (np.isfinite(bound) & (bound > group.rows.curve.lower)).mean(axis=0)
            found += [
                CoverageRow(
                    side,
                    confidence,
                    float(estimate[place]),
                    float(error[place]),
                    float(uncalibrated[place]),
                    float(useful[place]),
                    limited=float(limited[:, place].mean()),
                    unlimited=float(unlimited[place]),
                )
                for place, confidence in enumerate(CONFIDENCES)
            ]
        return found

    def _known_bounds(self, group: Group, side: Side) -> tuple[Side, list[float], Floats, Flags]:
        """Return the side and the levels of bounds in right-censored times, and the bounds."""
        own = OTHER_SIDE[side] if self.mirror else side
        rows, missed = group.rows, [round(1.0 - confidence, 12) for confidence in CONFIDENCES]
        assert rows is not None
        assert rows.model is not None
        levels = missed if own == "lower" else list(CONFIDENCES)
        found = [
            consistent_bounds(
                rule.unlimited(rows.curve, rows.censoring),
                rule.end(rows.curve, rows.censoring),
                quantile,
                own,
            )
            for rule, quantile in zip(
                [group.rule(share, own) for share in missed], rows.model.at(levels).T, strict=True
            )
        ]
        bounds, limited = (np.column_stack(each) for each in zip(*found, strict=True))
        return own, levels, bounds, limited


@dataclass(frozen=True, eq=False)
class IndividualBounds:
    """Bounds of n rows in the user's units, and what is known of each."""

    time: Floats
    limited: Flags  # whether follow-up ends before the bound would
    promised: float  # confidence of all
    side: Side
    curve: QuantileCurve  # recalibrated
    ages: Floats | None  # times that the rows have outlived

    @property
    def confidence(self) -> Floats:
        """Confidence of each bound: that of a limited one is the model's, where it is higher."""
        early = self.curve.cdf(self.time)
        if self.ages is not None:
            passed = self.curve.cdf(self.ages)
            early = (early - passed) / np.maximum(1.0 - passed, np.finfo(np.float64).tiny)
        own = 1.0 - early if self.side == "lower" else early
        return np.where(self.limited, np.maximum(own, self.promised), self.promised)

    def output(self, X: Any, output: str) -> Any:
        """Return the bounds alone, or a frame with what is known of them."""
        check_choice("output", output, OUTPUTS)
        if output == "array":
            return self.time
        columns = {"bound": self.time, "limited": self.limited, "confidence": self.confidence}
        return framed(columns, X)


def subgroup_labels(by: Any, X: Any) -> NDArray[Any]:
    """Return the label of every row: one for all where there are no subgroups."""
    n_rows = _num_samples(X)
    if by is None:
        return np.zeros(n_rows, dtype=np.int64)
    labels = np.asarray(read_labels(by, X))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"by must give one label for each of the {n_rows} rows of X, got shape {labels.shape}."
        )
    if labels.dtype.kind in "OU":
        labels = labels.astype(str)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(
            f"by must give no missing labels, got {int(np.isnan(labels).sum())} of {n_rows}."
        )
    return labels


def read_labels(by: Any, X: Any) -> Any:
    """Return the column of ``X``, or what a function returns of it."""
    if callable(by):
        return by(X)
    columns = getattr(X, "columns", None)
    if isinstance(by, str):
        if columns is None or by not in list(columns):
            has = "no names of columns" if columns is None else f"the columns {list(columns)}"
            raise ValueError(
                f"by must be a column of X, a place or a callable, got {by!r}: X has {has}."
            )
        return X[by]
    if isinstance(by, bool) or not isinstance(by, int):
        raise TypeError(f"by must be a column of X, its place or a callable, got {by!r}.")
    return np.asarray(unmasked(X))[:, by] if columns is None else X[list(columns)[by]]
