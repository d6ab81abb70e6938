"""What another value of one feature changes: differences and ratios, with intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from censquant._frames import html_table, pandas_for
from censquant._validation import check_choice, check_integer, check_n_jobs, check_number
from censquant._warn import warn_user
from censquant.adapters._predictions import is_left_censored
from censquant.estimators import adapt
from censquant.exceptions import ExtrapolationWarning, FewEventsWarning, IdentifiabilityWarning
from censquant.inspection._arms import (
    FROM,
    MEAN,
    MEDIAN,
    QUANTILE,
    RISK,
    SMALLEST_TREATMENT_CHANCE,
    SUPPORTED,
    SURVIVAL,
    TO,
    WHATS,
    Arms,
    Estimate,
    Overlap,
    OverlapRow,
    Question,
    Refits,
    differences,
    ratios,
)
from censquant.inspection._doubly_robust import FEWEST_EVENTS, doubly_robust
from censquant.inspection._g_computation import g_computation

BOOTSTRAP, DOUBLY_ROBUST = "bootstrap", "doubly_robust"
_METHODS = (BOOTSTRAP, DOUBLY_ROBUST)
_CLIPPED = 0.05  # share of rows without overlap that is warned of


class ContrastRow(NamedTuple):
    """One line of `Contrast`.

    Examples
    --------
    >>> from censquant.inspection._contrast import ContrastRow
    >>> row = ContrastRow(365.0, "all", 200, 90, 251.0, 280.0, 29.0, 4.0, 54.0, 1.1, 1.0, 1.2, 1.0)
    >>> row.difference, row.low
    (29.0, 4.0)
    """

    at: float  # horizon of the restricted mean, time of the risk, or level of the quantile
    group: str  # "all", or the subgroup
    n_rows: int
    n_events: int
    # The quantity if all these rows had the one value of the feature, or the other
    from_: float
    to: float
    difference: float  # to less from_
    low: float
    high: float
    ratio: float  # to over from_
    ratio_low: float
    ratio_high: float
    # Share of the rows for which follow-up reaches ``at`` (or the quantile) with both values
    supported: float


@dataclass(frozen=True, eq=False)
class Contrast:
    """What another value of one feature changes; made by `contrast`.

    Parameters
    ----------
    feature : str
        Name of the column.
    to, from_ : str
        The two values as text.
    what : str
        The quantity that is compared.
    method : str
        ``"bootstrap"`` or ``"doubly_robust"``.
    confidence : float
        Of the intervals.
    rows : tuple of ContrastRow
        One for each time, and for all rows and each subgroup: ``at``, ``group``, ``n_rows``,
        ``n_events``, ``from_`` and ``to`` (the quantity with each value), ``difference`` with
        ``low`` and ``high``, ``ratio`` with ``ratio_low`` and ``ratio_high``, and ``supported``.
    overlap : tuple of OverlapRow
        Chances of both values given the other features: ``value``, ``n_rows``, ``n_events``,
        ``chance_with``, ``chance_without`` and ``clipped``. Empty where the feature has too many
        values.
    n_resamples : int
        Refits that the intervals rest on; 0 without any.
    assumptions : tuple of str
        What must hold for the difference to be an effect.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.inspection import contrast
    >>> X, y = load_gbsg2(as_frame=True)
    >>> model = CoxQuantileRegressor().fit(X, y)
    >>> found = contrast(
    ...     model, X, y, feature="horTh", to=1, from_=0, at=1825, method="doubly_robust"
    ... )
    >>> row = found.rows[0]
    >>> row.group, row.low < row.difference < row.high
    ('all', True)
    """

    feature: str
    to: str
    from_: str
    what: str
    method: str
    confidence: float
    rows: tuple[ContrastRow, ...]
    overlap: tuple[OverlapRow, ...]
    n_resamples: int
    assumptions: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is compared, in words."""
        times = " or ".join(f"{at:g}" for at in dict.fromkeys(row.at for row in self.rows))
        words = {
            MEAN: f"restricted mean time up to {times}",
            RISK: f"risk by time {times}",
            SURVIVAL: f"probability of no event by time {times}",
            MEDIAN: "median time",
            QUANTILE: f"quantile {times} of the time",
        }
        return f"{self.feature}: {self.to} instead of {self.from_}, {words[self.what]}"

    @property
    def source(self) -> str:
        """How the numbers were made, in words."""
        share = f"{100 * self.confidence:g} %"
        if self.method == DOUBLY_ROBUST:
            return f"Doubly robust estimates with {share} intervals from influence functions"
        if not self.n_resamples:
            return "Means of the model's predictions (g-computation), without intervals"
        return (
            "Means of the model's predictions (g-computation) with "
            f"{share} intervals from {self.n_resamples} refits"
        )

    def __str__(self) -> str:
        lines = [
            self.title,
            f"{self.source}.",
            "",
            *_aligned(self._heading(), self._texts(), "group"),
        ]
        if self.overlap:
            lines += ["", *_aligned(_OVERLAP_HEADING, self._overlap_texts(), "overlap")]
        lines += ["", "As an effect, this assumes:"]
        for sentence in self.assumptions:
            lines += textwrap.wrap(f"- {sentence}", 79, subsequent_indent="  ")
        return "\n".join(lines)

    def _heading(self) -> tuple[str, ...]:
        several = len({row.at for row in self.rows}) > 1
        share = f"{100 * self.confidence:g} %"
        values = (f"if {self.from_}", f"if {self.to}")
        names = ("group", "rows", *values, "difference", share, "ratio", share)
        return ("at", *names) if several else names

    def _texts(self) -> list[tuple[str, ...]]:
        texts: list[tuple[str, ...]] = []
        several = len({row.at for row in self.rows}) > 1
        for row in self.rows:
            cells = (
                row.group,
                f"{row.n_rows}",
                _shown(row.from_),
                _shown(row.to),
                _shown(row.difference),
                _ends(row.low, row.high),
                f"{row.ratio:.2f}",
                _ends(row.ratio_low, row.ratio_high, "{:.2f}".format),
            )
            texts.append((f"{row.at:g}", *cells) if several else cells)
        return texts

    def _overlap_texts(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{self.feature} = {row.value}",
                f"{row.n_rows}",
                f"{row.n_events}",
                _spread(row.chance_with),
                _spread(row.chance_without),
                f"{100 * row.clipped:.0f} %",
            )
            for row in self.overlap
        ]

    def _repr_html_(self) -> str:
        from html import escape

        parts = [f"<p>{escape(self.title)}<br>{escape(self.source)}.</p>"]
        parts.append(html_table(self._heading(), self._texts()))
        if self.overlap:
            parts.append(html_table(_OVERLAP_HEADING, self._overlap_texts()))
        listed = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.assumptions)
        return "".join(parts) + f"<p>As an effect, this assumes:</p><ul>{listed}</ul>"

    def to_frame(self) -> Any:
        """Return the rows as a DataFrame.

        Returns
        -------
        frame : DataFrame
            With one column for each field of the rows.
        """
        pd = pandas_for("to_frame")
        return pd.DataFrame(list(self.rows), columns=list(ContrastRow._fields))


