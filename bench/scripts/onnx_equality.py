"""Exported models beside the models themselves, on 100,000 rows in one batch and on rows alone.

    python bench/scripts/onnx_equality.py [--rows 100000] [--fit-rows 3000] [--only NAME] [-o OUT]

Every estimator is fitted, written by ``to_onnx`` (a scikit-learn Pipeline by skl2onnx) and run by
onnxruntime in a process that cannot import censquant, with the default options of a session. Its
quantiles, median and identified level are compared with those of Python for the same features in
single precision. Answers whose relative difference exceeds 1e-5 are of two kinds: those that a step
of single precision in one feature moves across a split, which are counted and left out of the
largest difference, and others, of which there must be none.
"""

import argparse
import inspect
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import skl2onnx
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from versions import versions

import censquant

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
N_FEATURES = 10
N_ALONE = 200
LARGEST_DIFFERENCE = 1e-5
PIPELINE = "Pipeline, by skl2onnx"
# Abstract, or not an estimator of its own.
WITHOUT_A_FIT = {"BaseQuantileRegressor"}
# A module of None cannot be imported, wherever it is installed.
CHILD = """
import sys
sys.modules["censquant"] = None
import json, time
import numpy as np
import onnxruntime
folder, n_alone = sys.argv[1], int(sys.argv[2])
rows = np.load(f"{folder}/rows.npy")
begun = time.process_time()
session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
said = {"load": time.process_time() - begun}
names = [output.name for output in session.get_outputs()]
begun = time.process_time()
batch = session.run(None, {"X": rows})
said["batch"] = time.process_time() - begun
begun = time.process_time()
alone = [session.run(None, {"X": rows[[k]]}) for k in range(n_alone)]
said["alone"] = (time.process_time() - begun) / n_alone
np.savez(f"{folder}/batch.npz", **dict(zip(names, batch)))
np.savez(f"{folder}/alone.npz", **{n: np.concatenate(a) for n, a in zip(names, zip(*alone))})
try:
    import censquant
except ImportError:
    print(json.dumps(said))
"""


def models():
    """Return one estimator per class, with its defaults."""
    made = {
        name: value
        for name, value in ((name, getattr(censquant, name)) for name in censquant.__all__)
        if inspect.isclass(value) and issubclass(value, BaseEstimator)
    }
    cox = censquant.CoxQuantileRegressor
    special = {
        "PooledQuantileRegressor": lambda: censquant.PooledQuantileRegressor(
            [("cox", cox()), ("boosted", censquant.BoostedQuantileRegressor(random_state=0)),
             ("forest", censquant.CensoredQuantileForest(random_state=0)),
             ("network", censquant.ShapeNN(random_state=0))], random_state=0
        ),
        "ConformalSurvivalRegressor": lambda: censquant.ConformalSurvivalRegressor(
            cox(), random_state=0
        ),
        "QuantilePipeline": lambda: censquant.make_quantile_pipeline(
            StandardScaler(), censquant.ShapeNN(random_state=0)
        ),
        "LinearQuantileRegressor": lambda: censquant.LinearQuantileRegressor(quantiles=LEVELS),
    }  # fmt: skip
    found = {
        name: special.get(name, lambda cls=cls: _seeded(cls))()
        for name, cls in made.items()
        if name not in WITHOUT_A_FIT
    }
    found[PIPELINE] = make_pipeline(
        StandardScaler(),
        PolynomialFeatures(2, include_bias=False),
        censquant.BoostedQuantileRegressor(random_state=0),
    )
    return found


def _seeded(cls):
    takes = inspect.signature(cls).parameters
    return cls(random_state=0) if "random_state" in takes else cls()


def data(n_rows, rng):
    """Return features, one of them whole numbers, and right-censored times."""
    X = rng.normal(size=(n_rows, N_FEATURES))
    X[:, 1] = np.round(2 * X[:, 1])
    event = 10 * np.exp(0.5 * X[:, 0] + 0.3 * np.sin(2 * X[:, 1]) + 0.4 * rng.gumbel(size=n_rows))
    limit = rng.exponential(20, size=n_rows)
    return X, (np.minimum(event, limit), event <= limit)


def write(model, path):
    """Write a fitted model, or a pipeline that ends in one, as an ONNX file."""
    if hasattr(model, "to_onnx"):
        model.to_onnx(path, LEVELS)
        return
    options = {id(model[-1]): {"quantiles": LEVELS}}
    first = np.zeros((1, N_FEATURES), np.float32)
    made = skl2onnx.to_onnx(model, first, target_opset=18, options=options)
    path.write_bytes(made.SerializeToString())


