import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from censquant._calibration import _censoring
from censquant.exceptions import TruncationWarning
from censquant.metrics._coverage import coverage
from censquant.quantiles import QuantileCurve
from oracles import loop_censoring_kaplan_meier, step_value
from strategies import repetitions, survival_data

INF = np.inf
TAUS = np.arange(1, 20) / 20
QUARTERS = np.array([0.25, 0.5, 0.75])
few = settings(max_examples=30, deadline=None)
# A few rows in random order leave many limits past the end of follow-up.
any_limits = pytest.mark.filterwarnings("ignore::censquant.exceptions.TruncationWarning")


def refused(message, error=ValueError):
    return pytest.raises(error, match="^" + re.escape(message) + "$")


def slow_psi(time, event, limit, cdf, train):
    """Contribution of one row by the formula, with sums over the training rows themselves."""
    steps = [column.tolist() for column in loop_censoring_kaplan_meier(*train)]
    pairs = list(zip(*train, strict=True))

    def survival(t, **options):
        return max(step_value(*steps, t, **options), 0.02)

    def expected(u):
        now = 1 - cdf(u)
        return 1.0 if now <= 1e-12 else max(0.0, 1 - (1 - cdf(limit)) / now)

    psi = 0.0
    if time <= limit:
        share = survival(time, before=True) if event else survival(time)
        psi = 1 / share if event else expected(time) / share
    for u in sorted({t for t, e in pairs if not e}):
        watched = u < time or (u == time and not event)
        if watched and u <= limit:
            left = sum(t == u and not e for t, e in pairs)
            at_risk = sum(t > u or (t == u and not e) for t, e in pairs)
            psi -= expected(u) * left / at_risk / survival(u)
    return psi


@st.composite
def judged(draw):
    time, event = draw(survival_data(max_size=12))
    n = len(time)
    numbers = draw(st.lists(st.integers(1, 12), min_size=4 * n, max_size=4 * n))
    columns = np.array(numbers).reshape(n, 4) * time.max() / 8
    return time, event, columns[:, 0], np.cumsum(columns[:, 1:], axis=1) / 2


@any_limits
@few
@given(rows=judged(), train=survival_data(max_size=12))
def test_the_doubly_robust_estimate_is_that_of_its_formula(rows, train):
    time, event, limit, predicted = rows
    psi = [
        slow_psi(t, e, q, lambda u, row=row: QuantileCurve([row], QUARTERS).cdf([u])[0], train)
        for t, e, q, row in zip(time, event, limit, predicted, strict=True)
    ]
    result = coverage(
        (time, event),
        -INF,
        limit,
        y_train=train,
        method="doubly-robust",
        predicted=predicted,
        taus=QUARTERS,
    )
    assert result.estimate == pytest.approx(np.clip(np.mean(psi), 0, 1), abs=1e-9)
    assert result.standard_error == pytest.approx(np.std(psi) / np.sqrt(len(psi)), abs=1e-9)


@any_limits
@few
@given(rows=judged(), train=survival_data(max_size=12))
def test_the_weighted_estimate_counts_events_by_the_chance_to_see_them(rows, train):
    time, event, limit, _ = rows
    steps = [column.tolist() for column in loop_censoring_kaplan_meier(*train)]
    psi = [
        (e and t <= q) / max(step_value(*steps, t, before=True), 0.02)
        for t, e, q in zip(time, event, limit, strict=True)
    ]
    result = coverage((time, event), -INF, limit, y_train=train)
    assert result.estimate == pytest.approx(min(np.mean(psi), 1.0))
    outlived = coverage((time, event), limit, INF, y_train=train)
    assert outlived.estimate == pytest.approx(max(1 - np.mean(psi), 0.0))


@any_limits
@pytest.mark.parametrize("method", ["ipcw", "doubly-robust"])
@few
@given(rows=judged(), data=st.data())
def test_a_weight_counts_a_row_as_many_equal_rows(method, rows, data):
    time, event, limit, predicted = rows
    weight = data.draw(repetitions(len(time)))
    again = np.repeat(np.arange(len(time)), weight)
    options = {"method": method, "taus": QUARTERS}
    weighted = coverage(
        (time, event), limit / 2, limit, predicted=predicted, sample_weight=weight, **options
    )
    repeated = coverage(
        (time[again], event[again]),
        limit[again] / 2,
        limit[again],
        predicted=predicted[again],
        **options,
    )
    assert weighted.n == np.count_nonzero(weight)
    for name in ("estimate", "standard_error", "confidence_low", "bound_low", "bound_high"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-9)


