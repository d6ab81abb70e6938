"""ShapeNN: a family's quantiles, moved, stretched and bent."""

import copy
import re

import numpy as np
import pytest
from scipy.stats import gumbel_l, norm

import censquant
from censquant import CQRNN, ShapeNN
from censquant._engine.networks._combined import ShapeHead
from censquant._engine.training._checkpoint import Checkpoint
from censquant._files import read_arrays
from censquant.datasets import make_lognorm, make_norm_4d, make_norm_linear, make_weibull
from censquant.quantiles._distribution_curve import DistributionCurve
from censquant.quantiles._grid import CURVE_QUANTILES
from model_files import refused, rewrite
from toys import Recorder, stop_after

DATA = make_weibull(120, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(5 * DATA.X)]), DATA.y
LEVELS = np.array([0.001, 0.03, 0.05, 0.123, 0.5, 0.777, 0.95, 0.999])
FAMILIES = ("normal", "log-normal", "weibull")
families = pytest.mark.parametrize("family", FAMILIES)


def small(**parameters):
    return ShapeNN(**{"max_steps": 20, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


def quantiles(model, rows=X, levels=None):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


# Recovery of the truth


def recovered(make, n, family, seed, **options):
    """Mean squared distance to the true 0.1, 0.5 and 0.9 quantiles."""
    train, levels = make(n, random_state=seed, **options), [0.1, 0.5, 0.9]
    if options:
        options["offset"] = train.offset
    test = make(1000, random_state=seed + 10_000, **options)
    model = ShapeNN(family=family, random_state=seed).fit(train.X, train.y)
    return np.mean((quantiles(model, test.X, levels) - test.true_quantiles(levels)) ** 2)


# Means over seeds 300 to 302; an independent implementation of the method reaches 0.058, 0.262,
# 0.125 and 0.159 there, with standard deviations over seeds of about half of that.
@pytest.mark.parametrize(
    ("make", "n", "family", "options", "bound"),
    [
        (make_norm_linear, 500, "normal", {}, 0.08),
        (make_lognorm, 500, "log-normal", {}, 0.32),
        (make_norm_4d, 2000, "normal", {"censoring": "heavy"}, 0.18),
        (make_weibull, 500, "weibull", {}, 0.28),
    ],
)
def test_quantiles_of_the_papers_sets_are_recovered(make, n, family, options, bound):
    errors = [recovered(make, n, family, seed, **options) for seed in (300, 301, 302)]
    assert np.mean(errors) < bound


def test_many_rows_bend_the_family_to_a_truth_outside_it():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 6000)
    late = rng.random(6000) < 0.5
    # Two humps: no normal distribution.
    time = 10 + 2 * x + np.where(late, 3.0, -3.0) + 0.5 * rng.normal(size=6000)
    model = ShapeNN(random_state=0, max_steps=1500, weight_decay=1e-4).fit(x[:, None], time)
    grid = np.array([[-0.5], [0.0], [0.5]])
    truth = 10 + 2 * grid + np.array([-3 + norm.ppf(0.5) / 2, 3 + norm.ppf(0.5) / 2])
    np.testing.assert_allclose(quantiles(model, grid, [0.25, 0.75]), truth, atol=0.35)
    # A normal distribution with these quartiles has its 0.1-quantile at -5.7.
    low = quantiles(model, grid, [0.1])[:, 0] - (10 + 2 * grid[:, 0])
    np.testing.assert_allclose(low, -3 + 0.5 * norm.ppf(0.2), atol=0.35)


def test_left_censored_weibull_times_are_of_the_same_law():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, size=2000)
    law = gumbel_l(loc=1.0 + np.sin(3 * x), scale=0.2 + 0.4 * x)
    event_time = np.exp(law.rvs(random_state=rng))
    low, high = np.quantile(event_time, [0.02, 0.9])
    ends = rng.uniform(low - 0.2 * (high - low), high, size=2000)
    time, event = np.maximum(event_time, ends), event_time >= ends
    assert 0.2 < 1 - event.mean() < 0.55
    model = ShapeNN(family="weibull", censoring="left", random_state=0).fit(
        x[:, None], (time, event)
    )
    grid = np.linspace(0.05, 0.95, 50)[:, None]
    truth = np.exp(
        gumbel_l(loc=1.0 + np.sin(3 * grid), scale=0.2 + 0.4 * grid).ppf([0.1, 0.5, 0.9])
    )
    identified = truth > np.quantile(time, 0.01)
    assert identified.mean() > 0.7
    error = np.abs(quantiles(model, grid, [0.1, 0.5, 0.9]) / truth - 1)[identified]
    assert error.mean() < 0.08


