"""What breaks the promise of a bound, and how far: the figures of docs/calibration.md.

    python bench/scripts/calibration_breaks.py [--runs 10]

Coverage is exact given the features (known_population.py); the promise is 0.90. Figures are
written to docs/images/break_*.png, numbers are printed.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from known_population import (
    KnownModel,
    MarginalModel,
    Population,
    features,
    in_second_group,
    lognormal_quantiles,
    share_by,
)
from numpy.typing import NDArray
from scipy.special import ndtr

from censquant import ConformalSurvivalRegressor
from censquant.survival import Surv

mpl.use("agg")

import matplotlib.pyplot as plt

Floats = NDArray[np.float64]
Lines = dict[str, list[float]]

IMAGES = Path(__file__).parents[2] / "docs" / "images"
BLUE, ORANGE, GREY = "#08306b", "#d55e00", "#8a8a8a"
N_CALIBRATION, N_TEST = 2_000, 2_000
PROMISED = 0.9
TOO_WIDE = KnownModel(widening=2.0)  # a model whose own bounds cover too much
MISJUDGES_GROUPS = KnownModel(power=2.0, by_group=True)


@dataclass(frozen=True)
class Break:
    """Values along the horizontal axis, and a mean of several runs at each of them."""

    title: str
    places: Sequence[Any]
    lines: Lines
    ylabel: str = "coverage"
    is_ordered: bool = True


def calibrated(base: Any, X: Floats, y: Any, seed: int, **options: Any) -> Any:
    """Return a fitted model calibrated on the given rows; one censoring curve unless told."""
    settings = {"censoring_estimator": "kaplan-meier", **options}
    model = ConformalSurvivalRegressor(base, cv="prefit", random_state=seed, **settings)
    return model.conformalize(X, y)


def covered(model: Any, X: Floats) -> float:
    """Return the true coverage of the lower bounds of some rows."""
    bound = model.predict_lower_bound(X, confidence=PROMISED)
    return float(1 - share_by(bound[:, None], X).mean())


def relative_bound(model: Any, X: Floats) -> float:
    """Return the mean bound over that of the truth."""
    oracle = lognormal_quantiles(X, np.array([1 - PROMISED]))
    return float(model.predict_lower_bound(X, confidence=PROMISED).mean() / oracle.mean())


def generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Return generators for calibration rows and for new individuals."""
    return np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])


def other_rows(runs: int) -> Break:
    """Predict for another mixture of two groups than that of the calibration rows."""
    shares = np.linspace(0, 1, 6)
    lines: Lines = {"one calibration": [], "by= the group": []}
    population = Population.with_censored(0.6, strength=0.0)
    for name, by in (("one calibration", None), ("by= the group", in_second_group)):
        found = np.empty((runs, len(shares)))
        for seed in range(runs):
            rng, new = generators(seed)
            model = calibrated(MISJUDGES_GROUPS, *population.draw(N_CALIBRATION, rng), seed, by=by)
            X = features(N_TEST, new)
            group = in_second_group(X)
            first, second = (covered(model, X[group == which]) for which in (False, True))
            found[seed] = shares * first + (1 - shares) * second
        lines[name] = list(found.mean(axis=0))
    return Break(
        "share of the first group among new individuals (0.5 in calibration)", shares, lines
    )


def dependent_censoring(runs: int) -> Break:
    """Let those leave whose event is near, or far."""
    correlations = [-0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9]
    population = Population.with_censored(0.6, strength=0.0)
    means = []
    for correlation in correlations:
        found = []
        for seed in range(runs):
            rng, new = generators(seed)
            X = features(N_CALIBRATION, rng)
            event_score, noise = rng.normal(size=(2, N_CALIBRATION))
            score = correlation * event_score + np.sqrt(1 - correlation**2) * noise
            event = lognormal_quantiles(X, ndtr(event_score)[:, None])[:, 0]
            censoring = -np.log(ndtr(-score)) / population.hazard(X)
            y = Surv.from_arrays(event=event <= censoring, time=np.minimum(event, censoring))
            found.append(covered(calibrated(TOO_WIDE, X, y, seed), features(N_TEST, new)))
        means.append(float(np.mean(found)))
    title = "correlation of event and censoring time given the features"
    return Break(title, correlations, {"aipcw": means})


def wrong_models(runs: int) -> Break:
    """Let the event model, the censoring model or both ignore the features."""
    # Early events are censored soonest, so that what ignores the features comes out too late.
    population = Population.with_censored(0.6, strength=-4.0)
    kinds = {
        "none": (KnownModel(), None),
        "censoring": (KnownModel(), "kaplan-meier"),
        "event": (MarginalModel(), None),
        "both": (MarginalModel(), "kaplan-meier"),
    }
    means = []
    for base, censoring in kinds.values():
        found = []
        for seed in range(runs):
            rng, new = generators(seed)
            fitted = base.fit(*population.draw(N_CALIBRATION, rng))
            rows = population.draw(N_CALIBRATION, rng)
            model = calibrated(fitted, *rows, seed, censoring_estimator=censoring)
            found.append(covered(model, features(N_TEST, new)))
        means.append(float(np.mean(found)))
    return Break("model that is wrong", list(kinds), {"aipcw": means}, is_ordered=False)


