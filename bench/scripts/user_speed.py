"""How long users wait: first fit, fit, evaluation, predictions, file and memory, by rows.

    python bench/scripts/user_speed.py [--cold] [--rows 500 5e3 5e4 5e5] [--methods NAME ...]
    python bench/scripts/user_speed.py --pages
    python bench/scripts/user_speed.py --against PYTHON [--rounds 3] [--methods recommended ...]

Every measurement has a process and one thread to itself; seconds are those of the processor. Rows
are those of `wave_rows.py`; settings are defaults, or those of the adapters in
`censquant_bench.peers`; `xgboost_defaults` is XGBoost's AFT objective as the library has it.

- *First use* is a new process on the 686 rows of GBSG2: the import, the first fit, and the same fit
  again. Kernels are on disk, because the same process ran once before. With `--cold` also with an
  empty `NUMBA_CACHE_DIR`, where only kernels beside the source are found, which the installation
  compiled (or, in a checkout, an earlier fit); those that had to be compiled are counted.
- *By rows*: a fit after one of 600 rows, the memory that it takes at its peak beyond what was there
  before, its check loss divided by that of the true quantiles (5,000 new rows without censoring,
  nine levels), `evaluate` of 5,000 censored rows with 200 draws, the median time of nine quantiles
  for one row and for 1,000 rows, and the saved model (a pickle for other libraries).

A measurement that takes more than the limit, or more than 12 GB, is named as such, and after a fit
that did no larger one of the same method is tried. Memory is resident memory: `tracemalloc` sees
nothing of what XGBoost takes, and a fortieth of scikit-survival's forest. Peers predict without the
checks of their adapters.

Results are added to `user_speed.json`, and what is there is not measured again: a run that was
ended goes on where it was. Delete the file to measure anew. The tables are in `user_speed.md`
beside it; `--pages` measures nothing and writes them, the picture and the tables of docs/speed.md.
`--against` measures censquant in another environment too, in turn, and prints both and the ratio.
"""

import argparse
import ctypes
import gc
import json
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from peer_speed import (
    LEVELS,
    OWN,
    clock,
    in_a_process,
    method,
    quantiles,
    seconds,
    versions_of_peers,
)
from wave_rows import check_loss, draw, observe, true_quantiles

ROOT = Path(__file__).parents[2]
RESULTS, PICTURE = ROOT / "bench" / "results", ROOT / "docs" / "images" / "user_speed.png"
PAGE = ROOT / "docs" / "speed.md"
IMPORTS = {
    "recommended": ("censquant", "CensoredQuantileRegressor"),
    "boosted": ("censquant", "BoostedQuantileRegressor"),
    "shape": ("censquant", "ShapeNN"),
    "cox": ("censquant", "CoxQuantileRegressor"),
    "sksurv_forest": ("sksurv.ensemble", "RandomSurvivalForest"),
    "sksurv_boosting": ("sksurv.ensemble", "GradientBoostingSurvivalAnalysis"),
    "lifelines_cox": ("lifelines", "CoxPHFitter"),
    "xgboost_aft": ("xgboost", "DMatrix"),
    "xgboost_defaults": ("xgboost", "DMatrix"),
}
COLUMNS = {  # title of each measure, and what its unit is of that of the title
    "import": ("import s", 1.0),
    "first": ("first fit s", 1.0),
    "again": ("second fit s", 1.0),
    "fit": ("fit s", 1.0),
    "evaluate": ("evaluate s", 1.0),
    "one": ("1 row ms", 1e3),
    "thousand": ("1,000 rows ms", 1e3),
    "file": ("file MB", 1e-6),
    "peak": ("memory MB", 1e-6),
    "loss": ("loss / truth", 1.0),
}
FIRST_USE, BY_ROWS = list(COLUMNS)[:3], list(COLUMNS)[3:]
# Colors that the color-blind can tell apart, and a marker of each method's own.
LINES = (
    ("#08306b", "o"),
    ("#0072b2", "s"),
    ("#56b4e9", "^"),
    ("#5b8db8", "D"),
    ("#d55e00", "o"),
    ("#a63603", "s"),
    ("#e69f00", "^"),
    ("#009e73", "D"),
    ("#66a61e", "v"),
)
N_WARM, N_NEW = 600, 5_000
GROUPS, GROUP_SECONDS, SLOW_SECONDS = 5, 0.05, 1.0
COMPARED = (5_000, 50_000)  # sizes of the comparison on the page

