import re
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sksurv.linear_model import CoxPHSurvivalAnalysis

from censquant import LinearQuantileRegressor
from censquant.adapters import predict_quantiles_of, survival_of
from censquant.exceptions import TruncationWarning
from censquant.metrics._brier import brier_score, integrated_brier_score
from censquant.metrics._concordance import concordance_index, concordance_index_ipcw
from censquant.metrics._intervals import BootstrapInterval, bootstrap_interval
from censquant.metrics._pinball import crps_censored
from censquant.survival import Surv


def mean_time(y, predicted, *, sample_weight=None):
    """A metric whose bootstrap distribution is known."""
    return np.average(predicted, weights=sample_weight)


def simulated(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    latent, censoring = np.exp(x + rng.normal(size=n)), rng.exponential(3.0, size=n)
    return (np.minimum(latent, censoring), latent <= censoring), x


def test_the_interval_of_a_mean_is_the_normal_one():
    x = np.random.default_rng(0).normal(size=400)
    interval = bootstrap_interval(mean_time, np.ones(400), x, n_resamples=2000, random_state=0)
    error = x.std() / 20
    assert interval.value == x.mean()
    assert interval.standard_error == pytest.approx(error, rel=0.06)
    assert interval.lower == pytest.approx(x.mean() - 1.96 * error, abs=0.2 * error)
    assert interval.upper == pytest.approx(x.mean() + 1.96 * error, abs=0.2 * error)
    assert interval.p_value is None
    assert interval.scores == (interval.value,)
    assert interval.n_resamples == interval.distribution.size == 2000


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for seed in range(200):
        x = rng.exponential(size=80)
        interval = bootstrap_interval(
            mean_time, np.ones(80), x, n_resamples=200, confidence=0.8, random_state=seed
        )
        hits += interval.lower <= 1.0 <= interval.upper
    assert 0.7 < hits / 200 < 0.88


def test_a_higher_confidence_gives_a_wider_interval():
    y, x = simulated(100, 0)
    narrow, wide = (
        bootstrap_interval(concordance_index, y, x, confidence=c, n_resamples=200, random_state=0)
        for c in (0.5, 0.99)
    )
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


@pytest.mark.parametrize("state", [7, np.int64(7)])
def test_the_same_seed_gives_the_same_bits_whatever_the_threads(state):
    y, x = simulated(80, 1)
    runs = [
        bootstrap_interval(concordance_index, y, x, n_resamples=60, random_state=state, n_jobs=n)
        for n in (None, 1, 2, -1)
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.distribution, runs[0].distribution)


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_generators_are_taken_and_moved(kind):
    y, x = simulated(40, 2)

    def draw(state):
        return bootstrap_interval(
            concordance_index, y, x, n_resamples=20, random_state=state
        ).distribution

    np.testing.assert_array_equal(draw(kind(3)), draw(kind(3)))
    shared = kind(3)
    assert not np.array_equal(draw(shared), draw(shared))


def test_the_global_generator_is_not_touched():
    y, x = simulated(40, 2)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    bootstrap_interval(concordance_index, y, x, n_resamples=5)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_two_models_are_scored_on_the_same_draws():
    y, x = simulated(150, 3)
    same = bootstrap_interval(concordance_index, y, x, other=3 * x, n_resamples=50, random_state=0)
    assert (same.value, same.lower, same.upper, same.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_a_better_model_is_told_from_noise():
    y, x = simulated(300, 4)
    noise = np.random.default_rng(0).normal(size=300)
    result = bootstrap_interval(
        concordance_index, y, x, other=noise, n_resamples=300, random_state=0
    )
    first, second = concordance_index(y, x), concordance_index(y, noise)
    assert result.scores == (first, second)
    assert result.value == first - second
    assert result.lower > 0
    assert result.p_value == pytest.approx(2 / 301)
    assert result.p_value > 0


def test_the_p_value_of_equal_models_is_uniform():
    rng = np.random.default_rng(5)
    small = 0
    for seed in range(200):
        a, b = rng.normal(size=(2, 60))
        result = bootstrap_interval(
            mean_time, np.ones(60), a, other=b, n_resamples=199, random_state=seed
        )
        small += result.p_value <= 0.1
    assert 0.04 < small / 200 < 0.18


def test_further_arguments_reach_the_metric():
    y, x = simulated(120, 6)
    times = np.array([0.2, 0.5, 1.0])
    survival = np.exp(-np.outer(np.exp(-x), times))
    interval = bootstrap_interval(
        integrated_brier_score, y, survival, times, y_train=y, n_resamples=50, random_state=0
    )
    assert interval.value == integrated_brier_score(y, survival, times, y_train=y)
    assert interval.lower < interval.value < interval.upper


def test_weights_are_drawn_with_their_rows():
    x = np.arange(50.0)
    seen = []

    def metric(y, predicted, *, sample_weight):
        seen.append(np.array_equal(sample_weight, predicted + 1))
        return predicted.mean()

    bootstrap_interval(metric, np.ones(50), x, sample_weight=x + 1, n_resamples=10)
    assert len(seen) == 11
    assert all(seen)


@pytest.mark.parametrize("form", ["tuple", "structured", "frame", "times"])
def test_every_form_of_y_is_resampled_with_its_predictions(form):
    time = np.arange(1.0, 31)
    y = {
        "tuple": (time, np.ones(30, dtype=bool)),
        "structured": Surv.from_arrays(np.ones(30, dtype=bool), time),
        "frame": {"time": time, "event": np.ones(30, dtype=bool)},
        "times": time,
    }[form]
    interval = bootstrap_interval(concordance_index, y, time, n_resamples=20, random_state=0)
    assert (interval.lower, interval.upper) == (1.0, 1.0)


def test_draws_without_a_value_are_dropped_and_counted():
    y = (np.arange(1.0, 7), np.array([1, 0, 0, 0, 0, 0]))
    interval = bootstrap_interval(
        concordance_index, y, np.arange(6.0), n_resamples=400, random_state=0
    )
    assert interval.n_resamples + interval.n_undefined == 400
    # The only event is missing from a draw with the chance (5/6)^6.
    assert interval.n_undefined / 400 == pytest.approx((5 / 6) ** 6, abs=0.07)
    assert not np.isnan(interval.distribution).any()


def test_truncation_is_said_once():
    y, x = simulated(100, 7)
    train = (np.array([0.2, 0.5]), np.array([True, False]))
    with pytest.warns(TruncationWarning) as caught:
        bootstrap_interval(
            concordance_index_ipcw, y, x, y_train=train, n_resamples=20, n_jobs=2, random_state=0
        )
    assert len(caught) == 1


def test_other_warnings_of_the_metric_come_through():
    def metric(y, predicted):
        warnings.warn("odd", UserWarning, stacklevel=1)
        return 1.0

    with pytest.warns(UserWarning, match="odd"):
        bootstrap_interval(metric, [1.0, 2.0], [1.0, 2.0], n_resamples=2)


def test_it_reads_as_one_line():
    shared = {"standard_error": 0.1, "n_resamples": 10, "n_undefined": 0, "scores": (0.7123,)}
    one = BootstrapInterval(0.7123, 0.65, 0.78, confidence=0.95, **shared)
    assert str(one) == "0.7123 (95 % interval 0.65 to 0.78)"
    two = BootstrapInterval(0.1, -0.2, 0.3, confidence=0.995, p_value=0.04567, **shared)
    assert str(two) == "0.1 (99.5 % interval -0.2 to 0.3), p = 0.0457"


def test_a_metric_without_a_value_on_most_draws_is_refused():
    calls = []

    def metric(y, predicted):
        calls.append(1)
        if len(calls) > 20:
            raise ValueError("no value")
        return 1.0

    message = (
        "metric must have a value on most resamples, got none on 21 of 40: y holds too few rows "
        "or events."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        bootstrap_interval(metric, [1.0, 2.0], [1.0, 2.0], n_resamples=40)


@pytest.mark.parametrize(
    ("metric", "options", "kind", "message"),
    [
        (None, {}, TypeError, "metric must be callable, got None."),
        (
            lambda y, p: np.nan,
            {},
            ValueError,
            "metric must have a value on the rows as they are, got nan.",
        ),
        (
            lambda y, p: p,
            {},
            TypeError,
            "metric must return one number, got shape (3,): wrap it in a function that picks one.",
        ),
        (
            lambda y, p: (1.0, 2.0),
            {},
            TypeError,
            "metric must return one number, got tuple: wrap it in a function that picks one.",
        ),
        (mean_time, {"n_resamples": 1}, ValueError, "n_resamples must be at least 2, got 1."),
        (
            mean_time,
            {"confidence": 95},
            ValueError,
            "confidence must be finite and inside (0, 1), got 95.",
        ),
        (
            mean_time,
            {"n_jobs": 0},
            ValueError,
            "n_jobs must be None or an integer other than 0, got 0.",
        ),
        (
            mean_time,
            {"random_state": "seed"},
            TypeError,
            "random_state must be an integer, got 'seed'.",
        ),
        (
            mean_time,
            {"other": [1.0]},
            ValueError,
            "other must have one row for each of the 3 of y, got 1 rows.",
        ),
        (
            mean_time,
            {"sample_weight": 1.0},
            ValueError,
            "sample_weight must have one row for each of the 3 of y, got a single value.",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(metric, options, kind, message):
    with pytest.raises(kind, match="^" + re.escape(message) + "$"):
        bootstrap_interval(metric, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], **options)


def test_predictions_of_other_rows_are_refused():
    message = "predicted must have one row for each of the 2 of y, got 3 rows."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        bootstrap_interval(mean_time, [1.0, 2.0], [1.0, 2.0, 3.0])


def test_a_metric_that_is_an_array_of_no_dimension_is_a_number():
    def at_one_time(y, survival):
        return brier_score(y, survival, [1.5])[0] + np.zeros(())

    interval = bootstrap_interval(at_one_time, [1.0, 2.0], [[0.0], [1.0]], n_resamples=3)
    assert interval.value == 0.0
    assert type(interval.value) is float


@pytest.fixture(scope="module")
def two_models():
    """A Cox model, a linear one that looks at noise, features and rows of both."""
    y, x = simulated(200, 5)
    noise = np.random.default_rng(6).normal(size=200)
    X = np.column_stack([x, noise])
    target = Surv.from_arrays(y[1], y[0])
    cox = CoxPHSurvivalAnalysis().fit(X, target)

    class Blind:
        linear = LinearQuantileRegressor([0.25, 0.5, 0.75]).fit(noise[:, None], target)

        def predict_quantiles(self, X, quantiles):
            return self.linear.predict_quantiles(X[:, 1:], quantiles, beyond="extrapolate")

    return cox, Blind(), X, y


TAUS = [0.25, 0.5, 0.75]
TIMES = [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("metric", "arguments", "asked"),
    [
        (concordance_index, {}, lambda model, X: predict_quantiles_of(model, X, 0.5)[:, 0]),
        (crps_censored, {"taus": TAUS}, lambda model, X: predict_quantiles_of(model, X, TAUS)),
        (
            integrated_brier_score,
            {"times": TIMES},
            lambda model, X: survival_of(model, X, TIMES),
        ),
    ],
)
@pytest.mark.parametrize("by_name", [True, False])
def test_models_are_compared_by_what_the_metric_takes(
    two_models, metric, arguments, asked, by_name
):
    cox, blind, X, y = two_models
    given = (arguments, ()) if by_name else ({}, tuple(arguments.values()))
    options = {"n_resamples": 40, "random_state": 0, **given[0]}
    found = bootstrap_interval(metric, y, cox, *given[1], other=blind, X=X, **options)
    expected = bootstrap_interval(
        metric, y, asked(cox, X), *given[1], other=asked(blind, X), **options
    )
    assert (found.value, found.lower, found.upper, found.p_value) == (
        expected.value,
        expected.lower,
        expected.upper,
        expected.p_value,
    )
    better = found.value if metric is concordance_index else -found.value
    assert better > 0


def test_predictions_and_a_model_may_be_compared(two_models):
    cox, _, X, y = two_models
    medians = predict_quantiles_of(cox, X, 0.5)[:, 0]
    options = {"n_resamples": 10, "random_state": 0}
    found = bootstrap_interval(concordance_index, y, medians, other=cox, X=X, **options)
    assert found.value == 0.0


def test_a_model_needs_features_and_what_the_metric_asks_for(two_models):
    cox, _, X, y = two_models
    message = "X must be given where other is a fitted model, got None."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        bootstrap_interval(concordance_index, y, X[:, 0], other=cox)
    message = "taus must be given where predicted is a fitted model, got none."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        bootstrap_interval(crps_censored, y, cox, X=X)


def test_a_model_without_a_distribution_cannot_be_compared(two_models):
    *_, X, y = two_models
    model = LinearRegression().fit(X, y[0])
    with pytest.raises(TypeError, match=r"^model must have the method predict_quantiles or be"):
        bootstrap_interval(concordance_index, y, model, X=X)


def test_a_model_of_left_censored_times_is_left_to_evaluate(two_models):
    *_, X, y = two_models
    model = LinearQuantileRegressor([0.5], censoring="left").fit(X, y)
    message = (
        "predicted must be fitted with censoring='right', since metrics take a censored event to "
        "come after its time, got censoring='left': use evaluate, which mirrors the times."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        bootstrap_interval(concordance_index, y, model, X=X)


def test_groups_are_drawn_whole():
    group = np.repeat(np.arange(50), 8)
    x = np.random.default_rng(0).normal(size=50)[group]
    options = {"n_resamples": 1_000, "random_state": 0}
    alone = bootstrap_interval(mean_time, np.ones(400), x, **options)
    together = bootstrap_interval(mean_time, np.ones(400), x, groups=group, **options)
    assert together.value == alone.value
    # Rows of a group are copies, so that there are 50 means and not 400.
    assert together.standard_error == pytest.approx(x[::8].std() / np.sqrt(50), rel=0.1)
    assert alone.standard_error < 0.45 * together.standard_error


def test_groups_of_one_row_are_rows_and_order_and_names_of_groups_do_not_matter():
    y, x = simulated(60, 0)
    options = {"n_resamples": 50, "random_state": 0}
    rows = bootstrap_interval(concordance_index, y, x, **options)
    single = bootstrap_interval(concordance_index, y, x, groups=np.arange(60), **options)
    assert single.distribution.tolist() == rows.distribution.tolist()
    group = np.arange(60) % 20
    named = [f"clinic {k}" for k in group]
    counted, called = (
        bootstrap_interval(metric, y, x, groups=labels, **options)
        for metric, labels in (
            (concordance_index, group),
            (lambda *args: concordance_index(*args), named),
        )
    )
    np.testing.assert_allclose(counted.distribution, called.distribution, rtol=1e-12)
