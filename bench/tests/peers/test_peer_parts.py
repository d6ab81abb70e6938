"""What stands around the peers: their base class, generators, features, times, held-out rows."""

import random
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from censquant.exceptions import NoEventsError
from censquant_bench.peers import Peer
from censquant_bench.peers._base import (
    Standardizer,
    event_grid,
    held_out,
    own_generators,
    positive_shift,
    rounded_up,
)

X = np.array([[0.0], [1.0], [2.0]])
Y = ([5.0, -2.0, 3.0], [True, False, True])


class Constant(Peer):
    """Predicts the same quantiles for every row, and keeps what it was given."""

    package = "numpy"
    module = "numpy"
    row = (1.0, 2.0)

    def _fit(self, X, target, seed):
        self.seen = X, target, seed
        self.drawn = np.random.random(), random.random(), torch.rand(1).item()  # noqa: NPY002

    def _predict(self, X, levels):
        return np.tile(self.row, (len(X), 1))


class Positive(Constant):
    needs_positive_times = True


class Crossed(Constant):
    row = (2.0, 1.0)


class Infinite(Constant):
    row = (2.0, np.inf)


def test_the_interface_cannot_be_used_alone():
    with pytest.raises(TypeError, match="abstract"):
        Peer()


def test_predictions_have_a_row_each_and_a_column_a_level():
    values = Constant().fit(X, Y).predict_quantiles(X[:2], [0.2, 0.8])
    np.testing.assert_array_equal(values, [[1.0, 2.0], [1.0, 2.0]])
    assert values.dtype == np.float64


def test_crossed_quantiles_are_sorted():
    values = Crossed().fit(X, Y).predict_quantiles(X, [0.2, 0.8])
    np.testing.assert_array_equal(values, [[1.0, 2.0]] * 3)


def test_times_are_moved_only_for_peers_that_need_positive_ones():
    np.testing.assert_array_equal(Constant().fit(X, Y).seen[1].time, Y[0])
    peer = Positive().fit(X, Y)
    np.testing.assert_allclose(peer.seen[1].time, [7.07, 0.07, 5.07])
    np.testing.assert_allclose(
        peer.predict_quantiles(X, [0.2, 0.8]), [[1.0 - 2.07, 2.0 - 2.07]] * 3
    )


def test_a_seed_decides_all_draws():
    one, again, other = (Constant(random_state=seed).fit(X, Y) for seed in (1, 1, 2))
    assert (one.drawn, one.seen[2]) == (again.drawn, again.seen[2])
    assert one.drawn != other.drawn


def test_a_library_that_draws_when_imported_moves_neither_fit_nor_caller(tmp_path, monkeypatch):
    source = "import random\nimport numpy\nrandom.random(), numpy.random.random()\n"
    (tmp_path / "draws_at_import.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(Constant, "module", "draws_at_import")
    before = states()
    first, second = (Constant(random_state=1).fit(X, Y) for _ in range(2))
    assert first.drawn == second.drawn
    assert states() == before


def test_without_a_seed_draws_are_fresh():
    assert Constant().fit(X, Y).drawn != Constant().fit(X, Y).drawn


def test_rows_that_do_not_match_are_refused():
    message = "X and y must have the same number of rows, got 2 and 3."
    with pytest.raises(ValueError, match=re.escape(message)):
        Constant().fit(X[:2], Y)


def test_a_target_without_events_is_refused():
    with pytest.raises(NoEventsError, match="y has no event: 3 of 3 rows are censored"):
        Constant().fit(X, (Y[0], [False] * 3))


def test_features_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="Input X contains NaN"):
        Constant().fit([[0.0], [np.nan], [1.0]], Y)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match=r"^random_state must be at least 0, got -1\.$"):
        Constant(random_state=-1).fit(X, Y)


def test_a_prediction_before_fit_is_refused():
    message = "Constant must be fitted first: call fit(X, y)."
    with pytest.raises(RuntimeError, match=re.escape(message)):
        Constant().predict_quantiles(X, [0.5])


