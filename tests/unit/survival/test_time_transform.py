import json
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from censquant.survival._transform import _MOST_GROUPS, TimeTransform
from strategies import repetitions

few = settings(max_examples=60, deadline=None)
kinds = st.sampled_from([None, "standardize", "log", "tobit", "log-tobit"])
positive = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=20).map(np.array)


def fitted(time, kind, **options):
    return TimeTransform.fit(time, np.ones(len(time)), kind, **options)


def test_no_transform_is_the_identity():
    assert fitted([1.0, 5.0], None) == TimeTransform()
    np.testing.assert_array_equal(TimeTransform().forward([-1.0, 2.0]), [-1.0, 2.0])


def test_standardised_times_have_mean_zero_and_unit_spread():
    transform = TimeTransform.fit([1, 3, 5, 7], [1, 0, 1, 0], "standardize")
    assert transform.center == 4.0
    assert transform.scale == pytest.approx(np.sqrt(5), rel=1e-15)


def test_logarithms_are_standardised():
    transform = fitted(np.exp([1.0, 3.0]), "log")
    assert transform.log
    assert transform.floor == np.e / 2
    np.testing.assert_allclose([transform.center, transform.scale], [2, 1], rtol=1e-14)
    np.testing.assert_allclose(transform.forward(np.exp([1.0, 3.0])), [-1, 1], atol=1e-14)


def test_a_time_of_zero_stands_at_half_the_first_event():
    transform = TimeTransform.fit([0.0, 0.5, 2.0, 8.0], [1, 0, 1, 1], "log")
    assert transform.floor == 1.0
    assert transform.forward(0.0) == transform.forward(0.5) == transform.forward(1.0)
    assert transform.forward(1.1) > transform.forward(1.0)


def test_the_floor_falls_back_on_censored_rows_and_then_on_one():
    assert TimeTransform.fit([0.0, 4.0], [1, 0], "log").floor == 2.0
    assert TimeTransform.fit([0.0, 0.0], [1, 0], "log") == TimeTransform(log=True, floor=1.0)


@few
@given(time=positive, kind=kinds, mirror=st.booleans())
def test_the_inverse_undoes_the_transform(time, kind, mirror):
    transform = fitted(time, kind, mirror=mirror)
    # Times near 0 beside large ones lose digits by the subtraction of the centre.
    slack = 1e-12 * (np.abs(time).max() if kind in ("standardize", "tobit") else 0)
    np.testing.assert_allclose(
        transform.inverse(transform.forward(time)), time, rtol=1e-12, atol=slack
    )


@few
@given(time=positive, kind=kinds, mirror=st.booleans())
def test_order_is_kept_unless_mirrored(time, kind, mirror):
    transform = fitted(time, kind, mirror=mirror)
    steps = np.diff(transform.forward(np.sort(time)))
    assert (steps <= 0).all() if mirror else (steps >= 0).all()
    steps = np.diff(transform.inverse(np.linspace(-5, 5, 11)))
    assert (steps < 0).all() if mirror else (steps > 0).all()


@few
@given(time=positive, kind=kinds, mirror=st.booleans())
def test_a_transform_survives_json(time, kind, mirror):
    transform = fitted(time, kind, mirror=mirror)
    assert TimeTransform.from_dict(json.loads(json.dumps(transform.to_dict()))) == transform


@few
@given(time=positive, kind=st.sampled_from(["standardize", "log"]), unit=st.floats(1e-4, 1e4))
def test_the_unit_of_time_does_not_matter(time, kind, unit):
    old, new = fitted(time, kind), fitted(unit * time, kind)
    # Rounding of a time, or of its logarithm, is worth this much on the scale of training.
    scale = min(old.scale, new.scale / (unit if kind == "standardize" else 1))
    size = np.abs(time).max() if kind == "standardize" else 40
    assume(np.ptp(time if kind == "standardize" else np.log(time)) > 1e-9 * size)
    np.testing.assert_allclose(
        new.forward(unit * time), old.forward(time), rtol=0, atol=1e-14 * size / scale
    )


@few
@given(data=st.data(), kind=kinds)
def test_a_weight_counts_as_that_many_rows(data, kind):
    time = data.draw(positive)
    counts = data.draw(repetitions(len(time)))
    weighted = fitted(time, kind, sample_weight=counts)
    repeated = fitted(np.repeat(time, counts), kind)
    assert weighted.floor == repeated.floor
    np.testing.assert_allclose(weighted.center, repeated.center, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-6)


@pytest.mark.parametrize("kind", ["standardize", "log", "tobit", "log-tobit"])
@pytest.mark.parametrize("value", [0.1, 3.0, 1e-300, 1e300])
def test_equal_times_are_centred_and_scaled_by_their_size(kind, value):
    transform = fitted(np.full(7, value), kind)
    assert transform.scale == (
        1.0 if kind.startswith("log") else pytest.approx(0.01 * value, abs=0)
    )
    np.testing.assert_allclose(transform.forward(value), 0, atol=1e-12 * max(value, 1000))


