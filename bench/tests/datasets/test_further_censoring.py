import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from censquant.datasets import censor_uniform, make_weibull
from censquant.survival import Surv
from censquant_bench.datasets import (
    censor_administrative,
    censor_by_feature,
    censor_exponential,
)

N = 20_000
RNG = np.random.default_rng(5)
FEATURE = RNG.normal(size=N)
TIMES = RNG.weibull(1.5, size=N) * np.exp(FEATURE)
OVERLAYS = {
    "uniform": lambda time, **options: censor_uniform(time, **options),
    "exponential": lambda time, **options: censor_exponential(time, 0.3, **options),
    "by feature": lambda time, **options: censor_by_feature(time, FEATURE, 0.3, **options),
}
ALL = {
    **OVERLAYS,
    "administrative": lambda time, random_state=None, **options: censor_administrative(
        time, share=0.3, **options
    ),
}


@pytest.mark.parametrize("overlay", ALL.values(), ids=ALL)
class TestEveryOverlay:
    def test_an_event_is_seen_exactly_where_it_is_not_after_the_censoring(self, overlay):
        y, censoring = overlay(TIMES, random_state=0, return_censoring=True)
        assert_array_equal(y["event"], censoring >= TIMES)
        assert_array_equal(y["time"], np.minimum(TIMES, censoring))
        assert y.dtype.names == ("event", "time")
        assert 0 < y["event"].mean() < 1

    def test_censoring_times_are_returned_only_on_demand(self, overlay):
        y, _ = overlay(TIMES, random_state=0, return_censoring=True)
        assert_array_equal(overlay(TIMES, random_state=0), y)

    def test_an_observed_target_is_read_like_its_times(self, overlay):
        target = Surv.from_arrays(event=np.ones(N, dtype=bool), time=TIMES)
        assert_array_equal(overlay(target, random_state=0), overlay(TIMES, random_state=0))

    def test_the_times_that_were_given_are_not_changed(self, overlay):
        before = TIMES.copy()
        overlay(TIMES, random_state=0)
        assert_array_equal(TIMES, before)

    def test_times_that_are_censored_already_are_refused(self, overlay):
        target = Surv.from_arrays(event=np.arange(N) >= 3, time=TIMES)
        message = (
            f"time must be fully observed, got 3 of {N} rows censored; "
            "censoring can be put only over times that are known."
        )
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            overlay(target)

    def test_times_must_be_numbers(self, overlay):
        with pytest.raises(TypeError, match="time must hold numbers"):
            overlay(["soon"] * N)

    def test_times_must_be_finite(self, overlay):
        with pytest.raises(ValueError, match="time contains NaN: 1 of 2 times are missing"):
            overlay([1.0, np.nan])

    def test_the_flag_must_be_a_flag(self, overlay):
        message = "return_censoring must be True or False, got 'yes'."
        with pytest.raises(TypeError, match=re.escape(message)):
            overlay(TIMES, return_censoring="yes")


@pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS)
class TestRandomOverlays:
    def test_the_seed_decides(self, overlay):
        first, second, other = (overlay(TIMES, random_state=seed) for seed in (1, 1, 2))
        assert_array_equal(first, second)
        assert np.any(first != other)

    def test_a_generator_is_used_and_moves_on(self, overlay):
        rng = np.random.default_rng(1)
        assert_array_equal(overlay(TIMES, random_state=rng), overlay(TIMES, random_state=1))
        assert np.any(overlay(TIMES, random_state=rng) != overlay(TIMES, random_state=1))

    def test_censoring_is_independent_of_the_time_given_the_feature(self, overlay):
        _, censoring = overlay(TIMES, random_state=3, return_censoring=True)
        # Ranks within narrow bands of the feature, where it is as good as constant.
        bands = np.argsort(FEATURE).reshape(100, -1)
        correlations = [stats.spearmanr(TIMES[band], censoring[band])[0] for band in bands]
        assert abs(np.mean(correlations)) < 4 / np.sqrt(N)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("share", [0.001, 0.2, 0.5, 0.9, 0.999])
