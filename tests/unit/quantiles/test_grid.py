import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from censquant.quantiles._grid import DEFAULT_QUANTILES, check_levels, check_quantiles, even_grid


def test_default_levels_are_exact_decimals():
    assert DEFAULT_QUANTILES[:3] == (0.05, 0.1, 0.15)
    assert DEFAULT_QUANTILES[-1] == 0.95
    assert len(DEFAULT_QUANTILES) == 19
    assert all(level == float(f"{level:.2f}") for level in DEFAULT_QUANTILES)


def test_none_means_the_default_grid():
    assert_array_equal(check_quantiles(None), DEFAULT_QUANTILES)


def test_a_number_is_one_level():
    assert_array_equal(check_quantiles(0.5), [0.5])
    assert_array_equal(check_levels(0.5), [0.5])


def test_the_result_is_a_new_float64_array():
    given_levels = np.array([0.25, 0.5], dtype=np.float32)
    levels = check_quantiles(given_levels)
    levels[0] = 0.1
    assert levels.dtype == np.float64
    assert given_levels[0] == np.float32(0.25)


def test_levels_to_evaluate_may_come_in_any_order_and_repeat():
    assert_array_equal(check_levels([0.9, 0.1, 0.9]), [0.9, 0.1, 0.9])


@pytest.mark.parametrize(
    ("quantiles", "shown"),
    [
        ((0.5, 0.25), "(0.5, 0.25)"),
        ((0.5, 0.5), "(0.5, 0.5)"),
        ((0.0, 0.5), "(0.0, 0.5)"),
        ([10, 50, 90], "(10.0, 50.0, 90.0)"),
        ([0.5, np.nan], "(0.5, nan)"),
        ([np.nan, 0.5], "(nan, 0.5)"),
        ([0.5, np.inf], "(0.5, inf)"),
        (1.0, "(1.0,)"),
    ],
)
def test_a_grid_out_of_order_or_range_is_shown_in_the_message(quantiles, shown):
    message = f"quantiles must be strictly increasing and inside (0, 1), got {shown}."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_quantiles(quantiles)


def test_of_a_long_grid_the_message_shows_the_first_wrong_level():
    levels = np.arange(1, 101) / 128
    levels[60] = levels[59]
    message = (
        "quantiles must be strictly increasing and inside (0, 1), "
        "got 0.46875 at position 60 of 100 levels."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        check_quantiles(levels)


def test_levels_outside_are_shown_in_the_message():
    with pytest.raises(
        ValueError, match=re.escape("levels must be inside (0, 1), got (0.5, 1.0).")
    ):
        check_levels([0.5, 1.0])


@pytest.mark.parametrize("check", [check_quantiles, check_levels])
class TestMessagesOfBothChecks:
    def test_name_the_argument(self, check):
        with pytest.raises(ValueError, match=r"^taus must be .*inside \(0, 1\), got \(2.0,\)\.$"):
            check([2.0], name="taus")

    def test_refuse_a_matrix(self, check):
        message = "taus must be one-dimensional, got an array of shape (1, 2)."
        with pytest.raises(ValueError, match=re.escape(message)):
            check([[0.1, 0.2]], name="taus")

    def test_refuse_no_level(self, check):
        with pytest.raises(
            ValueError, match=re.escape("taus must hold at least one level, got none.")
        ):
            check([], name="taus")

    @pytest.mark.parametrize("wrong", ["median", True, [None], ["0.5"], 1j])
    def test_refuse_what_is_not_a_number(self, check, wrong):
        with pytest.raises(TypeError, match=re.escape(f"taus must be numbers, got {wrong!r}.")):
            check(wrong, name="taus")


@settings(max_examples=25)
@given(st.integers(1, 200))
def test_even_grids_cut_the_unit_interval_into_equal_cells(n_levels):
    grid = even_grid(n_levels)
    cells = np.diff(np.concatenate(([0.0], grid, [1.0])))
    np.testing.assert_allclose(cells, 1 / (n_levels + 1), rtol=1e-10)
    assert_array_equal(check_quantiles(grid), grid)


def test_even_grid_of_nine_is_the_tenths():
    assert_array_equal(even_grid(9), np.arange(1, 10) / 10)


def test_even_grid_refuses_no_levels():
    with pytest.raises(ValueError, match=re.escape("n_levels must be at least 1, got 0.")):
        even_grid(0)


def test_even_grid_refuses_a_fraction():
    with pytest.raises(TypeError, match=re.escape("n_levels must be an integer, got 2.5.")):
        even_grid(2.5)