@families
def test_left_censored_rows_pull_down(family):
    event = np.arange(len(X)) % 3 > 0
    seen, left, right = (
        np.median(quantiles(small(family=family, max_steps=200, **options).fit(X, y), X, [0.5]))
        for options, y in (
            ({}, Y["time"]),
            ({"censoring": "left"}, (Y["time"], event)),
            ({}, (Y["time"], event)),
        )
    )
    assert left < seen < right


def test_left_censored_normal_times_are_the_mirror_image():
    time = Y["time"] - Y["time"].mean()
    right = small().fit(X, (time, Y["event"]))
    left = small(censoring="left").fit(X, (-time, Y["event"]))
    np.testing.assert_allclose(
        quantiles(left, X, 1 - LEVELS[::-1]), -quantiles(right, X, LEVELS)[:, ::-1], rtol=1e-4
    )
    np.testing.assert_allclose(
        left.log_likelihood(X, (-time, Y["event"])),
        right.log_likelihood(X, (time, Y["event"])),
        rtol=1e-4,
        atol=1e-5,
    )


# The curve


@families
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_quantiles_and_levels_are_inverse_to_each_other(family, censoring):
    curve = small(family=family, censoring=censoring).fit(X, Y).predict_curve(X)
    assert isinstance(curve, DistributionCurve)
    times = curve.at(LEVELS)
    assert (np.diff(times) >= 0).all()
    # Neither at zero nor at the cap, where several levels share a time.
    inside = (times > curve.at([1e-9])) & (times < curve.at([1 - 1e-9]))
    assert inside.mean() > 0.7
    np.testing.assert_allclose(
        curve.cdf(times)[inside], np.tile(LEVELS, (120, 1))[inside], rtol=1e-9
    )


def test_curves_list_their_tails_and_the_levels_asked_for():
    model = small(quantiles=[0.2, 0.333]).fit(X, Y)
    np.testing.assert_array_equal(model.quantiles_, [0.2, 0.333])
    assert quantiles(model).shape == model.raw_quantiles(X).shape == (120, 2)
    curve = model.predict_curve(X)
    np.testing.assert_array_equal(curve.taus, np.union1d([0.2, 0.333], CURVE_QUANTILES))
    np.testing.assert_array_equal(curve.values, curve.at(curve.taus))


def test_levels_asked_for_later_do_not_depend_on_those_of_the_fit():
    few, many = (small(quantiles=q).fit(X, Y) for q in ([0.5], None))
    np.testing.assert_array_equal(quantiles(few, X, LEVELS), quantiles(many, X, LEVELS))


@families
def test_members_are_averaged_at_every_level(family):
    model = small(family=family, n_members=3).fit(X, Y)
    inner = []
    for part in model.models_:
        single = copy.copy(model)
        single.models_ = [part]
        inner.append(model.time_transform_.forward(quantiles(single, X, [0.2, 0.66])))
    assert not np.allclose(inner[0], inner[1])
    expected = model.time_transform_.inverse(np.mean(inner, axis=0))
    np.testing.assert_allclose(quantiles(model, X, [0.2, 0.66]), expected, rtol=1e-9)


@families
def test_no_quantile_lies_further_beyond_the_last_time_than_the_cap(family):
    model = small(family=family).fit(X, Y)
    transform = model.time_transform_
    cap = transform.inverse(transform.forward(Y["time"].max()) + 3.0)
    assert (quantiles(model, X, [1 - 1e-15]) <= cap * (1 + 1e-12)).all()
    assert (quantiles(model, 100 * X, LEVELS) <= cap * (1 + 1e-12)).all()


def test_a_bounded_tail_keeps_upper_quantiles_near_the_last_time():
    data = make_lognorm(500, random_state=3)
    free, bounded = (
        ShapeNN(family="log-normal", tail=tail, random_state=0, pinball_weight=3.0).fit(
            data.X, data.y
        )
        for tail in ("family", "bounded")
    )
    far = 1.2 * data.y["time"].max()
    beyond = [(quantiles(model, data.X, [0.95]) > far).mean() for model in (free, bounded)]
    assert beyond[1] < beyond[0]


