"""Trainings as objects: sent elsewhere, they give the same bits."""

import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from censquant.networks import HeadedNetwork, IncreasingHead
from censquant.training import (
    Checkpoint,
    StepDecay,
    TrainingConfig,
    TrainingTask,
    side_by_side,
    train,
)
from toys import Recorder, censored_rows, dense, portnoy_objective

CONFIG = TrainingConfig(max_epochs=4, batch_size=16, schedule=StepDecay((0.5,), 0.3))


def task(seed=0, **options):
    network = HeadedNetwork(dense(dropout=0.2, seed=seed), IncreasingHead(3))
    return TrainingTask(
        network=network,
        objective=portnoy_objective(),
        rows=censored_rows(),
        config=CONFIG,
        rng=np.random.default_rng(seed),
        **{"validation": censored_rows(30, seed=1), **options},
    )


def assert_same(one, other):
    assert one[1] == other[1]
    for name, value in one[0].state().items():
        np.testing.assert_array_equal(other[0].state()[name], value)


def test_a_task_is_its_training():
    expected = task()
    history = train(
        expected.network,
        expected.objective,
        expected.rows,
        CONFIG,
        expected.rng,
        validation=expected.validation,
    )
    assert_same(task()(threading.Event()), (expected.network, history))


def test_a_pickled_task_gives_the_same_bits():
    sent = pickle.loads(pickle.dumps(task()))
    assert_same(sent(threading.Event()), task()(threading.Event()))


def run_alone(sent):
    return sent(threading.Event())


def test_a_task_gives_the_same_bits_in_another_process():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        elsewhere = pool.submit(run_alone, task()).result()
    assert_same(elsewhere, task()(threading.Event()))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tasks_run_side_by_side(n_jobs):
    results = side_by_side([task(seed) for seed in range(3)], n_jobs)
    for seed, result in enumerate(results):
        assert_same(result, task(seed)(threading.Event()))


def test_a_task_that_is_asked_to_stop_does_not_train():
    stopping = threading.Event()
    stopping.set()
    assert task()(stopping)[1] == []


def test_callbacks_checkpoint_and_member_reach_the_training(tmp_path):
    members = []
    recorder = Recorder(on_epoch=lambda run: members.append(run.member))
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    task(callbacks=[recorder], checkpoint=checkpoint, member=3)(threading.Event())
    assert members == [3] * 4
    assert (tmp_path / "run.ckpt").exists()
