"""What a type checker tells users of the package: mypy on a program of theirs."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import censquant

PROGRAM = """
import numpy as np
import censquant
from censquant import CensoredQuantileRegressor, ConformalSurvivalRegressor

X = np.zeros((3, 2))
model = CensoredQuantileRegressor()
reveal_type(model.predict_quantiles(X))
reveal_type(model.predict_quantiles(X, [0.5], beyond="nan", output="array"))
reveal_type(model.predict_interval(X))
reveal_type(model.predict_remaining(X, 3.0))
reveal_type(model.predict_survival_function(X, [1.0], return_array=True))
reveal_type(model.predict_survival_function(X, [1.0], True))
reveal_type(model.predict_survival_function(X))
reveal_type(ConformalSurvivalRegressor(model).predict_interval(X, elapsed=2.0))
reveal_type(censquant.load_model("model"))
reveal_type(censquant.load_model("model", kind=CensoredQuantileRegressor))
model.predict_quantiles(X, beyond="drop")
model.predict_quantiles(X, output="table")
model.predict_remaining(X, 3.0, beyond="drop")
model.predict_survival_function(X, beyond="inf")
model.fit(X, X[0]).predict_quantiles(X, output="frame")
"""

if importlib.util.find_spec("mypy"):

    @pytest.fixture(scope="module")
    def said(tmp_path_factory):
        """What mypy says of each line of the program."""
        folder = tmp_path_factory.mktemp("typed")
        (folder / "program.py").write_text(PROGRAM)
        # No settings of this project, which users do not have.
        (folder / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\n")
        place = Path(censquant.__file__).parents[1]
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--follow-imports=silent", "program.py"],
            cwd=folder,
            env={"MYPYPATH": str(place), "PATH": "", "MYPY_CACHE_DIR": str(folder / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        lines: dict[str, list[str]] = {}
        for number, text in re.findall(r"^program\.py:(\d+): (.*)$", done.stdout, re.MULTILINE):
            lines.setdefault(PROGRAM.splitlines()[int(number) - 1], []).append(text)
        assert lines, done.stdout + done.stderr
        return lines

    def revealed(said, expression):
        (text,) = said[f"reveal_type({expression})"]
        return text.removeprefix('note: Revealed type is "').removesuffix('"')

    @pytest.mark.parametrize(
        "expression",
        [
            "model.predict_quantiles(X)",
            'model.predict_quantiles(X, [0.5], beyond="nan", output="array")',
            "model.predict_interval(X)",
            "model.predict_remaining(X, 3.0)",
            "model.predict_survival_function(X, [1.0], return_array=True)",
            "model.predict_survival_function(X, [1.0], True)",
            "ConformalSurvivalRegressor(model).predict_interval(X, elapsed=2.0)",
        ],
    )
    def test_predictions_are_arrays_of_numbers(said, expression):
        assert "float64" in revealed(said, expression)
        assert revealed(said, expression).startswith("numpy.ndarray")

    def test_survival_functions_are_objects(said):
        assert "object_" in revealed(said, "model.predict_survival_function(X)")

    def test_a_loaded_model_is_of_the_class_that_is_expected(said):
        plain = revealed(said, 'censquant.load_model("model")')
        assert plain.endswith("BaseQuantileRegressor")
        expected = revealed(said, 'censquant.load_model("model", kind=CensoredQuantileRegressor)')
        assert expected.endswith(".CensoredQuantileRegressor")

    @pytest.mark.parametrize(
        ("line", "argument"),
        [
            ('model.predict_quantiles(X, beyond="drop")', "beyond"),
            ('model.predict_quantiles(X, output="table")', "output"),
            ('model.predict_remaining(X, 3.0, beyond="drop")', "beyond"),
            ('model.predict_survival_function(X, beyond="inf")', "beyond"),
        ],
    )
    def test_a_word_that_is_no_choice_is_found(said, line, argument):
        assert any("error" in text for text in said[line]), argument

    def test_nothing_else_is_found(said):
        assert 'model.fit(X, X[0]).predict_quantiles(X, output="frame")' not in said
