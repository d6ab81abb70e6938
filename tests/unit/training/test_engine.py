import math
import threading
from dataclasses import dataclass, replace

import numpy as np
import pytest

from censquant._engine.networks._combined import HeadedNetwork, LinearSkip
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.objectives._grid import Pinball
from censquant._engine.objectives._likelihoods import ShapeLikelihood
from censquant._engine.training import _loop as _engine
from censquant._engine.training._loop import StepDecay, TrainingConfig, WarmupCosine, train
from censquant._engine.training._rows import Rows
from censquant.exceptions import TrainingDivergedError
from toys import (
    TAUS,
    Recorder,
    censored_rows,
    dense,
    portnoy_objective,
    shape_head,
    shape_network,
    stop_after,
)

SHORT = TrainingConfig(max_epochs=4, batch_size=16)


def run(network=None, objective=None, rows=None, config=SHORT, seed=0, **options):
    """Train a small network and return it with its history."""
    network = dense() if network is None else network
    objective = portnoy_objective() if objective is None else objective
    rows = censored_rows() if rows is None else rows
    history = train(network, objective, rows, config, np.random.default_rng(seed), **options)
    return network, history


@dataclass(frozen=True)
class Watched(Pinball):
    """Check loss that notes what every step saw."""

    seen: list

    def gradient(self, output, batch, out):
        self.seen.append(batch)
        return super().gradient(output, batch, out)


@dataclass(frozen=True)
class Rates:
    """A schedule that notes what it was asked."""

    asked: list

    def __call__(self, step, n_steps):
        self.asked.append((step, n_steps))
        return 1.0 / (1 + step)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_same_seed_gives_the_same_bits(dropout):
    one, one_history = run(dense(dropout=dropout))
    other, other_history = run(dense(dropout=dropout))
    np.testing.assert_array_equal(one.parameters, other.parameters)
    assert one_history == other_history
    another, _ = run(dense(dropout=dropout), seed=1)
    assert (another.parameters != one.parameters).any()


class StoredRows:
    """Rows that are kept in a file, of which one batch at a time is in memory."""

    def __init__(self, path, rows):
        np.savez(path, x=rows.x, time=rows.time, event=rows.event)
        self._path, self._n_rows, self.largest = path, len(rows), 0

    def __len__(self):
        return self._n_rows

    def _read(self, index):
        self.largest = max(self.largest, len(index))
        with np.load(self._path) as arrays:
            return Rows.from_arrays(**{name: arrays[name][index] for name in arrays})

    def batches(self, rng, size):
        order = rng.permutation(self._n_rows)
        return (self._read(order[start : start + size]) for start in range(0, len(order), size))

    def blocks(self, size):
        places = np.arange(self._n_rows)
        return (self._read(places[start : start + size]) for start in range(0, len(self), size))

    def sample(self):
        return self._read(np.arange(5))

    def prepared(self, prepare):
        return self


def test_rows_may_be_stored_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(_engine, "_VALIDATION_ROWS", 16)
    rows, validation = censored_rows(), censored_rows(40, seed=1)
    stored = StoredRows(tmp_path / "train.npz", rows)
    held_out = StoredRows(tmp_path / "held_out.npz", validation)
    objective = Pinball(TAUS)
    one, one_history = run(objective=objective, rows=rows, validation=validation)
    other, other_history = run(objective=objective, rows=stored, validation=held_out)
    np.testing.assert_array_equal(one.parameters, other.parameters)
    assert one_history == other_history
    assert (stored.largest, held_out.largest) == (16, 16)


def test_global_generators_are_not_moved():
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    run(dense(dropout=0.5))
    assert np.random.random() == expected  # noqa: NPY002


def test_the_loss_falls():
    _, history = run(config=TrainingConfig(max_epochs=30, batch_size=16))
    assert history[-1]["loss"] < 0.7 * history[0]["loss"]


def test_every_epoch_is_recorded():
    _, history = run()
    assert [record["epoch"] for record in history] == [1, 2, 3, 4]
    assert all(list(record) == ["epoch", "loss", "learning_rate"] for record in history)
    assert all(math.isfinite(record["loss"]) for record in history)