def test_the_wanted_share_is_expected_in_any_unit(share, unit):
    y, censoring = censor_exponential(TIMES * unit, share, random_state=1, return_censoring=True)
    error = 4 * np.sqrt(share * (1 - share) / N)
    assert 1 - y["event"].mean() == pytest.approx(share, abs=error)
    scale = censoring.mean()
    assert stats.kstest(censoring / scale, "expon").pvalue > 1e-3


@pytest.mark.parametrize("strength", [-2.0, 0.0, 1.0, 3.0, 500.0])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_the_wanted_share_is_expected_by_feature(share, strength):
    y = censor_by_feature(TIMES, FEATURE, share, strength, random_state=1)
    error = 4 * np.sqrt(share * (1 - share) / N)
    assert 1 - y["event"].mean() == pytest.approx(share, abs=error)


def test_rates_differ_by_the_stated_factor():
    feature = np.repeat([10.0, 20.0], N // 2)  # two standard deviations apart
    _, censoring = censor_by_feature(
        np.ones(N), feature, strength=0.7, random_state=0, return_censoring=True
    )
    few, many = censoring[: N // 2].mean(), censoring[N // 2 :].mean()
    assert np.log(few / many) == pytest.approx(1.4, abs=4 * np.sqrt(2 / (N // 2)))


def test_no_strength_is_exponential_censoring():
    assert_array_equal(
        censor_by_feature(TIMES, FEATURE, 0.4, 0.0, random_state=2),
        censor_exponential(TIMES, 0.4, random_state=2),
    )


def test_without_the_feature_the_censoring_depends_on_the_time():
    _, censoring = censor_by_feature(TIMES, FEATURE, random_state=0, return_censoring=True)
    assert stats.spearmanr(TIMES, censoring)[0] < -0.2


def test_a_share_is_that_of_rows_under_an_end_of_the_study():
    y = censor_administrative(np.arange(100.0), share=0.25)
    assert np.sum(~y["event"]) == 25
    assert y["time"].max() == 74.0


def test_an_event_at_the_very_end_is_seen():
    assert censor_administrative([1.0, 2.0, 3.0], end=2.0).tolist() == [
        (True, 1.0),
        (True, 2.0),
        (False, 2.0),
    ]


def test_tied_times_are_not_censored_beyond_the_share():
    y = censor_administrative([1.0, 5.0, 5.0, 5.0], share=0.5)
    assert y["event"].all()


@pytest.mark.parametrize("given", [{}, {"end": 1.0, "share": 0.5}])
def test_an_end_and_a_share_exclude_each_other(given):
    message = (
        "Exactly one of end and share must be given, got "
        f"end={given.get('end')!r} and share={given.get('share')!r}."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        censor_administrative(TIMES, **given)


@pytest.mark.parametrize(
    "overlay",
    [
        lambda share: censor_exponential(TIMES, share),
        lambda share: censor_by_feature(TIMES, FEATURE, share),
        lambda share: censor_administrative(TIMES, share=share),
    ],
    ids=["exponential", "by feature", "administrative"],
)
@pytest.mark.parametrize("share", [0.0, 1.0, -0.5])
def test_a_share_outside_is_refused(overlay, share):
    message = f"share must be finite and inside (0, 1), got {share!r}."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        overlay(share)


def test_negative_times_have_no_exponential_censoring():
    message = (
        "time must not be negative under exponential censoring, got -1 in row 1; shift the times "
        "or use censor_uniform."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        censor_exponential([1.0, -1.0])


def test_times_of_zero_limit_the_share():
    message = "share must be below the share of times above 0, which is 0.5, got 0.5."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        censor_exponential([0.0, 1.0], 0.5)
    assert censor_exponential([0.0, 1.0], 0.4, random_state=0)["event"][0]


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ([1.0], "feature must have one value for each time, got 1 values for 2 times."),
        ([1.0, np.inf], "feature must be finite, got inf in row 1."),
        ([1.0, 1.0], "feature must not be the same in all rows, got 1 in each."),
    ],
)
def test_a_feature_that_says_nothing_is_refused(feature, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        censor_by_feature([1.0, 2.0], feature)


def test_synthetic_targets_can_be_censored_anew():
    data = make_weibull(50, random_state=0)
    y = censor_administrative(data.target_time, end=10.0)
    assert_array_equal(y["event"], data.target_time <= 10.0)
