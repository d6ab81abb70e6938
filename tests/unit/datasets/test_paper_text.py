"""The laws that the paper prints, where its numbers were made with others."""

import inspect
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from censquant import datasets
from censquant.datasets import catalogue, load, make_lognorm, make_norm_4d, make_norm_uniform

LEVELS = np.array([0.1, 0.5, 0.9])
# The printed laws written a second time, with scipy's distributions.
PRINTED = {
    "lognorm": lambda x: stats.lognorm(x[:, [0]] ** 2, scale=np.exp((x[:, [0]] - 1) ** 2)),
    "norm_uniform": lambda x: stats.norm(
        2 * x[:, [0]] * np.cos(2 * x[:, [0]]) + 13, x[:, [0]] ** 2 + 0.5
    ),
    **{
        f"norm_{censoring}": lambda x: stats.norm(
            3 * x[:, [0]] + x[:, [1]] ** 2 - x[:, [2]] ** 2 + 2 * np.sin(x[:, [2]] * x[:, [3]]) + 6,
            x[:, [0]] ** 2 + 0.5,
        )
        for censoring in ("heavy", "medium", "light", "same")
    },
}
UNIFORM_END = {
    "lognorm": 10,
    "norm_uniform": 18,
    "norm_heavy": 12,
    "norm_medium": 20,
    "norm_light": 40,
}


@pytest.mark.parametrize("name", PRINTED)
class TestEveryPrintedSet:
    @pytest.fixture
    def data(self, name):
        return load(name, n_samples=20_000, random_state=1, paper_text=True)

    def test_true_quantiles_are_those_of_the_printed_law(self, name, data):
        assert_allclose(data.true_quantiles(LEVELS), PRINTED[name](data.X).ppf(LEVELS))
        X = data.X[:5]
        assert_allclose(data.true_quantiles(LEVELS, X), PRINTED[name](X).ppf(LEVELS))

    def test_targets_follow_the_printed_law(self, name, data):
        levels = PRINTED[name](data.X).cdf(data.target_time[:, None])[:, 0]
        assert stats.kstest(levels, "uniform").pvalue > 1e-3

    def test_censoring_times_follow_their_printed_law(self, name, data):
        if name in UNIFORM_END:
            levels = data.censoring_time / UNIFORM_END[name]
        else:
            levels = PRINTED[name](data.X).cdf(data.censoring_time[:, None])[:, 0]
        assert stats.kstest(levels, "uniform").pvalue > 1e-3

    def test_it_differs_from_the_law_behind_the_numbers(self, name, data):
        other = load(name, n_samples=10, random_state=1)
        assert data.paper_text
        assert not other.paper_text
        assert data.name == other.name
        X = np.full((1, data.n_features), 0.5)
        # Norm uniform differs only below 0.1, which is deep in its tail.
        level = 1e-150 if name == "norm_uniform" else 0.3
        assert data.true_quantiles([level], X) != other.true_quantiles([level], X)

    def test_the_description_says_so(self, name, data):
        usual = load(name, n_samples=1)
        assert data.description.startswith(f"{usual.description} Drawn as printed instead: ")

    def test_the_answer_survives_a_pickle(self, name, data):
        again = pickle.loads(pickle.dumps(data))
        assert_array_equal(again.true_quantiles([0.5]), data.true_quantiles([0.5]))

    def test_without_censoring_the_same_targets_are_all_seen(self, name, data):
        seen = load(name, n_samples=20_000, random_state=1, paper_text=True, censored=False)
        assert seen.y["event"].all()
        assert_array_equal(seen.y["time"], data.target_time)


UNCHANGED = [
    info.name for info in catalogue() if info.kind == "synthetic" and info.name not in PRINTED
]


def test_the_other_sets_are_eight():
    assert len(UNCHANGED) == 8


@pytest.mark.parametrize("name", UNCHANGED)
def test_it_changes_nothing_where_the_print_does_not_differ(name):
    usual = load(name, n_samples=50, random_state=1)
    printed = load(name, n_samples=50, random_state=1, paper_text=True)
    assert printed.paper_text
    assert printed.description == usual.description
    assert_array_equal(printed.X, usual.X)
    assert_array_equal(printed.y, usual.y)
    assert_array_equal(printed.true_quantiles(LEVELS), usual.true_quantiles(LEVELS))


def test_every_docstring_says_what_the_option_does():
    for name in (name for name in datasets.__all__ if name.startswith("make_")):
        function = getattr(datasets, name)
        assert inspect.signature(function).parameters["paper_text"].default is False
        text = " ".join(function.__doc__.split())
        differs = name in ("make_lognorm", "make_norm_uniform", "make_norm_4d")
        assert ("changes nothing" in text.lower()) != differs, name


def test_the_printed_offset_is_six_and_may_be_replaced():
    assert make_norm_4d(1, paper_text=True).offset == 6.0
    moved = make_norm_4d(5, paper_text=True, offset=9.0, random_state=0)
    usual = make_norm_4d(5, paper_text=True, random_state=0)
    assert_allclose(moved.target_time, usual.target_time + 3.0)


def test_printed_targets_of_norm_uniform_may_be_negative():
    assert make_norm_uniform(20_000, random_state=0, paper_text=True).target_time.min() < 0


def test_printed_lognorm_is_certain_where_its_feature_is_zero():
    assert_allclose(make_lognorm(1, paper_text=True).true_quantiles(LEVELS, [[0.0]]), np.e)


def test_the_option_must_be_a_flag():
    with pytest.raises(TypeError, match=re.escape("paper_text must be True or False, got 'no'.")):
        make_lognorm(5, paper_text="no")
