"""Outputs of every estimator, model file, export and command, to compare across a rebuilding.

Record them before, compare them after (about a minute each, more where kernels are compiled)::

    python tests/golden.py record FOLDER
    python tests/golden.py compare FOLDER NEW_FOLDER

``compare`` records again into NEW_FOLDER and reports every bit that differs, and every model file
of FOLDER that is no longer read to the same predictions. Bits are equal on one machine only: both
recordings must come from the same processor and the same versions of the dependencies.
``--what models`` leaves the commands out.
"""

import argparse
import contextlib
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import censquant
from censquant.datasets import load_gbsg2

LEVELS = [0.013, 0.1, 0.33, 0.5, 0.75, 0.9, 0.97]
N_FITTED, N_PREDICTED = 160, 40
COMMANDS = [
    "fit train.csv --time time --event died -o model.safetensors --method cox --seed 0 --unit days",
    "fit train.csv --time time --event died -o net.safetensors --method cqrnn --seed 0 --unit days",
    "fit train.csv --time time --event died -o best.safetensors --seed 0 --unit days",
    "fit train.csv --time time --event died -o cal.safetensors --seed 0 --method cox --calibrate",
    "predict model.safetensors new.csv -o p.csv",
    "predict best.safetensors new.csv -o pb.csv --interval 0.8 --remaining time",
    "predict cal.safetensors new.csv -o pc.csv --lower-bound 0.9",
    "failures model.safetensors new.csv --age time --horizons 90,365",
    "cohort new.csv --time time --event died",
    "evaluate model.safetensors new.csv",
    "evaluate best.safetensors new.csv --json",
    "report model.safetensors new.csv -o r1.html",
    "report cal.safetensors new.csv -o r2.html --preset reliability --age time",
    "compare train.csv --time time --event died --methods cox,linear --seed 0",
    "export model.safetensors --onnx m.onnx",
    "datasets list",
    "datasets",
    "datasets describe gbsg2",
    "datasets describe metabric",
    "predict nothing.safetensors new.csv -o p2.csv",
    "predict model.safetensors nothing.csv -o p2.csv",
    "fit train.csv --time tim --event died -o x.safetensors",
    "fit --help",
    "predict --help",
    "failures --help",
    "cohort --help",
    "evaluate --help",
    "report --help",
    "compare --help",
    "export --help",
    "datasets --help",
    "demo --help",
    "warm-up --help",
]
WRITTEN = ("p.csv", "pb.csv", "pc.csv", "r1.html", "r2.html")


def models():
    """Return unfitted estimators by name, and whether each is fitted to a table."""
    net = {"hidden_layer_sizes": (8, 8), "random_state": 0, "max_epochs": 3}
    shape = {"hidden_layer_sizes": (8, 8), "random_state": 0, "max_steps": 60}
    members = {"n_members": 2, "head": "increasing", "time_transform": "log", "activation": "silu"}
    linear, conformal = censquant.LinearQuantileRegressor, censquant.ConformalSurvivalRegressor
    of_numbers = {
        "cqrnn": censquant.CQRNN(**net),
        "cqrnn-members": censquant.CQRNN(**net, **members),
        "deepquantreg": censquant.DeepQuantReg(**net),
        "uncensored": censquant.UncensoredOnlyNN(**net),
        "sequential": censquant.SequentialGridNN([0.1, 0.5, 0.7], **net),
        "lognormal": censquant.LogNormalNN(**net, n_members=2),
        "weibull": censquant.WeibullNN(**net),
        "laplace": censquant.AsymmetricLaplaceNN(**net),
        "shape": censquant.ShapeNN(**shape, n_members=2),
        "shape-weibull": censquant.ShapeNN(**shape, family="weibull", tail="bounded"),
        "linear": linear([0.1, 0.3, 0.5]),
        "linear-peng": linear([0.1, 0.3, 0.5], method="peng-huang"),
        "cox": censquant.CoxQuantileRegressor(random_state=0),
        "boosted": censquant.BoostedQuantileRegressor(max_iter=23, random_state=0),
        "forest": censquant.CensoredQuantileForest(n_estimators=8, random_state=0),
    }
    cox = of_numbers["cox"]
    pooled = [(n, clone(of_numbers[n])) for n in ("cox", "shape", "boosted", "forest", "cqrnn")]
    of_numbers["pool"] = censquant.PooledQuantileRegressor(pooled, cv=2, random_state=0)
    of_numbers["conformal-auto"] = conformal(clone(cox), random_state=0)
    for method in ("ipcw", "km-pit", "drcosarc"):
        model = conformal(clone(cox), method=method, random_state=0)
        of_numbers[f"conformal-{method}"] = model
    boosted = clone(of_numbers["boosted"])
    of_numbers["conformal-cv"] = conformal(boosted, cv=3, random_state=0)
    of_numbers["pipeline"] = censquant.make_quantile_pipeline(StandardScaler(), clone(cox))
    of_tables = {
        "recommended": censquant.CensoredQuantileRegressor(random_state=0),
        "cox-frame": censquant.CoxQuantileRegressor(random_state=0),
    }
    return {name: (model, False) for name, model in of_numbers.items()} | {
        name: (model, True) for name, model in of_tables.items()
    }


def data(*, as_table):
    """Return rows and target of the fits."""
    X, y = load_gbsg2()
    X, y = X.iloc[:N_FITTED], y[:N_FITTED]
    return (X if as_table else X.select_dtypes("number").to_numpy(dtype=float)), y


