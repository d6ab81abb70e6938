import inspect
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from censquant import datasets
from censquant.datasets import make_norm_linear, make_norm_uniform, make_weibull
from censquant.datasets._recipes import RECIPES, draw, quantiles_at
from censquant.quantiles._grid import DEFAULT_QUANTILES

SEVERAL_FEATURES = ("make_lognorm_8d", "make_norm_4d")  # tested in test_synthetic_several.py
MAKERS = {
    name: getattr(datasets, name)
    for name in datasets.__all__
    if name.startswith("make_") and name not in SEVERAL_FEATURES
}

# The laws written a second time, with scipy's distributions.
TARGET = {
    "make_norm_linear": lambda x: stats.norm(2 * x + 10, x + 1),
    "make_norm_nonlinear": lambda x: stats.norm(x * np.sin(2 * x) + 10, 0.5 * x + 0.5),
    "make_exponential": lambda x: stats.expon(scale=2 * x + 4),
    "make_weibull": lambda x: stats.weibull_min(5, scale=4 * x * np.sin(2 * (x - 1)) + 10),
    "make_lognorm": lambda x: stats.lognorm(1, scale=np.exp((x - 1) ** 2)),
    "make_norm_uniform": lambda x: stats.norm(2 * x * np.cos(2 * x) + 13, x**2 + 0.5),
}
CENSORING = {
    "make_norm_linear": lambda x: stats.norm(4 * x + 10, 0.8 * x + 0.4),
    "make_norm_nonlinear": lambda x: stats.norm(2 * x + 10, 2),
    "make_exponential": lambda x: stats.expon(scale=15 - 3 * x),
    "make_weibull": lambda x: stats.weibull_min(5, scale=20 - 3 * x),
    "make_lognorm": lambda x: stats.uniform(0, 10),
    "make_norm_uniform": lambda x: stats.uniform(0, 18),
}
PRINTED_SHARE = {
    "make_norm_linear": 0.20,
    "make_norm_nonlinear": 0.24,
    "make_exponential": 0.30,
    "make_weibull": 0.22,
    "make_lognorm": 0.21,
    "make_norm_uniform": 0.62,
}


@pytest.fixture(scope="module")
def large():
    return {name: make(50_000, random_state=20220526) for name, make in MAKERS.items()}


def test_every_set_is_checked_here():
    assert set(MAKERS) == set(TARGET) == set(CENSORING) == set(PRINTED_SHARE)
    one_feature = {name for name, recipe in RECIPES.items() if recipe.info.n_features == 1}
    assert {make(1).name for make in MAKERS.values()} == one_feature


@pytest.mark.parametrize("name", MAKERS)
class TestEverySet:
    def test_rows_are_consistent(self, name):
        data = MAKERS[name](300, random_state=1)
        assert data.X.shape == (300, data.n_features) == (300, 1)
        assert np.all((data.X >= 0) & (data.X <= 2))
        assert data.y.dtype.names == ("event", "time")
        assert data.y["event"].dtype == np.bool_
        assert data.y["time"].dtype == np.float64
        assert_array_equal(data.y["time"], np.minimum(data.target_time, data.censoring_time))
        assert_array_equal(data.y["event"], data.target_time <= data.censoring_time)
        assert np.isfinite(data.y["time"]).all()

    def test_five_hundred_rows_by_default(self, name):
        assert len(MAKERS[name]().y) == 500

    def test_the_same_seed_gives_the_same_bits(self, name):
        first, second = MAKERS[name](50, random_state=7), MAKERS[name](50, random_state=7)
        assert_array_equal(first.y, second.y)
        assert_array_equal(first.X, second.X)

    def test_without_censoring_the_same_targets_are_all_seen(self, name):
        censored = MAKERS[name](50, random_state=7)
        observed = MAKERS[name](50, random_state=7, censored=False)
        assert_array_equal(observed.X, censored.X)
        assert_array_equal(observed.y["time"], censored.target_time)
        assert observed.y["event"].all()
        assert np.isinf(observed.censoring_time).all()

    def test_true_quantiles_are_those_of_the_law(self, name):
        x = np.linspace(0, 2, 41)[:, None]
        truth = TARGET[name](x).ppf(np.array(DEFAULT_QUANTILES))
        got = MAKERS[name](1).true_quantiles(DEFAULT_QUANTILES, x)
        assert_allclose(got, np.maximum(truth, 0.1) if name == "make_norm_uniform" else truth)

    def test_target_times_follow_their_law(self, name, large):
        data = large[name]
        below = data.target_time[:, None] <= data.true_quantiles([0.1, 0.5, 0.9])
        # Four standard errors of a share of 0.5 among 50,000.
        assert_allclose(below.mean(axis=0), [0.1, 0.5, 0.9], atol=0.009)

    def test_quantiles_are_right_in_each_part_of_the_features(self, name, large):
        data = large[name]
        part = np.floor(data.X[:, 0] * 5).astype(int)
        below = data.target_time <= data.true_quantiles([0.5])[:, 0]
        shares = np.bincount(part, weights=below) / np.bincount(part)
        assert_allclose(shares, 0.5, atol=0.03)

    def test_censoring_times_follow_their_law(self, name, large):
        data = large[name]
        levels = CENSORING[name](data.X[:, 0]).cdf(data.censoring_time)
        assert stats.kstest(levels, "uniform").pvalue > 1e-4

    def test_target_and_censoring_times_are_independent_given_the_features(self, name, large):
        data = large[name]
        target = TARGET[name](data.X[:, 0]).cdf(data.target_time)
        censoring = CENSORING[name](data.X[:, 0]).cdf(data.censoring_time)
        assert abs(np.corrcoef(target, censoring)[0, 1]) < 4 / np.sqrt(len(data.y))

    def test_share_censored_is_the_integral_over_both_laws(self, name, large):
        x = (np.arange(50) + 0.5) / 25
        target, censoring = TARGET[name](x), CENSORING[name](x)
        expected = integrate.quad_vec(
            lambda u: censoring.cdf(target.ppf(u)).mean(), 1e-12, 1 - 1e-12, epsabs=1e-6
        )[0]
        share = 1 - large[name].y["event"].mean()
        assert share == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 50_000))
        told = {info.title: info.censored_share for info in datasets.catalogue()}
        assert told[large[name].name] == round(expected, 2)

    def test_share_censored_agrees_with_the_paper(self, name, large):
        # The printed shares are those of the authors' first sample of 500 rows (numpy seed 111
        # gives all six to the last digit), so they carry the error of a sample of that size.
        printed = PRINTED_SHARE[name]
        share = 1 - large[name].y["event"].mean()
        assert share == pytest.approx(printed, abs=2 * np.sqrt(printed * (1 - printed) / 500))

    def test_the_signature_is_the_common_one(self, name):
        own = dict(inspect.signature(MAKERS[name]).parameters)
        assert own == dict(inspect.signature(make_norm_linear).parameters)

    def test_a_level_of_zero_is_drawn_as_a_finite_time(self, name):
        class AlwaysZero:
            def uniform(self, size):
                return np.zeros(size)

        recipe, X = RECIPES[MAKERS[name](1).name], np.ones((3, 1))
        for law in (recipe.target, recipe.censoring):
            drawn = draw(law, X, AlwaysZero())
            assert np.isfinite(drawn).all()
            assert_array_equal(drawn[:, None], quantiles_at(law, np.array([2.0**-54]), X))


