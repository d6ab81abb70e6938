"""The corrections for censoring, by name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from censquant._calibration._censoring import (
    CensoringCurves,
    CommonCensoring,
    ModelledCensoring,
    chance_before,
    chances_before,
)
from censquant._calibration._family import INDICES, BoundFamily
from censquant._calibration._rules import (
    FEWEST_EVENTS,
    FOLLOWED_SHARE,
    BoundMethod,
    BoundRule,
    CalibrationRows,
    IndexRule,
    MiscoverageCurve,
    Side,
    end_of_follow_up,
    miscoverage_curves,
    trivial_rule,
    within,
)
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.survival import kaplan_meier

# A modelled censoring hazard may be too low by so much; the worse of the two estimates counts. They
# are equal where the event model is right, and differ where neither model has seen much.
_FEARED_FACTOR = 1.4

# Levels of the censoring times that are tried as cutoffs.
_CUTOFFS: Floats = np.arange(0.1, 0.95, 0.1)


class Aipcw(BoundMethod):
    """Miscoverage by augmented inverse-probability-of-censoring weights, the default method.

    Every calibration row contributes to the miscoverage of every bound: with its event if that was
    observed, with what the recalibrated event model expects if not, see `chance_before`. The
    estimate is right if either the censoring model or the event model is, and its error is the
    product of theirs where neither is. Where censoring depends on the features, the worse of two
    estimates counts: that of the censoring model, and that of one with hazards 40 % higher.
    """

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> MiscoverageCurve:
        """Return the miscoverage of all indices."""
        return self.calibrated_sides(rows, (side,), elapsed)[0]

    def calibrated_sides(
        self, rows: CalibrationRows, sides: Sequence[Side], elapsed: float | None = None
    ) -> list[MiscoverageCurve]:
        """Return the miscoverage of some sides, whose rows are weighed once."""
        return miscoverage_curves(rows, _doubly_robust_chances, sides, elapsed)


def _doubly_robust_chances(
    rows: CalibrationRows, limits: Floats, entry: Floats | None
) -> list[Floats]:
    """Return what rows add to the chance of an event by the model, and with more censoring."""
    model = rows.curve if rows.model is None else rows.model
    is_modelled = isinstance(rows.censoring, ModelledCensoring)
    factors = (1.0, _FEARED_FACTOR) if is_modelled else (1.0,)
    return chances_before(rows.target, limits, rows.censoring, model, factors, entry=entry)


class Ipcw(BoundMethod):
    """Miscoverage by the observed events, each standing for those that censoring hid.

    Needs no event model, and is right if the censoring model is. Where it is not, nothing makes up
    for it.
    """

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> MiscoverageCurve:
        """Return the miscoverage of all indices."""
        return miscoverage_curves(rows, _weighted_chances, (side,), elapsed)[0]


def _weighted_chances(rows: CalibrationRows, limits: Floats, entry: Floats | None) -> list[Floats]:
    """Return what rows add to the chance of an event by inverse weights alone."""
    return [chance_before(rows.target, limits, rows.censoring, None)]


class KmPit(BoundMethod):
    """Kaplan-Meier curve of the indices at which rows meet their bounds.

    Needs no censoring model. It assumes that indices of events and of censorings are independent,
    as `Recalibration` does: the method that corrects levels of whole curves.
    """

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> MiscoverageCurve:
        """Return the miscoverage of all indices, with Greenwood's standard error."""
        rows, score = _survivors_and_indices(rows, elapsed)
        n_events = int(rows.target.event[rows.weight > 0].sum())
        if not n_events:
            nothing = np.zeros(len(INDICES))
            return MiscoverageCurve(side, nothing, nothing, nothing, nothing, 0, 0.0)
        curve = kaplan_meier(score, rows.target.event, rows.weight)
        beyond = curve(INDICES, side="left" if side == "lower" else "right")
        left = np.maximum(curve.n_at_risk - curve.n_events, 1e-300)
        terms = np.where(curve.n_events > 0, curve.n_events / (curve.n_at_risk * left), 0.0)
        terms[left <= 1e-300] = 0.0
        mean_weight = rows.weight.sum() / np.count_nonzero(rows.weight)
        spread = np.concatenate(([0.0], np.cumsum(terms)))
        passed = np.searchsorted(curve.time, INDICES, side="right")
        error = beyond * np.sqrt(spread[passed] * mean_weight)
        estimate = 1.0 - beyond if side == "lower" else beyond
        # Past the last row nothing is known; no upper bound is found there.
        known = np.searchsorted(curve.time, INDICES, side="left") < len(curve.time)
        n_rows = np.count_nonzero(rows.weight) * np.ones(len(INDICES))
        if side == "upper":
            n_rows = np.where(known, n_rows, 0.0)
        return MiscoverageCurve(side, estimate, estimate, error, n_rows, n_events, 0.0)


