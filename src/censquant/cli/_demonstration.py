"""The main job on data inside the package: fit, judge, predict, draw."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from censquant.datasets import load_gbsg2, make_norm_uniform
from censquant.estimators import CQRNN
from censquant.metrics import concordance_index, pit_curve
from censquant.plotting import plot_fans, plot_quantiles_1d

_TEST_SHARE = 0.25
_DAYS_PER_MONTH = 365.25 / 12
_LEVELS = (0.1, 0.25, 0.5, 0.75)


def run_demo(output: Path) -> None:
    """Fit GBSG2 and a synthetic set, print tables and write two pictures into ``output``."""
    console = Console()
    start = time.perf_counter()
    X, days = load_gbsg2(as_frame=True)
    y = days.copy()
    y["time"] /= _DAYS_PER_MONTH
    test = np.zeros(len(X), dtype=bool)
    test[np.random.default_rng(2).permutation(len(X))[: round(_TEST_SHARE * len(X))]] = True

    console.print(
        f"German Breast Cancer Study Group 2: {len(X)} women, {X.shape[1]} features, "
        f"{100 * (1 - y['event'].mean()):.0f} % still without recurrence when follow-up ended.\n"
    )
    model = CQRNN(
        max_epochs=20,
        dropout=0.33,
        level_rule="interpolate",
        y_star=None,
        n_members=5,
        n_jobs=-1,
        random_state=0,
        verbose=1,
    )
    model.fit(X[~test], y[~test])

    median = model.predict_quantiles(X[test], [0.5], beyond="extrapolate")[:, 0]
    by_risk = np.flatnonzero(test)[np.argsort(median)]
    people = by_risk[np.linspace(0, len(by_risk) - 1, 6).round().astype(int)]
    console.print(_people_table(model, X.iloc[people], y[people]))
    console.print(
        f"Concordance of the median on {test.sum()} women not used in fitting: "
        f"[bold]{concordance_index(y[test], median):.3f}[/] (0.5 is chance level)\n"
    )
    console.print(_calibration_table(model, X[test], y[test]))

    output.mkdir(parents=True, exist_ok=True)
    pictures = [_draw_fans(model, X.iloc[people], y[people], output), _draw_one_feature(output)]
    console.print(f"Pictures ({time.perf_counter() - start:.0f} s in all):")
    for picture in pictures:
        console.print(f"  {picture.resolve()}", soft_wrap=True)


def _people_table(model: CQRNN, X: Any, y: NDArray[Any]) -> Table:
    table = Table(title="Months until recurrence, by probability")
    for name in ("age", "nodes", *(f"{100 * level:.0f} %" for level in _LEVELS), "observed"):
        table.add_column(name, justify="right")
    times = model.predict_quantiles(X, _LEVELS, beyond="inf")
    for (_, person), row, observed in zip(X.iterrows(), times, y, strict=True):
        shown = f"{observed['time']:.0f}" + ("" if observed["event"] else "+")
        months = [f"{month:.0f}" if np.isfinite(month) else "later" for month in row]
        table.add_row(f"{person['age']:.0f}", f"{person['pnodes']:.0f}", *months, shown)
    table.caption = "+: none up to then; later: beyond the follow-up of such women"
    return table


def _calibration_table(model: CQRNN, X: Any, y: NDArray[Any]) -> Table:
    predicted = model.predict_quantiles(X, beyond="extrapolate")
    levels, observed = pit_curve(y, predicted, model.quantiles_, levels=_LEVELS)
    table = Table(title="Calibration on the women not used in fitting")
    table.add_column("predicted share with recurrence", justify="right")
    table.add_column("observed (Kaplan-Meier)", justify="right")
    for level, share in zip(levels, observed, strict=True):
        table.add_row(f"{100 * level:.0f} %", "-" if np.isnan(share) else f"{100 * share:.0f} %")
    return table


def _draw_fans(model: CQRNN, X: Any, y: NDArray[Any], output: Path) -> Path:
    ax = plot_fans(
        model.predict_quantiles(X, beyond="extrapolate"),
        model.quantiles_,
        labels=[_label(person) for _, person in X.iterrows()],
        identified=model.identified_level(X),
        unit="months",
        y=y,
    )
    ax.set_title("By when will the cancer have come back? Six women", pad=50)  # above the legend
    return _save(ax, output / "gbsg2_fans.png")


def _label(person: Any) -> str:
    nodes = int(person["pnodes"])
    return f"age {person['age']:.0f}, {nodes} node{'s' if nodes > 1 else ''}"


def _draw_one_feature(output: Path) -> Path:
    data = make_norm_uniform(500, random_state=0)
    levels = (0.1, 0.3, 0.5, 0.7, 0.9)
    model = CQRNN(activation="gelu", level_rule="interpolate", y_star=None, random_state=0)
    model.fit(data.X, data.y)
    ax = plot_quantiles_1d(
        data.X[:, 0],
        model.predict_quantiles(data.X, levels, beyond="extrapolate"),
        levels,
        true=data.true_quantiles(levels),
        y=data.y,
    )
    ax.set_title("Fitted and true quantiles of 500 rows, two in three censored")
    return _save(ax, output / "quantiles_1d.png")


def _save(ax: Any, path: Path) -> Path:
    # The suffix stays last: matplotlib takes the format from it.
    temporary = path.with_name(f".{path.name}")
    ax.figure.savefig(temporary, dpi=150, format="png", bbox_inches="tight")
    temporary.replace(path)
    return path