Result = dict[str, Any]
Cells = dict[str, dict[str, list[Result]]]


# What is measured, in the process that measures it


def begin(name: str, limit: float) -> None:
    """Announce a measurement and give it its own limit of the processor's seconds."""
    print(json.dumps({"stage": name}), flush=True)
    allowed = int(clock() + limit) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.RLIM_INFINITY))


def report(**values: float) -> None:
    """Hand numbers to the process that asked for them."""
    print(json.dumps({key: float(f"{value:.6g}") for key, value in values.items()}), flush=True)


def resident(field: str) -> int:
    """Return bytes of this process by their name in the system's status."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(f"{field}:")[1].split()[0])


def with_peak(run: Callable[[], Any]) -> tuple[Any, float, int]:
    """Return a result, its seconds, and the most memory beyond what was there before."""
    gc.collect()
    with suppress(AttributeError):  # only glibc keeps what was freed, and can be asked for it
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the highest mark so far
    before = resident("VmRSS")
    result, taken = seconds(run)
    return result, taken, resident("VmHWM") - before


def repeated(run: Callable[[], Any]) -> float:
    """Return the median over groups of the mean seconds of a call; one slow call is enough."""

    def mean(count: int) -> float:
        return seconds(lambda: [run() for _ in range(count)])[1] / count

    run()
    count = 1
    while (each := mean(count)) * count < GROUP_SECONDS:
        count *= 2
    return each if each > SLOW_SECONDS else statistics.median(mean(count) for _ in range(GROUPS))


def asked(name: str, model: Any, rows: Any) -> Callable[[], Any]:
    """Return the call that predicts rows, without the checks of the benchmark's adapters."""
    if hasattr(model, "_predict") and name not in OWN:
        as_read = np.asarray(rows, dtype=np.float64)
        return lambda: model._predict(as_read, LEVELS)
    return lambda: quantiles(model, rows, "inf")


def size_of(name: str, model: Any) -> int:
    """Return the bytes of a saved model."""
    if name not in OWN:
        return len(pickle.dumps(model))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.stat().st_size


def measure_first_use(name: str, limit: float) -> None:
    """Import, fit and fit again on real rows."""
    module, attribute = IMPORTS[name]
    code = f"import time\nfrom {module} import {attribute}\nprint(time.process_time())"
    begin("import", limit)
    bare = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    report(**{"import": float(bare.stdout)})
    from censquant.datasets import load_gbsg2

    X, y = load_gbsg2(as_frame=False)
    getattr(import_module(module), attribute)  # names of some packages are loaded when first used
    fit = method(name)
    for key in ("first", "again"):
        begin(key, limit)
        report(**{key: seconds(lambda: fit(X, (y["time"], y["event"])))[1]})


def measure_size(name: str, n_rows: int, limit: float) -> None:
    """Fit to so many rows and use the model."""
    from censquant.metrics import evaluate

    fit = method(name)
    rng = np.random.default_rng(1)
    new, event_time = draw(N_NEW, rng)
    censored = observe(event_time, rng)
    begin("fit", limit)  # of few rows first: imports, and loads or compiles kernels
    x, times = draw(N_WARM, rng)
    y = observe(times, rng)
    model = fit(x, y)
    evaluate(model, y, x, y, n_resamples=2)
    size_of(name, model)
    x, times = draw(n_rows, rng)
    y = observe(times, rng)
    begin("fit", limit)
    model, taken, peak = with_peak(lambda: fit(x, y))
    report(fit=taken, peak=peak)
    begin("file", limit)
    report(file=size_of(name, model))
    for key, n in (("one", 1), ("thousand", 1_000)):
        begin(key, limit)
        report(**{key: repeated(asked(name, model, new[:n]))})
    begin("loss", limit)
    truth = check_loss(event_time, true_quantiles(new, LEVELS), LEVELS)
    report(loss=check_loss(event_time, quantiles(model, new), LEVELS) / truth)
    begin("evaluate", limit)
    report(evaluate=seconds(lambda: evaluate(model, y, new, censored, n_resamples=200))[1])


