"""How often the band of `censquant.metrics.calibration_at` holds the true curve, by simulation.

    python bench/scripts/calibration_at.py [--runs 200]

Two standard normal features, the first of which the model knows; Weibull event times; the risk by
the median event time is judged. "right" predictions are the true risks given the first feature,
"too extreme" ones are shifted and have twice the slope of the log hazard, "bent" ones are a bent
function of the truth. Censoring is independent, or depends on the first feature and with it on the
predicted risk, or depends on the second feature, which the model leaves out although it matters:
only a model of the censoring undoes that. The true curve is exact. Prints a Markdown table: the
share of runs in which the simultaneous band holds the whole curve between the 5 % and the 95 %
quantile of the predicted risks, the mean share of that range in which the pointwise band does, how
often the test of calibration rejects right predictions, the mean ICI and what chance makes of it,
the share of intervals of the groups that hold the true mean risk of their rows, and how often the
result says that censoring depends on the features beyond the predicted risk.
"""

import argparse
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from censquant import CoxQuantileRegressor
from censquant.metrics import calibration_at
from censquant.quantiles import QuantileCurve

Floats = NDArray[np.float64]

SHAPE, OMITTED, TIME = 1.5, 0.8, 0.78
NODES, SHARES = np.polynomial.hermite_e.hermegauss(41)
SHARES = SHARES / SHARES.sum()


class Design(NamedTuple):
    """One population, with a prediction and a way of judging it."""

    censoring: str  # {"independent", "heavy", "by risk", "by omitted"}
    predicted: str  # {"right", "too extreme", "bent"}
    n_rows: int = 1_000
    has_model: bool = False
    has_clusters: bool = False


DESIGNS = (
    Design("independent", "right"),
    Design("independent", "too extreme"),
    Design("independent", "bent"),
    Design("independent", "right", n_rows=300),
    Design("heavy", "bent"),
    Design("by risk", "right"),
    Design("by risk", "too extreme"),
    Design("by risk", "bent"),
    Design("by omitted", "right", has_model=True),
    Design("by omitted", "too extreme", has_model=True),
    Design("by omitted", "right"),
    Design("independent", "right", has_clusters=True),
)


def true_risk(known: Floats) -> Floats:
    """Risk by the time given the first feature, over all values of the other part."""
    hazard = TIME**SHAPE * np.exp(0.8 * known[:, None] + OMITTED * NODES)
    return (1.0 - np.exp(-hazard)) @ SHARES


GRID = np.linspace(-6.0, 6.0, 4_001)
TRUE = true_risk(GRID)


def predicted_risk(kind: str, known: Floats) -> Floats:
    """Prediction of the model from the first feature."""
    if kind == "right":
        return np.interp(known, GRID, TRUE)
    if kind == "too extreme":
        return 1.0 - np.exp(-0.4 * np.exp(1.2 * known))
    log_odds = 0.8 * known + np.sin(0.8 * known)
    return 1.0 / (1.0 + np.exp(-log_odds))


def run(design: Design, seed: int) -> tuple[float, ...]:
    """Draw one sample, and return what is averaged over runs."""
    rng, n_rows = np.random.default_rng(seed), design.n_rows
    cluster = np.arange(n_rows) // 10 if design.has_clusters else None
    X = rng.normal(size=(n_rows, 2))
    if cluster is not None:
        # What rows of a hospital share: both features and half of the variance of the rest.
        X = np.sqrt(0.5) * (X + rng.normal(size=(n_rows // 10, 2))[cluster])
    event = (rng.exponential(size=n_rows) / np.exp(0.8 * X[:, 0] + OMITTED * X[:, 1])) ** (
        1.0 / SHAPE
    )
    end = {
        "independent": lambda: rng.uniform(0.0, 3.5, n_rows),
        "heavy": lambda: rng.uniform(0.0, 1.2, n_rows),
        "by risk": lambda: rng.exponential(np.where(X[:, 0] > 0, 0.9, 3.0)),
        "by omitted": lambda: rng.exponential(2.0 * np.exp(-0.8 * X[:, 1])),
    }[design.censoring]()
    y = np.minimum(event, end), event <= end
    model: QuantileCurve | None = None
    if design.has_model:
        model = CoxQuantileRegressor(penalty=0).fit(X, (y[0], ~y[1])).predict_curve(X)
    risk = predicted_risk(design.predicted, X[:, 0])
    options = {"censoring_model": model, "groups": cluster}
    looked_at = X if design.censoring == "by omitted" else None
    whole = calibration_at(risk, looked_at, y, TIME, **options)
    points = calibration_at(risk, None, y, TIME, simultaneous=False, **options)
    order = predicted_risk(design.predicted, GRID)
    truth = np.interp(whole.risk, order, TRUE)
    held = (whole.lower <= truth) & (truth <= whole.upper)
    edges = np.quantile(risk, np.arange(1, 5) / 5, method="inverted_cdf")
    place, own = np.searchsorted(edges, risk), np.interp(risk, order, TRUE)
    means = [own[place == k].mean() for k in range(5)]
    inside = [b.lower <= mean <= b.upper for b, mean in zip(whole.bins, means, strict=True)]
    return (
        held.all(),
        ((points.lower <= truth) & (truth <= points.upper)).mean(),
        whole.p_value < 0.05 if design.predicted == "right" else np.nan,
        whole.ici,
        whole.ici_by_chance,
        np.mean(inside),
        1.0 - y[1].mean(),
        (whole.upper - whole.lower).mean(),
        np.nan if looked_at is None else whole.censoring_p_value < 0.05,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore")
    print(
        "| Censoring | Predictions | Rows | Censored | Censoring model | Curve in band | "
        "Points in pointwise band | Test rejects | ICI | by chance | Groups | Mean width | "
        f"Dependence found |\n|{' --- |' * 13}"
    )
    for design in DESIGNS:
        found = np.array([run(design, seed) for seed in range(runs)], dtype=np.float64)
        held, points, rejected, ici, chance, groups, censored, width, seen = found.mean(axis=0)
        test = "" if np.isnan(rejected) else f"{rejected:.3f}"
        rows = f"{design.n_rows:,}" + (" in clusters of 10" if design.has_clusters else "")
        print(
            f"| {design.censoring} | {design.predicted} | {rows} | {100 * censored:.0f} % | "
            f"{'given' if design.has_model else ''} | {held:.3f} | {points:.3f} | {test} | "
            f"{ici:.3f} | {chance:.3f} | {groups:.3f} | {width:.3f} | "
            f"{'' if np.isnan(seen) else f'{seen:.3f}'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
