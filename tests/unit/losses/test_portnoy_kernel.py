import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._engine.losses._grid import LEVEL_RULES, estimate_levels, portnoy
from oracles import slow_level, slow_portnoy
from strategies import loss_rows

TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}
rules = pytest.mark.parametrize("rule", LEVEL_RULES)
few = settings(max_examples=80, deadline=None)


def run(rows, rule, *, weight_below=1.0, limit=3.0, one_sided=False):
    """Loss and gradient of the kernel."""
    gradient = np.full_like(rows.predicted, np.nan)
    loss = portnoy(*rows, LEVEL_RULES[rule], weight_below, limit, one_sided, gradient)
    return loss, gradient


@rules
@pytest.mark.parametrize("dtype", TOLERANCE)
@few
@given(data=st.data())
def test_value_and_gradient_are_those_of_the_definition(dtype, rule, data):
    rows = data.draw(loss_rows(dtype=dtype))
    options = {
        "weight_below": data.draw(st.sampled_from([0.0, 1.0])),
        "limit": data.draw(st.sampled_from([-0.5, 2.0, 100.0])),
        "one_sided": data.draw(st.booleans()),
    }
    loss, gradient = run(rows, rule, **options)
    expected_loss, expected_gradient = slow_portnoy(*rows, rule=rule, **options)
    # A one-sided loss may cancel to nearly nothing: rounding is measured by the size of its terms.
    size = max(1.0, float(rows.weight.max()) * abs(options["limit"]) * len(rows.taus))
    assert loss == pytest.approx(expected_loss, rel=TOLERANCE[dtype], abs=TOLERANCE[dtype] * size)
    np.testing.assert_allclose(
        gradient, expected_gradient, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


@rules
@pytest.mark.parametrize("dtype", TOLERANCE)
@few
@given(data=st.data())
def test_levels_are_those_of_the_rule(dtype, rule, data):
    rows = data.draw(loss_rows(dtype=dtype))
    out = np.empty_like(rows.time)
    estimate_levels(rows.time, rows.predicted, rows.taus, LEVEL_RULES[rule], out)
    expected = [
        slow_level(time, predicted, rows.taus.tolist(), rule)
        for time, predicted in zip(rows.time.tolist(), rows.predicted.tolist(), strict=True)
    ]
    np.testing.assert_allclose(out, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize(
    ("time", "nearest", "lower", "interpolate"),
    [
        (-9.0, 0.2, 0.0, 0.0),
        (0.5, 0.2, 0.0, 0.1),
        (1.0, 0.2, 0.2, 0.2),
        (2.0, 0.2, 0.2, 0.4),
        (2.5, 0.6, 0.2, 0.5),
        (3.0, 0.6, 0.6, 0.6),
        (4.0, 0.6, 0.6, 0.7),
        (5.0, 0.8, 0.8, 0.8),
        (99.0, 0.8, 0.8, 0.8),
    ],
)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_hand_computed_levels(time, nearest, lower, interpolate, order):
    expected = {"nearest": nearest, "lower": lower, "interpolate": interpolate}
    predicted = np.array([[1.0, 3.0, 5.0]])[:, order]
    for rule, level in expected.items():
        out = np.empty(1)
        if rule == "nearest" and order != [0, 1, 2]:
            continue  # it names a column and so does not look at the order of the values
        estimate_levels(
            np.array([time]), predicted, np.array([0.2, 0.6, 0.8]), LEVEL_RULES[rule], out
        )
        assert out[0] == pytest.approx(level)


@pytest.mark.parametrize("gap", [0.0, 1e-13])
@pytest.mark.parametrize(("time", "level"), [(0.5, 0.0), (1.0, 0.5), (1.5, 0.75)])
def test_predictions_that_coincide_give_finite_levels(gap, time, level):
    out = np.empty(1)
    predicted = np.array([[1.0, 1.0 + gap]])
    estimate_levels(
        np.array([time]),
        predicted,
        np.array([0.5, 0.75]),
        LEVEL_RULES["interpolate"],
        out,
    )
    # Two equal predictions at the time itself are both at or below it.
    assert out[0] == pytest.approx(0.75 if gap == 0 and time == 1.0 else level)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-10])
def test_a_time_between_near_predictions_lies_between_their_levels(gap):
    out = np.empty(1)
    estimate_levels(
        np.array([gap / 4]),
        np.array([[0.0, gap]]),
        np.array([0.5, 0.75]),
        LEVEL_RULES["interpolate"],
        out,
    )
    assert out[0] == pytest.approx(0.5625)


@few
@given(rows=loss_rows())
def test_without_censoring_every_variant_is_the_check_loss(rows):
    seen = rows._replace(event=np.ones(len(rows.time), dtype=bool))
    losses, gradients = zip(
        *(
            run(seen, rule, weight_below=below, limit=limit, one_sided=one_sided)
            for rule in LEVEL_RULES
            for below in (0.0, 1.0)
            for limit, one_sided in ((1.0, False), (-3.0, True))
        ),
        strict=True,
    )
    np.testing.assert_array_equal(losses, losses[0])
    np.testing.assert_array_equal(gradients, np.broadcast_to(gradients[0], np.shape(gradients)))


@few
@given(rows=loss_rows(), rule=st.sampled_from(list(LEVEL_RULES)))
def test_far_walls_and_no_wall_push_alike(rows, rule):
    _, wall = run(rows, rule, limit=1e6)
    _, no_wall = run(rows, rule, limit=1e30, one_sided=True)
    np.testing.assert_allclose(wall, no_wall, atol=1e-12)


@few
@given(rows=loss_rows(), rule=st.sampled_from(list(LEVEL_RULES)))
def test_above_the_cap_nothing_is_pushed_up(rows, rule):
    censored = rows._replace(event=np.zeros(len(rows.time), dtype=bool))
    _, gradient = run(censored, rule, limit=0.5, one_sided=True)
    assert (gradient[rows.predicted > 0.5] >= 0).all()


@few
@given(rows=loss_rows())
def test_the_weight_below_matters_only_where_predictions_cross(rows):
    rows.predicted.sort(axis=1)
    estimated = rows._replace(level=np.full_like(rows.level, -1.0))
    for rule in ("lower", "interpolate"):
        # The far time lies past every prediction, as an estimator sees to.
        _, one = run(estimated, rule, weight_below=1.0, limit=1e6)
        _, zero = run(estimated, rule, weight_below=0.0, limit=1e6)
        # Below its own level a sorted row lies below the time, where every weight pushes alike,
        # except where neighbours are equal.
        distinct = (np.diff(rows.predicted, axis=1) > 0).all(axis=1)
        np.testing.assert_allclose(one[distinct], zero[distinct], atol=1e-12)