# Likelihood


@families
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_densities_integrate_to_the_probability_between_two_times(family, censoring):
    model = small(family=family, censoring=censoring, max_steps=100).fit(X, Y)
    row = X[:1]
    times = np.linspace(*quantiles(model, row, [0.1, 0.9])[0], 4001)
    rows = np.repeat(row, len(times), axis=0)
    density = np.exp(model.log_likelihood(rows, (times, np.ones(len(times), bool))))
    # Smoothing moves mass between neighbouring segments: equal in sum, not to the last digit.
    assert np.trapezoid(density, times) == pytest.approx(0.8, abs=0.01)


@families
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_a_censored_row_has_the_log_probability_of_a_later_event(family, censoring):
    model = small(family=family, censoring=censoring).fit(X, Y)
    found = model.log_likelihood(X, (Y["time"], np.zeros(120, bool)))
    order = np.argsort(Y["time"])
    curve = model.predict_curve(X[order])
    survival = np.diag(curve.survival(Y["time"][order]))
    expected = np.log(1 - survival if censoring == "left" else survival)
    known = np.exp(expected) > 1e-6
    assert known.mean() > 0.8
    np.testing.assert_allclose(found[order][known], expected[known], rtol=1e-6, atol=1e-9)


def test_the_log_likelihood_of_times_in_another_unit_differs_by_that_units_logarithm():
    one, other = small().fit(X, Y), small().fit(X, (24 * Y["time"], Y["event"]))
    difference = other.log_likelihood(X, (24 * Y["time"], Y["event"])) - one.log_likelihood(X, Y)
    np.testing.assert_allclose(difference, np.where(Y["event"], -np.log(24), 0.0), atol=1e-3)


def test_the_likelihood_tells_families_apart():
    train, test = make_lognorm(2000, random_state=0), make_lognorm(2000, random_state=1)
    found = {
        family: ShapeNN(family=family, random_state=0).fit(train.X, train.y)
        .log_likelihood(test.X, test.y).sum()
        for family in FAMILIES
    }  # fmt: skip
    assert max(found, key=found.get) == "log-normal"


# Invariances


@families
def test_whole_weights_are_repeated_rows_to_the_bit(family):
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    expected = small(family=family).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    model = small(family=family).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(quantiles(model), quantiles(expected))


@families
@pytest.mark.parametrize("unit", [1e-3, 365.25])
def test_the_unit_of_time_does_not_matter(family, unit):
    model = small(family=family).fit(X, Y)
    other = small(family=family).fit(X, (unit * Y["time"], Y["event"]))
    np.testing.assert_allclose(quantiles(other), unit * quantiles(model), rtol=1e-3)


def test_the_origin_of_time_does_not_matter_to_the_normal_family():
    model, moved = (small().fit(X, (Y["time"] - shift, Y["event"])) for shift in (100.0, 300.0))
    np.testing.assert_allclose(quantiles(moved) + 200, quantiles(model), rtol=1e-3)
    assert quantiles(model).max() < 0


def test_the_order_of_rows_does_not_matter_to_a_single_bit():
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(
        quantiles(small().fit(X[order], Y[order])), quantiles(small().fit(X, Y))
    )


