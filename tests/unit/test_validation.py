import math
import re

import numpy as np
import pytest

from censquant._validation import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_sizes,
)


def refused(error, message, check, *arguments, **options):
    with pytest.raises(error, match="^" + re.escape(message) + "$"):
        check(*arguments, **options)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_any_integer_becomes_an_int(value):
    result = check_integer("n", value, minimum=3)
    assert result == 3
    assert type(result) is int


@pytest.mark.parametrize(
    ("value", "shown"), [(True, "True"), (3.0, "3.0"), ("3", "'3'"), (None, "None")]
)
def test_what_is_no_integer_is_refused(value, shown):
    message = f"n must be an integer, got {shown}."
    refused(TypeError, message, check_integer, "n", value, minimum=1)


def test_an_integer_below_the_minimum_is_refused():
    refused(ValueError, "n must be at least 1, got 0.", check_integer, "n", 0, minimum=1)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(0.5)])
def test_any_real_becomes_a_float(value):
    result = check_number("rate", value, minimum=0.5, below=1.0)
    assert result == 0.5
    assert type(result) is float


def test_an_integer_is_a_number():
    assert check_number("rate", 2) == 2.0


@pytest.mark.parametrize(
    ("value", "shown"), [(True, "True"), ("0.5", "'0.5'"), (None, "None"), (1j, "1j")]
)
def test_what_is_no_number_is_refused(value, shown):
    refused(TypeError, f"rate must be a number, got {shown}.", check_number, "rate", value)


@pytest.mark.parametrize("value", [-0.1, 1.0, math.nan, math.inf, -math.inf])
def test_a_number_outside_its_range_is_refused(value):
    message = f"rate must be finite and inside [0, 1), got {value!r}."
    refused(ValueError, message, check_number, "rate", value, minimum=0.0, below=1.0)


def test_an_open_range_leaves_out_its_minimum():
    message = "rate must be finite and inside (0, inf), got 0.0."
    refused(ValueError, message, check_number, "rate", 0.0, minimum=0.0, exclude_minimum=True)
    assert check_number("rate", 1e-300, minimum=0.0, exclude_minimum=True) == 1e-300


def test_a_number_without_bounds_is_finite():
    message = "cap must be finite and inside (-inf, inf), got inf."
    refused(ValueError, message, check_number, "cap", math.inf)
    assert check_number("cap", -1e300) == -1e300


def test_one_of_the_choices_is_returned():
    assert check_choice("head", "free", ("free", "increasing")) == "free"
    assert check_choice("transform", None, ("log", None)) is None


@pytest.mark.parametrize("value", ["Free", 1, True, None, ["free"]])
def test_anything_else_than_the_choices_is_refused(value):
    message = f"head must be one of 'free', 'increasing', got {value!r}."
    refused(ValueError, message, check_choice, "head", value, {"free": 0, "increasing": 1})


def test_true_is_not_the_choice_one():
    message = "verbose must be one of 0, 1, got True."
    refused(ValueError, message, check_choice, "verbose", True, (0, 1))


def test_an_array_is_no_choice_and_no_riddle():
    message = "head must be one of 'free', got array(['free', 'free'], dtype='<U4')."
    refused(ValueError, message, check_choice, "head", np.array(["free"] * 2), ("free",))


@pytest.mark.parametrize("value", [True, np.True_, np.bool_(True)])
def test_any_truth_value_becomes_a_bool(value):
    assert check_flag("standardize", value) is True


@pytest.mark.parametrize(("value", "shown"), [(1, "1"), ("yes", "'yes'"), (None, "None")])
def test_what_is_no_truth_value_is_refused(value, shown):
    message = f"standardize must be True or False, got {shown}."
    refused(TypeError, message, check_flag, "standardize", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(5, (5,)), (np.int64(5), (5,)), ([5, 4], (5, 4)), (np.array([5, 4]), (5, 4)), ((), ())],
)
def test_sizes_become_a_tuple_of_ints(value, expected):
    sizes = check_sizes("hidden", value)
    assert sizes == expected
    assert all(type(size) is int for size in sizes)


@pytest.mark.parametrize(("value", "shown"), [("100", "'100'"), (None, "None"), (1.5, "1.5")])
def test_what_is_no_sequence_of_sizes_is_refused(value, shown):
    message = f"hidden must be a sequence of positive integers, got {shown}."
    refused(TypeError, message, check_sizes, "hidden", value)


def test_every_size_is_a_positive_integer():
    message = "Every entry of hidden must be at least 1, got 0."
    refused(ValueError, message, check_sizes, "hidden", (5, 0))
    message = "Every entry of hidden must be an integer, got 2.5."
    refused(TypeError, message, check_sizes, "hidden", (5, 2.5))
    message = "Every entry of hidden must be an integer, got True."
    refused(TypeError, message, check_sizes, "hidden", True)
