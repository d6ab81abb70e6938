"""The sets of the benchmark: the published samples, the published preparation, a user's own."""

import pickle

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from censquant.benchmark import DATASETS, get_dataset, own_dataset
from censquant.benchmark import _datasets as module
from censquant.datasets import RealData
from censquant.survival import Surv

# Pearce et al. (2022), table of data sets: rows to fit, features, share censored in the first run.
PRINTED = {
    "norm_linear": (500, 1, 0.20),
    "norm_nonlinear": (500, 1, 0.24),
    "exponential": (500, 1, 0.30),
    "weibull": (500, 1, 0.22),
    "lognorm": (500, 1, 0.21),
    "norm_uniform": (500, 1, 0.62),
    "norm_heavy": (2000, 4, 0.80),
    "norm_medium": (2000, 4, 0.49),
    "norm_light": (2000, 4, 0.25),
    "norm_same": (2000, 4, 0.50),
    "lognorm_heavy": (4000, 8, 0.75),
    "lognorm_medium": (4000, 8, 0.52),
    "lognorm_light": (4000, 8, 0.23),
    "lognorm_same": (4000, 8, 0.50),
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_first_sample_has_the_printed_share_of_censoring(name):
    n_rows, n_features, share = PRINTED[name]
    problem = get_dataset(name).problem(111)
    assert problem.X.shape == (n_rows, n_features)
    # The authors' program prints three digits, of which the table shows two.
    assert abs(round(problem.censored_share, 3) - share) <= 0.005 + 1e-12


def test_the_first_sample_is_drawn_as_by_the_authors():
    rng = np.random.RandomState(111)
    x = rng.uniform(0, 2, size=(500, 1))
    target = rng.normal(2 * x + 10, x + 1).ravel()
    censoring = rng.normal(4 * x + 10, (4 * x + 2) / 5).ravel()
    problem = get_dataset("norm_linear").problem(111)
    np.testing.assert_array_equal(problem.X, x)
    np.testing.assert_allclose(problem.y["time"], np.minimum(target, censoring), rtol=1e-9)
    np.testing.assert_array_equal(problem.y["event"], target <= censoring)


@pytest.mark.parametrize("name", ["exponential", "lognorm_same", "norm_heavy"])
def test_test_rows_come_from_the_same_law_and_know_their_quantiles(name):
    problem = get_dataset(name).problem(112)
    below = problem.time_known[:, None] <= problem.true_quantiles([0.1, 0.5, 0.9])
    np.testing.assert_allclose(below.mean(axis=0), [0.1, 0.5, 0.9], atol=0.05)
    assert abs(problem.y_test["event"].mean() - problem.y["event"].mean()) < 0.06


def test_a_seed_gives_the_same_rows_again_and_another_others():
    dataset = get_dataset("weibull")
    first, again, other = (dataset.problem(seed).X for seed in (111, 111, 112))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_synthetic_sets_have_any_number_of_rows():
    assert len(get_dataset("lognorm").problem(111, n_train=1600).y) == 1600


def fake(n_rows=200, groups=None):
    rng = np.random.default_rng(0)
    y = Surv.from_arrays(event=rng.random(n_rows) < 0.5, time=rng.exponential(30, n_rows))
    X = rng.normal(5, 3, size=(n_rows, 2)) ** 3
    labels = None if groups is None else np.arange(n_rows) // groups

    def fetch(*, return_X_y, as_frame):
        assert not return_X_y
        assert not as_frame
        return RealData("fake", X, y, ("a", "b"), "", "", "", labels)

    return fetch


def test_real_sets_are_scaled_on_the_whole_and_start_at_a_tenth():
    problem = module._survival("x", "X", fake(), limit=2.0, time_limit=3.0).problem(111)
    X = np.concatenate([problem.X, problem.X_test])
    time = np.concatenate([problem.y["time"], problem.y_test["time"]])
    assert len(problem.X) == 160
    assert np.abs(X).max() == 2.0
    assert time.min() == pytest.approx(0.1)
    assert time.max() == 3.0
    assert problem.X_known is None


def test_without_limits_features_have_mean_zero_and_variance_one():
    problem = module._survival("x", "X", fake()).problem(111)
    X = np.concatenate([problem.X, problem.X_test])
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_a_feature_that_never_moves_is_centred_only():
    scaled = module._standardized(np.array([[1.0, 518.67], [3.0, 518.67]]))
    np.testing.assert_array_equal(scaled, [[-1.0, 0.0], [1.0, 0.0]])


def test_overlays_censor_uniformly_up_to_the_ninetieth_percentile():
    load = module._tabular(fake(4000))
    problem = module._overlay("x", "X", load).problem(111)
    _, time, _, _ = load(111)
    high = np.quantile(time, 0.9)
    assert problem.y["time"].max() <= high
    np.testing.assert_array_equal(problem.X_known, problem.X_test)
    # P(T <= C) with C uniform on (min, high).
    expected = np.clip((high - time) / (high - time.min()), 0, 1).mean()
    assert problem.y["event"].mean() == pytest.approx(expected, abs=0.03)
    assert (problem.y_test["time"] <= problem.time_known).all()


def test_a_grouped_split_divides_no_group(monkeypatch):
    monkeypatch.setattr(module, "_GROUPED", {"x"})
    dataset = module._survival("x", "X", fake(groups=4))
    assert dataset.splits == ("random", "grouped")

    def shared(problem):
        # Rows of a group are neighbours in the file, so features name them.
        found = fake(groups=4)(return_X_y=False, as_frame=False)
        scaled = module._standardized(found.data)
        place = {tuple(x): group for x, group in zip(scaled, found.groups, strict=True)}
        sides = [{place[tuple(x)] for x in X} for X in (problem.X, problem.X_test)]
        return sides[0] & sides[1]

    assert not shared(dataset.problem(111, "grouped"))
    assert shared(dataset.problem(111, "random"))


def test_a_split_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="split must be one of 'random', got 'grouped'"):
        get_dataset("weibull").problem(111, "grouped")


