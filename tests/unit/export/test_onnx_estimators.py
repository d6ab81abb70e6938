"""Every estimator as an ONNX file says what it says itself."""

import inspect
import subprocess
import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import censquant
from censquant import (
    BaseQuantileRegressor,
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    CompetingRisksRegressor,
    CoxQuantileRegressor,
    LinearQuantileRegressor,
    QuantilePipeline,
    load_model,
    make_quantile_pipeline,
)
from exported_models import (
    LEVELS,
    MODELS,
    assert_same,
    data,
    fitted,
    levels_of,
    new_rows,
    onnx_answers,
    session,
)

SIX_LEVELS = "[0.013, 0.1, 0.33, 0.5, 0.9, 0.97]"


@pytest.mark.parametrize("name", MODELS)
def test_a_file_in_double_precision_says_what_the_model_says(name, tmp_path):
    model, rows, levels = fitted(name), new_rows(60), levels_of(name)
    model.to_onnx(tmp_path / "model.onnx", levels, dtype="float64")
    assert_same(onnx_answers(tmp_path / "model.onnx", X=rows), model, rows, levels)


@pytest.mark.parametrize("name", ["pool, right", "shape log-normal, right", "forest, left"])
def test_single_precision_rounds_inputs_and_outputs_only(name, tmp_path):
    model, rows = fitted(name), new_rows(60).astype(np.float32)
    model.to_onnx(tmp_path / "model.onnx", LEVELS)
    answers = onnx_answers(tmp_path / "model.onnx", X=rows)
    assert {value.dtype for value in answers.values()} == {np.dtype(np.float32)}
    assert_same(answers, model, rows.astype(np.float64), LEVELS, rtol=2e-7)


@pytest.mark.parametrize("n", [1, 1024, 1025])
def test_the_number_of_rows_does_not_change_an_answer(n, tmp_path):
    model, rows = fitted("boosted, right"), new_rows(1025)
    model.to_onnx(tmp_path / "model.onnx", LEVELS, dtype="float64")
    answers = onnx_answers(tmp_path / "model.onnx", X=rows[:n])
    assert answers["quantiles"].shape == (n, len(LEVELS))
    assert answers["median"].shape == answers["identified"].shape == (n,)
    assert_same(answers, model, rows[:n], LEVELS)


def test_the_levels_of_the_fit_are_exported_by_default(tmp_path):
    model = fitted("cqrnn, right")
    model.to_onnx(tmp_path / "model.onnx")
    assert session(tmp_path / "model.onnx").get_outputs()[0].shape == ["rows", 19]


def test_a_level_other_than_the_median_alone_has_no_median(tmp_path):
    x, y = data("right")
    model = LinearQuantileRegressor([0.3]).fit(x[y[1]], y[0][y[1]])
    model._path_levels = model._path_coefficients = None
    model.to_onnx(tmp_path / "model.onnx", dtype="float64")
    answers = onnx_answers(tmp_path / "model.onnx", X=x)
    assert sorted(answers) == ["identified", "quantiles"]
    with pytest.raises(ValueError, match=r"Only the level 0\.3 was fitted"):
        model.to_onnx(tmp_path / "other.onnx", [0.5])


def test_every_estimator_is_exported_by_these_tests():
    public = (getattr(censquant, name) for name in censquant.__all__)
    classes = {each for each in public if inspect.isclass(each) and issubclass(each, BaseEstimator)}
    here = {type(model) for model in MODELS.values()} | {QuantilePipeline}
    # The former is no model, and the latter refuses: its models of one kind each are exported.
    assert here == classes - {BaseQuantileRegressor, CompetingRisksRegressor}


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_python_refuses_have_no_answer_in_a_file(name, tmp_path):
    model, rows, levels = fitted(name), new_rows(6), levels_of(name)
    rows[[0, 2, 3], [0, 2, 1]] = np.inf, -np.inf, np.nan
    model.to_onnx(tmp_path / "model.onnx", levels, dtype="float64")
    answers = onnx_answers(tmp_path / "model.onnx", X=rows)
    refused = [0, 2] if name.startswith("recommended") else [0, 2, 3]
    for answer in answers.values():
        assert np.isnan(answer[refused]).all()
        assert np.isfinite(np.delete(answer, refused, axis=0)).all()
    with pytest.raises(ValueError, match=r"^Input X contains (infinity|NaN)"):
        model.predict(rows[refused])


