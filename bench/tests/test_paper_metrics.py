import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from censquant import metrics
from censquant.quantiles import QuantileCurve
from censquant_bench.metrics import (
    censored_d_calibration,
    true_quantile_mse,
    uncensored_d_calibration,
    uncensored_quantile_loss,
)
from strategies import repetitions, survival_data

TENTHS = np.arange(1, 10) / 10
TWENTIETHS = np.arange(1, 20) / 20
TAUS = np.array([0.2, 0.5, 0.9])
few = settings(max_examples=30, deadline=None)


def refused(message, error=ValueError):
    return pytest.raises(error, match="^" + re.escape(message) + "$")


def test_the_mean_squared_distance_is_over_rows_and_levels():
    predicted, true = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [[1.0, 4.0, 3.0], [1.0, 0.0, 3.0]]
    assert true_quantile_mse(predicted, true) == pytest.approx((4 + 1 + 9) / 6)
    assert true_quantile_mse(predicted, true, sample_weight=[2, 1]) == pytest.approx(18 / 9)


@pytest.mark.parametrize(
    ("predicted", "true", "message"),
    [
        ([1.0], [1.0], "true must have shape (n, k) with n, k at least 1, got shape (1,)."),
        (
            np.ones((0, 2)),
            np.ones((0, 2)),
            "true must have shape (n, k) with n, k at least 1, got shape (0, 2).",
        ),
        (
            [[1.0, 2.0]],
            [[1.0]],
            "predicted must have the shape of true, (1, 1), got shape (1, 2).",
        ),
        (
            [[1.0]],
            [[np.nan]],
            "true must be finite, got NaN or infinity in 1 of 1 rows, the first in row 0.",
        ),
    ],
)
def test_what_cannot_be_compared_with_the_truth_is_refused(predicted, true, message):
    with refused(message):
        true_quantile_mse(predicted, true)


def test_the_uncensored_loss_is_summed_over_levels():
    # Row 2: 0.1 * 1 + 0.5 * 2 + 0.1 * 1; row 9: 0.1 * 8 + 0.5 * 9 + 0.1 * 6.
    predicted = [[1.0, 4.0, 3.0], [1.0, 0.0, 15.0]]
    expected = (0.1 + 1.0 + 0.1 + 0.8 + 4.5 + 0.6) / 2
    assert uncensored_quantile_loss([2.0, 9.0], predicted, [0.1, 0.5, 0.9]) == pytest.approx(
        expected
    )


@pytest.mark.parametrize("score", [uncensored_quantile_loss, uncensored_d_calibration])
def test_the_uncensored_scores_refuse_a_censored_row(score):
    with refused("y must have no censored row, got 1 of 2: use the metric's censored version."):
        score(([1.0, 2.0], [1, 0]), [[1.0], [1.0]], [0.5])


def with_ends(taus):
    return [0.0, *taus, 1.0]


def slow_censored(time, event, predicted, taus):
    """Shares of the default by its definition, row by row and bin by bin."""
    edges = with_ends(taus)
    shares = np.zeros(len(edges) - 1)
    for t, e, row in zip(time, event, np.sort(predicted, axis=1), strict=True):
        level = QuantileCurve([row], taus).cdf([t])[0]
        for j in range(len(shares)):
            a, b = edges[j], edges[j + 1]
            if e:
                left, right = [-np.inf, *row, np.inf][j : j + 2]
                shares[j] += left < t <= right
            elif t > row[-1]:
                shares[j] += j == len(shares) - 1
            elif b > level:
                shares[j] += (b - max(a, level)) / (1 - level)
    return 100 * np.sum((np.diff(edges) - shares / len(time)) ** 2)


def slow_published(time, event, predicted, taus):
    """The published number by the description of its code, one case after the other."""
    total, edges = 0.0, with_ends(taus)
    for j in range(len(edges) - 1):
        a, b = edges[j], edges[j + 1]
        mass = 0.0
        for t, e, row in zip(time, event, predicted, strict=True):
            left, right = [-1e9, *row, 1e9][j : j + 2]
            distances = [abs(value - t) for value in row]
            q = taus[distances.index(min(distances))]
            if left <= t < right:
                mass += 1.0 if e else (b - q) / (1 - q)
            elif left > t and not e:
                mass += (b - a) / (1 - q)
        total += (b - a - mass / len(time)) ** 2
    return 100 * total


@st.composite
def judged(draw, *, ordered=False):
    time, event = draw(survival_data())
    size = 3 * len(time)
    numbers = draw(st.lists(st.integers(0, 24), min_size=size, max_size=size))
    predicted = np.array(numbers).reshape(-1, 3) * time.max() / 20
    return time, event, np.sort(predicted, axis=1) if ordered else predicted


@few
@given(rows=judged())
def test_the_default_is_that_of_its_definition(rows):
    time, event, predicted = rows
    # Times that tie with a quantile are levels up to rounding; a hair earlier they are not.
    time = time * (1 - 1e-6)
    error = censored_d_calibration((time, event), predicted, TAUS)
    assert error == pytest.approx(slow_censored(time, event, predicted, TAUS), abs=1e-9)


@few
@given(rows=judged())
def test_the_published_number_is_that_of_its_description(rows):
    time, event, predicted = rows
    error = censored_d_calibration((time, event), predicted, TAUS, paper=True)
    assert error == pytest.approx(slow_published(time, event, predicted, TAUS.tolist()), abs=1e-9)


