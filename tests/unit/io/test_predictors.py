"""Predictions as functions of frames, as Spark and Ray call them."""

import re
import sys

import numpy as np
import pandas as pd
import pytest

from censquant import CoxQuantileRegressor
from censquant.io import TableError, ray_predictor, spark_predictor, spark_schema

LEVELS = [0.1, 0.5]


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"id": np.arange(n), "a": rng.normal(size=n), "b": rng.uniform(size=n)})


@pytest.fixture(scope="module")
def model():
    rng, x = np.random.default_rng(0), frame(200)
    t, c = rng.exponential(np.exp(x["a"])), rng.exponential(2.0, 200)
    return CoxQuantileRegressor().fit(x[["a", "b"]], (np.minimum(t, c), t <= c))


def test_frames_are_predicted_with_what_is_to_be_kept(model):
    new = frame(20, seed=1)[::-1]
    found = ray_predictor(model, LEVELS, keep=["id"])(new)
    assert list(found.columns) == ["id", "q0.1", "q0.5", "identified"]
    pd.testing.assert_index_equal(found.index, new.index)
    np.testing.assert_array_equal(found["id"], new["id"])
    expected = model.predict_quantiles(new[["a", "b"]], LEVELS, beyond="nan")
    np.testing.assert_array_equal(found[["q0.1", "q0.5"]], expected)


def test_columns_may_come_in_any_order_and_others_beside_them(model):
    new = frame(20, seed=1)
    predict = ray_predictor(model, LEVELS)
    pd.testing.assert_frame_equal(
        predict(new), predict(new.assign(c="text")[["c", "b", "id", "a"]])
    )


def test_iterators_are_mapped_one_frame_at_a_time_and_may_hold_empty_ones(model):
    frames = [frame(3), frame(0), frame(2)]
    taken = []

    def source():
        for each in frames:
            taken.append(len(each))
            yield each

    found = spark_predictor(model, LEVELS)(source())
    assert len(next(found)) == 3
    assert taken == [3]
    assert [len(each) for each in found] == [0, 2]


def test_the_schema_lists_the_columns_of_the_predictions(model):
    names = [
        part.split()[0].strip("`") for part in spark_schema(LEVELS, keep="id bigint").split(", ")
    ]
    assert names == list(ray_predictor(model, LEVELS, keep=["id"])(frame(2)).columns)


def test_a_batch_without_a_column_is_refused(model):
    message = "A batch must have the columns of the fit and those to keep, it lacks 'b', 'name'."
    with pytest.raises(TableError, match=re.escape(message)):
        ray_predictor(model, LEVELS, keep=["name"])(frame(2).drop(columns="b"))


def test_columns_to_keep_must_not_be_predictions(model):
    message = "keep must not name columns of predictions, got 'q0.5'."
    with pytest.raises(TableError, match=re.escape(message)):
        ray_predictor(model, LEVELS, keep=["q0.5"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Spark's own
def test_spark_maps_partitions(model, monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # not the first python3 of the path
    spark = sql.SparkSession.builder.master("local[2]").getOrCreate()
    try:
        rows = spark.createDataFrame(frame(50)).repartition(3)
        schema = spark_schema(LEVELS, keep="id bigint")
        mapped = rows.mapInPandas(spark_predictor(model, LEVELS, keep=["id"]), schema)
        found = mapped.toPandas().sort_values("id")
    finally:
        spark.stop()
    expected = model.predict_quantiles(frame(50)[["a", "b"]], LEVELS, beyond="nan")
    np.testing.assert_allclose(found[["q0.1", "q0.5"]], expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray's own
def test_ray_maps_batches(model):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        rows = ray.data.from_pandas(frame(50)).repartition(3)
        predict = ray_predictor(model, LEVELS, keep=["id"])
        found = rows.map_batches(predict, batch_format="pandas").to_pandas().sort_values("id")
    finally:
        ray.shutdown()
    expected = model.predict_quantiles(frame(50)[["a", "b"]], LEVELS, beyond="nan")
    values = found[["q0.1", "q0.5"]].to_numpy(dtype=float, na_value=np.nan)  # Arrow types
    np.testing.assert_allclose(values, expected)
