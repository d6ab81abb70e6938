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
import math
import os
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

import numpy as np
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


class XGBoostDefaults:
    """XGBoost's AFT objective with its default trees; the scale of its normal errors is 1."""

    def fit(self, x: Any, y: Any) -> "XGBoostDefaults":
        """Fit a hundred trees, as many as the library's scikit-learn class has."""
        import xgboost

        times, event = y
        table = xgboost.DMatrix(
            x, label_lower_bound=times, label_upper_bound=np.where(event, times, np.inf), nthread=1
        )
        settings = {"objective": "survival:aft", "tree_method": "hist", "nthread": 1}
        self.model = xgboost.train(settings, table, num_boost_round=100)
        return self

    def predict_quantiles(self, rows: Any, levels: Any) -> Any:
        """Return quantiles of normal errors around the predicted medians."""
        import xgboost
        from scipy.special import ndtri

        median = self.model.predict(xgboost.DMatrix(rows, nthread=1))
        return median[:, None] * np.exp(ndtri(np.asarray(levels)))


def method(name: str) -> Callable[[Any, Any], Any]:
    """Return what fits the contender of a name to features, and to times with their events."""
    if name == "xgboost_defaults":
        return XGBoostDefaults().fit
    if name in OWN:
        import censquant

        return getattr(censquant, OWN[name])(random_state=0).fit
    from censquant.survival import Surv
    from censquant_bench.peers import make_peer

    return lambda x, y: make_peer(name, random_state=0).fit(x, Surv.from_arrays(*y[::-1]))


def quantiles(model: Any, rows: Any, beyond: str = "extrapolate") -> Any:
    """Return the nine quantiles of a fitted contender."""
    if type(model).__name__ in OWN.values():
        return model.predict_quantiles(rows, LEVELS, beyond=beyond)
    return model.predict_quantiles(rows, LEVELS)


def clock() -> float:
    """Return the processor's seconds so far; `time.process_time` ticks slowly under a limit."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def seconds(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and the processor's seconds that it took."""
    start = clock()
    result = run()
    return result, clock() - start


def measure(name: str, n_rows: int) -> dict[str, float]:
    """Fit once and predict once; called in a process of its own."""
    warnings.simplefilter("ignore")
    fit = method(name)
    rng = np.random.default_rng(1)
    judged, event_time = draw(N_JUDGED, rng)
    for n in (600, n_rows):  # the first imports and compiles
        x, times = draw(n, rng)
        y = observe(times, rng)
        model, fitted = seconds(lambda x=x, y=y: fit(x, y))
        if n == 600:
            quantiles(model, judged)
    predicted, taken = seconds(lambda: quantiles(model, judged))
    truth = check_loss(event_time, true_quantiles(judged, LEVELS), LEVELS)
    return {
        "fit": fitted,
        "predict": taken,
        "loss": check_loss(event_time, predicted, LEVELS) / truth,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_a_process(
    command: list[str], limit: float, environ: Mapping[str, str] = os.environ
) -> tuple[list[dict[str, Any]], str]:
    """Return the lines of a measurement, and why it ended before its end, if it did.

    It has one thread, a limit of the processor's seconds, which it may raise, and one of memory.
    """
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**environ, **one_thread},
        preexec_fn=limited,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines, reason(done.returncode, done.stderr, limit)


def reason(code: int, errors: str, limit: float) -> str:
    """Return why a process ended in the way it did; nothing if it came to its end."""
    if not code:
        return ""
    if code == -signal.SIGXCPU:
        return f"more than {limit:.0f} s"
    # The kernel kills what needs more than the machine has.
    if code == -signal.SIGKILL or "emory" in errors or "bad_alloc" in errors:
        return "out of memory"
    return (errors.strip().splitlines() or [f"ended by signal {-code}"])[-1][:80]


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
            if name in given_up:
                continue
            command = [sys.executable, __file__, "--measure", name, "--rows", str(n_rows)]
            lines, why = in_a_process(command, limit)
            found[name] = {"why": why} if why else lines[-1]
            if why:
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


def versions_of_peers(*modules: str) -> str:
    """Return the distributions that modules come from, with their versions, if installed."""
    owners = metadata.packages_distributions()
    found = {module: owners[module][0] for module in modules if module in owners}
    return ", ".join(
        f"{found[module]} {metadata.version(found[module])}" if module in found else f"no {module}"
        for module in modules
    )


def main() -> None:
    """Print tables, and draw them where asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=float, default=[1e3, 1e4, 1e5, 1e6])
    parser.add_argument("--limit", type=float, default=600.0, help="CPU seconds per fit")
    parser.add_argument("--picture", help="file to draw to")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sizes = [int(n) for n in asked.rows]
    if asked.measure:
        print(json.dumps(measure(asked.measure, sizes[0])))
        return
    from versions import versions  # needs censquant_bench, which not every installation has

    print(f"{versions()}, {versions_of_peers('xgboost', 'sksurv', 'lifelines', 'pycox')}")
    found = compare(sizes, asked.limit)
    if asked.picture:
        draw_picture(found, asked.picture)


if __name__ == "__main__":
    main()
