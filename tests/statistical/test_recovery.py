"""CQRNN finds the quantiles that simulated data truly have."""

import copy

import numpy as np
import pytest

from censquant import CQRNN
from censquant.datasets import (
    make_exponential,
    make_lognorm,
    make_norm_linear,
    make_norm_nonlinear,
    make_norm_uniform,
    make_weibull,
)

GRID = np.arange(1, 10) / 10
JUDGED = [0.1, 0.5, 0.9]
N_RUNS = 10

# Mean and standard error of the squared error of true quantiles, Pearce et al. (2022).
PUBLISHED = [
    (make_norm_linear, 0.088, 0.009),
    (make_norm_nonlinear, 0.028, 0.004),
    (make_exponential, 1.298, 0.201),
    (make_weibull, 0.255, 0.025),
    (make_lognorm, 0.411, 0.057),
    (make_norm_uniform, 0.388, 0.054),
]
NAMES = [make.__name__ for make, *_ in PUBLISHED]


def as_published(**parameters):
    """Estimator with the settings of the paper's simulations."""
    return CQRNN(GRID, activation="gelu", standardize=False, time_transform=None, **parameters)


def squared_error(model, data, levels=JUDGED):
    predicted = model.predict_quantiles(data.X, levels, beyond="extrapolate")
    return float(((predicted - data.true_quantiles(levels)) ** 2).mean())


def errors(make, **parameters):
    """Squared errors of fits to 500 rows, judged on 1000 others."""
    found = []
    for seed in range(N_RUNS):
        train, test = make(500, random_state=seed), make(1000, random_state=1000 + seed)
        model = as_published(random_state=seed, **parameters).fit(train.X, train.y)
        found.append(squared_error(model, test))
    return np.array(found)


@pytest.mark.parametrize(
    ("make", "mean", "error"), PUBLISHED, ids=[p[0].__name__ for p in PUBLISHED]
)
def test_the_published_accuracy_is_reached(make, mean, error):
    found = errors(make)
    own_error = found.std(ddof=1) / np.sqrt(N_RUNS)
    assert abs(found.mean() - mean) < 3 * np.hypot(own_error, error)


def test_interpolated_levels_fix_the_bias_under_early_censoring():
    nearest = errors(make_norm_uniform)
    interpolated = errors(make_norm_uniform, level_rule="interpolate")
    assert interpolated.mean() < 0.75 * nearest.mean()
    assert (interpolated < nearest).sum() >= 8


def test_censored_rows_are_better_used_than_dropped_or_taken_for_events():
    train, test = make_norm_uniform(500, random_state=0), make_norm_uniform(1000, random_state=1)
    seen = train.y["event"]
    used = as_published(random_state=0, level_rule="interpolate").fit(train.X, train.y)
    dropped = as_published(random_state=0).fit(train.X[seen], train.y[seen])
    mistaken = as_published(random_state=0).fit(train.X, train.y["time"])
    assert squared_error(used, test) < 0.5 * squared_error(dropped, test)
    assert squared_error(used, test) < 0.1 * squared_error(mistaken, test)


@pytest.mark.parametrize("make", [make_norm_linear, make_weibull, make_norm_uniform])
def test_an_ensemble_is_better_than_its_members_are_on_average(make):
    train, test = make(300, random_state=0), make(500, random_state=1)
    ensemble = CQRNN(GRID, n_members=5, random_state=0).fit(train.X, train.y)
    members = []
    for part in ensemble.models_:
        member = copy.copy(ensemble)
        member.models_ = [part]
        members.append(squared_error(member, test, GRID))
    # Where errors of members differ, their average errs less: the square is convex.
    assert squared_error(ensemble, test, GRID) < np.mean(members)


@pytest.mark.parametrize("kind", ["standardize", "log"])
@pytest.mark.parametrize("head", ["free", "increasing"])
def test_the_fit_improves_with_more_rows(kind, head):
    test = make_lognorm(1000, random_state=99)
    few, many = (
        np.mean(
            [
                squared_error(
                    CQRNN(
                        GRID, head=head, time_transform=kind, level_rule="interpolate",
                        activation="gelu", max_epochs=20_000 // n, random_state=seed,
                    ).fit(train.X, train.y),
                    test,
                    GRID[:5],
                )
                for seed in range(5)
                for train in [make_lognorm(n, random_state=seed)]
            ]
        )
        for n in (200, 2000)
    )  # fmt: skip
    assert many < few


def test_intervals_cover_as_often_as_they_say():
    train, test = make_norm_linear(1000, random_state=0), make_norm_linear(2000, random_state=1)
    model = CQRNN(random_state=0, max_epochs=60).fit(train.X, train.y)
    low, high = model.predict_interval(test.X, 0.8, beyond="extrapolate").T
    covered = ((test.target_time >= low) & (test.target_time <= high)).mean()
    # Six standard errors of a share of 2000, for the fit varies too.
    assert covered == pytest.approx(0.8, abs=0.055)
