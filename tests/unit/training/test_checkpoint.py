import copy
import datetime as dt
import functools
import json
import re
import threading
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
import torch

from censquant._engine.networks._combined import HeadedNetwork, IncreasingHead
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.objectives._grid import Pinball, WeightedPinball
from censquant._engine.objectives._likelihoods import ShapeLikelihood
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._loop import StepDecay, TrainingConfig, train
from censquant.exceptions import ModelFileError
from censquant.torch import TorchNetwork
from model_files import rewrite
from toys import (
    TAUS,
    Recorder,
    censored_rows,
    dense,
    portnoy_objective,
    shape_network,
    stop_after,
)

CONFIG = TrainingConfig(max_epochs=9, batch_size=16, learning_rate=0.03)


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
    objective = ShapeLikelihood("normal", n_outputs=3, limit=2.0)
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
    "activation": {"make": lambda: dense(activation="tanh")},
    "dropout": {"make": lambda: dense(dropout=0.1)},
    "head": {"make": lambda: HeadedNetwork(dense(), IncreasingHead(3))},
    "schedule": {"config": replace(CONFIG, schedule=StepDecay(factor=0.2))},
    "schedule of one's own": {"config": replace(CONFIG, schedule=lambda step, n_steps: 0.5)},
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


def other_module(activation, share):
    def factory(shape, n_outputs):
        return torch.nn.Sequential(
            torch.nn.Linear(*shape, 6),
            activation(),
            torch.nn.Dropout(share),
            torch.nn.Linear(6, n_outputs),
        )

    return lambda: TorchNetwork.from_factory(factory, (2,), 3, rng=np.random.default_rng(2))


@pytest.mark.parametrize("other", [(torch.nn.ReLU, 0.4), (torch.nn.Tanh, 0.3)], ids=str)
def test_a_module_with_other_layers_of_the_same_shapes_is_another_training(tmp_path, other):
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    run(other_module(torch.nn.Tanh, 0.4), checkpoint=checkpoint, callbacks=[stop_after(2)])
    with pytest.raises(ModelFileError, match="belongs to another training"):
        run(other_module(*other), checkpoint=checkpoint)


class Scaled:
    """An objective that is no dataclass, with settings, arrays, and an address when printed."""

    def __init__(self, scale=1.0, edges=(0.0, 1.0), rule=abs):
        self._inner = Pinball(TAUS)
        self.scale = scale
        self.edges = np.array(edges)
        self.rule = rule
        self.itself = self

    @functools.cached_property
    def remembered(self):
        return object()

    @property
    def n_outputs(self):
        return 3

    def bind(self, train):
        return self

    def prepare(self, rows):
        return rows

    def gradient(self, output, batch, out):
        return self._inner.gradient(output, batch, out)

    def validation_loss(self, output, rows):
        return self._inner.validation_loss(output, rows)


