"""Time and accuracy of whole fits beside other libraries, by the number of rows.

    python bench/scripts/peer_speed.py [--rows 1e3 1e4 1e5 1e6] [--limit 600] [--picture FILE]

Rows are those of `wave_rows.py`. Every fit has a process and one core to itself; seconds are those
of the processor. Settings are defaults, or those of the adapters in `censquant_bench.peers`;
`xgboost_defaults` is XGBoost's AFT objective with `tree_method="hist"` and everything else as the
library has it. Fits that take more than the limit, or that need more memory than there is, are
named as such, and larger sizes of the same method are not tried. The loss is the mean check loss of
20,000 new rows without censoring over nine levels, divided by that of the true quantiles; none can
be below 1 but by chance. A method is on the front if none is both faster and better.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np
from versions import versions
from wave_rows import check_loss, draw, observe, true_quantiles

LEVELS = np.arange(1, 10) / 10
N_JUDGED, MEMORY = 20_000, 12 * 2**30
OWN = {
    "recommended": "CensoredQuantileRegressor",
    "shape": "ShapeNN",
    "cqrnn": "CQRNN",
    "boosted": "BoostedQuantileRegressor",
    "forest": "CensoredQuantileForest",
    "cox": "CoxQuantileRegressor",
}
PEERS = (
    "xgboost_defaults",
    "xgboost_aft",
    "sksurv_cox",
    "sksurv_forest",
    "lifelines_cox",
    "lifelines_lognormal",
    "pycox_deepsurv",
    "pycox_deephit",
    "pycox_coxtime",
)


def own_method(name: str) -> Callable[[Any, Any], Callable[[Any], Any]]:
    """Return what fits one of our estimators and then returns what predicts."""
    import censquant

    def fit(x: Any, y: Any) -> Callable[[Any], Any]:
        model = getattr(censquant, OWN[name])(random_state=0)
        model.fit(x, y)
        return lambda rows: model.predict_quantiles(rows, LEVELS, beyond="extrapolate")

    return fit


def peer_method(name: str) -> Callable[[Any, Any], Callable[[Any], Any]]:
    """Return what fits a method of another library and then returns what predicts."""
    from censquant.survival import Surv
    from censquant_bench.peers import make_peer

    def fit(x: Any, y: Any) -> Callable[[Any], Any]:
        peer = make_peer(name, random_state=0).fit(x, Surv.from_arrays(*y[::-1]))
        return lambda rows: peer.predict_quantiles(rows, LEVELS)

    return fit


def xgboost_defaults(x: Any, y: Any) -> Callable[[Any], Any]:
    """Fit XGBoost's AFT objective with its default trees; the scale of its normal errors is 1."""
    import xgboost
    from scipy.special import ndtri

    times, event = y
    table = xgboost.DMatrix(
        x, label_lower_bound=times, label_upper_bound=np.where(event, times, np.inf), nthread=1
    )
    settings = {"objective": "survival:aft", "tree_method": "hist", "nthread": 1}
    model = xgboost.train(settings, table, num_boost_round=100)  # as its scikit-learn class has it
    factors = np.exp(ndtri(LEVELS))
    return lambda rows: model.predict(xgboost.DMatrix(rows, nthread=1))[:, None] * factors


def method(name: str) -> Callable[[Any, Any], Callable[[Any], Any]]:
    """Return the contender of a name."""
    if name == "xgboost_defaults":
        return xgboost_defaults
    return own_method(name) if name in OWN else peer_method(name)


