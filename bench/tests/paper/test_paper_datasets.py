"""The paper's sets: the published samples and the published preparation."""

import functools
import pickle

import numpy as np
import pytest

from censquant.datasets import RealData
from censquant.survival import Surv
from censquant_bench import DATASETS, get_dataset
from censquant_bench.paper import _datasets as module

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
    data = get_dataset(name).train_test(111)
    assert data.X.shape == (n_rows, n_features)
    # The authors' program prints three digits, of which the table shows two.
    assert abs(round(data.censored_share, 3) - share) <= 0.005 + 1e-12


def test_the_first_sample_is_drawn_as_by_the_authors():
    rng = np.random.RandomState(111)
    x = rng.uniform(0, 2, size=(500, 1))
    target = rng.normal(2 * x + 10, x + 1).ravel()
    censoring = rng.normal(4 * x + 10, (4 * x + 2) / 5).ravel()
    data = get_dataset("norm_linear").train_test(111)
    np.testing.assert_array_equal(data.X, x)
    np.testing.assert_allclose(data.y["time"], np.minimum(target, censoring), rtol=1e-9)
    np.testing.assert_array_equal(data.y["event"], target <= censoring)


@pytest.mark.parametrize("name", ["exponential", "lognorm_same", "norm_heavy"])
def test_test_rows_come_from_the_same_law_and_know_their_quantiles(name):
    data = get_dataset(name).train_test(112)
    below = data.time_known[:, None] <= data.true_quantiles([0.1, 0.5, 0.9])
    np.testing.assert_allclose(below.mean(axis=0), [0.1, 0.5, 0.9], atol=0.05)
    assert abs(data.y_test["event"].mean() - data.y["event"].mean()) < 0.06


def test_a_seed_gives_the_same_rows_again_and_another_others():
    dataset = get_dataset("weibull")
    first, again, other = (dataset.train_test(seed).X for seed in (111, 111, 112))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_synthetic_sets_have_any_number_of_rows():
    assert len(get_dataset("lognorm").train_test(111, n_train=1600).y) == 1600


@pytest.fixture
def fake(monkeypatch):
    """Make a set of this module's own the one that is read under every name."""

    def install(n_rows=200, groups=None):
        rng = np.random.default_rng(0)
        y = Surv.from_arrays(event=rng.random(n_rows) < 0.5, time=rng.exponential(30, n_rows))
        X = rng.normal(5, 3, size=(n_rows, 2)) ** 3
        labels = None if groups is None else np.arange(n_rows) // groups
        found = RealData("fake", X, y, ("a", "b"), "", "", "", labels)
        monkeypatch.setattr(module, "read_once", lambda name: found)
        for name in ("_scaled_survival", "_scaled_table"):
            uncached = getattr(module, name).__wrapped__
            monkeypatch.setattr(module, name, functools.cache(uncached))
        return found

    return install


def test_real_sets_are_scaled_on_the_whole_and_start_at_a_tenth(fake):
    fake()
    data = module.SurvivalDraw("fake", limit=2.0, time_limit=3.0)(111, "random", None)
    X = np.concatenate([data.X, data.X_test])
    time = np.concatenate([data.y["time"], data.y_test["time"]])
    assert len(data.X) == 160
    assert np.abs(X).max() == 2.0
    assert time.min() == pytest.approx(0.1)
    assert time.max() == 3.0
    assert data.X_known is None


def test_without_limits_features_have_mean_zero_and_variance_one(fake):
    fake()
    data = module.SurvivalDraw("fake")(111, "random", None)
    X = np.concatenate([data.X, data.X_test])
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_a_feature_that_never_moves_is_centred_only():
    scaled = module.standardized(np.array([[1.0, 518.67], [3.0, 518.67]]))
    np.testing.assert_array_equal(scaled, [[-1.0, 0.0], [1.0, 0.0]])


def test_overlays_censor_uniformly_up_to_the_ninetieth_percentile(fake):
    fake(4000)
    draw = module.OverlayDraw("fake")
    data = draw(111, "random", None)
    _, time, _ = draw.read(np.random.RandomState(111))
    high = np.quantile(time, 0.9)
    assert data.y["time"].max() <= high
    np.testing.assert_array_equal(data.X_known, data.X_test)
    # P(T <= C) with C uniform on (min, high).
    expected = np.clip((high - time) / (high - time.min()), 0, 1).mean()
    assert data.y["event"].mean() == pytest.approx(expected, abs=0.03)
    assert (data.y_test["time"] <= data.time_known).all()


def test_a_grouped_split_divides_no_group(fake):
    found = fake(groups=4)
    dataset = module._survival("whas", grouped=True)
    assert dataset.splits == ("random", "grouped")

    def shared(data):
        # Rows of a group are neighbours in the file, so features name them.
        scaled = module.standardized(found.data)
        place = {tuple(x): group for x, group in zip(scaled, found.groups, strict=True)}
        sides = [{place[tuple(x)] for x in X} for X in (data.X, data.X_test)]
        return sides[0] & sides[1]

    assert not shared(dataset.train_test(111, "grouped"))
    assert shared(dataset.train_test(111, "random"))


def test_a_split_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="split must be one of 'random', got 'grouped'"):
        get_dataset("weibull").train_test(111, "grouped")


def test_an_unknown_name_is_told_the_near_ones():
    with pytest.raises(ValueError, match=r"There is no dataset 'wiebull'; did you mean weibull"):
        get_dataset("wiebull")


def test_sets_travel_to_workers():
    for name, dataset in DATASETS.items():
        copy = pickle.loads(pickle.dumps(dataset))
        assert (copy.name, copy.taus, copy.splits) == (name, dataset.taus, dataset.splits)
        assert copy.draw == dataset.draw, name


def test_the_papers_sets_come_first_and_in_its_order():
    titles = [dataset.title for dataset in DATASETS.values()]
    assert titles[:2] == ["Norm linear", "Norm non-lin"]
    assert titles[14:19] == ["Housing", "Protein", "Wine", "PHM", "SurvMNIST"]
    assert titles[25:27] == ["LGGGBM", "C-MAPSS FD001"]
