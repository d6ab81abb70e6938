import re
import threading
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from censquant.exceptions import ModelFileError
from censquant.networks import DenseNetwork, HeadedNetwork, IncreasingHead
from censquant.objectives import Pinball
from censquant.torch import TorchNetwork
from censquant.training import Checkpoint, TrainingConfig, train
from toys import (
    TAUS,
    MixedObjective,
    Recorder,
    ShapeHead,
    censored_rows,
    dense,
    portnoy_objective,
    stop_after,
)

CONFIG = TrainingConfig(max_epochs=9, batch_size=16, learning_rate=0.03)


def shape_network():
    head = ShapeHead(TAUS)
    return HeadedNetwork(dense(head.n_raw), head)


def torch_network(shape, n_outputs):
    """A module with random numbers, buffers and counters of its own."""
    return torch.nn.Sequential(
        torch.nn.Linear(*shape, 6),
        torch.nn.BatchNorm1d(6),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.4),
        torch.nn.Linear(6, n_outputs),
    )


def make_torch():
    return TorchNetwork.from_factory(torch_network, (2,), 3, rng=np.random.default_rng(2))


NETWORKS = {
    "dense": dense,
    "dropout": lambda: dense(dropout=0.4),
    "increasing": lambda: HeadedNetwork(dense(dropout=0.2), IncreasingHead(3)),
    "shape": shape_network,
    "torch": make_torch,
    "torch with a head": lambda: HeadedNetwork(make_torch(), IncreasingHead(3)),
}


def run(make=dense, *, objective=None, rows=None, config=CONFIG, seed=0, **options):
    network = make()
    objective = portnoy_objective() if objective is None else objective
    rows = censored_rows() if rows is None else rows
    history = train(network, objective, rows, config, np.random.default_rng(seed), **options)
    return network, history


def assert_same(one, other):
    """Networks and histories have the same bits."""
    assert one[1] == other[1]
    states = one[0].state(), other[0].state()
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        np.testing.assert_array_equal(states[1][name], value)


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_resumed_training_has_the_bits_of_one_never_stopped(tmp_path, make, early_stopping):
    validation = censored_rows(30, seed=5) if early_stopping else None
    whole = run(make, validation=validation)
    path = tmp_path / "run.ckpt"
    _, history = run(
        make, validation=validation, checkpoint=Checkpoint(path, 2), callbacks=[stop_after(4)]
    )
    assert len(history) == 4
    # Another seed: everything random must come from the file.
    resumed = run(make, validation=validation, checkpoint=Checkpoint(path, 2), seed=99)
    assert_same(resumed, whole)


def test_a_training_that_stopped_early_has_the_bits_of_one_never_stopped(tmp_path):
    config = replace(CONFIG, max_epochs=300, learning_rate=0.1, n_iter_no_change=4)
    validation = censored_rows(30, seed=9)
    whole = run(config=config, validation=validation)
    assert 6 < len(whole[1]) < 300
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=1)
    run(config=config, validation=validation, checkpoint=checkpoint, callbacks=[stop_after(3)])
    resumed = run(config=config, validation=validation, checkpoint=checkpoint, seed=99)
    assert_same(resumed, whole)


def test_the_best_epoch_may_lie_before_the_stop(tmp_path):
    config = replace(CONFIG, max_epochs=300, learning_rate=0.1, n_iter_no_change=4)
    options = {"config": config, "validation": censored_rows(30, seed=9)}
    whole = run(**options)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=1)
    # The last four epochs brought nothing better; two of them are left to the resumed training.
    run(**options, checkpoint=checkpoint, callbacks=[stop_after(len(whole[1]) - 2)])
    assert_same(run(**options, checkpoint=checkpoint, seed=99), whole)


def test_a_mixed_objective_with_a_shape_head_resumes(tmp_path):
    objective = MixedObjective(TAUS)
    whole = run(shape_network, objective=objective)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=3)
    run(shape_network, objective=objective, checkpoint=checkpoint, callbacks=[stop_after(3)])
    assert_same(run(shape_network, objective=objective, checkpoint=checkpoint, seed=9), whole)


def test_writing_checkpoints_does_not_change_the_training(tmp_path):
    assert_same(run(checkpoint=Checkpoint(tmp_path / "run.ckpt", every=1)), run())


