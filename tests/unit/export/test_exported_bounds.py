"""Calibrated bounds outside of Python are those of Python, for every method and side."""

import json

import numpy as np
import pandas as pd
import pytest

from censquant import (
    CensoredQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
)
from censquant._calibration._methods import METHODS
from censquant.export._graph import Graph
from exported_models import NODE, data, new_rows, onnx_answers, script_answers

# Some rows are too few for upper bounds of high confidence: infinity is then compared as well.
# Most bounds of low confidence end with follow-up in one test, and its flag is compared.
pytestmark = [
    pytest.mark.filterwarnings("ignore::censquant.exceptions.FewEventsWarning"),
    pytest.mark.filterwarnings("ignore::censquant.exceptions.IdentifiabilityWarning"),
]

CONFIDENCES = [0.5, 0.8, 0.9, 0.95]
CASES = [
    (method, side)
    for method, correction in METHODS.items()
    for side in ("right", "left")
    if not (side == "left" and correction.needs_censoring_times)
]


def calibrated(method="aipcw", side="right", censoring="kaplan-meier", n=400):
    """A model whose bounds of high confidence lie below the lowest level of its curves."""
    x, (time, event) = data(side, n=n)
    given = {}
    if METHODS[method].needs_censoring_times:
        later = np.random.default_rng(0).exponential(20.0, len(x))
        given = {"censoring_time": np.where(event, time + later, time)}
    if METHODS[method].refuses_censoring:
        event = np.ones(len(x), dtype=bool)
    if censoring == "modelled":
        censoring = CoxQuantileRegressor(censoring=side)
    model = ConformalSurvivalRegressor(
        CoxQuantileRegressor(censoring=side),
        method=method,
        cv=2,
        censoring_estimator=censoring,
        random_state=0,
    )
    return model.fit(x, (time, event), **given)


def python_bounds(model, rows):
    expected = {}
    for side in ("lower", "upper"):
        ask = getattr(model, f"predict_{side}_bound")
        frames = [ask(rows, one, output="frame") for one in CONFIDENCES]
        expected[f"{side}_bound"] = np.column_stack([one["bound"] for one in frames])
        expected[f"{side}_bound_limited"] = np.column_stack([one["limited"] for one in frames])
    return expected


def assert_same_bounds(answers, expected):
    for name, bounds in expected.items():
        np.testing.assert_allclose(answers[name], bounds, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("censoring", ["kaplan-meier", "modelled"])
@pytest.mark.parametrize(("method", "side"), CASES)
def test_an_onnx_file_has_the_bounds_of_the_model(method, side, censoring, tmp_path):
    model, rows = calibrated(method, side, censoring), new_rows(40)
    model.to_onnx(tmp_path / "model.onnx", dtype="float64", confidence=CONFIDENCES)
    expected = python_bounds(model, rows)
    assert_same_bounds(onnx_answers(tmp_path / "model.onnx", X=rows), expected)
    assert len(np.unique(expected["lower_bound"])) > 40


def test_an_onnx_file_has_bounds_that_quantiles_and_follow_up_limit(tmp_path):
    x, (time, event) = data("right", n=400)
    end = np.quantile(time, 0.5)  # of follow-up
    model = ConformalSurvivalRegressor(CoxQuantileRegressor(), cv=2, random_state=0)
    model.fit(x, (np.minimum(time, end), event & (time <= end)))
    rows, group = new_rows(200), next(iter(model._calibration.groups.values()))
    own = model.estimator_.predict_curve(rows)
    rule = group.rule(0.5, "lower")
    lower = model.predict_lower_bound(rows, 0.5)
    limited = lower == model.follow_up_of(rows)
    capped = lower < np.minimum(own.at([rule.index])[:, 0], model.follow_up_of(rows))
    assert limited.any()
    assert capped.any()
    model.to_onnx(tmp_path / "model.onnx", dtype="float64", confidence=CONFIDENCES)
    assert_same_bounds(onnx_answers(tmp_path / "model.onnx", X=rows), python_bounds(model, rows))


if NODE:

    @pytest.mark.parametrize("censoring", ["kaplan-meier", "modelled"])
    @pytest.mark.parametrize("method", ["aipcw", "candes", "drcosarc"])
    def test_a_script_has_the_bounds_of_the_model(method, censoring, tmp_path):
        model, rows = calibrated(method, "right", censoring), new_rows(20)
        exported = model.to_javascript(confidence=CONFIDENCES)
        assert json.loads(exported.json)["facts"]["confidence"] == CONFIDENCES
        answers = script_answers(exported, tmp_path, {"X": rows.tolist()})
        # JSON has no infinity.
        answers = {
            name: np.where(found == None, np.inf, found).astype(float)  # noqa: E711
            for name, found in answers.items()
        }
        assert_same_bounds(answers, python_bounds(model, rows))


def test_bounds_that_the_rows_do_not_support_are_trivial(tmp_path):
    x, (time, event) = data("right", n=60)
    event = event & (np.cumsum(event) <= 20)
    model = ConformalSurvivalRegressor(CoxQuantileRegressor(), cv=2, random_state=0)
    model.fit(x, (time, event)).to_onnx(tmp_path / "model.onnx", confidence=0.9)
    answers = onnx_answers(tmp_path / "model.onnx", X=np.float32(new_rows(5)))
    np.testing.assert_array_equal(answers["lower_bound"], np.zeros((5, 1)))
    np.testing.assert_array_equal(answers["upper_bound"], np.full((5, 1), np.inf))


def test_without_a_confidence_there_are_no_bounds():
    described = json.loads(calibrated().to_javascript().json)
    assert "lower_bound" not in described["outputs"]
    assert "confidence" not in described["facts"]


def test_a_confidence_of_one_is_refused():
    message = r"confidence must be finite and inside \(0, 1\), got 1\.0\."
    with pytest.raises(ValueError, match=message):
        calibrated().to_javascript(confidence=[0.9, 1.0])


@pytest.mark.filterwarnings("ignore::censquant.exceptions.FeatureWarning")
@pytest.mark.filterwarnings("ignore::censquant.exceptions.ConstantFeatureWarning")
def test_the_censoring_model_may_take_fewer_columns_than_the_model(tmp_path):
    x, y = data("right", n=400)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(same=1.0)[["same", "c", "a", "b"]]
    pool = CensoredQuantileRegressor(candidates=[("cox", CoxQuantileRegressor())], cv=2)
    model = ConformalSurvivalRegressor(
        CoxQuantileRegressor(), cv=2, censoring_estimator=pool, random_state=0
    )
    model.fit(frame, y).to_onnx(tmp_path / "model.onnx", dtype="float64", confidence=CONFIDENCES)
    answers = onnx_answers(tmp_path / "model.onnx", X=frame[:30].to_numpy())
    assert_same_bounds(answers, python_bounds(model, frame[:30]))


def test_columns_that_another_model_did_not_declare_are_refused():
    graph = Graph()
    first = graph.numbers(2, ["a", "b"])
    assert graph.numbers(2, ["a", "b"]) is first
    assert graph.numbers(1, ["b"]).shape == (None, 1)
    message = (
        "Two models in one graph must take the same columns of the input X, got c beside a, b."
    )
    with pytest.raises(TypeError, match=message):
        graph.numbers(2, ["b", "c"])
