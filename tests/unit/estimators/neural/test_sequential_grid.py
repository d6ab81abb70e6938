"""SequentialGridNN: levels learned one after the other, and what is kept when that ends early."""

import re

import numpy as np
import pytest

import censquant
from censquant import Checkpoint, LinearQuantileRegressor, SequentialGridNN
from censquant._engine.networks._combined import StackedNetwork
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.objectives._grid import Pinball
from censquant._engine.training._loop import ProgressBar, TrainingConfig
from censquant._engine.training._rows import Rows
from censquant.datasets import make_norm_linear
from censquant.estimators.neural import _neural
from censquant.estimators.neural._sequential_grid import _CensoringLevels
from toys import Recorder, censored_rows

DATA = make_norm_linear(120, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(5 * DATA.X)]), DATA.y
TAUS = (0.25, 0.5, 0.75)


def networks_of(model):
    return [part.network for part in model.models_]


def small(quantiles=TAUS, **parameters):
    return SequentialGridNN(
        quantiles,
        **{"max_epochs": 3, "hidden_layer_sizes": (8,), "random_state": 0, **parameters},
    )


def quantiles(model, rows=X, levels=None):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


class Predicting:
    """A network that predicts given values for the rows."""

    def __init__(self, values):
        self.values = values

    def predict(self, x):
        assert len(x) == len(self.values)
        return self.values[:, None]


def assert_same_states(one, other):
    for first, second in zip(networks_of(one), networks_of(other), strict=True):
        states = first.state(), second.state()
        assert states[0].keys() == states[1].keys()
        for name, value in states[0].items():
            np.testing.assert_array_equal(states[1][name], value)


# The levels of censoring times. The rows: an event at 1, censored at 2 and at 4, an event at 6.
# Fits at 0.25, 0.5 and 0.75 predict 1.5, 3 and 5 for all of them, so the second fit passes the row
# censored at 2 and the third the one at 4.

PATH = ((0.25, 1.5), (0.5, 3.0), (0.75, 5.0))


def four_rows():
    return Rows.from_arrays(
        np.zeros((4, 1)),
        time=np.array([1.0, 2.0, 4.0, 6.0]),
        event=np.array([True, False, False, True]),
    )


@pytest.mark.parametrize(
    ("crossed", "at_second", "at_third", "afterwards"),
    [
        # Passed rows keep the level before; a waiting row lies at the level that is trained, so
        # that its share (tau - q) / (1 - q) is 0 and all of it is sent to y*.
        ("lower", (0.5, 0.5), (0.25, 0.75), (0.25, 0.5)),
        # Passed rows get the level that passed them; waiting ones have level 0.
        ("upper", (0.0, 0.0), (0.5, 0.0), (0.5, 0.75)),
        # 2 lies a third of the way from 1.5 to 3, and 4 halfway from 3 to 5.
        ("interpolate", (0.5, 0.5), (1 / 3, 0.75), (1 / 3, 0.625)),
    ],
)
def test_levels_follow_the_rule_step_by_step(crossed, at_second, at_third, afterwards):
    levels = _CensoringLevels(four_rows(), crossed)
    seen = []
    for tau, value in PATH:
        seen.append(levels.at(tau))
        assert levels.advance(Predicting(np.full(4, value)), tau)
    # Nothing is known at first: at level 0 a row that is passed exerts no force.
    np.testing.assert_array_equal(seen[0], 0)
    np.testing.assert_allclose(seen[1][1:3], at_second)
    np.testing.assert_allclose(seen[2][1:3], at_third)
    np.testing.assert_allclose(levels.at(0.9)[1:3], afterwards)
    assert seen[0].dtype == np.float32


@pytest.mark.parametrize(
    ("crossed", "expected"), [("lower", 0.0), ("upper", 0.25), ("interpolate", 0.0)]
)
def test_a_row_that_the_first_fit_passes_lies_below_it(crossed, expected):
    levels = _CensoringLevels(four_rows(), crossed)
    levels.advance(Predicting(np.full(4, 2.5)), 0.25)
    assert levels.at(0.5)[1] == np.float32(expected)


