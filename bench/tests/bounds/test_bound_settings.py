"""The published settings against their table, and against laws written a second time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from censquant_bench import get_dataset
from censquant_bench.coverage import BOUND_SETTINGS

# Censored share and mean true 10 % quantile as tabled, from 40,000 draws at least.
TABLED = {
    "clr1": (0.867, 1.784),
    "clr2": (0.879, 2.016),
    "clr3": (0.835, 1.868),
    "clr4": (0.783, 1.052),
    "gui1": (0.418, 0.352),
    "gui2": (0.558, 6.128),
    "gui3": (0.736, 2.788),
    "gui4": (0.632, 6.966),
    "gui5": (0.606, 1.238),
    "gui6": (0.606, 1.327),
    "ss7": (0.814, 1.982),
    "ss8": (0.836, 7.262),
}
SIZES = {"clr": (3000, 3000), "gui": (2000, 5000), "ss": (2000, 1000)}
N_FEATURES = dict(zip(TABLED, [1, 1, 100, 100, 1, 1, 1, 1, 10, 10, 100, 100], strict=True))

# Two settings written a second time, by scipy's distributions; x has one row per feature.
CENSORING = {
    "gui6": lambda x: stats.expon(scale=1 / (0.1 * x[9] + 0.05)),
    "ss8": lambda x: stats.lognorm(
        0.1 * x[1], scale=np.exp(1.0 * (x[1] > 0.5) + (x[2] < 0.5) + (1 - x[0]) ** 4 + 0.4)
    ),
}
EVENT = {
    "gui6": lambda x: stats.lognorm(
        (x[1] + 2) / 4, scale=np.exp(0.126 * (x[0] + np.sqrt(x[2] * x[4])) + 1)
    ),
    "ss8": lambda x: stats.lognorm(
        0.1 * (1 - x[0]), scale=np.exp(1.0 * (x[1] > 0.5) + (x[2] < 0.5) + (1 - x[0]) ** 0.25)
    ),
}


@pytest.fixture(scope="module")
def large():
    return {
        name: setting.sample(20_000 if setting.n_features == 100 else 80_000, random_state=7)
        for name, setting in BOUND_SETTINGS.items()
    }


def test_there_are_the_twelve_of_the_table():
    assert list(BOUND_SETTINGS) == list(TABLED)


@pytest.mark.parametrize("name", TABLED)
class TestEverySetting:
    def test_censored_share_and_oracle_are_those_of_the_table(self, name, large):
        share, oracle = TABLED[name]
        sample = large[name]
        # Standard errors of the table's 40,000 draws and of these, and its rounding.
        error = np.sqrt(share * (1 - share) * (1 / 40_000 + 1 / len(sample.y)))
        assert 1 - sample.y["event"].mean() == pytest.approx(share, abs=4 * error + 5e-4)
        bounds = BOUND_SETTINGS[name].true_quantiles([0.1], sample.X)[:, 0]
        error = bounds.std() * np.sqrt(1 / 40_000 + 1 / len(bounds))
        assert bounds.mean() == pytest.approx(oracle, abs=4 * error + 5e-4)

    def test_sizes_are_as_published(self, name):
        setting = BOUND_SETTINGS[name]
        assert (setting.n_train, setting.n_test) == SIZES[name.rstrip("0123456789")]
        assert setting.n_features == N_FEATURES[name]

    def test_survival_at_a_true_quantile_is_one_minus_its_level(self, name):
        setting = BOUND_SETTINGS[name]
        X = setting.sample(50, random_state=0).X
        for level in (0.02, 0.1, 0.7):
            times = setting.true_quantiles([level], X)[:, 0]
            assert_allclose(setting.survival(times, X), 1 - level)

    def test_events_follow_the_survival_that_is_called_true(self, name, large):
        sample = large[name]
        levels = BOUND_SETTINGS[name].survival(sample.event_time, sample.X)
        assert stats.kstest(levels, "uniform").pvalue > 1e-4

    def test_a_bound_of_zero_always_covers_and_an_infinite_one_never(self, name):
        setting = BOUND_SETTINGS[name]
        X = setting.sample(3, random_state=0).X
        assert_array_equal(setting.survival([0.0, -1.0, 0.0], X), 1.0)
        assert_array_equal(setting.survival(np.full(3, np.inf), X), 0.0)

    def test_rows_are_consistent(self, name):
        sample = BOUND_SETTINGS[name].sample(200, random_state=3)
        assert_array_equal(sample.y["time"], np.minimum(sample.event_time, sample.censoring_time))
        assert_array_equal(sample.y["event"], sample.event_time <= sample.censoring_time)
        again = BOUND_SETTINGS[name].sample(200, random_state=3)
        assert_array_equal(sample.X, again.X)
        assert_array_equal(sample.y, again.y)


@pytest.mark.parametrize("name", EVENT)
def test_both_times_follow_the_laws_as_printed(name):
    sample = BOUND_SETTINGS[name].sample(2000, random_state=11)
    event = EVENT[name](sample.X.T).cdf(sample.event_time)
    censoring = CENSORING[name](sample.X.T).cdf(sample.censoring_time)
    assert stats.kstest(event, "uniform").pvalue > 1e-3
    assert stats.kstest(censoring, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(event, censoring)[0, 1]) < 4 / np.sqrt(len(sample.y))


def test_a_run_sees_fresh_rows_and_the_truth_of_its_test_rows():
    first, second = (get_dataset("gui6").train_test(seed) for seed in (111, 112))
    assert (first.X.shape, first.X_test.shape) == ((2000, 10), (5000, 10))
    assert not np.isin(first.X[:, 0], second.X[:, 0]).any()
    assert not np.isin(first.X[:, 0], first.X_test[:, 0]).any()
    oracle = first.true_quantiles([0.1])[:, 0]
    assert_allclose(first.true_survival(oracle), 0.9)
    assert_array_equal(oracle[:2], first.true_quantiles([0.1], first.X_test[:2])[:, 0])
    assert (first.y["time"] <= first.censoring_time).all()
    assert_array_equal(first.y["time"] == first.censoring_time, ~first.y["event"])


def test_settings_do_not_share_their_noise():
    one, other = (get_dataset(name).train_test(111) for name in ("clr1", "clr2"))
    assert not np.isin(one.X, other.X).any()