# How measurements are run and kept


def outcome(lines: Iterable[Result], why: str) -> Result:
    """Return numbers by measure, and under `why` the measure that failed with the cause."""
    found: Result = {}
    last = "fit"
    for line in lines:
        if "stage" in line:
            last = line["stage"]
        else:
            found |= line
    return found | ({"why": {last: why}} if why else {})


def run_cell(python: str, name: str, case: str, limit: float) -> Result:
    """Measure one method in one case: first use, with or without kernels on disk, or a size."""
    command = [python, __file__, "--measure", name, "--case", case, "--limit", str(limit)]
    # Another environment must find its own packages, not those that this one was pointed to.
    environ = {k: v for k, v in os.environ.items() if python == sys.executable or k != "PYTHONPATH"}
    if case == "warm":  # the first one puts kernels on disk
        in_a_process(command, limit, environ)
    if case != "cold":
        return outcome(*in_a_process(command, limit, environ))
    with tempfile.TemporaryDirectory() as empty:
        environ |= dict.fromkeys(("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR"), empty)
        found = outcome(*in_a_process(command, limit, environ))
        return found | {"compiled": len(list(Path(empty).rglob("*.nbc")))}


def is_done(cells: Cells, name: str, case: str, rounds: int) -> bool:
    """Whether a case has so many rounds, or needs none because a smaller fit failed."""
    done = cells.get(name, {})
    if case.isdigit():
        smaller = (each for n in done if n.isdigit() and int(n) < int(case) for each in done[n])
        if any("fit" in each.get("why", {}) for each in smaller):
            return True
    return len(done.get(case, ())) >= rounds


def kept(path: Path, made_with: str) -> Result:
    """Return what was measured before, with the same versions."""
    if not path.is_file():
        return {"made_with": made_with, "cells": {}}
    found: Result = json.loads(path.read_text(encoding="utf-8"))
    if made_with != found["made_with"]:
        raise SystemExit(
            f"{path} was made with {found['made_with']}, and this is {made_with}: "
            "delete it to measure anew."
        )
    return found


def middle(results: list[Result]) -> Result:
    """Return the medians of rounds, and why any failed."""
    why = {key: text for each in results for key, text in each.get("why", {}).items()}
    numbers: dict[str, list[float]] = {}
    for each in results:
        for key, value in each.items():
            if key != "why" and key not in why:
                numbers.setdefault(key, []).append(value)
    found: Result = {key: statistics.median(values) for key, values in numbers.items()}
    return found | ({"why": why} if why else {})


# Tables and the picture