def test_the_number_of_threads_does_not_matter_to_a_single_bit():
    settings = {"n_members": 3, "dropout": 0.3}
    one, two = (small(n_jobs=n, **settings).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(quantiles(one), quantiles(two))
    assert len(one.history_) == len(two.history_) > 3


# Training


@pytest.mark.parametrize("steps", [1, 3, 250])
def test_the_number_of_steps_is_the_length_of_the_training(steps):
    runs = []
    small(max_steps=steps, batch_size=50).fit(
        X, Y, callbacks=[Recorder(on_epoch=lambda run: runs.append(run.n_steps))]
    )
    assert runs[-1] == steps
    assert len(runs) == -(-steps // 3)


def test_training_starts_near_the_family():
    model = small(max_steps=1, learning_rate=1e-9).fit(X, Y)
    z = model.time_transform_.forward(quantiles(model, X, [0.05, 0.5, 0.95]))
    np.testing.assert_allclose(z, np.tile(norm.ppf([0.05, 0.5, 0.95]), (120, 1)), atol=0.7)


def test_a_stopped_training_goes_on_from_its_checkpoint(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=1)
    settings = {"dropout": 0.2, "batch_size": 32}
    small(**settings).fit(X, Y, checkpoint=checkpoint, callbacks=[stop_after(2)])
    resumed = small(**settings).fit(X, Y, checkpoint=checkpoint)
    np.testing.assert_array_equal(quantiles(resumed), quantiles(small(**settings).fit(X, Y)))


def test_a_fit_without_its_own_follow_up_is_the_same_fit():
    class Candidate(ShapeNN):
        _stands_alone = False

    model, candidate = small().fit(X, Y), Candidate(**small().get_params()).fit(X, Y)
    np.testing.assert_array_equal(quantiles(candidate), quantiles(model))
    assert model._follow_up is not None
    assert candidate._follow_up is None


def test_other_networks_can_leave_their_follow_up_to_a_pool_too():
    model = CQRNN(max_epochs=1, hidden_layer_sizes=(4,))
    model._stands_alone = False
    assert model.fit(X, Y)._follow_up is None


@families
@pytest.mark.parametrize("tail", ["family", "bounded"])
def test_hard_data_give_finite_predictions(family, tail):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 3))
    usual, event = np.exp(rng.normal(size=60)), rng.random(60) < 0.6
    cases = {
        "heavy tail": (np.exp(4 * rng.standard_cauchy(60).clip(-20, 20)), event),
        "one event": (usual, np.arange(60) == 7),
        "equal times": (np.full(60, 3.0), event),
        "two values": (np.where(event, 1.0, 2.0), event),
        "events after all censoring": (np.where(event, 5.0, usual.clip(0, 4)), event),
        "tiny to huge": (np.exp(rng.uniform(-18, 18, 60)), event),
        "nothing censored": (usual, np.ones(60, bool)),
    }
    for name, target in cases.items():
        model = ShapeNN(family=family, tail=tail, random_state=0, max_steps=100)
        found = quantiles(model.fit(features, target), 3 * features, LEVELS)
        assert np.isfinite(found).all(), name
        assert (np.diff(found, axis=1) >= 0).all(), name
        assert np.isfinite(model.log_likelihood(features, target)).all(), name


def test_few_rows_are_enough_to_fit():
    model = ShapeNN(random_state=0, max_steps=50).fit(X[:3], Y[:3])
    assert np.isfinite(quantiles(model)).all()


# Files


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"family": "weibull", "n_members": 2},
        {"family": "weibull", "censoring": "left"},
        {"family": "log-normal", "tail": "bounded", "quantiles": [0.3], "dropout": 0.2},
        {"standardize": False, "hidden_layer_sizes": ()},
    ],
    ids=str,
)
def test_a_loaded_model_gives_the_same_bits(tmp_path, parameters):
    model = small(**parameters).fit(X, Y)
    model.save(tmp_path / "model.safetensors")
    loaded = censquant.load_model(tmp_path / "model.safetensors")
    assert type(loaded) is ShapeNN
    for rows in (X, 50 * X):  # far rows are at the cap
        np.testing.assert_array_equal(
            quantiles(loaded, rows, LEVELS), quantiles(model, rows, LEVELS)
        )
    np.testing.assert_array_equal(loaded.identified_level(X), model.identified_level(X))
    np.testing.assert_array_equal(loaded.log_likelihood(X, Y), model.log_likelihood(X, Y))
    np.testing.assert_array_equal(quantiles(loaded.fit(X, Y)), quantiles(model))


def test_the_architecture_is_described():
    (model,) = small().fit(X, Y).models_
    described = model.describe()["network"]
    assert described["kind"] == "headed"
    assert described["head"] == "shape"
    assert len(described["knots"]) == 19
    assert described["network"]["kind"] == "skip"
    assert described["network"]["network"]["sizes"] == [2, 8, 20]
    assert model.n_parameters == 2 * 8 + 8 + 8 * 20 + 20 + 2 + 18


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"knots": [0.0, 1.0]}, "has 20 outputs for a head of 2 quantiles."),
        ({"knots": ["a"]}, "is not a consistent model file (TypeError: knots must be a number"),
        ({"head": "bent"}, "is not a consistent model file (ValueError: head must be one of "),
        ({"knots": [1.0] * 19}, "is not a consistent model file (ValueError: knots must be at "),
    ],
)
def test_a_forged_head_is_refused(tmp_path, change, message):
    path = tmp_path / "model.safetensors"
    model = small().fit(X, Y)
    model.save(path)
    network = {**model.models_[0].describe()["network"], **change}
    rewrite(path, part={"description": {"network": network}})
    refused(path, message)


