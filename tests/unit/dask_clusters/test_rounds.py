"""Rounds of copies of a network, and the order of their rows."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from dask.sizeof import sizeof
from hypothesis import given
from hypothesis import strategies as st

from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.objectives._grid import Pinball
from censquant._engine.training._loop import TrainingConfig, validation_loss
from censquant._engine.training._rows import Rows
from censquant.dask._rounds import (
    Contribution,
    Job,
    Progress,
    Replica,
    RoundPlan,
    Window,
    average,
    batch_of_copies,
    initial_state,
    shuffle_rows,
    train_in_rounds,
    train_locally,
    validate,
)
from censquant.exceptions import TrainingDivergedError

BATCH = 8


def some_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return Rows.from_arrays(x, time=x[:, 0] + rng.normal(size=n), event=np.ones(n, bool))


def replica(n, number=0, n_held=0):
    return Replica(number, some_rows(n, number), some_rows(n_held, 100 + number))


def job_for(largest, passes=2, dropout=0.0, **settings):
    network = DenseNetwork([2, 5, 1], dropout=dropout, rng=np.random.default_rng(0))
    steps = -(-largest // BATCH)
    config = TrainingConfig(batch_size=BATCH, max_epochs=passes, **settings)
    return Job(network, Pinball((0.5,)), config, RoundPlan(steps, steps * passes), 7)


def begun(job):
    return Progress(initial_state(job.network, job.config.weight_decay))


def trained(job, replicas, **options):
    def run_round(state, window):
        return average([train_locally(each, job, state, window) for each in replicas])

    return train_in_rounds(job, begun(job), run_round, **options)


def test_dask_knows_how_much_it_would_move_with_the_rows():
    copy = replica(1_000, n_held=200)
    held = sum(a.nbytes for rows in (copy.rows, copy.validation) for a in rows.arrays())
    assert held < sizeof(copy) < 1.01 * held + 1_000


class TestOrder:
    @given(n=st.integers(1, 500), key=st.integers(0, 2**64 - 1), cut=st.floats(0, 1))
    def test_parts_of_an_order_have_every_row_once(self, n, key, cut):
        middle = int(cut * n)
        parts = np.concatenate((shuffle_rows(0, middle, n, key), shuffle_rows(middle, n, n, key)))
        assert sorted(parts) == list(range(n))

    def test_a_part_does_not_depend_on_the_others(self):
        whole = shuffle_rows(0, 1_000, 1_000, key=5)
        np.testing.assert_array_equal(shuffle_rows(300, 400, 1_000, key=5), whole[300:400])

    def test_another_key_is_another_order(self):
        orders = [shuffle_rows(0, 1_000, 1_000, key) for key in (1, 2)]
        assert (orders[0] == orders[1]).mean() < 0.02

    @pytest.mark.parametrize("n", [1_000, 1_025, 4_096])
    def test_the_order_looks_random(self, n):
        places = np.array([shuffle_rows(0, n, n, key) for key in range(40)])
        # Means of places, and the correlation of neighbours, within five standard errors.
        error = n / np.sqrt(12 * 40)
        assert np.abs(places.mean(axis=0) - (n - 1) / 2).max() < 5 * error
        neighbours = np.corrcoef(places[:, :-1].ravel(), places[:, 1:].ravel())[0, 1]
        assert abs(neighbours) < 5 / np.sqrt(places.size)


class TestPlan:
    @given(steps=st.integers(1, 3_000), total=st.integers(1, 7_000))
    def test_rounds_cover_every_step_once_and_end_with_passes(self, steps, total):
        windows = list(RoundPlan(steps, total).windows())
        assert windows[0].start == 0
        assert windows[-1].stop == total
        for before, after in pairwise(windows):
            assert before.stop == after.start > before.start
            assert before.ends_pass == (before.stop % steps == 0)
        assert windows[-1].ends_pass
        assert [window.n_round for window in windows] == list(range(len(windows)))

    def test_rounds_are_short_at_first_and_grow(self):
        lengths = [window.stop - window.start for window in RoundPlan(5_000, 10_000).windows()]
        assert lengths[:3] == [4, 5, 7]
        assert lengths[-2] == 250
        assert lengths[:10] == sorted(lengths[:10])

    def test_batches_are_smaller_only_where_copies_make_few_steps(self):
        assert batch_of_copies(128, 1, 10_000) == 128
        assert batch_of_copies(128, 16, 62_500) == 32
        assert batch_of_copies(128, 4, 250_000) == 62
        assert batch_of_copies(128, 4, 10_000_000) == 128
        assert batch_of_copies(16, 4, 10_000) == 16


class TestLocalSteps:
    @given(n=st.integers(1, 200), largest=st.integers(200, 400))
    def test_rounds_of_a_pass_train_on_every_row_once(self, n, largest):
        job = replace(job_for(largest), network=DenseNetwork([2, 1], rng=np.random.default_rng(0)))
        own = replica(n)
        state = begun(job).state
        n_first = [w for w in job.plan.windows() if w.stop <= job.plan.steps_per_pass]
        rows = [train_locally(own, job, state, window).rows for window in n_first]
        assert sum(rows) == n

    @pytest.mark.parametrize("dropout", [0.0, 0.3])
    def test_one_copy_has_the_same_bits_however_its_training_is_cut(self, dropout):
        job = job_for(500, passes=1, dropout=dropout)
        whole = train_locally(replica(500), job, begun(job).state, Window(0, 0, 63, True))
        in_rounds = trained(job, [replica(500)])
        assert in_rounds.n_rounds > 5
        for name, value in whole.state.items():
            np.testing.assert_array_equal(in_rounds.state[name], value)
        assert in_rounds.history[0]["loss"] == pytest.approx(whole.loss)

    def test_a_task_that_runs_again_gives_the_same_bits(self):
        job = job_for(100, dropout=0.2)
        first, again = (
            train_locally(replica(100, 3), job, begun(job).state, Window(0, 0, 5, False))
            for _ in range(2)
        )
        for name, value in first.state.items():
            np.testing.assert_array_equal(again.state[name], value)

    def test_copies_drop_other_units_and_return_to_one_seed(self):
        job = job_for(100, dropout=0.5)
        state = begun(job).state
        same_rows = some_rows(100)
        results = [
            train_locally(Replica(k, same_rows, same_rows.take(np.arange(0))), job, state, window)
            for k, window in ((1, Window(0, 0, 1, False)), (2, Window(0, 0, 1, False)))
        ]
        assert results[0].state["network.dropout"][0] == state["network.dropout"][0]
        assert (
            results[0].state["network.parameters"] != results[1].state["network.parameters"]
        ).any()

    def test_a_copy_without_rows_contributes_nothing(self):
        job = job_for(100)
        state = begun(job).state
        nothing = train_locally(replica(0), job, state, Window(0, 0, 5, False))
        assert nothing.rows == 0
        some = train_locally(replica(100), job, state, Window(0, 0, 5, False))
        together = average([nothing, some])
        np.testing.assert_array_equal(
            together.state["network.parameters"], some.state["network.parameters"]
        )
        assert average([nothing, nothing]) is nothing


class TestAverage:
    def test_parameters_and_moments_are_weighted_by_rows(self):
        parts = [
            Contribution({"mean": np.full(2, v, "f4"), "n": np.array([k])}, rows, loss)
            for v, k, rows, loss in ((1.0, 5, 10, 2.0), (4.0, 6, 30, 6.0))
        ]
        together = average(parts)
        np.testing.assert_allclose(together.state["mean"], 3.25)
        assert together.state["n"] == 6
        assert (together.rows, together.loss) == (40, 5.0)

    def test_averages_of_averages_are_those_of_all(self):
        job = job_for(60)
        state, window = begun(job).state, Window(0, 0, 3, False)
        parts = [train_locally(replica(n, n), job, state, window) for n in (60, 30, 45, 1)]
        at_once, in_steps = average(parts), average([average(parts[:2]), average(parts[2:])])
        for name, value in at_once.state.items():
            np.testing.assert_allclose(in_steps.state[name], value, rtol=1e-12)


class TestCourse:
    def test_training_stops_for_all_when_validation_rows_no_longer_improve(self):
        job = job_for(40, passes=50, n_iter_no_change=3)
        losses = iter([3.0, 2.0, 2.5, 2.1, 2.2, 1.0])
        judged = []

        def judge(state):
            judged.append(state["network.parameters"].copy())
            return next(losses)

        progress = trained(job, [replica(40), replica(30, 1)], validate_state=judge)
        assert len(progress.history) == 5
        assert progress.stopped
        np.testing.assert_array_equal(progress.result["network.parameters"], judged[1])

    def test_the_validation_loss_is_that_of_the_training_loop(self):
        job = job_for(40)
        own = replica(40, n_held=25)
        loss, n_rows = validate(own, job, begun(job).state)
        assert n_rows == 25
        assert loss == validation_loss(job.network, job.objective, own.validation)
        assert validate(replica(40), job, begun(job).state) == (0.0, 0)

    def test_training_that_diverges_says_so(self):
        job = job_for(400, passes=3, learning_rate=1e30)
        with pytest.raises(TrainingDivergedError, match="Training diverged in epoch 1"):
            trained(job, [replica(400)])

    def test_a_loss_that_is_no_number_ends_the_training(self):
        job = job_for(16)

        def run_round(state, window):
            return Contribution(state, 16, float("nan"))

        with pytest.raises(TrainingDivergedError, match=r"in pass 1: the loss is nan\. Lower"):
            train_in_rounds(job, begun(job), run_round)

    def test_ctrl_c_keeps_what_whole_passes_learned(self):
        job = job_for(16, passes=5)

        def run_round(state, window):
            if window.start >= 2 * job.plan.steps_per_pass:
                raise KeyboardInterrupt
            return Contribution(state, 16, 1.0)

        assert len(train_in_rounds(job, begun(job), run_round).history) == 2

    def test_ctrl_c_in_the_first_pass_is_raised(self):
        job = job_for(16)

        def run_round(state, window):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train_in_rounds(job, begun(job), run_round)