def digits(value: float) -> str:
    """Return a number with two or three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def cell(found: Result, key: str, against: Result | None = None) -> str:
    """Return a number, its ratio to the same of another result, or why there is none."""
    if key in found.get("why", {}):
        return str(found["why"][key])
    if key not in found:
        return ""
    if against is not None:
        return digits(found[key] / against[key]) if against.get(key) else ""
    return f"{found[key]:.4f}" if key == "loss" else digits(COLUMNS[key][1] * found[key])


def markdown(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table whose first column is text."""
    first, *others = titles
    lines = [[first, *others], [":--", *("--:" for _ in others)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def title_of(name: str) -> str:
    """Return the name of a method in tables and in the picture."""
    from censquant_bench.peers import PEER_TITLES  # which not every installation has

    return OWN.get(name) or PEER_TITLES.get(name, "Boosted AFT, defaults (XGBoost)")


def sizes_in(cells: Cells) -> list[int]:
    """Return the numbers of rows that were measured."""
    return sorted({int(case) for each in cells.values() for case in each if case.isdigit()})


def by_method(cells: Cells, case: str, keys: list[str], *, ratios: bool = False) -> str:
    """Return the table of one case, as multiples of the recommended estimator if asked."""
    found = {name: middle(each[case]) for name, each in cells.items() if case in each}
    against = found["recommended"] if ratios else None
    rows = [[title_of(n), *(cell(each, key, against) for key in keys)] for n, each in found.items()]
    return markdown(["method", *(COLUMNS[key][0] for key in keys)], rows)


def by_rows(cells: Cells, name: str, keys: list[str]) -> str:
    """Return the table of one method by the number of rows."""
    found = {n: middle(cells[name][str(n)]) for n in sizes_in({name: cells[name]})}
    rows = [[f"{n:,}", *(cell(each, key) for key in keys)] for n, each in found.items()]
    return markdown(["rows", *(COLUMNS[key][0] for key in keys)], rows)


def first_use(cells: Cells) -> str:
    """Return the table of imports and first fits, and of first fits without kernels on disk."""
    rows = []
    for name, cases in cells.items():
        warm, cold = (middle(cases.get(case, [])) for case in ("warm", "cold"))
        if warm:
            compiled = f"{cold['compiled']:.0f}" if cold else ""
            row = [*(cell(warm, key) for key in FIRST_USE), cell(cold, "first"), compiled]
            rows.append([title_of(name), *row])
    titles = (COLUMNS[key][0] for key in FIRST_USE)
    return markdown(["method", *titles, "first fit s, empty cache", "functions compiled"], rows)


def draw_picture(cells: Cells, path: Path) -> None:
    """Draw every measure by the number of rows, a line per method."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    sizes = sizes_in(cells)
    figure = Figure(figsize=(11, 5.8), layout="constrained")
    axes = figure.subplots(2, 4).flat
    for ax, key in zip(axes, BY_ROWS, strict=False):
        title, factor = COLUMNS[key]
        measure, _, unit = title.rpartition(" ")
        ax.set(xscale="log", yscale="log", xlabel="training rows", title=f"{measure} ({unit})")
        for name, (color, marker) in zip(IMPORTS, LINES, strict=True):
            found = {int(n): middle(each) for n, each in cells.get(name, {}).items() if n.isdigit()}
            line = {n: found[n][key] * factor for n in sorted(found) if key in found[n]}
            if key == "loss":
                line = {n: loss - 1.0 for n, loss in line.items()}
            style: dict[str, Any] = {"lw": 2.2} if name in OWN else {"lw": 1.1, "ls": "--"}
            style |= {"color": color, "marker": marker, "ms": 5, "label": title_of(name)}
            if line:
                ax.plot(list(line), list(line.values()), **style)
        if key == "loss":
            ax.set_title(f"{title} \N{MINUS SIGN} 1")
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.tick_params(labelsize=8)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_locator(NullLocator())
        ax.grid(color="0.9")
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    legend = figure.axes[-1]
    legend.axis("off")
    drawn = figure.axes[0].get_legend_handles_labels()
    legend.legend(*drawn, loc="center", frameon=False, fontsize=8.5)
    figure.savefig(path, dpi=100, metadata={"Software": None})


def results_page(found: Result) -> str:
    """Return the page of results: first use, then numbers and ratios by rows."""
    cells: Cells = found["cells"]
    parts = [
        f"How long users wait, beside other libraries ({found['date']}; {found['made_with']}).",
        f"    python bench/scripts/user_speed.py --limit {found['limit']:.0f}",
        "One thread; seconds are those of the processor. What is measured, and how, is described\n"
        "at the head of the command; [docs/speed.md](../../docs/speed.md) has a summary.",
        "![Seconds, file, memory and loss by rows](../../docs/images/user_speed.png)",
        "## First use",
        first_use(cells),
    ]
    for n in sizes_in(cells):
        parts += [f"## {n:,} rows", by_method(cells, str(n), BY_ROWS)]
        if str(n) in cells.get("recommended", {}):
            ratios = by_method(cells, str(n), BY_ROWS, ratios=True)
            parts += ["As multiples of the recommended estimator:", ratios]
    return "\n\n".join(parts) + "\n"


def page_blocks(found: Result) -> dict[str, str]:
    """Return the generated parts of docs/speed.md by the names of their markers."""
    cells: Cells = found["cells"]
    own = {name: each for name, each in cells.items() if name in OWN}
    return {
        "recommended": by_rows(cells, "recommended", BY_ROWS[:-1]),
        "first use": first_use(own),
        "conditions": f"{found['date']}; {found['made_with']}.",
        **{f"{n:,} rows": by_method(cells, str(n), BY_ROWS) for n in COMPARED},
    }


def rewritten(page: str, blocks: dict[str, str]) -> str:
    """Return a page with the text between the markers of each block replaced."""
    for name, text in blocks.items():
        first, last = f"<!-- user_speed: {name} -->\n", "<!-- end of user_speed -->"
        before, found, after = page.partition(first)
        _, closed, after = after.partition(last)
        if not (found and closed):
            raise ValueError(f"The page must have {first.strip()} and below it {last}.")
        page = f"{before}{first}\n{text}\n\n{last}{after}"  # empty lines, or it is no table
    return page


def compare(own: Cells, other: Cells) -> str:
    """Return the numbers of both installations and their ratio, by measure."""
    rows = []
    for name, cases in own.items():
        for case in cases:
            now, before = middle(cases[case]), middle(other.get(name, {}).get(case, []))
            where = f"{int(case):,} rows" if case.isdigit() else f"{case} start"
            for key, (title, _) in COLUMNS.items():
                cells = [cell(before, key), cell(now, key), cell(now, key, before)]
                if any(cells):
                    rows.append([f"{title_of(name)}, {where}, {title}", *cells])
    return markdown(["", "other", "this", "ratio"], rows)


# The command


def made_with() -> str:
    """Return versions and the kind of processor."""
    from llvmlite.binding import get_host_cpu_name
    from versions import versions

    peers = versions_of_peers("sksurv", "lifelines", "xgboost")
    return f"{versions().partition('; ')[2]}, {peers}, processor {get_host_cpu_name()}"


def measure(
    options: argparse.Namespace, store: Callable[[], None], *runs: tuple[str, Cells]
) -> None:
    """Measure what is missing, in turn where there are two installations, and store each result."""
    cases = [(name, "warm") for name in options.methods]
    cases += [(name, "cold") for name in options.methods if options.cold and name in OWN]
    cases += [(name, str(int(n))) for n in options.rows for name in options.methods]
    for done in range(1, options.rounds + 1):
        for name, case in cases:
            for python, cells in runs:
                if not is_done(cells, name, case, done):
                    result = run_cell(python, name, case, options.limit)
                    cells.setdefault(name, {}).setdefault(case, []).append(result)
                    print(name, case, result, file=sys.stderr, flush=True)
                    store()


def main() -> None:
    """Measure, or write pages from what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=float, default=[500, 5e3, 5e4, 5e5])
    parser.add_argument("--methods", nargs="+", choices=IMPORTS, default=list(IMPORTS))
    parser.add_argument("--cold", action="store_true", help="first fits with an empty cache too")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per measurement")
    parser.add_argument("--rounds", type=int, default=1, help="repetitions; medians are shown")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--pages", action="store_true", help="write the pages, measure nothing")
    parser.add_argument("--against", metavar="PYTHON", help="interpreter of another environment")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        warnings.simplefilter("ignore")
        if options.case.isdigit():
            measure_size(options.measure, int(options.case), options.limit)
        else:
            measure_first_use(options.measure, options.limit)
        return
    if options.against:
        options.methods = [name for name in options.methods if name in OWN]
        own: Cells = {}
        other: Cells = {}
        measure(options, lambda: None, (options.against, other), (sys.executable, own))
        print(compare(own, other))
        return
    path = options.out / "user_speed.json"
    if options.pages:
        found = json.loads(path.read_text(encoding="utf-8"))
    else:
        found = kept(path, made_with())

        def store() -> None:
            found["date"], found["limit"] = date.today().isoformat(), options.limit
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

        measure(options, store, (sys.executable, found["cells"]))
    found["cells"] = {name: found["cells"][name] for name in IMPORTS if name in found["cells"]}
    path.with_suffix(".md").write_text(results_page(found), encoding="utf-8")
    if options.pages:
        draw_picture(found["cells"], PICTURE)
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), page_blocks(found)), "utf-8")


if __name__ == "__main__":
    main()
