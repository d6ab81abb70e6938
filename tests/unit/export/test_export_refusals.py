"""What cannot be exported is refused by its name, with what to do instead."""

import re
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import PolynomialFeatures

from censquant import (
    BaseQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    LinearQuantileRegressor,
    PooledQuantileRegressor,
    make_quantile_pipeline,
)
from censquant.export._graph import Graph
from censquant.export._graphs_networks import network_graph
from censquant.quantiles import QuantileCurve
from exported_models import data, fitted

X, Y = data("right")


class Constant(BaseQuantileRegressor):
    def fit(self, X, y, sample_weight=None):
        self.fitted_ = True
        return self

    def predict_curve(self, X):
        values = np.tile([1.0, 2.0], (len(X), 1))
        return QuantileCurve(values, np.array([0.25, 0.75]), lower=0.0)


def refuses(model, message, path, error=TypeError, **options):
    with pytest.raises(error, match=re.escape(message)):
        model.to_onnx(path / "model.onnx", **options)
    assert not (path / "model.onnx").exists()


def test_an_estimator_of_ones_own_is_refused_by_name(tmp_path):
    message = (
        "Constant cannot be exported: the export knows the estimators of censquant, pools and "
        "pipelines of them."
    )
    refuses(Constant().fit(X, Y), message, tmp_path)


@pytest.mark.filterwarnings("ignore::censquant.exceptions.CalibrationWarning")
def test_a_candidate_that_cannot_be_exported_is_named(tmp_path):
    pool = PooledQuantileRegressor([("mine", Constant())], cv=2).fit(X, Y)
    message = "The candidate 'mine' of the pool cannot be exported, so the pool cannot: Constant"
    refuses(pool, message, tmp_path)


def test_calibration_by_subgroup_is_refused(tmp_path):
    model = ConformalSurvivalRegressor(CoxQuantileRegressor(), cv=2, by=0, random_state=0)
    x, y = data("right", n=400)
    x = np.column_stack([x[:, 0] > 0, x[:, 1:]])
    message = (
        "ConformalSurvivalRegressor cannot be exported with by=0: the export knows one calibration "
        "for all individuals."
    )
    refuses(model.fit(x, y), message, tmp_path)


def test_a_step_that_is_not_known_is_named(tmp_path):
    model = make_quantile_pipeline(
        PolynomialFeatures(2, include_bias=False), CoxQuantileRegressor()
    ).fit(X, Y)
    message = (
        "The step PolynomialFeatures cannot be exported by to_onnx: call "
        "censquant.register_onnx_converters() and convert the pipeline with skl2onnx.to_onnx."
    )
    refuses(model, message, tmp_path)


def test_other_networks_are_refused():
    with pytest.raises(TypeError, match="object cannot be exported: networks of this package can"):
        network_graph(object(), Graph().numbers(2))


def test_images_are_refused(tmp_path):
    model = fitted("cqrnn, right")
    images = type(model)()
    vars(images).update(vars(model))
    images._input_shape = (8, 8)
    message = "CQRNN cannot be exported: it was fitted to samples of shape (8, 8)"
    refuses(images, message, tmp_path)


def test_wrong_arguments_are_refused(tmp_path):
    model = fitted("cox, right")
    message = "dtype must be one of 'float32', 'float64', got 'float16'."
    refuses(model, message, tmp_path, ValueError, dtype="float16")
    message = "quantiles must be inside (0, 1), got (1.5,)."
    refuses(model, message, tmp_path, ValueError, quantiles=[1.5])
    with pytest.raises(NotFittedError):
        LinearQuantileRegressor().to_onnx(tmp_path / "model.onnx")


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    message = "Export to ONNX needs the package onnx: install it by `pip install censquant[onnx]`."
    refuses(fitted("cox, right"), message, tmp_path, ImportError)
