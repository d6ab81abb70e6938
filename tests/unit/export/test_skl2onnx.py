"""Pipelines of scikit-learn that end in an estimator of this package, converted by skl2onnx."""

import numpy as np
import pytest
import skl2onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from censquant import (
    CensoredQuantileForest,
    CoxQuantileRegressor,
    make_quantile_pipeline,
    register_onnx_converters,
)
from exported_models import data, new_rows, onnx_answers

X, Y = data("right")


@pytest.fixture(autouse=True, scope="module")
def _registered():
    register_onnx_converters()


def converted(model, first, path, **options):
    made = skl2onnx.to_onnx(model, first, target_opset=18, **options)
    path.joinpath("model.onnx").write_bytes(made.SerializeToString())
    return path / "model.onnx"


@pytest.mark.parametrize("make", [make_pipeline, make_quantile_pipeline])
def test_a_whole_pipeline_converts(make, tmp_path):
    forest = CensoredQuantileForest(n_estimators=5, random_state=0)
    model = make(PolynomialFeatures(2, include_bias=False), StandardScaler(), forest).fit(X, Y)
    options = {id(forest): {"quantiles": [0.1, 0.5]}}
    path = converted(model, X[:1], tmp_path, options=options)
    answers, rows = onnx_answers(path, X=new_rows(50)), new_rows(50)
    expected = forest.predict_quantiles(
        model[:-1].transform(rows), [0.1, 0.5], beyond="extrapolate"
    )
    np.testing.assert_allclose(answers["quantiles"], expected, rtol=1e-8)
    assert list(answers) == ["quantiles", "median", "identified"]


def test_columns_may_be_inputs_of_their_own(tmp_path):
    model = CoxQuantileRegressor().fit(X, Y)
    types = [(name, FloatTensorType([None, 1])) for name in ("a", "b", "c")]
    made = skl2onnx.to_onnx(model, initial_types=types, target_opset=18)
    tmp_path.joinpath("model.onnx").write_bytes(made.SerializeToString())
    rows = new_rows(7).astype(np.float32)
    columns = {name: rows[:, [k]] for k, name in enumerate("abc")}
    answers = onnx_answers(tmp_path / "model.onnx", **columns)
    expected = model.predict_quantiles(rows.astype(np.float64), beyond="extrapolate")
    np.testing.assert_allclose(answers["quantiles"], expected, rtol=2e-7)


def test_an_older_set_of_operators_is_refused():
    model = CoxQuantileRegressor().fit(X, Y)
    with pytest.raises(ValueError, match="target_opset must be at least 18 for CoxQuantileReg"):
        skl2onnx.to_onnx(model, X[:1], target_opset=15)