def test_without_censoring_rows_inside_are_counted():
    for method in ("ipcw", "doubly-robust"):
        result = coverage(
            [1.0, 2.0, 3.0, 4.0],
            [1.0, 1.0, 1.0, 5.0],
            [2.0, 2.0, 2.0, 9.0],
            method=method,
            predicted=[QUARTERS] * 4,
            taus=QUARTERS,
        )
        # Only 2 is above its lower and not above its upper limit.
        assert result.estimate == result.bound_low == result.bound_high == 0.25
        assert result.standard_error == pytest.approx(np.sqrt(0.25 * 0.75 / 4))


def test_the_interval_is_normal_and_stays_inside_the_unit():
    result = coverage([1.0, 2.0, 3.0, 4.0], -INF, 1.5, confidence=0.9)
    reach = stats.norm.ppf(0.95) * result.standard_error
    assert result.confidence_low == 0
    assert result.confidence_high == pytest.approx(0.25 + reach)
    assert result.n == 4


@any_limits
@pytest.mark.parametrize("method", ["ipcw", "doubly-robust"])
def test_an_impossible_mean_leaves_the_interval_its_width(method):
    rng = np.random.default_rng(5)
    target, censoring = rng.exponential(size=40), rng.uniform(0, 2, size=40)
    time, event = np.minimum(target, censoring), target <= censoring
    rows = -np.log1p(-QUARTERS) * np.ones((40, 1))
    # Training rows that were followed for a quarter as long make weights that mean nothing.
    result = coverage(
        (time, event),
        -INF,
        rows[:, 2],
        y_train=(time / 4, event),
        method=method,
        predicted=rows,
        taus=QUARTERS,
    )
    assert result.estimate in (0, 1)
    assert result.standard_error > 0.5
    assert (result.confidence_low, result.confidence_high) == (0, 1)


LATE = (
    "{} of 4 rows have a limit past 3, the end of what the rows of y_train say about censoring: "
    "read the bounds, since the estimate rests on no data there."
)


@pytest.mark.parametrize(
    ("lower", "upper", "n_late"),
    [(-INF, 3.5, 4), (4.0, INF, 4), (0.0, [1.0, 2.0, 3.0, 9.0], 1)],
)
def test_limits_past_the_end_of_follow_up_are_told_of(lower, upper, n_late):
    y = ([1.0, 2.0, 3.0, 3.0], [True, False, True, False])
    with pytest.warns(TruncationWarning, match="^" + re.escape(LATE.format(n_late)) + "$") as told:
        coverage(y, lower, upper)
    assert len(told) == 1
    assert told[0].filename == __file__


def test_limits_in_the_training_rows_that_others_outlive_are_told_of():
    y_train = ([1.0, 2.0, 3.0], [True, False, True])
    with pytest.warns(TruncationWarning, match="^" + re.escape(LATE.format(4)) + "$"):
        coverage(([1.0, 2.0, 3.0, 5.0], [1, 1, 1, 1]), -INF, 4.0, y_train=y_train)


def test_rows_without_weight_have_no_late_limits():
    y, weight = ([1.0, 2.0, 9.0, 9.0], [True, False, True, False]), [1, 1, 1, 0]
    assert coverage(y, -INF, [1.0, 1.0, 1.0, 20.0], sample_weight=weight).n == 3
    # The one row that outlives 9 does not count, so all events are known.
    assert coverage(y, -INF, 20.0, sample_weight=weight).estimate == pytest.approx(1)


def test_late_limits_are_no_matter_where_they_are_few_or_no_row_is_left():
    y = (np.arange(1.0, 101), np.arange(100) % 2 == 1)
    y[1][-1] = True
    # The last row has its event, so that nobody is left; then the last is censored.
    assert coverage(y, -INF, 200.0).estimate == pytest.approx(1.0, abs=0.2)
    y[1][-1] = False
    few_late = np.where(np.arange(100) < 5, 200.0, 50.0)
    assert coverage(y, -INF, few_late).n == 100
    assert coverage(y[0], -INF, 200.0).estimate == 1


