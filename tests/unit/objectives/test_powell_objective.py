import numpy as np
import pytest

from censquant._engine.objectives._grid import Powell
from censquant._engine.training._rows import Rows
from oracles import slow_powell
from toys import TAUS, censored_rows

LEVELS = np.array(TAUS, dtype=np.float32)


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    plain = censored_rows(12)
    longer = rng.uniform(0, 1, size=12)
    return Rows.from_arrays(
        plain.x,
        time=plain.time,
        event=plain.event,
        weight=rng.uniform(0.5, 2, size=12),
        limit=np.where(plain.event, plain.time + longer, plain.time),
    )


@pytest.fixture
def output():
    return np.random.default_rng(2).normal(1.0, 0.5, size=(12, 3)).astype(np.float32)


def test_loss_and_gradient_are_those_of_the_definition(output, rows):
    out = np.full_like(output, np.nan)
    loss = Powell(TAUS).gradient(output, rows, out)
    expected_loss, expected = slow_powell(output, rows.time, rows.limit, rows.weight, LEVELS)
    assert isinstance(loss, float)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-7)


def test_validation_rows_are_judged_by_the_same_loss(output, rows):
    loss = Powell(TAUS).gradient(output, rows, np.empty_like(output))
    assert Powell(TAUS).validation_loss(output, rows) == loss


def test_no_row_is_dropped_and_nothing_is_learned_beforehand(rows):
    objective = Powell(TAUS)
    assert objective.bind(rows) is objective
    assert objective.prepare(rows) is rows


def test_known_limits_travel_with_their_rows(rows):
    order = np.array([7, 2, 7])
    np.testing.assert_array_equal(rows.take(order).limit, rows.limit[order])
    blocks = list(rows.blocks(5))
    np.testing.assert_array_equal(np.concatenate([b.limit for b in blocks]), rows.limit)
    assert rows.limit.dtype == np.float32
    assert len(rows.arrays()) == 6


def test_rows_without_known_limits_have_no_such_column():
    rows = censored_rows(4)
    assert rows.limit is None
    assert rows.take(np.array([1])).limit is None
    assert [block.limit for block in rows.blocks(3)] == [None, None]
    assert len(rows.arrays()) == 5
