"""The recommended estimator on a cluster."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import censquant
from censquant import CQRNN, CensoredQuantileRegressor, CoxQuantileRegressor, ShapeNN
from censquant.dask import DaskCensoredQuantileRegressor
from censquant.estimators import SequentialGridNN
from cluster_rows import COLUMNS, LEVELS, linear_rows, truth

CANDIDATES = [("cox", CoxQuantileRegressor()), ("normal", ShapeNN(max_steps=100))]


def messy(n, seed=0):
    """The rows of the line, the feature as text with missing values beside it."""
    frame = linear_rows(n, seed)
    kind = np.where(frame["b"] > 0, "new", "used").astype(object)
    kind[::50] = None
    return frame.assign(kind=kind, b=frame["b"].mask(frame["b"] > 0.9), owner=np.arange(n) // 4)


def model_for(**settings):
    return DaskCensoredQuantileRegressor(
        **{"candidates": CANDIDATES, "cv": 2, "n_replicas": 2, "random_state": 0} | settings
    )


def test_networks_learn_from_all_rows_and_the_rest_from_the_sample(client):
    frame = messy(6_000)
    rows = dd.from_pandas(frame, npartitions=3)
    model = model_for(compared_rows=800, passes=8.0).fit(rows, groups="owner", **COLUMNS)
    assert model.parts_ == {
        name: "all rows" if name == "normal" else "sample" for name in model.estimators_
    }
    assert model.weights_["normal"] > 0.5
    fresh = messy(1_000, seed=1)
    features = ["a", "b", "kind"]
    local = model.to_local()
    assert type(local) is CensoredQuantileRegressor

    def error(fitted):
        predicted = fitted.predict_quantiles(fresh[features], LEVELS, beyond="extrapolate")
        return ((predicted - truth(fresh)) ** 2).mean()

    few = frame.iloc[:800]
    small = CensoredQuantileRegressor(candidates=CANDIDATES, cv=2, random_state=0)
    small.fit(few[features], few[["time", "event"]])
    assert error(local) < error(small)
    assert len(local.oof_rows_) <= 800
    times = model.predict_quantiles(rows, [0.5], beyond="extrapolate").compute()
    np.testing.assert_array_equal(
        times.to_numpy(), local.predict_quantiles(frame[features], [0.5], beyond="extrapolate")
    )


def test_the_plain_estimator_is_saved_and_read(client, tmp_path):
    frame = messy(600)
    rows = dd.from_pandas(frame, npartitions=2)
    model = model_for().fit(rows, features=["a", "kind"], **COLUMNS)
    local = model.to_local()
    local.save(tmp_path / "model.cq")
    restored = censquant.load_model(tmp_path / "model.cq")
    pd.testing.assert_frame_equal(
        restored.predict_quantiles(frame[["a", "kind"]], output="frame"),
        local.predict_quantiles(frame[["a", "kind"]], output="frame"),
    )


@pytest.mark.filterwarnings("ignore:Cross-validation shows miscalibrated")  # one epoch each
def test_networks_that_cannot_be_averaged_stay_as_they_are(client):
    rows = dd.from_pandas(linear_rows(400), npartitions=2)
    candidates = [
        ("grid", SequentialGridNN([0.25, 0.5], max_epochs=1, hidden_layer_sizes=(4,))),
        ("frozen", CQRNN(em_epochs=1, max_epochs=2, hidden_layer_sizes=(4,))),
    ]
    model = model_for(candidates=candidates).fit(rows, **COLUMNS)
    assert set(model.parts_.values()) == {"sample"}


def test_the_same_call_resumes_each_network(client, tmp_path):
    frame = linear_rows(800)
    rows = dd.from_pandas(frame, npartitions=2)
    first = model_for().fit(rows, checkpoint_dir=tmp_path, **COLUMNS)
    assert [path.name for path in tmp_path.iterdir()] == ["normal-0.checkpoint"]
    again = model_for().fit(rows, checkpoint_dir=tmp_path, **COLUMNS)
    np.testing.assert_array_equal(again.predict(frame), first.predict(frame))