def test_a_level_once_given_stays():
    levels = _CensoringLevels(four_rows(), "lower")
    for tau, value in ((0.25, 1.5), (0.5, 3.0), (0.6, 1.8), (0.7, 3.5)):
        levels.advance(Predicting(np.full(4, value)), tau)
    assert levels.at(0.8)[1] == np.float32(0.25)


def test_interpolation_survives_fits_that_do_not_rise():
    levels = _CensoringLevels(four_rows(), "interpolate")
    levels.advance(Predicting(np.array([1.5, 1.5, 1.5, 1.5])), 0.25)
    levels._predicted = np.full(4, 3.0)  # crossed fits: the one before lay above the row
    levels.advance(Predicting(np.full(4, 3.0)), 0.5)
    assert levels.at(0.75)[1] == np.float32(0.25)


def test_it_goes_on_while_an_event_or_a_split_row_lies_above():
    levels = _CensoringLevels(four_rows(), "lower")
    assert levels.advance(Predicting(np.full(4, 5.0)), 0.25)
    # No event above, but the row censored at 4 was split before and lies above this fit.
    assert levels.advance(Predicting(np.array([7.0, 7.0, 3.0, 7.0])), 0.5)
    assert not levels.advance(Predicting(np.full(4, 6.0)), 0.75)


def test_it_ends_where_only_waiting_censored_rows_lie_above():
    rows = Rows.from_arrays(
        np.zeros((3, 1)), time=np.array([1.0, 2.0, 9.0]), event=np.array([True, True, False])
    )
    levels = _CensoringLevels(rows, "lower")
    assert levels.advance(Predicting(np.full(3, 1.5)), 0.25)
    assert not levels.advance(Predicting(np.full(3, 2.0)), 0.5)


# Fitting


def test_networks_are_as_many_as_levels():
    model = small().fit(X, Y)
    assert model.stopped_at_ is None
    np.testing.assert_array_equal(model.quantiles_, TAUS)
    assert [network.n_outputs for network in model.models_[0].network.networks] == [1, 1, 1]


def test_history_tells_the_level():
    model = small(n_members=2).fit(X, Y)
    assert [(r["member"], r["level"], r["epoch"]) for r in model.history_] == [
        (member, level, epoch) for member in range(2) for level in TAUS for epoch in (1, 2, 3)
    ]


def test_the_same_seed_gives_the_same_bits_and_the_rule_matters():
    rules = ("lower", "upper", "interpolate")
    grid = np.arange(1, 10) / 10
    fits = [quantiles(small(grid, crossed=rule, max_epochs=9).fit(X, Y)) for rule in rules * 2]
    for first, second in zip(fits[:3], fits[3:], strict=True):
        np.testing.assert_array_equal(first, second)
    assert len({fit.tobytes() for fit in fits}) == 3


def ended_data():
    """Six events in ten before time 1, the rest censored at time 2."""
    rng = np.random.default_rng(0)
    event = np.arange(200) < 120
    time = np.where(event, rng.uniform(size=200), 2.0)
    return rng.uniform(size=(200, 1)), (time, event)


def test_the_published_rule_leaves_no_level_out():
    features, target = ended_data()
    grid = np.arange(1, 20) / 20
    model = small(grid, hidden_layer_sizes=(), crossed="upper", max_epochs=60, learning_rate=0.03)
    assert model.fit(features, target).stopped_at_ is None
    np.testing.assert_array_equal(model.quantiles_, grid)


@pytest.mark.parametrize("crossed", ["lower", "interpolate"])
def test_it_stops_when_only_censored_rows_are_left_above(crossed):
    features, target = ended_data()
    grid = np.arange(1, 20) / 20
    model = small(
        grid, hidden_layer_sizes=(), crossed=crossed, max_epochs=60, learning_rate=0.03
    ).fit(features, target)
    n_reached = len(model.quantiles_)
    assert 0.5 <= model.quantiles_[-1] <= 0.75
    np.testing.assert_array_equal(model.quantiles_, grid[:n_reached])
    assert model.stopped_at_ == grid[n_reached]
    assert quantiles(model, features).shape == (200, n_reached)
    assert model.models_[0].network.n_outputs == n_reached
    assert {record["level"] for record in model.history_} == set(grid[:n_reached])


