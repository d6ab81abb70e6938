import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from censquant import Surv
from censquant.exceptions import IdentifiabilityWarning, NoEventsError
from censquant.survival import _turnbull, kaplan_meier, turnbull
from strategies import survival_data

INF = np.inf


def visits(n, seed=0, n_visits=4):
    """Weibull times that are seen to lie between visits, and the times themselves."""
    rng = np.random.default_rng(seed)
    time = 5.0 * rng.weibull(1.5, n)
    at = np.sort(rng.uniform(0, 8, (n, n_visits)), axis=1)
    at = np.column_stack((np.zeros(n), at, np.full(n, INF)))
    place = (at < time[:, None]).sum(axis=1) - 1
    rows = np.arange(n)
    return at[rows, place], at[rows, place + 1], time


@settings(max_examples=60, deadline=None)
@given(survival_data(min_events=1))
def test_right_censored_rows_have_the_kaplan_meier_curve(rows):
    time, event = rows
    curve, known = turnbull((time, event)), kaplan_meier(time, event)
    seen = known.n_events > 0
    np.testing.assert_allclose(curve(known.time[seen]), known.survival[seen], atol=1e-12)
    np.testing.assert_array_equal(curve.lower[curve.upper < INF], known.time[seen])
    inside = np.array([0.2, 0.5, 0.8])
    reached = np.isfinite(known.quantile(inside))
    np.testing.assert_array_equal(
        curve.quantile(inside)[reached, 1], known.quantile(inside)[reached]
    )


@pytest.mark.filterwarnings("ignore::censquant.exceptions.IdentifiabilityWarning")
@settings(max_examples=60, deadline=None)
@given(survival_data(min_events=1, min_size=4), st.integers(0, 10**6))
def test_late_rows_have_the_product_limit_curve(rows, seed):
    time, event = rows
    entry = time * np.random.default_rng(seed).uniform(-1, 0.9, time.size)
    entry[0] = 0.0
    curve = turnbull(Surv.from_arrays(event, time, entry=entry))
    share = 1.0
    for t in np.unique(time[event]):
        at_risk = (entry < t) & (t <= time)
        share *= 1.0 - (event & (time == t)).sum() / at_risk.sum()
        assert curve([t])[0] == pytest.approx(share, abs=1e-7)


def log_likelihood(curve, lower, upper, entry):
    """By the definition: each row's probability, given no event until its entry."""

    def chance(low, high):
        inside = (curve.lower >= low) & (curve.upper <= high)
        return curve.mass[inside].sum()

    return sum(
        np.log(chance(*ends)) - np.log(chance(start, INF))
        for *ends, start in zip(lower, upper, entry, strict=True)
    )


@pytest.mark.parametrize("late", [False, True])
def test_no_other_shares_are_more_likely(late):
    lower, upper, time = visits(80)
    entry = np.where(late & (np.arange(80) % 2 == 0), 0.3 * time, 0.0)
    cut = np.where(upper < INF, np.maximum(lower, entry), lower)
    kept = entry < np.minimum(upper, np.where(upper < INF, upper, lower))
    cut, upper, entry = cut[kept], upper[kept], entry[kept]
    curve = turnbull(Surv.from_intervals(cut, upper, entry=entry))
    ends = np.where(cut > 0, cut, -INF), upper, np.where(entry > 0, entry, -INF)
    best = log_likelihood(curve, *ends)
    rng = np.random.default_rng(0)
    for size in (0.01, 0.1, 0.5):
        for _ in range(20):
            mass = curve.mass * np.exp(size * rng.normal(size=curve.mass.size))
            other = _turnbull.Turnbull(curve.lower, curve.upper, mass / mass.sum(), 0.0)
            assert log_likelihood(other, *ends) <= best + 1e-6


def test_it_finds_the_true_law_and_bounds_it():
    lower, upper, _ = visits(3000)
    curve = turnbull(Surv.from_intervals(lower, upper))
    at = np.array([1.0, 2.0, 4.0, 6.0])
    true = np.exp(-((at / 5.0) ** 1.5))
    np.testing.assert_allclose(curve(at), true, atol=0.06)
    low, high = curve.bounds(at)
    assert (low <= curve(at)).all()
    assert (curve(at) <= high).all()