def measure(name: str, n_rows: int) -> dict[str, float]:
    """Fit once and predict once; called in a process of its own."""
    warnings.simplefilter("ignore")
    fit = method(name)
    rng = np.random.default_rng(1)
    judged, event_time = draw(N_JUDGED, rng)
    for n in (600, n_rows):  # the first imports and compiles
        x, times = draw(n, rng)
        y = observe(times, rng)
        start = time.process_time()
        predict = fit(x, y)
        if n == 600:
            predict(judged)
    fitted = time.process_time()
    predicted = predict(judged)
    done = time.process_time()
    truth = check_loss(event_time, true_quantiles(judged, LEVELS), LEVELS)
    return {
        "fit": fitted - start,
        "predict": done - fitted,
        "loss": check_loss(event_time, predicted, LEVELS) / truth,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_a_process(name: str, n_rows: int, limit: float) -> dict[str, Any]:
    """Measure in a process with one thread, a limit of time and one of memory."""
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    command = [sys.executable, __file__, "--measure", name, "--rows", str(n_rows)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit,
            env={**os.environ, **one_thread},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
        )
    except subprocess.TimeoutExpired:
        return {"why": f"more than {limit:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["killed"])[-1]
        return {"why": "out of memory" if "emory" in done.stderr else last[:80]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def on_front(found: dict[str, dict[str, Any]]) -> set[str]:
    """Return the methods to which none is both faster and better."""
    done = {name: (each["fit"], each["loss"]) for name, each in found.items() if "fit" in each}
    return {
        name
        for name, (fit, loss) in done.items()
        if not any(f < fit and other < loss for f, other in done.values())
    }


def compare(sizes: list[int], limit: float) -> dict[int, dict[str, dict[str, Any]]]:
    """Measure every method at every size and print a table per size."""
    all_found: dict[int, dict[str, dict[str, Any]]] = {}
    given_up: set[str] = set()
    for n_rows in sizes:
        found = all_found[n_rows] = {}
        for name in (*OWN, *PEERS):
            if name not in given_up:
                found[name] = in_a_process(name, n_rows, limit)
                if "why" in found[name]:
                    given_up.add(name)
        front = on_front(found)
        print(f"\n## {n_rows:,} rows\n")
        print("| method | fit s | predict s | loss / truth | peak MB | front |")
        print("|:--|--:|--:|--:|--:|:-:|")
        for name, each in found.items():
            title = f"`{OWN[name]}`" if name in OWN else name
            if "why" in each:
                print(f"| {title} | {each['why']} | | | | |")
                continue
            print(
                f"| {title} | {each['fit']:.2f} | {each['predict']:.2f} | {each['loss']:.4f} |"
                f" {each['peak']:.0f} | {'yes' if name in front else ''} |",
                flush=True,
            )
    return all_found


def draw_picture(found: dict[int, dict[str, dict[str, Any]]], path: str) -> None:
    """Draw seconds against loss, a panel per size: letters are methods, steps the front."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    letters = dict(zip(OWN, "ABCDEF", strict=True)) | dict(zip(PEERS, "abcdefghi", strict=True))
    colors = {name: "C0" if name in OWN else "C1" for name in letters}
    figure = Figure(figsize=(10, 8), layout="constrained")
    axes = figure.subplots(-(-len(found) // 2), 2, sharey=True, squeeze=False)
    for ax, (n_rows, methods) in zip(axes.flat, found.items(), strict=False):
        done = {name: each for name, each in methods.items() if "fit" in each}
        front = sorted(on_front(done), key=lambda name: done[name]["fit"])
        seconds, losses = ([done[name][key] for name in front] for key in ("fit", "loss"))
        ax.step(seconds, [loss - 1 for loss in losses], where="post", color="0.75", zorder=1)
        for name, each in done.items():
            style = {"color": colors[name], "marker": f"${letters[name]}$", "s": 70}
            ax.scatter(each["fit"], each["loss"] - 1, **style)
        ax.set(xscale="log", yscale="log", title=f"{n_rows:,} rows", xlabel="seconds of one fit")
        ax.set_ylabel("check loss above that of the truth")
    handles = [
        Line2D([], [], color=colors[name], marker=f"${letter}$", linestyle="", markersize=8)
        for name, letter in letters.items()
    ]
    names = [OWN.get(name, name) for name in letters]
    figure.legend(handles, names, loc="outside right center", frameon=False)
    figure.savefig(path, dpi=100)


def main() -> None:
    """Print tables, and draw them where asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=float, default=[1e3, 1e4, 1e5, 1e6])
    parser.add_argument("--limit", type=float, default=600.0, help="seconds per fit")
    parser.add_argument("--picture", help="file to draw to")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sizes = [int(n) for n in asked.rows]
    if asked.measure:
        print(json.dumps(measure(asked.measure, sizes[0])))
        return
    owners = metadata.packages_distributions()
    others = [owners[module][0] for module in ("xgboost", "sksurv", "lifelines", "pycox")]
    print(versions() + "".join(f", {name} {metadata.version(name)}" for name in others))
    found = compare(sizes, asked.limit)
    if asked.picture:
        draw_picture(found, asked.picture)


if __name__ == "__main__":
    main()