@pytest.mark.parametrize("times", [[0.0, 0.0], [5e-324, 1e-323]])
def test_times_without_a_spread_that_floats_can_hold_are_not_scaled(times):
    assert fitted(times, "standardize").scale == 1.0


@pytest.mark.parametrize("kind", ["standardize", "log"])
@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_extreme_units_do_not_overflow(kind, unit):
    z = fitted(unit * np.array([1.0, 2.0, 4.0]), kind).forward(unit * np.array([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(z.mean(), 0, atol=1e-10)
    np.testing.assert_allclose(z.std(), 1, rtol=1e-10)


def test_the_smallest_floats_have_a_floor_that_is_positive():
    transform = fitted([5e-324, 1.0], "log")
    assert transform.floor > 0
    assert np.isfinite(transform.forward([0.0, 5e-324])).all()


@pytest.mark.parametrize("z", [1e3, 1e308, np.inf])
@pytest.mark.parametrize("mirror", [False, True])
def test_a_large_value_gives_a_finite_time(z, mirror):
    transform = TimeTransform(log=True, floor=0.1, center=3.0, scale=10.0, mirror=mirror)
    far = -z if mirror else z
    assert transform.inverse(far) == np.exp(700.0)
    assert transform.inverse(-far) == 0.0


def test_mirroring_negates_last():
    plain = TimeTransform(log=True, floor=0.5, center=1.0, scale=2.0)
    mirrored = TimeTransform(log=True, floor=0.5, center=1.0, scale=2.0, mirror=True)
    time = np.array([0.1, 1.0, 9.0])
    np.testing.assert_array_equal(mirrored.forward(time), -plain.forward(time))


@pytest.mark.parametrize("method", ["forward", "inverse"])
def test_any_shape_and_number_type_becomes_float64(method):
    result = getattr(TimeTransform(center=1.0), method)(np.ones((2, 3), dtype=np.float32))
    assert result.shape == (2, 3)
    assert result.dtype == np.float64


@pytest.mark.parametrize(("kind", "other"), [("log", "standardize"), ("log-tobit", "tobit")])
def test_negative_times_have_no_logarithm(kind, other):
    message = (
        f"time must not be negative for time_transform='{kind}', got a minimum of -1.3: "
        f"use time_transform='{other}'."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        fitted([2.0, -1.3], kind)


@few
@given(time=positive, kind=kinds, mirror=st.booleans())
def test_the_log_slope_is_that_of_differences(time, kind, mirror):
    transform = fitted(time, kind, mirror=mirror)
    assume(transform.floor < time.min() * (1 - 1e-5))
    step = 1e-6 * time
    rise = np.abs(transform.forward(time + step) - transform.forward(time - step))
    # A difference of neighbours loses what the centre takes of their digits.
    size = 1 if transform.log else np.abs(time).max() / time.min()
    assume(size < 1e5)
    slack = 1e-4 * size + 1e-8 / transform.scale if transform.log else 1e-4 * size
    np.testing.assert_allclose(transform.log_slope(time), np.log(rise / (2 * step)), atol=slack)


def test_a_negative_time_of_no_weight_does_not_matter():
    assert fitted([2.0, -1.3], "log", sample_weight=[1, 0]).floor == 1.0


def test_a_logarithm_without_a_floor_needs_positive_times():
    message = "time must be positive for a logarithm with floor 0, got 0."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        TimeTransform(log=True).forward([1.0, 0.0])
    assert TimeTransform(log=True).forward(1.0) == 0.0


def test_an_unknown_kind_is_refused_with_the_known_ones():
    message = (
        "time_transform must be None, 'standardize', 'log', 'tobit' or 'log-tobit', got 'sqrt'."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        fitted([1.0], "sqrt")


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"log": 1}, TypeError, "log must be True or False, got 1."),
        ({"mirror": "no"}, TypeError, "mirror must be True or False, got 'no'."),
        ({"center": "0"}, TypeError, "center must be a number, got '0'."),
        ({"scale": True}, TypeError, "scale must be a number, got True."),
        ({"center": np.inf}, ValueError, "center must be finite, got inf."),
        ({"floor": -1.0}, ValueError, "floor must not be negative, got -1.0."),
        ({"scale": 0.0}, ValueError, "scale must be positive, got 0.0."),
    ],
)
def test_parameters_that_make_no_transform_are_refused(parameters, error, message):
    with pytest.raises(error, match="^" + re.escape(message) + "$"):
        TimeTransform(**parameters)


@pytest.mark.parametrize("change", [{"log": None}, {"power": 2.0}])
def test_a_dictionary_needs_every_parameter_and_no_other(change):
    values = TimeTransform().to_dict() | change
    values = {name: value for name, value in values.items() if value is not None}
    message = (
        "A time transform must have the keys 'log', 'floor', 'center', 'scale', 'mirror', "
        f"got {', '.join(map(repr, list(values)[:5]))}"
    )
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        TimeTransform.from_dict(values)


# Mean and spread behind censored times, against a numerical maximum of the likelihood.


def sample(n=400, seed=0, *, low=0.0, high=18.0):
    """Normal times of mean 10 and deviation 3, censored uniformly."""
    rng = np.random.default_rng(seed)
    time, end = rng.normal(10.0, 3.0, n), rng.uniform(low, high, n)
    return np.minimum(time, end), time <= end


def by_search(time, event, weight=None):
    """Maximum of the censored normal likelihood, found without its derivatives."""
    weight = np.ones(len(time)) if weight is None else weight

    def loss(parameters):
        law = norm(parameters[0], np.exp(parameters[1]))
        return -(weight * np.where(event, law.logpdf(time), law.logsf(time))).sum()

    start = [time.mean(), np.log(time.std())]
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9})
    return found.x[0], np.exp(found.x[1])


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_maximum_of_the_censored_likelihood(seed):
    time, event = sample(seed=seed)
    assert 0.3 < 1 - event.mean() < 0.7
    transform = TimeTransform.fit(time, event, "tobit")
    np.testing.assert_allclose(
        (transform.center, transform.scale), by_search(time, event), rtol=1e-5
    )
    assert not transform.log


