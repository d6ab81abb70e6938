"""Aalen-Johansen curves: a published table, other implementations, and what must always hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import AalenJohansenFitter
from sksurv.datasets import load_bmt
from sksurv.nonparametric import cumulative_incidence_competing_risks

from censquant.survival import aalen_johansen, kaplan_meier


def rows_of(n=120, seed=0, n_kinds=2, decimals=1):
    rng = np.random.default_rng(seed)
    time = rng.exponential(3.0, n).round(decimals) + 0.1
    return time, np.append(np.arange(n_kinds + 1), rng.integers(0, n_kinds + 1, n - n_kinds - 1))


def test_a_published_table_of_breast_cancer_patients():
    # Satagopan and others (2004), British Journal of Cancer 91, table 2: 9 of 305 patients, whose
    # others were followed for longer; percentages with one digit.
    first = [7, 10, 14, 16, 18, 23, 24, 26, 27]
    status = ["censored", "BC", "censored", "BC", "other", "BC", "censored", "other", "BC"]
    time, event = np.append(first, np.full(296, 30)), [*status, *["censored"] * 296]
    curve = aalen_johansen(time, event)
    seen = curve.n_events.sum(axis=0) > 0
    assert curve.kinds.tolist() == ["BC", "other"]
    assert curve.n_at_risk[seen].tolist() == [304, 302, 301, 300, 298, 297]
    assert (100 * curve.survival[seen]).round(1).tolist() == [99.7, 99.3, 99.0, 98.7, 98.3, 98.0]
    steps = np.diff(curve([9, 10, 16, 23, 27])[0])
    assert (100 * steps).round(1).tolist() == [0.3, 0.3, 0.3, 0.3]


def test_incidences_of_transplanted_patients_are_those_of_scikit_survival():
    _, y = load_bmt()
    times, shares, limits = cumulative_incidence_competing_risks(
        y["status"], y["ftime"], conf_type="log-log", var_type="Dinse_Approx"
    )
    curve = aalen_johansen(y["ftime"], y["status"])
    assert curve.time.tolist() == times.tolist()
    np.testing.assert_allclose(curve.incidence, shares[1:], atol=1e-14)
    low, high = curve.limits(times)
    known = (curve.incidence > 0) & np.isfinite(limits[1:, 0])
    np.testing.assert_allclose(low[known], limits[1:, 0][known], atol=1e-12)
    np.testing.assert_allclose(high[known], limits[1:, 1][known], atol=1e-12)


def test_limits_of_a_kind_without_an_event_are_those_of_the_rows_that_were_followed():
    """Ten rows, none censored before 2: by the binomial law of n rows without an event."""
    time = np.arange(10) + 1.0
    curve = aalen_johansen(time, [1, 1, 1, 1, 1, 1, 1, 1, 1, 2])
    low, high = curve.limits([0.0, 0.5, 9.0])
    assert low[1].tolist() == [0, 0, 0]
    np.testing.assert_allclose(high[1], [0, *[1 - 0.025 ** (1 / 10)] * 2])
    # Past the end of follow-up nothing is known of it, unless nobody is left.
    _, high = aalen_johansen([1.0, 2.0], [1, 0]).limits([3.0])
    assert high[0] > 0.9
    curve = aalen_johansen([1.0, 2.0, 3.0], [1, 0, 2])
    assert curve.limits([1.5], 0.9)[1][1] == pytest.approx(1 - 0.05 ** (1 / 3))


def test_limits_of_one_kind_that_spares_nobody_agree_with_kaplan_meier():
    time = np.arange(10) + 1.0
    low, high = aalen_johansen(time, np.ones(10, int)).limits([12.0])
    rest = kaplan_meier(time, np.ones(10, bool)).limits([12.0])
    assert high.item() == 1
    assert low.item() == pytest.approx(1 - 0.1 * (1 - 0.025))
    assert rest[1].item() == pytest.approx(1 - low.item())


def test_without_ties_incidences_are_those_of_lifelines():
    time, event = rows_of(80, decimals=9)
    curve = aalen_johansen(time, event)
    for kind in (1, 2):
        peer = AalenJohansenFitter(calculate_variance=False).fit(
            time, event, event_of_interest=kind
        )
        table = peer.cumulative_density_.iloc[1:, 0]
        np.testing.assert_allclose(curve(table.index)[kind - 1], table, atol=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 2))
def test_incidences_and_kaplan_meier_sum_to_one(seed, n_kinds, decimals):
    time, event = rows_of(30, seed, n_kinds, decimals)
    curve = aalen_johansen(time, event)
    np.testing.assert_allclose(curve.incidence.sum(axis=0) + curve.survival, 1.0, atol=1e-14)
    assert (np.diff(curve.incidence, axis=1) >= 0).all()
    any_event = kaplan_meier(time, event > 0)
    np.testing.assert_allclose(curve.survival, any_event(curve.time), atol=1e-14)


def test_one_kind_has_the_error_of_greenwood():
    time, event = rows_of(60, n_kinds=1)
    curve, single = aalen_johansen(time, event), kaplan_meier(time, event)
    before_end = curve.time[curve.survival > 0]
    found = curve.standard_error(before_end)[0]
    np.testing.assert_allclose(found, single.standard_error(before_end), atol=1e-12)


def test_without_censoring_errors_are_those_of_binomial_shares():
    time, event = rows_of(200)
    event = np.where(event == 0, 1, event)
    curve = aalen_johansen(time, event)
    share = np.array([np.mean((time <= 2.0) & (event == kind)) for kind in (1, 2)])
    np.testing.assert_allclose(curve(2.0), share, atol=1e-13)
    np.testing.assert_allclose(curve.standard_error(2.0), np.sqrt(share * (1 - share) / 200))


def test_errors_agree_with_repeated_samples():
    rng = np.random.default_rng(1)
    found, errors = [], []
    for _ in range(400):
        times = rng.exponential([2.0, 3.0, 4.0], (80, 3))
        kind = np.array([1, 2, 0])[times.argmin(axis=1)]
        curve = aalen_johansen(times.min(axis=1), kind)
        found.append(curve(1.5))
        errors.append(curve.standard_error(1.5))
    np.testing.assert_allclose(np.mean(errors, axis=0), np.std(found, axis=0), rtol=0.1)


def test_a_weight_is_so_many_rows_and_none_is_no_row():
    time, event = rows_of(40)
    weight = np.random.default_rng(2).integers(0, 4, 40)
    weighted = aalen_johansen(time, event, weight)
    repeated = aalen_johansen(np.repeat(time, weight), np.repeat(event, weight))
    np.testing.assert_allclose(weighted.incidence, repeated.incidence, atol=1e-14)
    np.testing.assert_allclose(weighted.standard_error(2), repeated.standard_error(2), atol=1e-14)


def test_rows_that_enter_late_are_at_risk_after_their_entry_only():
    time, event = rows_of(80, n_kinds=1)
    entry = time * np.random.default_rng(4).uniform(0, 0.9, 80)
    entry[:20] = -np.inf
    curve = aalen_johansen(time, event, entry=entry)
    single = kaplan_meier(time, event, entry=entry)
    np.testing.assert_allclose(curve.survival, single(curve.time), atol=1e-12)
    assert curve.n_at_risk.tolist() == [((entry < t) & (time >= t)).sum() for t in curve.time]


def test_quantiles_are_infinite_where_the_share_is_never_reached():
    curve = aalen_johansen([1, 2, 3, 4], [1, 2, 1, 2])
    assert curve.quantile([0.25, 0.5, 0.51]).tolist() == [[1, 3, np.inf], [2, 4, np.inf]]
    assert curve.quantile(0.5).tolist() == [3, 4]


def test_curves_are_read_on_both_sides_of_a_step():
    curve = aalen_johansen([1, 2, 3, 4], [1, 2, 1, 2])
    assert curve([1.0, np.nan])[0].tolist()[0] == 0.25
    assert np.isnan(curve([np.nan])).all()
    assert curve(1.0, side="left").tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"^side must be 'right' or 'left', got 'middle'"):
        curve(1.0, side="middle")
    with pytest.raises(ValueError, match=r"^levels must be inside \(0, 1\), got 1"):
        curve.quantile(1.0)