def answers(model, rows):
    """Return what Python says about rows, by the names of the outputs, one column per number."""
    rows = rows.astype(np.float64)
    if not hasattr(model, "to_onnx"):
        model, rows = model[-1], model[:-1].transform(rows)
    quantiles = model.predict_quantiles(rows, [*LEVELS, 0.5], beyond="extrapolate")
    return np.column_stack([quantiles, model.identified_level(rows)])


def said_by(folder, name):
    """Return what the file said, with the columns of :func:`answers`."""
    with np.load(folder / name) as stored:
        return np.column_stack([stored["quantiles"], stored["median"], stored["identified"]])


def largest_difference(found, expected):
    """Return the largest relative difference in each row."""
    # Single precision has no smaller numbers in full.
    size = np.maximum(np.abs(expected), np.finfo(np.float32).tiny)
    return (np.abs(found - expected) / size).max(axis=1)


def is_at_a_split(model, row, found):
    """Whether one step of single precision in a feature brings Python to what the file said."""
    moved = [row]
    for feature in range(N_FEATURES):
        for towards in (-np.inf, np.inf):
            other = row.copy()
            other[feature] = np.nextafter(row[feature], np.float32(towards))
            moved.append(other)
    near = answers(model, np.array(moved))
    # Several features may lie at splits: the file must be within what the steps span.
    low, high = near.min(axis=0), near.max(axis=0)
    room = LARGEST_DIFFERENCE * np.abs(near[0])
    return bool(((found >= low - room) & (found <= high + room)).all() and (high > low).any())


def compared(name, model, train, rows, folder):
    """Return a row of the table: times of the file, and how far it is from the model."""
    begun = time.process_time()
    model.fit(*train)
    fit = time.process_time() - begun
    write(model, folder / "model.onnx")
    np.save(folder / "rows.npy", rows)
    done = subprocess.run(
        [sys.executable, "-I", "-c", CHILD, str(folder), str(N_ALONE)],
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    begun = time.process_time()
    expected = answers(model, rows)
    python = time.process_time() - begun
    found = np.concatenate([said_by(folder, "batch.npz"), said_by(folder, "alone.npz")])
    place = np.concatenate([np.arange(len(rows)), np.arange(N_ALONE)])
    apart = largest_difference(found, expected[place])
    beyond = np.flatnonzero(~(apart <= LARGEST_DIFFERENCE))
    at_split = [k for k in beyond if is_at_a_split(model, rows[place[k]], found[k])]
    apart[at_split] = 0.0
    return {
        "estimator": name,
        "fit": f"{fit:.0f} s",
        "file": f"{(folder / 'model.onnx').stat().st_size / 1e6:.2f} MB",
        "load": f"{said['load']:.2f} s",
        "one row": f"{1e3 * said['alone']:.1f} ms",
        "all rows": f"{said['batch']:.1f} s",
        "in Python": f"{python:.1f} s",
        "largest difference": f"{apart[: len(rows)].max():.1e}",
        "of rows alone": f"{apart[len(rows) :].max():.1e}",
        "at a split": len(at_split),
        "different": len(beyond) - len(at_split),
    }


def main():
    """Print one line per estimator, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--fit-rows", type=int, default=3_000)
    parser.add_argument("--only", help="one estimator, by the name in the table")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    censquant.register_onnx_converters()
    train = data(options.fit_rows, np.random.default_rng(0))
    rows = data(options.rows, np.random.default_rng(1))[0].astype(np.float32)
    table = []
    for name, model in models().items():
        if options.only in (None, name):
            with TemporaryDirectory() as place, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table.append(compared(name, model, train, rows, Path(place)))
            print(*table[-1].values(), sep=" | ", flush=True)
    frame = pd.DataFrame(table)
    if options.output is not None:
        others = (onnx, onnxruntime, skl2onnx)
        made = ", ".join(f"{module.__name__} {module.__version__}" for module in others)
        heading = f"`python {' '.join(sys.argv)}` ({versions()}, {made})"
        lines = [list(frame.columns), [":--", *["--:"] * (frame.shape[1] - 1)], *frame.to_numpy()]
        text = "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
        options.output.write_text(f"{heading}\n\n{text}\n")
    sys.exit(int(frame["different"].sum() > 0))


if __name__ == "__main__":
    main()
