"""CQRNN's options: known censoring times, the crossing penalty, levels that are renewed rarely."""

import re
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

import censquant
from censquant import CQRNN, Checkpoint
from censquant._engine.objectives._grid import Portnoy, Powell
from censquant.datasets import make_norm_linear
from censquant.exceptions import ModelFileError
from toys import Recorder, stop_after

DATA = make_norm_linear(150, random_state=0)
X, Y = np.hstack([DATA.X, np.cos(5 * DATA.X)]), DATA.y
TIME, EVENT = Y["time"], Y["event"]
LIMIT = DATA.censoring_time


def small(**parameters):
    return CQRNN(**{"max_epochs": 4, "hidden_layer_sizes": (8,), "random_state": 0, **parameters})


def quantiles(model, rows=X, levels=None):
    return model.predict_quantiles(rows, levels, beyond="extrapolate")


def refused(kind, message, fit):
    with pytest.raises(kind, match="^" + re.escape(message) + "$"):
        fit()


# Known censoring times


def study(n, seed=0):
    """Normal times; the end of follow-up is known for all, and later for those with large x."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, size=n)
    event_time = norm(5 + 3 * x, 0.5 + x).rvs(random_state=rng)
    limit = 4.5 + 3 * x + rng.uniform(0, 2, size=n)
    return x[:, None], np.minimum(event_time, limit), event_time <= limit, limit


def test_known_censoring_times_give_the_true_quantiles():
    x, time, event, limit = study(2000)
    assert 0.2 < 1 - event.mean() < 0.5
    levels = [0.1, 0.3, 0.5, 0.7]
    model = CQRNN(levels, activation="gelu", max_epochs=40, random_state=0)
    model.fit(x, (time, event), censoring_time=limit)
    grid = np.linspace(0.05, 0.95, 19)[:, None]
    truth = norm(5 + 3 * grid, 0.5 + grid).ppf(levels)
    # The times' standard deviation is 1 on average: a tenth of it.
    assert np.abs(quantiles(model, grid) - truth).mean() < 0.1
    # Taking the times as they are misses the upper level by more than twice as much.
    naive = CQRNN(levels, activation="gelu", max_epochs=40, random_state=0).fit(x, time)
    errors = [np.abs(quantiles(m, grid) - truth)[:, 3].mean() for m in (model, naive)]
    assert errors[1] > 2 * errors[0]


def test_powells_objective_is_used_only_where_censoring_times_are_known():
    assert isinstance(small().fit(X, Y).models_[0].objective, Portnoy)
    known = small().fit(X, Y, censoring_time=LIMIT)
    assert isinstance(known.models_[0].objective, Powell)


def test_a_fit_without_known_censoring_times_is_the_plain_one():
    plain = small().fit(X, Y)
    named = small().fit(X, Y, censoring_time=None)
    known = small().fit(X, Y, censoring_time=LIMIT)
    np.testing.assert_array_equal(quantiles(named), quantiles(plain))
    assert not np.array_equal(quantiles(known), quantiles(plain))


@pytest.mark.parametrize("transform", ["standardize", "log", None])
def test_events_may_have_no_end_of_follow_up(transform):
    model = small(time_transform=transform, batch_size=1000, max_epochs=20)
    fits = [
        quantiles(model.fit(X, Y, censoring_time=np.where(EVENT, end, TIME)))
        for end in (np.inf, 1e25)
    ]
    # Far enough is as good as never; in one batch the order of rows matters for rounding alone.
    np.testing.assert_allclose(*fits, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("transform", ["standardize", "log", None])
def test_limits_that_none_reaches_make_it_the_plain_check_loss(transform):
    everything_seen = small(
        batch_size=1000, max_epochs=60, learning_rate=0.1, time_transform=transform
    )
    known = everything_seen.fit(X, TIME, censoring_time=np.full(len(TIME), np.inf))
    first = quantiles(known)
    plain = quantiles(everything_seen.fit(X, TIME))
    # In one batch the order of rows matters for rounding alone.
    assert plain.max() > 8
    np.testing.assert_allclose(first, plain, rtol=1e-3)


def test_a_row_of_weight_two_is_two_rows():
    weight = 1 + np.arange(len(X)) % 2
    twice = np.repeat(np.arange(len(X)), weight)
    weighted = small().fit(X, Y, sample_weight=weight, censoring_time=LIMIT)
    repeated = small().fit(X[twice], Y[twice], censoring_time=LIMIT[twice])
    np.testing.assert_array_equal(quantiles(weighted), quantiles(repeated))


def test_fractional_weights_scale_the_loss():
    weight = np.where(np.arange(len(X)) % 2, 0.5, 1.5)
    weighted = small().fit(X, Y, sample_weight=weight, censoring_time=LIMIT)
    scaled = small().fit(X, Y, sample_weight=3 * weight, censoring_time=LIMIT)
    plain = small().fit(X, Y, censoring_time=LIMIT)
    np.testing.assert_array_equal(quantiles(weighted), quantiles(scaled))
    assert not np.array_equal(quantiles(weighted), quantiles(plain))


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = small().fit(X[order], Y[order], censoring_time=LIMIT[order])
    np.testing.assert_array_equal(
        quantiles(shuffled), quantiles(small().fit(X, Y, censoring_time=LIMIT))
    )


def test_left_censored_rows_with_known_limits_are_the_mirror_image():
    time, limit = TIME - TIME.mean(), LIMIT - TIME.mean()
    options = {"quantiles": [0.2, 0.5, 0.7], "time_transform": None}
    right = small(**options).fit(X, (time, EVENT), censoring_time=limit)
    options["quantiles"] = [0.3, 0.5, 0.8]
    left = small(censoring="left", **options).fit(X, (-time, EVENT), censoring_time=-limit)
    np.testing.assert_allclose(quantiles(left), -quantiles(right)[:, ::-1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("transform", ["standardize", "log"])
def test_left_censored_events_may_have_no_limit(transform):
    model = small(censoring="left", time_transform=transform)
    model.fit(X, Y, censoring_time=np.where(EVENT, -np.inf, TIME))
    assert np.isfinite(quantiles(model)).all()


def test_a_model_with_known_limits_can_be_saved(tmp_path):
    model = small(early_stopping=True).fit(X, Y, censoring_time=LIMIT)
    model.save(tmp_path / "model.safetensors")
    loaded = censquant.load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(quantiles(loaded), quantiles(model))


def test_a_resumed_fit_with_known_limits_has_the_same_bits(tmp_path):
    whole = small().fit(X, Y, censoring_time=LIMIT)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=1)
    known = {"censoring_time": LIMIT, "checkpoint": checkpoint}
    small().fit(X, Y, callbacks=[stop_after(2)], **known)
    resumed = small(random_state=9).fit(X, Y, **known)
    np.testing.assert_array_equal(quantiles(resumed), quantiles(whole))


ROW_OF_EVENT, ROW_CENSORED = int(np.argmax(EVENT)), int(np.argmin(EVENT))


@pytest.mark.parametrize(
    ("row", "value", "side"),
    [
        (ROW_OF_EVENT, TIME[ROW_OF_EVENT] - 1, "right"),
        (ROW_OF_EVENT, np.nan, "right"),
        (ROW_CENSORED, TIME[ROW_CENSORED] + 1, "right"),
        (ROW_CENSORED, TIME[ROW_CENSORED] - 1, "right"),
        (ROW_CENSORED, np.inf, "right"),
        (ROW_CENSORED, np.nan, "right"),
        (ROW_OF_EVENT, TIME[ROW_OF_EVENT] + 1, "left"),
    ],
)
def test_censoring_times_that_contradict_the_times_are_refused(row, value, side):
    limit = (LIMIT if side == "right" else np.minimum(TIME, np.where(EVENT, 0, TIME))).copy()
    limit[row] = value
    message = (
        "censoring_time must be the time of a censored row and not "
        f"{'before' if side == 'right' else 'after'} the time of an event, got {value:g} in row "
        f"{row} with {'an event' if EVENT[row] else 'censoring'} at {TIME[row]:g}."
    )
    refused(ValueError, message, lambda: small(censoring=side).fit(X, Y, censoring_time=limit))


def test_censoring_times_must_be_as_many_as_rows():
    refused(
        ValueError,
        "censoring_time must have one value for each row, got 3 values for 150 rows.",
        lambda: small().fit(X, Y, censoring_time=LIMIT[:3]),
    )


# The crossing penalty


def crossings(model):
    """Neighbouring quantiles in the wrong order, before they are sorted."""
    raw = model.models_[0].network.predict(model.models_[0].feature_scale.apply(X))
    return int((np.diff(raw, axis=1) < 0).sum())


def test_the_crossing_penalty_takes_crossings_away():
    free, penalised = (
        crossings(small(max_epochs=80, crossing_penalty=strength).fit(X, Y))
        for strength in (0.0, 1.0)
    )
    assert free > 100
    assert penalised < 20


def test_the_crossing_margin_keeps_quantiles_apart():
    gaps = []
    for margin in (0.0, 0.2):
        model = small(max_epochs=40, crossing_penalty=10.0, crossing_margin=margin).fit(X, Y)
        raw = model.models_[0].network.predict(model.models_[0].feature_scale.apply(X))
        gaps.append(np.diff(raw, axis=1))
    assert np.median(gaps[0]) < 0.15
    assert np.median(gaps[1]) > 0.15


def test_a_margin_without_a_penalty_has_no_effect():
    fits = [quantiles(small(crossing_margin=margin).fit(X, Y)) for margin in (0.0, 1.0)]
    np.testing.assert_array_equal(*fits)


@pytest.mark.parametrize("name", ["crossing_penalty", "crossing_margin"])
def test_a_penalty_must_be_a_number_and_not_negative(name):
    refused(
        ValueError,
        f"{name} must be finite and inside [0, inf), got -0.5.",
        lambda: small(**{name: -0.5}).fit(X, Y),
    )
    refused(
        TypeError,
        f"{name} must be a number, got 'strong'.",
        lambda: small(**{name: "strong"}).fit(X, Y),
    )


# Levels that are renewed every few epochs


@pytest.mark.parametrize("n_members", [1, 2])
def test_levels_are_renewed_exactly_every_so_many_epochs(n_members):
    seen = {}
    spy = Recorder(on_epoch=lambda run: seen.setdefault(run.member, []).append(run.rows.level))
    model = small(max_epochs=7, em_epochs=3, n_members=n_members)
    model.fit(X, Y, callbacks=[spy])
    assert len(seen) == n_members
    for levels in seen.values():
        changed = [
            epoch + 2
            for epoch, (one, other) in enumerate(pairwise(levels))
            if not np.array_equal(one, other)
        ]
        assert changed == [3, 6]
        assert (levels[0] >= 0).all()


def test_renewal_every_epoch_differs_from_renewal_at_every_step():
    options = {"batch_size": 32, "level_rule": "interpolate"}
    fits = [quantiles(small(em_epochs=every, **options).fit(X, Y)) for every in (None, 1, 2)]
    assert len({fit.tobytes() for fit in fits}) == 3


@pytest.mark.parametrize("stop", [2, 3, 4])
def test_a_fit_resumed_within_a_period_has_the_same_bits(tmp_path, stop):
    options = {"em_epochs": 3, "max_epochs": 8, "dropout": 0.2}
    whole = small(**options).fit(X, Y)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=1)
    small(**options).fit(X, Y, checkpoint=checkpoint, callbacks=[stop_after(stop)])
    resumed = small(random_state=9, **options).fit(X, Y, checkpoint=checkpoint)
    np.testing.assert_array_equal(quantiles(resumed), quantiles(whole))
    assert resumed.history_ == whole.history_


@pytest.mark.parametrize("option", [{"em_epochs": 2}, {"crossing_penalty": 1.0}])
def test_options_of_portnoys_loss_are_refused_with_known_censoring_times(option):
    message = (
        "crossing_penalty and em_epochs belong to Portnoy's loss and must be left at their "
        "defaults with censoring_time, which takes another."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        small(**option).fit(X, Y, censoring_time=LIMIT)


def test_a_checkpoint_of_another_em_period_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run", every=1)
    small(em_epochs=2).fit(X, Y, checkpoint=checkpoint)
    with pytest.raises(ModelFileError, match="belongs to another training"):
        small(em_epochs=3).fit(X, Y, checkpoint=checkpoint)


def test_renewal_at_every_step_converges_faster():
    def error(every, seed):
        train, test = make_norm_linear(500, random_state=seed), make_norm_linear(random_state=99)
        model = CQRNN(
            np.arange(1, 10) / 10, activation="gelu", standardize=False, time_transform=None,
            max_epochs=100, em_epochs=every, random_state=seed,
        ).fit(train.X, train.y)  # fmt: skip
        levels = [0.1, 0.5, 0.9]
        predicted = quantiles(model, test.X, levels)
        return ((predicted - test.true_quantiles(levels)) ** 2).mean()

    partial, full = (np.mean([error(every, seed) for seed in range(4)]) for every in (None, 50))
    assert partial < 0.5 * full


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (0, ValueError, "em_epochs must be at least 1, got 0."),
        (1.5, TypeError, "em_epochs must be an integer, got 1.5."),
    ],
)
def test_em_epochs_must_be_a_positive_integer(value, kind, message):
    refused(kind, message, lambda: small(em_epochs=value).fit(X, Y))