def test_the_end_is_written_whenever_it_comes(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=100)
    run(checkpoint=checkpoint, callbacks=[stop_after(4)])
    calls = Recorder()
    assert_same(run(checkpoint=checkpoint, callbacks=[calls], seed=9), run())
    assert calls.calls[0] == ("", "start", 4)


def test_a_finished_training_is_not_trained_further(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=2)
    first = run(checkpoint=checkpoint)
    calls = Recorder()
    assert_same(run(checkpoint=checkpoint, callbacks=[calls], seed=9), first)
    assert [kind for _, kind, _ in calls.calls] == ["start", "end"]


def test_a_training_whose_steps_end_within_an_epoch_is_written(tmp_path):
    config = replace(CONFIG, max_steps=6)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=100)
    first = run(config=config, checkpoint=checkpoint)
    calls = Recorder()
    assert_same(run(config=config, checkpoint=checkpoint, callbacks=[calls], seed=9), first)
    assert calls.calls == [("", "start", 2), ("", "end", 2)]


@dataclass(frozen=True)
class Disturbed(Pinball):
    """Check loss during whose sixth step something happens.

    What happens is no field of it: a resumed training must be of the same objective.
    """

    def gradient(self, output, batch, out):
        Disturbed.n_steps += 1
        if Disturbed.n_steps == 6:
            Disturbed.action()
        return super().gradient(output, batch, out)


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("by", ["interrupt", "event"])
def test_half_an_epoch_is_not_written(tmp_path, monkeypatch, by):
    stopping = threading.Event()
    monkeypatch.setattr(Disturbed, "n_steps", 100, raising=False)
    monkeypatch.setattr(
        Disturbed, "action", interrupt if by == "interrupt" else stopping.set, raising=False
    )
    objective = Disturbed(TAUS)
    whole = run(objective=objective)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=1)
    Disturbed.n_steps = 0
    run(objective=objective, checkpoint=checkpoint, stopping=stopping)
    assert Disturbed.n_steps == 6
    calls = Recorder()
    resumed = run(objective=objective, checkpoint=checkpoint, callbacks=[calls], seed=9)
    assert calls.calls[0] == ("", "start", 1)
    assert_same(resumed, whole)


def test_an_interrupt_between_epochs_is_written(tmp_path):
    def interrupt_third(run):
        if run.n_epochs == 3:
            raise KeyboardInterrupt

    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=100)
    run(checkpoint=checkpoint, callbacks=[Recorder(on_epoch=interrupt_third)])
    calls = Recorder()
    assert_same(run(checkpoint=checkpoint, callbacks=[calls], seed=9), run())
    assert calls.calls[0] == ("", "start", 3)


OTHERS = {
    "rows": {"rows": censored_rows(seed=1)},
    "validation rows": {"validation": censored_rows(30, seed=5)},
    "settings": {"config": replace(CONFIG, learning_rate=0.04)},
    "method": {"objective": Pinball(TAUS)},
    "options of the method": {"objective": portnoy_objective(level_rule="lower")},
    "network": {"make": lambda: DenseNetwork([2, 9, 3], rng=np.random.default_rng(0))},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, other):
    path = tmp_path / "run.ckpt"
    run(checkpoint=Checkpoint(path), callbacks=[stop_after(2)])
    message = (
        f"The checkpoint {str(path)!r} belongs to another training (other rows, settings or "
        "method); delete it or give another path."
    )
    with pytest.raises(ModelFileError, match="^" + re.escape(message) + "$"):
        run(checkpoint=Checkpoint(path), **other)


def test_a_truncated_checkpoint_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    run(checkpoint=Checkpoint(path))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ModelFileError, match="is not a complete safetensors file"):
        run(checkpoint=Checkpoint(path))


def test_members_have_files_of_their_own(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=5)
    assert checkpoint.for_member(0) is checkpoint
    assert checkpoint.for_member(3) == Checkpoint(str(tmp_path / "run.ckpt.3"), 5)


def test_checkpoints_are_due_every_so_many_epochs():
    assert [n for n in range(1, 10) if Checkpoint("run.ckpt", 3).is_due(n)] == [3, 6, 9]