@few
@given(rows=judged(ordered=True))
def test_without_censoring_the_censored_version_is_the_uncensored_one(rows):
    time, _, predicted = rows
    plain = uncensored_d_calibration(time, predicted, TAUS)
    assert censored_d_calibration(time, predicted, TAUS) == pytest.approx(plain, abs=1e-9)
    published = uncensored_d_calibration(time, predicted, TAUS, paper=True)
    assert censored_d_calibration(time, predicted, TAUS, paper=True) == pytest.approx(
        published, abs=1e-9
    )


@few
@given(rows=judged(), data=st.data())
def test_a_weight_counts_a_row_as_many_equal_rows(rows, data):
    time, event, predicted = rows
    weight = data.draw(repetitions(len(time)))
    again = np.repeat(np.arange(len(time)), weight)
    for paper in (False, True):
        weighted = censored_d_calibration(
            (time, event), predicted, TAUS, paper=paper, sample_weight=weight
        )
        repeated = censored_d_calibration(
            (time[again], event[again]), predicted[again], TAUS, paper=paper
        )
        assert weighted == pytest.approx(repeated, abs=1e-9)


def test_uncensored_shares_by_hand():
    # One, none, two and one of four times are in the bins; a quarter belongs in each.
    error = uncensored_d_calibration([1.0, 3.0, 2.5, 9.0], [[1.0, 2.0, 3.0]] * 4, [0.25, 0.5, 0.75])
    assert error == pytest.approx(100 * (0 + 0.25**2 + 0.25**2 + 0))


def test_the_published_number_counts_a_tie_above_and_does_not_sort():
    y, taus = [1.0, 3.0], [0.25, 0.75]
    # A quarter, a half and a quarter are promised. As published, 1 and 3 are past both quantiles.
    assert uncensored_d_calibration(y, [[0.5, 1.0], [3.0, 2.0]], taus, paper=True) == (
        pytest.approx(100 * (0.25**2 + 0.5**2 + 0.75**2))
    )
    assert uncensored_d_calibration(y, [[0.5, 1.0], [3.0, 2.0]], taus) == pytest.approx(
        100 * (0.25**2 + 0.5**2 + 0.25**2)
    )


def test_one_level_is_enough_for_the_published_number_alone():
    y = ([1.0, 2.0], [1, 0])
    assert censored_d_calibration(y, [[1.5]] * 2, [0.5], paper=True) == pytest.approx(0.0)
    with refused(
        "taus must hold two levels or more, since the level of a time is read between "
        "quantiles, got 1."
    ):
        censored_d_calibration(y, [[1.5]] * 2, [0.5])


def test_a_flag_that_is_none_is_refused():
    with refused("paper must be True or False, got None.", TypeError):
        censored_d_calibration([1.0], [[1.0, 2.0]], [0.5, 0.6], paper=None)


@pytest.mark.parametrize(
    ("taus", "published"),
    [
        (TENTHS, 0.37),
        (np.array([0.1, 1 / 3, 0.5, 2 / 3, 0.9]), 0.40),
        (TWENTIETHS, 0.08),
    ],
)
def test_the_published_number_is_biased_under_early_censoring_and_the_default_is_not(
    taus, published
):
    rng = np.random.default_rng(0)
    n = 100_000
    target, censoring = rng.normal(13, 1.5, size=n), rng.uniform(0, 18, size=n)
    y = (np.minimum(target, censoring), target <= censoring)
    assert 1 - y[1].mean() == pytest.approx(0.72, abs=0.01)
    true = np.tile(stats.norm(13, 1.5).ppf(taus), (n, 1))
    assert censored_d_calibration(y, true, taus, paper=True) == pytest.approx(published, abs=0.015)
    assert censored_d_calibration(y, true, taus) < 0.002


def simulate(rng, end, n):
    """Uniform times of a scale that depends on a feature: linear pieces describe them exactly."""
    scale = rng.uniform(0.5, 2.0, size=n)
    target, censoring = scale * rng.random(n), rng.uniform(0, end, size=n)
    y = (np.minimum(target, censoring), target <= censoring)
    return y, scale[:, None] * TWENTIETHS


@pytest.mark.parametrize(("end", "censored"), [(2.2, 0.3), (1.1, 0.5), (0.42, 0.8)])
def test_the_true_model_scores_zero_within_sampling_error(end, censored):
    n = 5000
    y, true = simulate(np.random.default_rng(3), end, n)
    assert abs(1 - y[1].mean() - censored) < 0.03
    # Without censoring its mean is 100 / n times the sum of p (1 - p), which is 0.95 here.
    assert censored_d_calibration(y, true, TWENTIETHS) < 3 * 95 / n


def test_the_uncensored_true_model_scores_its_sampling_error():
    rng = np.random.default_rng(4)
    scores = []
    for _ in range(100):
        (time, _), true = simulate(rng, 1e9, 500)
        scores.append(uncensored_d_calibration(time, true, TWENTIETHS))
    assert np.mean(scores) == pytest.approx(95 / 500, rel=0.15)


@pytest.mark.parametrize("name", ["true_quantile_mse", "uncensored_d_calibration"])
def test_the_old_home_names_the_new_one(name):
    message = (
        f"censquant.metrics.{name} is now censquant_bench.metrics.{name}, which is installed by: "
        "pip install censquant-bench"
    )
    with refused(message, AttributeError):
        getattr(metrics, name)
