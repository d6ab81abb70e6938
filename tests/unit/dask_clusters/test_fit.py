"""Fits on a small cluster: what they recover, whatever partitions look like."""

import inspect
import re
from collections import Counter

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import censquant
from censquant import CQRNN
from censquant.dask import DaskCQRNN
from censquant.dask._cluster import Session
from censquant.exceptions import ConstantFeatureWarning, ModelFileError
from cluster_rows import COLUMNS, FEATURES, LEVELS, linear_rows, partitioned, truth


def short(**settings):
    return DaskCQRNN(
        **{"max_epochs": 2, "n_replicas": 2, "hidden_layer_sizes": (10,), "random_state": 0}
        | settings
    )


def bits(model, frame):
    return model.to_local().predict_quantiles(frame[FEATURES], beyond="extrapolate").tobytes()


def error(model, frame):
    predicted = model.predict_quantiles(frame[FEATURES], LEVELS, beyond="extrapolate")
    return float(((predicted - truth(frame)) ** 2).mean())


def test_every_worker_trains_the_copy_whose_rows_it_has(client, frame):
    many = pd.concat([frame] * 20, ignore_index=True)
    rows = dd.from_pandas(many, npartitions=4)
    with distributed.get_task_stream(client) as stream:
        short(max_epochs=4).fit(rows, **COLUMNS)
    trained = [task for task in stream.data if "train_locally" in task["key"]]
    shares = Counter(task["worker"] for task in trained)
    assert len(shares) == 2
    assert min(shares.values()) > 0.4 * len(trained)


class TestRecovery:
    def test_copies_recover_the_truth_as_one_machine_does(self, client, frame, rows):
        settings = {"max_epochs": 8, "random_state": 0}
        model = DaskCQRNN(n_replicas=2, **settings).fit(rows, **COLUMNS)
        alone = CQRNN(**settings).fit(frame[FEATURES], frame[["time", "event"]])
        fresh = linear_rows(1_000, seed=1)
        assert error(model.to_local(), fresh) < max(0.01, 1.5 * error(alone, fresh))
        level = model.to_local().identified_level(fresh[FEATURES])
        assert np.abs(level - alone.identified_level(fresh[FEATURES])).mean() < 0.05
        assert model.follow_up_ == alone.follow_up_
        assert model.horizon_ == pytest.approx(alone.horizon_, rel=0.01)

    def test_the_same_seed_gives_the_same_bits_in_any_form_of_the_same_rows(self, client, rows):
        named = short().fit(rows, **COLUMNS)
        apart = short().fit(rows[FEATURES], rows[["time", "event"]])
        array = short().fit(rows[FEATURES].to_dask_array(lengths=True), rows[["event", "time"]])
        frame = rows.compute()
        assert bits(named, frame) == bits(apart, frame)
        values = array.to_local().predict_quantiles(
            frame[FEATURES].to_numpy(), beyond="extrapolate"
        )
        assert values.tobytes() == bits(named, frame)

    def test_weights_of_zero_leave_rows_out(self, client, frame):
        weighted = frame.assign(w=(np.arange(len(frame)) % 2).astype(float))
        halves = [weighted.iloc[:1_500], weighted.iloc[1_500:]]
        model = short().fit(partitioned(*halves), weight="w", **COLUMNS)
        only = [half[half["w"] > 0].drop(columns="w") for half in halves]
        assert bits(model, frame) == bits(short().fit(partitioned(*only), **COLUMNS), frame)

    def test_members_are_averaged(self, client, rows, frame):
        model = short(n_members=2).fit(rows, **COLUMNS)
        assert len(model.models_) == 2
        assert {record["member"] for record in model.history_} == {0, 1}

    def test_left_censored_times_are_mirrored(self, client, frame):
        mirrored = frame.assign(time=20.0 - frame["time"])
        model = DaskCQRNN(n_replicas=2, max_epochs=8, censoring="left", random_state=0).fit(
            partitioned(mirrored.iloc[:1_500], mirrored.iloc[1_500:]), **COLUMNS
        )
        predicted = model.to_local().predict_quantiles(
            frame[FEATURES], LEVELS, beyond="extrapolate"
        )
        assert ((20.0 - predicted[:, ::-1] - truth(frame)) ** 2).mean() < 0.02