def test_norm_uniform_has_no_time_below_a_tenth(large):
    data = large["make_norm_uniform"]
    assert data.target_time.min() == 0.1
    assert data.true_quantiles([1e-6], [[2.0]]) == 0.1


def test_true_quantiles_are_taken_at_the_data_by_default():
    data = make_weibull(20, random_state=0)
    assert_array_equal(data.true_quantiles([0.5, 0.1]), data.true_quantiles([0.5, 0.1], data.X))


def test_hand_computed_quantiles_at_zero():
    assert_allclose(
        make_norm_linear(1).true_quantiles(stats.norm.cdf([-1, 0, 2]), [[0]]), [[9, 10, 12]]
    )
    assert_allclose(datasets.make_exponential(1).true_quantiles(1 - np.exp(-1), [[0]]), [[4.0]])
    assert_allclose(make_weibull(1).true_quantiles(1 - np.exp(-1), [[0]]), [[10.0]])
    assert_allclose(datasets.make_lognorm(1).true_quantiles(0.5, [[0]]), [[np.e]])


def test_data_can_be_pickled():
    data = make_weibull(5, random_state=0)
    again = pickle.loads(pickle.dumps(data))
    assert_array_equal(again.true_quantiles([0.5]), data.true_quantiles([0.5]))


class TestRandomState:
    def test_none_draws_afresh(self):
        assert np.any(make_weibull(5).X != make_weibull(5).X)

    def test_the_global_generator_is_not_touched(self):
        before = np.random.get_state()[1].copy()  # noqa: NPY002 - the claim is about this one
        make_weibull(5)
        make_weibull(5, random_state=3)
        assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002

    @pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
    def test_a_generator_is_used_and_moves_on(self, kind):
        rng = kind(5)
        first, second = make_weibull(5, random_state=rng), make_weibull(5, random_state=rng)
        assert_array_equal(first.X, make_weibull(5, random_state=kind(5)).X)
        assert np.any(first.X != second.X)

    def test_an_integer_seeds_a_new_generator(self):
        expected = make_weibull(5, random_state=np.random.default_rng(9)).X
        assert_array_equal(make_weibull(5, random_state=np.int64(9)).X, expected)

    def test_other_types_are_refused(self):
        message = "random_state must be an integer, got 'seed'."
        with pytest.raises(TypeError, match=re.escape(message)):
            make_weibull(5, random_state="seed")

    def test_a_negative_seed_is_refused(self):
        with pytest.raises(ValueError, match=re.escape("random_state must be at least 0, got -1.")):
            make_weibull(5, random_state=-1)


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match=re.escape("n_samples must be at least 1, got 0.")):
        make_weibull(0)


def test_a_fraction_of_rows_is_refused():
    with pytest.raises(TypeError, match=re.escape("n_samples must be an integer, got 2.5.")):
        make_weibull(2.5)


@pytest.mark.parametrize("X", [[1.0, 2.0], [[1.0, 2.0]]])
def test_features_of_another_shape_are_refused(X):
    message = f"X must have shape (n, 1) for Norm uniform, got {np.shape(X)}."
    with pytest.raises(ValueError, match=re.escape(message)):
        make_norm_uniform(1).true_quantiles([0.5], X)


def test_levels_outside_are_refused():
    with pytest.raises(ValueError, match=re.escape("taus must be inside (0, 1), got (1.0,).")):
        make_norm_uniform(1).true_quantiles([1.0])