def test_the_recorded_loss_is_the_mean_over_the_rows():
    config = TrainingConfig(max_epochs=1, batch_size=16, learning_rate=1e-12)
    rows = censored_rows(37)
    network, history = run(objective=Pinball(TAUS), rows=rows, config=config)
    output = network.forward(rows.x, training=False)
    expected = Pinball(TAUS).validation_loss(output, rows)
    assert history[0]["loss"] == pytest.approx(expected, rel=1e-5)


def test_the_schedule_is_applied_at_every_step():
    asked = []
    config = TrainingConfig(
        max_epochs=2, batch_size=25, learning_rate=0.5, weight_decay=0.0, schedule=Rates(asked)
    )
    network = DenseNetwork([2, 3], rng=np.random.default_rng(0))
    start, sizes = network.parameters.copy(), []
    _, history = run(
        network,
        rows=censored_rows(60),
        config=config,
        callbacks=[Recorder(on_epoch=lambda run: sizes.append(run.network.parameters.copy()))],
    )
    assert asked == [(step, 6) for step in range(6)]
    assert [record["learning_rate"] for record in history] == [0.5 / 3, 0.5 / 6]
    # Adam moves no parameter by much more than the rate in a step.
    assert np.abs(sizes[0] - start).max() <= 1.01 * 0.5 * (1 + 1 / 2 + 1 / 3)


def test_the_default_schedule_is_the_papers():
    config = TrainingConfig(max_epochs=10, batch_size=60)
    _, history = run(config=config)
    rates = [record["learning_rate"] for record in history]
    np.testing.assert_allclose(rates, [0.01] * 7 + [0.001] * 2 + [0.0001])


@pytest.mark.parametrize(
    ("batch_size", "sizes"), [(16, [16, 16, 5]), (37, [37]), (1000, [37]), (36, [36, 1])]
)
def test_every_row_is_seen_once_an_epoch(batch_size, sizes):
    rows, seen = censored_rows(37), []
    run(
        objective=Watched(TAUS, seen),
        rows=rows,
        config=TrainingConfig(max_epochs=2, batch_size=batch_size),
    )
    assert [len(batch) for batch in seen] == sizes * 2
    epochs = [seen[: len(sizes)], seen[len(sizes) :]]
    orders = [np.concatenate([batch.time for batch in epoch]) for epoch in epochs]
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.sort(rows.time))
    assert (orders[0] != orders[1]).any()


def test_a_batch_holds_whole_rows():
    rows, seen = censored_rows(37), []
    rows = replace(rows, weight=rows.time * 2, level=rows.time * 3)
    run(objective=Watched(TAUS, seen), rows=rows)
    for batch in seen:
        np.testing.assert_array_equal(batch.weight, batch.time * 2)
        np.testing.assert_array_equal(batch.level, batch.time * 3)
        place = [list(rows.time).index(time) for time in batch.time]
        np.testing.assert_array_equal(batch.x, rows.x[place])
        np.testing.assert_array_equal(batch.event, rows.event[place])


def test_max_steps_end_a_training_within_an_epoch():
    seen, asked = [], []
    config = TrainingConfig(max_epochs=9, batch_size=16, max_steps=6, schedule=Rates(asked))
    _, history = run(objective=Watched(TAUS, seen), config=config)
    assert len(seen) == 6
    assert len(history) == 2
    assert asked[-1] == (5, 6)


def test_the_fewer_of_max_steps_and_max_epochs_counts():
    config = TrainingConfig(max_epochs=2, batch_size=16, max_steps=600)
    assert len(run(config=config)[1]) == 2