def predictions(model, X):
    """Return what a fitted model predicts, by name."""
    found = {
        "quantiles": model.predict_quantiles(X, LEVELS, beyond="inf"),
        "extrapolated": model.predict_quantiles(X, LEVELS, beyond="extrapolate"),
        "median": model.predict(X),
        "identified": model.identified_level(X),
    }
    with contextlib.suppress(Exception):
        found["survival"] = model.predict_survival_function(X, return_array=True)
    if hasattr(model, "predict_lower_bound"):
        found["lower"] = model.predict_lower_bound(X)
    return {name: np.asarray(values, dtype=float) for name, values in found.items()}


def onnx_predictions(model, X):
    """Return what the exported model predicts in double precision; of a table the inputs alone."""
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        try:
            model.to_onnx(path, dtype="float64")
        except TypeError:
            return {"onnx_refused": np.zeros(1)}
        session = onnxruntime.InferenceSession(path)
    inputs = session.get_inputs()
    if hasattr(X, "columns"):
        return {"onnx_inputs": np.array([len(inputs)], dtype=float)}
    outputs = session.run(None, {inputs[0].name: X})
    names = [f"onnx_{output.name}" for output in session.get_outputs()]
    return dict(zip(names, (np.asarray(each, dtype=float) for each in outputs), strict=True))


def transcripts():
    """Return what each command prints and writes, without folders and durations."""
    table, y = load_gbsg2()
    table = table.assign(time=y["time"], died=y["event"].astype(int))
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "CENSQUANT_DATA": ""}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        table.iloc[:250].to_csv(Path(folder, "train.csv"), index=False)
        table.iloc[250:420].to_csv(Path(folder, "new.csv"), index=False)
        for command in COMMANDS:
            done = subprocess.run(
                [sys.executable, "-m", "censquant", *command.split()],
                cwd=folder,
                capture_output=True,
                text=True,
                env=environment,
                check=False,
            )
            text = f"$ {command}\n[{done.returncode}]\n{done.stdout}\n--\n{done.stderr}"
            text = text.replace(folder, "FOLDER")
            text = re.sub(r"\d+(\.\d+)? ?(s|ms|seconds|min)\b", "T", text)
            found[command] = re.sub(r"\d+:\d\d:\d\d|\d+:\d\d", "T", text)
        for name in WRITTEN:
            path = Path(folder, name)
            found[name] = path.read_text(encoding="utf-8") if path.exists() else "missing"
    return found


def record(folder, what):
    """Write all outputs into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (model, as_table) in models().items() if "models" in what else ():
        X, y = data(as_table=as_table)
        model.fit(X, y)
        rows = X[:N_PREDICTED]
        np.savez(
            folder / f"{name}.npz", **predictions(model, rows), **onnx_predictions(model, rows)
        )
        model.save(folder / f"{name}.safetensors")
        print(name, flush=True)
    if "commands" in what:
        (folder / "commands.json").write_text(json.dumps(transcripts(), indent=1), encoding="utf-8")


def model_differences(old, new):
    """Give a line for every prediction that differs, and every old file that is read to another."""
    for path in sorted(old.glob("*.npz")):
        name = path.stem
        if not (new / path.name).exists():
            yield f"MISSING {name}"
            continue
        expected, found = np.load(path), np.load(new / path.name)
        for key in expected.files:
            if key not in found.files or not same(found[key], expected[key]):
                yield f"DIFFERS {name} {key}"
        rows = data(as_table=name in ("recommended", "cox-frame"))[0][:N_PREDICTED]
        try:
            again = predictions(censquant.load_model(old / f"{name}.safetensors"), rows)
        except Exception as error:
            yield f"OLD FILE FAILS {name} {error!r:.300}"
            continue
        for key, values in again.items():
            if not same(values, expected[key]):
                yield f"OLD FILE DIFFERS {name} {key}"


def same(found, expected):
    """Whether arrays are equal to the bit."""
    return found.shape == expected.shape and np.array_equal(found, expected, equal_nan=True)


def command_differences(old, new):
    """Give the first lines of each transcript that differs."""
    before, after = (
        json.loads((folder / "commands.json").read_text(encoding="utf-8")) for folder in (old, new)
    )
    for command, text in before.items():
        pair = [comparable(command, each).splitlines() for each in (text, after.get(command, ""))]
        lines = list(difflib.unified_diff(*pair, lineterm="", n=0))
        if lines:
            yield "\n    ".join(
                [f"COMMAND DIFFERS {command}", *(line[:200] for line in lines[:12])]
            )


def comparable(command, text):
    """Return a transcript without what no two runs have in common."""
    if command.endswith(".html"):  # names of versions and files
        lines = text.split("\n")
        return "\n".join(line for line in lines if 'class="name" data-value="' not in line)
    return re.sub(r" +[\d.]+$", " T", text, flags=re.M) if command.startswith("compare") else text


def main():
    """Record, or record again and compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("do", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("new", type=Path, nargs="?", help="where compare records again")
    parser.add_argument("--what", default="models,commands")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.do == "record":
        record(given.folder, given.what)
        return 0
    if given.new is None:
        parser.error("compare needs a second folder to record into")
    record(given.new, given.what)
    found = []
    if "models" in given.what:
        found += model_differences(given.folder, given.new)
    if "commands" in given.what:
        found += command_differences(given.folder, given.new)
    print(*found, f"differences: {len(found)}", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