_OVERLAP_HEADING = ("overlap", "rows", "events", "chance, with it", "without it", "below 0.03")


def _aligned(heading: Sequence[str], texts: Sequence[Sequence[str]], words: str) -> list[str]:
    """Return lines of a table, of which one column has words."""
    widths = [max(map(len, column)) for column in zip(heading, *texts, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if name == words else cell.rjust(width)
            for name, cell, width in zip(heading, line, widths, strict=True)
        )
        for line in (heading, *texts)
    ]


def _shown(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def _spread(chances: tuple[float, float, float]) -> str:
    low, middle, high = chances
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def _ends(low: float, high: float, shown: Callable[[float], str] = _shown) -> str:
    return "-" if np.isnan(low) and np.isnan(high) else f"{shown(low)} to {shown(high)}"


def contrast(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    feature: str | int,
    to: Any,
    from_: Any,
    what: str = "restricted_mean",
    at: ArrayLike | None = None,
    by: Any = None,
    groups: ArrayLike | None = None,
    method: str = "bootstrap",
    confidence: float = 0.95,
    n_resamples: int = 200,
    refit: Callable[[Any, Any], Any] | None = None,
    treatment_estimator: Any = None,
    censoring_estimator: Any = None,
    checkpoint: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Contrast:
    r"""Return what changes if everybody had one value of a feature instead of another.

    All rows are given the value ``to``, then the value ``from_``, and the quantity ``what`` of the
    whole population is compared, by difference and ratio. The other features of each row stay as
    they are. With ``method="bootstrap"`` (g-computation) the survival curves that the model
    predicts are averaged over the rows. The interval is that of percentiles over
    ``n_resamples`` refits of the model, each to rows, or whole groups, drawn with replacement. All
    rows count once, also where the model was fitted with weights.

    ``method="doubly_robust"`` fits copies of the model, a model of the censoring times and one of
    the chance to have each value, and corrects the predictions for each fifth of the rows by what
    was observed of it. For the survival curve with value :math:`a`, each row adds

    .. math:: \phi_a(t) = S(t | a, x) \Big[1 - \frac{1(A = a)}{\pi_a(x)}
              \int_0^{\min(t, Y)} \frac{dM(u)}{S(u | a, x) G(u- | a, x)}\Big],

    and the interval follows from the spread of these values. It is right if the model of the event
    is, or if those of censoring and of treatment both are, needs no refits but those of five folds,
    and does not share the pull towards no effect of a model that shrinks. It is available for
    restricted means, risks and survival.

    The difference is an effect only if no feature that affects both ``feature`` and the time is
    missing, if everybody could have either value, and if no other feature is changed by it. None of
    this can be tested. The result lists what it assumes, and its overlap table shows for whom a
    value hardly occurs. The contrast of a feature that nobody can change is an association.

    Parameters
    ----------
    model : fitted model
        Any quantile regressor, or a model that `censquant.adapt` knows.
    X : array-like or DataFrame of shape (n, n_features)
        Rows of the population. For ``"bootstrap"`` with ``y`` those that the model was fitted to.
    y : target in any form, of n rows, optional
        Their times and events. Without it there is no interval.
    feature : str or int
        Column, by name or number.
    to, from_ : number or text
        Its two values. Categories must occur in ``X``.
    what : {"restricted_mean", "risk", "survival", "median", "quantile"}
        The mean of min(T, at), the probability of an event by the time ``at`` or of none, or a
        quantile of the population: the time by which the mean survival curve has fallen to
        1 - level. It is not the mean of the quantiles of individuals.
    at : float or array-like of shape (k,), optional
        Horizon of the restricted mean, by default the last time at which one in twenty of the rows
        with each value is still under observation; time of the risk; level of the quantile.
    by : str, int or array-like of shape (n,), optional
        Column of ``X``, or labels of rows: subgroups that are compared beside all rows. Numbers
        with more than ten values are cut at their quartiles.
    groups : array-like of shape (n,), optional
        Labels of rows that belong together, such as visits of a patient. They are drawn, or held
        out, together, and intervals allow for their dependence.
    method : {"bootstrap", "doubly_robust"}
    confidence : float in (0, 1), default=0.95
        Of the intervals.
    n_resamples : int, at least 2, default=200
        Refits for ``"bootstrap"``.
    refit : callable, optional
        Called as ``refit(X, y)``, with ``y`` a structured array of event and time; returns a fitted
        model. For models that cannot be fitted again by themselves, such as pycox's.
    treatment_estimator : classifier of scikit-learn, optional
        Of the value given the other features as numbers; a logistic regression by default. In a
        randomised trial ``sklearn.dummy.DummyClassifier(strategy="prior")`` uses the shares.
    censoring_estimator : estimator or "kaplan-meier", optional
        Of the censoring times, for ``"doubly_robust"``; `CoxQuantileRegressor` by default.
    checkpoint : path, optional
        File for finished refits: the same call, also with more of them, continues with it.
    random_state : int, Generator, RandomState or None, default=0
        Source of draws, folds, and seeds of refits.
    n_jobs : int, optional
        Number of threads over refits, as in scikit-learn; one by default.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    contrast : Contrast
        Print it, or take ``.to_frame()``. A median that the mean curve does not reach by the end of
        follow-up is infinite. Intervals of ``"doubly_robust"`` are NaN where a value has fewer than
        five events.

    Warns
    -----
    IdentifiabilityWarning
        If more than one row in twenty has a chance below 0.03 to have one of the values, or to be
        under observation until ``at``.
    ExtrapolationWarning
        If follow-up does not reach the time that is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import AFTRegressor
    >>> from censquant.inspection import contrast
    >>> rng = np.random.default_rng(0)
    >>> treated, severity = rng.integers(0, 2, 400), rng.normal(size=400)
    >>> life = np.exp(1 + 0.5 * treated - 0.5 * severity) * rng.weibull(2, 400)
    >>> end = rng.uniform(0, 12, 400)
    >>> X, y = np.column_stack((treated, severity)), (np.minimum(life, end), life <= end)
    >>> model = AFTRegressor().fit(X, y)
    >>> found = contrast(model, X, y, feature=0, to=1, from_=0, at=3, n_resamples=20)
    >>> row = found.rows[0]
    >>> 0 < row.low < row.difference < row.high, found.n_resamples
    (True, 20)
    """
    check_choice("method", method, _METHODS)
    check_choice("what", what, WHATS)
    if method == DOUBLY_ROBUST and what in (MEDIAN, QUANTILE):
        raise ValueError(
            f"what must be 'restricted_mean', 'risk' or 'survival' for method='doubly_robust', got "
            f"{what!r}: use method='bootstrap' for quantiles."
        )
    if method == DOUBLY_ROBUST and y is None:
        raise ValueError("y must be given for method='doubly_robust', got None.")
    share = check_number("confidence", confidence, minimum=0.0, below=1.0, exclude_minimum=True)
    count = check_integer("n_resamples", n_resamples, minimum=2)
    check_n_jobs(n_jobs)
    if checkpoint is not None and not isinstance(random_state, int):
        raise ValueError(
            "random_state must be an integer with checkpoint, so that the same draws can be "
            f"continued, got {random_state!r}."
        )
    regressor = adapt(model)
    if is_left_censored(regressor):
        raise ValueError(
            "model must be fitted with censoring='right', got censoring='left': effects are on "
            "events that come after their censored times."
        )
    rows = Arms.read(model, X, y, feature, to, from_, by, groups)
    asked = Question.read(what, at, rows, model)
    overlap = Overlap.of(rows, treatment_estimator, random_state)
    work = Refits(random_state, n_jobs, verbose, refit, checkpoint, count)
    if method == DOUBLY_ROBUST:
        found = doubly_robust(model, rows, asked, overlap, censoring_estimator, share, work)
    else:
        found = g_computation(model, rows, asked, share, work)
    lines = _lines(rows, asked, found)
    _warn(rows, asked, overlap, lines, method)
    return Contrast(
        rows.name,
        rows.values[TO],
        rows.values[FROM],
        what,
        method,
        share,
        lines,
        () if overlap is None else overlap.rows,
        found.n_resamples,
        _assumptions(rows, overlap, method),
    )


# Words


def _lines(rows: Arms, asked: Question, found: Estimate) -> tuple[ContrastRow, ...]:
    """Return one line for each time and group."""
    counts = rows.member.sum(axis=0)
    events = rows.member.T @ rows.data.target.event if rows.has_target else np.zeros(len(counts))
    tables = (
        found.own[FROM],
        found.own[TO],
        differences(found.own),
        *found.ends,
        ratios(found.own),
        *found.ratio_ends,
        found.supported,
    )
    return tuple(
        ContrastRow(
            float(asked.at[k]),
            rows.labels[label],
            int(counts[label]),
            int(events[label]),
            *(float(table[label, k]) for table in tables),
        )
        for k in range(len(asked.at))
        for label in range(len(rows.labels))
    )


def _warn(
    rows: Arms,
    asked: Question,
    overlap: Overlap | None,
    lines: tuple[ContrastRow, ...],
    method: str,
) -> None:
    """Warn of what the data cannot say."""
    for one in () if overlap is None else overlap.rows:
        if one.clipped > _CLIPPED:
            warn_user(
                f"For {100 * one.clipped:.0f} % of the rows the chance of {rows.name} = "
                f"{one.value} given the other features is below {SMALLEST_TREATMENT_CHANCE:g}: "
                "hardly anybody like them has it, so that the contrast rests on the models there. "
                "See the overlap table, and leave these rows out.",
                IdentifiabilityWarning,
            )
    few = [line.group for line in lines if np.isnan(line.low) and np.isfinite(line.difference)]
    if method == DOUBLY_ROBUST and few:
        warn_user(
            f"There is no interval for {', '.join(dict.fromkeys(few))}, since there are fewer than "
            f"{FEWEST_EVENTS} events with one of the values of {rows.name}.",
            FewEventsWarning,
        )
    line = lines[-len(rows.labels)]  # all rows, at the last time
    if asked.is_quantile and np.isinf([line.from_, line.to]).any():
        warn_user(
            f"The mean curve with one of the values of {rows.name} does not fall to "
            f"{1 - line.at:g} as long as follow-up supports it, so that the quantile is infinite: "
            "compare restricted means instead.",
            ExtrapolationWarning,
        )
    elif line.supported < (1.0 - _CLIPPED if method == DOUBLY_ROBUST else SUPPORTED):
        where = f"the quantile {line.at:g}" if asked.is_quantile else f"{line.at:g}"
        warn_user(
            f"Follow-up reaches {where} for {100 * line.supported:.0f} % of the rows only, and the "
            "rest is extrapolated: ask for an earlier time.",
            IdentifiabilityWarning if method == DOUBLY_ROBUST else ExtrapolationWarning,
        )


def _assumptions(rows: Arms, overlap: Overlap | None, method: str) -> tuple[str, ...]:
    name = rows.name
    if overlap is None:
        positivity = (
            f"Everybody could have either value of {name}. This is not checked, since it has many "
            "values or few rows with these two: the model interpolates."
        )
    else:
        share = max(one.clipped for one in overlap.rows)
        positivity = (
            f"Everybody could have either value of {name} (positivity). The chance is below "
            f"{SMALLEST_TREATMENT_CHANCE:g} for {100 * share:.0f} % of the rows."
        )
    models = (
        "The model of the event is right, or those of censoring and treatment are both."
        if method == DOUBLY_ROBUST
        else "The model is right. One that shrinks pulls the difference towards zero."
    )
    return (
        f"No unmeasured confounding: the other features hold all that affects both {name} and the "
        "time.",
        positivity,
        f"Consistency: each value of {name} means the same for everybody, and that of one row does "
        "not change the time of another.",
        f"No other feature is changed by {name}.",
        "Censoring does not depend on the time of the event, given the features.",
        models,
    )
