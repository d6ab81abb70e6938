"""The paper's baselines: what they ignore, how they weight, and where that goes wrong."""

import numpy as np
import pytest
from lifelines import KaplanMeierFitter

import censquant
from censquant import CQRNN, DeepQuantReg, UncensoredOnlyNN
from censquant.datasets import make_norm_linear
from toys import Recorder

DATA = make_norm_linear(150, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(5 * DATA.X)]), DATA.y
TIME, EVENT = Y["time"], Y["event"]


def small(estimator, **parameters):
    return estimator(
        **{"max_epochs": 4, "hidden_layer_sizes": (8,), "random_state": 0, **parameters}
    )


def quantiles(model, rows=X, levels=None):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


def exponential(n, seed, mean_censoring):
    """Exponential times with mean 1 + x under independent exponential censoring."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, size=n)
    event_time, ends = rng.exponential(1 + x), rng.exponential(mean_censoring, size=n)
    return x[:, None], (np.minimum(event_time, ends), event_time <= ends)


GRID = np.linspace(0.05, 0.95, 19)[:, None]


def relative_errors(estimator, levels, mean_censoring, **parameters):
    """Relative errors of quantiles on a grid of x, the mean of three fits."""
    truth = -np.log1p(-np.array(levels)) * (1 + GRID)
    fits = []
    for seed in range(3):
        model = estimator(
            hidden_layer_sizes=(32,), activation="gelu", max_epochs=40, random_state=seed,
            **parameters,
        ).fit(*exponential(2000, seed, mean_censoring))  # fmt: skip
        fits.append(quantiles(model, GRID, levels) / truth - 1)
    return np.mean(fits, axis=0)


# Ignoring what is censored


def test_times_of_censored_rows_do_not_matter_when_dropped():
    # All rows in one batch: rows are ordered by what they hold, and that must not matter here.
    options = {"time_transform": None, "batch_size": 1000, "max_epochs": 20}
    fits = [
        quantiles(small(UncensoredOnlyNN, **options).fit(X, (np.where(EVENT, TIME, end), EVENT)))
        for end in (TIME, 1e5)
    ]
    np.testing.assert_allclose(*fits, rtol=1e-4, atol=1e-4)


def test_dropping_censored_rows_predicts_too_early_where_cqrnn_does_not():
    dropped = relative_errors(UncensoredOnlyNN, [0.9], 2.5)
    fixed = relative_errors(CQRNN, [0.9], 2.5, level_rule="interpolate", y_star=None)
    assert dropped.mean() < -0.25
    assert abs(fixed.mean()) < 0.1


# Weighting by the chance of having been seen


def prepared_rows(model, target=Y):
    """Training and validation rows as the loss sees them."""
    runs = []
    model.fit(X, target, callbacks=[Recorder(on_epoch=runs.append)])
    return runs[0].rows, runs[0].validation


def chance_before(train, time):
    """Lifelines' chance of not being censored before the given times."""
    start = min(train.time.min(), time.min()) - 1.0  # lifelines knows positive times alone
    fitter = KaplanMeierFitter().fit(train.time - np.float64(start), ~train.event)
    just_before = np.nextafter(time - np.float64(start), -np.inf)
    return fitter.survival_function_at_times(just_before).to_numpy()


def test_events_are_weighted_by_lifelines_curve_of_censoring():
    train, _ = prepared_rows(small(DeepQuantReg))
    expected = train.event / np.maximum(chance_before(train, train.time), 0.02)
    assert len(train) == len(X)
    assert expected.max() > 3
    np.testing.assert_allclose(train.weight, expected, rtol=1e-6)


def test_rows_held_out_are_weighted_by_the_curve_of_the_others():
    train, held_out = prepared_rows(
        small(DeepQuantReg, early_stopping=True, validation_fraction=0.3)
    )
    assert len(held_out) == pytest.approx(45, abs=1)
    expected = held_out.event / np.maximum(chance_before(train, held_out.time), 0.02)
    np.testing.assert_allclose(held_out.weight, expected, rtol=1e-6)


def test_no_weight_exceeds_that_of_the_floor():
    # The last row alone has an event after all the others were censored.
    time = np.arange(1.0, len(X) + 1)
    event = np.arange(len(X)) % len(X) >= len(X) - 1
    train, _ = prepared_rows(small(DeepQuantReg), (time, event))
    assert train.weight.max() == pytest.approx(50)


def test_weighting_recovers_quantiles_where_follow_up_is_long():
    levels = [0.1, 0.5, 0.9]
    weighted = np.abs(relative_errors(DeepQuantReg, levels, 6.0)).mean(axis=0)
    dropped = np.abs(relative_errors(UncensoredOnlyNN, levels, 6.0)).mean(axis=0)
    assert weighted.max() < 0.12
    assert (weighted[1:] < 0.5 * dropped[1:]).all()


def test_without_censoring_weighting_changes_nothing():
    weighted, plain = (
        quantiles(small(estimator).fit(X, TIME)) for estimator in (DeepQuantReg, UncensoredOnlyNN)
    )
    np.testing.assert_array_equal(weighted, plain)


# Both


@pytest.mark.parametrize("estimator", [UncensoredOnlyNN, DeepQuantReg])
def test_left_censoring_is_the_mirror_image(estimator):
    time = TIME - TIME.mean()
    options = {"quantiles": [0.25, 0.5, 0.75], "time_transform": None}
    right = small(estimator, **options).fit(X, (time, EVENT))
    left = small(estimator, censoring="left", **options).fit(X, (-time, EVENT))
    np.testing.assert_allclose(quantiles(left), -quantiles(right)[:, ::-1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("estimator", [UncensoredOnlyNN, DeepQuantReg])
@pytest.mark.parametrize(
    "parameters", [{}, {"head": "increasing", "n_members": 2}, {"early_stopping": True}], ids=str
)
def test_a_loaded_model_gives_the_same_bits(tmp_path, estimator, parameters):
    model = small(estimator, **parameters).fit(X, Y)
    model.save(tmp_path / "model.safetensors")
    loaded = censquant.load_model(tmp_path / "model.safetensors")
    assert type(loaded) is estimator
    np.testing.assert_array_equal(quantiles(loaded), quantiles(model))
