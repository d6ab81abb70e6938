from dataclasses import replace

import numpy as np
import pytest

from censquant._engine.training._rows import Rows
from toys import censored_rows


def test_columns_get_the_types_of_the_kernels():
    rows = Rows.from_arrays(
        np.arange(6).reshape(2, 3)[::-1],
        time=np.array([1, 2]),
        event=np.array([0, 1]),
        weight=np.array([1, 2]),
        level=np.array([0.5, -1.0]),
    )
    kinds = [column.dtype.name for column in rows.arrays()]
    assert kinds == ["float32", "float32", "bool", "float32", "float32"]
    assert all(column.flags.c_contiguous for column in rows.arrays())
    np.testing.assert_array_equal(rows.x, [[3, 4, 5], [0, 1, 2]])


def test_rows_weigh_one_and_have_no_level_unless_told():
    rows = Rows.from_arrays(np.zeros((2, 1)), time=np.ones(2), event=np.ones(2))
    np.testing.assert_array_equal(rows.weight, [1, 1])
    np.testing.assert_array_equal(rows.level, [-1, -1])


def test_taken_rows_come_in_the_order_asked_for():
    rows = censored_rows(10)
    taken = rows.take(np.array([7, 2, 7]))
    assert len(taken) == 3
    for whole, part in zip(rows.arrays(), taken.arrays(), strict=True):
        np.testing.assert_array_equal(part, whole[[7, 2, 7]])


def test_blocks_are_all_rows_in_order_and_no_copies():
    rows = censored_rows(10)
    blocks = list(rows.blocks(4))
    assert [len(block) for block in blocks] == [4, 4, 2]
    for i, column in enumerate(rows.arrays()):
        parts = [block.arrays()[i] for block in blocks]
        np.testing.assert_array_equal(np.concatenate(parts), column)
        assert all(np.shares_memory(part, column) for part in parts)


def test_blocks_keep_every_column_in_its_place():
    rows = censored_rows(10)
    for limit in (None, rows.time + 1):
        for block in replace(rows, limit=limit).blocks(4):
            assert (block.limit is None) == (limit is None)
            if limit is not None:
                np.testing.assert_array_equal(block.limit, block.time + 1)


def test_columns_are_given_by_name_only():
    with pytest.raises(TypeError):
        Rows(*censored_rows(10).arrays())


@pytest.mark.parametrize("size", [1, 4, 10, 99])
def test_batches_are_every_row_once_in_random_order(size):
    rows = censored_rows(10)
    batches = list(rows.batches(np.random.default_rng(0), size))
    assert {len(batch) for batch in batches[:-1]} <= {size}
    order = np.random.default_rng(0).permutation(10)
    for i, column in enumerate(rows.arrays()):
        parts = [batch.arrays()[i] for batch in batches]
        np.testing.assert_array_equal(np.concatenate(parts), column[order])


def test_an_epoch_of_batches_moves_the_generator_once():
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    list(censored_rows(10).batches(rng, 4))
    other.permutation(10)
    assert rng.bit_generator.state == other.bit_generator.state