class TestPartitions:
    def test_empty_and_tiny_partitions_and_other_types_and_orders_change_nothing_else(
        self, client, frame
    ):
        pieces = [frame.iloc[:0], frame.iloc[:1], frame.iloc[1:2_000], frame.iloc[2_000:]]
        mixed = [
            pieces[0],
            pieces[1][["event", "b", "time", "a"]],
            pieces[2].astype({"event": int}),
            pieces[3].astype({"event": "Int8"}),
            pieces[0],
        ]
        model = short().fit(partitioned(*mixed), **COLUMNS)
        plain = short().fit(partitioned(*pieces, pieces[0]), **COLUMNS)
        assert bits(model, frame) == bits(plain, frame)

    def test_a_single_partition_is_trained_by_one_copy(self, client, frame):
        model = short().fit(partitioned(frame), **COLUMNS)
        again = short(n_replicas=1).fit(partitioned(frame), **COLUMNS)
        assert bits(model, frame) == bits(again, frame)

    def test_few_rows_are_not_split_by_default(self, client, rows, frame):
        alone = short(n_replicas=1).fit(rows, **COLUMNS)
        assert bits(short(n_replicas=None).fit(rows, **COLUMNS), frame) == bits(alone, frame)

    def test_a_constant_feature_is_named(self, client, frame):
        with pytest.warns(ConstantFeatureWarning, match="'b'"):
            short().fit(partitioned(frame.assign(b=1.0)), **COLUMNS)


class TestEarlyStopping:
    def test_it_stops_all_copies_and_keeps_the_best_pass(self, client, rows):
        model = short(
            early_stopping=True, n_iter_no_change=2, max_epochs=100, learning_rate=0.3
        ).fit(rows, **COLUMNS)
        losses = [record["validation_loss"] for record in model.history_]
        assert len(losses) < 100
        assert int(np.argmin(losses)) == len(losses) - 3

    def test_rows_without_events_to_hold_out_are_refused(self, client, frame):
        few = frame.assign(event=np.arange(len(frame)) < 2)
        with pytest.raises(ValueError, match=r"early_stopping needs events among the 0.01 of rows"):
            short(early_stopping=True, validation_fraction=0.01).fit(partitioned(few), **COLUMNS)


class TestCheckpoint:
    def test_a_fit_that_was_stopped_resumes_with_the_same_bits(
        self, client, rows, frame, tmp_path, monkeypatch
    ):
        settings = {"early_stopping": True}
        whole = short(**settings).fit(rows, **COLUMNS)
        original, calls = Session.reduce, []

        def stops_later(session, function, futures):
            calls.append(function.__name__)
            if calls.count("average") == 5:
                raise ConnectionError("the power is gone")
            return original(session, function, futures)

        with monkeypatch.context() as patch:
            patch.setattr(Session, "reduce", stops_later)
            with pytest.raises(ConnectionError, match="the power is gone"):
                short(**settings).fit(rows, checkpoint_dir=tmp_path, **COLUMNS)
        assert [path.name for path in tmp_path.iterdir()] == ["network-0.checkpoint"]
        # On a cluster of another size the number of copies is that of the checkpoint.
        resumed = short(n_replicas=None, **settings).fit(rows, checkpoint_dir=tmp_path, **COLUMNS)
        assert bits(resumed, frame) == bits(whole, frame)
        assert resumed.history_ == whole.history_
        # A fit that is complete is read from its file.
        again = short(**settings).fit(rows, checkpoint_dir=tmp_path, **COLUMNS)
        assert bits(again, frame) == bits(whole, frame)

    def test_a_checkpoint_of_another_training_is_refused(self, client, rows, tmp_path):
        short().fit(rows, checkpoint_dir=tmp_path, **COLUMNS)
        with pytest.raises(ModelFileError) as error:
            short(learning_rate=0.02).fit(rows, checkpoint_dir=tmp_path, **COLUMNS)
        path = tmp_path / "network-0.checkpoint"
        assert str(error.value) == (
            f"The checkpoint '{path}' belongs to another training (other rows, partitions or "
            "settings); delete it or give another checkpoint_dir."
        )

    def test_a_checkpoint_needs_an_integer_seed(self, client, rows, tmp_path):
        with pytest.raises(ValueError, match="random_state must be an integer with checkpoint_dir"):
            short(random_state=None).fit(rows, checkpoint_dir=tmp_path, **COLUMNS)


@pytest.fixture(scope="module")
def model(cluster, frame):
    with distributed.Client(cluster) as client:
        halves = partitioned(frame.iloc[:1_500], frame.iloc[1_500:])
        return short(client=client).fit(halves, **COLUMNS)