@pytest.mark.parametrize(
    ("name", "array"),
    [("member0.skip", np.zeros(3, "f4")), ("member0.head", np.zeros(17, "f4"))],
)
def test_arrays_of_another_size_are_refused(tmp_path, name, array):
    path = tmp_path / "model.safetensors"
    small().fit(X, Y).save(path)
    (found,) = [key for key in read_arrays(path, "model")[1] if key.endswith(name)]
    rewrite(path, arrays={found: array})
    refused(path, "does not hold the arrays that its model needs")


# Arguments


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"family": "gamma"},
            ValueError,
            "family must be one of 'normal', 'log-normal', 'weibull', got 'gamma'.",
        ),
        ({"tail": None}, ValueError, "tail must be one of 'family', 'bounded', got None."),
        ({"max_steps": 0}, ValueError, "max_steps must be at least 1, got 0."),
        ({"max_steps": 2.0}, TypeError, "max_steps must be an integer, got 2.0."),
        (
            {"likelihood_weight": -1},
            ValueError,
            "likelihood_weight must be finite and inside [0, inf), got -1.",
        ),
        ({"pinball_weight": "a"}, TypeError, "pinball_weight must be a number, got 'a'."),
        (
            {"likelihood_weight": 0, "pinball_weight": 0.0},
            ValueError,
            "likelihood_weight and pinball_weight must not both be 0, got 0 and 0.",
        ),
        ({"dropout": 1.0}, ValueError, "dropout must be finite and inside [0, 1), got 1.0."),
    ],
)
def test_wrong_parameters_are_refused_in_one_sentence(parameters, error, message):
    with pytest.raises(error, match="^" + re.escape(message) + "$"):
        small(**parameters).fit(X, Y)


@pytest.mark.parametrize("family", ["log-normal", "weibull"])
@pytest.mark.parametrize("smallest", [0.0, -1.5])
def test_events_at_times_that_are_not_positive_are_refused(family, smallest):
    time, event = Y["time"].copy(), Y["event"].copy()
    time[7], event[7] = smallest, True
    message = (
        f"time must be positive where event is True for family='{family}', got a minimum of "
        f"{smallest:g}: use family='normal' or shift the times."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        small(family=family).fit(X, (time, event))


@pytest.mark.parametrize("family", ["log-normal", "weibull"])
def test_a_row_censored_at_zero_is_no_obstacle(family):
    time, event = Y["time"].copy(), Y["event"].copy()
    time[7], event[7] = 0.0, False
    assert np.isfinite(quantiles(small(family=family).fit(X, (time, event)))).all()


def test_the_tag_says_which_families_need_positive_times():
    needy = [f for f in FAMILIES if small(family=f).__sklearn_tags__().target_tags.positive_only]
    assert needy == ["log-normal", "weibull"]


def test_the_head_of_the_training_knows_the_number_of_rows():
    head = small().fit(X, Y).models_[0].network.head
    assert isinstance(head, ShapeHead)
    assert head.n_rows == 120


def test_a_progress_bar_counts_the_epochs_of_the_steps(capsys):
    small(verbose=1, max_steps=5, batch_size=60).fit(X, Y)
    assert "3/3" in capsys.readouterr().err


@pytest.mark.parametrize("censoring", ["right", "left"])
@families
def test_networks_read_side_by_side_say_what_each_says_on_average(family, censoring):
    models = [
        small(family=family, censoring=censoring, n_members=2, random_state=seed).fit(X, Y)
        for seed in range(3)
    ]
    expected = np.mean([model._predict_checked(X, LEVELS)[0] for model in models], axis=0)
    found, end = ShapeNN._mean_reader(models, LEVELS)(X)
    assert end is None
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_networks_of_different_sizes_are_read_one_after_the_other():
    models = [small().fit(X, Y), small(hidden_layer_sizes=(5,)).fit(X, Y)]
    expected = np.mean([model._predict_checked(X, LEVELS)[0] for model in models], axis=0)
    np.testing.assert_array_equal(ShapeNN._mean_reader(models, LEVELS)(X)[0], expected)