class TestEarlyStopping:
    config = TrainingConfig(max_epochs=200, batch_size=16, learning_rate=0.05, n_iter_no_change=3)

    def trained(self, network=None):
        validation = censored_rows(30, seed=9)
        network, history = run(network, config=self.config, validation=validation)
        return network, history, validation

    def test_training_stops_when_the_validation_loss_no_longer_falls(self):
        _, history, _ = self.trained()
        losses = [record["validation_loss"] for record in history]
        assert len(losses) < 200
        assert len(losses) - (np.argmin(losses) + 1) == 3

    def test_the_best_weights_are_put_back(self):
        network, history, validation = self.trained()
        objective = portnoy_objective().bind(censored_rows())
        loss = objective.validation_loss(network.forward(validation.x, training=False), validation)
        best = min(record["validation_loss"] for record in history)
        assert loss == pytest.approx(best, rel=1e-12)
        assert loss < history[-1]["validation_loss"]

    def test_own_parameters_of_a_head_are_put_back_too(self):
        network, history, validation = self.trained(shape_network())
        objective = portnoy_objective().bind(censored_rows())
        loss = objective.validation_loss(network.forward(validation.x, training=False), validation)
        best = min(record["validation_loss"] for record in history)
        assert loss == pytest.approx(best, rel=1e-12)

    def test_validation_does_not_change_the_training(self):
        with_validation = run(dense(dropout=0.5), validation=censored_rows(30, seed=9))[1]
        without = run(dense(dropout=0.5))[1]
        assert [record["loss"] for record in with_validation] == [r["loss"] for r in without]

    def test_nothing_is_dropped_while_validating(self):
        validation = censored_rows(30, seed=9)
        config = TrainingConfig(max_epochs=1, batch_size=60)
        network, history = run(
            dense(dropout=0.5), objective=Pinball(TAUS), config=config, validation=validation
        )
        output = network.forward(validation.x, training=False)
        expected = Pinball(TAUS).validation_loss(output, validation)
        assert history[0]["validation_loss"] == pytest.approx(expected, rel=1e-12)

    def test_many_validation_rows_are_averaged_over_blocks(self):
        rows = censored_rows(9000, seed=3)
        config = TrainingConfig(max_epochs=1, batch_size=60)
        network, history = run(objective=Pinball(TAUS), config=config, validation=rows)
        output = network.forward(rows.x, training=False)
        expected = Pinball(TAUS).validation_loss(output, rows)
        assert history[0]["validation_loss"] == pytest.approx(expected, rel=1e-5)


class TestCallbacks:
    def test_they_are_called_in_order(self):
        calls = []
        run(
            config=replace(SHORT, max_epochs=2),
            callbacks=[Recorder("a", calls), Recorder("b", calls)],
        )
        events = [("start", 0), ("epoch", 1), ("epoch", 2), ("end", 2)]
        assert calls == [(name, *event) for event in events for name in "ab"]

    def test_one_may_stop_the_training(self):
        stopper, after = stop_after(2), Recorder()
        _, history = run(callbacks=[stopper, after])
        assert len(history) == 2
        assert [kind for _, kind, _ in after.calls] == ["start", "epoch", "epoch", "end"]

    def test_they_see_the_record_of_the_epoch_and_the_member(self):
        records, members = [], []

        def look(run):
            records.append(run.history[-1])
            members.append(run.member)

        _, history = run(callbacks=[Recorder(on_epoch=look)], member=7)
        assert records == history
        assert set(members) == {7}

    def test_an_event_set_elsewhere_ends_the_training(self):
        stopping = threading.Event()
        callback = Recorder(on_epoch=lambda run: stopping.set() if run.n_epochs == 2 else None)
        _, history = run(callbacks=[callback], stopping=stopping)
        assert len(history) == 2
        assert callback.calls[-1][1] == "end"

    def test_an_event_set_within_an_epoch_ends_it_there(self):
        stopping, seen = threading.Event(), []

        @dataclass(frozen=True)
        class Stopping(Watched):
            def gradient(self, output, batch, out):
                if len(self.seen) == 4:
                    stopping.set()
                return super().gradient(output, batch, out)

        _, history = run(objective=Stopping(TAUS, seen), stopping=stopping)
        assert len(seen) == 5
        assert len(history) == 2
        assert math.isfinite(history[-1]["loss"])

    def test_an_event_set_before_leaves_the_network_untouched(self):
        stopping = threading.Event()
        stopping.set()
        network, history = run(stopping=stopping)
        assert history == []
        np.testing.assert_array_equal(network.parameters, dense().parameters)