def survivors(runs: int) -> Break:
    """Compare bounds from the start, which promise nothing to those past them, with later ones."""
    ages = np.linspace(0, 5, 6)
    population = Population.with_censored(0.6, strength=0.0)
    lines: Lines = {"from the start": [], "elapsed= the age": [], "oracle": []}
    models = [
        calibrated(TOO_WIDE, *population.draw(N_CALIBRATION, generators(seed)[0]), seed)
        for seed in range(runs)
    ]
    for age in ages:
        found: Lines = {name: [] for name in lines}
        for seed, model in enumerate(models):
            X = features(N_TEST, generators(seed)[1])
            alive = 1 - share_by(np.full((len(X), 1), age), X)
            oracle = lognormal_quantiles(X, 1 - PROMISED * alive)[:, 0]
            bounds = {
                "from the start": model.predict_lower_bound(X, PROMISED),
                "elapsed= the age": model.predict_lower_bound(X, PROMISED, elapsed=age),
                "oracle": oracle,
            }
            for name, bound in bounds.items():
                left = np.maximum(bound - age, 0.0)
                found[name].append(float(left @ alive[:, 0] / alive.sum()))
        for name, values in found.items():
            lines[name].append(float(np.mean(values)))
    return Break("age", ages, lines, "further life promised")


def few_events(runs: int) -> Break:
    """Calibrate with fewer and fewer events."""
    sizes = [60, 120, 250, 500, 1000, 2000]
    population = Population.with_censored(0.6, strength=0.0)
    lines: Lines = {"coverage": [], "mean bound / oracle's": []}
    for size in sizes:
        found: Lines = {name: [] for name in lines}
        for seed in range(runs):
            rng, new = generators(seed)
            model = calibrated(TOO_WIDE, *population.draw(size, rng), seed)
            X = features(N_TEST, new)
            found["coverage"].append(covered(model, X))
            found["mean bound / oracle's"].append(relative_bound(model, X))
        for name, values in found.items():
            lines[name].append(float(np.mean(values)))
    return Break(
        "calibration rows, of which 40 % have an event", [str(n) for n in sizes], lines, ""
    )


def end_of_follow_up(runs: int) -> Break:
    """End the study before bounds can be missed."""
    ends = [0.5, 1.0, 1.5, 2.0, 3.0, 6.0]
    lines: Lines = {"coverage": [], "mean bound / oracle's": []}
    for end in ends:
        found: Lines = {name: [] for name in lines}
        for seed in range(runs):
            rng, new = generators(seed)
            X = features(N_CALIBRATION, rng)
            event = lognormal_quantiles(X, rng.uniform(size=(len(X), 1)))[:, 0]
            y = Surv.from_arrays(event=event <= end, time=np.minimum(event, end))
            model = calibrated(TOO_WIDE, X, y, seed)
            X = features(N_TEST, new)
            found["coverage"].append(covered(model, X))
            found["mean bound / oracle's"].append(relative_bound(model, X))
        for name, values in found.items():
            lines[name].append(float(np.mean(values)))
    return Break("end of the study", ends, lines, "")


def draw(name: str, found: Break) -> None:
    """Save the figure of a break."""
    figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
    for (label, values), colour in zip(found.lines.items(), (ORANGE, BLUE, GREY), strict=False):
        style = "-" if found.is_ordered else ""
        axes.plot(found.places, values, style, marker="o", color=colour, label=label)
    if found.ylabel != "further life promised":
        axes.axhspan(PROMISED - 0.02, PROMISED + 0.02, color="#dbe5ee", label="0.90 ± 0.02")
    axes.set(xlabel=found.title, ylabel=found.ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(IMAGES / f"break_{name}.png", dpi=130, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Draw all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore")  # what they say is the subject here
    breaks: dict[str, Callable[[int], Break]] = {
        "other_rows": other_rows,
        "dependent_censoring": dependent_censoring,
        "wrong_models": wrong_models,
        "survivors": survivors,
        "few_events": few_events,
        "end_of_follow_up": end_of_follow_up,
    }
    for name, measure in breaks.items():
        found = measure(runs)
        draw(name, found)
        print(f"\n{name}: {found.title}", flush=True)
        print("  ", *(place if isinstance(place, str) else f"{place:g}" for place in found.places))
        for label, values in found.lines.items():
            print(f"  {label}:", *(f"{value:.3f}" for value in values))


if __name__ == "__main__":
    main()