def test_own_data_are_divided_anew_under_every_seed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), (rng.exponential(size=50), rng.random(50) < 0.7)
    dataset = own_dataset("mine", X, y, taus=[0.25, 0.5], test_share=0.4)
    problem = dataset.problem(1)
    assert problem.X.shape == (30, 2)
    assert dataset.taus == (0.25, 0.5)
    assert not np.array_equal(problem.X, dataset.problem(2).X)


def test_groups_of_own_data_stay_together():
    labels = np.repeat(np.arange(10), 5)
    dataset = own_dataset("mine", labels[:, None], (np.ones(50), np.ones(50, bool)), groups=labels)
    problem = dataset.problem(3, "grouped")
    assert not set(problem.X.ravel()) & set(problem.X_test.ravel())


def test_groups_of_another_length_are_refused():
    with pytest.raises(
        ValueError, match=r"groups must have one label a row \(2\), got shape \(3,\)"
    ):
        own_dataset("mine", [[1.0], [2.0]], [1.0, 2.0], groups=[1, 2, 3])


@pytest.mark.parametrize("name", ["gbsg", "GBSG", "Norm linear"])
def test_names_of_the_table_are_not_free(name):
    with pytest.raises(ValueError, match="name must not be that of a set of the benchmark"):
        own_dataset(name, [[1.0], [2.0]], [1.0, 2.0])


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (pd.DataFrame({"a": [1, 2], "city": ["x", "y"]}), {}, "these columns do not: city; encode"),
        ([1.0, 2.0], {}, r"X must have one row an individual, got shape \(2,\)"),
        ([[1.0], [2.0]], {"test_share": 1.5}, "test_share must be finite and inside"),
        ([[1.0], [2.0]], {"groups": [1, 1]}, "groups must hold at least two labels, got one"),
        ([[1.0], [2.0]], {"groups": ["a", None]}, "label for every row, but 1 of 2 are missing"),
        ([[1.0], [2.0]], {"groups": [1.0, np.nan]}, "label for every row, but 1 of 2 are missing"),
        ([[1.0], [2.0]], {"groups": [pd.NA, 1]}, "label for every row, but 1 of 2 are missing"),
        ([[1.0], [2.0]], {"test_share": 0.99}, "test_share=0.99 of 2 rows leaves none to fit"),
        (
            [[1.0], [2.0]],
            {"test_share": 0.6, "groups": [1, 2]},
            "test_share=0.6 of 2 groups leaves none to fit",
        ),
    ],
)
def test_own_data_that_cannot_be_used_get_a_sentence(X, options, message):
    with pytest.raises(ValueError, match=message):
        own_dataset("mine", X, [1.0, 2.0], **options)


@pytest.mark.parametrize(
    ("name", "X", "error", "message"),
    [
        (3, [[1.0], [2.0]], TypeError, "name must be text, got int"),
        (" ", [[1.0], [2.0]], ValueError, "name must not be empty"),
        ("mine", csr_array([[1.0], [2.0]]), TypeError, r"got a sparse matrix; pass X.toarray\(\)"),
    ],
)
def test_wrong_kinds_get_a_sentence(name, X, error, message):
    with pytest.raises(error, match=message):
        own_dataset(name, X, [1.0, 2.0])


def test_missing_numbers_of_pandas_are_missing_numbers():
    X = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [True, False, True]})
    problem = own_dataset("mine", X, [1.0, 2.0, 3.0]).problem(1)
    rows = np.vstack((problem.X, problem.X_test))
    assert np.isnan(rows).sum() == 1
    assert problem.feature_names == ("a", "b")


def test_an_unknown_name_is_told_the_near_ones():
    with pytest.raises(ValueError, match=r"There is no dataset 'wiebull'; did you mean weibull"):
        get_dataset("wiebull")


def test_sets_of_the_table_travel_by_name_and_own_ones_whole():
    assert pickle.loads(pickle.dumps(get_dataset("whas"))) is get_dataset("whas")
    own = own_dataset("mine", np.arange(20.0)[:, None], np.arange(1.0, 21.0))
    copy = cloudpickle.loads(cloudpickle.dumps(own))
    np.testing.assert_array_equal(copy.problem(1).X, own.problem(1).X)


def test_the_papers_sets_come_first_and_in_its_order():
    titles = [dataset.title for dataset in DATASETS.values()]
    assert titles[:2] == ["Norm linear", "Norm non-lin"]
    assert titles[14:19] == ["Housing", "Protein", "Wine", "PHM", "SurvMNIST"]
    assert titles[25:] == ["LGGGBM", "C-MAPSS FD001"]