def _survivors_and_indices(
    rows: CalibrationRows, elapsed: float | None
) -> tuple[CalibrationRows, Floats]:
    """Return the rows that survive a time, and the indices at which they meet their bounds."""
    entry = None
    if elapsed is not None:
        rows = rows.take(rows.target.time > elapsed)
        entry = np.full(len(rows), elapsed)
    return rows, BoundFamily(rows.curve, entry).index_of(rows.target.time)


class Split(BoundMethod):
    """The order statistic of the indices at which rows meet their bounds.

    Without censoring the coverage is exact for rows like the calibration rows, for any model: of n
    rows and one more, each is equally likely to be the k-th.
    """

    refuses_censoring = True

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> "_SplitScores":
        """Return the sorted scores."""
        rows, score = _survivors_and_indices(rows, elapsed)
        order = np.argsort(score, kind="stable")
        return _SplitScores(score[order], rows.weight[order], side)


@dataclass(frozen=True, eq=False)
class _SplitScores:
    """Sorted indices of calibration rows, with their weights."""

    score: Floats
    weight: Floats
    side: Side

    def rule(self, missed: float) -> IndexRule:
        """Return the bounds at the order statistic that a share of rows misses."""
        side, n_rows = self.side, np.count_nonzero(self.weight)
        if not n_rows:
            return trivial_rule(side)
        order = slice(None) if side == "lower" else slice(None, None, -1)
        score, weight = self.score[order], self.weight[order]
        weight = weight * (n_rows / weight.sum())
        passed = np.cumsum(weight)
        # The row to predict counts as one more, and may be missed.
        allowed = missed * (n_rows + 1.0) * (1.0 + 1e-12)
        place = int(np.searchsorted(passed, allowed, side="right")) - 1
        if place < 0:
            return trivial_rule(side)
        share = float((passed[place] - weight[place]) / n_rows)
        error = float(np.sqrt(share * (1.0 - share) / n_rows))
        return IndexRule(float(score[place]), side, 0.0, 1.0 - share, error)


class Gui(BoundMethod):
    r"""Share of missed bounds among rows that were followed up to their bound, reweighted.

    .. math:: \hat\alpha(a) = \sum_i \frac{1[T_i < L_a(x_i) \le C_i]}{S_C(L_a(x_i) | x_i)} \Big/
              \sum_i \frac{1[L_a(x_i) \le C_i]}{S_C(L_a(x_i) | x_i)}

    Needs the censoring time of every row, also of those with an event. Bounds end where one in
    log(n) rows is still followed.

    References
    ----------
    .. [1] Y. Gui, R. Hore, Z. Ren, R. F. Barber (2024). Conformalized survival analysis with
       adaptive cut-offs. *Biometrika* 111(2).
    """

    sides = ("lower",)
    given_age = False
    needs_censoring_times = True

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> MiscoverageCurve:
        """Return the miscoverage of all indices."""
        assert rows.censoring_time is not None
        share = max(FOLLOWED_SHARE, 1.0 / math.log(max(len(rows), 3)))
        bounds = BoundFamily(rows.curve).at(INDICES)
        bounds = within(bounds, end_of_follow_up(rows.censoring, share, rows.curve), side)
        followed = bounds <= rows.censoring_time[:, None]
        chance = np.stack([rows.censoring.before(column) for column in bounds.T], axis=1)
        counted = rows.weight[:, None] * followed / chance
        missed = counted * (rows.target.event[:, None] & (rows.target.time[:, None] < bounds))
        total = np.maximum(counted.sum(axis=0), 1e-300)
        estimate = missed.sum(axis=0) / total
        spread = ((missed - estimate * counted) ** 2).sum(axis=0)
        n_rows = followed.sum(axis=0).astype(np.float64)
        error = np.sqrt(spread) / total
        n_events = rows.target.n_events
        return MiscoverageCurve(side, estimate, estimate, error, n_rows, n_events, share, 0.0)


class DrCosarc(BoundMethod):
    """Censoring times of rows with an event are drawn from the censoring model, then as `Gui`.

    A bound is never above the model's own quantile, which makes it doubly robust: it holds if the
    censoring model is right, or if the event model is.

    References
    ----------
    .. [1] M. Sesia, V. Svetnik (2025). Doubly robust conformalized survival analysis with
       right-censored data. *ICML*.
    """

    sides = ("lower",)
    given_age = False

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> "_NeverAboveTheModel":
        """Return the miscoverage of all indices."""
        drawn = np.random.default_rng(0).uniform(size=len(rows))
        times = np.where(rows.target.event, _censoring_after(rows, drawn), rows.target.time)
        imputed = replace(rows, censoring_time=times)
        return _NeverAboveTheModel(Gui().calibrated(imputed, side))


def _censoring_after(rows: CalibrationRows, drawn: Floats) -> Floats:
    """Return draws of the censoring time, given that it is later than the rows' times."""
    censoring, time = rows.censoring, rows.target.time
    left = censoring.after(time) * drawn  # a survival probability that is uniform below today's
    if isinstance(censoring, CommonCensoring):
        survival = np.append(censoring.curve.survival, 0.0)
        ends = np.append(censoring.curve.time, np.inf)
        drawn_times: Floats = ends[np.searchsorted(-survival, -left, side="left")]
        return np.maximum(drawn_times, time)
    levels = np.clip(1.0 - left, 1e-9, 1.0 - 1e-9)
    return np.maximum(censoring.curve.at_each(levels[:, None])[:, 0], time)


