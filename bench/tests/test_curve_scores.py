"""Scores of predicted curves: their definitions, and published values of them."""

import itertools
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from censquant.metrics import d_calibration, integrated_brier_score
from censquant.quantiles import QuantileCurve
from censquant.survival import kaplan_meier
from censquant_bench import KaplanMeierBaseline, get_dataset
from censquant_bench._curve_scores import (
    d_calibration_statistic,
    evaluation_times,
    integrated_survival_brier,
    log_score_in_cells,
)
from censquant_bench.datasets import field_scores
from censquant_bench.field import FieldConventions

DATA = Path(os.environ.get("CENSQUANT_DATA", ""), "field")
# Small and large, with ties, with few events, and of floats that R rounded otherwise.
COMPARED = [(name, 1) for name in ("lung", "e1684", "kidtran", "gbsg", "cat_adoption", "support")]
COMPARED += [("lung", 30), ("rdata", 15), ("CarpenterFdaData", 4), ("veteran", 1)]
# The study's program has other statistics where predicted survival comes near 0.
CALIBRATED = {("e1684", 1), ("kidtran", 1), ("rdata", 15), ("support", 1), ("CarpenterFdaData", 4)}

times = st.lists(st.integers(1, 12), min_size=2, max_size=30)


def slow_times(time):
    found = []
    for t in sorted(set(time)):
        found.append(t)
        if 1 - sum(one >= t for one in time) / len(time) > 0.8:
            break
    return found


def slow_isbs(test, survival, grid, train):
    """The definition, row by row and time by time."""
    G = kaplan_meier(train[0], ~train[1])
    curve = []
    for k, t in enumerate(grid):
        total = 0.0
        for time, event, share in zip(*test, survival, strict=True):
            loss = (1 - share[k]) ** 2 if time > t else event * share[k] ** 2
            total += loss / (float(G(min(time, t))) or 1e-3)
        curve.append(total / len(test[0]))
    area = sum(
        (grid[k + 1] - grid[k]) * (curve[k] + curve[k + 1]) / 2 for k in range(len(grid) - 1)
    )
    return area / (grid[-1] - grid[0])


@given(times)
def test_times_end_with_the_first_by_which_four_fifths_are_gone(time):
    assert evaluation_times(time).tolist() == slow_times(time)


@given(st.integers(0, 10_000))
def test_the_score_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    train = rng.integers(1, 10, 20).astype(float), rng.random(20) < 0.6
    test = rng.integers(1, 10, 8).astype(float), rng.random(8) < 0.6
    grid = evaluation_times(test[0])
    if len(grid) < 2:
        grid = np.array([1.0, 2.0])
    survival = rng.random((8, len(grid)))
    found = integrated_survival_brier(test, survival, grid, y_train=train)
    assert found == pytest.approx(slow_isbs(test, survival, grid, train), rel=1e-12)


def test_without_censoring_it_is_the_usual_integrated_brier_score():
    rng = np.random.default_rng(0)
    y = rng.exponential(1.0, 40), np.ones(40, dtype=bool)
    grid = evaluation_times(y[0])
    survival = np.sort(rng.random((40, len(grid))))[:, ::-1]
    expected = integrated_brier_score(y, survival, grid, y_train=y)
    assert integrated_survival_brier(y, survival, grid, y_train=y) == pytest.approx(expected)


def test_a_censoring_curve_of_zero_counts_as_a_thousandth():
    train = np.array([1.0, 2.0]), np.array([True, False])
    test = np.array([3.0, 4.0]), np.array([True, True])
    found = integrated_survival_brier(test, np.zeros((2, 2)), [3.0, 3.5], y_train=train)
    # At 3 and 3.5 the second row is at risk and was given no chance.
    assert found == pytest.approx(1000 / 2)


@pytest.mark.parametrize(
    ("survival", "grid", "message"),
    [
        ([[0.5]], [1.0], "times must hold two times or more, got 1."),
        (
            [[0.5, 0.5, 0.1]],
            [1.0, 2.0],
            "survival must have one row per test row and one column per time, shape (1, 2), got "
            "(1, 3).",
        ),
    ],
)
def test_other_shapes_are_refused(survival, grid, message):
    y = [1.0], [True]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        integrated_survival_brier(y, survival, grid, y_train=y)


@pytest.mark.parametrize(("name", "iteration"), COMPARED)
def test_kaplan_meier_scores_as_published(name, iteration):
    """Compared where CENSQUANT_DATA has the study; without it, its files are asked for."""
    dataset = get_dataset(f"field_{name}")
    assert iteration <= dataset.most_runs
    if not (DATA / "published_scores.csv").is_file():
        with pytest.raises(FileNotFoundError):
            field_scores()
        return
    data = dataset.train_test(iteration)
    model = KaplanMeierBaseline().fit(data.X, data.y)
    found = FieldConventions().more_scores(model, data.X_test, data)
    wanted = f"task == {name!r} and learner == 'KM' and iteration == {iteration}"
    expected = field_scores().query(wanted)
    assert found["isbs"] == pytest.approx(expected["isbs"].item(), abs=1e-5)
    assert found["cindex_restricted_mean"] == expected["harrell_c"].item() == 0.5
    if (name, iteration) in CALIBRATED:
        assert found["dcalib"] == pytest.approx(expected["dcalib"].item(), abs=1e-4)


def made_curves(seed, n=60):
    """Target with ties and censoring, and curves of quantiles that have little to do with it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 12, n).astype(float), rng.random(n) < 0.6
    values = np.sort(rng.uniform(0, 14, (n, 9)), axis=1)
    return y, QuantileCurve(values, np.arange(1, 10) / 10, 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_statistic_is_that_of_the_library(seed):
    y, curves = made_curves(seed)
    values, taus = curves.values, curves.taus
    found = d_calibration_statistic(y, QuantileCurve(values, taus).cdf(y[0]))
    assert found == pytest.approx(d_calibration(y, values, taus).statistic, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_log_score_is_its_definition(seed):
    y, curves = made_curves(seed)
    train, _ = made_curves(seed + 10)
    ends = np.unique(np.quantile(train[0][train[1]], np.arange(1, 40) / 40))
    ends = [-np.inf, *ends, np.inf]
    total = 0.0
    for row, (time, event) in enumerate(zip(*y, strict=True)):
        alive = {t: float(curves.survival([t])[row, 0]) for t in [*ends[1:-1], time]}
        alive |= {-np.inf: 1.0, np.inf: 0.0}
        low, high = next(pair for pair in itertools.pairwise(ends) if pair[0] < time <= pair[1])
        given = alive[low] - alive[high] if event else alive[time]
        total -= math.log(max(given, 1e-4))
    found = log_score_in_cells(y, curves, y_train=train)
    assert found == pytest.approx(total / len(y[0]), rel=1e-12)


def test_the_truth_has_a_better_log_score_than_an_error():
    rng = np.random.default_rng(0)
    event_time, censoring = rng.exponential(1.0, 4000), rng.exponential(1.0, 4000)
    y = np.minimum(event_time, censoring), event_time <= censoring
    levels = np.arange(1, 100) / 100
    true = np.tile(-np.log1p(-levels), (4000, 1))
    scores = [
        log_score_in_cells(y, QuantileCurve(scale * true, levels, 0.0), y_train=y)
        for scale in (1.0, 0.8, 1.25)
    ]
    assert scores[0] < min(scores[1:])
