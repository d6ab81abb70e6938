"""What a curve knows of its own limits."""

import pickle

import numpy as np
import pytest

from censquant.quantiles import QuantileCurve
from censquant.quantiles._curve import reach_until

TAUS = np.array([0.25, 0.5, 0.75])
CURVE = QuantileCurve([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], TAUS, 0.0)


def test_everything_is_identified_where_nobody_said_otherwise():
    np.testing.assert_array_equal(CURVE.reach, [1.0, 1.0])
    assert CURVE.is_identified([0.1, 0.99]).all()


def test_levels_up_to_the_reach_are_identified():
    curve = CURVE.with_reach([0.5, 0.75])
    np.testing.assert_array_equal(
        curve.is_identified([0.25, 0.1 + 0.4, 0.75]), [[1, 1, 0], [1, 1, 1]]
    )


def test_the_lowest_level_turns_the_sense_round():
    curve = CURVE.with_reach([0.5, 0.75], lowest=True)
    assert curve.reach_is_lowest
    np.testing.assert_array_equal(curve.is_identified([0.25, 0.5, 0.9]), [[0, 1, 1], [0, 0, 1]])


@pytest.mark.parametrize("lowest", [False, True])
@pytest.mark.parametrize("levels", [[0.25, 0.75], [0.5], [[0.25, 0.5], [0.75, 0.8]], [[0.9], [1]]])
def test_all_are_identified_where_each_is(lowest, levels):
    curve = CURVE.with_reach([0.5, 0.75], lowest=lowest)
    assert curve.identifies_all(levels) == curve.is_identified(levels).all()


def test_a_rule_is_asked_once_and_only_if_needed():
    asked = []

    def rule(curve):
        asked.append(len(curve))
        return np.full(len(curve), 0.3)

    curve = CURVE.with_reach(rule)
    curve.at([0.5])
    assert asked == []
    np.testing.assert_array_equal(curve.reach, curve.reach)
    assert asked == [2]


def test_a_reach_of_the_wrong_length_is_refused():
    for reach in ([0.5], lambda curve: [0.5]):
        with pytest.raises(ValueError, match=r"^reach must have shape \(2,\), got \(1,\).$"):
            CURVE.with_reach(reach).reach  # noqa: B018


def test_rows_and_pickles_keep_their_reach():
    curve = CURVE.with_reach(lambda curve: np.array([0.5, 0.7]), lowest=True)
    np.testing.assert_array_equal(curve.take([1]).reach, [0.7])
    assert curve.take(slice(1)).reach_is_lowest
    np.testing.assert_array_equal(curve.take([1], reach=False).reach, [1.0])
    again = pickle.loads(pickle.dumps(CURVE.with_reach(_rule)))
    np.testing.assert_array_equal(again.reach, [0.25, 0.25])


def _rule(curve):
    return np.full(len(curve), 0.25)


def test_the_reach_is_the_level_of_the_last_time_followed():
    np.testing.assert_allclose(reach_until(CURVE, [2.5, 3.0]), [0.625, 0.375])


def test_the_reach_never_passes_the_grid():
    np.testing.assert_array_equal(reach_until(CURVE, [100.0, np.inf]), [0.75, 0.75])
    np.testing.assert_array_equal(reach_until(CURVE, [0.0, -np.inf], lowest=True), [0.25, 0.25])


def test_nothing_is_identified_where_nobody_was_followed():
    np.testing.assert_array_equal(reach_until(CURVE, [0.0, -1.0]), [0.0, 0.0])


def test_a_single_level_is_identified_or_not():
    curve = QuantileCurve([[1.0], [2.0]], [0.5])
    np.testing.assert_array_equal(reach_until(curve, [1.5, 1.5]), [0.5, 0.0])
    np.testing.assert_array_equal(reach_until(curve, [1.5, 1.5], lowest=True), [1.0, 0.5])


def test_remaining_levels_count_from_the_time_survived():
    curve = CURVE.with_reach([0.7, 0.7])
    # After 2 the levels 0.2 and 0.6 of the rest are the levels 0.6 and 0.8 from the start.
    known = curve.is_identified(curve.conditional_levels([2.0, 2.0], [0.2, 0.6]))
    np.testing.assert_array_equal(known, [[True, False], [True, True]])
