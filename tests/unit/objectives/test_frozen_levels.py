"""Levels of censoring times that stay as they are for some epochs."""

import re

import numpy as np
import pytest

from censquant._engine.losses._grid import LEVEL_RULES, estimate_levels
from censquant._engine.objectives import _grid as module
from censquant._engine.objectives._grid import FrozenLevels, Pinball
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._loop import TrainingConfig, train
from toys import TAUS, Recorder, censored_rows, dense, portnoy_objective, stop_after

CONFIG = TrainingConfig(max_epochs=8, batch_size=16, learning_rate=0.03)


def trained(every, *, callbacks=(), seed=0, rule="interpolate", rows=None, **options):
    """A network trained with levels renewed every so many epochs, or at every step for None."""
    objective = portnoy_objective(level_rule=rule, frozen_epochs=every)
    network = dense()
    frozen = [] if every is None else [FrozenLevels(objective)]
    rows = censored_rows() if rows is None else rows
    rng = np.random.default_rng(seed)
    history = train(
        network, objective, rows, CONFIG, rng, callbacks=[*frozen, *callbacks], **options
    )
    return network, history


def assert_same(one, other):
    assert one[1] == other[1]
    for name, value in one[0].state().items():
        np.testing.assert_array_equal(other[0].state()[name], value)


class Spy:
    """Notes the levels of all rows, and what the network would say of them now."""

    def __init__(self, rule):
        self.rule = LEVEL_RULES[rule]
        self.given, self.own = [], []

    def on_start(self, run):
        rows = run.rows
        own = np.empty(len(rows), dtype=np.float32)
        output = run.network.forward(rows.x, training=False)
        estimate_levels(rows.time, output, np.array(TAUS, dtype=np.float32), self.rule, own)
        self.given.append(rows.level.copy())
        self.own.append(own)

    on_epoch = on_start

    def on_end(self, run):
        pass


@pytest.mark.parametrize("rule", LEVEL_RULES)
@pytest.mark.parametrize("every", [1, 3])
def test_levels_are_renewed_every_so_many_epochs_and_kept_between(every, rule):
    spy = Spy(rule)
    trained(every, callbacks=[spy], rule=rule)
    assert len(spy.given) == CONFIG.max_epochs + 1
    for epoch, given in enumerate(spy.given):
        np.testing.assert_array_equal(given, spy.own[epoch - epoch % every])
    # In between the network would say something else.
    outdated = [not np.array_equal(*pair) for pair in zip(spy.given, spy.own, strict=True)]
    assert any(outdated) == (every > 1)


def test_levels_do_not_depend_on_the_size_of_blocks(monkeypatch):
    whole = trained(3)
    monkeypatch.setattr(module, "_BLOCK_ROWS", 7)
    assert_same(trained(3), whole)


def test_a_training_with_frozen_levels_differs_from_one_without():
    without, every_epoch, every_third = (trained(every)[0].predict for every in (None, 1, 3))
    x = censored_rows().x
    assert len({predict(x).tobytes() for predict in (without, every_epoch, every_third)}) == 3


def test_the_rows_that_were_given_stay_as_they_were():
    rows = censored_rows()
    trained(2, rows=rows)
    np.testing.assert_array_equal(rows.level, -1)


@pytest.mark.parametrize("stop", [2, 3, 4, 6])
@pytest.mark.parametrize("every", [1, 100])
def test_a_training_resumed_within_a_period_has_the_same_bits(tmp_path, stop, every):
    whole = trained(3)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=every)
    trained(3, checkpoint=checkpoint, callbacks=[stop_after(stop)])
    calls = Recorder()
    # Another seed: everything random must come from the file.
    resumed = trained(3, checkpoint=checkpoint, callbacks=[calls], seed=99)
    assert calls.calls[0] == ("", "start", stop)
    assert_same(resumed, whole)


def test_a_file_written_before_the_renewal_is_resumed_with_it(tmp_path):
    whole = trained(3)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=3)

    def kill(run):
        if run.n_epochs == 4:
            raise SystemExit

    with pytest.raises(SystemExit):
        trained(3, checkpoint=checkpoint, callbacks=[Recorder(on_epoch=kill)])
    calls = Recorder()
    resumed = trained(3, checkpoint=checkpoint, callbacks=[calls], seed=99)
    assert calls.calls[0] == ("", "start", 3)
    assert_same(resumed, whole)


def test_other_objectives_ignore_levels():
    rows, network = censored_rows(), dense()
    frozen = [FrozenLevels(portnoy_objective(frozen_epochs=2))]
    plain, other = dense(), network
    for target, callbacks in ((plain, []), (other, frozen)):
        train(target, Pinball(TAUS), rows, CONFIG, np.random.default_rng(0), callbacks=callbacks)
    np.testing.assert_array_equal(plain.predict(rows.x), other.predict(rows.x))


def test_an_objective_that_freezes_nothing_is_refused():
    message = (
        "objective must have frozen_epochs for FrozenLevels, got None: give the number of epochs "
        "between two updates."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        FrozenLevels(portnoy_objective())
