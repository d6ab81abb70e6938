"""Models in a web page: their size, and the numbers of the script that evaluates them."""

import json

import numpy as np
import pandas as pd
import pytest

from censquant import CensoredQuantileForest, CensoredQuantileRegressor, CoxQuantileRegressor
from exported_models import (
    LEVELS,
    NODE,
    assert_same,
    data,
    fitted,
    new_rows,
    script_answers,
)

TIMES = [1.0, 5.0, 20.0]
IN_PAGES = [
    "ensemble, right",
    "laplace ensemble, left",
    "shape weibull, right",
    "linear, right",
    "cox, left",
    "boosted, right",
    "forest, left",
    "pool, right",
    "pool, left",
    "calibrated, right",
    "calibrated, left",
]


def test_a_page_holds_no_end_of_a_script():
    assert "<" not in fitted("pool, right").to_javascript(LEVELS).json


def test_the_size_tells_whether_a_forest_fits_into_a_page():
    x, y = data("right", n=2_000)
    small, large = (
        CensoredQuantileForest(n_estimators=n, random_state=0).fit(x, y).to_javascript(LEVELS)
        for n in (1, 20)
    )
    assert small.n_bytes == len(small.json) + len(small.script)
    # Two bytes per row of each tree, and more for its nodes.
    assert large.n_bytes - small.n_bytes > 19 * 2_000 * 2


def test_weights_of_networks_keep_single_precision_in_a_page():
    described = json.loads(fitted("pool, right").to_javascript(LEVELS).json)
    products = [node for node in described["nodes"] if node["op"] == "matmul_each"]
    matrices = [described["constants"][str(node["inputs"][1])] for node in products]
    of_features = [matrix["type"] for matrix in matrices if matrix["shape"][1] == 3]
    assert of_features == ["f4"]


def test_json_has_strict_numbers_and_names():
    described = json.loads(fitted("cox, right").to_javascript(LEVELS, TIMES).json)
    assert described["inputs"]["X"]["columns"] == ["x0", "x1", "x2"]
    assert described["facts"] == {"quantiles": LEVELS, "left_censored": False, "times": TIMES}


if NODE:  # an engine of JavaScript

    @pytest.mark.parametrize("name", IN_PAGES)
    def test_a_script_says_what_the_model_says(name, tmp_path):
        model, rows = fitted(name), new_rows(15)
        exported = model.to_javascript(LEVELS, TIMES)
        answers = script_answers(exported, tmp_path, {"X": rows.tolist()})
        assert_same(answers, model, rows, LEVELS)
        survival = model.predict_survival_function(rows, TIMES, return_array=True)
        np.testing.assert_allclose(answers["survival"], survival, rtol=1e-8, atol=1e-12)

    def test_a_row_with_infinity_has_no_answer(tmp_path):
        exported = fitted("forest, left").to_javascript(LEVELS, TIMES)
        rows = [[np.inf, 0.5, 0.0], [1.0, 0.5, 0.0]]
        answers = script_answers(exported, tmp_path, {"X": rows})
        for answer in answers.values():
            assert all(value is None for value in np.ravel(answer[0]))
            assert all(np.isfinite(float(value)) for value in np.ravel(answer[1]))

    @pytest.mark.parametrize("empty", [None, ""], ids=["None", "empty text"])
    def test_an_empty_text_is_a_missing_value(empty, tmp_path):
        x, y = data("right")
        stage = np.random.default_rng(0).choice(["I", "II", empty], len(x))
        frame = pd.DataFrame({"dose": x[:, 1], "stage": stage})
        candidates = [("cox", CoxQuantileRegressor())]
        model = CensoredQuantileRegressor(candidates=candidates, random_state=0).fit(frame, y)
        texts = frame[["stage"]].fillna("")
        inputs = {"X": frame[["dose"]].to_numpy().tolist(), "categories": texts.to_numpy().tolist()}
        answers = script_answers(model.to_javascript(LEVELS), tmp_path, inputs)
        assert_same(answers, model, frame, LEVELS)
        assert_same(answers, model, frame.assign(stage=texts), LEVELS)

    def test_rows_of_another_width_are_refused(tmp_path):
        exported = fitted("linear, right").to_javascript()
        with pytest.raises(AssertionError, match="The input X must have rows of 3 values"):
            script_answers(exported, tmp_path, {"X": [[1.0]]})
