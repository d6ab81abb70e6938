"""Features that give the outcome away are named in a warning by every estimator."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sksurv import datasets as sksurv_datasets

from censquant import (
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    LinearQuantileRegressor,
    PooledQuantileRegressor,
    WeibullNN,
)
from censquant._leaks import Outcome
from censquant._rows._encoder import FrameEncoder
from censquant.datasets import load_gbsg2, make_norm_linear, make_weibull
from censquant.exceptions import CalibrationWarning, FeatureWarning, LeakageWarning
from censquant.survival import read_target


def rows(n_rows=200, seed=0):
    """Features, times and events."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(60, 10, n_rows), "site": rng.choice(["a", "b"], n_rows)})
    life, end = rng.exponential(np.exp(X["age"] / 20)), rng.exponential(40, n_rows)
    return X, np.minimum(life, end), life <= end


def leaks_of(X, y, **options):
    """Text of the warning that a fit of the encoder gives, empty if there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FrameEncoder.fit(X, target=read_target(y), **options)
    found = [str(one.message) for one in caught if issubclass(one.category, LeakageWarning)]
    return found[0] if found else ""


def test_the_cause_of_death_of_flchain_is_named_with_what_to_do():
    X, y = sksurv_datasets.load_flchain()
    message = (
        "X has columns that give the outcome away: 'chapter' (missing exactly where no event was "
        "observed). Leave out what is known only afterwards, such as X.drop(columns=['chapter']): "
        "a model that uses it scores too well and cannot predict."
    )
    assert leaks_of(X, y) == message
    keep = np.arange(0, len(X), 20)
    model = CensoredQuantileRegressor(candidates=[("cox", CoxQuantileRegressor())], cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        with pytest.warns(LeakageWarning, match=r"'chapter' \(missing exactly where no event"):
            model.fit(X.iloc[keep], y[keep])
        model.fit(X.drop(columns="chapter").iloc[keep], y[keep])


LEAKS = {
    "hours": (lambda time, event: 24 * time, "the time itself, or a multiple of it"),
    "shifted": (lambda time, event: 3 + time / 365.25, "the time itself, or a multiple of it"),
    "died": (lambda time, event: event.astype(int), "the event itself"),
    "alive": (lambda time, event: np.where(event, "no", "yes"), "the event itself"),
    "stage at death": (
        lambda time, event: np.where(event, time.round(), np.nan),
        "missing exactly where no event was observed",
    ),
    "last visit": (
        lambda time, event: pd.Series(np.where(event, None, "clinic")),
        "missing exactly where the event was observed",
    ),
    "cause": (
        lambda time, event: pd.Series(np.where(event & (np.arange(200) % 9 > 0), "heart", None)),
        "without a value wherever no event was observed",
    ),
    "status": (
        lambda time, event: np.select([event & (time < 10), event], ["early", "late"], "alive"),
        "each value has the event in all rows or in none",
    ),
    "visits": (
        lambda time, event: time + np.random.default_rng(1).normal(0, 0.02, 200),
        "nearly the same order as the time",
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_each_kind_of_leak_is_named(name):
    X, time, event = rows()
    made, reason = LEAKS[name]
    assert leaks_of(X, (time, event)) == ""
    X[name] = made(time, event)
    assert f"give the outcome away: {name!r} ({reason}). " in leaks_of(X, (time, event))


@pytest.mark.parametrize(
    "estimator",
    [
        CoxQuantileRegressor(),
        CensoredQuantileForest(n_estimators=2),
        LinearQuantileRegressor([0.2]),
        WeibullNN(max_epochs=2),
        PooledQuantileRegressor([("cox", CoxQuantileRegressor())], cv=2),
        CensoredQuantileRegressor(candidates=[("cox", CoxQuantileRegressor())], cv=2),
        ConformalSurvivalRegressor(CoxQuantileRegressor(), cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_every_estimator_warns(estimator, kind):
    X, time, event = rows()
    X = X[["age"]].assign(died=event.astype(float))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X if kind == "frame" else X.to_numpy(), (time, event))
    found = [one for one in caught if issubclass(one.category, LeakageWarning)]
    assert found
    name = "died" if kind == "frame" else "x1"
    assert f"{name!r} (the event itself)" in str(found[0].message)
    if not isinstance(estimator, ConformalSurvivalRegressor):  # whose models are fitted in threads
        assert found[0].filename == __file__


def test_candidates_of_a_pool_do_not_repeat_the_warning():
    X, time, event = rows()
    X["died"] = event
    model = CensoredQuantileRegressor(candidates=[("cox", CoxQuantileRegressor())], cv=4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, (time, event))
    assert [one.category for one in caught].count(LeakageWarning) == 1


def test_rows_of_weight_zero_do_not_hide_a_leak():
    X, time, event = rows()
    X["died"] = event
    X.loc[:9, "died"] = ~X["died"][:10]
    weight = np.where(np.arange(200) < 10, 0.0, 1.0)
    assert leaks_of(X, (time, event)) == ""
    assert "'died' (the event itself)" in leaks_of(X, (time, event), weight=weight)


def test_few_rows_may_agree_with_the_outcome_by_chance():
    X, time, event = rows()
    X["died"] = event
    assert leaks_of(X[:19], (time[:19], event[:19])) == ""
    assert leaks_of(X[:20], (time[:20], event[:20])) != ""


def test_a_table_without_censoring_has_no_column_that_tells_the_event():
    X, time, _ = rows()
    X["constant but once"] = np.where(np.arange(200) == 0, np.nan, 1.0)
    assert leaks_of(X, (time, np.ones(200, bool))) == ""


def test_huge_and_tiny_numbers_are_compared_without_overflow():
    X, time, event = rows()
    X = X.assign(huge=np.where(X["age"] > 60, 1e308, -1e308), tiny=1e-308 * X["age"])
    X["times"] = time / time.max() * 1e308
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert "'times' (the time itself" in leaks_of(X, (time, event))


@pytest.mark.parametrize(
    "name", ["gbsg2", "whas500", "veterans_lung_cancer", "aids", "breast_cancer"]
)
def test_no_feature_of_scikit_survivals_data_is_suspected(name):
    assert leaks_of(*getattr(sksurv_datasets, f"load_{name}")()) == ""


def test_no_feature_of_bundled_or_simulated_data_is_suspected():
    assert leaks_of(*load_gbsg2(as_frame=True)) == ""
    for make in (make_norm_linear, make_weibull):
        data = make(500, random_state=0)
        assert leaks_of(data.X, data.y) == ""


def test_the_warning_is_one_about_features():
    assert issubclass(LeakageWarning, FeatureWarning)


def test_the_search_looks_at_some_of_many_rows():
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=400_000), rng.random(400_000) < 0.5
    outcome = Outcome(time, event)
    assert len(outcome._time) == 5_000
    assert not outcome.find_leak(rng.normal(size=400_000))
    assert outcome.find_leak(7 * time)
    assert outcome.find_near_leak(time + 1e-3 * rng.normal(size=400_000))