class TestAnswers:
    def test_collections_are_answered_by_collections_with_the_same_numbers(
        self, client, model, frame, rows
    ):
        local = model.to_local()
        options = {"quantiles": [0.1, 0.5], "beyond": "inf"}
        expected = local.predict_quantiles(frame[FEATURES], **options)
        times = model.predict_quantiles(rows, **options)
        assert list(times.columns) == ["q0.1", "q0.5"]
        found = times.compute()
        np.testing.assert_array_equal(found.to_numpy(), expected)
        np.testing.assert_array_equal(found.index, frame.index)

    def test_arrays_are_answered_by_arrays_with_the_same_numbers(self, client, rows):
        X = rows[FEATURES].to_dask_array(lengths=True)
        model = short(max_epochs=1).fit(X, rows[["time", "event"]])
        local, known = model.to_local(), X.compute()
        times, medians = model.predict_quantiles(X, [0.1, 0.5]), model.predict(X)
        assert times.shape == (len(known), 2)
        # Some kinds of BLAS add in another order if there are more rows.
        here = local.predict_quantiles(known, [0.1, 0.5])
        np.testing.assert_allclose(times.compute(), here, rtol=1e-12)
        np.testing.assert_allclose(medians.compute(), local.predict(known), rtol=1e-12)

    def test_medians_are_a_series(self, client, model, frame, rows):
        expected = model.to_local().predict(frame[FEATURES])
        found = model.predict(rows)
        assert found.name == "q0.5"
        np.testing.assert_array_equal(found.compute().to_numpy(), expected)

    def test_empty_partitions_and_other_orders_of_columns_are_answered(self, client, model, frame):
        other = frame[["b", "time", "a"]]
        parts = partitioned(other.iloc[:0], other.iloc[:3], other.iloc[:0], other.iloc[3:5])
        found = model.predict_quantiles(parts, [0.5]).compute()
        expected = model.to_local().predict_quantiles(frame[FEATURES].iloc[:5], [0.5])
        np.testing.assert_array_equal(found.to_numpy(), expected)

    def test_data_in_memory_are_answered_at_once(self, model, frame):
        local = model.to_local()
        np.testing.assert_array_equal(model.predict(frame), local.predict(frame[FEATURES]))
        np.testing.assert_array_equal(
            model.predict_quantiles(frame, [0.5]),
            local.predict_quantiles(frame[FEATURES], [0.5]),
        )

    def test_the_plain_estimator_is_saved_and_read(self, model, frame, tmp_path):
        local = model.to_local()
        assert type(local) is CQRNN
        local.save(tmp_path / "model.cq")
        restored = censquant.load_model(tmp_path / "model.cq")
        np.testing.assert_array_equal(
            restored.predict(frame[FEATURES]), local.predict(frame[FEATURES])
        )

    def test_a_frame_without_a_feature_is_refused(self, model, rows):
        with pytest.raises(ValueError, match=r"columns of the fit, got a frame without \['b'\]"):
            model.predict(rows[["a"]])


class TestEstimator:
    def test_documented_attributes_are_those_of_the_plain_estimator(self, client, model):
        text = inspect.getdoc(DaskCQRNN).split("Attributes\n")[1].split("Examples\n")[0]
        documented = {name for name in re.findall(r"\b[a-z_]+_\b", text) if name != "client_"}
        local = model.to_local()
        assert documented == {n for n in vars(local) if n.endswith("_")}
        assert all(hasattr(model, name) for name in documented)
        assert DaskCQRNN().client_ is client

    def test_a_model_that_was_not_fitted_says_so(self):
        with pytest.raises(NotFittedError, match="DaskCQRNN instance is not fitted yet"):
            DaskCQRNN().to_local()

    def test_copies_keep_the_client_and_pickles_do_not(self, client):
        import pickle

        model = DaskCQRNN(client=client, max_epochs=7)
        assert clone(model).client is client
        assert clone(model).max_epochs == 7
        stored = pickle.loads(pickle.dumps(model))
        assert stored.client is None
        assert stored.max_epochs == 7

    def test_parameters_and_defaults_are_those_of_the_plain_estimator(self):
        own = DaskCQRNN().get_params()
        assert own.pop("client") is None
        assert own.pop("n_replicas") is None
        assert own == CQRNN().get_params()

    def test_a_fit_that_fails_leaves_no_earlier_model(self, client, rows):
        model = short(max_epochs=1).fit(rows, **COLUMNS)
        with pytest.raises(ValueError, match="time must be a column of X"):
            model.fit(rows, time="when", event="event")
        with pytest.raises(NotFittedError):
            model.predict(rows)
        assert not hasattr(model, "models_")
