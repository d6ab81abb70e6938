import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from censquant.datasets import describe, make_lognorm_8d, make_norm_4d

LEVELS = np.array([0.1, 0.5, 0.9])
SLOPES = np.array([0.8, 0.6, 0.4, 0.5, -0.3, 0.2, 0.0, -0.7])


def norm_law(x, offset):
    mean = 3 * x[:, 0] + x[:, 1] ** 2 - x[:, 2] ** 2 + np.sin(x[:, 2] * x[:, 3]) + offset
    return stats.norm(mean[:, None], 1)


def lognorm_law(x, offset):
    return stats.lognorm(1, scale=np.exp(x @ SLOPES)[:, None] / 10)


SETS = [(make_norm_4d, norm_law, 4, 2000), (make_lognorm_8d, lognorm_law, 8, 4000)]
# The paper's column; its shares are those of single samples, and the offset of Norm is random.
SHARES = {
    make_norm_4d: {"heavy": 0.80, "medium": 0.49, "light": 0.25, "same": 0.50},
    make_lognorm_8d: {"heavy": 0.75, "medium": 0.52, "light": 0.23, "same": 0.50},
}


@pytest.mark.parametrize(("make", "law", "n_features", "n_rows"), SETS)
class TestSeveralFeatures:
    def test_size_by_default_is_the_papers(self, make, law, n_features, n_rows):
        assert make(random_state=0).X.shape == (n_rows, n_features)

    def test_true_quantiles_are_those_of_the_law(self, make, law, n_features, n_rows):
        data = make(200, random_state=0)
        assert_allclose(data.true_quantiles(LEVELS), law(data.X, data.offset).ppf(LEVELS))

    def test_targets_follow_the_law(self, make, law, n_features, n_rows):
        data = make(20_000, random_state=1)
        levels = law(data.X, data.offset).cdf(data.target_time[:, None])[:, 0]
        assert stats.kstest(levels, "uniform").pvalue > 1e-3

    def test_censoring_like_the_target_follows_the_same_law(self, make, law, n_features, n_rows):
        data = make(20_000, censoring="same", random_state=2)
        levels = law(data.X, data.offset).cdf(data.censoring_time[:, None])[:, 0]
        assert stats.kstest(levels, "uniform").pvalue > 1e-3

    @pytest.mark.parametrize("censoring", ["heavy", "medium", "light", "same"])
    def test_share_censored_is_near_the_papers(self, make, law, n_features, n_rows, censoring):
        data = make(20_000, censoring=censoring, random_state=3)
        assert abs(1 - data.y["event"].mean() - SHARES[make][censoring]) < 0.06

    def test_without_censoring_the_same_targets_are_all_seen(self, make, law, n_features, n_rows):
        censored, observed = (make(50, random_state=4, censored=c) for c in (True, False))
        assert observed.y["event"].all()
        assert_array_equal(observed.y["time"], censored.target_time)

    def test_an_unknown_censoring_is_refused(self, make, law, n_features, n_rows):
        message = "censoring must be one of 'heavy', 'medium', 'light', 'same', got 'none'."
        with pytest.raises(ValueError, match=re.escape(message)):
            make(censoring="none")


def mean_offset(means):
    """Expected offset: 1 less the smallest of 10,000 targets, by its law on a grid of times."""
    times = np.linspace(-9, -3, 61)
    no_smaller = np.array([special.ndtr(means - time).mean() for time in times]) ** 10_000
    return 1 - (times[0] + integrate.trapezoid(no_smaller, times))


def share_4d(high):
    """Share of targets after a time that is uniform up to `high`, by the integral over it."""
    # So many points, since the smallest target comes from a corner of the features.
    x = 2 * stats.qmc.Sobol(4, seed=0).random_base2(15)
    means = norm_law(x, 0.0).mean()[:, 0]
    means += mean_offset(means)
    ends = (np.arange(100) + 0.5) * high / 100
    return np.mean([special.ndtr(means - end).mean() for end in ends])


def share_8d(high):
    x = 2 * stats.qmc.Sobol(8, seed=0).random_base2(11)
    ends = (np.arange(200) + 0.5) * high / 200
    return lognorm_law(x, 0.0).sf(ends).mean()


@pytest.mark.parametrize(
    ("share", "start", "ends"),
    [
        (share_4d, "norm", {"heavy": 12, "medium": 20, "light": 40}),
        (share_8d, "lognorm", {"heavy": 0.4, "medium": 1, "light": 3.5}),
    ],
)
def test_the_catalogue_tells_the_share_that_the_laws_give(share, start, ends):
    for censoring, high in ends.items():
        assert describe(f"{start}_{censoring}").censored_share == round(share(high), 2)
    assert describe(f"{start}_same").censored_share == 0.5


def test_the_offset_makes_hardly_any_target_smaller_than_one():
    data = make_norm_4d(50_000, random_state=5)
    assert 5 < data.offset < 8
    assert np.mean(data.target_time < 1) < 1e-3


def test_a_test_set_takes_the_offset_of_its_training_set():
    train = make_norm_4d(random_state=6)
    test = make_norm_4d(random_state=7, offset=train.offset)
    assert test.offset == train.offset
    assert_allclose(test.true_quantiles([0.5], train.X), train.true_quantiles([0.5]))


def test_the_offset_must_be_a_number():
    with pytest.raises(TypeError, match=re.escape("offset must be a number, got 'six'.")):
        make_norm_4d(offset="six")