def test_an_objective_of_ones_own_is_recognised_by_what_it_holds(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    whole = run(objective=Scaled())
    run(objective=Scaled(), checkpoint=checkpoint, callbacks=[stop_after(3)])
    again = Scaled()
    assert again.remembered is not None
    assert_same(run(objective=again, checkpoint=checkpoint, seed=9), whole)


@pytest.mark.parametrize(
    "other",
    [{"scale": 2.0}, {"edges": (0.0, 2.0)}, {"edges": (0.0,)}, {"rule": len}],
    ids=str,
)
def test_an_objective_of_ones_own_that_holds_something_else_is_refused(tmp_path, other):
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    run(objective=Scaled(), checkpoint=checkpoint, callbacks=[stop_after(3)])
    with pytest.raises(ModelFileError, match="belongs to another training"):
        run(objective=Scaled(**other), checkpoint=checkpoint)


@dataclass(frozen=True, eq=False)
class Long(Pinball):
    """An objective with an array that prints with dots in the middle."""

    values: np.ndarray = field(default_factory=lambda: np.zeros(5000))
    note: str = field(default="", compare=False)


PAIRS = [
    (len, abs),
    (re.compile("a"), re.compile("b")),
    (dt.date(2020, 1, 1), dt.date(2020, 1, 2)),
    (torch.zeros(2), torch.ones(2)),
    (pd.Series([1.0]), pd.Series([2.0])),
    (np.random.default_rng(0), np.random.default_rng(1)),
    ({"a": {1, 2}}, {"a": {1, 3}}),
    (("ab", "c"), ("a", "bc")),
    (Pinball(TAUS).gradient, Pinball((0.5,)).gradient),
    (np.array(["a", None], dtype=object), np.array(["b", None], dtype=object)),
    (1, True),
    (lambda: 1, lambda: 2),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_values_of_any_kind_are_compared_by_content(tmp_path, one, other):
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    run(objective=Scaled(rule=one), checkpoint=checkpoint, callbacks=[stop_after(1)])
    run(objective=Scaled(rule=copy.deepcopy(one)), checkpoint=checkpoint, callbacks=[stop_after(1)])
    with pytest.raises(ModelFileError, match="belongs to another training"):
        run(objective=Scaled(rule=other), checkpoint=checkpoint)


def test_a_long_array_is_compared_to_the_last_value(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    run(objective=Long(TAUS), checkpoint=checkpoint, callbacks=[stop_after(3)])
    other = np.zeros(5000)
    other[2500] = 1e-9
    assert repr(other) == repr(np.zeros(5000))
    with pytest.raises(ModelFileError, match="belongs to another training"):
        run(objective=Long(TAUS, other), checkpoint=checkpoint)
    run(objective=Long(TAUS, note="not part of it"), checkpoint=checkpoint)


def test_numbers_of_numpy_are_the_same_settings(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    run(checkpoint=checkpoint, callbacks=[stop_after(3)])
    same = replace(CONFIG, learning_rate=np.float64(0.03), batch_size=np.int64(16))
    assert_same(run(config=same, checkpoint=checkpoint), run())


def decay(factor, step, n_steps):
    return factor**step


def test_schedules_with_the_same_settings_are_the_same(tmp_path):
    def config(factor):
        return replace(CONFIG, schedule=functools.partial(decay, factor))

    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    run(config=config(0.99), checkpoint=checkpoint, callbacks=[stop_after(3)])
    run(config=config(0.99), checkpoint=checkpoint)
    with pytest.raises(ModelFileError, match="belongs to another training"):
        run(config=config(0.98), checkpoint=checkpoint)


def test_a_censoring_curve_is_part_of_the_method(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    run(objective=WeightedPinball(TAUS), checkpoint=checkpoint, callbacks=[stop_after(3)])
    whole = run(objective=WeightedPinball(TAUS))
    assert_same(run(objective=WeightedPinball(TAUS), checkpoint=checkpoint, seed=9), whole)


def test_a_generator_of_another_kind_is_stored_too(tmp_path):
    def go(seed, **options):
        network, rng = dense(), np.random.Generator(np.random.MT19937(seed))
        history = train(network, portnoy_objective(), censored_rows(), CONFIG, rng, **options)
        return network, history

    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    go(0, checkpoint=checkpoint, callbacks=[stop_after(3)])
    assert_same(go(9, checkpoint=checkpoint), go(0))
    with pytest.raises(ModelFileError, match="the state of its random numbers is not one of this"):
        run(checkpoint=checkpoint)


def test_what_callbacks_add_to_the_history_is_kept(tmp_path):
    def note(run):
        run.history[-1].update({"seconds": np.float32(0.5), "gap": float("nan"), "top": (1, 2)})

    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    run(checkpoint=checkpoint, callbacks=[Recorder(on_epoch=note), stop_after(3)])
    _, history = run(checkpoint=checkpoint)
    assert history[2]["seconds"] == 0.5
    assert np.isnan(history[2]["gap"])
    assert history[2]["top"] == [1, 2]


@pytest.fixture
def stopped(tmp_path):
    """A checkpoint after four epochs with early stopping, whose best epoch is the last."""
    path = tmp_path / "run.ckpt"
    resumed(path, callbacks=[stop_after(4)])
    return path


def resumed(path, **options):
    return run(validation=censored_rows(30, seed=5), checkpoint=Checkpoint(path, 100), **options)


def damaged(path, reason):
    message = f"The checkpoint {str(path)!r} is damaged ({reason}"
    pattern = f"^{re.escape(message)}.*; delete it or give another path\\.$"
    with pytest.raises(ModelFileError, match=pattern):
        resumed(path)


HISTORY = [{"epoch": 1, "loss": 1.0, "learning_rate": 0.1, "validation_loss": 1.0}]
DAMAGES = {
    "epochs that are no number": ({"n_epochs": "4"}, "TypeError: n_epochs must be an integer"),
    "epochs below zero": ({"n_epochs": -1}, "ValueError: n_epochs must be at least 0"),
    "steps of another number of epochs": ({"n_steps": 15}, "ValueError: 15 steps are not those"),
    "more epochs than there are": (
        {"n_epochs": 10, "n_steps": 36},
        "ValueError: 10 epochs are more than the training has",
    ),
    "no history": ({"history": None}, "ValueError: history must have 4 records"),
    "a short history": ({"history": HISTORY}, "ValueError: history must have 4 records"),
    "a wrong history": ({"history": HISTORY * 4}, "ValueError: history has another record"),
    "text for losses": (
        {"history": [{**HISTORY[0], "loss": "x"}] * 4},
        "TypeError: loss must be a number",
    ),
    "a history without validation": (
        {"history": [{"epoch": 1, "loss": 1.0, "learning_rate": 0.1}] * 4},
        "KeyError: 'validation_loss'",
    ),
    "another best loss": (
        {"best_loss": 0.5},
        "ValueError: best_loss is not the loss of best_epoch",
    ),
    "no best loss": ({"best_loss": None}, "ValueError: best_epoch has no loss"),
    "a best epoch to come": ({"best_epoch": 400}, "IndexError"),
    "no random numbers": ({"rng": ...}, "KeyError: 'rng'"),
    "another generator": ({"rng": {}}, "ValueError: the state of its random numbers is not one"),
}


@pytest.mark.parametrize(("changes", "reason"), DAMAGES.values(), ids=DAMAGES)
def test_a_header_that_does_not_fit_is_refused(stopped, changes, reason):
    rewrite(stopped, kind="checkpoint", **changes)
    damaged(stopped, reason)


def test_a_best_epoch_without_validation_rows_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    run(checkpoint=Checkpoint(path), callbacks=[stop_after(2)])
    rewrite(path, kind="checkpoint", best_epoch=2)
    with pytest.raises(ModelFileError, match="best_epoch has no loss"):
        run(checkpoint=Checkpoint(path))


@pytest.mark.parametrize(
    "state",
    [{"state": -1, "inc": 1}, {"state": 10**39, "inc": 1}, {"state": 0.5, "inc": 1}, {"state": 1}],
    ids=str,
)
def test_random_numbers_without_a_state_are_refused(stopped, state):
    header = {"bit_generator": "PCG64", "has_uint32": 0, "uinteger": 0, "state": state}
    rewrite(stopped, kind="checkpoint", rng=header)
    damaged(stopped, "")


ARRAYS = {
    "network.parameters": [np.zeros(3, "f4"), np.zeros(51, "f8"), np.full(51, np.nan, "f4")],
    "optimizer.mean": [np.zeros(3, "f4"), np.full(51, np.inf, "f4")],
    "optimizer.n_steps": [np.zeros((1, 1), "i8")],
    "best.parameters": [np.zeros(3, "f4"), np.full(51, np.nan, "f4")],
    "rows.level": [np.zeros(3, "f4"), np.full(60, np.nan, "f4"), np.zeros(60, "f8")],
    "colour": [np.zeros(3, "f4")],
    "optimizer.colour": [np.zeros(3, "f4")],
    "rows.x": [np.zeros(3, "f4")],
}


@pytest.mark.parametrize(
    ("name", "array"), [(name, array) for name, entries in ARRAYS.items() for array in entries]
)
def test_an_array_that_does_not_fit_is_refused(stopped, name, array):
    rewrite(stopped, kind="checkpoint", arrays={name: array})
    damaged(stopped, "ValueError: ")


@pytest.mark.parametrize(
    "name", ["network.parameters", "optimizer.square", "best.dropout", "rows.level"]
)
def test_a_missing_array_is_refused(stopped, name):
    rewrite(stopped, kind="checkpoint", drop=[name])
    damaged(stopped, "")


@pytest.mark.parametrize(
    ("name", "array"),
    [("optimizer.0.exp_avg", np.zeros(3, "f4")), ("optimizer.9.exp_avg", np.zeros((6, 2), "f4"))],
)
def test_moments_of_torch_that_do_not_fit_are_refused(tmp_path, name, array):
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    run(make_torch, checkpoint=checkpoint, callbacks=[stop_after(2)])
    rewrite(checkpoint.path, kind="checkpoint", arrays={name: array})
    with pytest.raises(ModelFileError, match="is damaged"):
        run(make_torch, checkpoint=checkpoint)


def test_a_refused_checkpoint_leaves_the_network_as_it_was(stopped):
    rewrite(stopped, kind="checkpoint", rng={})
    network = dense()
    before = network.state()["parameters"]
    with pytest.raises(ModelFileError, match="is damaged"):
        resumed(stopped, make=lambda: network)
    np.testing.assert_array_equal(network.state()["parameters"], before)


def test_a_checkpoint_of_the_first_format_is_refused_with_its_reason(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "run.ckpt"
    header = {"format": 1, "kind": "checkpoint", "fingerprint": "0"}
    save_file({"a": np.zeros(2)}, path, metadata={"censquant": json.dumps(header)})
    message = (
        f"The checkpoint {str(path)!r} was written by an earlier version of censquant, whose "
        "trainings this one cannot resume; delete it or give another path."
    )
    with pytest.raises(ModelFileError, match="^" + re.escape(message) + "$"):
        run(checkpoint=Checkpoint(path))


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