def test_bounds_hold_whatever_the_censored_rows_hide():
    y = ([1.0, 1.0, 2.0, 3.0, 5.0], [True, False, False, True, False])
    quantile = coverage(y, -INF, 2.0)
    # The event at 1 is inside; the row censored at 1 may be; the one censored at 2 is past it.
    assert (quantile.bound_low, quantile.bound_high) == (0.2, 0.4)
    bound = coverage(y, 1.5, INF)
    # Outliving 1.5 is certain for the last three rows, possible for the one censored at 1.
    assert (bound.bound_low, bound.bound_high) == (0.6, 0.8)
    interval = coverage(y, 1.5, 4.0)
    assert (interval.bound_low, interval.bound_high) == (0.2, 0.6)
    empty = coverage(y, 2.0, 2.0)
    assert (empty.estimate, empty.bound_high) == (0, 0)


def test_limits_that_include_everything_cover_everything():
    result = coverage(([1.0, 2.0], [0, 0]), -INF, INF)
    assert (result.estimate, result.standard_error, result.bound_low) == (1, 0, 1)


def test_limits_may_differ_in_kind_from_row_to_row():
    y = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1])
    mixed = coverage(y, [-INF, 0.0, 2.5, 3.5], [1.5, INF, INF, 3.9])
    # Inside: the event at 1, the row censored at 2 for certain, the event at 3; 4 is outside.
    assert mixed.bound_low == 0.75
    assert mixed.estimate == pytest.approx(0.75)


def test_each_group_is_judged_by_its_own_rows():
    y = ([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 1])
    by_group = coverage(y, -INF, 2.5, groups=["b", "a", "b", "a"])
    assert list(by_group) == ["a", "b"]
    assert by_group["a"].estimate == 0.5
    assert by_group["a"].n == 2


def test_groups_share_one_censoring_curve():
    y = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1])
    by_group = coverage(y, -INF, 3.5, groups=[0, 0, 1, 1])
    assert by_group[1].estimate == pytest.approx(1.5 / 2)


def test_groups_without_weight_are_left_out_and_labels_may_mix():
    by_group = coverage(
        [1.0, 2.0, 3.0],
        -INF,
        2.5,
        groups=np.array(["x", 3, 5], dtype=object),
        sample_weight=[1, 1, 0],
    )
    assert list(by_group) == [3, "x"]


def test_many_censoring_times_in_groups_give_nearly_the_exact_integral(monkeypatch):
    rng = np.random.default_rng(0)
    n = 1500
    target, censoring = rng.weibull(1.5, size=n), rng.exponential(1.0, size=n)
    y = (np.minimum(target, censoring), target <= censoring)
    options = {
        "method": "doubly-robust",
        "predicted": np.tile(1.3 * (-np.log1p(-TAUS)) ** (1 / 1.5), (n, 1)),
        "taus": TAUS,
    }
    fast = coverage(y, -INF, 0.8, **options)
    monkeypatch.setattr(_censoring, "_GROUPS", n)
    exact = coverage(y, -INF, 0.8, **options)
    assert fast.estimate == pytest.approx(exact.estimate, abs=2e-5)


def weibull_quantiles(scale, levels):
    return scale[:, None] * (-np.log1p(-np.asarray(levels))) ** (1 / 1.5)


def simulate(seed, censoring, n=20_000):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=n)
    target = np.exp(x) * rng.weibull(1.5, size=n)
    time = rng.exponential(censoring(x))
    return x, (np.minimum(target, time), target <= time)


def right_and_wrong(x):
    return weibull_quantiles(np.exp(x), TAUS), weibull_quantiles(0.6 * np.exp(-x / 2), TAUS)


@pytest.mark.parametrize("tau", [0.1, 0.3])
def test_a_wrong_model_does_no_harm_where_the_censoring_is_right(tau):
    x, y = simulate(1, lambda x: np.full_like(x, 1.2))
    quantile = weibull_quantiles(np.exp(x), [tau])[:, 0]
    for predicted in right_and_wrong(x):
        result = coverage(y, -INF, quantile, method="doubly-robust", predicted=predicted, taus=TAUS)
        assert abs(result.estimate - tau) < 3 * result.standard_error
        assert result.standard_error < 0.005
    weighted = coverage(y, -INF, quantile)
    assert abs(weighted.estimate - tau) < 3 * weighted.standard_error