def test_infinity_that_a_step_of_a_pipeline_would_hide_has_no_answer(tmp_path):
    x, y = data("right")
    steps = SimpleImputer(), MinMaxScaler(clip=True), LinearQuantileRegressor([0.1, 0.3])
    model = make_quantile_pipeline(*steps).fit(x, y)
    rows = new_rows(3)
    rows[0, 0], rows[1, 0] = np.inf, np.nan
    model.to_onnx(tmp_path / "model.onnx", [0.2], dtype="float64")
    answers = onnx_answers(tmp_path / "model.onnx", X=rows)
    assert np.isnan(answers["quantiles"][0]).all()
    assert_same({k: v[1:] for k, v in answers.items()}, model, rows[1:], [0.2])


@pytest.mark.parametrize("name", ["ensemble, right", "forest, left", "pool, right"])
def test_rows_alone_are_answered_as_in_a_batch(name, tmp_path):
    fitted(name).to_onnx(tmp_path / "model.onnx", LEVELS)
    runs, rows = session(tmp_path / "model.onnx"), new_rows(30).astype(np.float32)
    (batch,) = runs.run(["quantiles"], {"X": rows})
    alone = np.concatenate([runs.run(["quantiles"], {"X": row[None]})[0] for row in rows])
    np.testing.assert_allclose(alone, batch, rtol=2e-7)


def test_a_file_runs_without_this_package(tmp_path):
    model, rows = fitted("cox, right"), new_rows(2).astype(np.float32)
    model.to_onnx(tmp_path / "model.onnx", LEVELS)
    np.save(tmp_path / "rows.npy", rows)
    # A module of None cannot be imported, wherever it is installed.
    program = """
import sys
sys.modules["censquant"] = None
import numpy as np
import onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
np.save("answer.npy", session.run(["quantiles"], {"X": np.load("rows.npy")})[0])
print(session.get_modelmeta().custom_metadata_map["quantiles"])
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == SIX_LEVELS, done.stderr
    expected = model.predict_quantiles(rows.astype(np.float64), LEVELS, beyond="extrapolate")
    np.testing.assert_allclose(np.load(tmp_path / "answer.npy"), expected, rtol=2e-7)


def test_a_model_that_was_loaded_is_exported_like_the_fitted_one(tmp_path):
    model, rows = fitted("pool, right"), new_rows(20)
    model.save(tmp_path / "model.safetensors")
    load_model(tmp_path / "model.safetensors").to_onnx(tmp_path / "model.onnx", dtype="float64")
    assert_same(onnx_answers(tmp_path / "model.onnx", X=rows), model, rows, None)


def test_weighted_rows_of_a_forest_are_exported(tmp_path):
    x, y = data("right")
    weight = np.random.default_rng(0).uniform(0.5, 2.5, size=len(x))
    model = CensoredQuantileForest(n_estimators=5, random_state=0).fit(x, y, weight)
    model.to_onnx(tmp_path / "model.onnx", LEVELS, dtype="float64")
    assert_same(onnx_answers(tmp_path / "model.onnx", X=new_rows(30)), model, new_rows(30), LEVELS)


def test_without_censoring_all_fitted_levels_are_identified(tmp_path):
    x, (time, _) = data("right")
    model = CoxQuantileRegressor().fit(x, time)
    model.to_onnx(tmp_path / "model.onnx", LEVELS, dtype="float64")
    answers = onnx_answers(tmp_path / "model.onnx", X=new_rows(5))
    assert_same(answers, model, new_rows(5), LEVELS)
    assert set(answers["identified"]) == {0.99}


def test_numeric_steps_of_a_pipeline_are_exported(tmp_path):
    x, y = data("right")
    x = np.where(np.random.default_rng(0).random(x.shape) < 0.1, np.nan, x)
    steps = (SimpleImputer(), StandardScaler(), RobustScaler(), MinMaxScaler(clip=True))
    model = make_quantile_pipeline(*steps, LinearQuantileRegressor([0.1, 0.3])).fit(x, y)
    model.to_onnx(tmp_path / "model.onnx", dtype="float64")
    assert_same(onnx_answers(tmp_path / "model.onnx", X=x), model, x, None)


class TestLoading:
    """A runtime's time to load a file grows with operations, and faster with unknown sizes."""

    def body(self, name, folder):
        fitted(name).to_onnx(folder / "model.onnx", LEVELS)
        made = onnx.shape_inference.infer_shapes(onnx.load(folder / "model.onnx"), data_prop=True)
        (loop,) = (node for node in made.graph.node if node.op_type == "Loop")
        return next(a.g for a in loop.attribute if a.name == "body")

    @pytest.mark.parametrize("name", ["pool, right", "recommended, left", "calibrated, right"])
    def test_nothing_is_computed_that_no_output_depends_on(self, name, tmp_path):
        body = self.body(name, tmp_path)
        inside = [a.g for node in body.node for a in node.attribute if a.name == "body"]
        used = {name for graph in (body, *inside) for node in graph.node for name in node.input}
        used |= {value.name for value in body.output}
        idle = [node.op_type for node in body.node if not used.intersection(node.output)]
        assert idle == []

    @pytest.mark.parametrize("name", ["pool, right", "recommended, left", "ensemble, right"])
    def test_sizes_of_arrays_are_known_but_for_few(self, name, tmp_path):
        body = self.body(name, tmp_path)
        known = {
            value.name
            for value in body.value_info
            if value.type.tensor_type.HasField("shape")
            and all(
                length.dim_param == "block" or length.HasField("dim_value")
                for length in value.type.tensor_type.shape.dim
            )
        }
        made = [name for node in body.node for name in node.output]
        assert len(known.intersection(made)) > 0.85 * len(made)


