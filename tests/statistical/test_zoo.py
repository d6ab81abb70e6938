"""The recommended estimator on awkward data: it answers within bounds, or refuses in a sentence."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import censquant
from awkward_data import awkward_data
from censquant import CensoredQuantileRegressor
from censquant.exceptions import (
    CalibrationWarning,
    ExtrapolationWarning,
    FeatureWarning,
    FewEventsWarning,
    NoEventsError,
)

LEVELS = np.array([0.001, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
FAR = 10.0  # times the follow-up


def fitted(data, **parameters):
    """The model, and the categories of the warnings of its fit; any unexpected one is an error."""
    negative = bool((data.time[data.counts] < 0).any())
    model = CensoredQuantileRegressor(
        censoring=data.censoring, allow_negative=negative, random_state=0, **parameters
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        for expected in (CalibrationWarning, FeatureWarning, FewEventsWarning):
            warnings.simplefilter("always", expected)
        model.fit(data.X, data.y, data.weight, groups=data.groups)
    return model, {entry.category for entry in caught}


def answers(model, X):
    """Everything that is asked of the model, as arrays."""
    low, high = model.follow_up_
    warnings.simplefilter("ignore", ExtrapolationWarning)  # of values that the fit did not have
    times = np.linspace(low - 0.1 * (high - low), high + (high - low), 41)
    return {
        "quantiles": model.predict_quantiles(X, LEVELS, beyond="extrapolate"),
        "inf": model.predict_quantiles(X, LEVELS, beyond="inf"),
        "survival": model.predict_survival_function(X, times, True, beyond="extrapolate"),
        "reach": model.identified_level(X),
        "mean": model.predict_restricted_mean(X),
        "remaining": model.predict_remaining(X, high, beyond="extrapolate"),
    }


def assert_within_bounds(model, found, data):
    for name, array in found.items():
        assert np.isfinite(array).all() or name == "inf", name
    quantiles, survival, reach = found["quantiles"], found["survival"], found["reach"]
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert ((survival >= 0) & (survival <= 1)).all()
    assert (np.diff(survival, axis=1) <= 0).all()
    assert ((reach >= 0) & (reach <= 1)).all()
    assert (found["remaining"] >= 0).all()
    low, high = model.follow_up_
    used = data.time[data.counts]
    assert (low, high) == (used.min(), used.max())
    if low >= 0:
        assert (quantiles >= 0).all()
    common = LEVELS >= 0.05 if data.censoring == "left" else LEVELS <= 0.95
    # Of durations this is the last observed time.
    length = max(high, 0.0) - min(low, 0.0)
    assert (np.abs(quantiles[:, common]) <= FAR * length).all()
    known = found["inf"][np.isfinite(found["inf"])]
    rounding = 1e-9 * max(abs(low), abs(high))
    assert (
        (known >= low - rounding) if data.censoring == "left" else (known <= high + rounding)
    ).all()


def check(data, path, *, again, **parameters):
    """Make all claims about one data set."""
    if not data.n_events:
        with pytest.raises(NoEventsError, match=r"^y has no event: .* can be fitted\.$"):
            fitted(data, **parameters)
        return
    model, warned = fitted(data, n_jobs=2, **parameters)
    assert (FewEventsWarning in warned) == data.has_few_events
    rows = data.further_rows(np.random.default_rng(0))
    found = answers(model, rows)
    assert_within_bounds(model, found, data)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert min(model.weights_.values()) >= 0.0

    model.save(path)
    twins = [censquant.load_model(path)]
    if again:
        twins.append(fitted(data, n_jobs=1, **parameters)[0])
    for twin in twins:
        for name, array in answers(twin, rows).items():
            np.testing.assert_array_equal(array, found[name], err_msg=name)


CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@given(data=awkward_data(), again=st.sampled_from([True, False, False, False]))
@settings(max_examples=40, deadline=None, suppress_health_check=CHECKS)
def test_awkward_data_are_answered_within_bounds_or_refused(tmp_path, data, again):
    check(data, tmp_path / "model", again=again, cv=2)


@pytest.mark.slow
@given(data=awkward_data(), again=st.sampled_from([True, False, False, False]))
@settings(max_examples=500, deadline=None, suppress_health_check=CHECKS)
def test_many_awkward_data_are_answered_within_bounds_or_refused(tmp_path, data, again):
    check(data, tmp_path / "model", again=again)