@pytest.mark.parametrize("tau", [0.1, 0.3])
def test_a_wrong_censoring_curve_does_no_harm_where_the_model_is_right(tau):
    x, y = simulate(2, lambda x: np.where(x > 0, 0.6, 4.0))
    quantile = weibull_quantiles(np.exp(x), [tau])[:, 0]
    right, wrong = right_and_wrong(x)
    options = {"method": "doubly-robust", "taus": TAUS}
    result = coverage(y, -INF, quantile, predicted=right, **options)
    assert abs(result.estimate - tau) < 3 * result.standard_error
    # Neither the weights alone nor a model that is wrong as well get there.
    weighted = coverage(y, -INF, quantile)
    assert weighted.estimate < tau * 0.97
    both = coverage(y, -INF, quantile, predicted=wrong, **options)
    assert abs(both.estimate - tau) > 5 * both.standard_error


@pytest.mark.parametrize(("mean", "censored"), [(3.0, 0.3), (1.2, 0.5), (0.3, 0.8)])
def test_true_quantiles_are_covered_as_they_promise(mean, censored):
    x, y = simulate(3, lambda x: np.full_like(x, mean))
    assert abs(1 - y[1].mean() - censored) < 0.06
    for tau in (0.1, 0.25):
        quantile = weibull_quantiles(np.exp(x), [tau])[:, 0]
        result = coverage(y, -INF, quantile)
        assert abs(result.estimate - tau) < 3 * result.standard_error
        assert result.bound_low <= tau <= result.bound_high


@pytest.mark.parametrize("method", ["ipcw", "doubly-robust"])
def test_nine_in_ten_intervals_of_that_confidence_hold_the_truth(method):
    rng = np.random.default_rng(4)
    held = []
    for _ in range(300):
        target, censoring = rng.random(200), rng.uniform(0, 1.5, size=200)
        y = (np.minimum(target, censoring), target <= censoring)
        result = coverage(
            y,
            0.2,
            0.6,
            method=method,
            predicted=np.tile(TAUS, (200, 1)),
            taus=TAUS,
            confidence=0.9,
        )
        held.append(result.confidence_low <= 0.4 <= result.confidence_high)
    assert 0.86 <= np.mean(held) <= 0.95


@pytest.mark.parametrize(
    ("options", "message", "error"),
    [
        ({"method": "dr"}, "method must be one of 'ipcw', 'doubly-robust', got 'dr'.", ValueError),
        (
            {"method": "doubly-robust"},
            "predicted and taus must be given for method='doubly-robust', got None: "
            "pass them or use method='ipcw'.",
            ValueError,
        ),
        (
            {"method": "doubly-robust", "predicted": [[1.0], [2.0]], "taus": [0.5]},
            "taus must hold two levels or more, since the level of a time is read between "
            "quantiles, got 1.",
            ValueError,
        ),
        (
            {"confidence": 1.0},
            "confidence must be finite and inside (0, 1), got 1.0.",
            ValueError,
        ),
        (
            {"lower": [0.0, 3.0]},
            "lower must not exceed upper, but it does in 1 of 2 rows, the first of them row 1.",
            ValueError,
        ),
        (
            {"lower": [0.0]},
            "lower must have one time for each row of y, got 1 times for 2 rows.",
            ValueError,
        ),
        (
            {"upper": [1.0, np.nan]},
            "upper contains NaN: 1 of 2 times are missing, the first in row 1.",
            ValueError,
        ),
        (
            {"upper": "late"},
            "upper must hold numbers, got dtype <U4: convert the column to float.",
            TypeError,
        ),
        (
            {"groups": ["a"]},
            "groups must have one label for each row of y, shape (2,), got shape (1,).",
            ValueError,
        ),
        (
            {"groups": [1.0, np.nan]},
            "groups must not contain missing labels, got 1 of 2, the first in row 1.",
            ValueError,
        ),
        (
            {"groups": pd.Series([pd.NA, "a"])},
            "groups must not contain missing labels, got 1 of 2, the first in row 0.",
            ValueError,
        ),
    ],
)
def test_what_has_no_coverage_is_refused(options, message, error):
    arguments = {"lower": 0.0, "upper": 2.0, **options}
    with refused(message, error):
        coverage([1.0, 2.0], **arguments)
