"""Small fitted models of every kind, and what their exports say."""

import json
import shutil
import subprocess
import warnings
from functools import cache

import numpy as np
import onnxruntime

from censquant import (
    CQRNN,
    AFTRegressor,
    AsymmetricLaplaceNN,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    DeepQuantReg,
    LinearQuantileRegressor,
    LogNormalNN,
    PooledQuantileRegressor,
    SequentialGridNN,
    ShapeNN,
    UncensoredOnlyNN,
    WeibullNN,
)

NODE = shutil.which("node") or shutil.which("nodejs")
# On the grids of the models, between and outside of their levels.
LEVELS = [0.013, 0.1, 0.33, 0.5, 0.9, 0.97]
SIDES = ("right", "left")

_SMALL = {"hidden_layer_sizes": (8, 8), "random_state": 0}


def _networks(side):
    options = {**_SMALL, "max_epochs": 3, "censoring": side}
    shape = {**_SMALL, "max_steps": 60, "censoring": side}
    ensemble = {"n_members": 2, "head": "increasing", "time_transform": "log"}
    return {
        "cqrnn": CQRNN(**options),
        "ensemble": CQRNN(**options, **ensemble, activation="silu"),
        "one level": CQRNN([0.5], **options, activation="tanh"),
        "deepquantreg": DeepQuantReg(**options),
        "uncensored": UncensoredOnlyNN(**options),
        "sequential": SequentialGridNN([0.1, 0.5, 0.7], **options),
        "lognormal": LogNormalNN(**options, n_members=2),
        "weibull": WeibullNN(**options),
        "laplace": AsymmetricLaplaceNN(**options),
        "laplace ensemble": AsymmetricLaplaceNN(**options, n_members=2),
        "shape normal": ShapeNN(**shape, n_members=2),
        "shape bounded": ShapeNN(**shape, tail="bounded", activation="relu"),
        "shape log-normal": ShapeNN(**shape, family="log-normal"),
        "shape weibull": ShapeNN(**shape, family="weibull"),
    }


def _tables(side):
    options = {"random_state": 0, "censoring": side}
    return {
        "linear": LinearQuantileRegressor([0.1, 0.3, 0.5], censoring=side),
        "linear, one level": LinearQuantileRegressor([0.3], time_transform="log", censoring=side),
        "cox": CoxQuantileRegressor(**options),
        "aft weibull": AFTRegressor(**options),
        "aft lognormal": AFTRegressor(distribution="lognormal", **options),
        "aft loglogistic": AFTRegressor(distribution="loglogistic", **options),
        "boosted": BoostedQuantileRegressor(max_iter=23, **options),
        "boosted location": BoostedQuantileRegressor(
            max_iter=10, max_depth=5, fit_scale=False, **options
        ),
        "forest": CensoredQuantileForest(n_estimators=8, **options),
    }


def _pools(side):
    single = {**_networks(side), **_tables(side)}
    options = {"cv": 2, "random_state": 0, "censoring": side}
    named = [(name, single[name]) for name in ("cox", "shape normal", "boosted", "forest", "cqrnn")]
    prior = {"cox": 0.2, "shape normal": 0.2, "boosted": 0.2, "forest": 0.2, "cqrnn": 0.2}
    return {
        "pool": PooledQuantileRegressor(named, prior=prior, **options),
        "pool of one": PooledQuantileRegressor(named[3:4], **options),
        "recommended": CensoredQuantileRegressor(candidates=named[:1] + named[3:4], **options),
        "calibrated": ConformalSurvivalRegressor(single["cox"], cv=2, random_state=0),
    }


MODELS = {
    f"{name}, {side}": model
    for side in SIDES
    for group in (_networks, _tables, _pools)
    for name, model in group(side).items()
}


@cache
def data(side, n=150):
    """Features and censored times that depend on them without a formula."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    x[:, 1] = np.round(2 * x[:, 1])
    event = 10 * np.exp(0.5 * x[:, 0] + 0.3 * np.sin(2 * x[:, 1]) + 0.4 * rng.gumbel(size=n))
    limit = rng.exponential(20 if side == "right" else 6, size=n)
    if side == "right":
        return x, (np.minimum(event, limit), event <= limit)
    return x, (np.maximum(event, limit), event >= limit)


@cache
def fitted(name):
    """One of the models, fitted once per process; trainings are too short to converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name].fit(*data(name.rpartition(", ")[2]))


def new_rows(n, seed=1):
    """Rows inside and outside of the range of the fit."""
    return np.random.default_rng(seed).normal(scale=1.5, size=(n, 3))


def levels_of(name):
    """Levels that a model can be asked for."""
    return [0.5] if name.startswith("one level") else LEVELS


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


def onnx_answers(path, **inputs):
    """What an ONNX file says of some rows, by name."""
    runs = session(path)
    return dict(zip([out.name for out in runs.get_outputs()], runs.run(None, inputs), strict=True))


def script_answers(model, folder, inputs):
    """What a page's script says of some rows, by name."""
    (folder / "model.json").write_text(model.json)
    # JSON has no infinity, and a number as large as this is read as one.
    (folder / "inputs.json").write_text(json.dumps(inputs).replace("Infinity", "1e999"))
    (folder / "evaluate.js").write_text(model.script)
    program = """
const read = (name) => require("fs").readFileSync(name, "utf8");
const model = require("./evaluate.js").load(read("model.json"));
console.log(JSON.stringify(model.predict(JSON.parse(read("inputs.json")))));
"""
    done = subprocess.run(
        [NODE, "-e", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name: np.array(value) for name, value in json.loads(done.stdout).items()}


def assert_same(answers, model, rows, levels, rtol=1e-8):
    """Fail unless exported answers are those of the model."""
    expected = model.predict_quantiles(rows, levels, beyond="extrapolate")
    np.testing.assert_allclose(answers["quantiles"], expected, rtol=rtol, atol=0)
    reach = model.identified_level(rows)
    np.testing.assert_allclose(answers["identified"], reach, rtol=rtol, atol=1e-12)
    if "median" in answers:
        median = model.predict_quantiles(rows, [0.5], beyond="extrapolate")[:, 0]
        np.testing.assert_allclose(answers["median"], median, rtol=rtol, atol=0)