def test_another_number_of_columns_is_refused():
    with pytest.raises(ValueError, match=r"^X must have the 1 columns of fit, got 2\.$"):
        Constant().fit(X, Y).predict_quantiles([[0.0, 1.0]], [0.5])


def test_levels_out_of_order_are_refused():
    with pytest.raises(ValueError, match=r"^quantiles must be strictly increasing"):
        Constant().fit(X, Y).predict_quantiles(X, [0.8, 0.2])


def test_a_prediction_that_is_no_number_is_an_error_that_names_the_library():
    message = "numpy predicted NaN or infinity in 3 of 3 rows, first in row 0."
    with pytest.raises(ArithmeticError, match=re.escape(message)):
        Infinite().fit(X, Y).predict_quantiles(X, [0.2, 0.8])


def states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002


def draws():
    return random.random(), np.random.random(), torch.rand(1).item()  # noqa: NPY002


def test_generators_are_given_back_as_they_were():
    before = states()
    with own_generators(3):
        draws()
    assert states() == before


def test_generators_are_given_back_after_an_error():
    before = states()
    with pytest.raises(KeyError), own_generators(3):
        raise KeyError
    assert states() == before


def test_lent_generators_start_from_the_seed():
    with own_generators(3):
        first = draws()
    with own_generators(3):
        assert draws() == first
    with own_generators(4):
        assert draws() != first


def test_generators_are_lent_where_torch_is_not_loaded(monkeypatch):
    before = states()
    monkeypatch.delitem(sys.modules, "torch")
    with own_generators(3):
        first = random.random()
    with own_generators(3):
        assert random.random() == first
    assert states() == before


def test_lending_generators_does_not_load_torch():
    code = (
        "import sys\nfrom censquant_bench.peers._base import own_generators\n"
        "with own_generators(0): pass\nprint('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_features_get_mean_zero_and_spread_one():
    rows = np.random.default_rng(0).normal(5, [2, 9, 0], size=(50, 3))
    scaled = Standardizer.fit(rows)(rows)
    assert scaled.shape == (50, 2)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


def test_features_that_are_all_constant_are_refused():
    message = "X must have a column that varies, got 2 constant ones: add a feature or more rows."
    with pytest.raises(ValueError, match=re.escape(message)):
        Standardizer.fit(np.ones((3, 2)))


@pytest.mark.parametrize(
    ("time", "shift"),
    [([0.001, 5.0], 0.0), ([0.0, 5.0], 0.05), ([-3.0, 7.0], 3.1), ([-2.0, -2.0], 3.0)],
)
def test_the_shift_makes_the_smallest_time_a_hundredth_of_the_range(time, shift):
    assert positive_shift(np.array(time)) == pytest.approx(shift)


def test_the_grid_holds_equal_shares_of_the_events_and_the_last_time():
    time, event = np.arange(1.0, 102.0), np.arange(101) < 100
    np.testing.assert_array_equal(event_grid(time, event, 6), [1, 26, 51, 76, 100, 101])


def test_the_grid_of_few_distinct_times_holds_each_once():
    time, event = np.array([2.0, 1.0, 2.0, 3.0]), np.array([True, True, True, False])
    np.testing.assert_array_equal(event_grid(time, event, 50), [1, 2, 3])


def test_times_move_to_the_next_time_of_the_grid():
    found = rounded_up(np.array([0.5, 1.0, 1.2, 3.0]), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(found, [1, 1, 2, 3])


@pytest.mark.parametrize("n", [2, 5, 23, 100])
def test_a_fifth_of_the_rows_and_of_the_events_is_held_out(n):
    event = np.arange(n) % 3 == 0
    train, out = held_out(event, 0)
    assert sorted([*train, *out]) == list(range(n))
    assert abs(len(out) - n / 5) <= 1
    assert abs(event[out].sum() - event.sum() / 5) <= 1
    assert event[train].any()


def test_the_rows_held_out_follow_the_seed():
    event = np.ones(40, dtype=bool)
    np.testing.assert_array_equal(held_out(event, 1)[1], held_out(event, 1)[1])
    assert set(held_out(event, 1)[1]) != set(held_out(event, 2)[1])