@dataclass(frozen=True, eq=False)
class _NeverAboveTheModel:
    """Scores whose bounds are at most the quantiles of the model as it is."""

    scores: MiscoverageCurve

    def rule(self, missed: float) -> "SmallerOfTwo":
        """Return the rule for one confidence."""
        found = self.scores.rule(missed)
        return SmallerOfTwo(found, missed, found.estimate, found.standard_error)


@dataclass(frozen=True, eq=False)
class SmallerOfTwo(BoundRule):
    """The smaller of a calibrated bound and the model's own quantile."""

    calibrated: IndexRule
    level: float  # of the model's quantile
    estimate: float  # of the calibrated bound alone
    standard_error: float
    side: Side = "lower"

    def unlimited(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the smaller of the two of each row."""
        own = BoundFamily(curve, elapsed).at([self.level])[:, 0]
        return np.minimum(self.calibrated.unlimited(curve, censoring, elapsed), own)

    def end(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the end of the calibrated bound."""
        return self.calibrated.end(curve, censoring, elapsed)


class Candes(BoundMethod):
    r"""Weighted split conformal prediction of the time up to a cutoff.

    Of the rows whose censoring time is past the cutoff :math:`c_0`, the time up to it,
    :math:`\min(T, c_0)`, is known. The quantile of their scores
    :math:`\hat Q_\alpha(x) - \min(T, c_0)`, weighted by :math:`1 / S_C(c_0 | x)`, is subtracted
    from the model's quantile. Needs the censoring time of every row. The cutoff is the decile of
    the censoring times whose bounds are largest on average over the calibration rows.

    References
    ----------
    .. [1] E. Candès, L. Lei, Z. Ren (2023). Conformalized survival analysis. *JRSS B* 85(1).
    """

    sides = ("lower",)
    given_age = False
    needs_censoring_times = True

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> "_CandesScores":
        """Return the rows, whose scores depend on the confidence."""
        return _CandesScores(rows)


@dataclass(frozen=True, eq=False)
class _CandesScores:
    """Calibration rows with known censoring times."""

    rows: CalibrationRows

    def rule(self, missed: float) -> BoundRule:
        """Return the rule of the best cutoff."""
        rows = self.rows
        if rows.target.n_events < FEWEST_EVENTS:
            return trivial_rule("lower")
        assert rows.censoring_time is not None
        cutoffs = np.unique(np.quantile(rows.censoring_time, _CUTOFFS, method="lower"))
        rules = [_cutoff_rule(rows, float(cutoff), missed) for cutoff in cutoffs]
        means = [rows.weight @ rule.bounds(rows.curve, rows.censoring) for rule in rules]
        return rules[int(np.argmax(means))]


def _cutoff_rule(rows: CalibrationRows, cutoff: float, missed: float) -> "CutoffRule":
    """Return the rule from the scores of the rows that were followed past a cutoff."""
    assert rows.censoring_time is not None
    kept = rows.censoring_time >= cutoff
    own = BoundFamily(rows.curve).at([missed])[kept, 0]
    score = own - np.minimum(rows.target.time[kept], cutoff)
    chance = rows.censoring.take(kept).before(np.full(int(kept.sum()), cutoff))
    order = np.argsort(score, kind="stable")
    return CutoffRule(cutoff, missed, score[order], (rows.weight[kept] / chance)[order])


@dataclass(frozen=True, eq=False)
class CutoffRule(BoundRule):
    """Bounds from weighted scores of rows that were followed past a cutoff."""

    cutoff: float
    missed: float  # level of the model's quantile, and share of events that may come earlier
    score: Floats  # increasing
    weight: Floats
    side: Side = "lower"
    estimate: float = np.nan
    standard_error: float = np.nan

    def unlimited(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the bound of each row, also past the cutoff."""
        own = BoundFamily(curve).at([self.missed])[:, 0]
        new = 1.0 / censoring.before(np.full(len(curve), self.cutoff))
        passed = np.cumsum(self.weight)
        wanted = (1.0 - self.missed) * (passed[-1] + new)
        place = np.searchsorted(passed, wanted * (1.0 - 1e-12), side="left")
        shift = np.append(self.score, np.inf)[place]
        # The score of the row to predict is infinite, and so is what is subtracted.
        result: Floats = np.maximum(own - shift, curve.lower)
        return result

    def end(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the cutoff."""
        return np.full(len(curve), self.cutoff)


METHODS: dict[str, BoundMethod] = {
    "aipcw": Aipcw(),
    "candes": Candes(),
    "drcosarc": DrCosarc(),
    "gui": Gui(),
    "ipcw": Ipcw(),
    "km-pit": KmPit(),
    "split": Split(),
}
"""Corrections by the names that users choose them by."""