def test_left_censoring_is_the_mirror_image():
    # Of both signs, so that neither side is cut at 0.
    time, event = Y["time"] - Y["time"].mean(), Y["event"]
    right = small(y_star=100.0, time_transform=None).fit(X, (time, event))
    left = small(y_star=-100.0, time_transform=None, censoring="left").fit(X, (-time, event))
    np.testing.assert_allclose(quantiles(left), -quantiles(right)[:, ::-1], rtol=1e-6, atol=1e-6)
    # The highest level comes first there.
    assert [record["level"] for record in left.history_[::3]] == [0.75, 0.5, 0.25]


def test_with_left_censoring_the_low_levels_are_those_not_reached():
    features, (time, event) = ended_data()
    grid = np.arange(1, 20) / 20
    model = small(
        grid, hidden_layer_sizes=(), max_epochs=60, learning_rate=0.03, censoring="left"
    ).fit(features, (3.0 - time, event))
    n_reached = len(model.quantiles_)
    assert 0.25 <= model.quantiles_[0] <= 0.5
    np.testing.assert_array_equal(model.quantiles_, grid[-n_reached:])
    assert model.stopped_at_ == grid[-n_reached - 1]


def test_members_are_cut_to_the_levels_they_share(monkeypatch):
    answers = iter([True, True, True, True, False])
    advance = _CensoringLevels.advance

    def scripted(self, network, tau):
        advance(self, network, tau)
        return next(answers)

    monkeypatch.setattr(_CensoringLevels, "advance", scripted)
    model = small(n_members=2).fit(X, Y)
    np.testing.assert_array_equal(model.quantiles_, TAUS[:2])
    assert [network.n_outputs for network in networks_of(model)] == [2, 2]
    assert model.stopped_at_ == 0.75
    assert quantiles(model).shape == (len(X), 2)


def test_members_cut_short_by_left_censoring_keep_the_high_levels():
    rng = np.random.default_rng(0)
    stacks = [StackedNetwork([DenseNetwork([1, 1], rng=rng) for _ in range(n)]) for n in (3, 1)]
    reached = small(censoring="left")._fitted_levels(np.array(TAUS), stacks)
    np.testing.assert_array_equal(reached, [0.75])
    assert [stack.n_outputs for stack in stacks] == [1, 1]


def test_it_agrees_with_the_linear_programme_on_linear_quantiles():
    data = make_norm_linear(1000, random_state=3)
    grid, judged = np.arange(1, 20) / 20, [0.1, 0.5, 0.9]
    model = SequentialGridNN(
        grid, crossed="interpolate", hidden_layer_sizes=(), max_epochs=60, learning_rate=0.03,
        weight_decay=0.0, random_state=0,
    ).fit(data.X, data.y)  # fmt: skip
    exact = LinearQuantileRegressor(grid, method="portnoy").fit(data.X, data.y)
    difference = quantiles(model, data.X, judged) - quantiles(exact, data.X, judged)
    # The spread of the times is between 1 and 3: five hundredths of it at the most, on average.
    assert np.abs(difference).mean(axis=0).max() < 0.1


# Stops and files


def interrupt(level, epoch):
    """A callback that presses Ctrl-C in an epoch of one level."""
    started = []

    def on_epoch(run):
        if run.n_epochs == 1:
            started.append(run)
        if len(started) == level + 1 and run.n_epochs == epoch:
            raise KeyboardInterrupt

    return Recorder(on_epoch=on_epoch)


@pytest.mark.parametrize(("level", "epoch"), [(0, 2), (1, 1), (1, 3), (2, 2)])
def test_a_resumed_fit_has_the_bits_of_one_never_stopped(tmp_path, level, epoch):
    whole = small().fit(X, Y)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=1)
    broken = small().fit(X, Y, callbacks=[interrupt(level, epoch)], checkpoint=checkpoint)
    assert len(broken.quantiles_) == level + 1
    files = {f"run.ckpt.level{place}" for place in range(level + 1)}
    assert {path.name for path in tmp_path.iterdir()} == files
    calls = Recorder()
    # Another seed: everything random must come from the files.
    resumed = small(random_state=9).fit(X, Y, callbacks=[calls], checkpoint=checkpoint)
    starts = [n_epochs for _, kind, n_epochs in calls.calls if kind == "start"]
    assert starts == [3] * level + [epoch] + [0] * (2 - level)
    assert_same_states(resumed, whole)
    assert resumed.history_ == whole.history_


