"""Numbers as text."""

import math

import pytest

from censquant.report._numbers import p_text, percent, round_times, rounded, shown, time_text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.56, "1,235"), (12.345, "12.3"), (0.012345, "0.0123"), (0.0, "0"), (5.0, "5"),
     (-2.5, "-2.5"), (math.inf, "beyond the data"), (100.0, "100")],
)  # fmt: skip
def test_numbers_have_three_digits(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50 %"), (0.004, "0.4 %"), (0.995, "99.5 %"), (1.0, "100 %"), (0.0, "0 %"),
     (0.99999, "above 99.9 %"), (1e-5, "below 0.1 %"), (0.01, "1 %"), (math.nan, "not known")],
)  # fmt: skip
def test_shares_are_never_rounded_to_nothing_or_all(share, text):
    assert percent(share).replace("\u00a0", " ") == text


def test_times_have_their_unit_unless_they_are_unknown():
    assert time_text(3.0, "days").replace("\u00a0", " ") == "3 days"
    assert time_text(math.nan, "days") == "beyond the data"
    assert time_text(3.0, "") == "3"


@pytest.mark.parametrize("end", [0.037, 1.0, 99.0, 2034.0, 8e6])
def test_round_times_are_equal_steps_up_to_the_end(end):
    times = round_times(end, 4)
    assert 2 <= len(times) <= 8
    assert times[-1] <= end
    assert times[-1] > 0.7 * end
    assert times == pytest.approx([times[0] * (k + 1) for k in range(len(times))])
    assert round_times(0.0, 4) == ()


def test_small_p_values_are_bounds():
    assert (p_text(0.0321), p_text(1e-9)) == ("p = 0.032", "p < 0.001")
    assert rounded(123456.0) == 123000.0