def test_a_hard_case_converges_to_its_closed_form():
    # R's tests/turnbull.R: masses a, b, c, d at four places maximise
    # 260 log a + 40 log(a + b) + 92 log(b + c) + 12 log(b + c + d) + 5 log c + 11 log d
    nan = np.nan
    lower = np.r_[
        np.zeros(100), np.ones(200), 100, 200, 210, 220, np.full(100, 365), np.full(5, 366),
        731:742,
    ]  # fmt: skip
    upper = np.r_[
        np.arange(1, 101) * 3, 10 + np.arange(1, 101), np.full(60, 365), np.full(40, 366), nan,
        500, nan, 450, np.full(90, 730), np.full(10, nan), 528, 571, 691, 730, 731, nan,
        np.arange(1095, 1100), nan, 1400, 1200, 772, 1461,
    ]  # fmt: skip
    curve = turnbull(Surv.from_intervals(lower, upper))
    np.testing.assert_allclose(curve.mass, [0.6958, 0.1674, 0.1079, 0.0289], atol=5e-5)
    np.testing.assert_array_equal(curve.upper, [3, 366, 450, 772])


def test_weights_are_counts_and_zeros_no_rows():
    lower, upper, _ = visits(60)
    weight = np.arange(60) % 3
    kept = np.repeat(np.arange(60), weight)
    weighted = turnbull(Surv.from_intervals(lower, upper), weight)
    repeated = turnbull(Surv.from_intervals(lower[kept], upper[kept]))
    np.testing.assert_allclose(weighted.mass, repeated.mass, rtol=1e-9)
    np.testing.assert_array_equal(weighted.lower, repeated.lower)


def test_what_the_data_do_not_say_is_bounded():
    curve = turnbull(Surv.from_intervals([0, 2, 4, 6], [2, 4, 4, INF]))
    # before 2: (-inf, 2]; at 4 exactly; after 6
    np.testing.assert_array_equal(curve.lower, [-INF, 4, 6])
    low, high = curve.bounds([1.0, 2.0, 3.0, 4.0, 5.0, 7.0, np.nan])
    np.testing.assert_allclose(low, [0.75, 0.75, 0.75, 0.25, 0.25, 0.0, np.nan])
    np.testing.assert_allclose(high, [1.0, 0.75, 0.75, 0.25, 0.25, 0.25, np.nan])
    np.testing.assert_allclose(curve([1.0, 2.0, 7.0, np.nan]), [0.875, 0.75, 0.25, np.nan])
    np.testing.assert_array_equal(curve.quantile([0.2, 0.5, 0.9]), [[-INF, 2], [4, 4], [6, INF]])


def test_shares_are_of_those_without_an_event_at_the_first_entry():
    y = Surv.from_arrays([1, 1, 0, 1], [5, 6, 7, 8], entry=[3, 2, 4, 5])
    assert turnbull(y).known_from == 2.0
    assert turnbull((y["time"], y["event"])).known_from == 0.0


def test_levels_outside_their_range_are_refused():
    curve = turnbull(Surv.from_intervals([1, 2], [3, 4]))
    with pytest.raises(ValueError, match=re.escape("levels must be inside (0, 1), got 1.")):
        curve.quantile([0.5, 1.0])


def test_rows_that_are_all_censored_have_no_estimate():
    with pytest.raises(NoEventsError, match="y has no event: 2 of 2 rows are censored"):
        turnbull(Surv.from_intervals([1, 2], [INF, INF]))


def test_kinds_of_events_are_refused():
    message = "got one with competing risks in 1 of 3 rows"
    with pytest.raises(ValueError, match=message):
        turnbull(Surv.from_intervals([1, 2, 3], [1, 2, INF], event=[1, 2, 0]))


def test_a_search_that_ends_early_says_so(monkeypatch):
    lower, upper, _ = visits(200)
    monkeypatch.setattr(_turnbull, "_MOST_ROUNDS", 2)
    message = (
        "The search for Turnbull's estimate ended after 2 rounds, before its likelihood was flat: "
        "the shares of neighbouring intervals are not exact; round the bounds of the intervals."
    )
    with pytest.warns(ConvergenceWarning, match="^" + re.escape(message) + "$"):
        turnbull(Surv.from_intervals(lower, upper))


def test_an_early_end_is_no_finding():
    y = Surv.from_arrays([1, 1, 1, 1, 0], [2, 5, 6, 7, 8], entry=[1, 3, 3, 4, 4])
    message = (
        "All rows that were under observation at 2 had their event, so that the estimate has "
        "nobody left although other rows enter or stay later: begin later, with entries of at "
        "least a time at which enough rows are under observation."
    )
    with pytest.warns(IdentifiabilityWarning, match="^" + re.escape(message) + "$") as caught:
        curve = turnbull(y)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(curve([2.0, 7.0]), 0.0, atol=1e-8)