class TestInterrupts:
    def test_one_from_a_callback_keeps_what_was_learned(self):
        def interrupt(run):
            if run.n_epochs == 2:
                raise KeyboardInterrupt

        callback, last = Recorder(on_epoch=interrupt), Recorder()
        network, history = run(callbacks=[callback, last])
        expected, _ = run(callbacks=[stop_after(2)])
        np.testing.assert_array_equal(network.parameters, expected.parameters)
        assert len(history) == 2
        assert callback.calls[-1] == ("", "end", 2)
        assert last.calls[-1] == ("", "end", 2)

    def test_one_within_an_epoch_keeps_the_steps_made(self):
        @dataclass(frozen=True)
        class Interrupted(Watched):
            def gradient(self, output, batch, out):
                if len(self.seen) == 6:
                    raise KeyboardInterrupt
                return super().gradient(output, batch, out)

        callback = Recorder()
        # A rate that does not depend on the end, so that a shorter training has the same steps.
        config = replace(SHORT, schedule=StepDecay(milestones=()))
        network, history = run(objective=Interrupted(TAUS, []), config=config, callbacks=[callback])
        expected, _ = run(objective=Pinball(TAUS), config=replace(config, max_steps=6))
        np.testing.assert_array_equal(network.parameters, expected.parameters)
        assert len(history) == 1
        assert callback.calls[-1] == ("", "end", 1)

    def test_one_during_early_stopping_gives_the_best_weights_so_far(self):
        def interrupt(run):
            if run.n_epochs == 4:
                raise KeyboardInterrupt

        validation = censored_rows(30, seed=9)
        config = TrainingConfig(max_epochs=50, batch_size=8, learning_rate=0.2)
        network, history = run(
            objective=Pinball(TAUS),
            config=config,
            validation=validation,
            callbacks=[Recorder(on_epoch=interrupt)],
        )
        output = network.forward(validation.x, training=False)
        best = min(record["validation_loss"] for record in history)
        assert best < history[-1]["validation_loss"]
        assert Pinball(TAUS).validation_loss(output, validation) == pytest.approx(best, rel=1e-12)


class TestDivergence:
    message = (
        r"^Training diverged in epoch {}: the loss is {}\. Lower learning_rate \(now 0\.01\) or "
        r"check the features for extreme values\.$"
    )

    def test_a_loss_that_is_not_a_number_ends_the_training(self):
        @dataclass(frozen=True)
        class Poisoned(Watched):
            def gradient(self, output, batch, out):
                loss = super().gradient(output, batch, out)
                return loss if len(self.seen) < 5 else float("nan")

        callback = Recorder()
        with pytest.raises(TrainingDivergedError, match=self.message.format(2, "nan")):
            run(objective=Poisoned(TAUS, []), callbacks=[callback])
        assert callback.calls[-1] == ("", "end", 2)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_a_parameter_that_is_not_finite_ends_the_training(self, value):
        @dataclass(frozen=True)
        class Poisoned(Watched):
            def gradient(self, output, batch, out):
                loss = super().gradient(output, batch, out)
                out[0, 0] = value
                return loss

        with pytest.raises(TrainingDivergedError, match=self.message.format(1, ".*")):
            run(objective=Poisoned(TAUS, []))

    def test_a_validation_loss_that_is_not_finite_ends_the_training(self):
        @dataclass(frozen=True)
        class Poisoned(Pinball):
            def validation_loss(self, output, rows):
                return float("inf")

        with pytest.raises(TrainingDivergedError, match=self.message.format(1, ".*")):
            run(objective=Poisoned(TAUS), validation=censored_rows(5))

    def test_features_of_absurd_size_end_the_training(self):
        rows = censored_rows()
        rows.x[3] = np.inf
        with pytest.raises(TrainingDivergedError, match=self.message.format(1, ".*")):
            run(rows=rows)


