import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._engine.losses._grid import LEVEL_RULES, pinball, portnoy
from censquant.torch import pinball_loss, portnoy_loss
from strategies import loss_rows

DTYPES = {np.float64: torch.float64, np.float32: torch.float32}
few = settings(max_examples=20, deadline=None)
types = pytest.mark.parametrize("dtype", DTYPES)


def tensors(rows):
    pred = torch.tensor(rows.predicted, requires_grad=True)
    return pred, *(torch.tensor(column) for column in (rows.time, rows.event, rows.weight))


@types
@few
@given(data=st.data())
def test_the_check_loss_is_the_kernels(dtype, data):
    rows = data.draw(loss_rows(dtype=dtype))
    pred, time, _, weight = tensors(rows)
    loss = pinball_loss(pred, time, rows.taus.tolist(), weight=weight)
    loss.backward()
    gradient = np.empty_like(rows.predicted)
    expected = pinball(rows.predicted, rows.time, rows.weight, rows.taus, gradient)
    assert loss.dtype == pred.dtype
    assert loss.item() == dtype(expected)
    np.testing.assert_array_equal(pred.grad, gradient)


@types
@few
@given(data=st.data(), rule=st.sampled_from(list(LEVEL_RULES)), below=st.sampled_from([0.0, 1.0]))
def test_portnoys_loss_is_the_kernels(dtype, data, rule, below):
    rows = data.draw(loss_rows(dtype=dtype))
    pred, time, event, weight = tensors(rows)
    options = data.draw(st.sampled_from([{"y_star": 2.0}, {"cap": 1.0}, {}]))
    loss = portnoy_loss(
        pred,
        time,
        event,
        torch.tensor(rows.taus),
        level_rule=rule,
        weight_below=below,
        weight=weight,
        **options,
    )
    loss.backward()
    gradient = np.empty_like(rows.predicted)
    expected = portnoy(
        rows.predicted,
        rows.time,
        rows.event,
        rows.weight,
        np.full_like(rows.time, -1),
        rows.taus,
        LEVEL_RULES[rule],
        below,
        options.get("y_star", options.get("cap", 1e30)),
        "y_star" not in options,
        gradient,
    )
    assert loss.item() == dtype(expected)
    np.testing.assert_array_equal(pred.grad, gradient)


@pytest.mark.parametrize("options", [{"y_star": 9.0}, {}])
def test_gradients_are_those_of_finite_differences(options):
    rng = np.random.default_rng(0)
    pred = torch.tensor(rng.normal(size=(6, 3)), requires_grad=True)
    time, event = torch.tensor(rng.normal(size=6)), torch.tensor([True, False] * 3)
    taus = [0.25, 0.5, 0.75]
    # The levels of "lower" do not move with the predictions, as the gradient has it.
    assert torch.autograd.gradcheck(
        lambda p: portnoy_loss(p, time, event, taus, level_rule="lower", **options), pred
    )
    assert torch.autograd.gradcheck(lambda p: pinball_loss(p, time, taus), pred)


def test_the_gradient_passes_through_what_made_the_predictions():
    scale = torch.tensor(2.0, requires_grad=True)
    base = torch.tensor([[1.0, 2.0]])
    (3 * pinball_loss(scale * base, torch.tensor([9.0]), [0.25, 0.5])).backward()
    assert scale.grad.item() == pytest.approx(-3 * (0.25 * 1 + 0.5 * 2))


def test_rows_without_weights_weigh_one():
    pred, time, event = torch.ones(2, 1), torch.tensor([3.0, 4.0]), torch.tensor([True, False])
    one = portnoy_loss(pred, time, event, [0.5], weight=torch.ones(2))
    assert portnoy_loss(pred, time, event, [0.5]) == one


def test_events_may_be_numbers_and_predictions_of_any_layout():
    pred = torch.tensor([[1.0, 3.0], [2.0, 4.0]]).T
    time = torch.tensor([2, 2])
    taus = [0.25, 0.75]
    whole = portnoy_loss(pred, time, torch.tensor([1, 0]), taus, y_star=9.0)
    flags = torch.tensor([True, False])
    assert whole == portnoy_loss(pred.contiguous(), time.float(), flags, taus, y_star=9.0)


@pytest.mark.parametrize(
    ("pred", "time"), [((4, 2), (4,)), ((4,), (4,)), ((4, 3), (5,)), ((4, 3), (4, 1))]
)
def test_wrong_shapes_are_refused(pred, time):
    message = f"pred must have shape (n, 3) and time (n,), got {pred} and {time}."
    taus = [0.25, 0.5, 0.75]
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        pinball_loss(torch.zeros(pred), torch.zeros(time), taus)
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        portnoy_loss(torch.zeros(pred), torch.zeros(time), torch.ones(4, dtype=torch.bool), taus)


@pytest.mark.parametrize("dtype", [torch.float16, torch.int64])
def test_wrong_types_are_refused(dtype):
    message = f"pred must be float32 or float64, got {dtype}."
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        pinball_loss(torch.zeros((2, 1), dtype=dtype), torch.zeros(2), [0.5])


@pytest.mark.parametrize("column", ["event", "weight"])
def test_columns_of_another_length_are_refused(column):
    pred, time, columns = torch.zeros(4, 1), torch.zeros(4), {"event": torch.ones(4)}
    columns[column] = torch.ones(3)
    message = f"{column} must have shape (4,), got (3,)."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        portnoy_loss(pred, time, taus=[0.5], **columns)


def test_levels_must_increase():
    message = "taus must be strictly increasing and inside (0, 1), got (0.5, 0.25)."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        pinball_loss(torch.zeros(4, 2), torch.zeros(4), [0.5, 0.25])


def test_unknown_rules_and_caps_are_refused():
    arguments = (torch.zeros(1, 1), torch.zeros(1), torch.ones(1), [0.5])
    message = "level_rule must be one of 'nearest', 'lower', 'interpolate', got 'upper'."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        portnoy_loss(*arguments, level_rule="upper")
    message = "cap must be a number, got 'high'."
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        portnoy_loss(*arguments, cap="high")