def test_members_have_files_of_their_own(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=1)
    small(TAUS[:2], n_members=2).fit(X, Y, checkpoint=checkpoint)
    names = {"run.ckpt.level0", "run.ckpt.level1", "run.ckpt.1.level0", "run.ckpt.1.level1"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_ctrl_c_keeps_the_levels_learned():
    model = small().fit(X, Y, callbacks=[interrupt(1, 2)])
    whole = small().fit(X, Y)
    np.testing.assert_array_equal(model.quantiles_, TAUS[:2])
    assert [(r["level"], r["epoch"]) for r in model.history_] == [
        (0.25, 1), (0.25, 2), (0.25, 3), (0.5, 1), (0.5, 2),
    ]  # fmt: skip
    # The finished level is that of a whole fit.
    first, same = model.models_[0].network.networks[0], whole.models_[0].network.networks[0]
    np.testing.assert_array_equal(first.predict(X), same.predict(X))


def test_members_that_ctrl_c_kept_from_starting_are_left_out():
    model = small(n_members=3).fit(X, Y, callbacks=[interrupt(1, 2)])
    assert len(model.models_) == 1
    np.testing.assert_array_equal(model.quantiles_, TAUS[:2])


@pytest.mark.parametrize("callbacks", [(), (interrupt(1, 1),)], ids=["whole", "interrupted"])
def test_the_progress_bar_is_closed_however_many_levels_came(monkeypatch, capsys, callbacks):
    bars = []

    class Spy(ProgressBar):
        def __init__(self, n_runs):
            bars.append(self)
            super().__init__(n_runs)

    monkeypatch.setattr(_neural, "ProgressBar", Spy)
    small(n_members=2, verbose=1).fit(X, Y, callbacks=callbacks)
    (bar,) = bars
    assert bar._n_runs == 6
    assert bar._display is None
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\n")


def test_the_progress_bar_is_closed_after_an_error(monkeypatch, capsys):
    def fail(run):
        raise ZeroDivisionError

    closed = []
    monkeypatch.setattr(ProgressBar, "close", lambda self: closed.append(self))
    with pytest.raises(ZeroDivisionError):
        small(verbose=1).fit(X, Y, callbacks=[Recorder(on_epoch=fail)])
    (bar,) = closed
    bar._display.close()


@pytest.mark.parametrize(
    "parameters",
    [{}, {"n_members": 2}, {"censoring": "left"}, {"early_stopping": True, "crossed": "upper"}],
    ids=str,
)
def test_a_loaded_model_gives_the_same_bits(tmp_path, parameters):
    model = small(**parameters).fit(X, Y)
    model.save(tmp_path / "model.safetensors")
    loaded = censquant.load_model(tmp_path / "model.safetensors")
    assert type(loaded) is SequentialGridNN
    assert loaded.get_params() == model.get_params()
    assert loaded.stopped_at_ == model.stopped_at_
    np.testing.assert_array_equal(quantiles(loaded), quantiles(model))
    np.testing.assert_array_equal(loaded.identified_level(X), model.identified_level(X))


def test_a_model_that_stopped_is_loaded_with_the_levels_it_reached(tmp_path):
    model = small().fit(X, Y, callbacks=[interrupt(1, 2)])
    model.save(tmp_path / "model.safetensors")
    loaded = censquant.load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.quantiles_, TAUS[:2])
    assert loaded.stopped_at_ == model.stopped_at_ == 0.75
    np.testing.assert_array_equal(quantiles(loaded), quantiles(model))


# Arguments


def test_an_unknown_rule_is_refused():
    message = "crossed must be one of 'lower', 'upper', 'interpolate', got 'nearest'."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        small(crossed="nearest").fit(X, Y)


def test_an_increasing_head_is_refused():
    message = (
        "head must be 'free' for SequentialGridNN, whose networks have one output each, got "
        "'increasing'."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        small(head="increasing").fit(X, Y)


def test_another_objective_is_refused():
    message = f"The sequential grid needs Portnoy's objective, got {Pinball(TAUS)!r}."
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        small()._train_member(
            Pinball(TAUS), censored_rows(), TrainingConfig(), np.random.default_rng(0)
        )