@dataclass(frozen=True)
class Bound(Pinball):
    """Check loss that keeps the events and remembers what it was bound to."""

    log: list
    shift: float = 0.0

    def bind(self, train):
        self.log.append(("bind", len(train)))
        return replace(self, shift=float(train.time.max()))

    def prepare(self, rows):
        self.log.append(("prepare", len(rows), self.shift))
        return rows.take(np.flatnonzero(rows.event))

    def gradient(self, output, batch, out):
        assert batch.event.all()
        return super().gradient(output, batch, out)


def test_an_objective_is_bound_to_the_training_rows_and_prepares_both_parts():
    log, rows, validation = [], censored_rows(40), censored_rows(20, seed=1)
    run(objective=Bound(TAUS, log), rows=rows, validation=validation)
    latest = float(rows.time.max())
    assert log == [("bind", 40), ("prepare", 40, latest), ("prepare", 20, latest)]


def test_the_engine_carries_a_shape_head_with_a_mixed_objective():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(1500, 2))
    scale = 0.4 + 0.2 * x[:, 1]
    event_time = 1 + x[:, 0] + scale * rng.normal(size=1500)
    censoring = rng.uniform(-0.5, 4, size=1500)
    rows = Rows.from_arrays(
        x, time=np.minimum(event_time, censoring), event=event_time <= censoring
    )
    assert 0.25 < 1 - rows.event.mean() < 0.5
    head = shape_head(5, n_rows=1500)
    inner = DenseNetwork([2, 16, head.n_raw], activation="gelu", rng=rng)
    network = HeadedNetwork(LinearSkip(inner, 2), head)
    config = TrainingConfig(
        max_epochs=40, batch_size=128, learning_rate=0.02, schedule=WarmupCosine()
    )
    objective = ShapeLikelihood("normal", n_outputs=5, limit=float(rows.time.max()))
    history = train(network, objective, rows, config, rng, validation=rows)
    assert history[-1]["loss"] < history[0]["loss"]
    truth = 1 + x[:, :1] + scale[:, None] * np.array(head.knots)
    error = network.predict(x) - truth
    assert np.sqrt((error**2).mean(axis=0)).max() < 0.12
    assert np.abs(network.parameters).min() > 0
    assert np.abs(network.network.parameters).min() > 0


def test_step_decay_counts_milestones_in_steps_done():
    schedule = StepDecay(milestones=(0.5,), factor=0.25)
    assert [schedule(step, 4) for step in range(4)] == [1.0, 1.0, 0.25, 0.25]


def test_a_stop_before_the_first_batch_leaves_no_record():
    class StopAsTheEpochBegins:
        """An event that is set between the look before an epoch and its first batch."""

        def __init__(self):
            self.looks = 0

        def is_set(self):
            self.looks += 1
            return self.looks > 1

        def set(self):
            self.looks = 2

    before = dense().parameters
    network, history = run(dense(), stopping=StopAsTheEpochBegins())
    assert history == []
    np.testing.assert_array_equal(network.parameters, before)


def test_the_warm_cosine_rises_by_equal_steps_and_ends_near_zero():
    schedule = WarmupCosine(warmup=4)
    factors = np.array([schedule(step, 400) for step in range(400)])
    np.testing.assert_allclose(factors[:4], [0.25, 0.5, 0.75, 1.0], rtol=2e-3)
    assert (np.diff(factors[4:]) < 0).all()
    assert factors[200] == pytest.approx(0.5)
    assert 0 < factors[-1] < 1e-4


def test_a_cosine_without_warmup_starts_at_the_full_rate():
    assert WarmupCosine(warmup=0)(0, 10) == 1.0


@pytest.mark.parametrize(("n_steps", "n_epochs"), [(1, 1), (4, 1), (5, 2), (None, 9), (100, 9)])
def test_the_number_of_epochs_follows_from_that_of_steps(n_steps, n_epochs):
    config = TrainingConfig(max_epochs=9, batch_size=16, max_steps=n_steps)
    counts = []
    callback = Recorder(on_epoch=lambda run: counts.append((run.n_epochs, run.total_epochs)))
    train(
        dense(), portnoy_objective(), censored_rows(60), config, np.random.default_rng(0),
        callbacks=[callback],
    )  # fmt: skip
    assert counts == [(epoch, n_epochs) for epoch in range(1, n_epochs + 1)]