class TestCategories:
    def frame(self):
        x, y = data("right")
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                "age": np.where(rng.random(len(x)) < 0.1, np.nan, x[:, 0]),
                "stage": rng.choice(["I", "II", "III", None], len(x)),
                "id": [f"p{row}" for row in range(len(x))],
                "dose": x[:, 1],
                "sex": rng.choice(["f", "m"], len(x)),
            }
        )
        return frame, y

    @pytest.mark.filterwarnings("ignore:X has columns", "ignore:X has levels", "ignore:X has miss")
    @pytest.mark.filterwarnings("ignore::censquant.exceptions.FeatureWarning")
    def test_text_is_a_second_input(self, tmp_path):
        frame, y = self.frame()
        candidates = [("cox", CoxQuantileRegressor())]
        model = CensoredQuantileRegressor(candidates=candidates, random_state=0).fit(frame, y)
        model.to_onnx(tmp_path / "model.onnx", LEVELS, dtype="float64")
        frame.loc[3, "stage"] = "unknown"
        answers = onnx_answers(
            tmp_path / "model.onnx",
            X=frame[["age", "dose"]].to_numpy(),
            categories=frame[["stage", "sex"]].fillna("").to_numpy(dtype=object),
        )
        assert_same(answers, model, frame, LEVELS)
        # An empty text is a missing value in Python too, and infinity has no answer.
        assert_same(answers, model, frame.fillna({"stage": ""}), LEVELS)
        answers = onnx_answers(
            tmp_path / "model.onnx",
            X=frame[["age", "dose"]].replace(frame.loc[5, "dose"], np.inf).to_numpy(),
            categories=frame[["stage", "sex"]].fillna("").to_numpy(dtype=object),
        )
        infinite = (frame["dose"] == frame.loc[5, "dose"]).to_numpy()
        np.testing.assert_array_equal(np.isnan(answers["median"]), infinite)
        facts = session(tmp_path / "model.onnx").get_modelmeta().custom_metadata_map
        assert facts["columns"] == '{"X": ["age", "dose"], "categories": ["stage", "sex"]}'
