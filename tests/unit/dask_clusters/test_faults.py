"""Workers that die: the fit goes on, with the same bits."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import distributed
import numpy as np
import pytest

from censquant.dask import DaskCQRNN, _cluster
from censquant.dask._cluster import Session
from cluster_rows import COLUMNS, local_cluster, partitioned


@pytest.fixture
def processes():
    """Two workers in processes of their own, each restarted by its nanny when it dies."""
    with local_cluster(2, processes=True) as made, distributed.Client(made) as client:
        yield client


def fitted(client, parts, **options):
    model = DaskCQRNN(
        client=client, n_replicas=2, hidden_layer_sizes=(10,), max_epochs=4, random_state=0
    )
    return model.fit(parts, **COLUMNS, **options).to_local()


def test_a_worker_that_is_killed_changes_no_bit(processes, client, frame, tmp_path):
    parts = partitioned(frame.iloc[:1_000], frame.iloc[:0], frame.iloc[1_000:])
    expected = fitted(client, parts)
    pids = list(processes.run(os.getpid).values())

    def kill_one_after_the_first_round():
        while not any(tmp_path.iterdir()):
            time.sleep(0.005)
        os.kill(pids[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one_after_the_first_round)
    killer.start()
    found = fitted(processes, parts, checkpoint_dir=tmp_path)
    killer.join()
    assert len(found.history_) == 4
    features = frame[["a", "b"]]
    np.testing.assert_array_equal(
        found.predict_quantiles(features, beyond="extrapolate"),
        expected.predict_quantiles(features, beyond="extrapolate"),
    )
    processes.wait_for_workers(2, timeout=600)
    assert pids[0] not in processes.run(os.getpid).values()


class TestSession:
    def test_results_are_reduced_in_their_order_a_few_at_a_time(self, client):
        def joined(parts):
            return [value for part in parts for value in part]

        with Session(client) as session:
            futures = [session.submit(lambda k: [k], number) for number in range(40)]
            assert session.result(session.reduce(joined, futures)) == list(range(40))

    def test_nothing_is_left_on_the_cluster(self, client):
        with Session(client) as session:
            session.result(session.submit(sum, [1, 2]))
        # The scheduler forgets keys after their client has.
        for _ in range(100):
            left = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
            if not any(str(key).startswith("censquant") for key in left):
                return
            time.sleep(0.02)
        raise AssertionError(left)

    def test_workers_that_never_come_back_end_the_wait(self, monkeypatch):
        monkeypatch.setattr(_cluster, "_PATIENCE", 0.05)
        monkeypatch.setattr(_cluster, "_LONGEST_WITHOUT_WORKERS", 0.1)
        with (
            local_cluster(0) as nobody,
            distributed.Client(nobody) as client,
            Session(client) as session,
            pytest.raises(ConnectionError, match=r"but has had none for 0.1 seconds: start worke"),
        ):
            session.result(session.submit(sum, [1, 2]))

    def test_workers_that_are_given_nothing_end_the_wait(self, client, monkeypatch):
        monkeypatch.setattr(_cluster, "_PATIENCE", 0.05)
        monkeypatch.setattr(_cluster, "_LONGEST_IDLE", 0.1)
        # No worker has what this task needs.
        never = client.submit(sum, [1, 2], resources={"none": 1}, pure=False)
        with (
            Session(client) as session,
            pytest.raises(ConnectionError, match=r"have computed nothing for 0.1 seconds: restart"),
        ):
            session.result(never)
        never.cancel()

    def test_a_long_task_does_not_end_the_wait(self, client, monkeypatch):
        monkeypatch.setattr(_cluster, "_PATIENCE", 0.02)
        monkeypatch.setattr(_cluster, "_LONGEST_IDLE", 0.1)
        with Session(client) as session:
            assert session.result(session.submit(time.sleep, 0.5)) is None

    def test_a_task_that_kills_its_workers_is_reported_in_one_sentence(self, client):
        def fails():
            worker = SimpleNamespace(address="tcp://127.0.0.1:1")
            raise distributed.scheduler.KilledWorker("task", worker, 4)

        with (
            Session(client) as session,
            pytest.raises(MemoryError, match="Workers died again and again at the same task"),
        ):
            session.result(session.submit(fails))

    def test_a_scheduler_that_is_lost_is_reported_in_one_sentence(self, client):
        with Session(client) as session:
            future = session.submit(time.sleep, 0.5)
            client.cancel([future])
            with pytest.raises(ConnectionError, match="The client lost its scheduler during the f"):
                session.result(future)