def test_it_finds_the_law_behind_early_censoring_where_plain_moments_do_not():
    time, event = sample(20_000, low=0.0, high=12.0)
    assert 1 - event.mean() > 0.7
    tobit, plain = (TimeTransform.fit(time, event, kind) for kind in ("tobit", "standardize"))
    np.testing.assert_allclose((tobit.center, tobit.scale), (10.0, 3.0), rtol=0.02)
    assert plain.center < 7.0


def test_logarithms_are_treated_alike():
    time, event = sample()
    inner = TimeTransform.fit(time / 10, event, "tobit")
    transform = TimeTransform.fit(np.exp(time / 10), event, "log-tobit")
    assert transform.log
    np.testing.assert_allclose(transform.center, inner.center, rtol=1e-9)
    np.testing.assert_allclose(transform.scale, inner.scale, rtol=1e-9)


def test_left_censored_times_are_the_mirror_image():
    time, event = sample()
    right = TimeTransform.fit(time, event, "tobit")
    left = TimeTransform.fit(-time, event, "tobit", mirror=True)
    assert left.center == pytest.approx(-right.center, rel=1e-12)
    assert left.scale == pytest.approx(right.scale, rel=1e-12)
    np.testing.assert_allclose(left.forward(-time), right.forward(time), atol=1e-12)


def test_without_censoring_it_is_the_plain_standardisation():
    time, _ = sample()
    event = np.ones(len(time), bool)
    tobit, plain = (TimeTransform.fit(time, event, kind) for kind in ("tobit", "standardize"))
    assert tobit.center == pytest.approx(plain.center, rel=1e-12)
    assert tobit.scale == pytest.approx(plain.scale, rel=1e-12)


def test_weights_count_rows():
    time, event = sample(60)
    counts = np.random.default_rng(1).integers(0, 4, 60)
    weighted = TimeTransform.fit(time, event, "tobit", sample_weight=counts)
    repeated = TimeTransform.fit(np.repeat(time, counts), np.repeat(event, counts), "tobit")
    assert weighted.center == pytest.approx(repeated.center, rel=1e-10)
    assert weighted.scale == pytest.approx(repeated.scale, rel=1e-10)


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e6, 1e200])
def test_the_unit_of_time_does_not_matter_to_censored_moments(unit):
    time, event = sample()
    one, other = (TimeTransform.fit(unit * t, event, "tobit") for t in (time / unit, time))
    assert other.center == pytest.approx(unit * one.center, rel=1e-9)
    assert other.scale == pytest.approx(unit * one.scale, rel=1e-9)


def test_grouping_many_censored_rows_changes_next_to_nothing():
    time, event = sample(40_000)
    assert (~event).sum() > 5 * _MOST_GROUPS
    transform = TimeTransform.fit(time, event, "tobit")
    np.testing.assert_allclose(
        (transform.center, transform.scale), by_search(time, event), rtol=1e-4
    )
    order = np.random.default_rng(2).permutation(len(time))
    again = TimeTransform.fit(time[order], event[order], "tobit")
    assert again.center == pytest.approx(transform.center, rel=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_equal_events_after_all_censoring_keep_a_scale(share):
    n = 200
    event = np.arange(n) >= share * n
    time = np.where(event, 5.0, np.linspace(0.0, 4.0, n))
    transform = TimeTransform.fit(time, event, "tobit")
    plain = TimeTransform.fit(time, event, "standardize")
    assert 1e-3 * plain.scale <= transform.scale
    assert np.isfinite(transform.forward(time)).all()


def test_one_event_among_many_censored_rows_stays_near_the_times():
    time, event = np.linspace(1.0, 2.0, 300), np.zeros(300, bool)
    event[0] = True
    transform = TimeTransform.fit(time, event, "tobit")
    assert 1.0 < transform.center < 20.0
    assert 0.1 < transform.scale < 20.0
